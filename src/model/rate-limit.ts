/**
 * How fast bytes may come from the internet, all transfers of a node together (`--download-limit`): a bucket that fills at
 * the allowed rate and may run dry into debt, which the next bytes wait for.
 *
 * `waitMs` is pure arithmetic on a time that is handed in. It must not know what is transferred.
 */

/** What may come at once after a pause. */
const BURST_SECONDS = 0.25;
const MAX_WAIT_MS = 60_000;

export class RateLimit {
  private availableBytes: number;
  private filledAtMs: number | null = null;

  constructor(readonly bytesPerSecond: number) {
    this.availableBytes = bytesPerSecond * BURST_SECONDS;
  }

  /** Takes so many bytes and says how long to wait before they may be used. */
  waitMs(bytes: number, nowMs: number): number {
    const passedMs = Math.max(0, nowMs - (this.filledAtMs ?? nowMs));
    this.filledAtMs = nowMs;
    this.availableBytes = Math.min(this.bytesPerSecond * BURST_SECONDS, this.availableBytes + (this.bytesPerSecond * passedMs) / 1000) - bytes;
    if (this.availableBytes >= 0) return 0;
    return Math.min(MAX_WAIT_MS, Math.ceil((-this.availableBytes * 1000) / this.bytesPerSecond));
  }
}
