import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel } from '../../src/core/types.js';
import { chooseFiles, hasQuant } from '../../src/model/hub-files.js';
import { HubClient, hubOptions } from '../../src/model/hub-client.js';
import { parseInternetReference } from '../../src/model/internet-reference.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import { isShared } from '../../src/model/remote-tensors.js';
import type { RemoteWeights, StageFiles } from '../../src/ports.js';
import { smallFile, smallMetadata, smallTensors } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const QUIET = new AbortController().signal;
const REPOSITORY = 'tiny/Small-GGUF';
const FILE = 'Small-Q4_K_M.gguf';
const NAME = `${REPOSITORY}/${FILE}`;
const NOBODY: RemoteWeights = {
  header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
};

const hub = await HubServer.start();
afterAll(() => hub.stop());

beforeEach(() => {
  hub.faults.length = 0;
  hub.authorizations.length = 0;
  Object.assign(hub, { token: null, lyingSize: null, ranges: true, redirects: true });
});

function client(token: string | null = null): HubClient {
  return new HubClient({ endpoint: hub.url, token, stallMs: 1500, backoffMs: 5 });
}

async function library(state?: string, token: string | null = null): Promise<DiskModelLibrary> {
  return openModelLibrary({ stateDirectory: state ?? temporaryDirectory(), modelPaths: [], builtIn: false, log: null, hub: { endpoint: hub.url, token, stallMs: 1500, backoffMs: 5 } });
}

/** Every other library of a cluster, as the network shows them. */
function peers(libraries: readonly DiskModelLibrary[], self: DiskModelLibrary): RemoteWeights {
  const others = libraries.filter((one) => one !== self);
  return {
    header: async (digest) => {
      for (const other of others) {
        const header = await other.header(digest);
        if (header !== null) return header;
      }
      throw new RingError('peer_unreachable', 'nobody has it');
    },
    tensor: async (digest, name) => {
      for (const other of others) {
        const content = await other.tensor(digest, name);
        if (content !== null) return content;
      }
      throw new RingError('peer_unreachable', 'nobody has it');
    },
  };
}

function stage(of: DiskModelLibrary, model: HeldModel, start: number, end: number, remote: RemoteWeights = NOBODY): Promise<StageFiles> {
  return of.stageFiles({ model, range: { start, end }, head: start === 0, tail: end === model.layers, signal: QUIET, onProgress: () => undefined }, remote);
}

async function resolved(of: DiskModelLibrary, reference: string): Promise<HeldModel> {
  const model = await of.resolve(reference);
  if (model === null) throw new Error('not resolved');
  return model;
}

/** Each stage's tensors are those of the model's file. */
async function expectExact(files: StageFiles, source: Uint8Array, start: number): Promise<void> {
  const made = await readFile(files.stageFile);
  const header = await readGgufHeader(files.stageFile);
  const path = join(temporaryDirectory(), 'whole.gguf');
  await writeFile(path, source);
  const whole = await readGgufHeader(path);
  let compared = 0;
  for (const tensor of header.tensors) {
    const name = tensor.name.replace(/^blk\.(\d+)\./, (_, layer: string) => `blk.${Number(layer) + start}.`);
    const original = whole.byName.get(name);
    if (original === undefined || !name.startsWith('blk.')) continue;
    expect(Buffer.compare(made.subarray(tensor.offset, tensor.offset + tensor.sizeBytes), source.subarray(original.offset, original.offset + original.sizeBytes)), name).toBe(0);
    compared += 1;
  }
  expect(compared).toBeGreaterThan(0);
}

describe('references', () => {
  it('reads every form', () => {
    expect(parseInternetReference('hf:o/r')).toEqual({ kind: 'hub', repository: 'o/r', revision: 'main', quant: null, file: null });
    expect(parseInternetReference('hf:o/r@abc:Q4_K_M')).toEqual({ kind: 'hub', repository: 'o/r', revision: 'abc', quant: 'Q4_K_M', file: null });
    expect(parseInternetReference('hf:o/r/d/m.gguf')).toEqual({ kind: 'hub', repository: 'o/r', revision: 'main', quant: null, file: 'd/m.gguf' });
    expect(parseInternetReference('https://h/m.gguf')).toEqual({ kind: 'url', url: 'https://h/m.gguf' });
  });

  it.each(['hf:', 'hf:o', 'hf:o/', 'hf:../r', 'hf:o/r/../x.gguf', 'hf:o/r/m.bin', 'hf:o/r/m.gguf:Q4', 'hf:o/r:a:b', 'https://h/m.bin', 'https://u:p@h/m.gguf', `hf:o/${'r'.repeat(3000)}`])('refuses %s', (text) => {
    expect(() => parseInternetReference(text)).toThrow(RingError);
  });

  it('chooses by quantisation, never by a longer one, and all shards', () => {
    const files = ['m-IQ4_K_M.gguf', 'm-Q8_0.gguf', 'Q5_K_M/m-00001-of-00002.gguf', 'Q5_K_M/m-00002-of-00002.gguf', 'mmproj-Q4_K_M.gguf', 'README.md']
      .map((path) => ({ path, sizeBytes: 1, sha256: null }));
    const chosen = (quant: string | null, file: string | null = null) => chooseFiles('o/r', files, { quant, file }).map(({ path }) => path);
    expect(chosen(null)).toEqual(['Q5_K_M/m-00001-of-00002.gguf', 'Q5_K_M/m-00002-of-00002.gguf']);
    expect(chosen('q8_0')).toEqual(['m-Q8_0.gguf']);
    expect(chosen(null, 'm-Q8_0.gguf')).toEqual(['m-Q8_0.gguf']);
    expect(() => chosen('Q4_K_M')).toThrow(/no GGUF file is quantised as Q4_K_M.*m-Q8_0.gguf/);
    expect(hasQuant('a.Q4_K_M.gguf', 'q4_k')).toBe(false);
    const weights = ['config.json', 'model.safetensors'].map((path) => ({ path, sizeBytes: 1, sha256: null }));
    expect(() => chooseFiles('o/r', weights, { quant: 'BF16', file: null })).toThrow(/no GGUF files, but a checkpoint \(safetensors\): name it as hf:o\/r$/);
    expect(() => chooseFiles('o/r', [...files, ...weights], { quant: 'BF16', file: null })).toThrow(/There are: .*, and a checkpoint \(hf:o\/r:safetensors\)$/);
    expect(() => parseInternetReference('hf:o/r/model.safetensors')).toThrow(/read as a whole checkpoint, hf:o\/r:safetensors/);
  });

  it('reads the environment', () => {
    expect(hubOptions({ HF_ENDPOINT: 'http://127.0.0.1:1/', HF_TOKEN: ' t ' })).toMatchObject({ endpoint: 'http://127.0.0.1:1', token: 't' });
    expect(() => hubOptions({ HF_ENDPOINT: 'somewhere' })).toThrow(/HF_ENDPOINT/);
  });
});

describe('a model on the internet', () => {
  const bytes = smallFile();

  beforeEach(() => {
    hub.files.clear();
    hub.given.clear();
    hub.add(REPOSITORY, FILE, bytes);
  });

  it('is known from its header alone, and after a restart without the internet', async () => {
    const state = temporaryDirectory();
    const model = await resolved(await library(state), `hf:${REPOSITORY}:Q4_K_M`);
    expect(model).toMatchObject({ name: 'Small-Q4_K_M', layers: 4, architecture: 'llama', sizeBytes: bytes.length, source: { repository: REPOSITORY, revision: '0123456789abcdef0123456789abcdef01234567' } });
    const asked = hub.requests;
    const again = await library(state);
    expect(await resolved(again, `hf:${REPOSITORY}:Q4_K_M`)).toEqual(model);
    expect(await resolved(again, 'Small-Q4_K_M')).toEqual(model);
    expect((await again.shape(model, NOBODY, QUIET)).layers).toBe(4);
    expect(hub.requests).toBe(asked);
  });

  it('reads a header that is longer than the first window, no byte twice', async () => {
    const large = smallFile(new Map([...smallMetadata(), ['general.description', { type: 'string', value: 'x'.repeat(700_000) }]]));
    hub.add(REPOSITORY, FILE, large);
    const model = await resolved(await library(), `hf:${REPOSITORY}/${FILE}`);
    expect(model.sizeBytes).toBe(large.length);
    expect(hub.mostGiven(NAME, 0, large.length)).toBe(1);
  });

  it('is shared among nodes: every tensor leaves the hub once, each node has its own layers', async () => {
    for (const ownOutput of [true, false]) {
      const source = smallFile(smallMetadata(), smallTensors(4, ownOutput));
      hub.add(REPOSITORY, FILE, source);
      const nodes = [await library(), await library(), await library()];
      const [a, b, c] = nodes as [DiskModelLibrary, DiskModelLibrary, DiskModelLibrary];
      const model = await resolved(a, `hf:${REPOSITORY}`);
      hub.forgetCounts();
      // The tail begins first and has to wait for the head's tensors.
      const tail = stage(c, model, 3, 4, peers(nodes, c));
      const middle = stage(b, model, 1, 3, peers(nodes, b));
      const head = stage(a, model, 0, 1, peers(nodes, a));
      await expectExact(await tail, source, 3);
      await expectExact(await middle, source, 1);
      await expectExact(await head, source, 0);
      const path = join(temporaryDirectory(), 'whole.gguf');
      await writeFile(path, source);
      for (const tensor of (await readGgufHeader(path)).tensors) {
        expect(hub.mostGiven(NAME, tensor.offset, tensor.offset + tensor.sizeBytes), tensor.name).toBe(1);
      }
      expect(isShared('token_embd.weight') && isShared('rope_freqs.weight') && !isShared('output_norm.weight') && !isShared('blk.0.attn_q.weight')).toBe(true);
      // Another cut needs nothing from the internet: peers have it all.
      hub.forgetCounts();
      await stage(b, model, 0, 4, peers(nodes, b));
      expect(hub.bytesGiven()).toBe(0);
    }
  });

  it('takes shards as one model', async () => {
    const tensors = smallTensors();
    const first = smallFile(new Map([...smallMetadata(), ['split.count', { type: 'uint16', value: 2 }]]), tensors.slice(0, 6));
    const second = smallFile(new Map([['split.count', { type: 'uint16', value: 2 }]]), tensors.slice(6));
    hub.files.clear();
    hub.add(REPOSITORY, 'm-00001-of-00002.gguf', first);
    hub.add(REPOSITORY, 'm-00002-of-00002.gguf', second);
    const one = await library();
    const model = await resolved(one, `hf:${REPOSITORY}`);
    expect(model.sizeBytes).toBe(first.length + second.length);
    const files = await stage(one, model, 0, 4);
    expect((await readGgufHeader(files.stageFile)).tensors).toHaveLength(tensors.length);
  });

  it('goes on where a connection broke or stalled, and waits when asked to', async () => {
    const one = await library();
    const model = await resolved(one, `hf:${REPOSITORY}`);
    hub.forgetCounts();
    hub.faults.push({ kind: 'cut', afterBytes: 700 }, { kind: 'status', status: 429, retryAfter: '0' }, { kind: 'status', status: 503 }, { kind: 'stall', afterBytes: 300 });
    await expectExact(await stage(one, model, 0, 1), bytes, 0);
    // At most what was under way when a connection broke comes again.
    const once = hub.given.get(NAME)?.filter((count) => count > 0).length ?? 0;
    expect(hub.bytesGiven() - once).toBeLessThanOrEqual(1000);
    expect(hub.faults).toHaveLength(0);
  });

  it.each([
    ['access is refused', () => { hub.token = 'secret'; }, 'source_refused', /HF_TOKEN/],
    ['the repository is missing', () => { hub.files.clear(); }, 'source_missing', /404/],
    ['the server gives no ranges', () => { hub.ranges = false; }, 'source_failed', /byte ranges/],
    ['the size is another', () => { hub.lyingSize = 5; }, 'source_failed', /5 bytes now/],
    ['there are too many requests for ever', () => { for (let i = 0; i < 10; i++) hub.faults.push({ kind: 'status', status: 429 }); }, 'source_failed', /429/],
    ['it leads to plain http elsewhere', () => { hub.faults.push({ kind: 'redirect', location: 'http://127.0.0.2:1/x' }); }, 'source_refused', /not https/],
    ['it leads in circles', () => { for (let i = 0; i < 10; i++) hub.faults.push({ kind: 'redirect', location: `/store/${REPOSITORY}/resolve/x/${FILE}` }); }, 'source_failed', /redirects/],
  ])('says so when %s', async (_, prepare, code, text) => {
    prepare();
    const error: unknown = await (await library()).resolve(`hf:${REPOSITORY}`).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RingError);
    expect(error).toMatchObject({ code });
    expect(String(error)).toMatch(text);
  });

  it('without the internet names the models that need none', async () => {
    const offline = await openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [], log: null, hub: {
      endpoint: 'https://hub.example', token: null, stallMs: 1500, backoffMs: 5, fetch: () => Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'EAI_AGAIN' }) })),
    } });
    await expect(offline.resolve(`hf:${REPOSITORY}`)).rejects.toMatchObject({ code: 'source_failed', message: expect.stringMatching(/^hf:tiny\/Small-GGUF: no way to hub\.example: .*Models that need no internet: kjv-q8_0$/) as string });
  });

  it('shows its token to the hub and to nobody else', async () => {
    hub.token = 'secret';
    const other = await HubServer.start();
    try {
      other.add(REPOSITORY, FILE, bytes);
      other.redirects = false;
      // The same host name with another port is another origin.
      hub.faults.push({ kind: 'redirect', location: `${other.url}/${REPOSITORY}/resolve/x/${FILE}` });
      await expect((await library(undefined, 'secret')).resolve(`hf:${REPOSITORY}`)).rejects.toMatchObject({ code: 'source_refused' });
      expect(other.requests).toBe(0);
      expect(await resolved(await library(undefined, 'secret'), `hf:${REPOSITORY}`)).toMatchObject({ layers: 4 });
    } finally {
      await other.stop();
    }
  });

  it('reads addresses of its own endpoint, and others by https only', async () => {
    hub.redirects = false;
    const model = await resolved(await library(), `${hub.url}/${REPOSITORY}/resolve/main/${FILE}`);
    expect(model.source).toEqual({ repository: '', revision: '', files: [{ location: `${hub.url}/${REPOSITORY}/resolve/main/${FILE}`, sizeBytes: bytes.length }] });
    await expect((await library()).resolve('http://127.0.0.2:1/m.gguf')).rejects.toMatchObject({ code: 'bad_config' });
    expect(() => client().urlOf({ repository: 'o/r', revision: 'x', files: [{ location: '../../x.gguf', sizeBytes: 1 }] }, 0)).toThrow(/no sense/);
  });

  it('notices a damaged tensor of which another node has the digest', async () => {
    const nodes = [await library(), await library()];
    const [a, b] = nodes as [DiskModelLibrary, DiskModelLibrary];
    const model = await resolved(a, `hf:${REPOSITORY}`);
    await stage(a, model, 0, 3);
    const honest = peers(nodes, b);
    const lying: RemoteWeights = {
      ...honest,
      tensor: async (digest, name, signal) => {
        const content = await honest.tensor(digest, name, signal);
        return { ...content, read: async function* read(offset) {
          for await (const chunk of content.read(offset)) yield chunk.map((value, index) => (index === 7 ? value ^ 1 : value));
        } };
      },
    };
    await expect(stage(b, model, 0, 2, lying)).rejects.toMatchObject({ code: 'digest_mismatch' });
    await expectExact(await stage(b, model, 0, 2, honest), bytes, 0);
  });
});
