import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel, HeldShard } from '../../src/core/types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { makeRoom } from '../../src/model/holdings.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import type { ClusterOfStore, RemoteWeights } from '../../src/ports.js';
import { smallFile } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const QUIET = new AbortController().signal;
const REPOSITORY = 'tiny/Small-GGUF';
const FILE = 'Small-Q8_0.gguf';
const REFERENCE = `hf:${REPOSITORY}`;
const NOBODY: RemoteWeights = {
  header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
};
const bytes = smallFile();
const hub = await HubServer.start();
afterAll(() => hub.stop());

beforeEach(() => {
  hub.faults.length = 0;
  hub.add(REPOSITORY, FILE, bytes);
});

async function open(state: string, more: { readonly quotaBytes?: number; readonly modelPaths?: readonly string[] } = {}): Promise<DiskModelLibrary> {
  return openModelLibrary({ stateDirectory: state, modelPaths: [], builtIn: false, log: null, hub: { endpoint: hub.url, token: null, stallMs: 20_000, backoffMs: 5 }, ...more });
}

async function resolved(library: DiskModelLibrary): Promise<HeldModel> {
  const model = await library.resolve(REFERENCE);
  if (model === null) throw new Error('not resolved');
  return model;
}

/** Head stages of `end` layers: alone they need no other node. */
function stage(library: DiskModelLibrary, model: HeldModel, end: number): Promise<unknown> {
  return library.stageFiles({ model, range: { start: 0, end }, head: true, tail: end === model.layers, signal: QUIET, onProgress: () => undefined }, NOBODY);
}

/** A cluster of one other node. */
function clusterOf(other: DiskModelLibrary): ClusterOfStore {
  const given = async <T>(found: Promise<T | null>): Promise<T> => await found ?? Promise.reject(new RingError('peer_unreachable', 'not there'));
  return { remote: { header: (digest) => given(other.header(digest)), tensor: (digest, name) => given(other.tensor(digest, name)) }, changed: () => Promise.resolve() };
}

const used = (model: HeldModel, end: number): HeldShard => ({ modelDigest: model.digest, range: { start: 0, end }, head: true, tail: end === model.layers });

describe('what a node keeps', () => {
  it('is listed with sizes, and a removal frees what it said', async () => {
    const library = await open(temporaryDirectory());
    const model = await resolved(library);
    await stage(library, model, 2);
    const keeper = library.upkeep(() => []);
    const [kept] = await keeper.list();
    expect(kept).toMatchObject({ name: 'Small-Q8_0', path: null, internet: `hf:${REPOSITORY}/${FILE}`, inUse: false, shards: [{ range: { start: 0, end: 2 }, head: true, tail: false, complete: true, inUse: false }] });
    expect(kept?.freesBytes).toBeGreaterThan(0);
    expect(await keeper.remove('small-q8_0')).toEqual({ model: 'Small-Q8_0', freedBytes: kept?.freesBytes, leftInPlace: null });
    expect(await keeper.list()).toEqual([]);
    expect(library.shards()).toEqual([]);
    await expect(keeper.remove('Small-Q8_0')).rejects.toMatchObject({ code: 'unknown_model' });
  });

  it('is not removed while a plan uses it', async () => {
    const library = await open(temporaryDirectory());
    const model = await resolved(library);
    await stage(library, model, 1);
    await stage(library, model, 2);
    const keeper = library.upkeep(() => [used(model, 2)]);
    await expect(keeper.remove(model.name)).rejects.toThrow(/being served/);
    expect(await keeper.prune(0)).toMatchObject({ removed: 1 });
    expect(library.shards().map((shard) => shard.range.end)).toEqual([2]);
  });

  it('makes room by what was unused longest, and says the numbers when there is none', async () => {
    const state = temporaryDirectory();
    const first = await open(state);
    const model = await resolved(first);
    for (const end of [1, 2]) {
      await stage(first, model, end);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // Used again: now the stage of two layers is the older one.
    await stage(first, model, 1);
    const sizes = (await first.upkeep(() => []).list())[0]?.shards ?? [];
    const quotaBytes = sizes.reduce((sum, shard) => sum + shard.bytes, 0) + 10_000;
    const library = await open(state, { quotaBytes });
    await stage(library, model, 3);
    expect(library.shards().map((shard) => shard.range.end)).toEqual([1, 3]);
    library.upkeep(() => [used(model, 1), used(model, 3)]);
    await expect(stage(library, model, 4)).rejects.toMatchObject({ code: 'disk_full' });
    expect(library.shards().map((shard) => shard.range.end)).toEqual([1, 3]);
    await expect(makeRoom(join(state, 'shards'), { neededBytes: 2 ** 52, quotaBytes: null, inUse: [used(model, 1), used(model, 3)] })).rejects.toThrow(/4503599627370496 bytes are needed/);
  });

  it('leaves a file that lies elsewhere where it is', async () => {
    const elsewhere = join(temporaryDirectory(), 'nas', FILE);
    await mkdir(join(elsewhere, '..'));
    await writeFile(elsewhere, bytes);
    await chmod(join(elsewhere, '..'), 0o555);
    const library = await open(temporaryDirectory(), { modelPaths: [join(elsewhere, '..')] });
    const keeper = library.upkeep(() => []);
    expect(await keeper.list()).toMatchObject([{ path: elsewhere, ours: false, freesBytes: 0 }]);
    expect(await keeper.remove('Small-Q8_0')).toMatchObject({ leftInPlace: elsewhere });
    expect(existsSync(elsewhere)).toBe(true);
  });
});

describe('a whole model', () => {
  it('is pulled, resumed where it broke off, and found by its name', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    const keeper = library.upkeep(() => []);
    const model = await resolved(library);
    hub.forgetCounts();
    const abort = new AbortController();
    hub.faults.push({ kind: 'stall', afterBytes: 4000 });
    const broken = keeper.pull(REFERENCE, abort.signal);
    broken.catch(() => undefined);
    // The header is here already.
    await expect.poll(() => keeper.transfers()[0]?.doneBytes, { timeout: 10_000 }).toBeGreaterThan(4000);
    expect(keeper.transfers()).toMatchObject([{ model: 'Small-Q8_0', totalBytes: bytes.length }]);
    abort.abort();
    await expect(broken).rejects.toMatchObject({ code: 'cancelled' });
    expect(library.models()[0]?.source).toBeDefined();
    const pulled = await (await open(state)).upkeep(() => []).pull(model.name, QUIET);
    expect(pulled).toEqual({ model: 'Small-Q8_0', path: join(state, 'models', FILE), bytes: bytes.length });
    expect(Buffer.compare(await readFile(pulled.path), bytes)).toBe(0);
    expect(hub.mostGiven(`${REPOSITORY}/${FILE}`, 0, bytes.length)).toBe(1);
    const again = await open(state);
    expect(again.models()).toMatchObject([{ name: 'Small-Q8_0', digest: model.digest }]);
    expect(again.models()[0]?.source).toBeUndefined();
    expect(await again.upkeep(() => []).remove('Small-Q8_0')).toMatchObject({ leftInPlace: null });
    await expect(stat(pulled.path)).rejects.toThrow();
  });

  it('comes from the nodes that have it, whole or in stages, and from the internet only what nobody has', async () => {
    const [first, second, third] = [await open(temporaryDirectory()), await open(temporaryDirectory()), await open(temporaryDirectory())];
    const model = await resolved(first);
    await first.upkeep(() => []).pull(REFERENCE, QUIET);
    for (const library of [second, third]) await resolved(library);
    hub.forgetCounts();
    const pulled = await second.upkeep(() => [], clusterOf(first)).pull(REFERENCE, QUIET);
    expect(Buffer.compare(await readFile(pulled.path), bytes)).toBe(0);
    expect(hub.bytesGiven()).toBe(0);
    // Its own stage, a longer one of another node, and the rest.
    const fourth = await open(temporaryDirectory());
    await stage(third, model, 2);
    await resolved(fourth);
    await stage(fourth, model, 1);
    hub.forgetCounts();
    const rest = await fourth.upkeep(() => [], clusterOf(third)).pull(REFERENCE, QUIET);
    expect(Buffer.compare(await readFile(rest.path), bytes)).toBe(0);
    const { tensors } = await readGgufHeader(rest.path);
    const given = (name: string): number => {
      const tensor = tensors.find((one) => one.name === name);
      return tensor === undefined ? -1 : hub.mostGiven(`${REPOSITORY}/${FILE}`, tensor.offset, tensor.offset + tensor.sizeBytes);
    };
    expect([0, 1, 2, 3].map((layer) => given(`blk.${layer}.ffn_up.weight`))).toEqual([0, 0, 1, 1]);
  });

  it('that other nodes give damaged comes from the internet', async () => {
    const [first, second] = [await open(temporaryDirectory()), await open(temporaryDirectory())];
    await first.upkeep(() => []).pull(REFERENCE, QUIET);
    await resolved(second);
    const honest = clusterOf(first);
    const tensor: RemoteWeights['tensor'] = async (...asked) => {
      const content = await honest.remote.tensor(...asked);
      return { ...content, read: async function* read(offset) {
        for await (const chunk of content.read(offset)) yield chunk.map((value, index) => (index === 7 ? value ^ 1 : value));
      } };
    };
    const pulled = await second.upkeep(() => [], { ...honest, remote: { ...honest.remote, tensor } }).pull(REFERENCE, QUIET);
    expect(Buffer.compare(await readFile(pulled.path), bytes)).toBe(0);
  });

  it('is told to the other nodes when it is here, and when it is gone', async () => {
    let told = 0;
    const library = await open(temporaryDirectory());
    const keeper = library.upkeep(() => [], { ...clusterOf(library), changed: () => Promise.resolve(void (told += 1)) });
    await keeper.pull(REFERENCE, QUIET);
    await keeper.remove('Small-Q8_0');
    expect(told).toBe(2);
  });

  it('that was broken off is seen, and is gone after a prune or a removal; one that goes on is left alone', async () => {
    const library = await open(await temporaryDirectory());
    const keeper = library.upkeep(() => []);
    const begin = async (): Promise<{ readonly over: Promise<unknown>; readonly abort: AbortController }> => {
      const abort = new AbortController();
      hub.faults.push({ kind: 'stall', afterBytes: 4000 });
      const over = keeper.pull(REFERENCE, abort.signal).catch((error: unknown) => error);
      await expect.poll(() => keeper.transfers()[0]?.doneBytes ?? 0, { timeout: 10_000, interval: 5 }).toBeGreaterThan(4000);
      return { over, abort };
    };
    await resolved(library);
    const first = await begin();
    expect(await keeper.prune(0)).toEqual({ removed: 0, brokenOff: 0, freedBytes: 0 });
    await expect(keeper.remove(REFERENCE.slice(3))).rejects.toMatchObject({ code: 'unknown_model' });
    await expect(keeper.remove('Small-Q8_0')).rejects.toMatchObject({ code: 'bad_request', message: expect.stringMatching(/is being fetched: interrupt/) as string });
    first.abort.abort();
    await first.over;
    const [kept] = await keeper.list();
    expect(kept?.partialBytes).toBeGreaterThan(4000);
    expect(kept?.freesBytes).toBe(kept?.partialBytes);
    expect(await keeper.prune(1e9)).toMatchObject({ brokenOff: 0 });
    expect(await keeper.prune(0)).toEqual({ removed: 0, brokenOff: 1, freedBytes: kept?.partialBytes });
    expect((await keeper.list())[0]?.partialBytes).toBe(0);
    const second = await begin();
    second.abort.abort();
    await second.over;
    expect((await keeper.remove('Small-Q8_0')).freedBytes).toBeGreaterThan(4000);
    expect(await keeper.prune(0)).toEqual({ removed: 0, brokenOff: 0, freedBytes: 0 });
  });

  it('with a flipped byte is thrown away', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    await resolved(library);
    const flipped = bytes.slice();
    flipped[bytes.length - 100] = (flipped[bytes.length - 100] ?? 0) ^ 1;
    hub.add(REPOSITORY, FILE, flipped);
    const keeper = library.upkeep(() => []);
    await expect(keeper.pull(REFERENCE, QUIET)).rejects.toMatchObject({ code: 'digest_mismatch' });
    expect(existsSync(join(state, 'models', FILE))).toBe(false);
    hub.add(REPOSITORY, FILE, bytes);
    expect(await keeper.pull(REFERENCE, QUIET)).toMatchObject({ bytes: bytes.length });
  });
});
