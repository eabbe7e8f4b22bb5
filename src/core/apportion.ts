/**
 * How many layers each node gets, by weight and capacity: the part of placement that is only
 * arithmetic. Integers throughout, so that every node computes the same counts whatever its machine.
 *
 * It must not know bytes of single layers: core/tiling.ts checks real bytes afterwards.
 */
import { assert } from './errors.js';

/** `floor(max(0, budget - extra) / perLayer)` with `perLayer = total / layers`, without a fraction in between. */
export function layerCapacity(options: { budgetBytes: number; extraBytes: number; totalLayerBytes: number; layers: number }): number {
  const free = Math.max(0, options.budgetBytes - options.extraBytes);
  if (options.totalLayerBytes <= 0) return options.layers;
  return Number((BigInt(Math.floor(free)) * BigInt(options.layers)) / BigInt(Math.ceil(options.totalLayerBytes)));
}

/**
 * Counts that sum to `units`, or null when the capacities do not reach it. `count = min(round half up(units * w / sum),
 * cap)`; while short, +1 where `cap - count` is largest; while over, -1 from the largest count. Ties go to the last index.
 */
export function apportion(units: number, weights: readonly number[], capacities: readonly number[]): readonly number[] | null {
  assert(weights.length === capacities.length, 'one weight and one capacity per node');
  const caps = capacities.map((cap) => Math.min(cap, units));
  if (caps.reduce((sum, cap) => sum + cap, 0) < units) return null;
  const total = weights.reduce((sum, weight) => sum + BigInt(weight), 0n);
  const counts = weights.map((weight, index) =>
    total === 0n ? 0 : Math.min(roundedShare(BigInt(units) * BigInt(weight), total), caps[index] ?? 0));
  let sum = counts.reduce((all, count) => all + count, 0);
  // Each round moves the sum by one toward `units`, and the capacities reach it: both loops end.
  for (; sum < units; sum += 1) {
    const index = lastLargest(counts, (count, at) => (caps[at] ?? 0) - count);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  for (; sum > units; sum -= 1) {
    const index = lastLargest(counts, (count) => count);
    counts[index] = (counts[index] ?? 0) - 1;
  }
  return counts;
}

/** Half away from zero; both are non-negative. */
function roundedShare(numerator: bigint, denominator: bigint): number {
  return Number((2n * numerator + denominator) / (2n * denominator));
}

function lastLargest(counts: readonly number[], measure: (count: number, index: number) => number): number {
  let best = 0;
  let bestMeasure = -Infinity;
  counts.forEach((count, index) => {
    const value = measure(count, index);
    if (value >= bestMeasure) {
      best = index;
      bestMeasure = value;
    }
  });
  return best;
}
