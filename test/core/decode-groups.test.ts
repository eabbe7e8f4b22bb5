import { describe, expect, it } from 'vitest';
import { DecodeGroups } from '../../src/core/decode-groups.js';

const slots = (count: number, from = 0): number[] => Array.from({ length: count }, (_, index) => from + index);

/** Runs decode cycles until the split has settled; each stage costs what `cost` says of a group's size. */
function settle(groups: DecodeGroups, decoding: readonly number[], cost: (sequences: number) => readonly number[], hopsMicros = 0): readonly (readonly number[])[] {
  for (let cycle = 0; cycle < 40; cycle += 1) {
    const split = groups.split(decoding);
    for (const group of split) {
      const stageMicros = cost(group.length);
      groups.measured(group.length, stageMicros, split.length === 1 ? stageMicros.reduce((sum, micros) => sum + micros, hopsMicros) : null);
    }
  }
  return groups.split(decoding);
}

describe('groups of decoding sequences', () => {
  it('are as many as stages where weights are read once and arithmetic counts', () => {
    const groups = settle(new DecodeGroups(2), slots(16), (sequences) => [2_000 + 450 * sequences, 2_000 + 450 * sequences]);
    expect(groups.map((group) => group.length)).toEqual([8, 8]);
    expect(groups.flat()).toEqual(slots(16));
  });

  it('are fewer where a smaller step costs as much: four rows at once, the rest one by one', () => {
    const byFours = (rows: number): number => 60 * Math.floor(rows / 4) + 50 * (rows % 4);
    expect(settle(new DecodeGroups(2), slots(4), (rows) => [byFours(rows), byFours(rows)])).toHaveLength(1);
    expect(settle(new DecodeGroups(2), slots(8), (rows) => [byFours(rows), byFours(rows)])).toHaveLength(2);
  });

  it('hide slow hops: while one is on its way the other computes', () => {
    const flat = (): readonly number[] => [1_000, 1_000];
    expect(settle(new DecodeGroups(2), slots(6), flat, 10_000)).toHaveLength(1);
    expect(settle(new DecodeGroups(2), slots(6), (rows) => [700 + 50 * rows, 700 + 50 * rows], 1_000)).toHaveLength(2);
  });

  it('are neighbours, and stay together while they are about even', () => {
    const groups = new DecodeGroups(2);
    const even = (sequences: number): readonly number[] => [100 * sequences, 100 * sequences];
    for (const decoding of [slots(5), slots(7), slots(8)]) settle(groups, decoding, even);
    expect(groups.split(slots(8))).toEqual([[0, 1, 2, 3], [4, 5, 6, 7]]);
    expect(groups.split([0, 2, 3, 4, 5, 6, 7])).toEqual([[0, 2, 3], [4, 5, 6, 7]]);
    expect(groups.split([0, 4, 5, 6, 7])).toEqual([[0, 4, 5], [6, 7]]);
  });

  it('cover every sequence exactly once, whatever comes and goes', () => {
    let state = 7;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    const groups = new DecodeGroups(3);
    for (let round = 0; round < 2_000; round += 1) {
      const decoding = slots(16).filter(() => random(3) > 0);
      if (decoding.length === 0) continue;
      const split = groups.split(decoding);
      expect(split.flat()).toEqual(decoding);
      expect(split.length).toBeLessThanOrEqual(3);
      for (const group of split) groups.measured(group.length, [random(1_000), random(1_000), random(1_000)], null);
    }
  });
});
