import { describe, expect, it } from 'vitest';
import { servingPlot } from '../../scripts/bench/plot.js';
import { delayLines } from '../../scripts/bench/delays.js';
import { medianRates, servingLines } from '../../scripts/bench/serving.js';
import type { ServingSample } from '../../scripts/bench/serving.js';

function sample(agents: number): ServingSample {
  return {
    agents,
    rates: [1, 2, 4, 8, 16].map((sequences) => ({ sequences, tokensPerSecond: 10 * agents * sequences, busyShares: agents === 2 ? [0.91, 0.874] : [0.99] })),
    prefillTokensPerSecond: 100 * agents, prefix: { firstTokenMs: 8_000 / agents, againMs: 400 / agents },
    guest: { normalGapMs: 50, laterGapMs: 60, longestAloneTimes: 1.4, medianTimes: 2.2, longestTimes: 2.5, longShare: 0, tokensPerSecond: 40 },
    cores: agents === 1 ? null : { decodeShare: 0.9, prefillShare: 0.95 }, otherWork: 0.031,
  };
}

describe('the table of delays', () => {
  it('has the medians of pairs, and how many answers were the same', () => {
    const lines = delayLines([{ delayMs: 5, tokensPerSecond: 8.5, repetitiveRatios: [2, 3, 2.5], randomRatios: [1, 0.98, 1.01], sameAnswers: 6 }]).map((line) => line.replace(/ {2,}/g, ' | '));
    expect(lines.at(-1)).toBe('5 | 8.50 | 2.50 x | 1.00 x | 6 of 6');
  });
});

describe('the picture', () => {
  it('has a bar for every ring and number of answers, none outside of it', () => {
    const svg = servingPlot([sample(1), sample(2)], 'a <caption>');
    const bars = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g)].map((bar) => bar.slice(1).map(Number));
    expect(bars).toHaveLength(12);
    for (const [x = -1, y = -1, width = 0, height = 0] of bars) expect(x >= 0 && y >= 0 && x + width <= 640 && y + height <= 320).toBe(true);
    expect(svg).toContain('a &lt;caption>');
  });
});

describe('the table of many answers at once', () => {
  it('has a column for each ring, the busy share of each stage, and ratios', () => {
    const lines = servingLines([[sample(1), sample(2)]]).map((line) => line.replace(/ {2,}/g, ' | '));
    expect(lines).toContain('16 sequence(s), tok/s | 160.00 | 320.00 | 2.00');
    expect(lines).toContain('busy stages at 16, % | 99 | 91 87');
    expect(lines.find((line) => line.includes('same beginning'))).toMatch(/0\.05 \| 0\.05$/);
    expect(lines.find((line) => line.includes('the longest before anything'))).toMatch(/1\.40 \| 1\.40$/);
    expect(lines.find((line) => line.includes('the longest,'))).toMatch(/2\.50 \| 2\.50$/);
    expect(lines).toContain('8 on the last, share of a group of 4 on each | 2.00');
    expect(lines).toContain('16 on the last against 8 on the first | 4.00');
    expect(lines).toContain('these cores at once, of what each gives alone: decode | - | 0.90');
    expect(lines.at(-1)).toBe('the machine\'s other work, % of its cores | 3.10 | 3.10');
  });

  it('has medians of the rounds, and of the ratios within each', () => {
    const slow = (agents: number, part: number): ServingSample => ({ ...sample(agents), rates: sample(agents).rates.map((rate) => ({ ...rate, tokensPerSecond: rate.tokensPerSecond * part })), prefillTokensPerSecond: null });
    const rounds = [[sample(1), sample(2)], [slow(1, 0.5), slow(2, 0.6)], [slow(1, 0.1), slow(2, 0.09)]];
    const lines = servingLines(rounds).map((line) => line.replace(/ {2,}/g, ' | '));
    expect(lines).toContain('1 sequence(s), tok/s | 5.00 | 12.00 | 2.00');
    expect(lines).toContain('prefill of 2048, tok/s | 100.00 | 200.00 | 2.00');
    expect(medianRates(rounds).map(({ agents, rates }) => [agents, rates[0]?.tokensPerSecond])).toEqual([[1, 5], [2, 12]]);
  });

  it('leaves out what was not measured', () => {
    const short = (agents: number): ServingSample => ({ agents, rates: sample(agents).rates.slice(3, 4), prefillTokensPerSecond: null, prefix: null, guest: null, cores: null, otherWork: null });
    const lines = servingLines([[short(1), short(2)]]).map((line) => line.replace(/ {2,}/g, ' | '));
    expect(lines).toContain('8 sequence(s), tok/s | 80.00 | 160.00 | 2.00');
    expect(lines).toContain('busy stages at 8, % | 99 | 91 87');
    expect(lines.find((line) => line.includes('prefill'))).toMatch(/ \| - \| -$/);
  });
});
