import { describe, expect, it } from 'vitest';
import { DecodeGroups, GAP_BESIDE_PROMPT } from '../../src/core/decode-groups.js';

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

  it('go back to what they were when others were tried and are about as good, or were measured in a slow moment', () => {
    const groups = new DecodeGroups(2);
    const cost = (rows: number, slow: number): readonly number[] => [slow * (2_000 + 450 * rows), slow * (2_000 + 450 * rows)];
    const counts: number[] = [];
    for (let cycle = 0; cycle < 4_000; cycle += 1) {
      const split = groups.split(slots(16));
      counts.push(split.length);
      // All of it is slower for a while, before the other cut is tried again.
      for (const group of split) groups.measured(group.length, cost(group.length, cycle % 600 < 300 ? 1.65 : 1), null);
    }
    expect(counts.filter((count) => count === 2).length / counts.length).toBeGreaterThan(0.95);
  });

  it('are not judged by steps over holes, which cost as much as the holes do', () => {
    const groups = new DecodeGroups(2);
    const byFours = (rows: number): number => 37_000 * Math.ceil(rows / 4);
    const withHole = [0, 1, 2, 4, 5, 6, 7, 9];
    for (let cycle = 0; cycle < 20; cycle += 1) {
      for (const group of groups.split(withHole)) groups.measured(group.length, [2 * byFours(group.length), 2 * byFours(group.length)], null, false);
    }
    // For chunks beside them they are better than nothing.
    expect(groups.chunkBudget(8)).not.toBeNull();
    expect(groups.split(withHole)).toHaveLength(2);
    // What was known before holes came is known while they are there.
    expect(settle(groups, slots(8), (rows) => [byFours(rows), byFours(rows)], 4_000)).toHaveLength(2);
    const budget = groups.chunkBudget(8);
    for (let step = 0; step < 8; step += 1) groups.measured(4, [90_000, 90_000], null, false);
    expect(groups.chunkBudget(8)).toEqual(budget);
  });

  it('are neighbours, and stay together while they are about even', () => {
    const groups = new DecodeGroups(2);
    const even = (sequences: number): readonly number[] => [100 * sequences, 100 * sequences];
    for (const decoding of [slots(5), slots(7), slots(8)]) settle(groups, decoding, even);
    expect(groups.split(slots(8))).toEqual([[0, 1, 2, 3], [4, 5, 6, 7]]);
    expect(groups.split([0, 2, 3, 4, 5, 6, 7])).toEqual([[0, 2, 3], [4, 5, 6, 7]]);
    expect(groups.split([0, 4, 5, 6, 7])).toEqual([[0, 4, 5], [6, 7]]);
  });

  it('are cut anew where one row more is another pass for the kernels', () => {
    const groups = new DecodeGroups(2);
    const even = (sequences: number): readonly number[] => [100 * sequences, 100 * sequences];
    for (const decoding of [slots(14), slots(15), slots(16)]) settle(groups, decoding, even);
    expect(groups.split(slots(14)).map((group) => group.length)).toEqual([7, 7]);
    expect(groups.split(slots(15)).map((group) => group.length)).toEqual([7, 8]);
    expect(groups.split(slots(16)).map((group) => group.length)).toEqual([8, 8]);
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

describe('groups beside a long prompt', () => {
  const even = (rows: number): readonly number[] => [20_000 + 4_500 * rows, 20_000 + 4_500 * rows];

  it('are half as many as stages, and as before when it is over', () => {
    const groups = new DecodeGroups(2);
    expect(settle(groups, slots(8), even)).toHaveLength(2);
    expect(groups.split(slots(8), true)).toEqual([slots(8)]);
    expect(settle(groups, slots(8), even)).toHaveLength(2);
    const four = new DecodeGroups(4);
    settle(four, slots(8), (rows) => [...even(rows), ...even(rows)]);
    expect(four.split(slots(8), true)).toHaveLength(2);
    expect(new DecodeGroups(1).split(slots(8), true)).toHaveLength(1);
  });

  it('leave a chunk what a token may take more than it does, one or two stages long', () => {
    expect(new DecodeGroups(2).chunkBudget(4)).toBeNull();
    for (const stages of [1, 2]) {
      const groups = new DecodeGroups(stages);
      const cost = (rows: number): readonly number[] => even(rows).slice(0, stages);
      const normalMicros = Math.min(...Array.from({ length: stages }, (_, index) => Math.max(stages, index + 1) * (cost(4 / (index + 1))[0] ?? 0)));
      settle(groups, slots(4), cost);
      groups.split(slots(4), true);
      const chunk = groups.chunkBudget(4)?.micros ?? 0;
      const step = cost(4)[0] ?? 0;
      // The first step after a chunk came between waits for it at every stage; it left when the one before was back.
      const longest = stages * chunk + 2 * step - normalMicros;
      expect(longest / normalMicros).toBeCloseTo(GAP_BESIDE_PROMPT, 5);
      expect((step + chunk) / normalMicros).toBeLessThanOrEqual(GAP_BESIDE_PROMPT + 1e-9);
    }
  });

  it('count what a token takes in the best cut, whatever the one beside the prompt takes', () => {
    const groups = new DecodeGroups(2);
    const linear = (rows: number): readonly number[] => [10_000 * rows, 10_000 * rows];
    settle(groups, slots(8), linear);
    groups.split(slots(8), true);
    // Two groups of four take 80 ms, one of eight 160.
    for (let step = 0; step < 8; step += 1) groups.measured(8, linear(8), 160_000);
    expect(groups.chunkBudget(8)?.micros).toBeLessThanOrEqual(GAP_BESIDE_PROMPT * 80_000 - 80_000);
  });

  it('know what the best cut would take once the answers are longer', () => {
    const groups = new DecodeGroups(2);
    const cost = (rows: number, attention: number): readonly number[] => [15_000 + rows * (5_000 + attention), 15_000 + rows * (5_000 + attention)];
    expect(settle(groups, slots(8), (rows) => cost(rows, 0))).toHaveLength(2);
    groups.split(slots(8), true);
    for (let step = 0; step < 40; step += 1) groups.measured(8, cost(8, 5_000), null);
    const normalMicros = 2 * (cost(4, 5_000)[0] ?? 0);
    const chunk = groups.chunkBudget(8)?.micros ?? 0;
    expect((2 * chunk + 2 * (cost(8, 5_000)[0] ?? 0) - normalMicros) / normalMicros).toBeCloseTo(GAP_BESIDE_PROMPT, 2);
  });
});
