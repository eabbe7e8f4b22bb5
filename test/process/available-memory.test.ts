import { describe, expect, it } from 'vitest';
import { memAvailableBytes, vmStatBytes } from '../../src/process/available-memory.js';

describe('B15: memory that is available', () => {
  it('is MemAvailable on Linux', () => {
    expect(memAvailableBytes('MemTotal:       16318424 kB\nMemFree:          423424 kB\nMemAvailable:   11012345 kB\n')).toBe(11_012_345 * 1024);
    expect(memAvailableBytes('MemTotal:       16318424 kB\n')).toBeNull();
  });

  it('is free, inactive and purgeable pages on macOS', () => {
    const text = [
      'Mach Virtual Memory Statistics: (page size of 16384 bytes)', 'Pages free:                               10000.',
      'Pages active:                            300000.', 'Pages inactive:                          200000.', 'Pages speculative:                         5000.',
      'Pages purgeable:                           3000.', '"Translation faults":                1234567890.', '',
    ].join('\n');
    expect(vmStatBytes(text)).toBe(213_000 * 16_384);
    expect(vmStatBytes('')).toBeNull();
    expect(vmStatBytes('Pages free: 1.')).toBeNull();
  });
});
