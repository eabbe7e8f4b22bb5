import { describe, expect, it } from 'vitest';
import { parseMinifloat, roundToMinifloat } from '../../src/core/minifloat.js';
import type { Minifloat } from '../../src/core/minifloat.js';
import { parsePrecision, PRECISION_NAMES } from '../../src/core/precision.js';

function format(name: string): Minifloat {
  const parsed = parseMinifloat(name);
  if (parsed === null) throw new Error(`${name} is no format`);
  return parsed;
}

describe('B6: minifloats', () => {
  it('f4e3m0 is 0, ±{.25, .5, 1, 2, 4, 8, 16}', () => {
    expect([...format('f4e3m0').grid]).toEqual([0, 0.25, 0.5, 1, 2, 4, 8, 16]);
  });

  it.each([[1.4, 1], [1.6, 2], [-3, -2], [100, 16], [-100, -16], [Infinity, 16], [NaN, 0], [0.1, 0], [0.125, 0], [0.13, 0.25], [-0.01, 0], [1.5, 2]])(
    'f4e3m0 rounds %d to %d', (value, rounded) => {
      expect(Object.is(roundToMinifloat(format('f4e3m0'), value), -0)).toBe(false);
      expect(roundToMinifloat(format('f4e3m0'), value)).toBe(rounded);
    });

  it.each(['f4e3m1', 'f9e4m4', 'f1e0m0', 'e3m0', 'f4e3m0x', 'f3e0m2', 'F4e3m0', 'f4e-3m0', ''])('%s is rejected', (name) => {
    expect(parseMinifloat(name)).toBeNull();
  });

  it('has subnormals and no infinity: f6e3m2 and f8e5m2', () => {
    expect([...format('f6e3m2').grid].slice(0, 6)).toEqual([0, 0.0625, 0.125, 0.1875, 0.25, 0.3125]);
    expect(format('f6e3m2').grid.at(-1)).toBe(28);
    expect(format('f8e5m2').grid.at(-1)).toBe(1.75 * 2 ** 16);
    expect(format('f8e4m3').grid.at(-1)).toBe(480);
    expect([...format('f2e1m0').grid]).toEqual([0, 2]);
  });

  it('keeps every value of its grid, and rounds all others to a nearest one, for every format', () => {
    for (let exponentBits = 1; exponentBits <= 7; exponentBits += 1) {
      for (let mantissaBits = 0; 1 + exponentBits + mantissaBits <= 8; mantissaBits += 1) {
        const each = format(`f${1 + exponentBits + mantissaBits}e${exponentBits}m${mantissaBits}`);
        each.grid.forEach((value, code) => {
          expect(roundToMinifloat(each, value)).toBe(value);
          expect(roundToMinifloat(each, -value)).toBe(value === 0 ? 0 : -value);
          const next = each.grid[code + 1];
          if (next === undefined) return;
          expect(next).toBeGreaterThan(value);
          expect(roundToMinifloat(each, (value + next) / 2)).toBe(code % 2 === 0 ? value : next);
        });
      }
    }
  });
});

describe('B6: precision names', () => {
  it('are all known, and any minifloat besides', () => {
    for (const name of PRECISION_NAMES) expect(parsePrecision(name), name).not.toBeNull();
    expect(parsePrecision('mixed')).toMatchObject({ kind: 'stored' });
    expect(parsePrecision(' BF16 ')).toMatchObject({ kind: 'ggml', type: 'bf16' });
    expect(parsePrecision('fp8')).toMatchObject({ kind: 'minifloat', scale: 'tensor', format: { name: 'f8e4m3' } });
    expect(parsePrecision('f6e3m2')).toMatchObject({ kind: 'minifloat', scale: 'none' });
    expect(parsePrecision('f9e4m4')).toBeNull();
    expect(parsePrecision('int8')).toBeNull();
  });
});
