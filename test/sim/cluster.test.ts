/** The cluster core under random weather: many seeds, each replayable (`npm run simulate -- --core --seed N`). */
import { describe, expect, it } from 'vitest';
import { simulate } from './random-run.js';

/** Enough to meet every rule; `npm run simulate -- --core --seeds 20000` goes further. */
const SEEDS = 1_000;
/** Seeds that once failed stay. */
const KEPT_SEEDS = [26, 797, 1714, 1733, 3386, 13563, 15493];

describe('a cluster under loss, delay, reordering, partition, crash and late joins', () => {
  it('becomes one quiet ring again, loses no instance and starts no election for a join, for every seed', () => {
    const failures: string[] = [];
    for (const seed of [...Array.from({ length: SEEDS }, (_, index) => index + 1), ...KEPT_SEEDS]) {
      const { problems } = simulate(seed);
      if (problems.length > 0) failures.push(`seed ${seed}: ${problems[0] ?? ''} (replay: npm run simulate -- --core --seed ${seed})`);
    }
    expect(failures).toEqual([]);
  }, 180_000);

  it('runs the same way every time', () => {
    expect(simulate(7, true)).toEqual(simulate(7, true));
  });
});
