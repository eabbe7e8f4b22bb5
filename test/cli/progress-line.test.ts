import { describe, expect, it } from 'vitest';
import { prunedText, transferText } from '../../src/cli/command-models.js';
import { durationText, Rate } from '../../src/cli/progress-line.js';

describe('what a wait looks like', () => {
  it('is how much came, how fast, and how long it may take', () => {
    const transfer = { model: 'm', doneBytes: 1_250_000_000, totalBytes: 5_000_000_000 };
    expect(transferText(transfer, 10_000_000)).toBe('m 25 %, 1.3 GB of 5.0 GB, 10.0 MB/s, 6 min left');
    expect(transferText(transfer, null)).toBe('m 25 %, 1.3 GB of 5.0 GB');
    expect(transferText({ model: 'm', doneBytes: 0, totalBytes: 0 }, 0)).toBe('m 0 %, 0 B of 0 B');
  });

  it('ends with what was removed', () => {
    expect(prunedText({ removed: 2, brokenOff: 1, freedBytes: 4_200_000_000 })).toBe('2 unused stages and 1 broken-off download removed, 4.2 GB freed.');
    expect(prunedText({ removed: 0, brokenOff: 0, freedBytes: 0 })).toMatch(/^Nothing to remove/);
  });

  it('gives durations in the unit that matters', () => {
    expect([0, 42, 99, 180, 5_400, 7_500].map(durationText)).toEqual(['0 s', '42 s', '99 s', '3 min', '90 min', '2 h 5 min']);
  });

  it('has a rate that follows what comes, and starts again when less is there than before', () => {
    const rate = new Rate();
    expect(rate.next(0, 0)).toBeNull();
    expect(rate.next(1000, 1000)).toBe(1000);
    expect(rate.next(6000, 2000)).toBe(1800);
    expect(rate.next(0, 3000)).toBe(1800);
    expect(rate.next(1800, 4000)).toBe(1800);
  });
});
