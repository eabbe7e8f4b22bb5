/**
 * How much memory a stage takes, before it is loaded: weights, KV cache, compute buffers, and what the engine itself
 * costs. Every number is bytes above an idle runner, and is checked against the real thing after each load.
 *
 * Follows what libllama allocates (a KV stream per sequence, cells padded to 256, sliding-window layers bounded by
 * window + batch) and what was measured on it. It must not know nodes, budgets or plans.
 */
import { assert } from './errors.js';
import type { GgmlCacheType, LayerRange, ModelShape } from './types.js';

/** libllama rounds the cells of a sequence up to a multiple of this. */
export const CACHE_CELL_PADDING = 256;
/** Tokens in one engine call when nobody says otherwise (n_batch = n_ubatch). */
export const DEFAULT_BATCH_TOKENS = 512;
/** What a context costs whatever the model: graph metadata, scheduler, thread pool, sampler. Measured. */
const STAGE_CONSTANT_BYTES = 12e6;
/** Graph nodes and tensor headers of one layer. */
const LAYER_METADATA_BYTES = 60e3;

/** Where a stage stands in the ring; decides which matrices beyond its layers it holds. */
export type StagePosition = 'whole' | 'head' | 'middle' | 'tail';

export interface StageMemoryOptions {
  /** Cells per slot, in tokens. */
  readonly contextTokens: number;
  readonly slots: number;
  readonly keyType: GgmlCacheType;
  readonly valueType: GgmlCacheType;
  readonly batchTokens?: number;
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
  /** Weights beyond the layers: embedding, output matrix, final norm, vocabulary. */
  readonly extraWeights: Readonly<Record<StagePosition, number>>;
  /** Compute buffers and constants. */
  readonly buffers: Readonly<Record<StagePosition, number>>;
  readonly bufferBytesPerLayer: number;
}

/** Makes a table; placement takes one, so that its arithmetic can be tested without buffers and caches. */
export type MemoryModel = (shape: ModelShape, options: StageMemoryOptions) => MemoryTable;

export function stagePositionOf(range: LayerRange, layers: number): StagePosition {
  if (range.start === 0) return range.end === layers ? 'whole' : 'head';
  return range.end === layers ? 'tail' : 'middle';
}

/** Bytes of the range on a node whose weights are `weightScale` times the stored ones. */
export function stageBytes(table: MemoryTable, range: LayerRange, weightScale = 1): StageBytes {
  const position = stagePositionOf(range, table.layers);
  const between = (before: readonly number[]): number => (before[range.end] ?? 0) - (before[range.start] ?? 0);
  const weights = Math.ceil((between(table.weightsBefore) + table.extraWeights[position]) * weightScale);
  const cache = between(table.cacheBefore);
  const buffers = table.buffers[position] + table.bufferBytesPerLayer * (range.end - range.start);
  return { weights, cache, buffers, total: weights + cache + buffers };
}

/** Cells that a layer's cache has per sequence; `windowTokens` 0 = full context. */
export function cacheCells(options: { contextTokens: number; windowTokens: number; batchTokens: number }): number {
  const full = padCells(options.contextTokens);
  if (options.windowTokens === 0) return full;
  return padCells(Math.min(full, options.windowTokens + options.batchTokens));
}

/** Bytes of `elements` in a cache type; q8_0 stores 32 elements in 34 bytes. */
export function cacheBytes(elements: number, type: GgmlCacheType): number {
  switch (type) {
    case 'f32': return elements * 4;
    case 'f16': case 'bf16': return elements * 2;
    case 'q8_0': return Math.ceil(elements / 32) * 34;
  }
}

export const libllamaMemory: MemoryModel = (shape, options) => {
  const batchTokens = options.batchTokens ?? DEFAULT_BATCH_TOKENS;
  assert(shape.layerBytes.length === shape.layers, 'layerBytes has one entry per layer');
  const weightsBefore = [0];
  const cacheBefore = [0];
  let weights = 0;
  let cache = 0;
  for (let layer = 0; layer < shape.layers; layer += 1) {
    weights += shape.layerBytes[layer] ?? 0;
    weightsBefore.push(weights);
    cache += layerCacheBytes(shape, layer, { ...options, batchTokens });
    cacheBefore.push(cache);
  }
  const inner = innerBufferBytes(shape, options, batchTokens);
  const output = outputBufferBytes(shape, options, batchTokens);
  return {
    layers: shape.layers,
    weightsBefore,
    cacheBefore,
    extraWeights: { whole: Math.max(0, shape.wholeBytes - weights), head: shape.headBytes, middle: 0, tail: shape.tailBytes },
    buffers: { whole: inner + output, head: inner, middle: inner, tail: inner + output },
    bufferBytesPerLayer: LAYER_METADATA_BYTES,
  };
};

function layerCacheBytes(shape: ModelShape, layer: number, options: Required<StageMemoryOptions>): number {
  const windowTokens = shape.windowTokens[layer] ?? 0;
  const cells = cacheCells({ contextTokens: options.contextTokens, windowTokens, batchTokens: options.batchTokens });
  const key = cacheBytes(shape.keyElementsPerToken[layer] ?? 0, options.keyType);
  const value = cacheBytes(shape.valueElementsPerToken[layer] ?? 0, options.valueType);
  return options.slots * (cells * (key + value) + (shape.stateBytesPerSlot[layer] ?? 0));
}

/** The widest point inside a layer: hidden state, residual and the feed-forward pair, f32, for a full batch. */
function innerBufferBytes(shape: ModelShape, options: StageMemoryOptions, batchTokens: number): number {
  const experts = Math.max(1, shape.expertUsed);
  const row = 4 * (3 * shape.hiddenSize + 2 * shape.feedForwardSize * experts);
  const mask = 4 * batchTokens * padCells(options.contextTokens);
  return STAGE_CONSTANT_BYTES + batchTokens * row + mask;
}

/** Logits of a full batch, f32, and the sampler's candidates. */
function outputBufferBytes(shape: ModelShape, options: StageMemoryOptions, batchTokens: number): number {
  return 4 * shape.vocabularySize * (batchTokens + 4 * options.slots);
}

function padCells(tokens: number): number {
  return Math.ceil(tokens / CACHE_CELL_PADDING) * CACHE_CELL_PADDING;
}
