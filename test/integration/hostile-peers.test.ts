/**
 * A node of the cluster that does not behave: it has the secret, speaks the protocol, and then sends what no agent sends.
 * Real agents serve a client meanwhile: every answer must be whole and the same, the offender is counted and shut out.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noise } from '@chainsafe/libp2p-noise';
import { generateKeyPair, privateKeyToProtobuf } from '@libp2p/crypto/keys';
import type { Connection, Stream } from '@libp2p/interface';
import { peerIdFromPrivateKey } from '@libp2p/peer-id';
import { tcp } from '@libp2p/tcp';
import { yamux } from '@libp2p/yamux';
import { multiaddr } from '@multiformats/multiaddr';
import { createLibp2p } from 'libp2p';
import type { Libp2p } from 'libp2p';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ControlMessage } from '../../src/core/messages.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import type { Capabilities, NodeRecord } from '../../src/core/types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { CONTROL_PROTOCOL } from '../../src/net/control-channel.js';
import { HELLO_PROTOCOL } from '../../src/net/hello.js';
import { ACTIVATION_PROTOCOL } from '../../src/net/ring-link.js';
import { clusterHash, generateSecret, noisePrologue, parseSecret } from '../../src/net/secret.js';
import type { WeightsProvider } from '../../src/ports.js';
import { encodeControl } from '../../src/wire/control-codec.js';
import { encodeEdge } from '../../src/wire/edge-codec.js';
import { encodeFrame } from '../../src/wire/framing.js';
import { encodeHello } from '../../src/wire/record-codec.js';
import { Random } from '../sim/random.js';
import { AgentProcess } from '../support/agent-process.js';
import { waitUntil } from '../support/processes.js';
import { randomBytes } from '../fuzz/mutate.js';
import { startNode, stopAll } from '../net/support.js';
import type { TestNode } from '../net/support.js';
import { writeRenamedBuiltInModel } from '../support/model-copy.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const CLUSTER = `hostile-${process.pid}`;
const NODES = 2;
const TOKENS = 60;
const AGREE_MS = 20_000;
const SEEN_MS = 20_000;
const OFFENCES_BEFORE_SHUT_OUT = 5;
/** More than any agent sends in that time. */
const MANY_MESSAGES = 5_000;
const SAMPLING: SamplingSettings = { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: true, logitBias: [] };

const words = generateSecret();
const strangers: Libp2p[] = [];
const agents: AgentProcess[] = [];

/** Somebody with the cluster's secret who says what he likes. */
class Stranger {
  private constructor(readonly node: Libp2p, private readonly address: string) {}

  static async start(agent: AgentProcess): Promise<Stranger> {
    const secret = await parseSecret(words, CLUSTER);
    const node = await createLibp2p({
      transports: [tcp()], streamMuxers: [yamux()], connectionEncrypters: [noise({ prologueBytes: noisePrologue(CLUSTER, secret) })], connectionMonitor: { enabled: false },
    });
    strangers.push(node);
    const self = (await agent.status()).nodes.find((view) => view.self);
    return new Stranger(node, `${self?.addresses[0] ?? ''}/p2p/${self?.nodeId ?? ''}`);
  }

  get id(): string {
    return this.node.peerId.toString();
  }

  /** Hello and an open control channel, as every agent begins. */
  async join(): Promise<{ readonly connection: Connection; readonly control: Stream }> {
    const connection = await this.node.dial(multiaddr(this.address));
    const hello = await connection.newStream(HELLO_PROTOCOL);
    const answered = new Promise<void>((resolve) => hello.addEventListener('message', () => resolve()));
    send(hello, encodeHello({ clusterHash: clusterHash(CLUSTER), agentVersion: '0.1.0', protocolMin: 1, protocolMax: 1, nodeId: this.id, incarnation: 1, nonce: 'n', addresses: [], bulk: false }));
    await answered;
    return { connection, control: await connection.newStream(CONTROL_PROTOCOL) };
  }
}

function send(stream: Stream, payload: Uint8Array): void {
  for (const piece of encodeFrame([payload])) stream.send(piece);
}

const say = (stream: Stream, message: ControlMessage): void => send(stream, encodeControl(message));

async function closed(connection: Connection): Promise<void> {
  await waitUntil(() => connection.status !== 'open', { timeoutMs: SEEN_MS, what: 'the stranger is cut off' });
}

describe('a ring with a peer that does not behave', () => {
  let expected: readonly number[] = [];
  let planId = '';

  beforeAll(async () => {
    const secretFile = join(temporaryDirectory('hostile-secret'), 'secret');
    writeFileSync(secretFile, words, { mode: 0o600 });
    for (let index = 0; index < NODES; index += 1) {
      const alone = await agents[0]?.statusWhen(({ nodes }) => nodes[0]?.addresses[0] !== undefined, { timeoutMs: AGREE_MS, what: 'the address of the first node' });
      const address = alone?.nodes[0]?.addresses.slice(0, 1) ?? [];
      agents.push(await AgentProcess.start({
        stateDir: temporaryDirectory('hostile'),
        args: ['--cluster', CLUSTER, '--secret-file', secretFile, '--no-mdns', '--listen', '127.0.0.1:0', '--threads', '1', '--ctx', '256', '--slots', '2', '--log-level', 'info', ...address.flatMap((peer) => ['--peer', peer])],
      }));
    }
    for (const agent of agents) await agent.statusWhen(({ nodes, coordinator }) => nodes.length === NODES && coordinator !== null, { timeoutMs: AGREE_MS, what: 'the two agree' });
    const loaded = await first().call({ path: '/v1/cluster/load', json: { model: MODEL, nodes: NODES } });
    expect(loaded.status, await loaded.text()).toBe(200);
    planId = (await first().status()).instances[0]?.planId ?? '';
    expected = await answer();
    expect(expected).toHaveLength(TOKENS);
  });

  afterEach(async () => {
    await Promise.all(strangers.splice(0).map((node) => node.stop()));
  });

  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.kill9()));
  });

  function first(): AgentProcess {
    const [agent] = agents;
    if (agent === undefined) throw new Error('no agent');
    return agent;
  }

  async function answer(model = MODEL): Promise<readonly number[]> {
    const whole = await first().call({ path: '/v1/completions', timeoutMs: 60_000, json: { model, prompt: [5, 17, 256], max_tokens: TOKENS, temperature: 1, seed: 3, ignore_eos: true, return_tokens: true } });
    const body = await whole.json() as { choices?: { tokens?: number[] }[] };
    return body.choices?.[0]?.tokens ?? [];
  }

  /** Everyone else is served as if nothing were, by the same plan. */
  async function served(meanwhile: () => Promise<unknown>): Promise<void> {
    const [tokens] = await Promise.all([answer(), meanwhile()]);
    expect(tokens, first().output()).toEqual(expected);
    expect((await first().status()).instances[0]).toMatchObject({ state: 'active', planId });
  }

  async function offences(agent = first()): Promise<number> {
    const text = await (await agent.call({ path: '/metrics' })).text();
    return Number(/^ring_events\{what="offence"\} (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
  }

  it('is served while random bytes, truncated and oversized frames come; the sender is counted and shut out', async () => {
    const stranger = await Stranger.start(first());
    const random = new Random(7);
    const before = await offences();
    const frames: readonly Uint8Array[] = [
      Buffer.concat(encodeFrame([randomBytes(random).subarray(0, 100), Buffer.of(0xff)])),
      Buffer.from('7fffffff00', 'hex'),
      Buffer.from('00000000', 'hex'),
      Buffer.concat(encodeFrame([encodeControl({ kind: 'record', record: record(stranger.id) }).subarray(0, 40)])),
      Buffer.concat(encodeFrame([Buffer.from('f2070161', 'hex')])),
    ];
    expect(frames).toHaveLength(OFFENCES_BEFORE_SHUT_OUT);
    await served(async () => {
      for (const bytes of frames) {
        const { connection, control } = await stranger.join();
        control.send(bytes);
        await closed(connection);
      }
    });
    expect(await offences()).toBe(before + OFFENCES_BEFORE_SHUT_OUT);
    const view = (await first().status()).nodes.find(({ nodeId }) => nodeId === stranger.id);
    expect(view?.problem).toMatch(/is shut out for 10 minutes/);
    const again = await stranger.node.dial(multiaddr(`${(await first().status()).nodes.find(({ self }) => self)?.addresses[0] ?? ''}`)).catch(() => null);
    if (again !== null) await closed(again);
  });

  it('is served while somebody pretends to be the ring: links that are not his, tokens, cancels and refusals of others', async () => {
    const stranger = await Stranger.start(first());
    await served(async () => {
      const { connection, control } = await stranger.join();
      for (const rank of [0, 1, 7]) {
        const link = await connection.newStream(ACTIVATION_PROTOCOL);
        send(link, encodeEdge({ planId, rank }));
        await waitUntil(() => link.status !== 'open' || link.remoteWriteStatus !== 'writable', { timeoutMs: SEEN_MS, what: `edge ${rank} is refused` });
      }
      for (let index = 0; index < 50; index += 1) {
        say(control, { kind: 'token', requestId: `r${index}`, planId, index, token: 7, endOfGeneration: true });
        say(control, { kind: 'cancel', requestId: `r${index}` });
        say(control, { kind: 'refused', requestId: `r${index}`, planId, code: 'wrong_plan', message: 'no' });
        say(control, { kind: 'reply', callId: `c${index}`, instanceId: 'i', error: null });
      }
      // Wrong ids, wrong plans, wrong tokens: refused to him, one by one.
      say(control, { kind: 'generate', requestId: 'r', planId: 'none', promptTokens: [1], emittedTokens: [], sampling: SAMPLING, maxTokens: 5 });
      say(control, { kind: 'generate', requestId: 'r', planId, promptTokens: [999_999], emittedTokens: [], sampling: SAMPLING, maxTokens: 5 });
      say(control, { kind: 'generate', requestId: 'r', planId, promptTokens: new Array<number>(100_000).fill(1), emittedTokens: [], sampling: SAMPLING, maxTokens: 5 });
      expect(connection.status).toBe('open');
    });
  });

  it('is served while somebody claims old and impossible terms, and records of others', async () => {
    const stranger = await Stranger.start(first());
    const self = (await first().status()).nodeId;
    await served(async () => {
      const { control } = await stranger.join();
      const nothing = { version: 9, instances: [] };
      for (const term of [{ counter: 0, node: stranger.id }, { counter: 1, node: self }, { counter: 2 ** 52, node: stranger.id }, { counter: 9, node: 'somebody' }]) {
        say(control, { kind: 'coordinator', term, serving: 9, desired: nothing });
        say(control, { kind: 'alive', incarnation: 1, counter: 1, term });
        say(control, { kind: 'stages', term, statuses: [{ planId, rank: 0, state: 'failed', progress: 0, error: { code: 'out_of_memory', message: 'not mine' }, residentBytes: 0, fetchedBytes: 0 }] });
      }
      say(control, { kind: 'record', record: record(self) });
    });
    expect((await first().status()).nodes.filter(({ state }) => state === 'alive').length).toBeGreaterThanOrEqual(NODES);
  });

  it('is served while somebody floods it with messages: they are held up', async () => {
    const stranger = await Stranger.start(first());
    const { connection, control } = await stranger.join();
    const piece = Buffer.concat(Array.from({ length: 500 }, () => Buffer.concat(encodeFrame([encodeControl({ kind: 'cancel', requestId: 'r' })]))));
    let over = false;
    let sent = 0;
    let heldUp = 0;
    const flood = async (): Promise<void> => {
      while (!over && connection.status === 'open' && control.status === 'open') {
        if (control.writableNeedsDrain) {
          heldUp += 1;
          await new Promise((resolve) => setTimeout(resolve, 5));
          continue;
        }
        control.send(piece);
        sent += 500;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const flooding = flood();
    await served(async () => undefined);
    over = true;
    await flooding;
    // Whoever is fast enough to be called a flood is cut off before that (test/net/message-pace.test.ts).
    expect(heldUp > 0 || connection.status !== 'open', `${sent} messages were sent`).toBe(true);
    expect(sent).toBeGreaterThan(MANY_MESSAGES);
  });

  it('serves on those who do what they say when somebody claims more than he is', async () => {
    // A whole network of his own, with a record that no machine has, and a stage that never comes.
    const liar = await startNode({
      clusterName: CLUSTER, secret: await parseSecret(words, CLUSTER), peers: [(await peerAddress())],
      onMessage: (from, message) => {
        if (message.kind !== 'coordinator') return;
        liar.network.send(from, { kind: 'alive', incarnation: liar.identity.incarnation, counter: 99, term: message.term });
      },
    });
    await waitUntil(() => liar.connected.length > 0, { timeoutMs: SEEN_MS, what: 'the liar is a peer' });
    const boast = setInterval(() => {
      for (const peer of liar.network.peers()) liar.network.send(peer, { kind: 'record', record: { ...record(liar.id), incarnation: liar.identity.incarnation, nonce: liar.identity.nonce } });
    }, 100);
    try {
      await first().statusWhen(({ nodes }) => nodes.some(({ nodeId, state }) => nodeId === liar.id && state === 'alive'), { timeoutMs: SEEN_MS, what: 'the liar is in the table' });
      const second = join(temporaryDirectory('hostile-model'), 'scripture.gguf');
      writeRenamedBuiltInModel(second);
      const loading = first().call({ path: '/v1/cluster/load', timeoutMs: 90_000, json: { model: second, contextTokens: 128, slots: 1 } });
      await served(async () => undefined);
      const loaded = await loading;
      expect(loaded.status, await loaded.text()).toBe(200);
      const view = (await first().status()).instances.find(({ model }) => model === 'scripture');
      expect(view?.state).toBe('active');
      expect(view?.stages.map(({ nodeId }) => nodeId)).not.toContain(liar.id);
    } finally {
      clearInterval(boast);
      await stopAll();
    }
  }, 180_000);

  it('serves right weights when somebody sends wrong ones, who answers for it', async () => {
    const path = join(temporaryDirectory('hostile-weights'), 'psalms.gguf');
    writeRenamedBuiltInModel(path, 0x51);
    const header = await readGgufHeader(path);
    const file = readFileSync(path);
    let asked = 0;
    const weights: WeightsProvider = {
      header: async () => ({ name: 'psalms', sizeBytes: file.length, files: header.files.map((part) => part.header) }),
      tensor: async (_digest, name) => {
        const tensor = header.byName.get(name);
        if (tensor === undefined) return null;
        asked += 1;
        const right = file.subarray(tensor.offset, tensor.offset + tensor.sizeBytes);
        return {
          sizeBytes: right.length, digest: createHash('sha256').update(right).digest('hex'),
          read: async function* read(offset) {
            yield Buffer.from(right.subarray(offset)).fill(0, 0, 8);
          },
        };
      },
    };
    // Whoever comes first in the table is asked first.
    const { nodeId: holder } = await first().status();
    const liar = await startLiar(weights, await keyBefore(holder));
    expect(liar.id < holder).toBe(true);
    const before = await offences(agents[1]);
    const model = { digest: header.identity.digest, sizeBytes: file.length, name: 'psalms', architecture: 'llama', layers: 5 };
    const claim = setInterval(() => {
      for (const peer of liar.network.peers()) {
        const own = record(liar.id);
        // Here for a moment only, as a command's own agent is: no stage is put on it.
        liar.network.send(peer, { kind: 'record', record: { ...own, incarnation: liar.identity.incarnation, nonce: liar.identity.nonce, capabilities: { ...own.capabilities, models: [model], temporary: true } } });
      }
    }, 100);
    try {
      for (const agent of agents) await agent.statusWhen(({ nodes }) => nodes.some(({ nodeId, capabilities }) => nodeId === liar.id && capabilities?.models.length === 1), { timeoutMs: SEEN_MS, what: 'the liar claims the model' });
      const loaded = await first().call({ path: '/v1/cluster/load', timeoutMs: 90_000, json: { model: path, nodes: NODES, contextTokens: 256, slots: 1 } });
      expect(loaded.status, await loaded.text()).toBe(200);
      expect(await answer('psalms'), first().output()).toEqual(expected);
      expect(asked).toBeGreaterThan(0);
      expect(await offences(agents[1])).toBeGreaterThan(before);
    } finally {
      clearInterval(claim);
      await stopAll();
    }
  }, 180_000);

  /** A state directory with a key whose node comes before `holder` in the table. */
  async function keyBefore(holder: string): Promise<string> {
    let key = await generateKeyPair('Ed25519');
    while (peerIdFromPrivateKey(key).toString() > holder) key = await generateKeyPair('Ed25519');
    const stateDir = temporaryDirectory('hostile-key');
    writeFileSync(join(stateDir, 'identity.key'), privateKeyToProtobuf(key), { mode: 0o600 });
    return stateDir;
  }

  /** Known to every agent: weights are asked for by whoever needs them. */
  async function startLiar(weights: WeightsProvider, stateDir: string): Promise<TestNode> {
    const liar = await startNode({ stateDir, clusterName: CLUSTER, secret: await parseSecret(words, CLUSTER), peers: await Promise.all(agents.map((agent) => peerAddress(agent))), weights });
    await waitUntil(() => liar.network.peers().length === NODES, { timeoutMs: SEEN_MS, what: 'the liar is a peer of both' });
    return liar;
  }

  async function peerAddress(agent = first()): Promise<string> {
    const address = (await agent.status()).nodes.find(({ self }) => self)?.addresses[0] ?? '';
    const match = /^\/ip4\/([^/]+)\/tcp\/(\d+)/.exec(address);
    return `${match?.[1] ?? ''}:${match?.[2] ?? ''}`;
  }
});

function record(nodeId: string): NodeRecord {
  const capabilities: Capabilities = {
    agentVersion: '0.1.0', protocolMin: 1, protocolMax: 1, hostname: 'liar', os: 'linux', arch: 'x64', cores: 512, ramTotalBytes: 2 ** 42, ramAvailableBytes: 2 ** 42, ramLimitBytes: null,
    machineId: 'liar', diskFreeBytes: 2 ** 42, devices: [], backends: ['cpu'], gflops: 1e6, memoryBandwidthBytesPerSecond: 1e13, models: [], shards: [], apiAddress: '',
  };
  return { nodeId, incarnation: 99, counter: 99, nonce: 'x', addresses: [], capabilities };
}
