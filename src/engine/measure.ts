/**
 * How fast a device really is: layers of a common size, with weights of a common type, computed by the engine itself.
 *
 * A decode step reads every weight once, so its time is a memory bandwidth; a prefill computes, so its time is arithmetic.
 * The shortest of several runs counts: what else the machine does only ever makes a run longer. The layers are generated,
 * written for the length of the measurement and removed. Blocks its thread; it must not know who asks, or caches.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { assert, errorMessageOf, RingError } from '../core/errors.js';
import { ggmlType, GGML_F16, GGML_F32, GGML_Q4_0 } from '../model/ggml-types.js';
import { encodeGgufHeader } from '../model/gguf-writer.js';
import type { PlacedTensor, TensorSpec } from '../model/gguf-writer.js';
import { float32, text, uint32 } from '../model/gguf-values.js';
import type { GgufValue } from '../model/gguf-values.js';
import type { MeasuredSpeed, MeasureOptions, StageEngine } from '../ports.js';
import { openStage } from './stage.js';

/** A layer of a 1 B llama; four of them are larger than the caches of most machines. */
const HIDDEN = 2048;
const FEED_FORWARD = 5632;
const HEADS = 32;
const KEY_HEADS = 8;
const LAYERS = 4;
/** Rows of the embedding that no stage without vocabulary reads. */
const EMBEDDING_ROWS = 32;
const ALIGNMENT = 32;
const PREFILL_TOKENS = 128;
/** A device that takes longer than this for one token is asked for a short prefill only. */
const SLOW_DECODE_MS = 50;
const SHORT_PREFILL_TOKENS = 8;
const CONTEXT_TOKENS = 512;
const MAX_DECODE_STEPS = 24;
const MAX_PREFILLS = 3;
/** Neither kind of run goes on longer than this, one run excepted. */
const RUN_BUDGET_MS = 500;
/** Bytes of one block of q4_0: a half-precision scale, then 32 four-bit values. */
const BLOCK_BYTES = 18;
/** About 0.002: hidden states stay of ordinary size. */
const BLOCK_SCALE = 0x1800;
const PIECE_BLOCKS = 8192;

/** Throws what opening a stage throws (`backend_missing`, `out_of_memory` …) and `io_failed`. */
export function measureSpeed(options: MeasureOptions): MeasuredSpeed {
  const directory = temporaryDirectory(options.directory);
  try {
    const file = join(directory, 'layers.gguf');
    const weights = writeLayers(file);
    const stage = openStage({
      role: 'middle', stageFile: file, embedding: null, backend: options.backend, threads: options.threads,
      contextTokens: CONTEXT_TOKENS, slots: 1, keyType: 'q8_0', valueType: 'f16', batchTokens: PREFILL_TOKENS,
    });
    try {
      return speedOf(stage, weights);
    } finally {
      stage.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface WeightTotals {
  readonly bytes: number;
  /** Of matrices: each is multiplied and added once a token. */
  readonly elements: number;
}

function speedOf(stage: StageEngine, weights: WeightTotals): MeasuredSpeed {
  const decodeMs = shortest(stage, { tokens: 1, runs: MAX_DECODE_STEPS });
  const tokens = decodeMs > SLOW_DECODE_MS ? SHORT_PREFILL_TOKENS : PREFILL_TOKENS;
  const prefillMs = shortest(stage, { tokens, runs: MAX_PREFILLS });
  return {
    gflops: (2 * weights.elements * tokens) / (prefillMs * 1e6),
    memoryBandwidthBytesPerSecond: Math.round((weights.bytes * 1000) / decodeMs),
  };
}

/** The first run is not counted: a device compiles its kernels in it. */
function shortest(stage: StageEngine, run: { readonly tokens: number; readonly runs: number }): number {
  const hidden = Float32Array.from({ length: run.tokens * HIDDEN }, (_, index) => Math.sin(index));
  const step = (position: number): number => {
    const startedAt = performance.now();
    stage.step({ slices: [{ slot: 0, position, tokens: run.tokens, sample: false }], tokens: null, hidden });
    return performance.now() - startedAt;
  };
  open(stage);
  step(0);
  let least = Number.POSITIVE_INFINITY;
  let spentMs = 0;
  for (let count = 0; count < run.runs && (count === 0 || spentMs < RUN_BUDGET_MS); count += 1) {
    // A prefill always begins anew; decode steps go on.
    if (run.tokens > 1) open(stage);
    const ms = step(run.tokens > 1 ? 0 : count + 1);
    spentMs += ms;
    least = Math.min(least, ms);
  }
  return Math.max(least, 1e-3);
}

function open(stage: StageEngine): void {
  stage.reset();
  const sampling = {
    temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
  };
  stage.apply([{ kind: 'open', slot: 0, sequenceId: 'measure', sampling, origin: '', promptLength: 1, promptTokens: [], emittedTokens: [] }]);
}

function temporaryDirectory(parent: string): string {
  try {
    return mkdtempSync(join(parent, 'measure-'));
  } catch (error) {
    throw new RingError('io_failed', `no file for measuring can be written in ${parent}: ${errorMessageOf(error)}`, {}, { cause: error });
  }
}

function writeLayers(path: string): WeightTotals {
  const header = encodeGgufHeader(metadata(), tensors(), ALIGNMENT);
  const file = openSync(path, 'w');
  try {
    writeSync(file, header.bytes, 0, header.bytes.length, 0);
    const piece = weightPiece();
    for (const tensor of header.tensors) writeTensor(file, tensor, piece);
    // The last tensor's padding.
    writeSync(file, new Uint8Array(1), 0, 1, Math.max(header.fileBytes - 1, 0));
  } finally {
    closeSync(file);
  }
  const matrices = header.tensors.filter((tensor) => tensor.ggmlType === GGML_Q4_0);
  return {
    bytes: matrices.reduce((sum, tensor) => sum + tensor.sizeBytes, 0),
    elements: matrices.reduce((sum, tensor) => sum + tensor.dims.reduce((product, dim) => product * dim, 1), 0),
  };
}

function metadata(): ReadonlyMap<string, GgufValue> {
  return new Map<string, GgufValue>([
    ['general.architecture', text('llama')],
    ['llama.block_count', uint32(LAYERS)],
    ['llama.context_length', uint32(CONTEXT_TOKENS)],
    ['llama.embedding_length', uint32(HIDDEN)],
    ['llama.feed_forward_length', uint32(FEED_FORWARD)],
    ['llama.attention.head_count', uint32(HEADS)],
    ['llama.attention.head_count_kv', uint32(KEY_HEADS)],
    ['llama.attention.layer_norm_rms_epsilon', float32(1e-5)],
    ['llama.vocab_size', uint32(EMBEDDING_ROWS)],
    ['tokenizer.ggml.model', text('no_vocab')],
  ]);
}

function tensors(): readonly TensorSpec[] {
  const keys = (HIDDEN / HEADS) * KEY_HEADS;
  const matrix = (name: string, ...dims: number[]): TensorSpec => ({ name: `${name}.weight`, dims, ggmlType: GGML_Q4_0 });
  const norm = (name: string): TensorSpec => ({ name: `${name}.weight`, dims: [HIDDEN], ggmlType: GGML_F32 });
  const layers = Array.from({ length: LAYERS }, (_, layer) => `blk.${layer}`).flatMap((block) => [
    norm(`${block}.attn_norm`), matrix(`${block}.attn_q`, HIDDEN, HIDDEN), matrix(`${block}.attn_k`, HIDDEN, keys),
    matrix(`${block}.attn_v`, HIDDEN, keys), matrix(`${block}.attn_output`, HIDDEN, HIDDEN), norm(`${block}.ffn_norm`),
    matrix(`${block}.ffn_gate`, HIDDEN, FEED_FORWARD), matrix(`${block}.ffn_up`, HIDDEN, FEED_FORWARD), matrix(`${block}.ffn_down`, FEED_FORWARD, HIDDEN),
  ]);
  return [{ name: 'token_embd.weight', dims: [HIDDEN, EMBEDDING_ROWS], ggmlType: GGML_F16 }, ...layers, norm('output_norm')];
}

/** Many different blocks, so that no kernel profits from zeros. */
function weightPiece(): Uint8Array {
  assert(ggmlType(GGML_Q4_0)?.blockBytes === BLOCK_BYTES, 'q4_0 is laid out as this file writes it');
  const piece = new Uint8Array(PIECE_BLOCKS * BLOCK_BYTES);
  let state = 1;
  for (let at = 0; at < piece.length; at += 1) {
    const inBlock = at % BLOCK_BYTES;
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    piece[at] = inBlock === 0 ? BLOCK_SCALE & 0xff : inBlock === 1 ? BLOCK_SCALE >> 8 : state >>> 24;
  }
  return piece;
}

function writeTensor(file: number, tensor: PlacedTensor, piece: Uint8Array): void {
  // The embedding is never read: it stays a hole of zeros.
  if (tensor.ggmlType === GGML_F16) return;
  const bytes = tensor.ggmlType === GGML_Q4_0 ? piece : new Uint8Array(Float32Array.from({ length: HIDDEN }, () => 1).buffer);
  for (let done = 0; done < tensor.sizeBytes; done += bytes.length) {
    writeSync(file, bytes, 0, Math.min(bytes.length, tensor.sizeBytes - done), tensor.offset + done);
  }
}
