/**
 * B6: the built-in model in every precision: it loads, it runs, and what is lost is what the format loses.
 * The text is ours, in the manner of the books that the model was trained on.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseMinifloat, roundToMinifloat } from '../../src/core/minifloat.js';
import { convertedShape } from '../../src/core/node-tables.js';
import { openStage } from '../../src/engine/stage.js';
import { typeTraits } from '../../src/engine/quantize.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { modelShape } from '../../src/model/model-shape.js';
import { planStageFile } from '../../src/model/stage-file.js';
import { writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource, readPlace } from '../../src/model/tensor-source.js';
import { convertFile } from '../../src/runner/convert-file.js';
import { MODEL_FILE, open, wholeOptions } from '../engine/engine-support.js';
import { temporaryDirectory } from '../support/agent-process.js';

const TEXT = 'And it came to pass in those days, that the king of the land sent messengers unto the elders of the city, saying, Come ye up unto me, and '
  + 'bring with you your wives, and your little ones, and your cattle, and dwell in the land which I shall give you. And the elders answered and said '
  + 'unto the messengers, We will not come up, for the hand of the LORD is upon this place, and we shall not depart from it all the days of our life. '
  + 'Then was the king wroth, and he gathered together his host, even horsemen and chariots, a great multitude, and they pitched by the river over '
  + 'against the city. But the men of the city cried unto the LORD with a loud voice, and he heard them, and there was a great darkness in the camp, '
  + 'so that no man saw his brother, neither rose any from his place for the space of three days. And when the morning was come, behold, the host was '
  + 'departed every man unto his own house, and the people went out and gave thanks, and the name of that place is called the rest unto this day.';
const directory = temporaryDirectory('precision');
const found = new Map<string, Measured>();

interface Measured {
  readonly perplexity: number;
  /** Mean Kullback-Leibler divergence from f32, in nats: unlike perplexity it is never lowered by luck. */
  readonly divergence: number;
}
let reference: Float64Array[] = [];

function tokensOfText(): Int32Array {
  const vocabulary = openVocabulary(MODEL_FILE);
  try {
    return vocabulary.tokenize(TEXT, { addSpecial: true, parseSpecial: false });
  } finally {
    vocabulary.close();
  }
}

/** Log probabilities after every token of the text but the last. `[tokens - 1][vocabulary]` */
function predictions(stageFile: string, tokens: Int32Array): Float64Array[] {
  const stage = openStage(wholeOptions({ stageFile, keyType: 'f32', valueType: 'f32' }));
  open(stage, 0);
  const rows = Array.from(tokens.subarray(0, -1), (token, position) => {
    stage.step({ slices: [{ slot: 0, position, tokens: 1, sample: true }], tokens: Int32Array.of(token), hidden: null });
    const logits = stage.logits(0);
    const largest = logits.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
    const total = Math.log(logits.reduce((all, value) => all + Math.exp(value - largest), 0)) + largest;
    return Float64Array.from(logits, (value) => value - total);
  });
  stage.close();
  return rows;
}

function measure(stageFile: string): Measured {
  const tokens = tokensOfText();
  const rows = predictions(stageFile, tokens);
  if (reference.length === 0) reference = rows;
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const divergences = reference.map((sure, index) => sure.reduce((sum, log, token) => sum + Math.exp(log) * (log - (rows[index]?.[token] ?? 0)), 0));
  return { perplexity: Math.exp(-mean(rows.map((row, index) => row[tokens[index + 1] ?? 0] ?? 0))), divergence: mean(divergences) };
}

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
    const measured = measure(await inPrecision(precision));
    expect(Number.isFinite(measured.perplexity)).toBe(true);
    found.set(precision, measured);
  });

  it('loses what the format loses', () => {
    const of = (precision: string): Measured => found.get(precision) ?? { perplexity: Number.NaN, divergence: Number.NaN };
    const lost = (precision: string): number => Math.abs(of(precision).perplexity / of('f32').perplexity - 1);
    expect(lost('f16')).toBeLessThan(0.001);
    expect(of('f16').divergence).toBeLessThan(of('bf16').divergence);
    for (const eight of ['fp8', 'fp8e5m2', 'mxfp8']) {
      expect(lost(eight), eight).toBeLessThan(0.02);
      expect(of(eight).divergence).toBeGreaterThan(of('bf16').divergence);
      for (const four of ['mxfp4', 'nvfp4', 'f4e3m0']) expect(of(four).divergence, `${four} against ${eight}`).toBeGreaterThan(of(eight).divergence);
    }
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
