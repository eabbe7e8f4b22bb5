/**
 * What placement needs to know of a model, computed from its header: bytes by layer, KV elements, where it may be cut.
 *
 * Bytes are as stored. It must not know nodes, memory budgets or the engine.
 */
import { basename } from 'node:path';
import type { ModelShape } from '../core/types.js';
import type { ArchitectureFacts } from './architectures.js';
import { LATENT_ATTENTION_KEY, splitRules, unsupportedReason } from './architectures.js';
import type { GgufHeader } from './gguf-reader.js';
import { shardName } from './gguf-reader.js';
import { metadataNumber, metadataPerLayer } from './gguf-values.js';
import { architectureFacts, layerOfTensor } from './model-facts.js';
import { tailExtraBytes, tiedCopyBytes } from './stage-file.js';

/** The name that people type: the file's name without `.gguf` and without the shard number. */
export function modelNameOf(path: string): string {
  const shard = shardName(path);
  return shard === null ? basename(path).replace(/\.gguf$/i, '') : shard.prefix;
}

/** Throws RingError `bad_gguf` when the header lacks what a model must have. */
export function modelShape(header: GgufHeader, name: string): ModelShape {
  const facts = architectureFacts(header);
  const { architecture, layers, metadata } = facts;
  const number = (suffix: string): number | null => metadataNumber(metadata, `${architecture}.${suffix}`);
  const rules = splitRules(facts);
  const kv = kvElements(facts);
  const layerBytes = Array.from({ length: layers }, () => 0);
  // A tied output matrix may be in memory twice.
  let wholeBytes = tiedCopyBytes(header);
  for (const tensor of header.tensors) {
    wholeBytes += tensor.sizeBytes;
    const layer = layerOfTensor(tensor.name);
    if (layer !== null) layerBytes[layer] = (layerBytes[layer] ?? 0) + tensor.sizeBytes;
  }
  return {
    identity: header.identity, name, architecture, layers,
    hiddenSize: number('embedding_length') ?? 0,
    vocabularySize: facts.vocabularySize,
    trainedContext: number('context_length') ?? 0,
    layerBytes,
    headBytes: 0,
    tailBytes: tailExtraBytes(header, architecture),
    wholeBytes,
    keyElementsPerToken: kv.keys,
    valueElementsPerToken: kv.values,
    stateBytesPerSlot: Array.from({ length: layers }, () => 0),
    windowTokens: rules.windowTokens,
    feedForwardSize: Math.max(0, ...(metadataPerLayer(metadata, `${architecture}.feed_forward_length`, layers) ?? [0])),
    attentionHeads: Math.max(0, ...(metadataPerLayer(metadata, `${architecture}.attention.head_count`, layers) ?? [0])),
    expertCount: number('expert_count') ?? 0,
    expertUsed: number('expert_used_count') ?? 0,
    cutPeriod: rules.cutPeriod,
    unsplittableReason: rules.unsplittableReason,
    refusedStageLayers: rules.refusedStageLayers,
    unsupportedReason: unsupportedReason(architecture),
    supportedBackends: ['metal', 'cuda', 'vulkan', 'cpu'],
  };
}

/** KV elements per token and layer, as libllama stores them. */
function kvElements(facts: ArchitectureFacts): { keys: number[]; values: number[] } {
  const { architecture, layers, metadata } = facts;
  const number = (suffix: string): number | null => metadataNumber(metadata, `${architecture}.${suffix}`);
  const zeros = Array.from({ length: layers }, () => 0);
  const heads = metadataPerLayer(metadata, `${architecture}.attention.head_count`, layers) ?? zeros;
  const kvHeads = metadataPerLayer(metadata, `${architecture}.attention.head_count_kv`, layers) ?? heads;
  const perHead = (number('embedding_length') ?? 0) / Math.max(1, ...heads);
  const keyLength = number('attention.key_length') ?? perHead;
  const valueLength = number('attention.value_length') ?? perHead;
  const window = number('attention.sliding_window') ?? 0;
  const keyWindow = window > 0 ? number('attention.key_length_swa') : null;
  const valueWindow = window > 0 ? number('attention.value_length_swa') : null;
  // With multi-head latent attention the values are a view into the keys: only keys are stored.
  const latent = (number(LATENT_ATTENTION_KEY) ?? 0) > 0 && (number('attention.value_length_mla') ?? 0) > 0;
  return {
    keys: kvHeads.map((count) => count * Math.max(keyLength, keyWindow ?? 0)),
    values: kvHeads.map((count) => (latent ? 0 : count * Math.max(valueLength, valueWindow ?? 0))),
  };
}
