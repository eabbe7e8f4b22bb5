/**
 * How fast a peer may send control messages: what comes faster is read later, which the peer feels as back-pressure, and
 * whoever keeps it up breaks the protocol. A flood must cost its sender, not this node's other peers.
 *
 * An agent of a busy ring sends some thousand small messages a second; twice as many for seconds on end are a flood. Pure but for the clock it is given.
 */

/** Messages that are handled before everything else gets a turn. */
export const TURN_MESSAGES = 128;
export const WINDOW_MS = 250;
export const MAX_WINDOW_MESSAGES = 2_000;
export const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
/** Full windows in a row. */
export const MAX_FULL_WINDOWS = 60;

export type PaceVerdict =
  | { readonly kind: 'go_on' }
  /** Others first. */
  | { readonly kind: 'yield' }
  | { readonly kind: 'wait'; readonly waitMs: number }
  | { readonly kind: 'flood' };

export class MessagePace {
  private windowStartMs = Number.NEGATIVE_INFINITY;
  private messages = 0;
  private bytes = 0;
  private fullWindows = 0;
  private sinceTurn = 0;

  /** Counts a message; what to do before the next one is read. */
  count(bytes: number, nowMs: number): PaceVerdict {
    if (nowMs - this.windowStartMs >= WINDOW_MS) {
      if (!this.isFull()) this.fullWindows = 0;
      this.windowStartMs = nowMs;
      this.messages = 0;
      this.bytes = 0;
    }
    this.messages += 1;
    this.bytes += bytes;
    this.sinceTurn += 1;
    if (this.isFull()) {
      this.fullWindows += 1;
      this.sinceTurn = 0;
      return this.fullWindows > MAX_FULL_WINDOWS ? { kind: 'flood' } : { kind: 'wait', waitMs: this.windowStartMs + WINDOW_MS - nowMs };
    }
    if (this.sinceTurn < TURN_MESSAGES) return { kind: 'go_on' };
    this.sinceTurn = 0;
    return { kind: 'yield' };
  }

  private isFull(): boolean {
    return this.messages >= MAX_WINDOW_MESSAGES || this.bytes >= MAX_WINDOW_BYTES;
  }
}
