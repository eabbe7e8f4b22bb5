/**
 * A checkpoint of each family computes what it means: the engine's logits of its stage file are those of a reference written
 * after Hugging Face's modeling code, and to the bit those of a GGUF of the same weights made here by hand.
 *
 * Tolerance of the largest difference, in standard deviations of the logits: 0.03 (seen: 0.010 in f32, where the engine's
 * attention and gelu round to f16; 0.003 in f16), and 0.15 in bf16 (seen: 0.048), where the engine rounds what it multiplies.
 * A wrong rotation, norm or window is off by more than 0.3, as the test shows of some.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { HeldModel } from '../../src/core/types.js';
import { openStage } from '../../src/engine/stage.js';
import type { GgufValue } from '../../src/model/gguf-values.js';
import { float32, numberArray, stringArray, text, uint32 } from '../../src/model/gguf-values.js';
import { writeGgufFile } from '../../src/model/gguf-writer.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import type { RemoteWeights } from '../../src/ports.js';
import { differences, open, wholeOptions } from '../engine/engine-support.js';
import type { CheckpointRecipe, StoredTensor } from '../support/checkpoint-files.js';
import { configOf, randomTensors, valuesOf, writeCheckpoint } from '../support/checkpoint-files.js';
import type { ReferenceSettings } from '../support/reference-transformer.js';
import { referenceLogits } from '../support/reference-transformer.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { byteLevelTokenizer, characterTokenizer } from '../support/tokenizer-files.js';

const NOBODY: RemoteWeights = {
  header: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
  tensor: () => Promise.reject(new RingError('peer_unreachable', 'no peer')),
};
const LLAMA3 = { rope_type: 'llama3', rope_theta: 10_000, factor: 4, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };
const YARN = { type: 'yarn', factor: 4, original_max_position_embeddings: 64 };
const PLAIN: ReferenceSettings = { global: {}, local: null, window: 0, pattern: 1, gemma: false, attentionSoftcap: null, outputSoftcap: null };
const GEMMA: ReferenceSettings = { ...PLAIN, gemma: true };
const SHAPE = { layers: 3, hidden: 96, feedForward: 128, heads: 4, kvHeads: 2, headSize: 32, tied: false, normCentre: 1, type: 'F32', tokenizer: byteLevelTokenizer('llama-bpe') } as const;
const GEMMA_SHAPE = { ...SHAPE, tied: true, normCentre: 0, tokenizer: characterTokenizer({ prefix: false }) } as const;
const WINDOW = 16;
const SIX = Array.from({ length: 7 }, (_, layer) => (layer === 5 ? 'full_attention' : 'sliding_attention'));

interface Case {
  readonly recipe: CheckpointRecipe;
  readonly settings: ReferenceSettings;
  /** libllama's architecture and keys, by hand. */
  readonly gguf: string;
  readonly keys: Readonly<Record<string, GgufValue>>;
  /** The engine rotates neighbours. */
  readonly neighbours: boolean;
}

const CASES: readonly Case[] = [
  {
    recipe: { ...SHAPE, title: 'llama with llama3 scaling', architecture: 'LlamaForCausalLM', config: { rope_theta: 10_000, rope_scaling: LLAMA3, hidden_act: 'silu' } },
    settings: { ...PLAIN, global: LLAMA3 }, gguf: 'llama', keys: {}, neighbours: true,
  },
  {
    recipe: { ...SHAPE, title: 'llama, tied, with biases and linear scaling', architecture: 'LlamaForCausalLM', tied: true, biases: true, config: { attention_bias: true, rope_parameters: { rope_type: 'linear', rope_theta: 5000, factor: 3 } } },
    settings: { ...PLAIN, global: { rope_type: 'linear', rope_theta: 5000, factor: 3 } }, gguf: 'llama', neighbours: true,
    keys: { 'rope.scaling.type': text('linear'), 'rope.scaling.factor': float32(3), 'rope.freq_base': float32(5000) },
  },
  {
    recipe: { ...SHAPE, title: 'mistral in bf16', architecture: 'MistralForCausalLM', type: 'BF16', tokenizer: characterTokenizer({ prefix: true }), config: { sliding_window: null, rope_theta: 1_000_000 } },
    settings: { ...PLAIN, global: { rope_theta: 1_000_000 } }, gguf: 'llama', keys: { 'rope.freq_base': float32(1_000_000) }, neighbours: true,
  },
  {
    recipe: { ...SHAPE, title: 'qwen2 with yarn', architecture: 'Qwen2ForCausalLM', hidden: 128, biases: true, tokenizer: byteLevelTokenizer('qwen2'), config: { use_sliding_window: false, sliding_window: 64, rope_theta: 10_000, rope_scaling: YARN } },
    settings: { ...PLAIN, global: YARN }, gguf: 'qwen2', neighbours: false,
    keys: { 'rope.scaling.type': text('yarn'), 'rope.scaling.factor': float32(4), 'rope.scaling.original_context_length': uint32(64) },
  },
  {
    recipe: { ...SHAPE, title: 'qwen3 in f16, tied', architecture: 'Qwen3ForCausalLM', type: 'F16', tied: true, headNorms: true, tokenizer: byteLevelTokenizer('qwen2'), config: { rope_theta: 1_000_000 } },
    settings: { ...PLAIN, global: { rope_theta: 1_000_000 } }, gguf: 'qwen3', keys: { 'rope.freq_base': float32(1_000_000) }, neighbours: false,
  },
  {
    recipe: { ...GEMMA_SHAPE, title: 'gemma', architecture: 'GemmaForCausalLM', config: { hidden_act: 'gelu', hidden_activation: null } },
    settings: GEMMA, gguf: 'gemma', keys: {}, neighbours: false,
  },
  {
    recipe: { ...GEMMA_SHAPE, title: 'gemma2', architecture: 'Gemma2ForCausalLM', layers: 4, sandwichNorms: true, config: { sliding_window: WINDOW, query_pre_attn_scalar: 32, attn_logit_softcapping: 5, final_logit_softcapping: 3, hidden_activation: 'gelu_pytorch_tanh' } },
    settings: { ...GEMMA, window: WINDOW, pattern: 2, attentionSoftcap: 5, outputSoftcap: 3 }, gguf: 'gemma2', neighbours: false,
    keys: { 'attention.sliding_window': uint32(WINDOW), attn_logit_softcapping: float32(5), final_logit_softcapping: float32(3) },
  },
  {
    recipe: {
      ...GEMMA_SHAPE, title: 'gemma3', architecture: 'Gemma3ForCausalLM', layers: 7, headNorms: true, sandwichNorms: true,
      config: { sliding_window: WINDOW, query_pre_attn_scalar: 32, rope_theta: 1_000_000, rope_local_base_freq: 5000, rope_scaling: { rope_type: 'linear', factor: 8 }, layer_types: SIX },
    },
    settings: { ...GEMMA, window: WINDOW, pattern: 6, global: { rope_type: 'linear', rope_theta: 1_000_000, factor: 8 }, local: { rope_theta: 5000 } }, gguf: 'gemma3', neighbours: false,
    keys: { 'attention.sliding_window': uint32(WINDOW), 'rope.freq_base': float32(1_000_000), 'rope.freq_base_swa': float32(5000), 'rope.scaling.type': text('linear'), 'rope.scaling.factor': float32(8) },
  },
];
const TOLERANCE = { F32: 0.03, F16: 0.03, BF16: 0.15 };
const VOCABULARY = 640;
const TOKENS = Int32Array.from({ length: 40 }, (_, index) => 3 + ((index * 97 + 11) % (VOCABULARY - 10)));

/** Logits after every token, decoded one by one. */
function engineLogits(stageFile: string): Float32Array[] {
  const stage = openStage(wholeOptions({ stageFile, keyType: 'f32', valueType: 'f32', contextTokens: 256 }));
  try {
    open(stage, 0);
    return Array.from(TOKENS, (token, position) => {
      stage.step({ slices: [{ slot: 0, position, tokens: 1, sample: true }], tokens: Int32Array.of(token), hidden: null });
      return stage.logits(0).slice();
    });
  } finally {
    stage.close();
  }
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/embed_tokens/, 'token_embd'], [/^lm_head/, 'output'], [/^norm\./, 'output_norm.'], [/input_layernorm/, 'attn_norm'], [/self_attn\.([qkv])_proj/, 'attn_$1'], [/self_attn\.o_proj/, 'attn_output'],
  [/self_attn\.([qk])_norm/, 'attn_$1_norm'], [/mlp\.(gate|up|down)_proj/, 'ffn_$1'], [/pre_feedforward_layernorm/, 'ffn_norm'], [/post_feedforward_layernorm/, 'post_ffw_norm'],
];

/** The GGUF of the same weights: names, order of rows, gemma's one and types by hand. */
async function writeByHand(path: string, one: Case, tensors: readonly StoredTensor[]): Promise<void> {
  const { recipe, gguf } = one;
  const nameOf = (name: string): string => {
    const middle = NAMES.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), name.replace(/^model\./, ''));
    return middle.replace(/^layers\.(\d+)\./, 'blk.$1.').replace('post_attention_layernorm', recipe.sandwichNorms === true ? 'post_attention_norm' : 'ffn_norm');
  };
  const f32 = (values: Float64Array): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
  const generated = tensors.map((tensor) => {
    const [rows = 1, width] = tensor.shape;
    const rotated = one.neighbours && /[qk]_proj/.test(tensor.name);
    // Value 2i of a head turns with value 2i + 1: they are the checkpoint's values i and i + half.
    const from = (row: number): number => (rotated ? row - (row % 32) + ((row % 2) * 16 + Math.floor((row % 32) / 2)) : row);
    if (width === undefined) {
      const values = valuesOf(tensor);
      const changed = values.map((_, row) => (values[from(row)] ?? 0) + (/norm/.test(tensor.name) && recipe.normCentre === 0 ? 1 : 0));
      return { name: nameOf(tensor.name), dims: [rows], ggmlType: 0, data: () => [f32(changed)] };
    }
    const rowBytes = tensor.bytes.length / rows;
    const bytes = Buffer.concat(Array.from({ length: rows }, (_, row) => tensor.bytes.subarray(from(row) * rowBytes, (from(row) + 1) * rowBytes)));
    return { name: nameOf(tensor.name), dims: [width, rows], ggmlType: { F32: 0, F16: 1, BF16: 30 }[recipe.type], data: () => [bytes] };
  });
  if (one.settings.global.rope_type === 'llama3') {
    // By the definition: what the plain frequency is divided by.
    const factors = Float64Array.from({ length: 16 }, (_, index) => {
      const wavelength = 2 * Math.PI * 10_000 ** (index / 16);
      const smooth = Math.min(1, Math.max(0, (64 / wavelength - 1) / 3));
      return 1 / ((1 - smooth) / 4 + smooth);
    });
    generated.splice(2, 0, { name: 'rope_freqs.weight', dims: [16], ggmlType: 0, data: () => [f32(factors)] });
  }
  const keys: Record<string, GgufValue> = {
    block_count: uint32(recipe.layers), context_length: uint32(512), embedding_length: uint32(recipe.hidden), feed_forward_length: uint32(recipe.feedForward),
    'attention.head_count': uint32(recipe.heads), 'attention.head_count_kv': uint32(recipe.kvHeads), 'attention.key_length': uint32(32), 'attention.value_length': uint32(32),
    'attention.layer_norm_rms_epsilon': float32(1e-6), 'rope.dimension_count': uint32(32), 'rope.freq_base': float32(10_000), ...one.keys,
  };
  await writeGgufFile(path, new Map<string, GgufValue>([
    ['general.architecture', text(gguf)], ...Object.entries(keys).map(([key, value]): [string, GgufValue] => [`${gguf}.${key}`, value]),
    ['tokenizer.ggml.model', text('llama')], ['tokenizer.ggml.tokens', stringArray(Array.from({ length: VOCABULARY }, (_, id) => `t${id}`))],
    ['tokenizer.ggml.scores', numberArray('float32', Array.from({ length: VOCABULARY }, () => 0))], ['tokenizer.ggml.token_type', numberArray('int32', Array.from({ length: VOCABULARY }, () => 1))],
  ]), generated);
}

/** In standard deviations of the logits. */
function largestDifference(found: readonly Float32Array[], expected: readonly Float64Array[]): number {
  let most = 0;
  let squares = 0;
  expected.forEach((row, position) => row.forEach((value, token) => {
    most = Math.max(most, Math.abs(value - (found[position]?.[token] ?? Number.NaN)));
    squares += value * value;
  }));
  return most / Math.sqrt(squares / (TOKENS.length * VOCABULARY));
}

async function libraryOf(directory: string): Promise<{ library: DiskModelLibrary; model: HeldModel }> {
  const library = await openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [directory], builtIn: false, log: null });
  const model = library.models()[0];
  if (model === undefined) throw new Error('no model');
  return { library, model };
}

const directory = temporaryDirectory();

describe.each(CASES)('$recipe.title', (one) => {
  const tensors = randomTensors(one.recipe, VOCABULARY);
  const place = join(directory, one.recipe.title.replace(/\W+/g, '-'));

  it('computes what the checkpoint means, and what the GGUF of the same weights does', async () => {
    await mkdir(place);
    await writeCheckpoint(place, tensors, configOf(one.recipe, VOCABULARY), one.recipe.tokenizer, 2);
    const { library, model } = await libraryOf(place);
    const files = await library.stageFiles({ model, range: { start: 0, end: model.layers }, head: true, tail: true, signal: new AbortController().signal, onProgress: () => undefined }, NOBODY);
    const logits = engineLogits(files.stageFile);
    await writeByHand(`${place}.gguf`, one, tensors);
    const byHand = engineLogits(`${place}.gguf`);
    logits.forEach((row, position) => expect(differences(row, byHand[position] ?? new Float32Array()), `position ${position}`).toBe(0));

    const expected = referenceLogits(one.recipe, tensors, one.settings, [...TOKENS]);
    expect(largestDifference(logits, expected)).toBeLessThan(TOLERANCE[one.recipe.type]);
    // The comparison means something: each of these would be a mistake of the conversion.
    const wrong: Partial<ReferenceSettings>[] = one.settings.gemma ? [{ gemma: false }] : [{ global: { rope_theta: 700 } }];
    if (one.settings.window > 0) wrong.push({ window: WINDOW + 1 });
    for (const change of wrong) expect(largestDifference(logits, referenceLogits(one.recipe, tensors, { ...one.settings, ...change }, [...TOKENS]))).toBeGreaterThan(0.3);
  });
});
