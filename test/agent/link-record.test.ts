import { describe, expect, it } from 'vitest';
import { steadyLinks } from '../../src/agent/link-record.js';

describe('the ways in a record', () => {
  const link = (nodeId: string, roundTripMicros: number, bytesPerSecond: number | null = null) => ({ nodeId, roundTripMicros, bytesPerSecond });

  it('stand in order and stay while they are about the same', () => {
    const published = [link('a', 400), link('b', 1000, 1e8)];
    expect(steadyLinks(published, [link('b', 1900, 0.6e8), link('a', 250)])).toEqual(published);
  });

  it('change when they are others altogether, come and go with their nodes', () => {
    const published = [link('a', 400), link('b', 1000, 1e8), link('c', 1)];
    expect(steadyLinks(published, [link('a', 900), link('b', 1000, 1e7), link('d', 3)])).toEqual([link('a', 900), link('b', 1000, 1e7), link('d', 3)]);
  });

  it('are bounded', () => {
    expect(steadyLinks([], Array.from({ length: 200 }, (_, index) => link(`n${index}`, 1)))).toHaveLength(64);
  });
});
