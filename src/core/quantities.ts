/**
 * Quantities as people read them: decimal bytes (1 GB = 1e9 bytes) and plain plurals.
 *
 * One place, so that a plan, an error and a log never show one number in two ways.
 */

const UNITS: readonly (readonly [unit: string, size: number])[] = [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]];

/** `7.6 GB`, `312.0 MB`, `17 bytes`. One decimal. */
export function bytesText(bytes: number): string {
  for (const [unit, size] of UNITS) {
    // A value that would print as 1000.0 of a unit belongs to the next one.
    if (bytes >= size * 0.99995) return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} bytes`;
}

/** `1 layer`, `7 layers`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
