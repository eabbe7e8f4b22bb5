import { describe, expect, it } from 'vitest';
import { LinkMeter, MIN_TRANSFER_BYTES } from '../../src/net/link-meter.js';

describe('the figures of a way', () => {
  it('are none before the third answer: the first ones may have waited for agents that had just started', () => {
    const meter = new LinkMeter();
    for (const ms of [90, 40]) {
      expect(meter.figures()).toBeNull();
      meter.roundTrip(ms);
    }
    expect(meter.figures()).toBeNull();
    meter.roundTrip(1);
    expect(meter.figures()?.roundTripMicros).toBe(1000);
  });

  it('are the shortest of the late round trips, so that a way that became longer is seen', () => {
    const meter = new LinkMeter();
    for (const ms of [0.4, 9, 3]) meter.roundTrip(ms);
    expect(meter.figures()).toEqual({ roundTripMicros: 400, bytesPerSecond: null });
    for (let count = 0; count < 8; count += 1) meter.roundTrip(5);
    expect(meter.figures()?.roundTripMicros).toBe(5000);
  });

  it('take a rate from large transfers only', () => {
    const meter = new LinkMeter();
    for (let count = 0; count < 3; count += 1) meter.roundTrip(1);
    meter.transfer(MIN_TRANSFER_BYTES - 1, 1);
    expect(meter.figures()?.bytesPerSecond).toBeNull();
    for (const ms of [10, 100, 20]) meter.transfer(MIN_TRANSFER_BYTES, ms);
    expect(meter.figures()?.bytesPerSecond).toBe(50_000_000);
  });
});
