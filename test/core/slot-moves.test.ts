import { describe, expect, it } from 'vitest';
import { SlotMoves } from '../../src/core/slot-moves.js';
import type { SlotMove, SlotUse } from '../../src/core/slot-moves.js';

const uses = (text: string): SlotUse[] => [...text].map((letter) => (letter === 'x' ? 'running' : letter === 'r' ? 'retained' : 'empty'));

function patient(slots: readonly number[], before: string): readonly SlotMove[] {
  const moves = new SlotMoves();
  for (let step = 0; step < 8; step += 1) expect(moves.beforeDecode(slots, uses(before))).toEqual([]);
  return moves.beforeDecode(slots, uses(before));
}

describe('moving sequences together', () => {
  it('puts the last into the first hole, after a while', () => {
    expect(patient([0, 7, 12], 'x......x....x...')).toEqual([{ slot: 12, to: 1 }, { slot: 7, to: 2 }]);
  });

  it('is as patient with each of the groups that take turns', () => {
    const moves = new SlotMoves();
    const before = uses('xxxxrxx.x');
    const made: (readonly SlotMove[])[] = [];
    for (let step = 0; step < 9; step += 1) made.push(moves.beforeDecode([0, 1, 2, 3], before), moves.beforeDecode([5, 6, 8], before));
    expect(made.slice(0, -1).flat()).toEqual([]);
    expect(made.at(-1)).toEqual([{ slot: 4, to: 7 }, { slot: 8, to: 4 }]);
  });

  it('makes way with what is retained, if a slot is empty', () => {
    expect(patient([0, 2], 'xrx.')).toEqual([{ slot: 1, to: 3 }, { slot: 2, to: 1 }]);
    expect(patient([0, 2], 'xrxr')).toEqual([]);
  });

  it('leaves what has no holes, and holes that others run in', () => {
    const moves = new SlotMoves();
    for (let step = 0; step < 40; step += 1) {
      expect(moves.beforeDecode([0, 1], uses('xx..'))).toEqual([]);
      expect(moves.beforeDecode([0, 2], uses('xxx.'))).toEqual([]);
    }
  });
});
