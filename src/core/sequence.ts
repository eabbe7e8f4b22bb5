/**
 * A request as the head sees it: its tokens so far, and how far they are on their way around the ring.
 */
import type { Speculation } from './speculation.js';
import type { SamplingSettings } from './step-types.js';
import type { NodeId } from './types.js';

export interface SequenceRequest {
  readonly requestId: string;
  readonly origin: NodeId;
  /** Which of the origin's clients asks; clients take turns. Absent = the origin itself. */
  readonly client?: string;
  readonly promptTokens: readonly number[];
  readonly emittedTokens: readonly number[];
  readonly sampling: SamplingSettings;
  readonly maxTokens: number;
  /** The head hands the tokens on itself, as its node is the origin. Absent = the tail sends them. */
  readonly headDelivers?: true;
}

export interface Sequence {
  readonly request: SequenceRequest;
  readonly client: string;
  /** Part of its answer is with its client already. */
  readonly resuming: boolean;
  /** Prompt and everything drawn so far. */
  readonly tokens: number[];
  /** -1 while it waits for one. */
  slot: number;
  /** Tokens that have been sent into the ring. */
  sent: number;
  /** Of the prompt, that its slot held already. */
  reused: number;
  /** Its prompt takes many chunks, so that the answers beside it are grouped for them, to its end. */
  isLong: boolean;
  /** A step whose sample has not come back yet. */
  waiting: boolean;
  /** Its first token has come back, so that it takes part in decode steps. */
  decoding: boolean;
  /** Its last decode step said that it goes on: its next is computed already, as one without guesses. */
  goesOn: boolean;
  /** The last step that it was part of: whoever waited longest goes first. */
  lastStep: number;
  readonly speculation: Speculation;
  /** Tokens that the plan's draft has read, as far as is known here. */
  readByDraft: number;
}
