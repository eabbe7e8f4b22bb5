/**
 * What a checkpoint's `config.json` says, with the defaults that its architecture has where it says nothing, and refusals of
 * what the engine would compute differently. It must not know tensors' bytes or GGUF keys (families.ts).
 */
import { z } from 'zod';
import { MAX_LAYERS } from '../model-facts.js';
import { badCheckpoint, refusedCheckpoint } from './bad-checkpoint.js';

/** Which family's rules (families.ts) hold. */
export type FamilyName = 'llama' | 'mistral' | 'qwen2' | 'qwen3' | 'gemma' | 'gemma2' | 'gemma3';

/** How positions are stretched beyond the trained context. `dynamic` changes nothing within it. */
export type RopeScaling =
  | { readonly kind: 'none' }
  | { readonly kind: 'linear'; readonly factor: number }
  | { readonly kind: 'llama3'; readonly factor: number; readonly lowFrequencyFactor: number; readonly highFrequencyFactor: number; readonly originalContext: number }
  | { readonly kind: 'yarn'; readonly factor: number; readonly originalContext: number; readonly betaFast: number | null; readonly betaSlow: number | null };

export interface CheckpointConfig {
  readonly family: FamilyName;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  /** Rows of the embedding. */
  readonly vocabularySize: number;
  readonly context: number;
  readonly normEpsilon: number;
  readonly ropeBase: number;
  /** Of layers with a window, where they have another; null = the same. */
  readonly localRopeBase: number | null;
  readonly ropeScaling: RopeScaling;
  /** 0 = none. */
  readonly window: number;
  readonly tied: boolean;
  readonly attentionSoftcap: number | null;
  readonly outputSoftcap: number | null;
  /** Token ids by role; `eos` may be several. */
  readonly tokenIds: { readonly bos: number | null; readonly eos: readonly number[]; readonly pad: number | null };
}

const FAMILIES: Readonly<Record<string, FamilyName>> = {
  LlamaForCausalLM: 'llama', MistralForCausalLM: 'mistral', Qwen2ForCausalLM: 'qwen2', Qwen3ForCausalLM: 'qwen3',
  GemmaForCausalLM: 'gemma', Gemma2ForCausalLM: 'gemma2', Gemma3ForCausalLM: 'gemma3', Gemma3ForConditionalGeneration: 'gemma3',
};
const CHECKPOINT_ARCHITECTURES: readonly string[] = Object.keys(FAMILIES);

/** Largest dimension that is believed. */
const MAX_DIMENSION = 1 << 24;
const GEMMA3_PATTERN = 6;

const dimension = z.int().positive().max(MAX_DIMENSION);
const ids = z.union([z.int(), z.array(z.int()).max(100)]).nullish();
const ropeSchema = z.looseObject({
  rope_type: z.string().nullish(), type: z.string().nullish(), factor: z.number().positive().nullish(), rope_theta: z.number().positive().nullish(),
  low_freq_factor: z.number().positive().nullish(), high_freq_factor: z.number().positive().nullish(), original_max_position_embeddings: dimension.nullish(),
  attention_factor: z.number().nullish(), attn_factor: z.number().nullish(), mscale: z.number().nullish(), mscale_all_dim: z.number().nullish(), truncate: z.boolean().nullish(),
  beta_fast: z.number().positive().nullish(), beta_slow: z.number().positive().nullish(), partial_rotary_factor: z.number().nullish(),
});
type Rope = z.infer<typeof ropeSchema>;
const layeredRopeSchema = z.object({ full_attention: ropeSchema, sliding_attention: ropeSchema });

const textSchema = z.looseObject({
  num_hidden_layers: dimension.nullish(), hidden_size: dimension.nullish(), intermediate_size: dimension.nullish(), num_attention_heads: dimension.nullish(),
  num_key_value_heads: dimension.nullish(), head_dim: dimension.nullish(), vocab_size: dimension.nullish(), max_position_embeddings: dimension.nullish(),
  rms_norm_eps: z.number().positive().nullish(), rope_theta: z.number().positive().nullish(), rope_local_base_freq: z.number().positive().nullish(),
  rope_scaling: z.unknown().optional(), rope_parameters: z.unknown().optional(), hidden_act: z.string().nullish(), hidden_activation: z.string().nullish(),
  tie_word_embeddings: z.boolean().nullish(), sliding_window: z.int().nonnegative().nullish(), use_sliding_window: z.boolean().nullish(),
  sliding_window_pattern: z.int().positive().nullish(), layer_types: z.array(z.string()).max(MAX_LAYERS).nullish(), query_pre_attn_scalar: z.number().positive().nullish(),
  attn_logit_softcapping: z.number().positive().nullish(), final_logit_softcapping: z.number().positive().nullish(), partial_rotary_factor: z.number().nullish(),
  bos_token_id: ids, eos_token_id: ids, pad_token_id: ids, use_bidirectional_attention: z.boolean().nullish(),
});
type TextConfig = z.infer<typeof textSchema>;

const configSchema = z.looseObject({
  architectures: z.array(z.string()).nullish(), model_type: z.string().nullish(), quantization_config: z.unknown().optional(), quantization: z.unknown().optional(), text_config: z.unknown().optional(),
});

/** What an architecture's own configuration class assumes. Null = it must be there. */
interface Defaults {
  readonly heads: number | null;
  readonly kvHeads: number | null;
  /** Null = hidden size by heads. */
  readonly headSize: number | null;
  readonly context: number;
  readonly vocabulary: number | null;
  readonly ropeBase: number;
  readonly tied: boolean;
}

const DEFAULTS: Readonly<Record<FamilyName, Defaults>> = {
  llama: { heads: null, kvHeads: null, headSize: null, context: 2048, vocabulary: null, ropeBase: 10_000, tied: false },
  mistral: { heads: null, kvHeads: 8, headSize: null, context: 131_072, vocabulary: null, ropeBase: 10_000, tied: false },
  qwen2: { heads: null, kvHeads: 32, headSize: null, context: 32_768, vocabulary: null, ropeBase: 10_000, tied: false },
  qwen3: { heads: null, kvHeads: 32, headSize: 128, context: 32_768, vocabulary: null, ropeBase: 10_000, tied: false },
  gemma: { heads: 16, kvHeads: 16, headSize: 256, context: 8192, vocabulary: 256_000, ropeBase: 10_000, tied: true },
  gemma2: { heads: 8, kvHeads: 4, headSize: 256, context: 8192, vocabulary: 256_000, ropeBase: 10_000, tied: true },
  gemma3: { heads: 8, kvHeads: 4, headSize: 256, context: 131_072, vocabulary: 262_208, ropeBase: 1_000_000, tied: true },
};

/** @param value The parsed `config.json`. Throws `unsupported_architecture` with the reason, or `bad_checkpoint`. */
export function checkpointConfig(value: unknown, where: string): CheckpointConfig {
  const outer = parsed(configSchema, value, where);
  refuseQuantised(outer, where);
  const architecture = outer.architectures?.[0] ?? '';
  const family = Object.hasOwn(FAMILIES, architecture) ? FAMILIES[architecture] : undefined;
  if (family === undefined) {
    throw refusedCheckpoint(where, `${architecture === '' ? `model type ${JSON.stringify(outer.model_type ?? 'unknown')}` : `architecture ${architecture}`} is not read from safetensors (these are: ${CHECKPOINT_ARCHITECTURES.join(', ')})`);
  }
  const inner = typeof outer.text_config === 'object' && outer.text_config !== null ? outer.text_config : {};
  return configOf(family, parsed(textSchema, { ...outer, ...inner }, where), where);
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value);
  if (!result.success) throw badCheckpoint(where, z.prettifyError(result.error).split('\n').slice(0, 2).join(' '));
  return result.data;
}

function refuseQuantised(config: z.infer<typeof configSchema>, where: string): void {
  const { quantization, quantization_config: method } = config;
  const field = (value: unknown, name: string): string => (typeof value === 'object' && value !== null ? String(Object.entries(value).find(([key]) => key === name)?.[1] ?? '') : '');
  if (quantization !== undefined && quantization !== null) {
    throw refusedCheckpoint(where, `it is quantised by MLX (${field(quantization, 'bits') || '?'} bits in groups of ${field(quantization, 'group_size') || '?'}), which the engine has no kernels for`, 'take the unquantised checkpoint or a GGUF');
  }
  if (method !== undefined && method !== null) {
    throw refusedCheckpoint(where, `it is quantised (${field(method, 'quant_method') || 'unnamed method'}), which the engine has no kernels for`, 'take the unquantised checkpoint or a GGUF');
  }
}

function configOf(family: FamilyName, text: TextConfig, where: string): CheckpointConfig {
  const defaults = DEFAULTS[family];
  const need = (value: number | null | undefined, name: string): number => {
    if (value === null || value === undefined) throw badCheckpoint(where, `${name} is missing`);
    return value;
  };
  const layers = need(text.num_hidden_layers, 'num_hidden_layers');
  if (layers > MAX_LAYERS) throw badCheckpoint(where, `it has ${layers} layers, more than the ${MAX_LAYERS} that are supported`);
  const hiddenSize = need(text.hidden_size, 'hidden_size');
  const heads = need(text.num_attention_heads ?? defaults.heads, 'num_attention_heads');
  const kvHeads = text.num_key_value_heads ?? defaults.kvHeads ?? heads;
  const headSize = text.head_dim ?? defaults.headSize ?? hiddenSize / heads;
  if (!Number.isInteger(headSize) || headSize % 2 !== 0 || heads % kvHeads !== 0) throw badCheckpoint(where, `${heads} heads, ${kvHeads} key-value heads and a head size of ${headSize} do not fit together`);
  if (family === 'qwen2' && heads * headSize !== hiddenSize) throw refusedCheckpoint(where, `${heads} heads of ${headSize} are not as wide as its ${hiddenSize} values, which the engine wants for qwen2`);
  const { base, localBase, scaling } = ropeOf(text, defaults, where);
  const config: CheckpointConfig = {
    family, layers, hiddenSize, heads, kvHeads, headSize, feedForward: need(text.intermediate_size, 'intermediate_size'),
    vocabularySize: need(text.vocab_size ?? defaults.vocabulary, 'vocab_size'), context: text.max_position_embeddings ?? defaults.context,
    normEpsilon: text.rms_norm_eps ?? 1e-6, ropeBase: base, localRopeBase: localBase, ropeScaling: scaling, window: 0,
    tied: text.tie_word_embeddings ?? defaults.tied,
    attentionSoftcap: text.attn_logit_softcapping ?? null, outputSoftcap: text.final_logit_softcapping ?? null,
    tokenIds: { bos: idsOf(text.bos_token_id)[0] ?? null, eos: idsOf(text.eos_token_id), pad: idsOf(text.pad_token_id)[0] ?? null },
  };
  checkActivation(family, text, where);
  return withWindow(config, text, where);
}

export function idsOf(value: number | readonly number[] | null | undefined): readonly number[] {
  return value === null || value === undefined ? [] : typeof value === 'number' ? [value] : value;
}

/** Gemma means the tanh form whatever its older configurations say. */
function checkActivation(family: FamilyName, text: TextConfig, where: string): void {
  const activation = text.hidden_activation ?? text.hidden_act ?? null;
  const allowed = family.startsWith('gemma') ? ['gelu_pytorch_tanh', 'gelu'] : ['silu'];
  if (activation !== null && !allowed.includes(activation)) throw refusedCheckpoint(where, `its activation ${activation} is not the one that the engine computes for ${family}`);
}

/** The engine's own patterns: every second layer of gemma2 and every sixth of gemma3 sees everything. */
function withWindow(config: CheckpointConfig, text: TextConfig, where: string): CheckpointConfig {
  const { family, headSize } = config;
  if (family === 'gemma2' || family === 'gemma3') {
    const pattern = family === 'gemma2' ? 2 : GEMMA3_PATTERN;
    const types = text.layer_types ?? Array.from({ length: config.layers }, (_, layer) => ((layer + 1) % (text.sliding_window_pattern ?? pattern) === 0 ? 'full_attention' : 'sliding_attention'));
    if (types.length !== config.layers || types.some((type, layer) => type !== ((layer + 1) % pattern === 0 ? 'full_attention' : 'sliding_attention'))) {
      throw refusedCheckpoint(where, `its layers with and without a window alternate otherwise than the engine computes (${pattern - 1} with, 1 without)`);
    }
    if (text.query_pre_attn_scalar !== null && text.query_pre_attn_scalar !== undefined && text.query_pre_attn_scalar !== queryScalar(config)) {
      throw refusedCheckpoint(where, `query_pre_attn_scalar is ${text.query_pre_attn_scalar}, but the engine scales by ${queryScalar(config)} for ${config.layers} layers and heads of ${headSize}`);
    }
    if (family === 'gemma3' && config.attentionSoftcap !== null) throw refusedCheckpoint(where, 'it caps attention, which the engine does not for gemma3');
    if (text.use_bidirectional_attention === true) throw refusedCheckpoint(where, 'it attends in both directions, which no text generation does');
    const softcaps = family === 'gemma2' ? { attentionSoftcap: config.attentionSoftcap ?? 50, outputSoftcap: config.outputSoftcap ?? 30 } : {};
    return { ...config, ...softcaps, window: text.sliding_window ?? (family === 'gemma2' ? 4096 : 1024) };
  }
  // Other windows are not the engine's: within the window full attention computes the same, so the context ends there.
  const windowed = family === 'mistral' || (family.startsWith('qwen') && text.use_sliding_window === true);
  const window = windowed ? text.sliding_window ?? 0 : 0;
  return window > 0 && window < config.context ? { ...config, context: window } : config;
}

/** What libllama divides by under the root: the head size, but the width by heads in the largest gemma2 and gemma3. */
function queryScalar({ family, layers, hiddenSize, heads, headSize }: CheckpointConfig): number {
  const largest = family === 'gemma2' ? 46 : 62;
  return layers === largest ? hiddenSize / heads : headSize;
}

function ropeOf(text: TextConfig, defaults: Defaults, where: string): { base: number; localBase: number | null; scaling: RopeScaling } {
  const layered = layeredRopeSchema.safeParse(text.rope_parameters);
  const stated = layered.success ? layered.data.full_attention : text.rope_parameters ?? text.rope_scaling;
  const rope = stated === null || stated === undefined ? null : parsed(ropeSchema, stated, where);
  const base = rope?.rope_theta ?? text.rope_theta ?? defaults.ropeBase;
  const localBase = (layered.success ? layered.data.sliding_attention.rope_theta : null) ?? text.rope_local_base_freq ?? null;
  if (layered.success && (layered.data.sliding_attention.rope_type ?? 'default') !== 'default') throw refusedCheckpoint(where, 'positions are scaled within windows too, which the engine does not');
  for (const part of [text.partial_rotary_factor, rope?.partial_rotary_factor]) {
    if (part !== null && part !== undefined && part !== 1) throw refusedCheckpoint(where, `only a part of each head is rotated (${part}), which the engine does not for this family`);
  }
  return { base, localBase, scaling: rope === null ? { kind: 'none' } : scalingOf(rope, text.max_position_embeddings ?? defaults.context, where) };
}

function scalingOf(rope: Rope, context: number, where: string): RopeScaling {
  const kind = rope.rope_type ?? rope.type ?? 'default';
  const factor = rope.factor ?? null;
  const originalContext = rope.original_max_position_embeddings ?? context;
  if (kind === 'default' || kind === 'none' || kind === 'dynamic') return { kind: 'none' };
  if (factor === null) throw badCheckpoint(where, `rope scaling ${JSON.stringify(kind)} has no factor`);
  switch (kind) {
    case 'linear': return { kind, factor };
    case 'llama3': return { kind, factor, originalContext, lowFrequencyFactor: rope.low_freq_factor ?? 1, highFrequencyFactor: rope.high_freq_factor ?? 4 };
    case 'yarn': {
      const own = [rope.attention_factor, rope.attn_factor, rope.mscale, rope.mscale_all_dim].some((value) => value !== null && value !== undefined);
      if (own || rope.truncate === false) throw refusedCheckpoint(where, 'its yarn scaling has an attention factor or rounding of its own, which the engine computes otherwise');
      return { kind, factor, originalContext, betaFast: rope.beta_fast ?? null, betaSlow: rope.beta_slow ?? null };
    }
    default: throw refusedCheckpoint(where, `rope scaling ${JSON.stringify(kind)} is not supported (linear, llama3 and yarn are)`);
  }
}
