/**
 * Guesses the next tokens of one sequence from what it said before, so that one step through the ring may give several.
 *
 * Text repeats itself: where the last tokens occurred before, what followed then is the draft. The tail draws at every
 * row as if the guess were true and stops at the first that is not, so the answer is the same with and without. A longer
 * step costs more; whether it pays is measured for each sequence, and a sequence that it does not pay for rests. Pure.
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

export class Speculation {
  private plainSteps = 0;
  private plainMs = 0;
  private drafts = 0;
  private draftMsPerToken = 0;
  private length = FIRST_DRAFT_TOKENS;
  private rest = 0;
  private nextRest = FIRST_REST;

  /** Tokens that may follow `tokens`, at most `limit`; empty when there is no guess or guessing does not pay. */
  propose(tokens: readonly number[], limit: number): readonly number[] {
    if (this.plainSteps < PLAIN_STEPS_FIRST || this.rest > 0) return [];
    return lookUp(tokens, Math.min(limit, this.length));
  }

  plainMeasured(elapsedMs: number): void {
    this.plainSteps += 1;
    this.rest = Math.max(0, this.rest - 1);
    this.plainMs = this.plainSteps === 1 ? elapsedMs : smoothed(this.plainMs, elapsedMs);
  }

  /** A step with `drafted` guesses gave `drawn` tokens, one more than were right (or fewer, at an end). */
  draftMeasured(drafted: number, drawn: number, elapsedMs: number): void {
    if (drawn < 1) return;
    const right = drawn - 1;
    this.length = right >= drafted ? longerThan(drafted) : lengthFor(right);
    const cost = elapsedMs / drawn;
    this.drafts += 1;
    this.draftMsPerToken = this.drafts === 1 ? cost : smoothed(this.draftMsPerToken, cost);
    if (this.drafts < JUDGED_DRAFTS) return;
    if (this.draftMsPerToken < this.plainMs) {
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
