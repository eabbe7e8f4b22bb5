/**
 * What travels around a ring, as types: slots opened and closed, tokens of a step, how the tail draws and what it drew.
 *
 * Plain readonly data, as in types.ts. It must not know plans, frames or the engine.
 */
import type { ActivationType, NodeId } from './types.js';

/** Hidden states in fewer bytes: `[tokens, hiddenSize]` as ggml stores the type, in slice order. */
export interface PackedStates {
  readonly type: Exclude<ActivationType, 'f32'>;
  readonly bytes: Uint8Array;
}

/** How to sample. Absent fields never reach the engine: the API fills defaults (api/openai-schema.ts). */
export interface SamplingSettings {
  /** 0 = greedy. */
  readonly temperature: number;
  /** 0 = off. */
  readonly topK: number;
  /** 1 = off. */
  readonly topP: number;
  /** 0 = off. */
  readonly minP: number;
  /** Counter-based: the draw at a position depends on (seed, position) only. u32. */
  readonly seed: number;
  /** 1 = off. Over prompt and answer. */
  readonly repeatPenalty: number;
  /** 0 = off. Over the answer. */
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Never sample an end-of-generation token. */
  readonly ignoreEos: boolean;
  /** Added to logits: [token, bias]. */
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  /** What the answer must look like. Absent = anything. */
  readonly grammar?: Grammar;
  /** Tell each token's probability, and of so many of the likeliest (0 to `MAX_ALTERNATIVES`). Absent = tell none. */
  readonly probabilities?: number;
  /** Nothing is drawn: the answer is the prompt's hidden states in one, and a token that means nothing. Absent = draw. */
  readonly pooling?: Pooling;
  /** Most guessed tokens in a step (core/speculation.ts); 0 = none. Absent = as many as pay. The answer is the same. */
  readonly draftTokens?: number;
}

/** How the hidden states of a prompt's tokens, as the final norm leaves them, become one vector. */
export type Pooling = 'mean' | 'first' | 'last';

/** Most alternatives that a token's probability comes with. */
export const MAX_ALTERNATIVES = 20;
/** Longest grammar, in characters; it travels to the tail once for each sequence. */
export const MAX_GRAMMAR_CHARACTERS = 256 * 1024;
/** Most texts after which a grammar may begin, and the longest of them. */
export const MAX_GRAMMAR_STARTS = 8;
export const MAX_GRAMMAR_START_CHARACTERS = 64;

/** A constraint on an answer's text; its state is a function of the tokens so far. */
export interface Grammar {
  /** In llama.cpp's GBNF; the answer is its rule `root`. */
  readonly text: string;
  /** The answer is free until one of these occurs in it, and `root` from there on. Absent = `root` from its first token on. */
  readonly after?: readonly string[];
}

/** How likely a token was, by the model alone: before temperature, penalties, grammar and the like. */
export interface TokenProbability {
  /** Natural logarithm. */
  readonly logprob: number;
  /** The likeliest tokens, most likely first. */
  readonly alternatives: readonly { readonly token: number; readonly logprob: number }[];
}

/** One sequence's part of an engine step; rows of the payload follow slice order. */
export interface SequenceSlice {
  readonly slot: number;
  /** Position of the first token. */
  readonly position: number;
  readonly tokens: number;
  /** The tail samples after the slice's last token. False for all but the last chunk of a prefill. */
  readonly sample: boolean;
  /**
   * The slice's last tokens again, when they are guesses: the tail draws before each of them and after the last, and stops at
   * the first that is none of its own. The slot's next slice begins where the right ones end. Absent = none.
   */
  readonly draft?: readonly number[];
}

/** Sequence bookkeeping that travels in ring order with the frames, so that every stage agrees on slots. */
export type SequenceOperation =
  | {
      readonly kind: 'open';
      readonly slot: number;
      readonly sequenceId: string;
      readonly sampling: SamplingSettings;
      /** Where the tail sends tokens. */
      readonly origin: NodeId;
      /** Length of the prompt, so that the tail can number the answer's tokens. */
      readonly promptLength: number;
      /** Tokens that penalties see from the start: the prompt (empty when no penalty needs it) and, at a replay, the answer so far. */
      readonly promptTokens: readonly number[];
      readonly emittedTokens: readonly number[];
      /** The origin's tokens go to the head, whose node it is. Absent = the tail sends them. */
      readonly headDelivers?: true;
      /** The first `tokens` tokens of what `slot` holds are the sequence's own: its KV is taken over (same slot) or copied. */
      readonly reuse?: { readonly slot: number; readonly tokens: number };
    }
  /** `retain`: the slot's KV stays until the slot is opened or closed again. */
  | { readonly kind: 'close'; readonly slot: number; readonly retain?: true }
  /** What `slot` holds, running or retained, goes to `to`, which is empty. */
  | { readonly kind: 'move'; readonly slot: number; readonly to: number };

/** A token that the tail drew. `position` is the token's own position in the sequence. */
export interface SampledToken {
  readonly slot: number;
  readonly sequenceId: string;
  readonly position: number;
  readonly token: number;
  readonly endOfGeneration: boolean;
  /** Where the settings ask for it. */
  readonly probability?: TokenProbability;
  /** Where the settings have a `pooling`; `[hiddenSize]` f32. */
  readonly embedding?: Float32Array;
}
