/**
 * What a model's header says to people and to clients that ask about a model: sizes, the chat template, what it can do.
 *
 * It must not know placement or the ring.
 */
import type { Pooling } from '../core/step-types.js';
import type { ModelDetails } from '../ports.js';
import type { GgufHeader } from './gguf-reader.js';
import { metadataNumber, metadataText } from './gguf-values.js';
import { architectureFacts, toldFacts } from './model-facts.js';

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
    ...toldFacts(header),
    chatTemplate: metadataText(metadata, 'tokenizer.chat_template'),
    pooling: POOLINGS.get(metadataNumber(metadata, `${architecture}.pooling_type`) ?? 0) ?? null,
    causal: !(attends?.type === 'bool' && !attends.value),
    facts,
  };
}
