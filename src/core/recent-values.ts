/** The latest of many measured values, and their median: what one slow moment does not move. Pure. */
export class RecentValues {
  private readonly values: number[] = [];
  private next = 0;

  /** `kept`: how many count. */
  constructor(private readonly kept: number) {}

  add(value: number): void {
    this.values[this.next] = value;
    this.next = (this.next + 1) % this.kept;
  }

  /** Null before the first. */
  median(): number | null {
    return median(this.values);
  }
}

/** The lower one of the two in the middle; null of none. */
export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}
