/**
 * Bad input against a running agent, through its API and through the commands: each has a message that says what, where
 * and what to do, and afterwards the agent is as idle as before and its log blames nobody.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { request as sendRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InstanceView } from '../../src/agent/service.js';
import { generateSecret, parseSecret } from '../../src/net/secret.js';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import { BUILT_IN_MODEL, writeRenamedBuiltInModel } from '../support/model-copy.js';
import type { Finished } from '../support/processes.js';
import { waitUntil } from '../support/processes.js';
import { startNode, stopAll } from '../net/support.js';
import type { TestNode } from '../net/support.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const CONTEXT = 256;
const CLUSTER = `bad-input-${process.pid}`;
const IDLE_WITHIN_MS = 1_000;
const SEEN_WITHIN_MS = 10_000;
const VOCABULARY = 2048;

interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code: string;
}

describe('a running agent', () => {
  const directory = temporaryDirectory('bad-input');
  const state = join(directory, 'state');
  const secretFile = join(directory, 'secret');
  const secretWords = generateSecret();
  let agent: AgentProcess;

  beforeAll(async () => {
    writeFileSync(secretFile, secretWords, { mode: 0o600 });
    agent = await AgentProcess.start({
      stateDir: state,
      args: ['--cluster', CLUSTER, '--secret-file', secretFile, '--no-mdns', '--listen', '127.0.0.1:0', '--ctx', String(CONTEXT), '--slots', '2', '--threads', '1', '--log-level', 'warn'],
    });
    const loaded = await agent.call({ path: '/v1/cluster/load', json: { model: MODEL } });
    expect(loaded.status, await loaded.text()).toBe(200);
  });

  afterAll(async () => {
    await stopAll();
    const exit = await agent.stop();
    expect(exit.code, agent.output()).toBe(0);
  });

  const command = (...line: string[]): Promise<Finished> => runAgentCommand([...line, '--state-dir', state]);

  async function refused(path: string, json: unknown): Promise<ErrorAnswer> {
    const answer = await agent.call({ path, json });
    const { error } = await answer.json() as { error: Omit<ErrorAnswer, 'status'> };
    return { ...error, status: answer.status };
  }

  async function instance(): Promise<InstanceView> {
    const view = (await agent.status()).instances[0];
    if (view === undefined) throw new Error('the model is no longer served');
    return view;
  }

  async function idle(): Promise<void> {
    await waitUntil(async () => {
      const { activeSequences, queuedSequences, stepsInFlight } = await instance();
      return activeSequences === 0 && queuedSequences === 0 && stepsInFlight === 0;
    }, { timeoutMs: IDLE_WITHIN_MS, what: 'an idle ring', pollMs: 20 });
  }

  /** A change of the built-in model's bytes. */
  function damaged(name: string, change: (bytes: Buffer) => Buffer): string {
    const path = join(directory, `${name}.gguf`);
    writeFileSync(path, change(readFileSync(BUILT_IN_MODEL)));
    return path;
  }

  /** Where the dimensions of a tensor begin in the header, and where its offset stands. */
  function tensorInfo(bytes: Buffer, name: string): { dims: number; offset: number } {
    const dimensionCount = bytes.indexOf(name) + name.length;
    const dims = dimensionCount + 4;
    return { dims, offset: dims + 8 * bytes.readUInt32LE(dimensionCount) + 4 };
  }

  describe('refuses a model file and says why', () => {
    const TENSOR = 'blk.2.ffn_up.weight';
    it.each<[string, string, RegExp, (bytes: Buffer) => Buffer]>([
      ['truncated', 'bad_gguf', /ends at byte \d+, but the file has 3000000/, (bytes) => bytes.subarray(0, 3_000_000)],
      ['an offset beyond the file', 'bad_gguf', /"blk\.2\.ffn_up\.weight" ends at byte 10995\d+, but the file has \d+/, (bytes) => {
        bytes.writeBigUInt64LE(1n << 40n, tensorInfo(bytes, TENSOR).offset);
        return bytes;
      }],
      ['an offset into another tensor', 'bad_gguf', /overlap/, (bytes) => {
        bytes.writeBigUInt64LE(0n, tensorInfo(bytes, TENSOR).offset);
        return bytes;
      }],
      ['2^60 elements', 'bad_gguf', /dimension of tensor "blk\.2\.ffn_up\.weight" is 1152921504606846976/, (bytes) => {
        bytes.writeBigUInt64LE(1n << 60n, tensorInfo(bytes, TENSOR).dims);
        return bytes;
      }],
      ['2^60 tensors', 'bad_gguf', /tensor count is 1152921504606846976/, (bytes) => {
        bytes.writeBigUInt64LE(1n << 60n, 8);
        return bytes;
      }],
      ['an unknown architecture', 'unsupported_architecture', /architecture "llamx" is unknown to the engine: choose another model/, (bytes) => {
        for (let at = bytes.indexOf('llama'); at >= 0; at = bytes.indexOf('llama', at)) bytes.write('llamx', at);
        return bytes;
      }],
    ])('%s', async (name, code, says, change) => {
      const path = damaged(name.replaceAll(/\W+/g, '-'), change);
      for (const route of ['plan', 'load']) {
        const error = await refused(`/v1/cluster/${route}`, { model: path });
        expect(error, route).toMatchObject({ status: 400, code, type: 'invalid_request_error' });
        expect(error.message, route).toMatch(says);
        expect(error.message, route).toContain(path);
      }
      expect((await agent.status()).instances).toHaveLength(1);
      expect(await (await agent.call({ path: '/v1/models' })).text()).not.toContain(name.split(' ')[0]);
    });

    it('as the commands do, with exit code 1', async () => {
      const path = damaged('for-commands', (bytes) => bytes.subarray(0, 3_000_000));
      for (const finished of await Promise.all([command('plan', path), command('run', path, 'x')])) {
        expect(finished.code).toBe(1);
        expect(finished.stdout).toBe('');
        expect(finished.stderr).toMatch(/^agent: .*for-commands\.gguf: .*fetch it again or choose another\.\n$/);
      }
    });
  });

  it('answers a plan that fits nowhere with the numbers', async () => {
    const other = join(directory, 'other.gguf');
    writeRenamedBuiltInModel(other);
    const plan = { model: other, contextTokens: 16_000_000, slots: 200 };
    for (const route of ['plan', 'load']) {
      const error = await refused(`/v1/cluster/${route}`, plan);
      expect(error, route).toMatchObject({ status: 503, code: 'no_placement' });
      expect(error.message, route).toMatch(/does not fit.*\d+(\.\d+)? (GB|TB)/);
    }
    const failed = (await agent.status()).instances.find((view) => view.state === 'failed');
    expect(failed).toMatchObject({ model: 'other', stages: [], code: 'no_placement', reason: expect.stringMatching(/does not fit/) as string });
    const finished = await command('plan', MODEL, '--ctx', '16000000', '--slots', '200');
    expect(finished.code).toBe(1);
    expect(finished.stderr).toMatch(/^agent: .*does not fit.*GB/);
    // Asked for again with less, the same model is served; and it can be taken away.
    const loaded = await agent.call({ path: '/v1/cluster/load', json: { model: other, contextTokens: 64, slots: 1 } });
    expect(loaded.status, await loaded.text()).toBe(200);
    const { instances } = await agent.status();
    expect(instances.map((view) => view.state)).toEqual(['active', 'active']);
    for (const view of instances.filter(({ model }) => model !== MODEL)) {
      expect((await agent.call({ method: 'DELETE', path: `/v1/cluster/instances/${view.instanceId}` })).status).toBe(200);
    }
    await waitUntil(async () => (await agent.status()).instances.length === 1, { timeoutMs: SEEN_WITHIN_MS, what: 'only the first model is left' });
  });

  it('says 404 for an unknown model and 400 for what no model could answer', async () => {
    const messages = [{ role: 'user', content: 'x' }];
    expect(await refused('/v1/chat/completions', { model: 'nope', messages })).toMatchObject({ status: 404, code: 'model_not_found', message: expect.stringContaining(`no node of this cluster holds a model "nope"; known: ${MODEL}`) as string });
    expect((await agent.call({ path: '/v1/models/nope' })).status).toBe(404);
    // A path is for this machine's own user, never for clients of the model API.
    expect(await refused('/v1/completions', { model: BUILT_IN_MODEL, prompt: 'x' })).toMatchObject({ status: 404 });
    expect(await refused('/v1/completions', { model: MODEL, prompt: new Array<number>(CONTEXT).fill(5) })).toMatchObject({
      status: 400, code: 'context_length_exceeded', message: expect.stringMatching(/the prompt has 256 tokens, and the context of kjv-q8_0 is 256 tokens/) as string,
    });
    expect(await refused('/v1/completions', { model: MODEL, prompt: [VOCABULARY] })).toMatchObject({ status: 400 });
    expect(await refused('/v1/completions', { model: MODEL, prompt: 'x', beam_width: 4 })).toMatchObject({ status: 400, message: expect.stringContaining('beam_width') as string });
    await idle();
  });

  it('says 400 for what is no JSON, of every kind', async () => {
    for (const body of ['{"model": ', '', '[]', 'null', '\u0000\u0001', '{"model": "x"} trailing']) {
      const answer = await fetch(`http://127.0.0.1:${agent.http.port}/v1/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      const { error } = await answer.json() as { error: { message: string } };
      expect(answer.status, body).toBe(400);
      expect(error.message.length, body).toBeGreaterThan(10);
    }
  });

  it('is idle within a second after clients hang up, whatever they were waiting for', async () => {
    const prompt = [1, 2, 3];
    const hangUps = [0, 1, 5].map(async (events) => {
      const stream = await agent.call({ path: '/v1/completions', json: { model: MODEL, prompt, max_tokens: 250, ignore_eos: true, stream: true, temperature: 0 } });
      let seen = 0;
      if (events > 0) for await (const _event of stream.events()) if ((seen += 1) >= events) break;
      stream.destroy();
    });
    await Promise.all([...hangUps, hangUpBeforeTheAnswer()]);
    await idle();
    // A client may leave: that is no warning and no error.
    expect(agent.output()).not.toMatch(/"level":(40|50|60)/);
  });

  /** Asks for a whole answer and leaves before it can be there. */
  function hangUpBeforeTheAnswer(): Promise<void> {
    return new Promise((resolve) => {
      const body = JSON.stringify({ model: MODEL, prompt: [7], max_tokens: 250, ignore_eos: true });
      const outgoing = sendRequest({ host: '127.0.0.1', port: agent.http.port, path: '/v1/completions', method: 'POST', agent: false, headers: { 'content-type': 'application/json', 'content-length': String(body.length) } });
      outgoing.on('error', () => resolve());
      outgoing.end(body, () => setTimeout(() => outgoing.destroy(new Error('the client leaves')), 30));
    });
  }

  it('answers the commands as programs read them', async () => {
    const flags = ['--max-tokens', '12', '--temperature', '0', '--json'];
    const [run, status, plan, models, text] = await Promise.all([
      command('run', MODEL, 'In the beginning', ...flags), command('status', '--json'), command('plan', MODEL, '--json'), command('models', '--json'), command('status'),
    ]);
    for (const finished of [run, status, plan, models, text]) {
      expect(finished.code, finished.stderr).toBe(0);
      expect(finished.stderr).toBe('');
    }
    const answer = JSON.parse(run.stdout) as { text: string; tokens: number[]; usage: object; timings: object };
    expect(Object.keys(answer).sort()).toEqual(['id', 'text', 'timings', 'tokens', 'usage']);
    expect(answer.tokens).toHaveLength(12);
    expect(answer.usage).toMatchObject({ completion_tokens: 12 });
    expect(JSON.parse(status.stdout)).toMatchObject({ cluster: CLUSTER, secured: true, term: { counter: 1 }, nodes: [{ self: true, coordinator: true }], instances: [{ state: 'active', stages: [{ rank: 0 }] }] });
    expect(JSON.parse(plan.stdout)).toMatchObject({ stages: [{ rank: 0, backend: 'cpu', range: { start: 0, end: 5 } }] });
    expect((JSON.parse(models.stdout) as object[])[0]).toMatchObject({ name: MODEL, loaded: true });
    for (const line of text.stdout.split('\n')) expect(line.length, text.stdout).toBeLessThanOrEqual(80);
    // A sentence alone is for the only model that is served; a slip in a name is told.
    const [sentence, slip] = await Promise.all([command('run', 'In the beginning', ...flags), command('run', 'kjv_q8_0', 'x')]);
    expect(JSON.parse(sentence.stdout)).toMatchObject({ tokens: answer.tokens });
    expect([slip.code, slip.stderr]).toEqual([1, expect.stringContaining(`did you mean "${MODEL}"`)]);
  });

  it('keeps its state directory for itself', async () => {
    const second = await command('start', '--no-mdns', '--api-port', '0', '--cluster', CLUSTER);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`^agent: an agent with process id ${agent.pid} already uses the state directory .*stop it with \`agent stop\`, or give this one another with --state-dir\n$`));
    expect((await agent.status()).nodes).toHaveLength(1);
  });

  describe('shows nodes that it cannot work with', () => {
    const peerAddress = async (): Promise<string> => {
      const [address] = (await agent.status()).nodes.find((node) => node.self)?.addresses ?? [];
      const match = /^\/ip4\/([^/]+)\/tcp\/(\d+)/.exec(address ?? '');
      if (match === null) throw new Error(`no peer address in ${address ?? 'nothing'}`);
      return `${match[1] ?? ''}:${match[2] ?? ''}`;
    };
    const join = async (options: { readonly words: string; readonly protocol: number; readonly version: string }): Promise<TestNode> => startNode({
      clusterName: CLUSTER, secret: await parseSecret(options.words, CLUSTER), peers: [await peerAddress()], agentVersion: options.version, protocolMin: options.protocol, protocolMax: options.protocol + 1,
    });

    it('of another protocol, with both versions, and leaves them out of plans', async () => {
      const other = await join({ words: secretWords, protocol: 7, version: '9.1.0' });
      const status = await agent.statusWhen((seen) => seen.nodes.some((node) => node.nodeId === other.id), { timeoutMs: SEEN_WITHIN_MS, what: 'the other node in the status' });
      const view = status.nodes.find((node) => node.nodeId === other.id);
      expect(view).toMatchObject({ state: 'incompatible', self: false, coordinator: false });
      expect(view?.problem).toMatch(/runs ring-agent 9\.1\.0, which speaks protocol 7 to 8; this one runs \S+, which speaks 1: install the same version on both/);
      const [text, plan] = await Promise.all([command('status'), command('plan', MODEL, '--json')]);
      expect(text.stdout).toContain('incompatible');
      expect(text.stdout).toContain('protocol 7 to 8');
      expect((JSON.parse(plan.stdout) as { stages: object[] }).stages).toHaveLength(1);
      expect(other.network.refused()[0]?.message).toContain('9.1.0');
      await other.stop();
    });

    it('of another secret, on either side', async () => {
      const other = await join({ words: generateSecret(), protocol: 1, version: '0.1.0' });
      const status = await agent.statusWhen((seen) => seen.nodes.some((node) => node.problem?.includes('secret') === true), { timeoutMs: SEEN_WITHIN_MS, what: 'the stranger in the status' });
      expect(status.nodes.find((node) => node.problem?.includes('secret') === true)?.problem).toMatch(/probably has another cluster secret or name/);
      expect(other.network.refused()[0]?.message).toMatch(/another cluster secret or name: give both the same --cluster and --secret-file/);
      expect(status.nodes.filter((node) => node.state === 'alive')).toHaveLength(1);
      await other.stop();
    });
  });
});
