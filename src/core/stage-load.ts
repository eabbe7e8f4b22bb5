/**
 * How busy each stage was lately: its runner's compute time over wall time, as the head learns it from returned steps.
 *
 * Pure. Two windows take turns, so that a figure covers between one and two window lengths and costs a few numbers.
 */
import type { Millis } from './types.js';

/** Short enough to show what is going on, long enough to hold many steps. */
const LOAD_WINDOW_MS = 5_000;

interface Window {
  readonly startedAtMs: Millis;
  readonly micros: number[];
}

export class StageLoad {
  private previous: Window | null = null;
  private current: Window;

  constructor(private readonly stages: number, nowMs: Millis) {
    this.current = this.emptyWindow(nowMs);
  }

  /** Compute time of each stage on a step that came around; in rank order. */
  stepReturned(stageMicros: readonly number[], nowMs: Millis): void {
    this.turn(nowMs);
    stageMicros.slice(0, this.stages).forEach((micros, rank) => {
      this.current.micros[rank] = (this.current.micros[rank] ?? 0) + micros;
    });
  }

  /** 0..1 per stage, in rank order. */
  busyShares(nowMs: Millis): readonly number[] {
    this.turn(nowMs);
    const since = this.previous?.startedAtMs ?? this.current.startedAtMs;
    const wallMicros = Math.max(1, (nowMs - since) * 1000);
    return this.current.micros.map((micros, rank) => Math.min(1, (micros + (this.previous?.micros[rank] ?? 0)) / wallMicros));
  }

  private turn(nowMs: Millis): void {
    const age = nowMs - this.current.startedAtMs;
    if (age < LOAD_WINDOW_MS) return;
    this.previous = age < 2 * LOAD_WINDOW_MS ? this.current : null;
    this.current = this.emptyWindow(nowMs);
  }

  private emptyWindow(startedAtMs: Millis): Window {
    return { startedAtMs, micros: new Array<number>(this.stages).fill(0) };
  }
}
