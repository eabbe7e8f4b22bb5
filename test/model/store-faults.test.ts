/**
 * A store that cannot take what is to be stored: the disk is full, the quota is reached, writing is not allowed or not
 * possible, two want the same at once. Each says what is wrong and what to do, and what was there stays whole.
 *
 * Real file systems: small ones in memory, mounted for the test. That needs root and Linux.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel, HeldShard } from '../../src/core/types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import { lockStateDirectory } from '../../src/net/state-files.js';
import type { RemoteWeights, StageFiles } from '../../src/ports.js';
import { smallFile, smallMetadata } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { failureOf } from '../support/thrown.js';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const NOBODY_UID = 65_534;
const QUIET = new AbortController().signal;
const REPOSITORY = 'tiny/Large-GGUF';
const FILE = 'Large-Q8_0.gguf';
const REFERENCE = `hf:${REPOSITORY}`;
const ALONE: RemoteWeights = {
  header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
};
/** Four layers of half a megabyte: a file system in memory has whole pages. */
const LAYERS = 4;
const bytes = smallFile(smallMetadata('llama', LAYERS), [
  { name: 'token_embd.weight', dims: [32, 4], ggmlType: 8 },
  { name: 'output_norm.weight', dims: [32], ggmlType: 0 },
  { name: 'output.weight', dims: [32, 4], ggmlType: 8 },
  ...Array.from({ length: LAYERS }, (_, layer) => ({ name: `blk.${layer}.ffn_up.weight`, dims: [32, 8192], ggmlType: 1 })),
]);

const hub = await HubServer.start();
const mounts: string[] = [];
afterAll(async () => {
  for (const mount of mounts) execFileSync('umount', ['--lazy', mount]);
  await hub.stop();
});
beforeEach(() => {
  hub.faults.length = 0;
  Object.assign(hub, { chunkBytes: 0, chunkDelayMs: 0 });
  hub.add(REPOSITORY, FILE, bytes);
});

/** A directory on a disk of its own. */
async function disk(sizeBytes: number): Promise<string> {
  const directory = temporaryDirectory();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', directory]);
  mounts.push(directory);
  return directory;
}

async function open(state: string, more: { readonly quotaBytes?: number; readonly directories?: readonly string[] } = {}): Promise<DiskModelLibrary> {
  return openModelLibrary({ stateDirectory: state, modelPaths: [], builtIn: false, log: null, hub: { endpoint: hub.url, token: null, stallMs: 5_000, backoffMs: 5 }, ...more });
}

async function resolved(library: DiskModelLibrary): Promise<HeldModel> {
  const model = await library.resolve(REFERENCE);
  if (model === null) throw new Error('not resolved');
  return model;
}

function stage(library: DiskModelLibrary, model: HeldModel, start: number, end: number): Promise<StageFiles> {
  return library.stageFiles({ model, range: { start, end }, head: start === 0, tail: end === model.layers, signal: QUIET, onProgress: () => undefined }, ALONE);
}

function used(model: HeldModel, start: number, end: number): HeldShard {
  return { modelDigest: model.digest, range: { start, end }, head: start === 0, tail: end === model.layers };
}

/** The stage's layers are the model's, to the byte. */
async function expectExact(files: StageFiles, start: number): Promise<void> {
  const made = await readFile(files.stageFile);
  const [header, path] = [await readGgufHeader(files.stageFile), join(temporaryDirectory(), 'whole.gguf')];
  await writeFile(path, bytes);
  const whole = await readGgufHeader(path);
  const layers = header.tensors.filter(({ name }) => name.startsWith('blk.'));
  expect(layers.length).toBeGreaterThan(0);
  for (const tensor of layers) {
    const original = whole.byName.get(tensor.name.replace(/^blk\.(\d+)\./, (_, layer: string) => `blk.${Number(layer) + start}.`));
    expect(Buffer.compare(made.subarray(tensor.offset, tensor.offset + tensor.sizeBytes), bytes.subarray(original?.offset ?? 0, (original?.offset ?? 0) + tensor.sizeBytes))).toBe(0);
  }
}

describe.skipIf(!isRoot)(`a store on a small disk${isRoot ? '' : ' (skipped: mounting one needs root on Linux)'}`, () => {
  it('says beforehand that the disk is too small, with the numbers, and keeps what it has', async () => {
    const state = await disk(1.5e6);
    const library = await open(state);
    const model = await resolved(library);
    await expectExact(await stage(library, model, 0, 1), 0);
    library.upkeep(() => [used(model, 0, 1)]);
    const error = await failureOf(stage(library, model, 0, 3));
    expect(error.code).toBe('disk_full');
    expect(error.message).toMatch(/\d+ bytes are needed in .*, \d+ are free.*free some space, raise --max-disk or choose another --state-dir/);
    await expectExact(await stage(library, model, 0, 1), 0);
    expect(library.shards()).toHaveLength(1);
  });

  it('that fills up in the middle of a transfer stops it, and lets it go on when there is space again', async () => {
    const state = await disk(3.5e6);
    const library = await open(state);
    const model = await resolved(library);
    Object.assign(hub, { chunkBytes: 64 * 1024, chunkDelayMs: 2 });
    hub.forgetCounts();
    const filler = join(state, 'somebody-else');
    const fetching = library.stageFiles({
      model, range: { start: 0, end: 3 }, head: true, tail: false, signal: QUIET,
      onProgress: (fraction) => {
        // Somebody else takes all that is left, and a little less than that is not enough.
        if (fraction > 0.4 && !existsSync(filler)) execFileSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null || true`]);
      },
    }, ALONE);
    const error = await failureOf(fetching);
    expect(error.code).toBe('disk_full');
    expect(error.message).toMatch(/no space left to write .*\(\d+ bytes are needed\): free some space or choose another state directory/);
    expect(library.shards()).toEqual([]);
    await rm(filler);
    const given = hub.bytesGiven();
    await expectExact(await stage(await open(state), model, 0, 3), 0);
    // What was there was not fetched again, but for the tensor that was under way.
    expect(hub.bytesGiven()).toBeLessThan(given + bytes.length);
  });

  it('that is too small for a whole model says so before a byte comes, and one that fills up meanwhile keeps what came', async () => {
    const state = await disk(3.5e6);
    const library = await open(state);
    const model = await resolved(library);
    const filler = join(state, 'somebody-else');
    const fill = (leftBytes: number): unknown => execFileSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null || true; truncate -s -${leftBytes} ${filler}`]);
    fill(1_000_000);
    hub.forgetCounts();
    const early = await failureOf(library.upkeep(() => []).pull(REFERENCE, QUIET));
    expect([early.code, early.message]).toEqual(['disk_full', expect.stringMatching(/^\d+ bytes are needed in .*, \d+ are free/)]);
    expect(hub.bytesGiven()).toBe(0);
    await rm(filler);
    Object.assign(hub, { chunkBytes: 64 * 1024, chunkDelayMs: 5 });
    const keeper = library.upkeep(() => []);
    const pulling = keeper.pull(REFERENCE, QUIET);
    pulling.catch(() => undefined);
    await expect.poll(() => keeper.transfers()[0]?.doneBytes, { timeout: 10_000, interval: 2 }).toBeGreaterThan(bytes.length / 3);
    fill(4096);
    const late = await failureOf(pulling);
    expect([late.code, late.message]).toEqual(['disk_full', expect.stringMatching(/no space left to write .*: free some space/)]);
    expect(library.models().every(({ source }) => source !== undefined)).toBe(true);
    await rm(filler);
    const pulled = await (await open(state)).upkeep(() => []).pull(model.name, QUIET);
    expect(Buffer.compare(await readFile(pulled.path), bytes)).toBe(0);
    // Of what was on disk nothing came again, but for what was on its way.
    expect(hub.bytesGiven()).toBeLessThan(bytes.length * 1.5);
  });

  it('that is full to the last byte says so when a model is looked up, and knows it when there is space again', async () => {
    const state = await disk(1e6);
    const library = await open(state);
    const filler = join(state, 'somebody-else');
    execFileSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null || true`]);
    const error = await failureOf(library.resolve(REFERENCE));
    expect([error.code, error.message]).toEqual(['disk_full', expect.stringMatching(/free some space or choose another state directory/)]);
    await rm(filler);
    expect((await resolved(await open(state))).layers).toBe(LAYERS);
  });

  it('that only can be read serves what is on it, and says why nothing is added', async () => {
    const state = await disk(3e6);
    const writing = await open(state);
    const model = await resolved(writing);
    await stage(writing, model, 0, 2);
    const nas = await disk(3e6);
    await writeFile(join(nas, 'nas-model.gguf'), smallFile());
    execFileSync('mount', ['-o', 'remount,ro', state]);
    execFileSync('mount', ['-o', 'remount,ro', nas]);
    const library = await open(state, { directories: [nas] });
    await expectExact(await stage(library, model, 0, 2), 0);
    expect(library.models().map(({ name }) => name)).toContain('nas-model');
    const whole = await library.stageFiles({ model: library.models().find(({ name }) => name === 'nas-model') ?? model, range: { start: 0, end: 4 }, head: true, tail: true, signal: QUIET, onProgress: () => undefined }, ALONE);
    expect(whole.stageFile).toBe(join(nas, 'nas-model.gguf'));
    const keeper = library.upkeep(() => []);
    for (const work of [() => stage(library, model, 0, 3), () => keeper.pull(REFERENCE, QUIET), () => keeper.remove(model.name), () => keeper.prune(0)]) {
      const error = await failureOf(work());
      expect(error.code).toBe('permission_denied');
      expect(error.message).toMatch(/not allowed to write .*: check the permissions of the file and its directory/);
    }
    execFileSync('mount', ['-o', 'remount,rw', state]);
    await expectExact(await stage(library, model, 0, 2), 0);
  });
});

describe.skipIf(!isRoot)('a store of somebody else', () => {
  afterEach(() => {
    process.seteuid?.(0);
  });

  it('says what is not allowed, and stays as it is', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    const model = await resolved(library);
    await stage(library, model, 0, 1);
    await chmod(state, 0o755);
    process.seteuid?.(NOBODY_UID);
    const errors = [
      await failureOf(stage(library, model, 0, 2)),
      await failureOf(library.upkeep(() => []).pull(REFERENCE, QUIET)),
      await failureOf(library.upkeep(() => []).remove(model.name)),
    ];
    process.seteuid?.(0);
    for (const error of errors) {
      expect(error.code).toBe('permission_denied');
      expect(error.message).toMatch(new RegExp(`not allowed to write ${state}.*: check the permissions`));
    }
    await expectExact(await stage(library, model, 0, 1), 0);
  });
});

describe('a store with a limit', () => {
  it('says the limit and what fills it, and touches nothing that is in use', async () => {
    const state = temporaryDirectory();
    const library = await open(state, { quotaBytes: 1_200_000 });
    const model = await resolved(library);
    await stage(library, model, 0, 1);
    library.upkeep(() => [used(model, 0, 1)]);
    const error = await failureOf(stage(library, model, 0, 2));
    expect(error.code).toBe('disk_full');
    expect(error.message).toMatch(/the store may take 1200000 bytes and \d+ are in use.*raise --max-disk/);
    library.upkeep(() => []);
    await expectExact(await stage(library, model, 0, 2), 0);
    expect(library.shards().map(({ range }) => range.end)).toEqual([2]);
  });
});

describe('two who want the same at once', () => {
  it('pull one file once, and one who loses patience leaves it to the other', async () => {
    const state = temporaryDirectory();
    const library = await open(state);
    const keeper = library.upkeep(() => []);
    await resolved(library);
    Object.assign(hub, { chunkBytes: 64 * 1024, chunkDelayMs: 2 });
    hub.forgetCounts();
    const impatient = new AbortController();
    const [first, second] = [keeper.pull(REFERENCE, impatient.signal), keeper.pull('Large-Q8_0', QUIET)];
    first.catch(() => undefined);
    await expect.poll(() => keeper.transfers()[0]?.doneBytes, { timeout: 10_000, interval: 5 }).toBeGreaterThan(bytes.length / 4);
    expect(keeper.transfers()).toHaveLength(1);
    impatient.abort();
    expect((await failureOf(first)).code).toBe('cancelled');
    const pulled = await second;
    expect(Buffer.compare(await readFile(pulled.path), bytes)).toBe(0);
    expect(hub.mostGiven(`${REPOSITORY}/${FILE}`, 0, bytes.length)).toBe(1);
  });

  it('make one stage once, and both find it whole', async () => {
    const one = await open(temporaryDirectory());
    const model = await resolved(one);
    Object.assign(hub, { chunkBytes: 64 * 1024, chunkDelayMs: 1 });
    hub.forgetCounts();
    const made = await Promise.all([stage(one, model, 0, 3), stage(one, model, 0, 3)]);
    for (const files of made) await expectExact(files, 0);
    expect(hub.bytesGiven()).toBeLessThan(bytes.length);
  });

  it('are two agents: the second one is refused by name, and the first one\'s store is left alone', async () => {
    const state = temporaryDirectory();
    const lock = await lockStateDirectory(state);
    const library = await open(state);
    const model = await resolved(library);
    const making = stage(library, model, 0, 3);
    const error = await failureOf(lockStateDirectory(state));
    expect(error.code).toBe('state_locked');
    expect(error.message).toMatch(new RegExp(`process id ${process.pid} already uses the state directory ${state}: stop it with .agent stop., or give this one another with --state-dir`));
    await expectExact(await making, 0);
    await lock.release();
  });
});
