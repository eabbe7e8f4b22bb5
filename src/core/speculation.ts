/**
 * Guesses the next tokens of one sequence, so that one step through the ring may give several: when, how many, and those
 * that its own text gives.
 *
 * Text repeats itself: where the last tokens occurred before, what followed then is the guess. Where it does not, a small
 * model may be asked (core/model-drafts.ts). The tail draws at every row as if the guess were true and stops at the first
 * that is not, so the answer is the same with and without. A longer step costs more, and so does a model's guess: whether
 * either pays is measured for each sequence, and what does not pay for it rests. Pure.
 */

/** Most tokens in a draft. */
export const MAX_DRAFT_TOKENS = 15;
/** With the token before them, drafts make steps of 2, 4, 8 and 16 rows: engines are best at those. */
const DRAFT_LENGTHS = [1, 3, 7, MAX_DRAFT_TOKENS] as const;
const FIRST_DRAFT_TOKENS = 3;
/** So many last tokens must have occurred before, in this order. */
const MATCHED_TOKENS = 3;
/** How far back they are looked for. */
const MAX_LOOK_BACK = 8_192;
/** Plain steps that are measured before the first draft. */
const PLAIN_STEPS_FIRST = 4;
/** Drafts that are measured before they are judged. */
const JUDGED_DRAFTS = 2;
/** Plain tokens of a rest; each one that follows is twice as long. */
const FIRST_REST = 16;
const LONGEST_REST = 256;
/** Weight of the newest step. */
const SMOOTHING = 0.3;

/** Where a guess comes from: the sequence's own text, or the draft of the plan. */
export type GuessSource = 'text' | 'model';

export class Speculation {
  private plainSteps = 0;
  private plainMs = 0;
  private readonly payoffs: Readonly<Record<GuessSource, Payoff>> = { text: new Payoff(), model: new Payoff() };

  /** Tokens that may follow `tokens`, at most `limit`; empty when its text has no guess or guessing so does not pay. */
  propose(tokens: readonly number[], limit: number): readonly number[] {
    const { text } = this.payoffs;
    if (this.plainSteps < PLAIN_STEPS_FIRST || text.rests) return [];
    return lookUp(tokens, Math.min(limit, text.length));
  }

  /** Guesses to ask a model for, at most `limit`; 0 = none now. */
  wantedOfModel(limit: number): number {
    if (this.plainSteps < PLAIN_STEPS_FIRST || this.payoffs.model.rests) return 0;
    return Math.max(0, Math.min(limit, this.payoffs.model.length));
  }

  /** A model that guesses for it does not rest: it may read on. */
  get mayAskModel(): boolean {
    return !this.payoffs.model.rests;
  }

  /** What a plain step takes, as far as is known. */
  get plainStepMs(): number {
    return this.plainMs;
  }

  /** A step without guesses, beside which nothing else computed on the head's node. */
  plainMeasured(elapsedMs: number): void {
    this.plainMs = this.plainSteps === 0 ? elapsedMs : smoothed(this.plainMs, elapsedMs);
    this.plainSteps += 1;
    this.plainPassed();
  }

  /** A step without guesses that is no measure. */
  plainPassed(): void {
    this.payoffs.text.plainPassed();
    this.payoffs.model.plainPassed();
  }

  /** A step with `drafted` guesses gave `drawn` tokens, one more than were right (or fewer, at an end). `elapsedMs`: with the guessing. */
  draftMeasured(drafted: number, drawn: number, elapsedMs: number, source: GuessSource = 'text'): void {
    if (drawn >= 1) this.payoffs[source].measured(drafted, drawn, elapsedMs, this.plainMs);
  }
}

/** Whether the guesses of one source pay for one sequence, and how many are made at once. */
class Payoff {
  length = FIRST_DRAFT_TOKENS;
  private drafts = 0;
  private msPerToken = 0;
  private rest = 0;
  private nextRest = FIRST_REST;

  get rests(): boolean {
    return this.rest > 0;
  }

  plainPassed(): void {
    this.rest = Math.max(0, this.rest - 1);
  }

  /** `drafted` 0: it was waited for a guess, and none came. */
  measured(drafted: number, drawn: number, elapsedMs: number, plainMs: number): void {
    const right = drawn - 1;
    this.length = drafted > 0 && right >= drafted ? longerThan(drafted) : lengthFor(right);
    const cost = elapsedMs / drawn;
    this.drafts += 1;
    this.msPerToken = this.drafts === 1 ? cost : smoothed(this.msPerToken, cost);
    if (this.drafts < JUDGED_DRAFTS) return;
    if (this.msPerToken < plainMs) {
      this.nextRest = FIRST_REST;
      return;
    }
    this.rest = this.nextRest;
    this.nextRest = Math.min(LONGEST_REST, this.nextRest * 2);
    this.drafts = 0;
    this.length = FIRST_DRAFT_TOKENS;
  }
}

function longerThan(length: number): number {
  return DRAFT_LENGTHS.find((candidate) => candidate > length) ?? MAX_DRAFT_TOKENS;
}

/** The shortest that would have held the guesses that were right and the one after them. */
function lengthFor(right: number): number {
  return DRAFT_LENGTHS.find((candidate) => candidate > right) ?? MAX_DRAFT_TOKENS;
}

function smoothed(average: number, sample: number): number {
  return average * (1 - SMOOTHING) + sample * SMOOTHING;
}

/** `count` tokens from `from` on; a text that goes in circles goes on in them. */
function continued(tokens: readonly number[], from: number, count: number): readonly number[] {
  const period = tokens.length - from;
  return Array.from({ length: count }, (_, index) => tokens[from + index % period] ?? 0);
}

/** What followed the latest earlier occurrence of the last tokens. */
function lookUp(tokens: readonly number[], count: number): readonly number[] {
  const length = tokens.length;
  if (count < 1 || length <= MATCHED_TOKENS) return [];
  const stop = Math.max(MATCHED_TOKENS, length - MAX_LOOK_BACK);
  for (let end = length - 1; end >= stop; end -= 1) {
    let matched = 0;
    while (matched < MATCHED_TOKENS && tokens[end - 1 - matched] === tokens[length - 1 - matched]) matched += 1;
    if (matched === MATCHED_TOKENS) return continued(tokens, end, count);
  }
  return [];
}
