/** A trace as text: aligned, within a terminal's width, wire and queue told apart. */
import { describe, expect, it } from 'vitest';
import type { TraceView } from '../../src/agent/service.js';
import { renderTrace } from '../../src/cli/render-trace.js';

function trace(stages: number, steps: TraceView['steps']): TraceView {
  return { requestId: 'r-1', agoMs: 0, model: 'kjv-q8_0', stages: Array.from({ length: stages }, (_, rank) => ({ nodeId: `n${rank}`, hostname: `machine-${rank}` })), wireMicros: 900, steps };
}

describe('a trace', () => {
  it('has a line a step and a column a stage', () => {
    const text = renderTrace(trace(2, [
      { sentAfterMicros: 0, tokens: 512, otherTokens: 0, ahead: 0, stageMicros: [81_000, 120_500], restMicros: 1_450 },
      { sentAfterMicros: 203_000, tokens: 1, otherTokens: 7, ahead: 2, stageMicros: [400, 650], restMicros: 2_300 },
    ]));
    expect(`\n${text}\n`).toMatchInlineSnapshot(`
      "
      kjv-q8_0, request r-1: its first 2 steps, in ms

      Step   At  Tokens  Others  Stage 0  Stage 1  Wire  Queue  Total
         1  0.0     512       0     81.0      121   1.4    0.0    203
         2  203       1       7      0.4      0.7   0.9    1.4    3.4

      Stages: 0 machine-0, 1 machine-1.
      At: since its first step. Others: tokens of other requests in the same step.
      Wire: links and pipes of the whole way around. Queue: waiting for steps ahead.
      "
    `);
  });

  it('shows the slowest stages of a long ring, and fits 80 columns', () => {
    const micros = [100, 9_000, 200, 8_000, 300, 7_000];
    const text = renderTrace(trace(6, [{ sentAfterMicros: 12_345_678, tokens: 512, otherTokens: 4096, ahead: 3, stageMicros: micros, restMicros: 123_456 }]));
    expect(text).toContain('Stage 1  Stage 3  Stage 5');
    expect(text).toContain('rest');
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });
});
