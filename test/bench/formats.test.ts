import { describe, expect, it } from 'vitest';
import { formatLines, formatPromises } from '../../scripts/bench/formats.js';
import type { MeasuredFormat } from '../../scripts/bench/formats.js';

function format(name: string, bits: number, perplexity: number, divergence: number): MeasuredFormat {
  return { name, bits, perplexity, divergence, bitsPerByte: 1.5, bytes: 4_000_000, storage: name };
}

const WEIGHTS = [format('f32', 32, 50, 0), format('f16', 16, 50.01, 1e-6), format('fp8', 8, 51.5, 0.004), format('mxfp8', 8, 50.2, 0.003), format('mxfp4', 4, 49.9, 0.07), format('f4e3m0', 4, 50, 0.001)];

describe('what formats cost', () => {
  it('is a sentence for each promise: near f32 by perplexity, ranked by divergence', () => {
    expect(formatPromises('weights', WEIGHTS)).toEqual([
      'met    weights in f16: 0.020 % from f32 (within 0.1 %)',
      'MISSED weights in fp8: 3.000 % from f32 (within 2 %)',
      'met    weights in mxfp8: 0.400 % from f32 (within 2 %)',
      'met    weights in mxfp4: diverges by 0.07000, more than every 8-bit format (at most 0.00400)',
      'MISSED weights in f4e3m0: diverges by 0.00100, more than every 8-bit format (at most 0.00400)',
    ]);
  });

  it('is three tables within 80 columns', () => {
    const lines = formatLines({ model: 'm.gguf', windows: 2, textBytes: 1000, weights: WEIGHTS, caches: [format('f32/f32', 32, 50, 0)], activations: [format('f32', 32, 50, 0)] });
    expect(lines.find((line) => line.startsWith('mxfp4'))).toMatch(/^mxfp4 +mxfp4 4\.00 +49\.900 +-0\.200 % +1\.5000 +0\.070000$/);
    for (const line of lines.filter((text) => !/^(met|MISSED)/.test(text))) expect(line.length).toBeLessThanOrEqual(80);
  });
});
