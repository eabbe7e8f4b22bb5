import { describe, expect, it } from 'vitest';
import { stepTokens } from '../../src/core/step-size.js';
import { CHUNK_IN_DECODE_STEPS, LONE_CHUNK_STEP, MIN_PREFILL_CHUNK, PrefillPace } from '../../src/core/prefill-pace.js';

/** Chunks one after the other on an engine with this cost. */
function settled(pace: PrefillPace, costMicros: (tokens: number) => number, batchTokens = 512): number {
  for (let round = 0; round < 20; round += 1) {
    const tokens = pace.tokens(batchTokens);
    pace.chunkMeasured(tokens, costMicros(tokens), round);
  }
  return pace.tokens(batchTokens);
}

describe('the size of chunks beside running answers', () => {
  it('settles where a chunk costs what it may, whatever the cost is made of', () => {
    for (const costMicros of [(tokens: number) => 2_000 * tokens, (tokens: number) => 40_000 + 500 * tokens]) {
      const pace = new PrefillPace();
      pace.decodeMeasured(1, 50_000);
      const share = costMicros(settled(pace, costMicros)) / 50_000;
      expect(share).toBeLessThanOrEqual(CHUNK_IN_DECODE_STEPS);
      expect(share).toBeGreaterThan(CHUNK_IN_DECODE_STEPS * 0.8);
    }
  });

  it('begins with a chunk that costs no more than it may, by what decode steps cost', () => {
    for (const rows of [4, 8, 16]) {
      const pace = new PrefillPace();
      const costMicros = (tokens: number): number => 40_000 + 10_000 * tokens;
      pace.decodeMeasured(rows, costMicros(rows));
      expect(costMicros(pace.tokens(512)) / costMicros(rows)).toBeLessThanOrEqual(CHUNK_IN_DECODE_STEPS);
    }
    // Nothing is known yet: the least.
    expect(new PrefillPace().tokens(512)).toBe(MIN_PREFILL_CHUNK);
  });

  it('keeps to the budget where a token of a long prompt comes to cost more than a decode step, in one prompt after the other', () => {
    const pace = new PrefillPace();
    const costMicros = (tokens: number, position: number): number => 40_000 + tokens * (10_000 + 20 * position);
    pace.decodeMeasured(4, costMicros(4, 0));
    for (let prompt = 0; prompt < 2; prompt += 1) {
      let over = 0;
      for (let position = 0; position < 3_000;) {
        const tokens = pace.tokens(512);
        const cost = costMicros(tokens, position);
        pace.chunkMeasured(tokens, cost, position);
        // The first one of a prompt does not know that it begins anew, and what one more costs is tried once.
        if (tokens > MIN_PREFILL_CHUNK && cost > 1.1 * CHUNK_IN_DECODE_STEPS * costMicros(4, 0)) over += 1;
        position += tokens;
      }
      expect(over).toBeLessThanOrEqual(1);
    }
  });

  it('stays between the smallest chunk and a batch', () => {
    const slow = new PrefillPace();
    slow.decodeMeasured(1, 10);
    expect(settled(slow, (tokens) => 1_000 * tokens)).toBe(MIN_PREFILL_CHUNK);
    const fast = new PrefillPace();
    fast.decodeMeasured(1, 1_000_000);
    expect(settled(fast, () => 10)).toBe(512);
  });

  it('is not misled by a single step that was interrupted', () => {
    const pace = new PrefillPace();
    for (let step = 0; step < 10; step += 1) pace.decodeMeasured(1, 10_000);
    const before = settled(pace, (tokens) => 500 * tokens);
    pace.decodeMeasured(1, 900_000);
    expect(settled(pace, (tokens) => 500 * tokens)).toBeLessThan(before * 1.5);
  });
});

describe('the chunks of a prompt that has the ring for itself', () => {
  /** Chunks through stages of equal speed: when the last one leaves the last stage. */
  function ringMicros(prompt: number, chunk: number, stages: number, costMicros: (tokens: number) => number): number {
    return (Math.ceil(prompt / chunk) + stages - 1) * costMicros(chunk) / stages;
  }

  function learned(costMicros: (tokens: number) => number, rows = 1): PrefillPace {
    const pace = new PrefillPace();
    pace.decodeMeasured(rows, costMicros(rows));
    pace.chunkMeasured(256, costMicros(256), 0);
    return pace;
  }

  it('are about as good as the best ones, on an engine that computes and on one that reads weights', () => {
    for (const costMicros of [(tokens: number) => 70_000 + 20_000 * tokens, (tokens: number) => 10_000 + 200 * tokens, (tokens: number) => 30_000 + 50 * tokens]) {
      for (const [stages, prompt, rows] of [[2, 300, 1], [2, 2_048, 1], [2, 2_048, 16], [3, 2_048, 4], [3, 8_000, 1], [6, 8_000, 1]] as const) {
        const chunk = learned(costMicros, rows).loneTokens(prompt, stages, stepTokens(stages));
        const best = Math.min(...Array.from({ length: 8 }, (_, index) => ringMicros(prompt, 32 * (index + 1), stages, costMicros)));
        expect(ringMicros(prompt, chunk, stages, costMicros), `${prompt} tokens, ${stages} stages, chunks of ${chunk}`).toBeLessThanOrEqual(1.15 * best);
      }
    }
  });

  it('are as large as a step may be before anything was measured, and always in a ring of one', () => {
    expect(new PrefillPace().loneTokens(2_048, 2, 256)).toBe(256);
    expect(learned((tokens) => 20_000 * tokens).loneTokens(2_048, 1, 512)).toBe(512);
    expect(learned((tokens) => 20_000 * tokens).loneTokens(100, 8, 512)).toBe(LONE_CHUNK_STEP);
  });
});
