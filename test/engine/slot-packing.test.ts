import { describe, expect, it } from 'vitest';
import type { SequenceSlice } from '../../src/core/step-types.js';
import { packCalls } from '../../src/engine/slot-packing.js';

function slices(...entries: readonly (readonly [slot: number, tokens: number])[]): SequenceSlice[] {
  return entries.map(([slot, tokens]) => ({ slot, tokens, position: 0, sample: true }));
}

/** Each call as `first slot x tokens: slice indices`, `.` for padding. */
function shown(step: readonly SequenceSlice[], maxTokens = 512, openSlots: readonly number[] = [], paysToPad: (lanes: number, padded: number) => boolean = () => false): string[] {
  const taken = new Set([...step.map((slice) => slice.slot), ...openSlots]);
  return packCalls(step, { maxTokens, isFree: (slot) => slot >= 0 && slot < 24 && !taken.has(slot), paysToPad })
    .map((call) => `${call.firstSlot}x${call.tokensPerLane}: ${call.lanes.map((lane) => (lane.slice < 0 ? '.' : lane.slice)).join(' ')}`);
}

describe('slot packing', () => {
  it('orders by slot', () => expect(shown(slices([3, 1], [1, 1], [2, 1], [0, 1]))).toEqual(['0x1: 3 1 2 0']));

  it('closes holes of free slots up to the limit', () => {
    expect(shown(slices([0, 1], [2, 1], [4, 1], [6, 1]))).toEqual(['0x1: 0 . 1 . 2 . 3']);
    expect(shown(slices([0, 1], [4, 1]))).toEqual(['0x1: 0 . . . 1']);
    expect(shown(slices([0, 1], [5, 1]))).toEqual(['0x1: 0', '5x1: 1']);
  });

  it('never pads a slot that is in use', () => expect(shown(slices([0, 1], [2, 1]), 512, [1])).toEqual(['0x1: 0', '2x1: 1']));

  it('separates token counts, and does not pad prefill', () => {
    expect(shown(slices([0, 1], [1, 60], [2, 1], [3, 60], [4, 1]))).toEqual(['0x1: 0', '2x1: 2', '4x1: 4', '1x60: 1', '3x60: 3']);
    expect(shown(slices([0, 60], [2, 60]))).toEqual(['0x60: 0', '2x60: 1']);
    expect(shown(slices([0, 60], [1, 60]))).toEqual(['0x60: 0 1']);
  });

  it('respects the size of a call, padding included', () => {
    expect(shown(slices([0, 1], [1, 1], [2, 1]), 2)).toEqual(['0x1: 0 1', '2x1: 2']);
    expect(shown(slices([0, 1], [2, 1]), 2)).toEqual(['0x1: 0', '2x1: 1']);
    expect(shown(slices([0, 5], [1, 5]), 4)).toEqual(['0x4: 0', '1x4: 1', '0x1: 0 1']);
  });

  it('cuts a long slice in order, its pieces contiguous', () => {
    const calls = packCalls(slices([0, 10]), { maxTokens: 4, isFree: () => true, paysToPad: () => false });
    expect(calls.map((call) => [call.tokensPerLane, call.lanes[0]?.offset])).toEqual([[4, 0], [4, 4], [2, 8]]);
  });

  it('pads a batch to rows that the engine computes at once, where that pays and slots are free', () => {
    const always = (): boolean => true;
    expect(shown(slices([0, 1], [1, 1], [2, 1]), 512, [], always)).toEqual(['0x1: 0 1 2 .']);
    expect(shown(slices([21, 1], [22, 1], [23, 1]), 512, [], always)).toEqual(['20x1: . 0 1 2']);
    expect(shown(slices([3, 1], [4, 1]), 512, [5], always)).toEqual(['1x1: . . 0 1']);
    expect(shown(slices([3, 1], [4, 1]), 512, [2, 5], always)).toEqual(['3x1: 0 1']);
    expect(shown(slices([3, 1]), 512, [], always)).toEqual(['3x1: 0']);
    expect(shown(slices([0, 1], [1, 1], [2, 1]), 3, [], always)).toEqual(['0x1: 0 1 2']);
    expect(shown(slices([0, 2], [1, 2], [2, 2]), 512, [], always)).toEqual(['0x2: 0 1 2']);
    expect(shown(slices([0, 1], [1, 1], [2, 1]), 512, [], (lanes, padded) => lanes === 2 && padded === 4)).toEqual(['0x1: 0 1 2']);
  });

  it('covers every token of every slice exactly once, whatever the step', () => {
    let state = 12_345;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    for (let round = 0; round < 500; round += 1) {
      const slots = [...new Set(Array.from({ length: 1 + random(12) }, () => random(24)))];
      const step = slices(...slots.map((slot) => [slot, 1 + (random(3) === 0 ? random(40) : 0)] as const));
      const maxTokens = 1 + random(32);
      const covered = step.map(() => 0);
      for (const call of packCalls(step, { maxTokens, isFree: (slot) => slot >= 0 && slot < 24 && !slots.includes(slot) && slot % 5 !== 0, paysToPad: () => round % 2 === 0 })) {
        expect(call.lanes.length * call.tokensPerLane).toBeLessThanOrEqual(maxTokens);
        call.lanes.forEach((lane, index) => {
          const slice = step[lane.slice];
          if (slice === undefined) return expect(slots).not.toContain(call.firstSlot + index);
          expect(slice.slot).toBe(call.firstSlot + index);
          expect(lane.offset).toBe(covered[lane.slice]);
          covered[lane.slice] = (covered[lane.slice] ?? 0) + call.tokensPerLane;
        });
      }
      expect(covered).toEqual(step.map((slice) => slice.tokens));
    }
  });
});
