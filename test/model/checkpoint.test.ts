/** Checkpoints as a node holds them: found, named, refused with reasons, cut into stages, read from any byte, served to others. */
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel } from '../../src/core/types.js';
import { openStage } from '../../src/engine/stage.js';
import { readCheckpoint } from '../../src/model/checkpoint/checkpoint.js';
import { directoryFiles } from '../../src/model/checkpoint/checkpoint-files.js';
import { readSafetensors } from '../../src/model/checkpoint/safetensors.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import { readPlace } from '../../src/model/tensor-source.js';
import type { RemoteWeights, StageFiles, TensorContent } from '../../src/ports.js';
import { differences, open, wholeOptions } from '../engine/engine-support.js';
import type { CheckpointRecipe } from '../support/checkpoint-files.js';
import { configOf, randomTensors, safetensorsFile, stored, writeCheckpoint } from '../support/checkpoint-files.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { byteLevelTokenizer } from '../support/tokenizer-files.js';

const QUIET = new AbortController().signal;
const NOBODY: RemoteWeights = {
  header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
};
const RECIPE: CheckpointRecipe = {
  title: 'held', architecture: 'LlamaForCausalLM', type: 'BF16', layers: 4, hidden: 64, feedForward: 96, heads: 4, kvHeads: 2, headSize: 16, tied: true, normCentre: 1,
  config: { rope_scaling: { rope_type: 'llama3', factor: 4, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 } }, tokenizer: byteLevelTokenizer('llama-bpe'),
};
const VOCABULARY = 512;

async function write(directory: string, changes: Partial<CheckpointRecipe> = {}, shards = 2): Promise<string> {
  const recipe = { ...RECIPE, ...changes };
  await writeCheckpoint(directory, randomTensors(recipe, VOCABULARY), configOf(recipe, VOCABULARY), recipe.tokenizer, shards);
  return directory;
}

async function somewhere(name = 'tiny-llama'): Promise<string> {
  return join(temporaryDirectory(), name);
}

async function holder(paths: string[], directories: string[] = []): Promise<DiskModelLibrary> {
  return openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: paths, directories, builtIn: false, log: null });
}

function only(library: DiskModelLibrary): HeldModel {
  const [model, ...others] = library.models();
  if (model === undefined || others.length > 0) throw new Error(`${library.models().length} models`);
  return model;
}

const stageFiles = (library: DiskModelLibrary, model: HeldModel, start: number, end: number, remote = NOBODY): Promise<StageFiles> =>
  library.stageFiles({ model, range: { start, end }, head: start === 0, tail: end === model.layers, signal: QUIET, onProgress: () => undefined }, remote);

async function bytesOf(content: TensorContent | null, offset = 0): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content?.read(offset) ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a checkpoint', () => {
  it('is a model under its directory\'s name, found by path, beside GGUFs and in a directory of models', async () => {
    const models = temporaryDirectory();
    await write(join(models, 'tiny-llama'));
    const [named, found] = [await holder([join(models, 'tiny-llama')]), await holder([], [models])];
    expect(only(named)).toMatchObject({ name: 'tiny-llama', architecture: 'llama', layers: 4 });
    expect(only(found)).toEqual(only(named));
    expect(await (await holder([])).resolve(join(models, 'tiny-llama'))).toEqual(only(named));
    expect((await found.shape(only(found), NOBODY, QUIET)).layerBytes).toHaveLength(4);
  });

  it('has the repository\'s name in a hub cache', async () => {
    const cache = join(temporaryDirectory(), 'models--owner--Tiny-Llama', 'snapshots', '0123abc');
    await mkdir(join(cache, '..'), { recursive: true });
    expect(only(await holder([await write(cache)])).name).toBe('Tiny-Llama');
  });

  it('is the same model in another place and other shards, and another one with other weights', async () => {
    const digest = async (changes: Partial<CheckpointRecipe>, shards: number): Promise<string> => (await readCheckpoint(await write(await somewhere(), changes, shards))).header.identity.digest;
    const first = await digest({}, 1);
    expect(await digest({}, 3)).toBe(first);
    expect(await digest({ title: 'a fine-tune' }, 1)).not.toBe(first);
  });

  it('is read anew when a file of it changes', async () => {
    const directory = await write(await somewhere());
    const library = await holder([directory]);
    const before = only(library).digest;
    await write(directory, { title: 'trained on' });
    await library.refresh();
    expect(only(library).digest).not.toBe(before);
  });

  it('gives every tensor from every byte on, as its digest says', async () => {
    const library = await holder([await write(await somewhere())]);
    const model = only(library);
    const { tensors } = (await readCheckpoint(await write(await somewhere()))).header;
    for (const { name, sizeBytes } of tensors) {
      const content = await library.tensor(model.digest, name);
      const whole = await bytesOf(content);
      expect(whole.length).toBe(sizeBytes);
      expect(createHash('sha256').update(whole).digest('hex')).toBe(content?.digest);
      for (const offset of [1, Math.floor(sizeBytes / 3), sizeBytes - 1, sizeBytes]) expect((await bytesOf(content, offset)).equals(whole.subarray(offset)), `${name} from ${offset}`).toBe(true);
    }
  });

  it('is cut into stages that compute what the whole computes, here and on a node that has nothing', async () => {
    const owner = await holder([await write(await somewhere())]);
    const model = only(owner);
    const peer: RemoteWeights = {
      header: async (digest) => await owner.header(digest) ?? Promise.reject(new Error('no header')), tensor: async (digest, name) => await owner.tensor(digest, name) ?? Promise.reject(new Error('no tensor')),
    };
    const other = await openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [], builtIn: false, log: null });
    const whole = await stageFiles(owner, model, 0, 4);
    const head = await stageFiles(owner, model, 0, 2);
    const tail = await stageFiles(other, model, 2, 4, peer);
    expect(head.embedding).not.toBeNull();
    expect((await readGgufHeader(tail.stageFile)).byName.has('rope_freqs.weight')).toBe(true);

    const options = { keyType: 'f32', valueType: 'f32', contextTokens: 128 } as const;
    const one = openStage(wholeOptions({ ...options, stageFile: whole.stageFile }));
    const first = openStage(wholeOptions({ ...options, role: 'head', stageFile: head.stageFile, embedding: head.embedding }));
    const second = openStage(wholeOptions({ ...options, role: 'tail', stageFile: tail.stageFile }));
    for (const stage of [one, first, second]) open(stage, 0);
    for (let position = 0; position < 20; position += 1) {
      const slices = [{ slot: 0, position, tokens: 1, sample: true }];
      const tokens = Int32Array.of((position * 37) % 300);
      one.step({ slices, tokens, hidden: null });
      const { hidden } = first.step({ slices, tokens, hidden: null });
      second.step({ slices, tokens: null, hidden: hidden === null ? null : hidden.slice() });
      expect(differences(one.logits(0), second.logits(0))).toBe(0);
    }
    for (const stage of [one, first, second]) stage.close();
    const vocabulary = await owner.vocabularyFile(model, NOBODY, QUIET);
    expect((await readGgufHeader(vocabulary)).tensors).toHaveLength(0);
  });

  it('stays where it is when the model is removed', async () => {
    const directory = await write(await somewhere());
    const library = await holder([directory]);
    await stageFiles(library, only(library), 0, 4);
    const upkeep = library.upkeep(() => []);
    expect((await upkeep.list())[0]).toMatchObject({ name: 'tiny-llama', path: directory, ours: false });
    expect(await upkeep.remove('tiny-llama')).toMatchObject({ leftInPlace: directory });
    expect((await readFile(join(directory, 'config.json'))).length).toBeGreaterThan(0);
  });

  it('that is also one for pictures gives its text model', async () => {
    const directory = await somewhere();
    const recipe: CheckpointRecipe = {
      ...RECIPE, title: 'pictures', architecture: 'Gemma3ForConditionalGeneration', prefix: 'language_model.model.', layers: 6, headNorms: true, sandwichNorms: true, normCentre: 0, headSize: 32, config: {},
    };
    const { architectures, ...inner } = configOf(recipe, VOCABULARY);
    const config = {
      architectures, model_type: 'gemma3', vision_config: { hidden_size: 1152 },
      text_config: {
        ...inner, query_pre_attn_scalar: 32, sliding_window: 32,
        rope_parameters: { full_attention: { rope_type: 'linear', factor: 8, rope_theta: 1_000_000 }, sliding_attention: { rope_type: 'default', rope_theta: 10_000 } },
      },
    };
    const picture = stored('vision_tower.vision_model.post_layernorm.weight', [8], new Float32Array(8), 'BF16');
    await writeCheckpoint(directory, [...randomTensors(recipe, VOCABULARY), picture], config, recipe.tokenizer);
    const { header } = await readCheckpoint(directory);
    expect(header.metadata.get('gemma3.rope.freq_base_swa')).toEqual({ type: 'float32', value: 10_000 });
    expect(header.metadata.get('gemma3.rope.scaling.factor')).toEqual({ type: 'float32', value: 8 });
    expect([...header.byName.keys()].filter((name) => name.startsWith('blk.5.'))).toHaveLength(13);
  });
});

describe('a checkpoint that cannot be used', () => {
  const refused = (config: Readonly<Record<string, unknown>>): Promise<string> => write1({ ...configOf(RECIPE, VOCABULARY), ...config });
  async function write1(config: Readonly<Record<string, unknown>>): Promise<string> {
    const directory = await somewhere();
    await writeCheckpoint(directory, randomTensors(RECIPE, VOCABULARY), config, RECIPE.tokenizer);
    return directory;
  }

  it.each<readonly [string, Readonly<Record<string, unknown>>, RegExp]>([
    ['quantised by MLX', { quantization: { group_size: 64, bits: 4 }, quantization_config: { group_size: 64, bits: 4 } }, /quantised by MLX \(4 bits in groups of 64\).*take the unquantised checkpoint or a GGUF/],
    ['quantised by GPTQ', { quantization_config: { quant_method: 'gptq', bits: 4 } }, /quantised \(gptq\)/],
    ['quantised by AWQ', { quantization_config: { quant_method: 'awq' } }, /quantised \(awq\)/],
    ['of another architecture', { architectures: ['FalconForCausalLM'] }, /FalconForCausalLM is not read from safetensors \(these are: LlamaForCausalLM/],
    ['with another activation', { hidden_act: 'relu' }, /activation relu/],
    ['with an unknown scaling', { rope_scaling: { type: 'longrope', factor: 2 } }, /rope scaling "longrope"/],
    ['with a part rotated', { partial_rotary_factor: 0.5 }, /only a part/],
    ['with yarn of its own', { rope_scaling: { type: 'yarn', factor: 2, attention_factor: 1 } }, /attention factor/],
  ])('%s is refused with the reason', async (_what, config, message) => {
    await expect(readCheckpoint(await refused(config))).rejects.toMatchObject({ code: 'unsupported_architecture', message: expect.stringMatching(message) as string });
  });

  it.each<readonly [string, Readonly<Record<string, unknown>>, RegExp]>([
    ['a size', { hidden_size: undefined }, /hidden_size is missing/],
    ['a size that is none', { hidden_size: 'large' }, /hidden_size/],
    ['too many layers', { num_hidden_layers: 100_000 }, /100000 layers/],
    ['heads that do not fit', { num_key_value_heads: 3 }, /do not fit together/],
    ['another shape', { intermediate_size: 128 }, /tensor model\.layers\.0\.mlp\.gate_proj\.weight has the shape \[96, 64\], but config\.json implies \[128, 64\]/],
    ['more layers than it has', { num_hidden_layers: 5 }, /tensor model\.layers\.4\.input_layernorm\.weight is missing/],
  ])('whose configuration says %s is named damaged', async (_what, config, message) => {
    await expect(readCheckpoint(await refused(config))).rejects.toMatchObject({ code: 'bad_checkpoint', message: expect.stringMatching(message) as string });
  });

  it('with tensors that nothing reads is refused, not half understood', async () => {
    const directory = await somewhere();
    const extra = stored('model.layers.0.self_attn.sinks', [4], new Float32Array(4), 'BF16');
    await writeCheckpoint(directory, [...randomTensors(RECIPE, VOCABULARY), extra], configOf(RECIPE, VOCABULARY), RECIPE.tokenizer);
    await expect(readCheckpoint(directory)).rejects.toThrow(/1 tensors that are no part of a llama model, "model\.layers\.0\.self_attn\.sinks"/);
  });

  it('in eight bits is refused', async () => {
    const directory = await somewhere();
    const tensors = randomTensors(RECIPE, VOCABULARY).map((tensor) => (tensor.name.endsWith('v_proj.weight') ? { ...tensor, type: 'F8_E4M3', bytes: tensor.bytes.subarray(0, tensor.bytes.length / 2) } : tensor));
    await writeCheckpoint(directory, tensors, configOf(RECIPE, VOCABULARY), RECIPE.tokenizer);
    await expect(readCheckpoint(directory)).rejects.toThrow(/stored as F8_E4M3/);
  });

  it('without weights that are read says which are', async () => {
    const directory = await write(await somewhere(), {}, 1);
    await rename(join(directory, 'model.safetensors'), join(directory, 'consolidated.safetensors'));
    await expect(readCheckpoint(directory)).rejects.toThrow(/vendor's own layout/);
    await rm(join(directory, 'consolidated.safetensors'));
    await writeFile(join(directory, 'pytorch_model.bin'), 'x');
    await expect(readCheckpoint(directory)).rejects.toThrow(/PyTorch pickles/);
  });

  it('is an error where it was named, and left out where models are looked for', async () => {
    const models = temporaryDirectory();
    const directory = await write(join(models, 'broken'));
    await rm(join(directory, 'model-00002-of-00002.safetensors'));
    await write(join(models, 'whole'));
    await expect(holder([directory])).rejects.toThrow(/shard model-00002-of-00002\.safetensors is missing/);
    expect(only(await holder([], [models])).name).toBe('whole');
    await expect((await holder([])).resolve(directory)).rejects.toThrow(/is missing: keep all 2 files/);
  });
});

describe('a safetensors file', () => {
  const tensors = randomTensors({ ...RECIPE, layers: 1 }, 8);
  async function fileOf(bytes: Uint8Array): Promise<string> {
    const directory = await somewhere();
    await mkdir(directory);
    await writeFile(join(directory, 'model.safetensors'), bytes);
    return directory;
  }
  const header = (entries: Readonly<Record<string, unknown>>, data = 64): Uint8Array => Buffer.concat([safetensorsFile([], entries), Buffer.alloc(data)]);
  const entry = (shape: readonly number[], from: number, to: number, dtype = 'F32'): unknown => ({ dtype, shape, data_offsets: [from, to] });

  it('is read with every tensor in its place', async () => {
    const read = await readSafetensors(directoryFiles(await fileOf(safetensorsFile(tensors))));
    expect([...read.keys()].sort()).toEqual(tensors.map(({ name }) => name).sort());
  });

  it.each<readonly [string, Uint8Array, RegExp]>([
    ['nothing', Buffer.alloc(0), /has 0 bytes, too few/],
    ['a few bytes', Buffer.from('abc'), /has 3 bytes, too few/],
    ['a header longer than the file', Buffer.concat([Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]), Buffer.alloc(100)]), /header is said to have 4294967295 bytes, but at most 100 fit/],
    ['a header longer than anything', Buffer.alloc(100, 255), /header is said to have 18446744073709551615 bytes/],
    ['no JSON', Buffer.concat([Buffer.from([4, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('nope')]), /is no JSON/],
    ['a list', Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('[]')]), /no JSON object/],
    ['tensors that overlap', header({ a: entry([4], 0, 16), b: entry([4], 12, 28) }), /tensors "a" and "b" overlap/],
    ['a tensor beyond the end', header({ a: entry([32], 0, 128) }), /tensor "a" ends at byte/],
    ['a tensor of another size', header({ a: entry([4], 0, 20) }), /"a" of shape \[4\] in F32 has 16 bytes, but its place has 20/],
    ['a tensor that ends before it begins', header({ a: entry([4], 32, 16) }), /its place has -16/],
    ['an absurd shape', header({ a: entry([2 ** 40, 2 ** 40], 0, 64) }), /"a" of shape/],
    ['a negative place', header({ a: entry([4], -16, 0) }), /no type, shape or place/],
    ['an unknown type', header({ a: entry([4], 0, 16, 'Q4') }), /unknown type "Q4"/],
  ])('with %s is refused before anything is allocated', async (_what, bytes, message) => {
    await expect(readSafetensors(directoryFiles(await fileOf(bytes)))).rejects.toMatchObject({ code: 'bad_checkpoint', message: expect.stringMatching(message) as string });
  });

  it.each<readonly [string, unknown, RegExp]>([
    ['a path', { weight_map: { a: '../other.safetensors' } }, /is no safetensors file beside it/],
    ['a file that is not there', { weight_map: { a: 'model-00001-of-00001.safetensors' } }, /shard model-00001-of-00001\.safetensors is missing/],
    ['nothing', { weight_map: {} }, /names 0 files/],
    ['no map', {}, /weight_map is missing/],
    ['a tensor that is in none', { weight_map: { unheard: 'model.safetensors' } }, /tensor "unheard", which model\.safetensors\.index\.json says is in it, is not/],
  ])('whose index names %s is refused', async (_what, index, message) => {
    const directory = await fileOf(safetensorsFile(tensors));
    await writeFile(join(directory, 'model.safetensors.index.json'), JSON.stringify(index));
    await expect(readSafetensors(directoryFiles(directory))).rejects.toMatchObject({ code: 'bad_checkpoint', message: expect.stringMatching(message) as string });
  });

  it('that was cut short after it was opened ends the stage\'s making with what is missing', async () => {
    const directory = await write(await somewhere(), {}, 1);
    const copy = await somewhere();
    await cp(directory, copy, { recursive: true });
    const { places } = await readCheckpoint(copy);
    await truncate(join(copy, 'model.safetensors'), 20_000);
    for (const name of ['blk.3.attn_q.weight', 'blk.3.attn_norm.weight', 'blk.3.ffn_down.weight']) {
      const place = places.get(name);
      await expect(async () => { for await (const chunk of place === undefined ? [] : readPlace(place, 0)) expect(chunk.length).toBeGreaterThan(0); }).rejects.toMatchObject({ code: 'io_failed', message: expect.stringMatching(/became shorter/) as string });
    }
  });
});
