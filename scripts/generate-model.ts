/**
 * Makes random-weight GGUFs: tiny ones of every splittable architecture with real layer counts (tests), and one with the
 * shapes of a real 1.1 B llama in Q4_0 (bench). Same recipe, same bytes.
 *
 * Run after `npm run build`: `node dist/scripts/generate-model.js <architecture|bench> <file> [layers]`, or import it.
 */
import { fileURLToPath } from 'node:url';
import { GGML_F32 } from '../src/model/ggml-types.js';
import { readGgufHeader } from '../src/model/gguf-reader.js';
import type { GgufValue } from '../src/model/gguf-values.js';
import { arrayNumbers, arrayStrings, float32, numberArray, stringArray, text, uint32 } from '../src/model/gguf-values.js';
import type { GeneratedTensor } from '../src/model/gguf-writer.js';
import { writeGgufFile } from '../src/model/gguf-writer.js';
import { builtInModelPath } from '../src/model/model-store.js';
import type { WeightFormat } from './random-weights.js';
import { formatType, randomQ4Pieces, randomWeights } from './random-weights.js';

/** The built-in model's 2,048 tokens and a few to spare. */
const VOCABULARY = 2056;
const CONTEXT = 1024;

export interface ModelRecipe {
  readonly architecture: string;
  readonly layers: number;
  readonly weights: WeightFormat;
  readonly hidden?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly headSize?: number;
  readonly feedForward?: number;
  /** Sliding window in tokens, for the architectures that have one. */
  readonly window?: number;
  /** Output matrix of its own; default: as the architecture's models usually are. */
  readonly ownOutput?: boolean;
  /** Mixture of experts, for families that come with and without (llama). */
  readonly experts?: boolean;
  readonly seed?: number;
}

interface Shape {
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly feedForward: number;
  readonly window: number;
  readonly layers: number;
  readonly experts: boolean;
}

const EXPERTS = 8;
const EXPERTS_USED = 2;
const EXPERT_WIDTH = 64;
const LATENT_RANK = 64;
const LATENT_ROPE = 32;
const LATENT_PLAIN = 32;
const LATENT_VALUE = 32;

type Dims = readonly number[];
/** `scale` multiplies 1/sqrt(row length); 'norm' is near one, 'bias' near zero. */
interface WeightSpec {
  readonly name: string;
  readonly dims: Dims;
  readonly kind: 'matrix' | 'router' | 'norm' | 'bias' | 'factors';
}

const matrix = (name: string, ...dims: number[]): WeightSpec => ({ name: `${name}.weight`, dims, kind: 'matrix' });
const router = (name: string, ...dims: number[]): WeightSpec => ({ name: `${name}.weight`, dims, kind: 'router' });
const norm = (name: string, width: number): WeightSpec => ({ name: `${name}.weight`, dims: [width], kind: 'norm' });
const bias = (name: string, ...dims: number[]): WeightSpec => ({ name: `${name}.bias`, dims, kind: 'bias' });

function attention(s: Shape, biased = false): WeightSpec[] {
  const queries = s.heads * s.headSize;
  const keys = s.kvHeads * s.headSize;
  const weights = [
    norm('attn_norm', s.hidden), matrix('attn_q', s.hidden, queries), matrix('attn_k', s.hidden, keys), matrix('attn_v', s.hidden, keys),
    matrix('attn_output', queries, s.hidden),
  ];
  return biased ? [...weights, bias('attn_q', queries), bias('attn_k', keys), bias('attn_v', keys)] : weights;
}

const headNorms = (s: Shape): WeightSpec[] => [norm('attn_q_norm', s.headSize), norm('attn_k_norm', s.headSize)];

function dense(s: Shape): WeightSpec[] {
  return [norm('ffn_norm', s.hidden), matrix('ffn_gate', s.hidden, s.feedForward), matrix('ffn_up', s.hidden, s.feedForward), matrix('ffn_down', s.feedForward, s.hidden)];
}

function experts(s: Shape): WeightSpec[] {
  return [
    router('ffn_gate_inp', s.hidden, EXPERTS), matrix('ffn_gate_exps', s.hidden, EXPERT_WIDTH, EXPERTS),
    matrix('ffn_up_exps', s.hidden, EXPERT_WIDTH, EXPERTS), matrix('ffn_down_exps', EXPERT_WIDTH, s.hidden, EXPERTS),
  ];
}

function latentAttention(s: Shape): WeightSpec[] {
  return [
    norm('attn_norm', s.hidden), matrix('attn_q', s.hidden, s.heads * (LATENT_PLAIN + LATENT_ROPE)), norm('attn_kv_a_norm', LATENT_RANK),
    matrix('attn_kv_a_mqa', s.hidden, LATENT_RANK + LATENT_ROPE), matrix('attn_k_b', LATENT_PLAIN, LATENT_RANK, s.heads),
    matrix('attn_v_b', LATENT_RANK, LATENT_VALUE, s.heads), matrix('attn_output', s.heads * LATENT_VALUE, s.hidden), norm('ffn_norm', s.hidden),
  ];
}

function sharedExpert(s: Shape): WeightSpec[] {
  return [
    matrix('ffn_gate_shexp', s.hidden, EXPERT_WIDTH), matrix('ffn_up_shexp', s.hidden, EXPERT_WIDTH), matrix('ffn_down_shexp', EXPERT_WIDTH, s.hidden),
  ];
}

function deepseekLayer(s: Shape, layer: number): WeightSpec[] {
  return [...latentAttention(s), ...(layer === 0 ? dense(s).slice(1) : [...experts(s), ...sharedExpert(s)])];
}

interface Family {
  readonly layer: (s: Shape, layer: number) => WeightSpec[];
  readonly global?: (s: Shape) => WeightSpec[];
  readonly metadata?: (s: Shape) => Readonly<Record<string, GgufValue>>;
  readonly ownOutput: boolean;
  /** Tokens that the engine's loader looks up by text. */
  readonly extraTokens?: readonly string[];
}

const expertMetadata: Readonly<Record<string, GgufValue>> = {
  expert_count: uint32(EXPERTS), expert_used_count: uint32(EXPERTS_USED), expert_feed_forward_length: uint32(EXPERT_WIDTH),
};
const gemmaLayer = (s: Shape): WeightSpec[] => [...attention(s), norm('post_attention_norm', s.hidden), ...dense(s), norm('post_ffw_norm', s.hidden)];

const FAMILIES: Readonly<Record<string, Family>> = {
  llama: {
    layer: (s) => [...attention(s), ...(s.experts ? [norm('ffn_norm', s.hidden), ...experts(s)] : dense(s))], ownOutput: true,
    metadata: (s) => (s.experts ? { ...expertMetadata, feed_forward_length: uint32(EXPERT_WIDTH) } : {}),
    global: (s) => [{ name: 'rope_freqs.weight', dims: [s.headSize / 2], kind: 'factors' }],
  },
  qwen2: { layer: (s) => [...attention(s, true), ...dense(s)], ownOutput: false },
  qwen2moe: {
    layer: (s) => [...attention(s, true), norm('ffn_norm', s.hidden), ...experts(s), { name: 'ffn_gate_inp_shexp.weight', dims: [s.hidden], kind: 'router' }, ...sharedExpert(s)],
    ownOutput: true, metadata: () => ({ ...expertMetadata, expert_shared_feed_forward_length: uint32(EXPERT_WIDTH) }),
  },
  mistral3: { layer: (s) => [...attention(s), ...dense(s)], ownOutput: true },
  smollm3: { layer: (s) => [...attention(s), ...dense(s)], ownOutput: false },
  seed_oss: { layer: (s) => [...attention(s, true), norm('post_attention_norm', s.hidden), ...dense(s).slice(1)], ownOutput: true },
  olmo2: {
    layer: (s) => [
      ...attention(s).slice(1), norm('attn_q_norm', s.hidden), norm('attn_k_norm', s.kvHeads * s.headSize), norm('post_attention_norm', s.hidden),
      ...dense(s).slice(1), norm('post_ffw_norm', s.hidden),
    ],
    ownOutput: true, metadata: (s): Readonly<Record<string, GgufValue>> => (s.window > 0 ? { 'attention.sliding_window': uint32(s.window) } : {}),
  },
  qwen3: { layer: (s) => [...attention(s), ...headNorms(s), ...dense(s)], ownOutput: false },
  qwen3moe: {
    layer: (s) => [...attention(s), ...headNorms(s), norm('ffn_norm', s.hidden), ...experts(s)], ownOutput: true,
    metadata: () => expertMetadata,
  },
  'gpt-oss': {
    ownOutput: true,
    layer: (s) => [
      ...attention(s, true), bias('attn_output', s.hidden), norm('post_attention_norm', s.hidden), norm('attn_sinks', s.heads), ...experts(s),
      bias('ffn_gate_inp', EXPERTS), bias('ffn_gate_exps', EXPERT_WIDTH, EXPERTS), bias('ffn_up_exps', EXPERT_WIDTH, EXPERTS),
      bias('ffn_down_exps', s.hidden, EXPERTS),
    ],
    metadata: (s) => ({ ...expertMetadata, 'attention.sliding_window': uint32(s.window) }),
  },
  gemma: { layer: (s) => [...attention(s), ...dense(s)], ownOutput: false },
  gemma2: {
    layer: gemmaLayer, ownOutput: false,
    metadata: (s) => ({
      'attention.sliding_window': uint32(s.window), attn_logit_softcapping: float32(50), final_logit_softcapping: float32(30),
    }),
  },
  gemma3: {
    layer: (s) => [...gemmaLayer(s), ...headNorms(s)], ownOutput: false,
    metadata: (s) => ({ 'attention.sliding_window': uint32(s.window) }),
  },
  phi3: {
    ownOutput: true, extraTokens: ['</s>', '<unk>', '<s>'],
    layer: (s) => [
      norm('attn_norm', s.hidden), matrix('attn_qkv', s.hidden, (s.heads + 2 * s.kvHeads) * s.headSize), matrix('attn_output', s.hidden, s.hidden),
      norm('ffn_norm', s.hidden), matrix('ffn_up', s.hidden, 2 * s.feedForward), matrix('ffn_down', s.feedForward, s.hidden),
    ],
    global: (s) => [
      { name: 'rope_factors_long.weight', dims: [s.headSize / 2], kind: 'factors' },
      { name: 'rope_factors_short.weight', dims: [s.headSize / 2], kind: 'factors' },
    ],
    metadata: (s) => ({ 'attention.sliding_window': uint32(s.window), 'rope.scaling.original_context_length': uint32(256) }),
  },
  deepseek2: {
    layer: deepseekLayer, ownOutput: true,
    metadata: () => ({
      ...expertMetadata, leading_dense_block_count: uint32(1), expert_shared_count: uint32(1), expert_weights_scale: float32(1),
      'attention.kv_lora_rank': uint32(LATENT_RANK), 'attention.head_count_kv': uint32(1),
      'attention.key_length': uint32(LATENT_RANK + LATENT_ROPE), 'attention.value_length': uint32(LATENT_RANK),
      'attention.key_length_mla': uint32(LATENT_PLAIN + LATENT_ROPE), 'attention.value_length_mla': uint32(LATENT_VALUE),
      'rope.dimension_count': uint32(LATENT_ROPE),
    }),
  },
};

const GENERATED_ARCHITECTURES: readonly string[] = Object.keys(FAMILIES);

function modelMetadata(recipe: ModelRecipe, s: Shape, family: Family): Map<string, GgufValue> {
  const entries: Record<string, GgufValue> = {
    block_count: uint32(s.layers), context_length: uint32(CONTEXT), embedding_length: uint32(s.hidden), feed_forward_length: uint32(s.feedForward),
    'attention.head_count': uint32(s.heads), 'attention.head_count_kv': uint32(s.kvHeads), 'attention.key_length': uint32(s.headSize),
    'attention.value_length': uint32(s.headSize), 'attention.layer_norm_rms_epsilon': float32(1e-5), 'rope.freq_base': float32(10_000),
    'rope.dimension_count': uint32(s.headSize), ...family.metadata?.(s),
  };
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', text(recipe.architecture)], ['general.name', text(`random ${recipe.architecture}`)], ['general.alignment', uint32(32)],
  ]);
  for (const [key, value] of Object.entries(entries)) metadata.set(`${recipe.architecture}.${key}`, value);
  return metadata;
}

/** The built-in model's tokenizer. */
async function tokenizerMetadata(): Promise<[string, GgufValue][]> {
  const builtIn = builtInModelPath();
  if (builtIn === null) throw new Error('the built-in model, whose tokenizer generated models get, is missing: models/kjv-q8_0.gguf');
  const header = await readGgufHeader(builtIn);
  return [...header.metadata].filter(([key]) => key.startsWith('tokenizer.'));
}

/** Writes a random model of a tiny width. */
export async function generateModel(path: string, recipe: ModelRecipe): Promise<void> {
  const family = FAMILIES[recipe.architecture];
  if (family === undefined) throw new Error(`no recipe for architecture ${recipe.architecture}: ${GENERATED_ARCHITECTURES.join(', ')}`);
  const heads = recipe.heads ?? 4;
  const headSize = recipe.headSize ?? 32;
  const s: Shape = {
    layers: recipe.layers, hidden: recipe.hidden ?? heads * headSize, heads, kvHeads: recipe.kvHeads ?? 2, headSize,
    feedForward: recipe.feedForward ?? 128, window: recipe.window ?? 64, experts: recipe.experts ?? false,
  };
  const specs: WeightSpec[] = [matrix('token_embd', s.hidden, VOCABULARY), norm('output_norm', s.hidden)];
  if (recipe.ownOutput ?? family.ownOutput) specs.push(matrix('output', s.hidden, VOCABULARY));
  specs.push(...family.global?.(s) ?? []);
  for (let layer = 0; layer < s.layers; layer++) {
    specs.push(...family.layer(s, layer).map((spec) => ({ ...spec, name: `blk.${layer}.${spec.name}` })));
  }
  const metadata = modelMetadata(recipe, s, family);
  for (const [key, value] of await tokenizerMetadata()) metadata.set(key, padTokenizer(key, value, VOCABULARY, family.extraTokens));
  await writeGgufFile(path, metadata, specs.map((spec) => generated(spec, recipe, s.layers)));
}

function generated(spec: WeightSpec, recipe: ModelRecipe, layers: number): GeneratedTensor {
  const inner = spec.dims[0] ?? 1;
  const elements = spec.dims.reduce((product, dim) => product * dim, 1);
  const seed = `${recipe.seed ?? 1}/${recipe.architecture}/${spec.name}`;
  const format: WeightFormat = spec.kind === 'matrix' ? recipe.weights : 'f32';
  const centre = spec.kind === 'norm' || spec.kind === 'factors' ? 1 : 0;
  const toResidual = /attn_output|ffn_down/.test(spec.name);
  const deviation = spec.kind === 'matrix' || spec.kind === 'router'
    ? (spec.name === 'token_embd.weight' ? 1 : (spec.name === 'output.weight' ? 2 : 1) / Math.sqrt(inner)) / (toResidual ? Math.sqrt(layers / 4) : 1)
    : 0.1;
  return {
    name: spec.name, dims: spec.dims, ggmlType: formatType(format),
    data: () => [randomWeights({ seed, elements, centre, deviation, format })],
  };
}

const BENCH = { layers: 22, hidden: 2048, heads: 32, kvHeads: 4, feedForward: 5632, vocabulary: 32_000, context: 2048 };

/** Shapes of a real 1.1 B llama, every matrix in Q4_0 (about 620 MB), streamed to disk. */
export async function generateBenchModel(path: string): Promise<void> {
  const s: Shape = { ...BENCH, headSize: BENCH.hidden / BENCH.heads, window: 0, experts: false };
  const specs = [matrix('token_embd', s.hidden, BENCH.vocabulary), norm('output_norm', s.hidden), matrix('output', s.hidden, BENCH.vocabulary)];
  for (let layer = 0; layer < s.layers; layer++) {
    specs.push(...[...attention(s), ...dense(s)].map((spec) => ({ ...spec, name: `blk.${layer}.${spec.name}` })));
  }
  const metadata = modelMetadata({ architecture: 'llama', layers: s.layers, weights: 'q4_0' }, s, { layer: () => [], ownOutput: true });
  metadata.set('llama.context_length', uint32(BENCH.context));
  for (const [key, value] of await tokenizerMetadata()) metadata.set(key, padTokenizer(key, value, BENCH.vocabulary));
  await writeGgufFile(path, metadata, specs.map((spec): GeneratedTensor => {
    const elements = spec.dims.reduce((product, dim) => product * dim, 1);
    if (spec.kind === 'norm') {
      return { ...spec, ggmlType: GGML_F32, data: () => [randomWeights({ seed: spec.name, elements, centre: 1, deviation: 0.05, format: 'f32' })] };
    }
    return { ...spec, ggmlType: formatType('q4_0'), data: () => randomQ4Pieces(spec.name, elements, 1 / Math.sqrt(spec.dims[0] ?? 1)) };
  }));
}

/** Fills a small vocabulary up with tokens that no text contains. */
function padTokenizer(key: string, value: GgufValue, size: number, extra: readonly string[] = []): GgufValue {
  if (value.type !== 'array') return value;
  if (key === 'tokenizer.ggml.tokens') {
    const tokens = arrayStrings(value);
    const unused = Array.from({ length: size - tokens.length - extra.length }, (_, index) => `<unused-${index}>`);
    return stringArray([...tokens, ...extra, ...unused]);
  }
  if (key === 'tokenizer.ggml.token_type') {
    const types = arrayNumbers(value);
    return numberArray('int32', [...types, ...Array.from({ length: size - types.length }, () => 5)]);
  }
  if (key === 'tokenizer.ggml.scores') {
    const scores = arrayNumbers(value);
    return numberArray('float32', [...scores, ...Array.from({ length: size - scores.length }, () => 0)]);
  }
  return value;
}

async function main(words: readonly string[]): Promise<void> {
  const [architecture, path, layers] = words;
  if (architecture === undefined || path === undefined) {
    throw new Error(`usage: generate-model <bench|${GENERATED_ARCHITECTURES.join('|')}> <file> [layers]`);
  }
  if (architecture === 'bench') await generateBenchModel(path);
  else await generateModel(path, { architecture, layers: Number(layers ?? 4), weights: 'q8_0' });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
