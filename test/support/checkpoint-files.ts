/**
 * Random checkpoints as Hugging Face writes them, one recipe a family. Nothing of src/model/checkpoint is used: names and
 * shapes are those of the families' published checkpoints.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seededBits, toHalf } from '../../scripts/random-weights.js';
import type { TokenizerFiles } from './tokenizer-files.js';

export type StoredType = 'F32' | 'F16' | 'BF16';

export interface StoredTensor {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** Encodes; `values` become what is stored. */
export function stored(name: string, shape: readonly number[], values: Float32Array, type: StoredType): StoredTensor {
  const bytes = new Uint8Array(values.length * (type === 'F32' ? 4 : 2));
  const view = new DataView(bytes.buffer);
  const bits = new DataView(new ArrayBuffer(4));
  values.forEach((value, index) => {
    if (type === 'F32') view.setFloat32(index * 4, value, true);
    else if (type === 'F16') view.setUint16(index * 2, toHalf(value), true);
    else {
      bits.setFloat32(0, value);
      view.setUint16(index * 2, Math.min(0xffff, (bits.getUint32(0) + 0x7fff + ((bits.getUint32(0) >>> 16) & 1)) >>> 16), true);
    }
  });
  return { name, type, shape, bytes };
}

/** The values that the bytes stand for. */
export function valuesOf({ type, bytes }: StoredTensor): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bits = new DataView(new ArrayBuffer(4));
  const half = (value: number): number => {
    const exponent = (value >> 10) & 31;
    const magnitude = exponent === 0 ? (value & 1023) * 2 ** -24 : (1 + (value & 1023) / 1024) * 2 ** (exponent - 15);
    return value & 0x8000 ? -magnitude : magnitude;
  };
  return Float64Array.from({ length: bytes.length / (type === 'F32' ? 4 : 2) }, (_, index) => {
    if (type === 'F32') return view.getFloat32(index * 4, true);
    if (type === 'F16') return half(view.getUint16(index * 2, true));
    bits.setUint32(0, view.getUint16(index * 2, true) << 16);
    return bits.getFloat32(0);
  });
}

export interface CheckpointRecipe {
  readonly title: string;
  readonly architecture: string;
  readonly type: StoredType;
  readonly layers: number;
  readonly hidden: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly tied: boolean;
  /** Further keys of config.json. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Names of q, k, v biases, head norms, norms around blocks. */
  readonly biases?: boolean;
  readonly headNorms?: boolean;
  readonly sandwichNorms?: boolean;
  /** Gemma's norms are stored around 0. */
  readonly normCentre: 0 | 1;
  readonly prefix?: string;
  readonly tokenizer: TokenizerFiles;
}

export function randomTensors(recipe: CheckpointRecipe, vocabularySize: number): StoredTensor[] {
  const { hidden, feedForward, heads, kvHeads, headSize, type, prefix = 'model.' } = recipe;
  const bits = seededBits(recipe.title);
  const normal = (): number => (bits() / 2 ** 32 + bits() / 2 ** 32 + bits() / 2 ** 32 + bits() / 2 ** 32 - 2) * Math.sqrt(3);
  const random = (name: string, shape: readonly number[], centre: number, deviation: number): StoredTensor =>
    stored(name, shape, Float32Array.from({ length: shape.reduce((product, dim) => product * dim, 1) }, () => centre + deviation * normal()), type);
  const matrix = (name: string, out: number, width: number, scale = 1): StoredTensor => random(`${name}.weight`, [out, width], 0, scale / Math.sqrt(width));
  const norm = (name: string, width: number): StoredTensor => random(`${name}.weight`, [width], recipe.normCentre, 0.2);
  const tensors = [random(`${prefix}embed_tokens.weight`, [vocabularySize, hidden], 0, recipe.normCentre === 0 ? 1 / Math.sqrt(hidden) : 1), norm(`${prefix}norm`, hidden)];
  if (!recipe.tied) tensors.push(matrix('lm_head', vocabularySize, hidden, 2));
  for (let layer = 0; layer < recipe.layers; layer += 1) {
    const at = `${prefix}layers.${layer}.`;
    tensors.push(
      norm(`${at}input_layernorm`, hidden), norm(`${at}post_attention_layernorm`, hidden),
      matrix(`${at}self_attn.q_proj`, heads * headSize, hidden, 2), matrix(`${at}self_attn.k_proj`, kvHeads * headSize, hidden, 2),
      matrix(`${at}self_attn.v_proj`, kvHeads * headSize, hidden), matrix(`${at}self_attn.o_proj`, hidden, heads * headSize),
      matrix(`${at}mlp.gate_proj`, feedForward, hidden), matrix(`${at}mlp.up_proj`, feedForward, hidden), matrix(`${at}mlp.down_proj`, hidden, feedForward),
    );
    if (recipe.biases === true) for (const [name, width] of [['q', heads], ['k', kvHeads], ['v', kvHeads]] as const) tensors.push(random(`${at}self_attn.${name}_proj.bias`, [width * headSize], 0, 0.5));
    if (recipe.headNorms === true) tensors.push(norm(`${at}self_attn.q_norm`, headSize), norm(`${at}self_attn.k_norm`, headSize));
    if (recipe.sandwichNorms === true) tensors.push(norm(`${at}pre_feedforward_layernorm`, hidden), norm(`${at}post_feedforward_layernorm`, hidden));
  }
  return tensors;
}

export function configOf(recipe: CheckpointRecipe, vocabularySize: number): Record<string, unknown> {
  return {
    architectures: [recipe.architecture], num_hidden_layers: recipe.layers, hidden_size: recipe.hidden, intermediate_size: recipe.feedForward,
    num_attention_heads: recipe.heads, num_key_value_heads: recipe.kvHeads, head_dim: recipe.headSize, vocab_size: vocabularySize, max_position_embeddings: 512,
    rms_norm_eps: 1e-6, tie_word_embeddings: recipe.tied, ...recipe.config,
  };
}

export function safetensorsFile(tensors: readonly StoredTensor[], header?: Readonly<Record<string, unknown>>): Uint8Array {
  let at = 0;
  const entries = tensors.map(({ name, type, shape, bytes }) => [name, { dtype: type, shape, data_offsets: [at, (at += bytes.length)] }]);
  const json = Buffer.from(JSON.stringify(header ?? { __metadata__: { format: 'pt' }, ...Object.fromEntries(entries) }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...tensors.map(({ bytes }) => bytes)]);
}

/** Writes the directory; with `shards` > 1 the tensors are dealt out and an index says where they are. */
export async function writeCheckpoint(
  directory: string, tensors: readonly StoredTensor[], config: Readonly<Record<string, unknown>>, tokenizer: TokenizerFiles, shards = 1,
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const json = (name: string, value: unknown): Promise<void> => writeFile(join(directory, name), JSON.stringify(value));
  await json('config.json', config);
  await json('tokenizer.json', tokenizer.json);
  await json('tokenizer_config.json', tokenizer.config);
  if (shards === 1) {
    await writeFile(join(directory, 'model.safetensors'), safetensorsFile(tensors));
    return;
  }
  const name = (shard: number): string => `model-${String(shard + 1).padStart(5, '0')}-of-${String(shards).padStart(5, '0')}.safetensors`;
  for (let shard = 0; shard < shards; shard += 1) await writeFile(join(directory, name(shard)), safetensorsFile(tensors.filter((_, index) => index % shards === shard)));
  await json('model.safetensors.index.json', { metadata: {}, weight_map: Object.fromEntries(tensors.map((tensor, index) => [tensor.name, name(index % shards)])) });
}
