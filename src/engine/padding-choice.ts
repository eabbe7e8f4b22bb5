/**
 * Whether a batch of sequences is computed faster with padding lanes behind it.
 *
 * Kernels for repacked weights take rows by fours and the rest one by one: on a core of an x86 server three rows cost
 * twice what four do. Whether an engine, a type and a machine are like that is measured as they go, for each size: what
 * a call costs plain and padded, now and then anew. It must not know the engine.
 */
import { KERNEL_ROWS } from '../core/step-size.js';

/** Largest batch that is padded: beyond it the rest is a small part. */
const MAX_PADDED_LANES = 16;
const JUDGED_CALLS = 2;
/** After so many calls of a size, the other way is measured again. */
const JUDGED_AGAIN_AFTER_CALLS = 512;
/** Padding must save this share at least. */
const WORTHWHILE = 0.05;
const SMOOTHING = 0.25;

interface CallCost {
  samples: number;
  ms: number;
}

export class PaddingChoice {
  /** Rows of a call, padding included -> what it costs. */
  private readonly costs = new Map<number, CallCost>();
  private calls = 0;

  /** For a call of `lanes` sequences with a token each, that padding would make one of `padded`. */
  pays(lanes: number, padded: number): boolean {
    this.calls += 1;
    if (this.calls % JUDGED_AGAIN_AFTER_CALLS === 0) this.costs.clear();
    const plain = this.costs.get(lanes);
    if (plain === undefined || plain.samples < JUDGED_CALLS) return false;
    const wide = this.costs.get(padded);
    if (wide === undefined || wide.samples < JUDGED_CALLS) return true;
    return wide.ms < plain.ms * (1 - WORTHWHILE);
  }

  measured(rows: number, ms: number): void {
    if (rows > MAX_PADDED_LANES) return;
    const cost = this.costs.get(rows);
    if (cost === undefined) {
      this.costs.set(rows, { samples: 1, ms });
      return;
    }
    // The first call of a shape also pays for setting it up; an interrupted one says nothing.
    cost.ms = cost.samples < JUDGED_CALLS ? Math.min(cost.ms, ms) : cost.ms + (Math.min(ms, cost.ms * 2) - cost.ms) * SMOOTHING;
    cost.samples += 1;
  }
}

/** Lanes of a call after padding; the same number where that is no use. One row is what engines are best at. */
export function paddedLanes(lanes: number): number {
  if (lanes < 2 || lanes >= MAX_PADDED_LANES) return lanes;
  return Math.ceil(lanes / KERNEL_ROWS) * KERNEL_ROWS;
}
