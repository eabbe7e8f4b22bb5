/**
 * What placement needs to know of a model, computed from its header: bytes by layer, KV elements, where it may be cut.
 *
 * Bytes are as stored. It must not know nodes, memory budgets or the engine.
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { ModelShape } from '../core/types.js';
import type { ArchitectureFacts } from './architectures.js';
import { architectureRules, canRollBack, LATENT_ATTENTION_KEY, splitRules, unsupportedReason } from './architectures.js';
import { badGguf } from './gguf-parser.js';
import type { GgufHeader } from './gguf-reader.js';
import { shardName } from './gguf-reader.js';
import { metadataArray, metadataNumber, metadataPerLayer } from './gguf-values.js';
import { architectureFacts, layerOfTensor } from './model-facts.js';
import { layerBytesAs } from './precision-bytes.js';
import { recurrentLayers } from './recurrent-state.js';
import { tailExtraBytes, tiedCopyBytes } from './stage-file.js';

/** The name that people type: the file's name without `.gguf` and without the shard number. */
export function modelNameOf(path: string): string {
  const shard = shardName(path);
  return shard === null ? basename(path).replace(/\.gguf$/i, '') : shard.prefix;
}

/** Throws RingError `bad_gguf` when the header lacks what a model must have. */
export function modelShape(header: GgufHeader, name: string): ModelShape {
  const facts = architectureFacts(header);
  const { architecture, layers } = facts;
  const where = header.files[0]?.path || name;
  const number = (suffix: string): number | null => countOf(facts, suffix, where);
  const expertWidth = number('expert_feed_forward_length');
  const rules = splitRules(facts);
  const kv = kvElements(facts, where);
  const recurrent = recurrentLayers(facts);
  const cached = (elements: readonly number[]): number[] => elements.map((count, layer) => (recurrent[layer]?.keepsCache === false ? 0 : count));
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
    ...vocabularyDigest(facts),
    canRollBack: canRollBack(architectureRules(architecture)),
    trainedContext: number('context_length') ?? 0,
    layerBytes,
    layerBytesAs: layerBytesAs(header.tensors, layers),
    headBytes: 0,
    tailBytes: tailExtraBytes(header, architecture),
    wholeBytes,
    keyElementsPerToken: cached(kv.keys),
    valueElementsPerToken: cached(kv.values),
    keyHeadSizes: kv.keyHeadSizes,
    stateBytesPerSlot: recurrent.map(({ stateBytesPerSlot }) => stateBytesPerSlot),
    windowTokens: rules.windowTokens,
    feedForwardSize: Math.max(0, ...(perLayerCounts(facts, 'feed_forward_length', where) ?? [])),
    attentionHeads: Math.max(0, ...(perLayerCounts(facts, 'attention.head_count', where) ?? [])),
    expertCount: number('expert_count') ?? 0,
    expertUsed: number('expert_used_count') ?? 0,
    ...(expertWidth === null ? {} : { expertFeedForwardSize: expertWidth }),
    cutPeriod: rules.cutPeriod,
    unsplittableReason: rules.unsplittableReason,
    refusedStageLayers: rules.refusedStageLayers,
    unsupportedReason: unsupportedReason(architecture),
    supportedBackends: ['metal', 'cuda', 'vulkan', 'cpu'],
  };
}

/** Array elements are the bytes of the file: length and text of each token, so that none runs into the next. */
function vocabularyDigest({ metadata }: ArchitectureFacts): Pick<ModelShape, 'vocabularyDigest'> {
  const tokens = metadataArray(metadata, 'tokenizer.ggml.tokens');
  return tokens === null ? {} : { vocabularyDigest: createHash('sha256').update(tokens.bytes).digest('hex') };
}

/** Anything that counts something in a model is below this: a header that says more is damaged or hostile. */
const MAX_COUNT = 2 ** 32;

function countOf(facts: ArchitectureFacts, suffix: string, where: string): number | null {
  const key = `${facts.architecture}.${suffix}`;
  const value = metadataNumber(facts.metadata, key);
  if (value !== null) checkCount(value, key, where);
  return value;
}

function perLayerCounts(facts: ArchitectureFacts, suffix: string, where: string): number[] | null {
  const key = `${facts.architecture}.${suffix}`;
  const values = metadataPerLayer(facts.metadata, key, facts.layers);
  for (const value of values ?? []) checkCount(value, key, where);
  return values;
}

function checkCount(value: number, key: string, where: string): void {
  if (!Number.isInteger(value) || value < 0 || value > MAX_COUNT) throw badGguf(where, `${key} is ${value}, which is no sensible count`);
}

/** KV elements per token and layer, as libllama stores them. */
function kvElements(facts: ArchitectureFacts, where: string): { keys: number[]; values: number[]; keyHeadSizes: number[] } {
  const { layers } = facts;
  const number = (suffix: string): number => countOf(facts, suffix, where) ?? 0;
  const heads = perLayerCounts(facts, 'attention.head_count', where) ?? Array.from({ length: layers }, () => 0);
  const kvHeads = perLayerCounts(facts, 'attention.head_count_kv', where) ?? heads;
  const perHead = Math.floor(number('embedding_length') / Math.max(1, ...heads));
  const windowed = number('attention.sliding_window') > 0;
  const keyHeadSizes = [number('attention.key_length') || perHead, windowed ? number('attention.key_length_swa') : 0].filter((size) => size > 0);
  const keyLength = Math.max(0, ...keyHeadSizes);
  const valueLength = Math.max(number('attention.value_length') || perHead, windowed ? number('attention.value_length_swa') : 0);
  // With multi-head latent attention the values are a view into the keys: only keys are stored.
  const latent = number(LATENT_ATTENTION_KEY) > 0 && number('attention.value_length_mla') > 0;
  return {
    keyHeadSizes,
    keys: kvHeads.map((count) => count * keyLength),
    values: kvHeads.map((count) => (latent ? 0 : count * valueLength)),
  };
}
