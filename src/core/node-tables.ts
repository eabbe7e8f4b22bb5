/**
 * What a stage takes on a node whose cluster file says more of it: weights in another precision, no KV cache, or one in
 * host memory beside a device of its own.
 *
 * Pure arithmetic on the memory model. It must not know budgets.
 */
import type { MemoryModel, MemoryTable, StageMemoryOptions } from './memory-model.js';
import { parsePrecision, weightStorage } from './precision.js';
import type { ModelShape, NodeSettings } from './types.js';

/** Of a row of a stage's input that is kept to compute it again: a token id, or a hidden state in f32. */
const TOKEN_BYTES = 4;
const FLOAT_BYTES = 4;

export interface TableQuestion {
  readonly shape: ModelShape;
  /** Of the node; absent = nothing is said of it. */
  readonly settings?: NodeSettings | undefined;
  /** The node's device has memory of its own beside the host's. */
  readonly ownMemory: boolean;
  readonly options: StageMemoryOptions;
}

/** Undefined = the model's own table counts on this node too. */
export function nodeTable({ shape, settings, ownMemory, options }: TableQuestion, memory: MemoryModel): MemoryTable | undefined {
  const converted = convertedShape(shape, settings?.precision);
  const keepsNoCache = settings?.keyValueCache === 'none';
  const cacheBeside = settings?.keyValueCache === 'host' && ownMemory;
  if (converted === shape && !keepsNoCache && !cacheBeside) return undefined;
  const table = memory(converted, options);
  if (cacheBeside) return { ...table, cacheBefore: table.cacheBefore.map(() => 0), hostCacheBefore: table.cacheBefore };
  return keepsNoCache ? withoutCache(table, converted, options, memory) : table;
}

/** The model as it is on a node of this precision. The same object when its weights stay as stored. */
export function convertedShape(shape: ModelShape, precisionName: string | undefined): ModelShape {
  const precision = precisionName === undefined ? null : parsePrecision(precisionName);
  const storage = precision === null ? null : weightStorage(precision);
  const layerBytes = storage === null ? undefined : shape.layerBytesAs?.[storage];
  if (layerBytes === undefined) return shape;
  const sum = (bytes: readonly number[]): number => bytes.reduce((total, value) => total + value, 0);
  return { ...shape, layerBytes, wholeBytes: shape.wholeBytes - sum(shape.layerBytes) + sum(layerBytes) };
}

/** One sequence's cells to compute in, for all slots together; every slot keeps its input instead. */
function withoutCache(table: MemoryTable, shape: ModelShape, options: StageMemoryOptions, memory: MemoryModel): MemoryTable {
  const { cacheBefore } = memory(shape, { ...options, slots: 1 });
  const tokens = options.slots * options.contextTokens;
  const { whole, head, middle, tail } = table.buffers;
  const hidden = tokens * shape.hiddenSize * FLOAT_BYTES;
  return {
    ...table,
    cacheBefore,
    buffers: { whole: whole + tokens * TOKEN_BYTES, head: head + tokens * TOKEN_BYTES, middle: middle + hidden, tail: tail + hidden },
  };
}
