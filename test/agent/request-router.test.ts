/** The origin's patience: what a request does when plans, tails, heads and connections go away under it. Time is by hand. */
import { describe, expect, it } from 'vitest';
import { RequestRouter } from '../../src/agent/request-router.js';
import type { CompletionEvent, CompletionTask } from '../../src/agent/service.js';
import type { ControlMessage, GenerateMessage } from '../../src/core/messages.js';
import type { HeldModel, Instance, InstanceState, Plan } from '../../src/core/types.js';
import { HandClock, settled } from '../support/hand-clock.js';
import { SILENT } from '../support/silent-log.js';

const MODEL: HeldModel = { digest: 'd'.repeat(64), sizeBytes: 1_000, name: 'tiny', architecture: 'llama', layers: 2 };
const PROMPT = [1, 2, 3];
const PIECES = Array.from({ length: 100 }, (_, token) => new TextEncoder().encode(`${token} `));
/** The ring may be away this long. */
const DEADLINE_MS = 120_000;

/** A router of node `origin` on a cluster whose state the test writes. */
class Bench {
  readonly clock = new HandClock();
  readonly sent: { readonly to: string; readonly message: ControlMessage }[] = [];
  readonly unreachable = new Set<string>();
  readonly router: RequestRouter;
  instance: Instance | null = null;

  constructor(replanDeadlineMs?: number) {
    this.show('active', 'a');
    let ids = 0;
    this.router = new RequestRouter({
      clock: this.clock,
      log: SILENT,
      vocabularies: {
        table: async () => ({ pieces: PIECES, endOfGeneration: new Set<number>(), controlTexts: new Map(), bos: null, eos: null, addsBos: false }),
        tokenizeText: async () => PROMPT,
        tokenizeChat: async () => ({ tokens: PROMPT, opened: null, toolStyle: 'tagged' }),
        checkGrammar: async () => undefined,
      },
      send: (to, message) => {
        if (this.unreachable.has(to)) return false;
        this.sent.push({ to, message });
        return true;
      },
      resolveModel: async () => MODEL,
      ensureInstance: async () => {
        if (this.instance === null) throw new Error('no instance');
        return this.instance;
      },
      instance: (instanceId) => (this.instance?.instanceId === instanceId ? this.instance : null),
      instanceOf: (digest) => (digest === MODEL.digest ? this.instance : null),
      randomId: () => `answer${ids += 1}`,
      ...(replanDeadlineMs === undefined ? {} : { replanDeadlineMs }),
    });
  }

  /** What the cluster says of the model from now on: head `<plan>-head`, tail `<plan>-tail`. */
  show(state: InstanceState, planId: string, instanceId = 'tiny-1'): void {
    const plan: Plan = {
      planId, instanceId, model: MODEL, contextTokens: 64, slots: 2, keyType: 'q8_0', valueType: 'f16', explanation: [],
      stages: ['head', 'tail'].map((end, rank) => ({ rank, nodeId: `${planId}-${end}`, range: { start: rank, end: rank + 1 }, predictedBytes: 1 })),
    };
    this.instance = {
      instanceId, state, plan, serial: 1, reason: state === 'failed' ? 'no node has the weights' : '',
      request: { model: 'tiny', policy: 'ram_balanced', nodes: null, contextTokens: null, slots: null },
    };
  }

  changed(...args: Parameters<Bench['show']>): Promise<void> {
    this.show(...args);
    this.router.clusterChanged();
    return settled();
  }

  generates(): readonly GenerateMessage[] {
    return this.sent.flatMap(({ message }) => (message.kind === 'generate' ? [message] : []));
  }

  /** The tail's word for the newest attempt. */
  async token(index: number, options: { readonly requestId?: string } = {}): Promise<void> {
    const newest = this.generates().at(-1);
    this.router.receive(`${newest?.planId ?? ''}-tail`, { kind: 'token', requestId: options.requestId ?? newest?.requestId ?? '', planId: newest?.planId ?? '', index, token: 10 + index, endOfGeneration: false });
    await settled();
  }

  async refuse(code: 'not_ready' | 'wrong_plan' | 'queue_full'): Promise<void> {
    const newest = this.generates().at(-1);
    this.router.receive(`${newest?.planId ?? ''}-head`, { kind: 'refused', requestId: newest?.requestId ?? '', planId: newest?.planId ?? '', code, message: `refused: ${code}` });
    await settled();
  }
}

interface Client {
  readonly tokens: number[];
  finished: Extract<CompletionEvent, { kind: 'finished' }> | null;
  error: unknown;
}

async function ask(bench: Bench, maxTokens: number): Promise<Client> {
  const task: CompletionTask = {
    model: 'tiny', prompt: { kind: 'tokens', tokens: PROMPT }, maxTokens, stop: [],
    sampling: { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: true, logitBias: [] },
  };
  const client: Client = { tokens: [], finished: null, error: null };
  const read = async (): Promise<void> => {
    for await (const event of bench.router.complete(task, new AbortController().signal)) {
      if (event.kind === 'text') client.tokens.push(...event.tokens);
      if (event.kind === 'finished') client.finished = event;
    }
  };
  void read().catch((error: unknown) => {
    client.error = error;
  });
  await settled();
  return client;
}

describe('a request whose ring goes away', () => {
  it('is submitted again under the next plan with what was drawn, and takes each token once', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    await bench.token(1);
    const first = bench.generates()[0]?.requestId ?? '';
    await bench.changed('planning', 'a');
    await bench.changed('active', 'b');
    expect(bench.generates().map(({ planId, emittedTokens }) => [planId, emittedTokens])).toEqual([['a', []], ['b', [10, 11]]]);
    // A late word of the first attempt.
    await bench.token(2, { requestId: first });
    expect(client.tokens).toEqual([10, 11]);
    await bench.token(2);
    await bench.token(2);
    await bench.token(3);
    expect(client.tokens).toEqual([10, 11, 12, 13]);
  });

  it('ends at its last token, also when the head dies before it says so', async () => {
    const bench = new Bench();
    const client = await ask(bench, 2);
    await bench.token(0);
    await bench.token(1);
    await bench.changed('planning', 'a');
    expect(client.finished).toMatchObject({ reason: 'length', completionTokens: 2 });
    expect(bench.generates()).toHaveLength(1);
  });

  it('ends with a clear error when no ring comes within 120 s', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    await bench.changed('planning', 'a');
    await bench.clock.advance(DEADLINE_MS - 100);
    expect(client.error).toBeNull();
    await bench.clock.advance(200);
    expect(client.error).toMatchObject({ code: 'timeout', message: expect.stringContaining('not ready again within 120 s') });
    expect(bench.router.size).toBe(0);
  });

  it('waits as long as this node was told to', async () => {
    const bench = new Bench(5_000);
    const client = await ask(bench, 4);
    await bench.token(0);
    await bench.changed('planning', 'a');
    await bench.clock.advance(4_900);
    expect(client.error).toBeNull();
    await bench.clock.advance(200);
    expect(client.error).toMatchObject({ code: 'timeout', message: expect.stringContaining('not ready again within 5 s') });
  });

  it('ends by the same deadline when rings come and every one refuses', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    for (let refusals = 0; refusals < 2_500 && client.error === null; refusals += 1) {
      await bench.refuse('not_ready');
      await bench.clock.advance(50);
    }
    expect(client.error).toMatchObject({ code: 'timeout' });
  });

  it('counts only time without a ring: a long wait in a queue before does not shorten the patience', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.clock.advance(DEADLINE_MS + 30_000);
    await bench.changed('planning', 'a');
    await bench.clock.advance(DEADLINE_MS - 1_000);
    expect(client.error).toBeNull();
    await bench.changed('active', 'b');
    await bench.token(0);
    expect(client.tokens).toEqual([10]);
  });

  it('has patience with a long prompt and those who are first, and less with a ring that has begun to speak', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.clock.advance(50 * 60_000);
    await bench.token(0);
    expect(client.tokens).toEqual([10]);
    await bench.clock.advance(299_000);
    expect(client.error).toBeNull();
    await bench.clock.advance(2_000);
    expect(client.error).toMatchObject({ code: 'timeout', message: expect.stringContaining('no token came from the ring within 300 s') });
  });

  it('waits for what heals when it is under way, and is refused at once when it is not', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    await bench.changed('failed', 'a');
    await bench.clock.advance(30_000);
    await bench.changed('active', 'b');
    await bench.token(1);
    expect(client.tokens).toEqual([10, 11]);

    bench.show('failed', 'b');
    const second = await ask(bench, 4);
    expect(second.error).toMatchObject({ code: 'no_placement', message: expect.stringContaining('no node has the weights') });
  });

  it('says why nothing came when it waited in vain', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    await bench.changed('failed', 'a');
    await bench.clock.advance(DEADLINE_MS + 1);
    expect(client.error).toMatchObject({ code: 'timeout', message: expect.stringContaining('no node has the weights') });
  });

  it('goes on with the instance that a healed split left for its model', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    await bench.changed('active', 'b', 'tiny-2');
    expect(bench.generates().at(-1)).toMatchObject({ planId: 'b', emittedTokens: [10] });
    await bench.token(1);
    expect(client.tokens).toEqual([10, 11]);
    // And does not take that instance's plan for gone.
    await bench.changed('active', 'b', 'tiny-2');
    expect(bench.generates()).toHaveLength(2);
  });

  it('asks again when the connection to head or tail was lost and the plan stands', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    bench.router.nodeLost('somebody');
    await bench.clock.advance(100);
    expect(bench.generates()).toHaveLength(1);
    bench.unreachable.add('a-head');
    bench.router.nodeLost('a-head');
    await bench.clock.advance(1_000);
    bench.unreachable.clear();
    await bench.clock.advance(100);
    expect(bench.generates().map(({ emittedTokens }) => emittedTokens)).toEqual([[], [10]]);
    await bench.token(1);
    expect(client.tokens).toEqual([10, 11]);
  });

  it('is refused by a full queue when it is new, and waits for a place when it is under way', async () => {
    const bench = new Bench();
    const client = await ask(bench, 4);
    await bench.token(0);
    await bench.changed('active', 'b');
    await bench.refuse('queue_full');
    await bench.clock.advance(100);
    await bench.token(1);
    expect(client.tokens).toEqual([10, 11]);

    const second = await ask(bench, 4);
    await bench.refuse('queue_full');
    expect(second.error).toMatchObject({ code: 'queue_full' });
  });
});
