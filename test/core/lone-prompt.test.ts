import { describe, expect, it } from 'vitest';
import { LONE_CHUNK_STEP, LonePrompt } from '../../src/core/lone-prompt.js';
import { stepTokens } from '../../src/core/step-size.js';

/** Chunks through stages of equal speed: when the last one leaves the last stage. */
function ringMicros(prompt: number, chunk: number, stages: number, costMicros: (tokens: number) => number): number {
  return (Math.ceil(prompt / chunk) + stages - 1) * costMicros(chunk) / stages;
}

function learned(costMicros: (tokens: number) => number, rows = 1): LonePrompt {
  const prompt = new LonePrompt();
  prompt.decodeMeasured(rows, costMicros(rows));
  prompt.chunkMeasured(256, costMicros(256));
  return prompt;
}

describe('the chunks of a prompt that has the ring for itself', () => {
  it('are about as good as the best ones, on an engine that computes and on one that reads weights', () => {
    for (const costMicros of [(tokens: number) => 70_000 + 20_000 * tokens, (tokens: number) => 10_000 + 200 * tokens, (tokens: number) => 30_000 + 50 * tokens]) {
      for (const [stages, prompt, rows] of [[2, 300, 1], [2, 2_048, 1], [2, 2_048, 16], [3, 2_048, 4], [3, 8_000, 1], [6, 8_000, 1]] as const) {
        const chunk = learned(costMicros, rows).tokens(prompt, stages, stepTokens(stages));
        const best = Math.min(...Array.from({ length: 8 }, (_, index) => ringMicros(prompt, 32 * (index + 1), stages, costMicros)));
        expect(ringMicros(prompt, chunk, stages, costMicros), `${prompt} tokens, ${stages} stages, chunks of ${chunk}`).toBeLessThanOrEqual(1.15 * best);
      }
    }
  });

  it('are as large as a step may be before anything was measured, and always in a ring of one', () => {
    expect(new LonePrompt().tokens(2_048, 2, 256)).toBe(256);
    expect(learned((tokens) => 20_000 * tokens).tokens(2_048, 1, 512)).toBe(512);
    expect(learned((tokens) => 20_000 * tokens).tokens(100, 8, 512)).toBe(LONE_CHUNK_STEP);
  });
});
