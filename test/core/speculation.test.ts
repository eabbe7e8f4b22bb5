import { describe, expect, it } from 'vitest';
import { MAX_DRAFT_TOKENS, Speculation } from '../../src/core/speculation.js';

const REPEATED = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3];

function measured(plainMs = 10): Speculation {
  const speculation = new Speculation();
  for (let step = 0; step < 4; step += 1) speculation.plainMeasured(plainMs);
  return speculation;
}

describe('guessing', () => {
  it('proposes what followed the last tokens before, within its limit', () => {
    expect(measured().propose(REPEATED, 8)).toEqual([4, 5, 6]);
    expect(measured().propose(REPEATED, 2)).toEqual([4, 5]);
    expect(measured().propose(REPEATED, 0)).toEqual([]);
    expect(measured().propose([1, 2, 3, 4, 5, 6], 8)).toEqual([]);
    expect(measured().propose([1, 2], 8)).toEqual([]);
  });

  it('follows the latest of several occurrences, and a text that goes in circles', () => {
    expect(measured().propose([1, 2, 3, 50, 1, 2, 3, 60, 61, 62, 1, 2, 3], 2)).toEqual([60, 61]);
    expect(measured().propose([7, 7, 7, 7, 7, 7, 7], 3)).toEqual([7, 7, 7]);
    expect(measured().propose([1, 2, 3, 1, 2, 3, 1, 2], 3)).toEqual([3, 1, 2]);
  });

  it('waits until it knows what a plain step costs', () => {
    const speculation = new Speculation();
    expect(speculation.propose(REPEATED, 8)).toEqual([]);
  });

  it('grows while guesses are right, and shrinks with the first wrong one', () => {
    const speculation = measured();
    speculation.draftMeasured(3, 4, 12);
    expect(speculation.propose(REPEATED, MAX_DRAFT_TOKENS)).toHaveLength(7);
    speculation.draftMeasured(7, 2, 12);
    expect(speculation.propose(REPEATED, MAX_DRAFT_TOKENS)).toHaveLength(3);
  });

  it('rests where it does not pay, each time longer, and tries again', () => {
    const speculation = measured();
    const rests: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      speculation.draftMeasured(3, 1, 20);
      speculation.draftMeasured(3, 1, 20);
      let plain = 0;
      for (; speculation.propose(REPEATED, 8).length === 0; plain += 1) speculation.plainMeasured(10);
      rests.push(plain);
    }
    expect(rests).toEqual([16, 32, 64]);
  });
});
