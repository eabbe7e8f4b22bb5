/**
 * Small float formats by name, `f<N>e<X>m<Y>`: the grid of values that weights are rounded to.
 *
 * All codes are finite numbers (no infinity, no NaN), the bias is 2^(X-1) - 1, values beyond the largest saturate, NaN
 * becomes 0, ties go to the even code. It must not know how a rounded weight is stored.
 */

/** Widest format. */
const MAX_MINIFLOAT_BITS = 8;

export interface Minifloat {
  /** e.g. `f4e3m0` */
  readonly name: string;
  readonly bits: number;
  readonly exponentBits: number;
  readonly mantissaBits: number;
  /** Non-negative values by code, ascending; index = code without the sign bit. `[2^(bits - 1)]` */
  readonly grid: Float64Array;
}

const NAME = /^f([1-9])e([0-9])m([0-9])$/;

/** Null when the name is no format: bits do not add up, no exponent, more than eight bits. */
export function parseMinifloat(name: string): Minifloat | null {
  const match = NAME.exec(name);
  if (match === null) return null;
  const [bits, exponentBits, mantissaBits] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (bits > MAX_MINIFLOAT_BITS || exponentBits < 1 || bits !== 1 + exponentBits + mantissaBits) return null;
  return { name, bits, exponentBits, mantissaBits, grid: gridOf(exponentBits, mantissaBits) };
}

function gridOf(exponentBits: number, mantissaBits: number): Float64Array {
  const bias = 2 ** (exponentBits - 1) - 1;
  const steps = 2 ** mantissaBits;
  return Float64Array.from({ length: 2 ** exponentBits * steps }, (_value, code) => {
    const exponent = Math.floor(code / steps);
    const mantissa = code % steps;
    // Exponent 0 holds zero and the subnormals, at the spacing of exponent 1.
    return exponent === 0 ? (mantissa / steps) * 2 ** (1 - bias) : (1 + mantissa / steps) * 2 ** (exponent - bias);
  });
}

/** Nearest value of the format. */
export function roundToMinifloat(format: Minifloat, value: number): number {
  if (Number.isNaN(value)) return 0;
  const magnitude = Math.abs(value);
  const { grid } = format;
  let low = 0;
  let high = grid.length - 1;
  // Invariant: grid[low] <= magnitude, or low = 0; ends with low and high adjacent or equal. At most 7 rounds.
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((grid[middle] ?? 0) <= magnitude) low = middle;
    else high = middle;
  }
  const below = grid[low] ?? 0;
  const above = grid[high] ?? 0;
  const up = above - magnitude;
  const down = magnitude - below;
  const rounded = up < down || (up === down && low % 2 === 1) ? above : below;
  return value < 0 && rounded !== 0 ? -rounded : rounded;
}
