import { describe, expect, it } from 'vitest';
import { drawToken, likeliestToken } from '../../src/core/draw.js';
import type { DrawSettings } from '../../src/core/draw.js';

const ALL: DrawSettings = { temperature: 1, topP: 1, minP: 0 };

/** Numbers in [0, 1) from a seed, unlike those of the code under test. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Like a model's: most tokens improbable, a few likely. */
function someLogits(size: number, seed: number, spread = 2.5): Float32Array {
  const random = randoms(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Float32Array.from({ length: size }, (_, token) => (token % 97 === 0 ? 4 + 4 * random() : spread * normal()));
}

/** What may be drawn and how likely, straight from the definitions. */
function probabilities(logits: Float32Array, { temperature, topP, minP }: DrawSettings): Map<number, number> {
  const order = [...logits.keys()].filter((token) => (logits[token] ?? -Infinity) > -Infinity).sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b);
  const highest = logits[order[0] ?? 0] ?? 0;
  const weight = (token: number, at: number): number => Math.exp(((logits[token] ?? 0) - highest) / at);
  const total = order.reduce((sum, token) => sum + weight(token, 1), 0);
  let mass = 0;
  const kept = order.filter((token) => {
    const isIn = topP >= 1 || mass < topP;
    mass += weight(token, 1) / total;
    return isIn && weight(token, 1) >= minP;
  });
  const keptTotal = kept.reduce((sum, token) => sum + weight(token, temperature), 0);
  return new Map(kept.map((token) => [token, weight(token, temperature) / keptTotal]));
}

function drawMany(logits: Float32Array, settings: DrawSettings, draws: number): Map<number, number> {
  const counts = new Map<number, number>();
  for (let seed = 0; seed < draws; seed += 1) {
    const token = drawToken(logits, settings, Math.imul(seed, 0x9e37_79b1) >>> 0);
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  return counts;
}

/** In standard deviations of the number of degrees of freedom; tokens that are expected too rarely count as one. */
function chiSquareExcess(counts: ReadonlyMap<number, number>, expected: ReadonlyMap<number, number>, draws: number): number {
  let sum = 0;
  let groups = 0;
  let rareExpected = 0;
  let rareSeen = 0;
  for (const [token, probability] of expected) {
    const wanted = probability * draws;
    const seen = counts.get(token) ?? 0;
    if (wanted < 10) {
      rareExpected += wanted;
      rareSeen += seen;
      continue;
    }
    sum += (seen - wanted) ** 2 / wanted;
    groups += 1;
  }
  if (rareExpected >= 10) {
    sum += (rareSeen - rareExpected) ** 2 / rareExpected;
    groups += 1;
  }
  return (sum - (groups - 1)) / Math.sqrt(2 * Math.max(1, groups - 1));
}

describe('a draw', () => {
  const draws = 10_000;
  const cases: readonly (readonly [string, DrawSettings])[] = [
    ['from all', ALL],
    ['at a low temperature', { ...ALL, temperature: 0.4 }],
    ['near temperature 0', { ...ALL, temperature: 0.05 }],
    ['at a high temperature', { ...ALL, temperature: 2 }],
    ['within top_p', { ...ALL, topP: 0.8 }],
    ['within a top_p that leaves one', { ...ALL, topP: 0.001 }],
    ['within min_p', { ...ALL, minP: 0.05 }],
    ['within both, tempered', { temperature: 0.7, topP: 0.9, minP: 0.02 }],
  ];
  for (const [what, settings] of cases) {
    it(`${what} gives each token its probability`, () => {
      for (const logits of [someLogits(1_500, 7), Float32Array.of(0.5, 0.51, -2, 1.25, 1.25, -Infinity, 0)]) {
        const expected = probabilities(logits, settings);
        const counts = drawMany(logits, settings, draws);
        expect([...counts.keys()].filter((token) => !expected.has(token))).toEqual([]);
        expect(chiSquareExcess(counts, expected, draws)).toBeLessThan(4);
      }
    });
  }

  it('keeps the tokens of top_p, whatever the distribution', () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const logits = someLogits(60, seed, seed % 3 === 0 ? 0.05 : 3);
      const settings = { ...ALL, topP: (seed % 10) / 10 + 0.05 };
      const expected = probabilities(logits, settings);
      const counts = drawMany(logits, settings, 1_000);
      expect([...counts.keys()].every((token) => expected.has(token)), `seed ${seed}`).toBe(true);
      expect([...expected].filter(([token, probability]) => probability > 0.02 && !counts.has(token)), `seed ${seed}`).toEqual([]);
    }
  });

  it('depends on the differences of logits alone, however large they are', () => {
    const logits = someLogits(500, 3);
    const expected = probabilities(logits, ALL);
    for (const offset of [-5_000, -230, 230, 5_000]) {
      const counts = drawMany(logits.map((logit) => logit + offset), ALL, draws);
      // What is left of a difference of 32 bits beside thousands.
      expect(chiSquareExcess(counts, expected, draws), `offset ${offset}`).toBeLessThan(5);
    }
  });

  it('never is an impossible token, and is one where only one is possible', () => {
    const logits = new Float32Array(1_000).fill(-Infinity);
    logits[700] = -3;
    for (const settings of [ALL, { ...ALL, topP: 0.5 }, { ...ALL, minP: 0.1 }, { ...ALL, temperature: 0.01 }]) for (let seed = 0; seed < 50; seed += 1) expect(drawToken(logits, settings, seed)).toBe(700);
    logits[701] = -4;
    const counts = drawMany(logits, ALL, 5_000);
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([700, 701]);
  });

  it('is some token where nothing is possible or no number', () => {
    for (const nothing of [new Float32Array(10).fill(-Infinity), new Float32Array(10).fill(NaN)]) for (const settings of [ALL, { ...ALL, topP: 0.5 }, { ...ALL, minP: 0.1 }]) expect(drawToken(nothing, settings, 1)).toBe(0);
    const withHoles = Float32Array.of(NaN, 2, NaN, 2);
    expect([...drawMany(withHoles, ALL, 1_000).keys()].sort()).toEqual([1, 3]);
  });

  it('is the same for the same seed, and others for others', () => {
    const logits = someLogits(2_000, 11);
    const tokens = Array.from({ length: 200 }, (_, seed) => drawToken(logits, ALL, seed));
    expect(Array.from({ length: 200 }, (_, seed) => drawToken(logits, ALL, seed))).toEqual(tokens);
    expect(new Set(tokens).size).toBeGreaterThan(50);
  });

  it('without chance is the likeliest token, the first of equal ones', () => {
    expect(likeliestToken(Float32Array.of(1, 3, -Infinity, 3, NaN))).toBe(1);
    expect(likeliestToken(new Float32Array(4).fill(-Infinity))).toBe(0);
  });
});
