/** B6: the built-in model in every precision: it loads, it runs, and what is lost is what the format loses. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { heldOutText, PLAIN_CACHE, QualityMeter } from '../../scripts/bench/perplexity.js';
import type { FormatQuality } from '../../scripts/bench/perplexity.js';
import { parseMinifloat, roundToMinifloat } from '../../src/core/minifloat.js';
import { convertedShape } from '../../src/core/node-tables.js';
import { typeTraits } from '../../src/engine/quantize.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { modelShape } from '../../src/model/model-shape.js';
import { planStageFile } from '../../src/model/stage-file.js';
import { writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource, readPlace } from '../../src/model/tensor-source.js';
import { convertFile } from '../../src/runner/convert-file.js';
import { MODEL_FILE } from '../engine/engine-support.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Enough for the order of the formats; `npm run bench -- --perplexity` reads all of the text. */
const WINDOWS = { windowTokens: 96, maxWindows: 6 };
const EIGHT_BITS = ['fp8', 'fp8e5m2', 'mxfp8'] as const;
const FOUR_BITS = ['mxfp4', 'nvfp4', 'f4e3m0'] as const;
const text = heldOutText(MODEL_FILE, readFileSync(fileURLToPath(new URL('../../scripts/bench/held-out.txt', import.meta.url)), 'utf8'), WINDOWS);
const directory = temporaryDirectory('precision');
const meter = new QualityMeter(text);
const found = new Map<string, FormatQuality>();

async function inPrecision(precision: string): Promise<string> {
  const targetFile = join(directory, `${precision}.gguf`);
  if (!existsSync(targetFile)) await convertFile({ sourceFile: MODEL_FILE, targetFile, precision });
  return targetFile;
}

describe('B6: a model in another precision', () => {
  afterAll(() => {
    expect(readdirSync(directory).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it.each(['f32', 'f16', 'bf16', 'fp8', 'fp8e5m2', 'mxfp8', 'mxfp4', 'nvfp4', 'f6e3m2', 'f4e3m0'])('%s loads and runs', async (precision) => {
    const measured = meter.measure(precision, await inPrecision(precision), PLAIN_CACHE);
    expect(Number.isFinite(measured.perplexity)).toBe(true);
    found.set(precision, measured);
  });

  it('loses what the format loses, on a text that the model was not trained on', () => {
    const of = (precision: string): FormatQuality => found.get(precision) ?? { name: precision, perplexity: Number.NaN, bitsPerByte: Number.NaN, divergence: Number.NaN };
    const lost = (precision: string): number => Math.abs(of(precision).perplexity / of('f32').perplexity - 1);
    expect(lost('f16')).toBeLessThan(0.001);
    expect(of('f16').divergence).toBeLessThan(of('bf16').divergence);
    for (const eight of EIGHT_BITS) {
      expect(lost(eight), eight).toBeLessThan(0.02);
      expect(of(eight).divergence).toBeGreaterThan(of('bf16').divergence);
      for (const four of FOUR_BITS) expect(of(four).divergence, `${four} against ${eight}`).toBeGreaterThan(of(eight).divergence);
    }
  });

  it('B7: keys and values lose what their format loses', () => {
    const caches = new QualityMeter(text);
    const [plain, mixed, eight, four] = ([['f16', 'f16'], ['q8_0', 'f16'], ['q8_0', 'q8_0'], ['q4_0', 'q4_0']] as const)
      .map(([keyType, valueType]) => caches.measure(`${keyType}/${valueType}`, MODEL_FILE, { keyType, valueType }));
    const lost = (format: FormatQuality | undefined): number => Math.abs((format?.perplexity ?? Number.NaN) / (plain?.perplexity ?? Number.NaN) - 1);
    expect(lost(mixed)).toBeLessThan(0.02);
    expect(lost(eight)).toBeLessThan(0.02);
    expect(mixed?.divergence).toBeLessThan(eight?.divergence ?? 0);
    expect(eight?.divergence).toBeLessThan(four?.divergence ?? 0);
  });

  it('has the bytes that the plan counts', async () => {
    const shape = modelShape(await readGgufHeader(MODEL_FILE), 'kjv');
    for (const precision of ['f32', 'f16', 'fp8', 'mxfp4']) {
      const converted = modelShape(await readGgufHeader(await inPrecision(precision)), 'kjv');
      expect(convertedShape(shape, precision).layerBytes).toEqual(converted.layerBytes);
      expect(convertedShape(shape, precision).wholeBytes).toBe(converted.wholeBytes);
    }
    expect(statSync(await inPrecision('f32')).size).toBeGreaterThan(statSync(await inPrecision('f16')).size);
    expect(convertedShape(shape, 'mixed')).toBe(shape);
    expect(convertedShape(shape, undefined)).toBe(shape);
  });

  it('has nothing but values of the grid in a minifloat, and the same ones in a stage as in the whole', async () => {
    const header = await readGgufHeader(MODEL_FILE);
    const stage = join(directory, 'stage.gguf');
    await writeStageFile(planStageFile(header, { range: { start: 2, end: 4 }, head: false, tail: false }), modelTensorSource(header, new DigestCache(null)), stage);
    await convertFile({ sourceFile: stage, targetFile: join(directory, 'stage.fp8e5m2.gguf'), precision: 'fp8e5m2' });
    const inStage = await valuesOf(join(directory, 'stage.fp8e5m2.gguf'), 'blk.0.attn_q.weight');
    expect(inStage).toEqual(await valuesOf(await inPrecision('fp8e5m2'), 'blk.2.attn_q.weight'));
    const format = parseMinifloat('f8e5m2');
    if (format === null) throw new Error('a format');
    expect(inStage.every((value) => roundToMinifloat(format, value) === value)).toBe(true);
    expect(await valuesOf(join(directory, 'stage.fp8e5m2.gguf'), 'blk.0.attn_norm.weight')).toEqual(await valuesOf(MODEL_FILE, 'blk.2.attn_norm.weight'));
  });

  it('refuses what is no conversion', async () => {
    await expect(convertFile({ sourceFile: MODEL_FILE, targetFile: join(directory, 'x.gguf'), precision: 'mixed' })).rejects.toMatchObject({ code: 'bad_config' });
    await expect(convertFile({ sourceFile: join(directory, 'none.gguf'), targetFile: join(directory, 'x.gguf'), precision: 'f16' })).rejects.toMatchObject({ code: 'io_failed' });
    expect(existsSync(join(directory, 'x.gguf'))).toBe(false);
  });
});

async function valuesOf(file: string, tensorName: string): Promise<Float32Array> {
  const tensor = (await readGgufHeader(file)).byName.get(tensorName);
  if (tensor === undefined) throw new Error(`${file} has no ${tensorName}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of readPlace({ path: file, offset: tensor.offset, sizeBytes: tensor.sizeBytes }, 0)) chunks.push(chunk);
  return typeTraits(tensor.ggmlType).dequantize(new Uint8Array(Buffer.concat(chunks)), tensor.dims.reduce((product, dim) => product * dim, 1));
}
