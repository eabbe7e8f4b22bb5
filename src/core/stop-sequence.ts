/**
 * Finds the end of an answer in text that arrives bit by bit, and never shows a part of a stop sequence.
 *
 * One Knuth-Morris-Pratt automaton per stop string: its state is the length of the longest end of the text so far
 * that is a beginning of the stop string, so the longest state of all is exactly the text that must be held back. Every
 * character costs amortised constant time per stop string, and the result does not depend on how the text was cut.
 * The stop string that is complete first wins (of two that complete together, the longer one), and the answer ends
 * before it. It must not know tokens; lengths are UTF-16 code units throughout.
 */

/** More stop strings than this are refused by the API. */
export const STOP_STRINGS_MAX = 16;
/** Length of one stop string in UTF-16 code units; bounds what is held back. */
export const STOP_STRING_LENGTH_MAX = 1024;

export interface StopResult {
  /** Text that may be shown now. */
  readonly text: string;
  /** True: a stop string is complete, `text` ends before it, and nothing may follow. */
  readonly stopped: boolean;
}

interface Matcher {
  readonly stop: string;
  /** `failure[i]`: length of the longest proper prefix of `stop` that ends `stop.slice(0, i)`. Length `stop.length + 1`. */
  readonly failure: Uint16Array;
  /** Code units of `stop` that the text so far ends with. */
  matched: number;
}

export class StopSequence {
  private readonly matchers: readonly Matcher[];
  private held = '';
  private stopped = false;

  /** Empty strings stop nothing and are dropped. */
  constructor(stops: readonly string[]) {
    this.matchers = stops
      .filter((stop) => stop.length > 0)
      .map((stop) => ({ stop, failure: failureTable(stop), matched: 0 }));
  }

  push(text: string): StopResult {
    if (this.stopped) return { text: '', stopped: true };
    if (this.matchers.length === 0) return { text, stopped: false };
    const whole = this.held + text;
    for (let index = this.held.length; index < whole.length; index += 1) {
      const stopLength = this.advance(whole.charCodeAt(index));
      if (stopLength > 0) {
        this.stopped = true;
        this.held = '';
        return { text: whole.slice(0, index + 1 - stopLength), stopped: true };
      }
    }
    const heldLength = this.matchers.reduce((longest, matcher) => Math.max(longest, matcher.matched), 0);
    this.held = whole.slice(whole.length - heldLength);
    return { text: whole.slice(0, whole.length - heldLength), stopped: false };
  }

  /** Text that was held back and turned out to be no stop string, as no more text comes. */
  end(): string {
    const text = this.held;
    this.held = '';
    for (const matcher of this.matchers) matcher.matched = 0;
    return text;
  }

  /** Moves every matcher over one code unit; the length of the longest stop string that is complete now, or 0. */
  private advance(codeUnit: number): number {
    let complete = 0;
    for (const matcher of this.matchers) {
      let matched = matcher.matched;
      while (matched > 0 && matcher.stop.charCodeAt(matched) !== codeUnit) matched = matcher.failure[matched] ?? 0;
      if (matcher.stop.charCodeAt(matched) === codeUnit) matched += 1;
      matcher.matched = matched;
      if (matched === matcher.stop.length) complete = Math.max(complete, matched);
    }
    return complete;
  }
}

function failureTable(stop: string): Uint16Array {
  const failure = new Uint16Array(stop.length + 1);
  let matched = 0;
  for (let index = 1; index < stop.length; index += 1) {
    while (matched > 0 && stop.charCodeAt(matched) !== stop.charCodeAt(index)) matched = failure[matched] ?? 0;
    if (stop.charCodeAt(matched) === stop.charCodeAt(index)) matched += 1;
    failure[index + 1] = matched;
  }
  return failure;
}
