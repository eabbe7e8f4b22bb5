import { describe, expect, it } from 'vitest';
import { CHUNK_STEP, MIN_PREFILL_CHUNK, PrefillPace } from '../../src/core/prefill-pace.js';

type Cost = (tokens: number, position: number) => number;

const BATCH = 512;
const budgetOf = (micros: number): { micros: number; triedMicros: number } => ({ micros, triedMicros: 1.7 * micros });

/** As on a core of an x86 server: four rows at once, the rest one by one. */
const BY_FOURS: Cost = (tokens) => 37_000 * Math.floor(tokens / 4) + 19_500 * (tokens % 4);

/** A prompt's chunks one after the other; what each cost. */
function prompt(pace: PrefillPace, cost: Cost, { tokens, budget, batch = BATCH, noise = () => 1 }: {
  readonly tokens: number; readonly budget: number; readonly batch?: number; readonly noise?: () => number;
}): readonly { readonly tokens: number; readonly micros: number }[] {
  const chunks: { tokens: number; micros: number }[] = [];
  for (let position = 0; position < tokens;) {
    const size = Math.min(tokens - position, pace.tokens(position, batch, budgetOf(budget)));
    const micros = cost(size, position) * noise();
    pace.chunkMeasured(size, position, micros);
    chunks.push({ tokens: size, micros });
    position += size;
  }
  return chunks;
}

/** What could have been, had all costs been known. */
function bestSize(cost: Cost, budget: number, position = 0): number {
  let best = MIN_PREFILL_CHUNK;
  for (let size = 2; size <= BATCH; size += size < CHUNK_STEP ? size : CHUNK_STEP) if (cost(size, position) <= budget) best = size;
  return best;
}

describe('the size of chunks beside running answers', () => {
  it.each<[string, Cost]>([
    ['is all in the tokens', (tokens) => 2_000 * tokens],
    ['is mostly in the weights', (tokens) => 40_000 + 500 * tokens],
    ['comes by fours', BY_FOURS],
  ])('settles at the largest that costs what it may, where the cost %s', (_name, cost) => {
    const pace = new PrefillPace();
    pace.decodeMeasured(4, cost(4, 0));
    const settled = prompt(pace, cost, { tokens: 12_000, budget: 90_000 }).slice(-60, -1).map(({ tokens }) => tokens);
    const best = bestSize(cost, 90_000);
    expect(settled.filter((tokens) => tokens === best).length).toBeGreaterThan(40);
    // What costs a little more is tried again and again.
    expect(Math.max(...settled)).toBeLessThanOrEqual(Math.max(1.25 * best, best + CHUNK_STEP));
  });

  it('begins with what steps of the answers say, and never costs more than the most that is tried', () => {
    for (const rows of [1, 2, 4, 8]) {
      const pace = new PrefillPace();
      pace.decodeMeasured(rows, BY_FOURS(rows, 0));
      for (const { micros } of prompt(pace, BY_FOURS, { tokens: 400, budget: 80_000 })) expect(micros).toBeLessThanOrEqual(1.7 * 80_000);
    }
    expect(new PrefillPace().tokens(0, BATCH, null)).toBe(MIN_PREFILL_CHUNK);
  });

  it('shrinks where attention comes to cost more than the weights, and grows again with the next prompt', () => {
    const cost: Cost = (tokens, position) => BY_FOURS(tokens, 0) + 3.4 * position * tokens;
    const pace = new PrefillPace();
    pace.decodeMeasured(4, cost(4, 0));
    for (let round = 0; round < 3; round += 1) {
      const chunks = prompt(pace, cost, { tokens: 6_000, budget: 110_000 });
      const over = chunks.filter(({ micros }) => micros > 1.25 * 110_000);
      expect(over.length, `over what they may: ${over.map(({ tokens }) => tokens).join(' ')}`).toBeLessThanOrEqual(round === 0 ? 6 : 2);
      expect(chunks.at(0)?.tokens).toBeGreaterThanOrEqual(8);
      expect(chunks.at(-2)?.tokens).toBe(bestSize(cost, 110_000, 6_000));
    }
  });

  it('comes back to its size after steps that the system interrupted', () => {
    let state = 3;
    const noise = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const part = (state >>> 8) / 2 ** 24;
      return part > 0.97 ? 2 : 0.9 + 0.2 * part;
    };
    const pace = new PrefillPace();
    pace.decodeMeasured(4, 37_000);
    const chunks = prompt(pace, BY_FOURS, { tokens: 8_000, budget: 90_000, noise });
    const atBest = chunks.filter(({ tokens }) => tokens === bestSize(BY_FOURS, 90_000)).length / chunks.length;
    expect(atBest).toBeGreaterThan(0.7);
    expect(Math.max(...chunks.map(({ tokens }) => tokens))).toBeLessThanOrEqual(12);
  });

  it('stays between the smallest chunk and a batch', () => {
    const slow = new PrefillPace();
    slow.decodeMeasured(1, 1_000);
    expect(prompt(slow, (tokens) => 1_000 * tokens, { tokens: 40, budget: 500 }).every(({ tokens }) => tokens === MIN_PREFILL_CHUNK)).toBe(true);
    const fast = new PrefillPace();
    fast.decodeMeasured(1, 1_000);
    prompt(fast, () => 10, { tokens: 4_000, budget: 1_000_000, batch: 64 });
    expect(fast.tokens(0, 64, budgetOf(1_000_000))).toBe(64);
  });
});
