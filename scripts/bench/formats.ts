/**
 * `npm run bench -- --perplexity`: the built-in model in every precision of weights and with every type of KV cache, and as
 * a ring of two with every type of hidden states between them, on a text of its own language that it was not trained on: three
 * tables, and a sentence for each promise.
 *
 * The text: Revelation 6 to 22 of the King James text (public domain), a verse a line, as the model was trained on the
 * rest of it. Another model may be named; then the text is just a text.
 *
 * A little noise in a small model's weights can lower its perplexity as well as raise it. How formats rank is therefore told by
 * the divergence of their predictions from f32's on the same text, which noise can only raise.
 */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ActivationType } from '../../src/core/types.js';
import { cacheBytes } from '../../src/core/memory-model.js';
import { parsePrecision, weightStorage } from '../../src/core/precision.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { modelShape } from '../../src/model/model-shape.js';
import { builtInModelPath } from '../../src/model/model-store.js';
import { convertFile } from '../../src/runner/convert-file.js';
import { openCutModel } from './cut-model.js';
import { heldOutText, PLAIN_CACHE, QualityMeter } from './perplexity.js';
import type { CacheTypes, FormatQuality } from './perplexity.js';
import { align } from './report.js';

/** Bits of a weight decide what is promised: f32 is what the others are compared with. */
const PRECISIONS: readonly { readonly name: string; readonly bits: number }[] = [
  { name: 'f32', bits: 32 }, { name: 'f16', bits: 16 }, { name: 'bf16', bits: 16 }, { name: 'fp8', bits: 8 }, { name: 'fp8e5m2', bits: 8 },
  { name: 'mxfp8', bits: 8 }, { name: 'f6e3m2', bits: 6 }, { name: 'mxfp4', bits: 4 }, { name: 'nvfp4', bits: 4 }, { name: 'f4e3m0', bits: 4 },
];
const CACHES: readonly (CacheTypes & { readonly bits: number })[] = [
  { keyType: 'f32', valueType: 'f32', bits: 32 }, { keyType: 'f16', valueType: 'f16', bits: 16 }, { keyType: 'bf16', valueType: 'bf16', bits: 16 },
  { keyType: 'f16', valueType: 'bf16', bits: 16 }, { keyType: 'q8_0', valueType: 'f16', bits: 8 }, { keyType: 'q8_0', valueType: 'q8_0', bits: 8 },
  { keyType: 'q4_0', valueType: 'q4_0', bits: 4 },
];
/** Hidden states between two stages; `blockBytes` are of 32 values. */
const ACTIVATIONS: readonly { readonly type: ActivationType; readonly bits: number; readonly blockBytes: number }[] = [
  { type: 'f32', bits: 32, blockBytes: 128 }, { type: 'f16', bits: 16, blockBytes: 64 }, { type: 'q8_0', bits: 8, blockBytes: 34 },
];
/** The reference's predictions are kept: `4 * vocabulary` bytes a token. */
const MAX_REFERENCE_BYTES = 256e6;
/** Part of f32's perplexity. bf16 has eight bits of mantissa, and no promise of its own. */
const F16_PROMISE = 0.001;
const EIGHT_BIT_PROMISE = 0.02;
const WINDOW_TOKENS = 512;
const MAX_WINDOWS = 64;

export interface MeasuredFormat extends FormatQuality {
  readonly bits: number;
  /** Of the layers' weights, or of a token's keys and values. */
  readonly bytes: number;
  /** The ggml type that weights lie in. */
  readonly storage: string;
}

export interface FormatsResult {
  readonly model: string;
  readonly windows: number;
  readonly textBytes: number;
  readonly weights: readonly MeasuredFormat[];
  readonly caches: readonly MeasuredFormat[];
  readonly activations: readonly MeasuredFormat[];
}

/** `say` tells what is measured now. */
export async function measureFormats(model: string | null, packageDirectory: string, say: (text: string) => void): Promise<FormatsResult> {
  const modelFile = model ?? builtInModelPath();
  if (modelFile === null) throw new Error('the built-in model is missing: models/kjv-q8_0.gguf');
  const directory = join(packageDirectory, '.bench', 'precision');
  await mkdir(directory, { recursive: true });
  const shape = modelShape(await readGgufHeader(modelFile), 'bench');
  const windowTokens = Math.min(WINDOW_TOKENS, shape.trainedContext > 0 ? shape.trainedContext : WINDOW_TOKENS);
  const maxWindows = Math.max(1, Math.min(MAX_WINDOWS, Math.floor(MAX_REFERENCE_BYTES / (4 * windowTokens * Math.max(1, shape.vocabularySize)))));
  const text = heldOutText(modelFile, await readFile(join(packageDirectory, 'scripts', 'bench', 'held-out.txt'), 'utf8'), { windowTokens, maxWindows });
  const weights: MeasuredFormat[] = [];
  const weightsMeter = new QualityMeter(text);
  for (const { name, bits } of PRECISIONS) {
    say(`weights in ${name}`);
    const precision = parsePrecision(name);
    const storage = precision === null ? null : weightStorage(precision);
    if (storage === null) throw new Error(`${name} is no precision that weights are converted to`);
    const targetFile = join(directory, `${shape.identity.digest.slice(0, 8)}.${name}.gguf`);
    if (!await isThere(targetFile)) await convertFile({ sourceFile: modelFile, targetFile, precision: name });
    const bytes = (shape.layerBytesAs?.[storage] ?? []).reduce((sum, layer) => sum + layer, 0);
    weights.push({ ...weightsMeter.measure(name, targetFile, PLAIN_CACHE), bits, bytes, storage });
  }
  const caches: MeasuredFormat[] = [];
  const cachesMeter = new QualityMeter(text);
  for (const { bits, ...types } of CACHES) {
    const name = `${types.keyType}/${types.valueType}`;
    say(`keys and values in ${name}`);
    const bytes = shape.keyElementsPerToken.reduce((sum, keys, layer) =>
      sum + cacheBytes(keys, types.keyType) + cacheBytes(shape.valueElementsPerToken[layer] ?? 0, types.valueType), 0);
    caches.push({ ...cachesMeter.measure(name, modelFile, types), bits, bytes, storage: name });
  }
  const activations: MeasuredFormat[] = [];
  const activationsMeter = new QualityMeter(text);
  for (const { type, bits, blockBytes } of ACTIVATIONS) {
    say(`hidden states in ${type}`);
    const cut = await openCutModel(modelFile, shape.layers, directory, type, activationsMeter.stageOptions(PLAIN_CACHE));
    activations.push({ ...activationsMeter.score(type, cut), bits, bytes: (shape.hiddenSize / 32) * blockBytes, storage: type });
  }
  return { model: modelFile, windows: text.windows.length, textBytes: text.bytes, weights, caches, activations };
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    // Whatever is wrong with it, making it anew says so.
    return false;
  }
}

export function formatLines(result: FormatsResult): readonly string[] {
  const row = (format: MeasuredFormat, reference: number, size: string): readonly string[] =>
    [format.name, size, format.perplexity.toFixed(3), `${(100 * lossOf(format, reference)).toFixed(3)} %`, format.bitsPerByte.toFixed(4), format.divergence.toFixed(6)];
  const table = (head: readonly string[], formats: readonly MeasuredFormat[], size: (format: MeasuredFormat) => string): readonly string[] =>
    align([head, ...formats.map((format) => row(format, referenceOf(formats), size(format)))]);
  return [
    `${result.model}: ${result.windows} windows, ${result.textBytes} bytes of text that it was not trained on`,
    '', ...table(['weights', 'stored as, MB of layers', 'perplexity', 'over f32', 'bits/byte', 'divergence'], result.weights, ({ storage, bytes }) => `${storage} ${(bytes / 1e6).toFixed(2)}`),
    '', ...table(['keys/values', 'bytes a token', 'perplexity', 'over f32', 'bits/byte', 'divergence'], result.caches, ({ bytes }) => String(bytes)),
    '', ...table(['activations', 'bytes a hop', 'perplexity', 'over f32', 'bits/byte', 'divergence'], result.activations, ({ bytes }) => String(bytes)),
    '', ...formatPromises('weights', result.weights), ...formatPromises('keys/values', result.caches),
    ...formatPromises('activations', result.activations),
  ];
}

/** A sentence for each promise, `met` or `MISSED`. */
export function formatPromises(what: string, formats: readonly MeasuredFormat[]): readonly string[] {
  const reference = referenceOf(formats);
  const within = (format: MeasuredFormat, limit: number): string => {
    const loss = Math.abs(lossOf(format, reference));
    return `${verdict(loss <= limit)} ${what} in ${format.name}: ${(100 * loss).toFixed(3)} % from f32 (within ${100 * limit} %)`;
  };
  const eightBit = formats.filter(({ bits }) => bits === 8);
  const worstOfEight = eightBit.reduce((worst, { divergence }) => Math.max(worst, divergence), 0);
  return [
    ...formats.filter(({ name }) => name === 'f16' || name === 'f16/f16').map((format) => within(format, F16_PROMISE)),
    ...eightBit.map((format) => within(format, EIGHT_BIT_PROMISE)),
    ...formats.filter(({ bits }) => bits === 4).map((format) =>
      `${verdict(format.divergence > worstOfEight)} ${what} in ${format.name}: diverges by ${format.divergence.toFixed(5)}, more than every 8-bit format (at most ${worstOfEight.toFixed(5)})`),
  ];
}

function verdict(isMet: boolean): string {
  return isMet ? 'met   ' : 'MISSED';
}

/** Of f32, the first. */
function referenceOf(formats: readonly MeasuredFormat[]): number {
  return formats[0]?.perplexity ?? Number.NaN;
}

function lossOf({ perplexity }: MeasuredFormat, reference: number): number {
  return perplexity / reference - 1;
}
