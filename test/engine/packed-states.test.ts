import { describe, expect, it } from 'vitest';
import { packStates, unpackStates } from '../../src/engine/packed-states.js';

const HIDDEN = 64;
const rows = Float32Array.from({ length: 3 * HIDDEN }, (_, index) => Math.sin(index) * 10 ** (index % 5 - 2));

function largestError(type: 'f16' | 'q8_0'): number {
  const packed = packStates(rows, HIDDEN, type);
  if (packed === null) throw new Error('not packed');
  const back = unpackStates(packed, HIDDEN);
  return rows.reduce((largest, value, index) => Math.max(largest, Math.abs(value - (back[index] ?? Number.NaN))), 0);
}

describe('packed hidden states', () => {
  it('take half the bytes as f16 and about a quarter as q8_0', () => {
    expect(packStates(rows, HIDDEN, 'f16')?.bytes.byteLength).toBe(3 * HIDDEN * 2);
    expect(packStates(rows, HIDDEN, 'q8_0')?.bytes.byteLength).toBe(3 * HIDDEN / 32 * 34);
  });

  it('come back within the type\'s step', () => {
    expect(largestError('f16')).toBeLessThanOrEqual(100 * 2 ** -11);
    expect(largestError('q8_0')).toBeLessThanOrEqual(100 / 127);
  });

  it('go as they are when f32 is asked for, and when f16 cannot hold a value', () => {
    expect(packStates(rows, HIDDEN, 'f32')).toBeNull();
    expect(packStates(Float32Array.from(rows, (value, index) => (index === 70 ? 70_000 : value)), HIDDEN, 'f16')).toBeNull();
    expect(packStates(Float32Array.from(rows, (value, index) => (index === 70 ? 1e9 : value)), HIDDEN, 'q8_0')).toBeNull();
  });

  it('are f16 where a row is no whole number of q8_0 blocks', () => {
    expect(packStates(new Float32Array(40), 40, 'q8_0')?.type).toBe('f16');
  });

  it('are refused when they are no whole rows', () => {
    expect(() => unpackStates({ type: 'f16', bytes: new Uint8Array(HIDDEN * 2 + 2) }, HIDDEN)).toThrowError(/no whole rows/);
  });
});
