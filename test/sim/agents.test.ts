/** Whole agents under random weather: many seeds, each replayable (`npm run simulate -- --seed N`). */
import { describe, expect, it } from 'vitest';
import { FIRST_DRAFT_SEED, simulateAgents } from './agent-run.js';

/** Enough to meet every fault; `npm run simulate` goes further. */
const SEEDS = 200;
const DRAFT_SEEDS = 20;
/** Seeds that once failed stay, for what they still meet. */
const KEPT_SEEDS = [283, 373, 426, 501, 549, 594, 615, 631, 811, 834, 846, 908, 1120, 1292, 1608, 1795, 2015, 2410, 2547, 3100, 3225, 5169, 7518, 7679];

describe('agents that crash, freeze, lose each other and come back', () => {
  it('answer every request as if nothing had happened, and are one quiet cluster at the end, for every seed', async () => {
    const failures: string[] = [];
    const seeds = [...Array.from({ length: SEEDS }, (_, index) => index + 1), ...KEPT_SEEDS, ...Array.from({ length: DRAFT_SEEDS }, (_, index) => FIRST_DRAFT_SEED + index)];
    let answered = 0;
    for (const seed of seeds) {
      const { problems, figures } = await simulateAgents(seed);
      answered += figures.answered;
      if (problems.length > 0) failures.push(`seed ${seed}: ${problems[0] ?? ''} (replay: npm run simulate -- --seed ${seed})`);
    }
    expect(failures).toEqual([]);
    // What fails early proves nothing.
    expect(answered).toBeGreaterThan(seeds.length * 5);
  }, 300_000);

  it('live the same seed in the same way every time', async () => {
    for (const seed of [7, 22, 45]) {
      const first = await simulateAgents(seed, true);
      const second = await simulateAgents(seed, true);
      expect(second.trace).toBe(first.trace);
      expect(second.log).toEqual(first.log);
    }
  }, 60_000);
});
