/** Neighbours in one request, and how fast bytes may come. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel } from '../../src/core/types.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { HubClient } from '../../src/model/hub-client.js';
import { JoinedRanges } from '../../src/model/joined-ranges.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import { RateLimit } from '../../src/model/rate-limit.js';
import type { RemoteWeights } from '../../src/ports.js';
import { smallFile } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const QUIET = new AbortController().signal;
const REPOSITORY = 'tiny/Small-GGUF';
const FILE = 'Small-Q8_0.gguf';
const bytes = smallFile();
const path = join(temporaryDirectory(), FILE);
await writeFile(path, bytes);
const header: GgufHeader = await readGgufHeader(path);
const names = header.tensors.map((tensor) => tensor.name);

const hub = await HubServer.start();
hub.add(REPOSITORY, FILE, bytes);
afterAll(() => hub.stop());
beforeEach(() => {
  hub.faults.length = 0;
  hub.forgetCounts();
});

const OPTIONS = { token: null, stallMs: 1500, backoffMs: 5 };

function ranges(maxBytes?: number): JoinedRanges {
  const source = { repository: REPOSITORY, revision: 'main', files: [{ location: FILE, sizeBytes: bytes.length }] };
  return new JoinedRanges(new HubClient({ endpoint: hub.url, ...OPTIONS }), source, header, QUIET, () => undefined, maxBytes);
}

async function read(from: JoinedRanges, name: string, offset = 0, following: readonly string[] = names.slice(names.indexOf(name) + 1)): Promise<void> {
  const parts: Uint8Array[] = [];
  for await (const chunk of from.read(name, offset, following)) parts.push(chunk);
  const tensor = header.byName.get(name);
  if (tensor === undefined) throw new Error(`no tensor ${name}`);
  expect(Buffer.compare(Buffer.concat(parts), bytes.subarray(tensor.offset + offset, tensor.offset + tensor.sizeBytes)), name).toBe(0);
}

describe('tensors side by side', () => {
  it('come in one request, each with its own bytes', async () => {
    const joined = ranges();
    expect(joined.joined(names[0] ?? '', names.slice(1))).toBe(names.length - 1);
    for (const name of names) await read(joined, name);
    await joined.close();
    expect(hub.asked).toHaveLength(1);
    expect(hub.bytesGiven()).toBeLessThanOrEqual(bytes.length);
  });

  it('go on where the request broke off, and from the middle of a tensor', async () => {
    hub.faults.push({ kind: 'cut', afterBytes: 3000 }, { kind: 'stall', afterBytes: 500 });
    const joined = ranges();
    await read(joined, names[0] ?? '', 40);
    for (const name of names.slice(1)) await read(joined, name);
    expect(hub.asked).toHaveLength(3);
  });

  it('come in several requests where one would be too long', async () => {
    const joined = ranges(6000);
    for (const name of names) await read(joined, name);
    expect(hub.asked.length).toBeGreaterThan(2);
    expect(hub.asked.length).toBeLessThan(names.length);
    for (const { start, end } of hub.asked) expect(end - start).toBeLessThanOrEqual(6000);
  });

  it('come apart where they do not lie or are not wanted side by side, or the reader ends early', async () => {
    const joined = ranges();
    const [first = '', , third = '', fourth = ''] = names;
    await read(joined, first, 0, [third, fourth]);
    await read(joined, third, 0, []);
    for await (const _ of joined.read(fourth, 0, names.slice(4))) break;
    expect(joined.covers(names[4] ?? '')).toBe(false);
    await read(joined, names[4] ?? '');
    expect(hub.asked).toHaveLength(4);
    await joined.close();
  });
});

describe('a stage from the internet', () => {
  const NOBODY: RemoteWeights = {
    header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
    tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  };

  async function library(): Promise<DiskModelLibrary> {
    return openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [], builtIn: false, log: null, hub: { endpoint: hub.url, ...OPTIONS } });
  }

  async function resolved(of: DiskModelLibrary): Promise<HeldModel> {
    const model = await of.resolve(`hf:${REPOSITORY}`);
    if (model === null) throw new Error('not resolved');
    return model;
  }

  it('takes far fewer requests than it has tensors', async () => {
    const one = await library();
    const model = await resolved(one);
    hub.forgetCounts();
    await one.stageFiles({ model, range: { start: 0, end: 4 }, head: true, tail: true, signal: QUIET, onProgress: () => undefined }, NOBODY);
    expect(hub.asked.length).toBeLessThan(names.length / 2);
    for (const tensor of header.tensors) expect(hub.mostGiven(`${REPOSITORY}/${FILE}`, tensor.offset, tensor.offset + tensor.sizeBytes), tensor.name).toBe(1);
  });

  it('is compared with the hub\'s SHA-256 when it is the whole model: a flipped byte is noticed, and the next attempt is right', async () => {
    const one = await library();
    const model = await resolved(one);
    hub.faults.push({ kind: 'flip', at: 77 });
    const fetch = () => one.stageFiles({ model, range: { start: 0, end: 4 }, head: true, tail: true, signal: QUIET, onProgress: () => undefined }, NOBODY);
    await expect(fetch()).rejects.toThrow(/arrived damaged.*the hub says .*thrown away: try again/);
    expect(one.shards()).toEqual([]);
    const made = await fetch();
    expect((await readGgufHeader(made.stageFile)).tensors).toHaveLength(names.length);
    expect(one.shards()).toHaveLength(1);
  });

  it('leaves out of the range what a peer has', async () => {
    const [one, peer] = [await library(), await library()];
    const model = await resolved(one);
    await resolved(peer);
    await peer.stageFiles({ model, range: { start: 0, end: 1 }, head: true, tail: false, signal: QUIET, onProgress: () => undefined }, NOBODY);
    hub.forgetCounts();
    const remote: RemoteWeights = {
      ...NOBODY,
      tensor: async (digest, name) => {
        const content = await peer.tensor(digest, name);
        if (content === null) throw new RingError('unknown_model', 'not here');
        return content;
      },
    };
    await one.stageFiles({ model, range: { start: 0, end: 4 }, head: true, tail: true, signal: QUIET, onProgress: () => undefined }, remote);
    for (const tensor of header.tensors) {
      expect(hub.mostGiven(`${REPOSITORY}/${FILE}`, tensor.offset, tensor.offset + tensor.sizeBytes), tensor.name).toBe(/^(blk\.0|token_embd|rope_freqs)\./.test(tensor.name) ? 0 : 1);
    }
  });

  it('turns to the internet when a peer has a tensor and does not give it', async () => {
    const [one, peer] = [await library(), await library()];
    const model = await resolved(one);
    await resolved(peer);
    await peer.stageFiles({ model, range: { start: 0, end: 4 }, head: true, tail: true, signal: QUIET, onProgress: () => undefined }, NOBODY);
    let broken = 0;
    const remote: RemoteWeights = {
      ...NOBODY,
      tensor: async (digest, name) => {
        const content = await peer.tensor(digest, name);
        if (content === null) throw new RingError('unknown_model', 'not here');
        return { ...content, read: async function* read() {
          broken += 1;
          yield* [];
          throw new RingError('peer_lost', 'no byte for a while');
        } };
      },
    };
    const files = await one.stageFiles({ model, range: { start: 1, end: 3 }, head: false, tail: false, signal: QUIET, onProgress: () => undefined }, remote);
    expect(broken).toBeGreaterThan(0);
    expect((await readGgufHeader(files.stageFile)).tensors.length).toBeGreaterThan(3);
  });
});

describe('a rate limit', () => {
  it('lets through what the rate allows, a burst at first, and no more after a long pause', () => {
    const limit = new RateLimit(1000);
    expect(limit.waitMs(250, 0)).toBe(0);
    expect(limit.waitMs(100, 0)).toBe(100);
    expect(limit.waitMs(100, 100)).toBe(100);
    expect(limit.waitMs(0, 200)).toBe(0);
    expect(limit.waitMs(250, 100_000)).toBe(0);
    expect(limit.waitMs(500, 100_000)).toBe(500);
  });

  it('holds for all reads of a client together, and ends with them', async () => {
    const limit = new RateLimit(1e9);
    const client = new HubClient({ endpoint: hub.url, ...OPTIONS, limit });
    const url = client.urlOf({ repository: REPOSITORY, revision: 'main', files: [{ location: FILE, sizeBytes: bytes.length }] }, 0);
    const all = async (): Promise<number> => {
      let sum = 0;
      for await (const chunk of client.read(url, { start: 0, end: bytes.length, sizeBytes: bytes.length }, QUIET)) sum += chunk.length;
      return sum;
    };
    expect(await Promise.all([all(), all()])).toEqual([bytes.length, bytes.length]);
    // What both took is missing from the burst of a quarter of a second.
    expect(limit.waitMs(0.25e9, performance.now())).toBeGreaterThanOrEqual(0);
    const slow = new HubClient({ endpoint: hub.url, ...OPTIONS, limit: new RateLimit(1) });
    const abort = new AbortController();
    const held = (async () => {
      for await (const _ of slow.read(url, { start: 0, end: bytes.length, sizeBytes: bytes.length }, abort.signal)) continue;
    })();
    setTimeout(() => abort.abort(), 20);
    await expect(held).rejects.toMatchObject({ code: 'cancelled' });
  });
});
