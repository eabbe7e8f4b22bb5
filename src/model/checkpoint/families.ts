/**
 * What each family of checkpoints is as a GGUF: the tensors under both names with the shapes that the configuration implies,
 * what happens to their values on the way, and the architecture's keys.
 *
 * Two facts of the engine: it rotates neighbouring values of a head in llama models where Hugging Face rotates value i with
 * value i + half, so rows of q and k change places; and its gemma norms multiply by the weight where Hugging Face's multiply
 * by 1 + weight. It must not know files or bytes.
 */
import type { GgufValue } from '../gguf-values.js';
import { float32, text, uint32 } from '../gguf-values.js';
import type { CheckpointConfig, FamilyName } from './config.js';

/** `rope_rows`: the rows of every head are interleaved. `plus_one`: 1 is added to every value. */
export type ValueChange = 'none' | 'rope_rows' | 'plus_one';

export interface FamilyTensor {
  /** In the checkpoint, after the prefix of the text model (`model.`). */
  readonly source: string;
  readonly target: string;
  /** Outermost first, as in the checkpoint. */
  readonly shape: readonly number[];
  readonly change: ValueChange;
  /** Left out when the checkpoint has none. */
  readonly optional: boolean;
}

/** libllama's name of the architecture. */
const ARCHITECTURES: Readonly<Record<FamilyName, string>> = {
  llama: 'llama', mistral: 'llama', qwen2: 'qwen2', qwen3: 'qwen3', gemma: 'gemma', gemma2: 'gemma2', gemma3: 'gemma3',
};
export const ROPE_FACTORS = 'rope_freqs.weight';
export const OUTPUT_SOURCE = 'lm_head.weight';

function ggufArchitecture(family: FamilyName): string {
  return ARCHITECTURES[family];
}

/** Everything that the checkpoint must (or, optional, may) have, the order of the file. */
export function familyTensors(config: CheckpointConfig): readonly FamilyTensor[] {
  const norm = normChange(config);
  const tensors: FamilyTensor[] = [
    tensor('embed_tokens.weight', 'token_embd.weight', [config.vocabularySize, config.hiddenSize]),
    tensor('norm.weight', 'output_norm.weight', [config.hiddenSize], norm),
  ];
  if (!config.tied) tensors.push(tensor(OUTPUT_SOURCE, 'output.weight', [config.vocabularySize, config.hiddenSize]));
  for (let layer = 0; layer < config.layers; layer += 1) {
    tensors.push(...layerTensors(config).map((one) => ({ ...one, source: `layers.${layer}.${one.source}`, target: `blk.${layer}.${one.target}` })));
  }
  return tensors;
}

function tensor(source: string, target: string, shape: readonly number[], change: ValueChange = 'none', optional = false): FamilyTensor {
  return { source, target, shape, change, optional };
}

function normChange({ family }: CheckpointConfig): ValueChange {
  return family.startsWith('gemma') ? 'plus_one' : 'none';
}

function layerTensors(config: CheckpointConfig): FamilyTensor[] {
  const { family, hiddenSize, feedForward, headSize } = config;
  const queries = config.heads * headSize;
  const keys = config.kvHeads * headSize;
  const norm = normChange(config);
  const interleaved = ggufArchitecture(family) === 'llama' ? 'rope_rows' : 'none';
  const tensors = [
    tensor('input_layernorm.weight', 'attn_norm.weight', [hiddenSize], norm),
    tensor('self_attn.q_proj.weight', 'attn_q.weight', [queries, hiddenSize], interleaved),
    tensor('self_attn.k_proj.weight', 'attn_k.weight', [keys, hiddenSize], interleaved),
    tensor('self_attn.v_proj.weight', 'attn_v.weight', [keys, hiddenSize]),
    tensor('self_attn.o_proj.weight', 'attn_output.weight', [hiddenSize, queries]),
    tensor('mlp.gate_proj.weight', 'ffn_gate.weight', [feedForward, hiddenSize]),
    tensor('mlp.up_proj.weight', 'ffn_up.weight', [feedForward, hiddenSize]),
    tensor('mlp.down_proj.weight', 'ffn_down.weight', [hiddenSize, feedForward]),
  ];
  if (family === 'qwen2' || ggufArchitecture(family) === 'llama') {
    const optional = family !== 'qwen2';
    tensors.push(
      tensor('self_attn.q_proj.bias', 'attn_q.bias', [queries], interleaved, optional),
      tensor('self_attn.k_proj.bias', 'attn_k.bias', [keys], interleaved, optional),
      tensor('self_attn.v_proj.bias', 'attn_v.bias', [keys], 'none', optional),
    );
  }
  if (ggufArchitecture(family) === 'llama') {
    tensors.push(
      tensor('self_attn.o_proj.bias', 'attn_output.bias', [hiddenSize], 'none', true),
      tensor('mlp.gate_proj.bias', 'ffn_gate.bias', [feedForward], 'none', true),
      tensor('mlp.up_proj.bias', 'ffn_up.bias', [feedForward], 'none', true),
      tensor('mlp.down_proj.bias', 'ffn_down.bias', [hiddenSize], 'none', true),
    );
  }
  if (family === 'qwen3' || family === 'gemma3') {
    tensors.push(tensor('self_attn.q_norm.weight', 'attn_q_norm.weight', [headSize], norm), tensor('self_attn.k_norm.weight', 'attn_k_norm.weight', [headSize], norm));
  }
  if (family === 'gemma2' || family === 'gemma3') {
    tensors.push(
      tensor('post_attention_layernorm.weight', 'post_attention_norm.weight', [hiddenSize], norm),
      tensor('pre_feedforward_layernorm.weight', 'ffn_norm.weight', [hiddenSize], norm),
      tensor('post_feedforward_layernorm.weight', 'post_ffw_norm.weight', [hiddenSize], norm),
    );
  } else {
    tensors.push(tensor('post_attention_layernorm.weight', 'ffn_norm.weight', [hiddenSize], norm));
  }
  return tensors;
}

/** The architecture's keys. */
export function familyMetadata(config: CheckpointConfig): Map<string, GgufValue> {
  const name = ggufArchitecture(config.family);
  const { ropeScaling: scaling } = config;
  const keys: Record<string, GgufValue> = {
    block_count: uint32(config.layers), context_length: uint32(config.context), embedding_length: uint32(config.hiddenSize),
    feed_forward_length: uint32(config.feedForward), 'attention.head_count': uint32(config.heads), 'attention.head_count_kv': uint32(config.kvHeads),
    'attention.key_length': uint32(config.headSize), 'attention.value_length': uint32(config.headSize),
    'attention.layer_norm_rms_epsilon': float32(config.normEpsilon), 'rope.freq_base': float32(config.ropeBase), 'rope.dimension_count': uint32(config.headSize),
    vocab_size: uint32(config.vocabularySize),
  };
  if (config.localRopeBase !== null) keys['rope.freq_base_swa'] = float32(config.localRopeBase);
  if (config.window > 0) keys['attention.sliding_window'] = uint32(config.window);
  if (config.attentionSoftcap !== null) keys['attn_logit_softcapping'] = float32(config.attentionSoftcap);
  if (config.outputSoftcap !== null) keys['final_logit_softcapping'] = float32(config.outputSoftcap);
  if (scaling.kind === 'linear' || scaling.kind === 'yarn') {
    keys['rope.scaling.type'] = text(scaling.kind);
    keys['rope.scaling.factor'] = float32(scaling.factor);
  }
  if (scaling.kind === 'yarn') {
    keys['rope.scaling.original_context_length'] = uint32(scaling.originalContext);
    if (scaling.betaFast !== null) keys['rope.scaling.yarn_beta_fast'] = float32(scaling.betaFast);
    if (scaling.betaSlow !== null) keys['rope.scaling.yarn_beta_slow'] = float32(scaling.betaSlow);
  }
  return new Map([['general.architecture', text(name)], ...Object.entries(keys).map(([key, value]): [string, GgufValue] => [`${name}.${key}`, value])]);
}

/** What each frequency is divided by under llama3's scaling, `[headSize / 2]`; null = the checkpoint has another. */
export function ropeFactors({ ropeScaling: scaling, ropeBase, headSize }: CheckpointConfig): Float32Array | null {
  if (scaling.kind !== 'llama3') return null;
  const longest = scaling.originalContext / scaling.lowFrequencyFactor;
  const shortest = scaling.originalContext / scaling.highFrequencyFactor;
  return Float32Array.from({ length: headSize / 2 }, (_, index) => {
    const wavelength = 2 * Math.PI * ropeBase ** ((2 * index) / headSize);
    if (wavelength < shortest) return 1;
    if (wavelength > longest) return scaling.factor;
    const share = (scaling.originalContext / wavelength - scaling.lowFrequencyFactor) / (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
    return 1 / ((1 - share) / scaling.factor + share);
  });
}
