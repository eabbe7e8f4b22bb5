import { describe, expect, it } from 'vitest';
import { quantizeChunk, typeTraits } from '../../src/engine/quantize.js';
import { allGgmlTypes } from '../../src/model/ggml-types.js';

const values = Float32Array.from({ length: 512 }, (_, index) => Math.fround(Math.sin(index * 0.7) * 3));

describe('number formats', () => {
  it('block sizes are those that the model code counts with', () => {
    for (const type of allGgmlTypes()) {
      const traits = typeTraits(type.id);
      expect([traits.name, traits.blockSize, traits.typeSize], type.name).toEqual([traits.name, type.blockElements, type.blockBytes]);
    }
  });

  it.each([[0, 0], [1, 2e-3], [30, 2e-2], [8, 2e-2], [2, 0.4]])('type %i goes there and back within %d', (type, tolerance) => {
    const bytes = quantizeChunk(type, values, 2, 256);
    const back = typeTraits(type).dequantize(bytes, 512);
    const worst = values.reduce((most, value, index) => Math.max(most, Math.abs(value - (back[index] ?? 0))), 0);
    expect(worst).toBeLessThanOrEqual(tolerance);
  });

  it('dequantises q8_0 as its definition says', () => {
    // A block: f16 scale (0.5 = 0x3800), then 32 signed bytes.
    const block = new Uint8Array(34);
    block.set([0x00, 0x38, 2, 0xff, 127, 0x80]);
    expect([...typeTraits(8).dequantize(block, 32).subarray(0, 5)]).toEqual([1, -0.5, 63.5, -64, 0]);
  });

  it('refuses what is not whole blocks or not a type', () => {
    expect(() => typeTraits(8).dequantize(new Uint8Array(33), 32)).toThrow(/whole blocks/);
    expect(() => typeTraits(8).dequantize(new Uint8Array(34), 31)).toThrow(/whole blocks/);
    expect(() => quantizeChunk(8, values, 1, 33)).toThrow(/whole blocks/);
    for (const type of [4, 99, -1, 1.5]) expect(() => typeTraits(type)).toThrow(/unknown to the engine/);
  });
});
