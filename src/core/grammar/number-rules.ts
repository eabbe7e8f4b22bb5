/**
 * Numbers between bounds, in GBNF: digit by digit, as a grammar knows no arithmetic. Without exponents. Pure.
 */
import { RingError } from '../errors.js';
import { oneOf } from './gbnf.js';
import { WHOLE_DIGITS } from './json-rules.js';

export interface NumberBound {
  readonly value: number;
  readonly exclusive: boolean;
}

const LARGEST_WHOLE = 10 ** WHOLE_DIGITS - 1;
/** Digits behind the point that no bound looks at. */
const FREE_FRACTION_DIGITS = 15;

/** Whole numbers from `low` to `high`; null = no bound. Null when there is none. */
export function integersBetween(low: NumberBound | null, high: NumberBound | null): string | null {
  const first = low === null ? -LARGEST_WHOLE : low.exclusive ? Math.floor(low.value) + 1 : Math.ceil(low.value);
  const last = high === null ? LARGEST_WHOLE : high.exclusive ? Math.ceil(high.value) - 1 : Math.floor(high.value);
  return wholeBetween(Math.max(first, -LARGEST_WHOLE), Math.min(last, LARGEST_WHOLE));
}

/** Numbers from `low` to `high`. Null when there is none. Throws `bad_request` for bounds of more digits than can be written out. */
export function numbersBetween(low: NumberBound | null, high: NumberBound | null): string | null {
  const parts: string[] = [];
  const zeroOrMore = high === null || high.value > 0 || (high.value === 0 && !high.exclusive);
  if (zeroOrMore) parts.push(...magnitudes(low !== null && low.value >= 0 ? low : { value: 0, exclusive: false }, high));
  if (low === null || low.value < 0) {
    const nearest = high !== null && high.value <= 0 ? { value: -high.value, exclusive: high.exclusive } : { value: 0, exclusive: false };
    const farthest = low === null ? null : { value: -low.value, exclusive: low.exclusive };
    const below = magnitudes(nearest, farthest);
    if (below.length > 0) parts.push(`"-" ${oneOf(below)}`);
  }
  return parts.length === 0 ? null : oneOf(parts);
}

function wholeBetween(first: number, last: number): string | null {
  if (first > last) return null;
  const parts: string[] = [];
  if (last >= 0) parts.push(...digitsBetween(Math.max(0, first), last));
  if (first < 0) parts.push(`"-" ${oneOf(digitsBetween(Math.max(1, -last), -first))}`);
  return oneOf(parts);
}

/** Alternatives for `0 <= first <= last`. */
function digitsBetween(first: number, last: number): readonly string[] {
  const parts: string[] = [];
  const shortest = String(first).length;
  const longest = String(last).length;
  for (let digits = shortest; digits <= longest; digits += 1) {
    const low = digits === shortest ? String(first) : `1${'0'.repeat(digits - 1)}`;
    const high = digits === longest ? String(last) : '9'.repeat(digits);
    parts.push(sameLength(low, high));
  }
  return parts;
}

/** Digits from `low` to `high`, which are equally long. */
function sameLength(low: string, high: string): string {
  if (low === '') return '""';
  const first = Number(low[0]);
  const last = Number(high[0]);
  const more = low.length - 1;
  if (/^0*$/.test(low.slice(1)) && /^9*$/.test(high.slice(1))) return sequence(digit(first, last), anyDigits(more));
  if (first === last) return sequence(`"${first}"`, sameLength(low.slice(1), high.slice(1)));
  const middle = first + 1 <= last - 1 ? [sequence(digit(first + 1, last - 1), anyDigits(more))] : [];
  return oneOf([
    sequence(`"${first}"`, sameLength(low.slice(1), '9'.repeat(more))),
    ...middle,
    sequence(`"${last}"`, sameLength('0'.repeat(more), high.slice(1))),
  ]);
}

/** Alternatives for numbers of `low` and more, at most `high`, none of them negative. */
function magnitudes(low: NumberBound, high: NumberBound | null): readonly string[] {
  if (high !== null && (low.value > high.value || (low.value === high.value && (low.exclusive || high.exclusive)))) return [];
  const [lowWhole, lowFraction] = decimal(low.value);
  const [highWhole, highFraction] = high === null ? [LARGEST_WHOLE + 1, ''] : decimal(high.value);
  const parts: string[] = [];
  const from = { digits: lowFraction, exclusive: low.exclusive };
  const to = high === null ? null : { digits: highFraction, exclusive: high.exclusive };
  const add = (whole: string, fraction: string | null): void => {
    if (fraction !== null) parts.push(sequence(whole, fraction));
  };
  if (lowWhole === highWhole) add(`"${lowWhole}"`, fractionBetween(from, to));
  else {
    add(`"${lowWhole}"`, fractionBetween(from, null));
    const between = wholeBetween(lowWhole + 1, Math.min(highWhole - 1, LARGEST_WHOLE));
    if (between !== null) add(between, fractionBetween(null, null));
    if (to !== null) add(`"${highWhole}"`, fractionBetween(null, to));
  }
  return parts;
}

interface FractionBound {
  readonly digits: string;
  readonly exclusive: boolean;
}

/** What may stand behind a whole number, with its point; null = nothing may. */
function fractionBetween(low: FractionBound | null, high: FractionBound | null): string | null {
  const rest = fractionDigits(0, low, high);
  const digits = rest.filter((part) => part !== '');
  const parts = [...(rest.includes('') ? ['""'] : []), ...(digits.length === 0 ? [] : [`"." ${oneOf(digits)}`])];
  return parts.length === 0 ? null : oneOf(parts);
}

/** Alternatives for the digits from `at` on, '' where the number may end; a bound is null once the digits are inside it. */
function fractionDigits(at: number, low: FractionBound | null, high: FractionBound | null): readonly string[] {
  if (low === null && high === null) return ['', `[0-9]{1,${FREE_FRACTION_DIGITS}}`];
  const lowLeft = low?.digits.slice(at) ?? '';
  const highLeft = high?.digits.slice(at) ?? '';
  const isLowest = low !== null && lowLeft === '';
  const isHighest = high !== null && highLeft === '';
  const parts: string[] = [];
  if ((low === null || (isLowest && !low.exclusive)) && (high === null || !isHighest || !high.exclusive)) parts.push('');
  // Equal to the upper bound so far: only zeros may follow, and those say nothing.
  if (isHighest) return parts;
  if (isLowest && high === null) {
    parts.push(low.exclusive ? `"0"{0,${FREE_FRACTION_DIGITS}} [1-9] [0-9]{0,${FREE_FRACTION_DIGITS}}` : `[0-9]{1,${FREE_FRACTION_DIGITS}}`);
    return parts;
  }
  const first = low === null ? 0 : Number(lowLeft[0] ?? '0');
  const last = high === null ? 9 : Number(highLeft[0] ?? '0');
  for (const [digitLow, digitHigh, lowGoesOn, highGoesOn] of spans(first, last, low !== null, high !== null)) {
    const rest = fractionDigits(at + 1, lowGoesOn ? low : null, highGoesOn ? high : null);
    if (rest.length > 0) parts.push(sequence(digit(digitLow, digitHigh), oneOf(rest.map((part) => (part === '' ? '""' : part)))));
  }
  return parts;
}

/** The first and the last digit stay at their bounds; those between are inside. */
function spans(first: number, last: number, low: boolean, high: boolean): readonly (readonly [number, number, boolean, boolean])[] {
  if (first > last) return [];
  if (first === last) return [[first, last, low, high]];
  const insideFirst = low ? first + 1 : first;
  const insideLast = high ? last - 1 : last;
  return [
    ...(low ? [[first, first, true, false] as const] : []),
    ...(insideFirst <= insideLast ? [[insideFirst, insideLast, false, false] as const] : []),
    ...(high ? [[last, last, false, true] as const] : []),
  ];
}

/** Whole part, and the digits behind the point without zeros at their end. */
function decimal(value: number): readonly [number, string] {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(String(value));
  const whole = Number(match?.[1] ?? NaN);
  if (match === null || whole > LARGEST_WHOLE) throw new RingError('bad_request', `the bound ${value} has more digits than are supported`);
  return [whole, (match[2] ?? '').replace(/0+$/, '')];
}

function digit(first: number, last: number): string {
  return first === last ? `"${first}"` : `[${first}-${last}]`;
}

function anyDigits(count: number): string {
  if (count === 0) return '';
  return count === 1 ? '[0-9]' : `[0-9]{${count}}`;
}

function sequence(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '' && part !== '""').join(' ') || '""';
}
