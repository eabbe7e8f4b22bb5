/**
 * One wish of the head's scheduler as steps of the draft's runner: read what it has not read, then draw one guess after the other.
 *
 * Whoever has the runner sends each step and tells what it drew; it may stop at any time. Pure; it must not know runners or time.
 */
import type { DraftSlots } from './draft-slots.js';
import type { DraftWish } from './model-drafts.js';
import type { SampledToken, SequenceOperation, SequenceSlice } from './step-types.js';

/** `tokens` has one id per token of its only slice. */
export interface DraftStep {
  readonly operations: readonly SequenceOperation[];
  readonly slices: readonly SequenceSlice[];
  readonly tokens: Int32Array;
}

export class DraftRun {
  private readonly drawn: number[] = [];
  private slot = 0;
  private position = 0;
  private begun = false;

  constructor(private readonly slots: DraftSlots, private readonly wish: DraftWish, private readonly batchTokens: number) {}

  /** So far. */
  get guesses(): readonly number[] {
    return this.drawn;
  }

  /** Tokens of the wish that are read, the step under way included. */
  get read(): number {
    return Math.min(this.position, this.wish.tokens.length);
  }

  /** The next step; null = that was all. `drawn`: by the one before. */
  next(drawn: SampledToken | null): DraftStep | null {
    const { wish, batchTokens } = this;
    if (!this.begun) {
      this.begun = true;
      const { slot, held, operations } = this.slots.begin(wish.sequenceId, wish.tokens, wish.ignoreEos);
      this.slot = slot;
      this.position = held;
      const part = wish.tokens.slice(held, held + batchTokens);
      return this.step(part, operations, wish.limit > 0 && held + part.length === wish.tokens.length);
    }
    // An end is the tail's to draw.
    if (drawn === null || drawn.endOfGeneration) return null;
    this.drawn.push(drawn.token);
    return this.drawn.length < wish.limit ? this.step([drawn.token], [], true) : null;
  }

  private step(tokens: readonly number[], operations: readonly SequenceOperation[], sample: boolean): DraftStep {
    const slice = { slot: this.slot, position: this.position, tokens: tokens.length, sample };
    this.slots.read(this.slot, tokens);
    this.position += tokens.length;
    return { operations, slices: [slice], tokens: Int32Array.from(tokens) };
  }
}
