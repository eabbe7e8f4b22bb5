import { describe, expect, it } from 'vitest';
import { servingPlot } from '../../scripts/bench/plot.js';
import { delayLines } from '../../scripts/bench/delays.js';
import type { ServingRound, ServingSample } from '../../scripts/bench/serving.js';
import { medianRates, servingLines } from '../../scripts/bench/serving-table.js';

/** `speed`: of a node. */
function sample(cores: readonly number[], speed: number): ServingSample {
  const nodes = cores.length;
  return {
    cores,
    rates: [1, 2, 4, 8, 16].map((sequences) => ({ sequences, tokensPerSecond: speed * nodes * sequences, busyShares: nodes === 2 ? [0.91, 0.874] : [0.99] })),
    prefillTokensPerSecond: 10 * speed * nodes, prefix: { firstTokenMs: 8_000 / nodes, againMs: 400 / nodes },
    guest: cores[0] === 1 ? null : { normalGapMs: 50, laterGapMs: 60, longestAloneTimes: 1.4, medianTimes: 2.2, longestTimes: 2.5, longShare: 0, tokensPerSecond: 40 },
  };
}

/** Two nodes with `speed` each; of one, a node is faster on core 0 and slower on core 1 by as much. */
function round(speed = 10, change: Partial<ServingSample> = {}): ServingRound {
  const rings = [sample([0], speed * 1.2), sample([1], speed * 0.8), sample([0, 1], speed)];
  return { rings: rings.map((ring) => ({ ...ring, ...change })), together: { decodeShare: 0.9, prefillShare: 0.95, slowestDecodeShare: 0.88 }, otherWork: 0.031 };
}

const shown = (rounds: readonly ServingRound[]): readonly string[] => servingLines(rounds).map((line) => line.replace(/ {2,}/g, ' | '));

describe('the table of delays', () => {
  it('has the medians of pairs, and how many answers were the same', () => {
    const lines = delayLines([{ delayMs: 5, tokensPerSecond: 8.5, repetitiveRatios: [2, 3, 2.5], randomRatios: [1, 0.98, 1.01], sameAnswers: 6 }]).map((line) => line.replace(/ {2,}/g, ' | '));
    expect(lines.at(-1)).toBe('5 | 8.50 | 2.50 x | 1.00 x | 6 of 6');
  });
});

describe('the picture', () => {
  it('has a bar for one node and for two at every number of answers, none outside of it', () => {
    const svg = servingPlot(medianRates([round()]), 'a <caption>');
    const bars = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g)].map((bar) => bar.slice(1).map(Number));
    expect(bars).toHaveLength(12);
    for (const [x = -1, y = -1, width = 0, height = 0] of bars) expect(x >= 0 && y >= 0 && x + width <= 640 && y + height <= 320).toBe(true);
    expect(svg).toContain('a &lt;caption>');
  });
});

describe('the table of many answers at once', () => {
  it('has a column for each ring, the busy share of each stage, and ratios to the mean of one node on each core', () => {
    const lines = shown([round()]);
    expect(lines[0]).toMatch(/\| 1 node, core 0 \| 1 node, core 1 \| 2 nodes \| ratio$/);
    expect(lines).toContain('16 sequence(s), tok/s | 192.00 | 128.00 | 320.00 | 2.00');
    expect(lines).toContain('busy stages at 16, % | 99 | 99 | 91 87');
    expect(lines.find((line) => line.includes('same beginning'))).toMatch(/0\.05 \| 0\.05 \| 0\.05$/);
    expect(lines.find((line) => line.includes('the longest before anything'))).toMatch(/1\.40 \| - \| 1\.40$/);
    expect(lines.find((line) => line.includes('the longest,'))).toMatch(/2\.50 \| - \| 2\.50$/);
    expect(lines).toContain('8 on two nodes, share of a group of 4 on each | 2.00');
    expect(lines).toContain('16 on two nodes against 8 on one | 4.00');
    expect(lines).toContain('the engine alone, the slower core of the faster: decode | 0.88');
    expect(lines).toContain(' | both at once, of what each gives alone: decode | 0.90');
    expect(lines.at(-1)).toBe('the machine\'s other work, % of its cores | 3.10');
  });

  it('has medians of the rounds, and of the ratios within each', () => {
    const rounds = [round(), round(5, { prefillTokensPerSecond: null }), round(1, { prefillTokensPerSecond: null })];
    const lines = shown(rounds);
    expect(lines).toContain('1 sequence(s), tok/s | 6.00 | 4.00 | 10.00 | 2.00');
    expect(lines).toContain('prefill of 2048, tok/s | 120.00 | 80.00 | 200.00 | 2.00');
    expect(medianRates(rounds).map(({ agents, rates }) => [agents, rates[0]?.tokensPerSecond])).toEqual([[1, 5], [2, 10]]);
  });

  it('leaves out what was not measured', () => {
    const nothing: Partial<ServingSample> = { prefillTokensPerSecond: null, prefix: null, guest: null };
    const all = round(10, nothing);
    const lines = shown([{ rings: all.rings.map((ring) => ({ ...ring, rates: ring.rates.slice(3, 4) })), together: null, otherWork: null }]);
    expect(lines).toContain('8 sequence(s), tok/s | 96.00 | 64.00 | 160.00 | 2.00');
    expect(lines).toContain('busy stages at 8, % | 99 | 99 | 91 87');
    expect(lines.some((line) => line.includes('prefill') || line.includes('gap') || line.includes('engine alone') || line.includes('other work') || line.startsWith('16'))).toBe(false);
  });
});
