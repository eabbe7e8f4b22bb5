import { describe, expect, it } from 'vitest';
import { STOP_STRING_LENGTH_MAX, StopSequence } from '../../src/core/stop-sequence.js';

interface Outcome {
  readonly shown: string;
  readonly stopped: boolean;
}

function run(stops: readonly string[], pieces: readonly string[]): Outcome {
  const sequence = new StopSequence(stops);
  let shown = '';
  for (const piece of pieces) {
    const { text, stopped } = sequence.push(piece);
    shown += text;
    if (stopped) return { shown, stopped: true };
  }
  return { shown: shown + sequence.end(), stopped: false };
}

/** The answer's definition, without cleverness: the stop string whose end comes first, the longer one of two. */
function define(stops: readonly string[], text: string): Outcome {
  let best: { readonly start: number; readonly end: number } | null = null;
  for (const stop of stops) {
    const start = text.indexOf(stop);
    if (start < 0) continue;
    const end = start + stop.length;
    if (best === null || end < best.end || (end === best.end && start < best.start)) best = { start, end };
  }
  return best === null ? { shown: text, stopped: false } : { shown: text.slice(0, best.start), stopped: true };
}

/** A small deterministic generator of numbers in [0, limit). */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

describe('stop sequence', () => {
  it('passes text through when there is nothing to stop at', () => {
    expect(run([], ['a', 'b'])).toEqual({ shown: 'ab', stopped: false });
    expect(run([''], ['a', 'b'])).toEqual({ shown: 'ab', stopped: false });
  });

  it('ends the answer before a stop string that comes in pieces', () => {
    expect(run(['\n\nUser:'], ['Hi', '\n', '\nUs', 'er: more'])).toEqual({ shown: 'Hi', stopped: true });
  });

  it('holds back only what may become a stop string, and gives it back', () => {
    const sequence = new StopSequence(['abcd', 'xyz']);
    expect(sequence.push('__ab')).toEqual({ text: '__', stopped: false });
    expect(sequence.push('c')).toEqual({ text: '', stopped: false });
    expect(sequence.push('x')).toEqual({ text: 'abc', stopped: false });
    expect(sequence.end()).toBe('x');
    expect(sequence.end()).toBe('');
  });

  it('says nothing more after the stop', () => {
    const sequence = new StopSequence(['.']);
    expect(sequence.push('a.b')).toEqual({ text: 'a', stopped: true });
    expect(sequence.push('c.')).toEqual({ text: '', stopped: true });
    expect(sequence.end()).toBe('');
  });

  it('takes the stop string that is complete first, and the longer of two', () => {
    expect(run(['abcd', 'bc'], ['xabcd'])).toEqual({ shown: 'xa', stopped: true });
    expect(run(['bc', 'abc'], ['xabc'])).toEqual({ shown: 'x', stopped: true });
  });

  it('finds a stop string that overlaps a failed beginning of itself', () => {
    expect(run(['aab'], ['a', 'a', 'a', 'b'])).toEqual({ shown: 'a', stopped: true });
  });

  it('agrees with the definition on random texts, however they are cut', () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      const next = numbers(seed);
      const word = (length: number): string => Array.from({ length }, () => 'ab😀'[next(4)] ?? 'a').join('');
      const stops = Array.from({ length: 1 + next(3) }, () => word(1 + next(5)));
      const text = word(next(30));
      const pieces: string[] = [];
      for (let at = 0; at < text.length; ) {
        const length = 1 + next(4);
        pieces.push(text.slice(at, at + length));
        at += length;
      }
      expect(run(stops, pieces), `seed ${seed}`).toEqual(define(stops, text));
    }
  });

  it('stays linear on the text that hurts a naive search most', () => {
    const stop = `${'a'.repeat(STOP_STRING_LENGTH_MAX - 1)}b`;
    const sequence = new StopSequence([stop]);
    let shown = 0;
    for (let index = 0; index < 20_000; index += 1) shown += sequence.push('a').text.length;
    expect(shown).toBe(20_000 - (STOP_STRING_LENGTH_MAX - 1));
    expect(sequence.push('b').stopped).toBe(true);
  });
});
