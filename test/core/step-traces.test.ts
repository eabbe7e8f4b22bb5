/** The record of a request's first steps: whose tokens were in which step, what each stage took, and its bounds. */
import { describe, expect, it } from 'vitest';
import { MAX_TRACED_REQUESTS, MAX_TRACED_STEPS, StepTraces } from '../../src/core/step-traces.js';
import type { SequenceOperation, SequenceSlice } from '../../src/core/step-types.js';

const open = (slot: number, sequenceId: string): SequenceOperation => ({
  kind: 'open', slot, sequenceId, origin: 'origin', promptLength: 1, promptTokens: [], emittedTokens: [],
  sampling: { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [] },
});
const slice = (slot: number, tokens: number): SequenceSlice => ({ slot, position: 0, tokens, sample: true });

describe('the record of steps', () => {
  it('has each step of a request with its own tokens, the others\', the stages\' compute and the rest', () => {
    const traces = new StepTraces();
    traces.sent({ step: 1, operations: [open(0, 'a'), open(1, 'b')], slices: [slice(0, 5), slice(1, 2)] }, 100);
    traces.sent({ step: 2, operations: [], slices: [slice(0, 1)] }, 101);
    traces.returned(1, [300, 500], 102);
    traces.returned(2, [100, 200], 103.5);
    expect(traces.latest()).toEqual([
      { requestId: 'b', beganMs: 100, steps: [{ sentAfterMicros: 0, tokens: 2, otherTokens: 5, ahead: 0, stageMicros: [300, 500], restMicros: 1200 }] },
      {
        requestId: 'a',
        beganMs: 100,
        steps: [
          { sentAfterMicros: 0, tokens: 5, otherTokens: 2, ahead: 0, stageMicros: [300, 500], restMicros: 1200 },
          { sentAfterMicros: 1000, tokens: 1, otherTokens: 0, ahead: 1, stageMicros: [100, 200], restMicros: 2200 },
        ],
      },
    ]);
  });

  it('follows a sequence that moves to another slot, and forgets a slot that was closed', () => {
    const traces = new StepTraces();
    traces.sent({ step: 1, operations: [open(3, 'a'), { kind: 'move', slot: 3, to: 0 }], slices: [slice(0, 1)] }, 0);
    traces.sent({ step: 2, operations: [{ kind: 'close', slot: 0 }], slices: [slice(0, 1)] }, 1);
    traces.returned(1, [10], 2);
    traces.returned(2, [10], 3);
    expect(traces.latest()).toMatchObject([{ requestId: 'a', steps: [{ tokens: 1 }] }]);
  });

  it('is bounded in requests and steps, and takes a step that nobody sent', () => {
    const traces = new StepTraces();
    traces.returned(7, [1], 1);
    for (let number = 0; number < 2 * MAX_TRACED_REQUESTS; number += 1) traces.sent({ step: number, operations: [open(0, `r${number}`)], slices: [] }, number);
    expect(traces.latest()).toHaveLength(MAX_TRACED_REQUESTS);
    expect(traces.latest()[0]?.requestId).toBe(`r${2 * MAX_TRACED_REQUESTS - 1}`);
    for (let step = 1000; step < 1000 + 2 * MAX_TRACED_STEPS; step += 1) {
      traces.sent({ step, operations: [], slices: [slice(0, 1)] }, step);
      traces.returned(step, [1], step + 1);
    }
    expect(traces.latest()[0]?.steps).toHaveLength(MAX_TRACED_STEPS);
  });
});
