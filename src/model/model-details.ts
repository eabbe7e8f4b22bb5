/**
 * What a model's header says to people and to clients that ask about a model: sizes, the chat template, what it can do.
 *
 * It must not know placement or the ring.
 */
import type { Pooling } from '../core/types.js';
import type { ModelDetails } from '../ports.js';
import { ggmlType } from './ggml-types.js';
import type { GgufHeader } from './gguf-reader.js';
import { metadataNumber, metadataText } from './gguf-values.js';
import { architectureFacts, trainedContextOf } from './model-facts.js';

/** `enum llama_pooling_type`. */
const POOLINGS: ReadonlyMap<number, Pooling | 'rank'> = new Map([[1, 'mean'], [2, 'first'], [3, 'last'], [4, 'rank']]);
/** Facts that are told: long texts and lists (templates, vocabularies) are not. */
const FACT_LENGTH_MAX = 1000;

export function modelDetails(header: GgufHeader): ModelDetails {
  const { metadata } = header;
  const { architecture, layers, vocabularySize } = architectureFacts(header);
  const attends = metadata.get(`${architecture}.attention.causal`);
  const facts: Record<string, string | number | boolean> = {};
  for (const [key, fact] of metadata) {
    if (fact.type === 'array' || (fact.type === 'string' && fact.value.length > FACT_LENGTH_MAX)) continue;
    facts[key] = typeof fact.value === 'bigint' ? Number(fact.value) : fact.value;
  }
  return {
    architecture,
    layers,
    vocabularySize,
    hiddenSize: metadataNumber(metadata, `${architecture}.embedding_length`) ?? 0,
    ...trainedContextOf(header),
    parameters: header.tensors.reduce((sum, { dims }) => sum + dims.reduce((product, size) => product * size, 1), 0),
    weights: commonestType(header),
    chatTemplate: metadataText(metadata, 'tokenizer.chat_template'),
    pooling: POOLINGS.get(metadataNumber(metadata, `${architecture}.pooling_type`) ?? 0) ?? null,
    causal: !(attends?.type === 'bool' && !attends.value),
    facts,
  };
}

/** The type that most of the weights are stored in. */
function commonestType({ tensors }: GgufHeader): string {
  const bytes = new Map<number, number>();
  for (const tensor of tensors) bytes.set(tensor.ggmlType, (bytes.get(tensor.ggmlType) ?? 0) + tensor.sizeBytes);
  const [commonest] = [...bytes].sort(([, a], [, b]) => b - a);
  return commonest === undefined ? '' : ggmlType(commonest[0])?.name ?? '';
}
