/**
 * How much memory a stage takes, before it is loaded: weights, KV cache, compute buffers, and what the engine itself
 * costs. Every number is bytes above an idle runner, and is checked against the real thing after each load.
 *
 * Follows what libllama allocates (a KV stream per sequence, cells padded to 256, sliding-window layers bounded by
 * window + batch) and what was measured on it. It must not know nodes, budgets or plans.
 */
import { assert } from './errors.js';
import { callTokens, engineCallTokens, stepTokens, WINDOWED_CALL_TOKENS } from './step-size.js';
import type { CallQuestion } from './step-size.js';
import type { GgmlCacheType, LayerRange, ModelShape } from './types.js';

/** libllama rounds the cells of a sequence up to a multiple of this. */
const CACHE_CELL_PADDING = 256;
/** The engine's libraries, and what a process needs once a stage has run. */
const STAGE_CONSTANT_BYTES = 8.5e6;
/** What a runner grows by while it serves: JavaScript's heap (process/runner-process.ts bounds its young part), parts of Node.js itself, packed states, what it says. */
export const RUNNER_GROWTH_BYTES = 13.2e6;
/** The engine reads a tensor into a buffer that its allocator keeps up to this size. */
const MAX_READ_BUFFER_BYTES = 32e6;
/** A layer's largest tensor is about this part of it. */
const LARGEST_TENSOR_PART = 1 / 4;
/** Text of a token, its place in the tables, merges, and flags, per token of the vocabulary that the tail loads. */
const VOCABULARY_BYTES_PER_TOKEN = 256;
/** Candidates of a sampler, per token of the vocabulary and slot. */
const SAMPLER_BYTES_PER_TOKEN = 16;
/** Below this the cpu backend repacks a matrix (the 4-bit formats), and rows for lookups are then kept beside it. */
const REPACKED_BYTES_PER_WEIGHT = 0.6;
/** Hidden states of a whole step, f32, as often as a runner holds them: the frame that came, the output. */
const STEP_ROWS: Readonly<Record<StagePosition, number>> = { whole: 0, head: 1, middle: 2, tail: 1 };
/** Those of one engine call: its input. */
const CALL_ROWS: Readonly<Record<StagePosition, number>> = { whole: 0, head: 1, middle: 1, tail: 1 };
/** Rows of the token embedding that a head keeps as f32 (engine/embedding-table.ts). */
const MAX_EMBEDDING_BYTES = 4 << 20;
/** Graph nodes and tensor headers of one layer. */
const LAYER_METADATA_BYTES = 50e3;

/** Where a stage stands in the ring; decides which matrices beyond its layers it holds. */
export type StagePosition = 'whole' | 'head' | 'middle' | 'tail';

export interface StageMemoryOptions {
  /** Cells per slot, in tokens. */
  readonly contextTokens: number;
  readonly slots: number;
  readonly keyType: GgmlCacheType;
  readonly valueType: GgmlCacheType;
  /** A processor computes, and no device. Absent = not known: counted as a device, whose calls are no smaller. */
  readonly onCpu?: boolean;
}

/** What one stage needs, in bytes. `total` is the sum of the others. */
export interface StageBytes {
  readonly weights: number;
  readonly cache: number;
  readonly buffers: number;
  readonly total: number;
}

/** A model's memory under one context and slot count; prefix sums make every range a subtraction. */
export interface MemoryTable {
  readonly layers: number;
  /** `[layers + 1]`: weight bytes of layers `[0, i)`. */
  readonly weightsBefore: readonly number[];
  /** `[layers + 1]`: KV bytes of layers `[0, i)`. */
  readonly cacheBefore: readonly number[];
  /** `[layers + 1]`: KV bytes of layers `[0, i)` in host memory beside a device of its own; `cacheBefore` then has none. */
  readonly hostCacheBefore?: readonly number[];
  /** Weights beyond the layers: embedding, output matrix, final norm, vocabulary. */
  readonly extraWeights: Readonly<Record<StagePosition, number>>;
  /** Compute buffers and constants. */
  readonly buffers: Readonly<Record<StagePosition, number>>;
  readonly bufferBytesPerLayer: number;
}

/** Makes a table; placement takes one, so that its arithmetic can be tested without buffers and caches. */
export type MemoryModel = (shape: ModelShape, options: StageMemoryOptions) => MemoryTable;

export function stagePositionOf(range: LayerRange, layers: number): StagePosition {
  return positionOf(range.start, range.end, layers);
}

function positionOf(start: number, end: number, layers: number): StagePosition {
  if (start === 0) return end === layers ? 'whole' : 'head';
  return end === layers ? 'tail' : 'middle';
}

/** Bytes of the range, wherever they are: on a device and beside it. */
export function stageBytes(table: MemoryTable, range: LayerRange): StageBytes {
  const position = stagePositionOf(range, table.layers);
  const besideDevice = hostCacheBytes(table, range.start, range.end);
  const onDevice = (table.cacheBefore[range.end] ?? 0) - (table.cacheBefore[range.start] ?? 0);
  const buffers = table.buffers[position] + table.bufferBytesPerLayer * (range.end - range.start);
  const total = mainBytes(table, range.start, range.end);
  return { weights: total - onDevice - buffers, cache: onDevice + besideDevice, buffers, total: total + besideDevice };
}

/** KV bytes of layers `[start, end)` in host memory beside a device of its own. */
export function hostCacheBytes(table: MemoryTable, start: number, end: number): number {
  return (table.hostCacheBefore?.[end] ?? 0) - (table.hostCacheBefore?.[start] ?? 0);
}

/** What layers `[start, end)` take of the budget: all but `hostCacheBytes`. No object: placement asks a million times. */
export function mainBytes(table: MemoryTable, start: number, end: number): number {
  const position = positionOf(start, end, table.layers);
  const weights = (table.weightsBefore[end] ?? 0) - (table.weightsBefore[start] ?? 0) + table.extraWeights[position];
  const cache = (table.cacheBefore[end] ?? 0) - (table.cacheBefore[start] ?? 0);
  return weights + cache + table.buffers[position] + table.bufferBytesPerLayer * (end - start);
}

/** Cells that a layer's cache has per sequence; `windowTokens` 0 = full context. */
export function cacheCells(options: { contextTokens: number; windowTokens: number }): number {
  const full = padCells(options.contextTokens);
  if (options.windowTokens === 0) return full;
  return padCells(Math.min(full, options.windowTokens + WINDOWED_CALL_TOKENS));
}

/** Bytes of `elements` in a cache type; q8_0 stores 32 elements in 34 bytes, q4_0 in 18. */
export function cacheBytes(elements: number, type: GgmlCacheType): number {
  switch (type) {
    case 'f32': return elements * 4;
    case 'f16': case 'bf16': return elements * 2;
    case 'q8_0': return Math.ceil(elements / 32) * 34;
    case 'q4_0': return Math.ceil(elements / 32) * 18;
  }
}

export const libllamaMemory: MemoryModel = (shape, options) => {
  assert(shape.layerBytes.length === shape.layers, 'layerBytes has one entry per layer');
  const weightsBefore = [0];
  const cacheBefore = [0];
  let weights = 0;
  let cache = 0;
  for (let layer = 0; layer < shape.layers; layer += 1) {
    weights += shape.layerBytes[layer] ?? 0;
    weightsBefore.push(weights);
    cache += layerCacheBytes(shape, layer, options);
    cacheBefore.push(cache);
  }
  const tailCopy = repackedCopyBytes(shape);
  const wholeExtra = Math.max(0, shape.wholeBytes - weights);
  // Without an output matrix of its own the model uses its embedding as one, as every tail does.
  const isTied = shape.tailBytes > 0 && wholeExtra < 1.5 * shape.tailBytes;
  const buffersAt = (position: StagePosition): number => bufferBytes(shape, options, position);
  return {
    layers: shape.layers,
    weightsBefore,
    cacheBefore,
    extraWeights: {
      whole: wholeExtra + (isTied ? tailCopy : 0), head: shape.headBytes, middle: 0, tail: shape.tailBytes + tailCopy,
    },
    buffers: { whole: buffersAt('whole'), head: buffersAt('head'), middle: buffersAt('middle'), tail: buffersAt('tail') },
    bufferBytesPerLayer: LAYER_METADATA_BYTES,
  };
};

/**
 * The second copy of the tail's output matrix: its file has it as the embedding too, and the engine then holds it once
 * as rows and once repacked. Stage files with a placeholder embedding count that in `tailBytes` already.
 */
function repackedCopyBytes(shape: ModelShape): number {
  const weights = shape.hiddenSize * shape.vocabularySize;
  return shape.tailBytes < REPACKED_BYTES_PER_WEIGHT * weights ? shape.tailBytes : 0;
}

function layerCacheBytes(shape: ModelShape, layer: number, options: StageMemoryOptions): number {
  const windowTokens = shape.windowTokens[layer] ?? 0;
  const cells = cacheCells({ contextTokens: options.contextTokens, windowTokens });
  const key = cacheBytes(shape.keyElementsPerToken[layer] ?? 0, options.keyType);
  const value = cacheBytes(shape.valueElementsPerToken[layer] ?? 0, options.valueType);
  return options.slots * (cells * (key + value) + (shape.stateBytesPerSlot[layer] ?? 0));
}

/**
 * What is neither weights nor cache, once a full batch went through: prefill touches all of it. The graph's widest point
 * is the feed-forward net: up, gate and product, beside four rows of the hidden state; experts each have their own.
 */
function bufferBytes(shape: ModelShape, options: StageMemoryOptions, position: StagePosition): number {
  const { slots } = options;
  const steps = stepTokens(stagesAt(position));
  const calls = touchedCallTokens(shape, options, position);
  const experts = shape.expertCount > 0 ? Math.max(1, shape.expertUsed) : 0;
  // Models with narrow experts may have layers without any.
  const feedForward = Math.max(
    3 * shape.feedForwardSize,
    experts * (3 * (shape.expertFeedForwardSize ?? shape.feedForwardSize) + shape.hiddenSize),
  );
  const graph = calls * 4 * (feedForward + 4 * shape.hiddenSize);
  // The attention mask is f16.
  const mask = calls * 2 * padCells(options.contextTokens);
  const rows = (STEP_ROWS[position] * steps + CALL_ROWS[position] * callTokens(callsAt(position, options))) * shape.hiddenSize * 4;
  const embedding = position === 'head' ? Math.min(MAX_EMBEDDING_BYTES, shape.vocabularySize * shape.hiddenSize * 4) : 0;
  const largestLayer = shape.layerBytes.reduce((largest, bytes) => Math.max(largest, bytes), 0);
  const readBuffer = Math.min(MAX_READ_BUFFER_BYTES, Math.ceil(largestLayer * LARGEST_TENSOR_PART));
  const logits = 4 * 2 * slots * shape.vocabularySize;
  const sampling = shape.vocabularySize * (VOCABULARY_BYTES_PER_TOKEN + SAMPLER_BYTES_PER_TOKEN * slots) + logits;
  const samples = position === 'whole' || position === 'tail';
  return STAGE_CONSTANT_BYTES + RUNNER_GROWTH_BYTES + graph + mask + rows + embedding + readBuffer + (samples ? sampling : 0);
}

/**
 * Tokens of a call that its buffers are counted for. A device's are as large as the engine is told; of a processor's
 * the pages count that calls have touched.
 */
function touchedCallTokens(shape: ModelShape, options: StageMemoryOptions, position: StagePosition): number {
  const calls = callTokens(callsAt(position, options));
  return options.onCpu === true ? calls : engineCallTokens({ callTokens: calls, windowed: shape.windowTokens.some((tokens) => tokens > 0) });
}

function callsAt(position: StagePosition, { onCpu }: StageMemoryOptions): CallQuestion {
  return { stages: stagesAt(position), backend: onCpu === true ? 'cpu' : undefined };
}

/** The least of a ring that has such a stage: all of several stages have the same steps. */
function stagesAt(position: StagePosition): number {
  return position === 'whole' ? 1 : 2;
}

function padCells(tokens: number): number {
  return Math.ceil(tokens / CACHE_CELL_PADDING) * CACHE_CELL_PADDING;
}
