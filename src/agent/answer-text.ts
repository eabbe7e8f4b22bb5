/**
 * The small steps between an answer's tokens and its text: which control tokens are text, what a token's probability looks
 * like, and how a prompt that is too long is cut. It must not know plans, the ring or requests' ways.
 */
import { REASONING_MARK_TEXTS } from '../core/reasoning.js';
import { TOOL_MARK_TEXTS } from '../core/tools/tool-use.js';
import type { TokenProbability } from '../core/step-types.js';
import type { VocabularyTable } from '../ports.js';
import type { CompletionTask, TextProbability } from './service.js';

/** The first tokens and the last: models may mark the end of a text by it. */
export function shortened(tokens: readonly number[], most: number): readonly number[] {
  return tokens.length <= most || most < 1 ? tokens : [...tokens.slice(0, most - 1), ...tokens.slice(-1)];
}

/** Control tokens that are text in this answer: marks of thoughts and of tool calls, and what its grammar names. */
export function markPieces({ controlTexts }: VocabularyTable, { prompt, sampling }: CompletionTask): ReadonlyMap<number, Uint8Array> {
  const marks = new Map<number, Uint8Array>();
  const hasTools = prompt.kind === 'chat' && (prompt.tools ?? []).length > 0;
  for (const [token, text] of controlTexts) {
    const isMark = (prompt.kind === 'chat' && REASONING_MARK_TEXTS.has(text)) || (hasTools && TOOL_MARK_TEXTS.has(text));
    if (isMark || sampling.grammar?.text.includes(text) === true) marks.set(token, Buffer.from(text));
  }
  return marks;
}

/** A token's probability as bytes: what is no text has its name. */
export function textProbability(token: number, { logprob, alternatives }: TokenProbability, { controlTexts }: VocabularyTable, pieceOf: (token: number) => Uint8Array): TextProbability {
  const shown = (one: number): Uint8Array => {
    const piece = pieceOf(one);
    return piece.byteLength > 0 ? piece : Buffer.from(controlTexts.get(one) ?? '');
  };
  return { bytes: pieceOf(token), logprob, alternatives: alternatives.map((one) => ({ bytes: shown(one.token), logprob: one.logprob })) };
}
