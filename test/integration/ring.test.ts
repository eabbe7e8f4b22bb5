/**
 * Three agents on this machine, found by mDNS, one model over three stages: what its users may rely on.
 * The reference is the whole model in this process, one request after the other.
 */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { normalised } from '../../src/agent/embeddings.js';
import type { ClusterStatus, TracesView, TraceView } from '../../src/agent/service.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { builtInModelPath } from '../../src/model/model-store.js';
import type { StageEngine } from '../../src/ports.js';
import { AgentProcess } from '../support/agent-process.js';
import { waitUntil } from '../support/processes.js';
import { answer, GREEDY, openRing } from '../support/ring-in-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const STAGES = 3;
const CONTEXT = 512;
const VOCABULARY = 2048;
const AGREE_MS = 20_000;
const LOAD_MS = 60_000;
const IDLE_WITHIN_MS = 1_000;

interface Request {
  readonly prompt: readonly number[];
  readonly count: number;
  readonly sampling: SamplingSettings;
}

/** Different lengths, some past 256 and 300 tokens of context; greedy and at temperature 1, with every filter in use. */
function requests(): Request[] {
  return Array.from({ length: 16 }, (_, index) => {
    const length = index % 4 === 3 ? 270 + index * 4 : 3 + index * 5;
    const prompt = Array.from({ length }, (_unused, position) => 1 + ((position * 37 + index * 101 + position * position) % (VOCABULARY - 1)));
    const sampling: SamplingSettings = index % 2 === 0
      ? { ...GREEDY, seed: index }
      : { ...GREEDY, temperature: 1, seed: 1_000 + index, topK: index % 3 === 0 ? 40 : 0, topP: 0.95, minP: index % 5 === 0 ? 0.02 : 0, repeatPenalty: index % 7 === 0 ? 1.1 : 1 };
    return { prompt, count: 24 + index, sampling };
  });
}

function promptOf(length: number, seed: number): number[] {
  return Array.from({ length }, (_, position) => 1 + ((position * 31 + seed * 97 + position * position * seed) % (VOCABULARY - 1)));
}

/** The mean of the whole model's last states, of length 1. */
function embeddingOf(stage: StageEngine | undefined, prompt: readonly number[]): Float32Array {
  stage?.apply([{ kind: 'open', slot: 0, sequenceId: 'e', sampling: { ...GREEDY, pooling: 'mean' }, origin: 'test', promptLength: prompt.length, promptTokens: [], emittedTokens: [] }]);
  const output = stage?.step({ slices: [{ slot: 0, position: 0, tokens: prompt.length, sample: true }], tokens: Int32Array.from(prompt), hidden: null });
  stage?.apply([{ kind: 'close', slot: 0 }]);
  return normalised(output?.sampled[0]?.embedding ?? new Float32Array());
}

describe('a ring of three agents', () => {
  let agents: AgentProcess[] = [];
  let reference: StageEngine[] = [];

  beforeAll(async () => {
    const cluster = `ring-test-${process.pid}`;
    agents = await Promise.all(Array.from({ length: STAGES }, (_, index) => AgentProcess.start({
      stateDir: temporaryDirectory(`ring${index}`),
      // Threads differ on purpose: no answer may depend on them.
      args: ['--cluster', cluster, '--threads', String(1 + (index % 2)), '--log-level', 'info'],
    })));
    await waitUntil(async () => (await Promise.all(agents.map((agent) => agent.status()))).every((status) => status.nodes.length === STAGES && status.coordinator !== null), {
      timeoutMs: AGREE_MS, what: 'three nodes see each other', detail: () => agents.map((agent) => agent.output()).join('\n'),
    });
    const loaded = await agentAt(0).call({ path: '/v1/cluster/load', json: { model: MODEL, nodes: STAGES, slots: 16, contextTokens: CONTEXT }, timeoutMs: LOAD_MS });
    expect(loaded.status, await loaded.text()).toBe(200);
    const header = await readGgufHeader(builtInModelPath() ?? '');
    reference = await openRing(header, 5, [], '', { threads: 1, contextTokens: CONTEXT, batchTokens: 512 });
  }, 120_000);

  afterAll(async () => {
    for (const stage of reference) stage.close();
    await Promise.all(agents.map((agent) => agent.stop()));
  });

  function agentAt(index: number): AgentProcess {
    const agent = agents[index];
    if (agent === undefined) throw new Error(`no agent ${index}`);
    return agent;
  }

  const client = (index: number): OpenAI => new OpenAI({ baseURL: `http://127.0.0.1:${agentAt(index).http.port}/v1`, apiKey: 'unused', maxRetries: 0 });

  /** What the head's node says of its sequences; every node is asked. */
  async function load(): Promise<{ active: number; queued: number; inFlight: number }> {
    const statuses: ClusterStatus[] = await Promise.all(agents.map((agent) => agent.status()));
    const views = statuses.flatMap((status) => status.instances).filter((view) => view.activeSequences !== null);
    expect(views).toHaveLength(1);
    const [view] = views;
    return { active: view?.activeSequences ?? -1, queued: view?.queuedSequences ?? -1, inFlight: view?.stepsInFlight ?? -1 };
  }

  async function idleWithin(timeoutMs: number): Promise<void> {
    // A cancelled slot's close travels through every stage and comes back: no step in flight means that all have heard.
    await waitUntil(async () => {
      const { active, queued, inFlight } = await load();
      return active === 0 && queued === 0 && inFlight === 0;
    }, { timeoutMs, what: 'every stage idle', pollMs: 20 });
  }

  async function complete(index: number, request: Request): Promise<readonly number[]> {
    const { sampling } = request;
    const answered = await agentAt(index).call({
      path: '/v1/completions',
      timeoutMs: LOAD_MS,
      json: {
        model: MODEL, prompt: request.prompt, max_tokens: request.count, ignore_eos: true, return_tokens: true, temperature: sampling.temperature, seed: sampling.seed,
        top_k: sampling.topK, top_p: sampling.topP, min_p: sampling.minP, repeat_penalty: sampling.repeatPenalty,
      },
    });
    const body = await answered.json() as { choices: { tokens: number[] }[] };
    expect(answered.status, JSON.stringify(body)).toBe(200);
    return body.choices[0]?.tokens ?? [];
  }

  it('tells where an answer\'s time went, whichever node is asked', async () => {
    const prompt = promptOf(20, 3);
    for (const agent of agents) {
      const answered = await agent.call({ path: '/v1/completions', headers: { 'x-ring-trace': '1' }, json: { model: MODEL, prompt, max_tokens: 5, temperature: 0 } });
      const body = await answered.json() as { id: string; ring_trace: TraceView[] };
      const [trace, ...others] = body.ring_trace;
      expect(others).toEqual([]);
      expect(trace?.requestId.startsWith(body.id)).toBe(true);
      expect(trace?.stages).toHaveLength(STAGES);
      expect(trace?.steps.every(({ stageMicros }) => stageMicros.length === STAGES && stageMicros.every((micros) => micros > 0))).toBe(true);
      for (const asked of agents) {
        const found = await (await asked.call({ path: `/v1/cluster/traces?request=${body.id}` })).json() as TracesView;
        expect(found.traces.map(({ requestId }) => requestId)).toEqual([trace?.requestId]);
        expect(found.heads).toMatchObject([{ answered: true }]);
      }
    }
    expect(await (await agentAt(1).call({ path: '/v1/cluster/traces?request=nosuch' })).json()).toMatchObject({ traces: [] });
  });

  it('runs one stage on each of them', async () => {
    const status = await agentAt(2).status();
    const stages = status.instances[0]?.stages ?? [];
    expect(new Set(stages.map((stage) => stage.nodeId)).size).toBe(STAGES);
    expect(stages.map((stage) => stage.state)).toEqual(['ready', 'ready', 'ready']);
  });

  it('B19: reports each stage on every node: how long it took to be ready, and its part of a token', async () => {
    await complete(1, { prompt: [5, 6, 7], count: 24, sampling: { ...GREEDY, temperature: 1, seed: 3 } });
    for (const agent of agents) {
      const [view] = (await agent.statusWhen((status) => status.instances[0]?.pace != null, { timeoutMs: AGREE_MS, what: 'the pace of the ring' })).instances;
      expect(view?.pace?.stageMicros).toHaveLength(STAGES);
      expect(view?.pace?.tokenMicros).toBeGreaterThan((view?.pace?.stageMicros ?? []).reduce((sum, micros) => sum + micros, 0));
      for (const stage of view?.stages ?? []) {
        expect(stage.buildMs).toBeGreaterThan(0);
      }
    }
  });

  it('answers 16 different requests at once exactly as the whole model answers each alone', async () => {
    const all = requests();
    const answers = await Promise.all(all.map((request, index) => complete(index % STAGES, request)));
    all.forEach((request, index) => {
      const alone = answer(reference, request.prompt, request.count, 512, request.sampling).tokens;
      expect(answers[index], `request ${index}`).toEqual(alone);
    });
    await idleWithin(IDLE_WITHIN_MS);
  }, 180_000);

  it('gives the same answers when requests come and go, so that slots have holes', async () => {
    const all = requests().slice(0, 8);
    const answers = await Promise.all(all.map(async (request, index) => {
      if (index % 2 === 1) {
        // Odd ones leave at once; the even ones go on in slots 0, 2, 4, 6.
        const controller = new AbortController();
        const stream = await client(0).completions.create({ model: MODEL, prompt: [...request.prompt], max_tokens: 200, stream: true }, { signal: controller.signal });
        for await (const chunk of stream) {
          if (chunk.choices.length > 0) break;
        }
        controller.abort();
        return null;
      }
      return complete(index % STAGES, { ...request, count: 40 });
    }));
    all.forEach((request, index) => {
      if (answers[index] === null) return;
      expect(answers[index], `request ${index}`).toEqual(answer(reference, request.prompt, 40, 512, request.sampling).tokens);
    });
    await idleWithin(IDLE_WITHIN_MS);
  }, 120_000);

  it('goes on from an earlier answer without computing it again, and the answer is the same', async () => {
    const reused = async (): Promise<number> => {
      const statuses: ClusterStatus[] = await Promise.all(agents.map((agent) => agent.status()));
      return statuses.flatMap((status) => status.instances).reduce((sum, view) => sum + (view.reusedTokens ?? 0), 0);
    };
    const prompt = Array.from({ length: 280 }, (_, position) => 1 + ((position * 53 + position * position * 7) % (VOCABULARY - 1)));
    const first = await complete(1, { prompt, count: 20, sampling: GREEDY });
    const before = await reused();
    const next = { prompt: [...prompt, ...first, 17, 18, 19], count: 24, sampling: { ...GREEDY, temperature: 1, seed: 3 } };
    const second = await complete(2, next);
    expect(second).toEqual(answer(reference, next.prompt, next.count, 512, next.sampling).tokens);
    // All but the first answer's last token, which was never sent.
    expect(await reused() - before).toBe(prompt.length + first.length - 1);
  }, 120_000);

  it('says in the usage what it did not compute again', async () => {
    const prompt = Array.from({ length: 90 }, (_, position) => 1 + ((position * 71 + position * position * 3) % (VOCABULARY - 1)));
    const cached = async (index: number): Promise<number | undefined> =>
      (await client(index).completions.create({ model: MODEL, prompt, max_tokens: 4, temperature: 0 })).usage?.prompt_tokens_details?.cached_tokens;
    expect(await cached(0)).toBe(0);
    expect(await cached(1)).toBe(89);
  });

  it('embeds texts as the whole model does, from every node', async () => {
    const inputs = [promptOf(40, 3), promptOf(300, 5), promptOf(41, 7)];
    const { data, usage } = await client(1).embeddings.create({ model: MODEL, input: inputs });
    expect(usage.prompt_tokens).toBe(381);
    for (const [index, { embedding }] of data.entries()) {
      const expected = embeddingOf(reference[0], inputs[index] ?? []);
      expect(embedding).toHaveLength(expected.length);
      expect(Math.max(...embedding.map((value, at) => Math.abs(value - (expected[at] ?? 0))))).toBeLessThan(1e-6);
    }
    const texts = await client(2).embeddings.create({ model: MODEL, input: ['In the beginning God created', 'In the beginning God made', 'the sons of Levi; Gershon, Kohath'] });
    const [near, far] = [1, 2].map((other) => (texts.data[0]?.embedding ?? []).reduce((sum, value, at) => sum + value * (texts.data[other]?.embedding[at] ?? 0), 0));
    expect(near).toBeGreaterThan(far ?? 1);
    await expect(client(0).embeddings.create({ model: MODEL, input: promptOf(CONTEXT, 1) })).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
    const cut = await agentAt(0).call({ path: '/api/embed', json: { model: MODEL, input: 'And it came to pass '.repeat(400) } });
    expect([cut.status, (await cut.json() as { prompt_eval_count: number }).prompt_eval_count]).toEqual([200, CONTEXT - 1]);
    await idleWithin(IDLE_WITHIN_MS);
  });

  it('says that a served model has another context than is asked for, and which name was meant', async () => {
    const load = (json: object) => agentAt(2).call({ path: '/v1/cluster/load', json: { model: MODEL, ...json } });
    const other = await load({ contextTokens: 256 });
    expect([other.status, await other.json()]).toMatchObject([409, { error: { code: 'conflict', message: expect.stringContaining('context of 512 tokens, 16 slots') as string } }]);
    expect((await load({ contextTokens: CONTEXT, slots: 16 })).status).toBe(200);
    await expect(client(1).chat.completions.create({ model: 'kjv_q8_0', messages: [{ role: 'user', content: 'x' }] })).rejects.toThrow(`did you mean "${MODEL}"`);
  });

  it('lists, streams and counts for the openai client, from a node that is not the head', async () => {
    const models = await client(2).models.list();
    expect(models.data.map((model) => model.id)).toContain(MODEL);
    const stream = await client(2).chat.completions.create({
      model: MODEL, messages: [{ role: 'user', content: 'In the beginning' }], max_tokens: 24, temperature: 0, stream: true, stream_options: { include_usage: true },
    });
    let text = '';
    let usage = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage?.completion_tokens ?? usage;
    }
    expect(usage).toBe(24);
    const whole = await client(1).chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'In the beginning' }], max_tokens: 24, temperature: 0 });
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(text.length).toBeGreaterThan(20);
  });

  it('has every stage idle within a second after the client aborts', async () => {
    const stream = await client(1).chat.completions.create({
      model: MODEL, messages: [{ role: 'user', content: 'And it came to pass' }], max_tokens: 450, temperature: 0, stream: true,
    });
    let chunks = 0;
    for await (const _chunk of stream) {
      chunks += 1;
      if (chunks === 5) {
        expect((await load()).active).toBe(1);
        stream.controller.abort();
      }
    }
    await idleWithin(IDLE_WITHIN_MS);
  });

  it('stops at a stop sequence, and the head draws no further', async () => {
    const whole = await client(0).completions.create({ model: MODEL, prompt: 'And it came to pass', max_tokens: 60, temperature: 0 });
    const text = whole.choices[0]?.text ?? '';
    const stop = text.slice(20, 26);
    const cut = await client(0).completions.create({ model: MODEL, prompt: 'And it came to pass', max_tokens: 400, temperature: 0, stop });
    expect(cut.choices[0]?.finish_reason).toBe('stop');
    expect(cut.choices[0]?.text).toBe(text.slice(0, text.indexOf(stop)));
    await idleWithin(IDLE_WITHIN_MS);
  });

  it('holds no more memory in any runner than the plan gave it, after all of that', async () => {
    const stages = (await agentAt(0).status()).instances[0]?.stages ?? [];
    const shown = stages.map((stage) => `stage ${stage.rank}: ${(stage.residentBytes / 1e6).toFixed(1)} of ${(stage.predictedBytes / 1e6).toFixed(1)} MB`).join(', ');
    console.log(`resident of predicted memory: ${shown}`);
    for (const stage of stages) {
      expect(stage.residentBytes, shown).toBeGreaterThan(0);
      expect(stage.residentBytes, shown).toBeLessThanOrEqual(stage.predictedBytes);
    }
  });

  it('refuses what it cannot do in OpenAI\'s words: unknown model, overlong prompt, malformed JSON', async () => {
    await expect(client(0).chat.completions.create({ model: 'nope', messages: [{ role: 'user', content: 'x' }] })).rejects.toMatchObject({ status: 404 });
    await expect(client(0).completions.create({ model: MODEL, prompt: new Array<number>(CONTEXT).fill(5) })).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
    const malformed = await fetch(`http://127.0.0.1:${agentAt(0).http.port}/v1/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"model": ' });
    expect(malformed.status).toBe(400);
    await idleWithin(IDLE_WITHIN_MS);
  });
});
