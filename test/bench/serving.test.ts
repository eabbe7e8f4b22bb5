import { describe, expect, it } from 'vitest';
import { servingLines } from '../../scripts/bench/serving.js';
import type { ServingSample } from '../../scripts/bench/serving.js';

function sample(agents: number): ServingSample {
  return {
    agents,
    rates: [1, 2, 4, 8, 16].map((sequences) => ({ sequences, tokensPerSecond: 10 * agents * sequences, busyShares: agents === 2 ? [0.91, 0.874] : [0.99] })),
    prefillTokensPerSecond: 100 * agents, firstTokenMs: 8_000 / agents, firstTokenWithPrefixMs: 400 / agents,
    normalGapMs: 50, longestGapMs: 125, guestTokensPerSecond: 40, plainTokensPerSecond: 20, repetitiveTokensPerSecond: 30,
  };
}

describe('the table of many answers at once', () => {
  it('has a column for each ring, the busy share of each stage, and ratios', () => {
    const lines = servingLines([sample(1), sample(2)]).map((line) => line.replace(/ {2,}/g, ' | '));
    expect(lines).toContain('16 sequence(s), tok/s | 160.00 | 320.00 | 2.00');
    expect(lines).toContain('busy stages at 16, % | 99 | 91 87');
    expect(lines.find((line) => line.includes('same beginning'))).toMatch(/0\.05 \| 0\.05$/);
    expect(lines.find((line) => line.includes('times that'))).toMatch(/2\.50 \| 2\.50$/);
  });
});
