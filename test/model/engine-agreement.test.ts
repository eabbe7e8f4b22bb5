/** What model/ and the generator assume about the engine, compared with the engine. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateModel } from '../../scripts/generate-model.js';
import { encodeWeights, formatType, randomWeights } from '../../scripts/random-weights.js';
import { quantizeChunk, typeTraits } from '../../src/engine/quantize.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { allGgmlTypes } from '../../src/model/ggml-types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { writeHeaderOnly } from '../../src/model/stage-writer.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('tensor types', () => {
  it('have the engine\'s block sizes', () => {
    for (const type of allGgmlTypes()) {
      const traits = typeTraits(type.id);
      expect([traits.name, traits.blockSize, traits.typeSize]).toEqual([type.name, type.blockElements, type.blockBytes]);
    }
  });
});

describe('generated weights', () => {
  const values = new Float32Array(randomWeights({ seed: 'x', elements: 4096, centre: 0, deviation: 0.3, format: 'f32' }).buffer);

  it.each(['f16', 'q8_0', 'q4_0'] as const)('in %s read back as what was encoded, to the precision of the format', (format) => {
    const bytes = encodeWeights(values, format);
    const back = typeTraits(formatType(format)).dequantize(bytes, values.length);
    const limit = { f16: 0.001, q8_0: 0.01, q4_0: 0.2 }[format];
    back.forEach((value, index) => expect(Math.abs(value - (values[index] ?? 0))).toBeLessThan(limit));
  });

  it.each(['f16', 'q4_0'] as const)('in %s are the engine\'s own encoding', (format) => {
    expect(Buffer.compare(encodeWeights(values, format), quantizeChunk(formatType(format), values, 16, 256))).toBe(0);
  });

  it('are the same for the same seed', async () => {
    const directory = temporaryDirectory();
    for (const name of ['a', 'b']) await generateModel(join(directory, name), { architecture: 'llama', layers: 2, weights: 'q8_0' });
    expect(Buffer.compare(await readFile(join(directory, 'a')), await readFile(join(directory, 'b')))).toBe(0);
  });
});

describe('a header-only file', () => {
  it('gives the engine the model\'s vocabulary', async () => {
    const directory = temporaryDirectory();
    const target = join(directory, 'vocabulary.gguf');
    await writeHeaderOnly(await readGgufHeader('models/kjv-q8_0.gguf'), target);
    const whole = openVocabulary('models/kjv-q8_0.gguf');
    const headerOnly = openVocabulary(target);
    const text = 'And it came to pass, that Ünïcode was there.';
    const options = { addSpecial: true, parseSpecial: false };
    expect(headerOnly.size).toBe(2048);
    expect([...headerOnly.tokenize(text, options)]).toEqual([...whole.tokenize(text, options)]);
    whole.close();
    headerOnly.close();
  });
});
