import { copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel } from '../../src/core/types.js';
import { unknownModel } from '../../src/model/model-names.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import type { Log, RemoteWeights, TensorContent } from '../../src/ports.js';
import { smallFile, smallMetadata, smallTensors } from '../support/small-gguf.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const QUIET = new AbortController().signal;
const NOBODY: RemoteWeights = {
  header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
};

/** A peer's library as the network would show it, counting what crosses. */
class Peer implements RemoteWeights {
  bytes = 0;
  readonly asked: string[] = [];
  /** Ends every read after this many bytes, to be asked again. */
  breakAfter = Infinity;

  constructor(private readonly library: DiskModelLibrary) {}

  async header(digest: string): Promise<NonNullable<Awaited<ReturnType<DiskModelLibrary['header']>>>> {
    const header = await this.library.header(digest);
    if (header === null) throw new RingError('unknown_model', 'not here');
    return header;
  }

  async tensor(digest: string, name: string): Promise<TensorContent> {
    this.asked.push(name);
    const content = await this.library.tensor(digest, name);
    if (content === null) throw new RingError('unknown_model', 'not here');
    const count = async function* (this: Peer, offset: number): AsyncGenerator<Uint8Array> {
      let given = 0;
      for await (const chunk of content.read(offset)) {
        for (let at = 0; at < chunk.length; at += 500) {
          if (given >= this.breakAfter) throw new Error('connection lost');
          const piece = chunk.subarray(at, at + 500);
          this.bytes += piece.length;
          given += piece.length;
          yield piece;
        }
      }
    };
    return { ...content, read: (offset) => count.call(this, offset) };
  }
}

async function holder(bytes = smallFile()): Promise<{ library: DiskModelLibrary; model: HeldModel; state: string }> {
  const state = temporaryDirectory();
  await mkdir(join(state, 'models'));
  await writeFile(join(state, 'models', 'small.gguf'), bytes);
  const library = await openModelLibrary({ stateDirectory: state, modelPaths: [], builtIn: false, log: null });
  const model = library.models()[0];
  if (model === undefined) throw new Error('no model');
  return { library, model, state };
}

async function empty(): Promise<{ library: DiskModelLibrary; state: string }> {
  const state = temporaryDirectory();
  return { library: await openModelLibrary({ stateDirectory: state, modelPaths: [], builtIn: false, log: null }), state };
}

const stage = (model: HeldModel, start: number, end: number): Parameters<DiskModelLibrary['stageFiles']>[0] =>
  ({ model, range: { start, end }, head: start === 0, tail: end === model.layers, signal: QUIET, onProgress: () => undefined });

describe('what a node holds', () => {
  it('has the built-in model without any configuration', async () => {
    const library = await openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [], log: null });
    const model = await library.resolve('kjv-q8_0');
    expect(model).toMatchObject({ name: 'kjv-q8_0', architecture: 'llama', layers: 5 });
    expect(await library.resolve(model?.digest.slice(0, 12) ?? '')).toEqual(model);
    expect(await library.resolve('models/kjv-q8_0.gguf')).toEqual(model);
    expect(await library.resolve('KJV-q8_0.gguf')).toEqual(model);
    expect(await library.resolve('kjv-q9')).toBeNull();
    expect(await library.resolve('/nowhere/x.gguf')).toBeNull();
  });

  it('takes files, shards and directories, and refuses a bad --model with its path', async () => {
    const directory = temporaryDirectory();
    const other = smallMetadata('qwen2');
    await writeFile(join(directory, 'one.gguf'), smallFile());
    await writeFile(join(directory, 'two-00001-of-00002.gguf'), smallFile(other, []));
    await writeFile(join(directory, 'two-00002-of-00002.gguf'), smallFile(new Map(), smallTensors()));
    await writeFile(join(directory, 'broken.gguf'), 'not a model');
    const open = (modelPaths: string[]): Promise<DiskModelLibrary> => openModelLibrary({ stateDirectory: directory, modelPaths, builtIn: false, log: null });
    expect((await open([directory])).models().map((model) => model.name)).toEqual(['one', 'two']);
    expect((await open([join(directory, 'two-00002-of-00002.gguf')])).models().map((model) => model.name)).toEqual(['two']);
    await expect(open([join(directory, 'broken.gguf')])).rejects.toMatchObject({ code: 'bad_gguf' });
    await expect(open([join(directory, 'absent.gguf')])).rejects.toThrow(/absent\.gguf: there is no such/);
  });

  it('complains of a broken file once, however often it looks, and again when it is broken otherwise', async () => {
    const directory = temporaryDirectory();
    await writeFile(join(directory, 'broken.gguf'), 'not a model');
    const warnings: string[] = [];
    const quiet = (): void => undefined;
    const log: Log = { debug: quiet, info: quiet, error: quiet, warn: (message) => void warnings.push(message), child: () => log };
    const library = await openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [directory], builtIn: false, log });
    await library.refresh();
    await library.refresh();
    expect(warnings).toEqual(['a model file cannot be used']);
    await writeFile(join(directory, 'broken.gguf'), 'GGUF');
    await library.refresh();
    expect(warnings).toHaveLength(2);
  });

  it('gives two models of one file name two names, and one model at two places one', async () => {
    const directory = temporaryDirectory();
    for (const name of ['a', 'b', 'c']) await mkdir(join(directory, name));
    await writeFile(join(directory, 'a', 'same.gguf'), smallFile());
    await copyFile(join(directory, 'a', 'same.gguf'), join(directory, 'b', 'same.gguf'));
    await writeFile(join(directory, 'c', 'same.gguf'), smallFile(smallMetadata('qwen2')));
    const library = await openModelLibrary({ stateDirectory: directory, modelPaths: ['a', 'b', 'c'].map((name) => join(directory, name)), builtIn: false, log: null });
    expect(library.models()).toHaveLength(2);
    expect(new Set(library.models().map((model) => model.name)).size).toBe(2);
  });

  it('suggests names', () => {
    const model = (name: string): HeldModel => ({ name, digest: name, sizeBytes: 1, architecture: 'llama', layers: 1 });
    expect(unknownModel('kjw', [model('qwen3-8b'), model('kjv')]).message).toMatch(/Known models: kjv, qwen3-8b/);
    expect(unknownModel('x', []).message).toMatch(/--model FILE/);
  });

  it('serves nothing but tensors of models by digest', async () => {
    const { library, model } = await holder();
    expect(await library.header('../../etc/passwd')).toBeNull();
    expect(await library.tensor('../../etc/passwd', 'x')).toBeNull();
    expect(await library.tensor(model.digest, '../../etc/passwd')).toBeNull();
    expect(await library.tensor(model.digest, '__proto__')).toBeNull();
  });
});

describe('stage files', () => {
  it('B17: uses the file itself for the whole model, and copies nothing', async () => {
    const { library, model, state } = await holder();
    const files = await library.stageFiles(stage(model, 0, 4), NOBODY);
    expect(files).toEqual({ stageFile: join(state, 'models', 'small.gguf'), embedding: null, bytes: model.sizeBytes });
    expect(library.shards()).toEqual([]);
  });

  it('reads the head\'s rows from the model when it is here', async () => {
    const { library, model, state } = await holder();
    const files = await library.stageFiles(stage(model, 0, 2), NOBODY);
    expect(files.embedding?.file).toBe(join(state, 'models', 'small.gguf'));
    expect(files.embedding?.rows).toBe(4);
    expect(await readdir(join(state, 'shards', model.digest))).toEqual(['0-2-head.gguf']);
  });

  it('B17: fetches exactly the tensors of its layers, once', async () => {
    const source = await holder();
    const { library, state } = await empty();
    const peer = new Peer(source.library);
    const first = await library.stageFiles(stage(source.model, 1, 3), peer);
    expect(peer.asked.sort()).toEqual(['blk.1.attn_q.weight', 'blk.1.ffn_up.weight', 'blk.2.attn_q.weight', 'blk.2.ffn_up.weight', 'rope_freqs.weight']);
    expect(library.shards()).toEqual([{ modelDigest: source.model.digest, range: { start: 1, end: 3 }, head: false, tail: false }]);
    const restarted = await openModelLibrary({ stateDirectory: state, modelPaths: [], builtIn: false, log: null });
    expect(restarted.shards()).toEqual(library.shards());
    expect(await restarted.stageFiles(stage(source.model, 1, 3), NOBODY)).toEqual(first);
  });

  it('takes from its own shards what they have and from peers the rest', async () => {
    const source = await holder();
    const { library } = await empty();
    await library.stageFiles(stage(source.model, 1, 3), new Peer(source.library));
    const peer = new Peer(source.library);
    await library.stageFiles(stage(source.model, 2, 4), peer);
    expect(peer.asked.sort()).toEqual(['blk.3.attn_q.weight', 'blk.3.ffn_up.weight', 'output.weight', 'output_norm.weight']);
  });

  it('serves its shards under the model\'s names', async () => {
    const source = await holder();
    const second = await empty();
    const third = await empty();
    await second.library.stageFiles(stage(source.model, 0, 2), new Peer(source.library));
    const files = await third.library.stageFiles(stage(source.model, 0, 2), new Peer(second.library));
    const own = await second.library.stageFiles(stage(source.model, 0, 2), NOBODY);
    expect(Buffer.compare(await readFile(files.stageFile), await readFile(own.stageFile))).toBe(0);
    expect(Buffer.compare(await readFile(files.embedding?.file ?? ''), await readFile(own.embedding?.file ?? ''))).toBe(0);
    expect(await second.library.tensor(source.model.digest, 'blk.3.attn_q.weight')).toBeNull();
  });

  it('asks again when a peer breaks off inside a tensor, and gives up when nothing comes', async () => {
    const source = await holder();
    const { library } = await empty();
    const flaky = new Peer(source.library);
    flaky.breakAfter = 600;
    await library.stageFiles(stage(source.model, 2, 4), flaky);
    expect(flaky.asked.filter((name) => name === 'blk.3.ffn_up.weight').length).toBeGreaterThan(2);
    const dead = new Peer(source.library);
    dead.breakAfter = 0;
    await expect(library.stageFiles(stage(source.model, 0, 1), dead)).rejects.toMatchObject({ code: 'peer_lost' });
  });

  it('writes one file for two requests at once', async () => {
    const source = await holder();
    const { library } = await empty();
    const peer = new Peer(source.library);
    const [a, b] = await Promise.all([library.stageFiles(stage(source.model, 0, 2), peer), library.stageFiles(stage(source.model, 0, 2), peer)]);
    expect(a).toEqual(b);
    expect(peer.asked.length).toBe(new Set(peer.asked).size);
  });

  it('copies the whole model when the plan puts all of it here', async () => {
    const source = await holder();
    const { library, state } = await empty();
    const files = await library.stageFiles(stage(source.model, 0, 4), new Peer(source.library));
    expect(files.stageFile).toBe(join(state, 'shards', source.model.digest, '0-4-head-tail.gguf'));
    expect(files.embedding).toBeNull();
  });

  it('refuses a header that is not the model\'s', async () => {
    const source = await holder();
    const { library } = await empty();
    const liar: RemoteWeights = {
      ...NOBODY,
      header: () => Promise.resolve({ name: 'small', sizeBytes: source.model.sizeBytes, files: [smallFile(smallMetadata('qwen2'))] }),
    };
    await expect(library.stageFiles(stage(source.model, 0, 2), liar)).rejects.toMatchObject({ code: 'digest_mismatch' });
  });

  it('knows a remote model\'s shape and vocabulary after a restart without peers', async () => {
    const source = await holder();
    const { library, state } = await empty();
    const shape = await library.shape(source.model, new Peer(source.library), QUIET);
    const file = await library.vocabularyFile(source.model, NOBODY, QUIET);
    await rm(file);
    const restarted = await openModelLibrary({ stateDirectory: state, modelPaths: [], builtIn: false, log: null });
    expect(await restarted.shape(source.model, NOBODY, QUIET)).toEqual(shape);
    expect(await restarted.vocabularyFile(source.model, NOBODY, QUIET)).toBe(file);
    expect(shape.layers).toBe(4);
  });
});
