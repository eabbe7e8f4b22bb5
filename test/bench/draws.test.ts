import { expect, it } from 'vitest';
import { drawLines, measureDraws } from '../../scripts/bench/draws.js';

it('the time of a draw is measured both ways', () => {
  const times = measureDraws([4_000]);
  expect(times.map(({ how }) => how)).toEqual(['greedy', 'temperature 1', 'temperature 0.7, top_p 0.9']);
  expect(times.every(({ alone, byChain }) => alone > 0 && byChain > 0)).toBe(true);
  expect(drawLines([{ vocabulary: 32_000, how: 'greedy', alone: 25.4, byChain: 100 }])[1]).toMatch(/^32000 +greedy +25 +100 +3\.9$/);
});
