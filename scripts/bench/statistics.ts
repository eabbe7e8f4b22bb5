/** Medians and spreads of a handful of samples. Pure. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: readonly number[];
}

/** Throws when there is no sample: a figure without a measurement is a bug. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  const lower = sorted.length % 2 === 1 ? upper : sorted[middle - 1];
  const [min] = sorted;
  const max = sorted.at(-1);
  if (upper === undefined || lower === undefined || min === undefined || max === undefined) throw new Error('no samples');
  return { median: (upper + lower) / 2, min, max, samples };
}

/** Sample by sample; both were taken in the same rounds. */
export function ratios(samples: readonly number[], floor: readonly number[]): readonly number[] {
  return samples.map((sample, round) => sample / (floor[round] ?? Number.NaN));
}
