/**
 * Three machines on a LAN, `agent start` on each with no flag but the state directory: they find each other, agree, split
 * a model that one of them has, answer from any of them, and move no weight byte when they start again.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterStatus, InstanceView, StageView } from '../../src/agent/service.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { AgentProcess } from '../support/agent-process.js';
import { field } from '../support/json.js';
import { writeRenamedBuiltInModel } from '../support/model-copy.js';
import { waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { createLan, lanAvailable } from './harness.js';
import type { Lan } from './harness.js';

const available = lanAvailable();
const HOSTS = [1, 2, 3] as const;
/** From the first process start to the same view everywhere. */
const AGREEMENT_MS = 5_000;
/** Where the time to agreement is not what is tested. */
const PATIENT_MS = 30_000;
const LOAD_MS = 60_000;
const MODEL = 'scripture';
/** What a stage may hold beyond its layers; the embedding of one without vocabulary has these few rows. */
const TINY_VOCABULARY_ROWS = 32;

describe.skipIf(!available.ok)(`three hosts on a LAN${available.ok ? '' : ` (skipped: ${available.reason})`}`, () => {
  let lan: Lan;
  let agents: AgentProcess[] = [];
  let stateDirs: string[] = [];
  let modelFile = '';
  let firstAnswer = '';

  beforeAll(async () => {
    lan = await createLan({ hosts: HOSTS.length });
    stateDirs = HOSTS.map((index) => temporaryDirectory(`host${index}`));
    const models = join(stateDirs[0] ?? '', 'models');
    mkdirSync(models, { recursive: true });
    modelFile = join(models, `${MODEL}.gguf`);
    writeRenamedBuiltInModel(modelFile);
    // The way in to each host's API is there before the clock starts.
    await Promise.all(HOSTS.map((index) => lan.host(index).http(11500)));
  });
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.kill9()));
    await lan.destroy();
  });

  async function startAll(): Promise<void> {
    agents = await Promise.all(HOSTS.map((index, position) => AgentProcess.launch({ stateDir: stateDirs[position] ?? '', host: lan.host(index) })));
  }

  function agentOf(index: number): AgentProcess {
    const agent = agents[index - 1];
    if (agent === undefined) throw new Error(`no agent on host ${index}`);
    return agent;
  }

  async function load(from: AgentProcess): Promise<InstanceView> {
    const answer = await from.call({ path: '/v1/cluster/load', json: { model: MODEL, nodes: HOSTS.length }, timeoutMs: LOAD_MS });
    expect(answer.status, `${await answer.text()}\n${agents.map((agent) => agent.output()).join('\n')}`).toBe(200);
    const status = await from.statusWhen((seen) => activeInstance(seen) !== null, { timeoutMs: 5_000, what: 'an active instance' });
    const instance = activeInstance(status);
    if (instance === null) throw new Error('no active instance');
    return instance;
  }

  it('see the same nodes, coordinator and term within 5 s', async () => {
    const start = performance.now();
    await startAll();
    await waitForAgreement(agents, AGREEMENT_MS - (performance.now() - start));
    expect(performance.now() - start).toBeLessThan(AGREEMENT_MS);
  });

  it('split a model that only host 1 holds, each fetching its own layers', async () => {
    const instance = await load(agentOf(3));
    expect(instance.stages).toHaveLength(HOSTS.length);
    expect(new Set(instance.stages.map((stage) => stage.hostname))).toEqual(new Set(['host1', 'host2', 'host3']));
    for (const stage of instance.stages) {
      if (stage.hostname === 'host1') expect(stage.fetchedBytes).toBe(0);
      else expect(stage.fetchedBytes).toBeGreaterThan(0);
      expect(stage.fetchedBytes).toBeLessThan(statSync(modelFile).size);
    }
  });

  it('stream an answer from a host that has not the model, the same as from one that has', async () => {
    firstAnswer = await chat(agentOf(3));
    expect(firstAnswer.length).toBeGreaterThan(10);
    expect(await chat(agentOf(1))).toBe(firstAnswer);
  });

  it('hold the layers of their own stage on disk and nothing else', async () => {
    const instance = activeInstance(await agentOf(1).status());
    const model = await readGgufHeader(modelFile);
    for (const [position, hostname] of ['host2', 'host3'].entries()) {
      const stage = instance?.stages.find((candidate) => candidate.hostname === hostname);
      if (stage === undefined) throw new Error(`no stage on ${hostname}`);
      const stateDir = stateDirs[position + 1] ?? '';
      const files = filesUnder(stateDir);
      expect(files.filter((file) => file.endsWith('.partial'))).toEqual([]);
      const headers = await Promise.all(files.filter((file) => file.endsWith('.gguf')).map((file) => readGgufHeader(file)));
      // A file without tensors is the vocabulary.
      const withWeights = headers.filter((header) => header.tensors.length > 0);
      expect(withWeights.map((header) => basename(header.files[0]?.path ?? ''))).toHaveLength(1);
      const [header] = withWeights;
      if (header !== undefined) expectStageFile(header, { model, stage, tail: stage.rank === HOSTS.length - 1 });
      const embeddings = files.filter((file) => file.endsWith('.embd'));
      expect(embeddings).toHaveLength(stage.rank === 0 ? 1 : 0);
    }
  });

  it('move no weight byte when all three start again', async () => {
    const exits = await Promise.all(agents.map((agent) => agent.stop()));
    expect(exits).toEqual(HOSTS.map(() => ({ code: 0, signal: null })));
    await startAll();
    await waitForAgreement(agents, PATIENT_MS);
    const instance = await load(agentOf(2));
    expect(instance.stages.map((stage) => stage.fetchedBytes)).toEqual(HOSTS.map(() => 0));
    expect(await chat(agentOf(3))).toBe(firstAnswer);
  });

  it('leave no process when they stop', async () => {
    const exits = await Promise.all(agents.map((agent) => agent.stop()));
    expect(exits).toEqual(HOSTS.map(() => ({ code: 0, signal: null })));
    expect(agents.flatMap((agent) => agent.family())).toEqual([]);
  });
});

/** What every node must say alike; null while a node does not see three of them and a coordinator. */
function view(status: ClusterStatus): string | null {
  const alive = status.nodes.filter((node) => node.state === 'alive').map((node) => node.nodeId).sort();
  if (alive.length !== HOSTS.length || status.coordinator === null || status.term === null) return null;
  return JSON.stringify([alive, status.coordinator, status.term]);
}

async function waitForAgreement(agents: readonly AgentProcess[], timeoutMs: number): Promise<void> {
  let seen: readonly (ClusterStatus | string)[] = [];
  await waitUntil(async () => {
    seen = await Promise.all(agents.map((agent) => agent.status().catch((error: unknown) => String(error))));
    const views = seen.map((status) => (typeof status === 'string' ? null : view(status)));
    return views[0] !== null && views.every((other) => other === views[0]);
  }, {
    timeoutMs, pollMs: 100, what: 'the same nodes, coordinator and term everywhere',
    detail: () => `${JSON.stringify(seen, null, 1)}\n${agents.map((agent) => agent.output()).join('\n')}`,
  });
}

function activeInstance(status: ClusterStatus): InstanceView | null {
  return status.instances.find((instance) => instance.model === MODEL && instance.state === 'active') ?? null;
}

/** A greedy streamed chat; returns its text. */
async function chat(agent: AgentProcess): Promise<string> {
  const answer = await agent.call({
    path: '/v1/chat/completions',
    json: { model: MODEL, messages: [{ role: 'user', content: 'In the beginning' }], stream: true, temperature: 0, max_tokens: 24 },
  });
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}\n${agent.output()}`);
  let text = '';
  let last = '';
  for await (const data of answer.events()) {
    last = data;
    if (data !== '[DONE]') text += deltaOf(JSON.parse(data));
  }
  expect(last, agent.output()).toBe('[DONE]');
  return text;
}

function deltaOf(chunk: unknown): string {
  const choices = field(chunk, 'choices');
  const content = field(field(Array.isArray(choices) ? choices[0] : null, 'delta'), 'content');
  return typeof content === 'string' ? content : '';
}

function filesUnder(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((entry) => join(directory, entry)).filter((path) => statSync(path).isFile());
}

/** Every tensor of the stage's layers with the model's own bytes, and beyond them only what the stage's role needs. */
function expectStageFile(header: GgufHeader, expected: { readonly model: GgufHeader; readonly stage: StageView; readonly tail: boolean }): void {
  const { model, stage, tail } = expected;
  const { start, end } = stage.range;
  const layers = new Map<string, string>();
  for (const tensor of model.tensors) {
    const match = /^blk\.(\d+)\.(.*)$/.exec(tensor.name);
    const layer = Number(match?.[1] ?? -1);
    if (match !== null && layer >= start && layer < end) layers.set(`blk.${layer - start}.${match[2] ?? ''}`, tensor.name);
  }
  const names = header.tensors.map((tensor) => tensor.name);
  expect(names.filter((name) => name.startsWith('blk.')).sort()).toEqual([...layers.keys()].sort());
  for (const [name, source] of layers) expect(digestOf(header, name), name).toBe(digestOf(model, source));
  const others = names.filter((name) => !name.startsWith('blk.')).sort();
  if (tail) {
    // The built-in model has no output matrix of its own: the embedding is one, and the embedding itself is a hole.
    expect(others).toEqual(['output.weight', 'output_norm.weight', 'token_embd.weight']);
    expect(digestOf(header, 'output.weight')).toBe(digestOf(model, 'token_embd.weight'));
    expect(digestOf(header, 'output_norm.weight')).toBe(digestOf(model, 'output_norm.weight'));
    expect(isZero(header, 'token_embd.weight')).toBe(true);
  } else {
    expect(others.filter((name) => !['output_norm.weight', 'token_embd.weight'].includes(name))).toEqual([]);
    for (const name of others) expect(isZero(header, name), name).toBe(true);
    expect(header.byName.get('token_embd.weight')?.dims[1]).toBe(TINY_VOCABULARY_ROWS);
  }
}

function digestOf(header: GgufHeader, name: string): string {
  return createHash('sha256').update(bytesOf(header, name)).digest('hex');
}

function isZero(header: GgufHeader, name: string): boolean {
  return bytesOf(header, name).every((byte) => byte === 0);
}

function bytesOf(header: GgufHeader, name: string): Uint8Array {
  const tensor = header.byName.get(name);
  const file = header.files[tensor?.fileIndex ?? -1];
  if (tensor === undefined || file === undefined) throw new Error(`no tensor ${name}`);
  return readFileSync(file.path).subarray(tensor.offset, tensor.offset + tensor.sizeBytes);
}
