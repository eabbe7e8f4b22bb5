/** Checkpoints on the internet: known from their headers, made into stages by range, pulled whole; the same model as on a disk. */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel } from '../../src/core/types.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import type { RemoteWeights, StageFiles } from '../../src/ports.js';
import type { CheckpointRecipe } from '../support/checkpoint-files.js';
import { configOf, randomTensors, writeCheckpoint } from '../support/checkpoint-files.js';
import { smallFile } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { byteLevelTokenizer } from '../support/tokenizer-files.js';

const QUIET = new AbortController().signal;
const REPOSITORY = 'tiny/Tiny-Llama';
const REFERENCE = `hf:${REPOSITORY}`;
const VOCABULARY = 512;
const RECIPE: CheckpointRecipe = {
  title: 'far', architecture: 'LlamaForCausalLM', type: 'BF16', layers: 4, hidden: 64, feedForward: 512, heads: 4, kvHeads: 2, headSize: 16, tied: true, normCentre: 1,
  config: { rope_scaling: { rope_type: 'llama3', factor: 4, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 } }, tokenizer: byteLevelTokenizer('llama-bpe'),
};
const ALONE: RemoteWeights = {
  header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
};

let hub: HubServer;
let directory: string;
let weightBytes = 0;

beforeAll(async () => {
  hub = await HubServer.start();
  directory = join(temporaryDirectory(), 'Tiny-Llama');
  await writeCheckpoint(directory, randomTensors(RECIPE, VOCABULARY), configOf(RECIPE, VOCABULARY), RECIPE.tokenizer, 2);
});
afterAll(() => hub.stop());
beforeEach(() => {
  hub.faults.length = 0;
  hub.files.clear();
  hub.given.clear();
  weightBytes = 0;
  publish(REPOSITORY);
});

function publish(repository: string, changes: Readonly<Record<string, Uint8Array | null>> = {}): void {
  const files = { ...Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name))])), ...changes };
  for (const [name, bytes] of Object.entries(files)) {
    if (bytes === null) continue;
    hub.add(repository, name, bytes);
    if (name.endsWith('.safetensors')) weightBytes += bytes.length;
  }
}

async function open(state?: string): Promise<DiskModelLibrary> {
  return openModelLibrary({ stateDirectory: state ?? temporaryDirectory(), modelPaths: [], builtIn: false, log: null, hub: { endpoint: hub.url, token: null, stallMs: 1500, backoffMs: 5 } });
}

async function resolved(library: DiskModelLibrary, reference = REFERENCE): Promise<HeldModel> {
  const model = await library.resolve(reference);
  if (model === null) throw new Error('not resolved');
  return model;
}

function stage(library: DiskModelLibrary, model: HeldModel, start: number, end: number, remote = ALONE): Promise<StageFiles> {
  return library.stageFiles({ model, range: { start, end }, head: start === 0, tail: end === model.layers, signal: QUIET, onProgress: () => undefined }, remote);
}

/** What a node that has the directory makes. */
async function local(): Promise<{ readonly library: DiskModelLibrary; readonly model: HeldModel }> {
  const library = await openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [directory], builtIn: false, log: null });
  const model = await library.resolve('Tiny-Llama');
  if (model === null) throw new Error('no model');
  return { library, model };
}

async function expectSame(made: StageFiles, expected: StageFiles): Promise<void> {
  expect(Buffer.compare(await readFile(made.stageFile), await readFile(expected.stageFile))).toBe(0);
  expect(made.embedding === null).toBe(expected.embedding === null);
  if (made.embedding !== null && expected.embedding !== null) expect(Buffer.compare(await readFile(made.embedding.file), await readFile(expected.embedding.file))).toBe(0);
}

/** As the network shows one library to another. */
function peers(libraries: readonly DiskModelLibrary[], self: DiskModelLibrary): RemoteWeights {
  const first = async <T>(ask: (other: DiskModelLibrary) => Promise<T | null>): Promise<T> => {
    for (const other of libraries) {
      const found = other === self ? null : await ask(other);
      if (found !== null) return found;
    }
    throw new RingError('peer_unreachable', 'nobody has it');
  };
  return { header: (digest) => first((other) => other.header(digest)), tensor: (digest, name) => first((other) => other.tensor(digest, name)) };
}

describe('a checkpoint on the internet', () => {
  it('is the same model as on a disk, known without its weights, and after a restart without the internet', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    const model = await resolved(library);
    const { model: own } = await local();
    expect(model).toMatchObject({ name: 'Tiny-Llama', digest: own.digest, sizeBytes: own.sizeBytes, layers: 4, source: { repository: REPOSITORY } });
    expect(model.source?.files.map(({ location }) => location)).toEqual(['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']);
    expect((await library.shape(model, ALONE, QUIET)).layerBytes).toHaveLength(4);
    const asked = hub.requests;
    expect(await resolved(await open(state))).toEqual(model);
    expect(hub.requests).toBe(asked);
  });

  it('is made into stages by nodes that share it: what is stored leaves the hub once, and each has what a disk would have given', async () => {
    const nodes = [await open(), await open(), await open()];
    const [a, b, c] = nodes as [DiskModelLibrary, DiskModelLibrary, DiskModelLibrary];
    const model = await resolved(a);
    hub.forgetCounts();
    const made = await Promise.all([stage(c, model, 3, 4, peers(nodes, c)), stage(b, model, 1, 3, peers(nodes, b)), stage(a, model, 0, 1, peers(nodes, a))]);
    const { library, model: own } = await local();
    for (const [index, [start, end]] of [[3, 4], [1, 3], [0, 1]].entries()) {
      const files = made[index];
      if (files === undefined) throw new Error('no stage');
      await expectSame(files, await stage(library, own, start ?? 0, end ?? 0));
    }
    // Each node reads the files' heads; every tensor came to one of them, once.
    expect(notOnce()).toEqual([]);
    hub.forgetCounts();
    await stage(b, model, 0, 4, peers(nodes, b));
    expect(hub.bytesGiven()).toBe(0);
  });

  it('goes on where connections break and stall, inside a head whose rows are interleaved too', async () => {
    const library = await open();
    const model = await resolved(library);
    hub.faults.push(...Array.from({ length: 12 }, () => ({ kind: 'cut', afterBytes: 1234 } as const)), { kind: 'status', status: 503 }, { kind: 'stall', afterBytes: 100 });
    const { library: other, model: own } = await local();
    await expectSame(await stage(library, model, 0, 4), await stage(other, own, 0, 4));
    expect(hub.faults).toHaveLength(0);
  });

  it('is taken where a repository has a GGUF too only when it is asked for', async () => {
    hub.add(REPOSITORY, 'Tiny-Q8_0.gguf', smallFile());
    expect((await resolved(await open())).name).toBe('Tiny-Q8_0');
    expect((await resolved(await open(), `${REFERENCE}:safetensors`)).name).toBe('Tiny-Llama');
  });

  it.each<readonly [string, Readonly<Record<string, Uint8Array | null>>, string, RegExp]>([
    ['is quantised in a way that is not read', { 'config.json': Buffer.from(JSON.stringify({ ...configOf(RECIPE, VOCABULARY), quantization: { group_size: 64, bits: 4 } })) }, 'unsupported_architecture', /hf:tiny\/Odd\/config\.json: .*take/],
    ['lacks a shard', { 'model-00002-of-00002.safetensors': null }, 'bad_checkpoint', /hf:tiny\/Odd: shard model-00002-of-00002\.safetensors is missing/],
    ['has no tokenizer', { 'tokenizer.json': null }, 'bad_checkpoint', /hf:tiny\/Odd: it has no tokenizer/],
    ['has no weights', { 'model-00001-of-00002.safetensors': null, 'model-00002-of-00002.safetensors': null, 'model.safetensors.index.json': null }, 'source_missing', /no checkpoint \(config\.json and safetensors\) either/],
  ])('that %s says so', async (_what, changes, code, message) => {
    publish('tiny/Odd', changes);
    await expect((await open()).resolve('hf:tiny/Odd')).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
  });

  it('that was replaced after it was named is not mixed with the old one', async () => {
    const library = await open();
    const model = await resolved(library);
    publish(REPOSITORY, { 'model-00001-of-00002.safetensors': Buffer.concat([readFileSync(join(directory, 'model-00001-of-00002.safetensors')), Buffer.alloc(64)]) });
    await expect(stage(library, model, 0, 2)).rejects.toMatchObject({ code: 'source_failed', message: expect.stringMatching(/was replaced/) as string });
  });
});

describe('a pulled checkpoint', () => {
  it('lies whole in a directory of its own, is used from there, and its removal frees what it said', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    const keeper = library.upkeep(() => []);
    const pulled = await keeper.pull(REFERENCE, QUIET);
    expect(pulled).toMatchObject({ model: 'Tiny-Llama', path: join(state, 'models', 'Tiny-Llama') });
    for (const name of readdirSync(directory)) expect(Buffer.compare(readFileSync(join(pulled.path, name)), readFileSync(join(directory, name))), name).toBe(0);
    const model = await resolved(library, 'Tiny-Llama');
    expect([model.source, model.checkpoint]).toEqual([undefined, true]);
    hub.forgetCounts();
    const { library: other, model: own } = await local();
    await expectSame(await stage(library, model, 0, 4), await stage(other, own, 0, 4));
    expect(hub.bytesGiven()).toBe(0);
    const [kept] = await keeper.list();
    expect(kept).toMatchObject({ ours: true, path: pulled.path });
    expect(kept?.freesBytes).toBeGreaterThan(2 * weightBytes * 0.9);
    expect(await keeper.remove('Tiny-Llama')).toEqual({ model: 'Tiny-Llama', freedBytes: kept?.freesBytes, leftInPlace: null });
    expect(readdirSync(join(state, 'models')).filter((name) => !name.startsWith('.'))).toEqual([]);
    expect(library.models()).toEqual([]);
  });

  it('goes on where it was interrupted, and is no model before it is whole', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    const keeper = library.upkeep(() => []);
    const stop = new AbortController();
    Object.assign(hub, { chunkBytes: 4096, chunkDelayMs: 5 });
    const cut = keeper.pull(REFERENCE, stop.signal);
    cut.catch(() => undefined);
    await expect.poll(() => (keeper.transfers()[0]?.doneBytes ?? 0) / (keeper.transfers()[0]?.totalBytes ?? 1), { timeout: 10_000, interval: 5 }).toBeGreaterThan(0.6);
    stop.abort();
    await expect(cut).rejects.toMatchObject({ code: 'cancelled' });
    expect((await open(state)).models().every((model) => model.source !== undefined)).toBe(true);
    Object.assign(hub, { chunkBytes: 0, chunkDelayMs: 0 });
    hub.forgetCounts();
    const { path } = await (await open(state)).upkeep(() => []).pull('Tiny-Llama', QUIET);
    for (const name of readdirSync(directory)) expect(Buffer.compare(readFileSync(join(path, name)), readFileSync(join(directory, name))), name).toBe(0);
    expect(hub.bytesGiven()).toBeLessThan(weightBytes / 2);
  });

  it('with a flipped byte is thrown away, and another one of the same name lies beside it', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    const keeper = library.upkeep(() => []);
    await resolved(library);
    hub.faults.push(...Array.from({ length: 12 }, () => ({ kind: 'flip', at: 20_000 } as const)));
    await expect(keeper.pull(REFERENCE, QUIET)).rejects.toMatchObject({ code: 'digest_mismatch' });
    hub.faults.length = 0;
    await keeper.pull(REFERENCE, QUIET);
    const other = join(temporaryDirectory(), 'other');
    await writeCheckpoint(other, randomTensors({ ...RECIPE, title: 'another' }, VOCABULARY), configOf(RECIPE, VOCABULARY), RECIPE.tokenizer, 1);
    for (const name of readdirSync(other)) hub.add('somebody/Tiny-Llama', name, readFileSync(join(other, name)));
    const { model, path } = await keeper.pull('hf:somebody/Tiny-Llama', QUIET);
    expect(path).toMatch(/models\/Tiny-Llama-[0-9a-f]{8}$/);
    expect(library.models().map(({ name }) => name)).toEqual(['Tiny-Llama', path.slice(path.lastIndexOf('/') + 1)]);
    expect(model).not.toBe('');
    await rm(other, { recursive: true });
  });
});

/** Files of which, beyond their heads, some byte was not given once. */
function notOnce(): string[] {
  return [...hub.given].filter(([file, counts]) => {
    if (!file.endsWith('.safetensors')) return false;
    const head = 8 + Number(readFileSync(join(directory, file.slice(file.lastIndexOf('/') + 1))).readBigUInt64LE(0));
    return counts.subarray(head).some((count) => count !== 1);
  }).map(([file]) => file);
}
