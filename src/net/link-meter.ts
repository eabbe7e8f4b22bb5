/**
 * What was seen of the way to one peer: how long a ping takes, and how fast weights came. Only what happens anyway is
 * measured; nothing is sent to fill a wire.
 *
 * It must not know streams, peers or what the figures are for.
 */
import { RecentValues } from '../core/recent-values.js';
import type { LinkFigures } from '../core/types.js';

/** The shortest of this many round trips counts: everything else the two machines do only makes one longer. */
const ROUND_TRIPS_KEPT = 8;
/** Of fewer, each may have waited for an agent that had just started: what is not measured is better than that. */
const MIN_ROUND_TRIPS = 3;
/** Shorter transfers measure the start of a stream, not the way. */
export const MIN_TRANSFER_BYTES = 1_000_000;
const TRANSFERS_KEPT = 8;

export class LinkMeter {
  private readonly roundTripsMs: number[] = [];
  private readonly rates = new RecentValues(TRANSFERS_KEPT);

  roundTrip(ms: number): void {
    this.roundTripsMs.push(ms);
    if (this.roundTripsMs.length > ROUND_TRIPS_KEPT) this.roundTripsMs.shift();
  }

  /** `ms`: time in which bytes were waited for; what was done with them does not count. */
  transfer(bytes: number, ms: number): void {
    if (bytes >= MIN_TRANSFER_BYTES && ms > 0) this.rates.add((bytes * 1000) / ms);
  }

  /** Null until some pings were answered. */
  figures(): Omit<LinkFigures, 'nodeId'> | null {
    if (this.roundTripsMs.length < MIN_ROUND_TRIPS) return null;
    const rate = this.rates.median();
    return {
      roundTripMicros: Math.max(1, Math.round(Math.min(...this.roundTripsMs) * 1000)),
      bytesPerSecond: rate === null ? null : Math.round(rate),
    };
  }
}
