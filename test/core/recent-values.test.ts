import { describe, expect, it } from 'vitest';
import { median, RecentValues } from '../../src/core/recent-values.js';

describe('the latest values', () => {
  it('have a median that one slow moment does not move', () => {
    const recent = new RecentValues(5);
    expect(recent.median()).toBeNull();
    for (const value of [400, 410, 90_000, 390]) recent.add(value);
    expect(recent.median()).toBe(400);
  });

  it('are only the latest', () => {
    const recent = new RecentValues(3);
    for (const value of [1000, 1000, 1000, 5, 6, 7]) recent.add(value);
    expect(recent.median()).toBe(6);
    recent.add(9);
    expect(recent.median()).toBe(7);
  });

  it('of an even number, the lower one in the middle', () => {
    expect(median([4, 1, 3, 2])).toBe(2);
    expect(median([])).toBeNull();
  });
});
