/**
 * What the head's scheduler (core/batching.ts) is asked and answers: steps that enter the ring, what came of them, counters.
 */
import type { ErrorCode } from './errors.js';
import type { FinishReason } from './messages.js';
import type { GuessSource } from './speculation.js';
import type { SequenceOperation, SequenceSlice } from './step-types.js';
import type { NodeId } from './types.js';

/** A step that enters the ring. `tokens` has one id per token, in slice order. */
export interface HeadStep {
  readonly step: number;
  readonly operations: readonly SequenceOperation[];
  readonly slices: readonly SequenceSlice[];
  readonly tokens: Int32Array;
  /** The next step is likely to be the same sequences' next tokens, whatever they are: it may be begun with. */
  readonly goesOn: boolean;
}

export interface SequenceFinished {
  readonly requestId: string;
  readonly origin: NodeId;
  readonly reason: FinishReason;
  /** Tokens drawn in all, an end-of-generation token included. */
  readonly tokens: number;
}

/** A token of a sequence whose tokens the head hands on. */
export interface TokenDrawn {
  readonly requestId: string;
  readonly origin: NodeId;
  /** Index in the answer, 0-based. */
  readonly index: number;
  readonly token: number;
  readonly endOfGeneration: boolean;
  /** Tokens of the prompt that were not computed. */
  readonly reusedTokens: number;
}

export interface StepResults {
  readonly finished: readonly SequenceFinished[];
  readonly drawn: readonly TokenDrawn[];
}

export type AdmitResult = { readonly kind: 'admitted' } | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string };

export interface BatchingCounters {
  readonly running: number;
  readonly queued: number;
  readonly inFlight: number;
  readonly steps: number;
  readonly decodedTokens: number;
  readonly prefilledTokens: number;
  /** Prompt tokens that were not computed, because a slot held them already. */
  readonly reusedTokens: number;
  /** Guesses that were sent, and those that were right. */
  readonly guesses: Readonly<Record<GuessSource, GuessCounters>>;
}

export interface GuessCounters {
  readonly drafted: number;
  readonly accepted: number;
}
