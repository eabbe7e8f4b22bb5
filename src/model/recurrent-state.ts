/**
 * What recurrent layers keep for a sequence instead of keys and values: a constant state, as libllama sizes it.
 *
 * Which layers are recurrent follows the architecture's rule and the model's own list; the state's size follows its
 * metadata. Numbers are f32 elements, as the engine stores them. It must not know slots or contexts.
 */
import type { ArchitectureFacts } from './architectures.js';
import { architectureRules } from './architectures.js';
import { metadataNumber, metadataPerLayer } from './gguf-values.js';

const FLOAT_BYTES = 4;
/** Tokens that an RWKV layer looks back on when the metadata say nothing. */
const TOKEN_SHIFTS = 2;
/** Columns of a Kimi convolution that are kept when the metadata name no kernel. */
const DELTA_KERNEL_COLUMNS = 3;

export interface RecurrentLayer {
  /** 0 = not recurrent. */
  readonly stateBytesPerSlot: number;
  /** It has keys and values too. */
  readonly keepsCache: boolean;
}

/** One entry a layer. Counts that are missing or make no sense count as 0. */
export function recurrentLayers(model: ArchitectureFacts): readonly RecurrentLayer[] {
  const rule = architectureRules(model.architecture).recurrentLayers;
  const stateBytes = FLOAT_BYTES * stateElements(model);
  return recurrentPattern(model).map((recurrent): RecurrentLayer => ({
    stateBytesPerSlot: recurrent ? stateBytes : 0,
    keepsCache: !recurrent || rule === 'all_beside_attention',
  }));
}

function recurrentPattern(model: ArchitectureFacts): readonly boolean[] {
  const { architecture, layers, metadata } = model;
  const rule = architectureRules(architecture).recurrentLayers;
  const perLayer = (suffix: string): readonly number[] => metadataPerLayer(metadata, `${architecture}.${suffix}`, layers) ?? [];
  const each = (isRecurrent: (layer: number) => boolean): readonly boolean[] => Array.from({ length: layers }, (_, layer) => isRecurrent(layer));
  switch (rule) {
    case 'none': return each(() => false);
    case 'all': case 'all_beside_attention': return each(() => true);
    case 'without_kv_heads': {
      const heads = perLayer('attention.head_count_kv');
      return each((layer) => heads[layer] === 0);
    }
    case 'without_kv_heads_and_feed_forward': {
      const heads = perLayer('attention.head_count_kv');
      const feedForward = perLayer('feed_forward_length');
      return each((layer) => heads[layer] === 0 && feedForward[layer] === 0);
    }
    case 'all_but_every_4th': case 'all_but_every_8th': {
      const listed = perLayer('attention.recurrent_layers');
      if (listed.length === layers) return each((layer) => listed[layer] !== 0);
      const usual = rule === 'all_but_every_4th' ? 4 : 8;
      const interval = Math.max(1, count(model, 'full_attention_interval') ?? usual);
      // Layers that predict further tokens come last and are attention.
      const main = layers - Math.min(layers, count(model, 'nextn_predict_layers') ?? 0);
      return each((layer) => layer < main && (layer + 1) % interval !== 0);
    }
  }
}

/** Of one layer and sequence: what it looks back on, and its state. */
function stateElements(model: ArchitectureFacts): number {
  const number = (suffix: string): number => count(model, suffix) ?? 0;
  const hidden = number('embedding_length');
  const heads = metadataPerLayer(model.metadata, `${model.architecture}.attention.head_count`, model.layers)?.[0] ?? 0;
  const kernel = number('ssm.conv_kernel');
  const wkvHead = number('wkv.head_size');
  if (wkvHead > 0) return (count(model, 'token_shift_count') ?? TOKEN_SHIFTS) * hidden + hidden * wkvHead;
  const shortKernel = number('shortconv.l_cache');
  if (shortKernel > 0) return hidden * (shortKernel - 1);
  const deltaHead = number('kda.head_dim');
  if (deltaHead > 0) {
    const columns = kernel > 0 ? kernel - 1 : DELTA_KERNEL_COLUMNS;
    return 3 * columns * heads * deltaHead + deltaHead * deltaHead * heads;
  }
  const inner = number('ssm.inner_size');
  const state = number('ssm.state_size');
  const convolution = Math.max(0, kernel - 1) * (inner + 2 * number('ssm.group_count') * state);
  if (architectureRules(model.architecture).recurrentLayers === 'all_but_every_8th') {
    const headSize = count(model, 'attention.key_length') ?? Math.floor(hidden / Math.max(1, heads));
    return convolution + headSize * headSize * heads;
  }
  return convolution + state * inner;
}

/** A number that can count something; null for anything else. */
function count(model: ArchitectureFacts, suffix: string): number | null {
  const value = metadataNumber(model.metadata, `${model.architecture}.${suffix}`);
  return value !== null && Number.isSafeInteger(value) && value >= 0 && value < 2 ** 32 ? value : null;
}
