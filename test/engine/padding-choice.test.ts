import { describe, expect, it } from 'vitest';
import { PaddingChoice, paddedLanes } from '../../src/engine/padding-choice.js';

/** As measured on a core with Q4_0 weights: rows by fours, the rest one by one. */
const byFours = (rows: number): number => 30 * Math.floor(rows / 4) + 25 * (rows % 4);

function decide(choice: PaddingChoice, lanes: number, cost: (rows: number) => number): boolean {
  const pays = choice.pays(lanes, paddedLanes(lanes));
  const rows = pays ? paddedLanes(lanes) : lanes;
  choice.measured(rows, cost(rows));
  return pays;
}

describe('padding a batch', () => {
  it('is done for the sizes that it makes faster', () => {
    for (const [lanes, expected] of [[2, true], [3, true], [5, false], [6, true], [7, true]] as const) {
      const choice = new PaddingChoice();
      for (let call = 0; call < 10; call += 1) decide(choice, lanes, byFours);
      expect([lanes, decide(choice, lanes, byFours)]).toEqual([lanes, expected]);
    }
  });

  it('is not done where a row more costs a row more', () => {
    const choice = new PaddingChoice();
    for (let call = 0; call < 10; call += 1) decide(choice, 3, (rows) => 20 + 5 * rows);
    expect(decide(choice, 3, (rows) => 20 + 5 * rows)).toBe(false);
  });

  it('is weighed anew when a machine has become another', () => {
    const choice = new PaddingChoice();
    for (let call = 0; call < 10; call += 1) decide(choice, 3, byFours);
    let padded = 0;
    for (let call = 0; call < 1_200; call += 1) padded += decide(choice, 3, (rows) => 20 + 5 * rows) ? 1 : 0;
    expect(decide(choice, 3, (rows) => 20 + 5 * rows)).toBe(false);
    expect(padded).toBeLessThan(600);
  });

  it('is no use for one sequence or many', () => {
    expect([1, 2, 4, 5, 8, 13, 16, 17].map(paddedLanes)).toEqual([1, 4, 4, 8, 8, 16, 16, 17]);
  });
});
