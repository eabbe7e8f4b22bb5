/**
 * The draft of a plan: a small model that runs whole beside the head's stage and guesses what the large one says next
 * (core/model-drafts.ts). Whether a model can be one, and what it takes.
 *
 * Tokens travel as ids, so a draft has the very tokens of the model that it guesses for; other engines let vocabularies
 * differ a little, and a guess is then now and then another text than its id. It must not know nodes or budgets.
 */
import type { MemoryModel } from './memory-model.js';
import { stageBytes } from './memory-model.js';
import { countText } from './quantities.js';
import type { GgmlCacheType, ModelShape } from './types.js';

/** Of a draft's keys and values, whatever the plan's are: every head size has it, and guesses need not be exact. */
export const DRAFT_CACHE_TYPE: GgmlCacheType = 'f16';

/** What is known of the model that a request names as its draft. */
export type DraftChoice =
  | { readonly kind: 'shape'; readonly shape: ModelShape }
  /** It cannot be had now; for people. */
  | { readonly kind: 'absent'; readonly reason: string };

/** Why `draft` can guess nothing for `model`, as a sentence without its end; null = it can. */
export function draftProblem(model: ModelShape, draft: ModelShape): string | null {
  if (draft.identity.digest === model.identity.digest) return `${draft.name} is the model itself: a draft is a smaller one`;
  if (model.canRollBack === false) return `the memory of ${model.name} (${model.architecture}) cannot take wrong guesses back, so that it is served without any`;
  if (draft.unsupportedReason !== null) return `${draft.name} cannot run here: ${draft.unsupportedReason}`;
  if (draft.canRollBack === false) return `the memory of ${draft.name} (${draft.architecture}) cannot take wrong guesses back: choose a draft of another architecture`;
  const sizes = `${countText(draft.vocabularySize, 'token')}, not ${countText(model.vocabularySize, 'token')}`;
  if (draft.vocabularySize !== model.vocabularySize) return `${draft.name} has another vocabulary than ${model.name} (${sizes}): a draft needs the very same one, as small models of the same family usually have`;
  if (draft.vocabularyDigest !== undefined && model.vocabularyDigest !== undefined && draft.vocabularyDigest !== model.vocabularyDigest) {
    return `${draft.name} has as many tokens as ${model.name}, but other ones: a draft needs the very same vocabulary, as small models of the same family usually have`;
  }
  return null;
}

/** Prediction for the whole draft, with the slots and context of its plan. */
export function draftBytes(draft: ModelShape, size: { readonly contextTokens: number; readonly slots: number }, memory: MemoryModel): number {
  const table = memory(draft, { contextTokens: size.contextTokens, slots: size.slots, keyType: DRAFT_CACHE_TYPE, valueType: DRAFT_CACHE_TYPE });
  return Math.ceil(stageBytes(table, { start: 0, end: draft.layers }).total);
}
