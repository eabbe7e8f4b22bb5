/** Time that passes when a test says so. */
import type { Clock } from '../../src/ports.js';

interface Timer {
  readonly atMs: number;
  readonly call: () => void;
}

export class HandClock implements Clock {
  private readonly timers = new Set<Timer>();

  constructor(private nowMs = 0) {}

  now(): number {
    return this.nowMs;
  }

  after(delayMs: number, call: () => void): () => void {
    const timer = { atMs: this.nowMs + delayMs, call };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  /** Timers that are still to come. */
  get waiting(): number {
    return this.timers.size;
  }

  /** Runs what is due by then, in order. */
  pass(byMs: number): void {
    const endMs = this.nowMs + byMs;
    while (this.runNext(endMs));
    this.nowMs = endMs;
  }

  /** The same, and lets everything settle in between. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.nowMs + byMs;
    await settled();
    while (this.runNext(endMs)) await settled();
    this.nowMs = endMs;
    await settled();
  }

  private runNext(endMs: number): boolean {
    const [next] = [...this.timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
    if (next === undefined) return false;
    this.timers.delete(next);
    this.nowMs = Math.max(this.nowMs, next.atMs);
    next.call();
    return true;
  }
}

/** Until promises that nothing keeps waiting have gone through. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
