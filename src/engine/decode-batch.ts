/**
 * The arrays behind a `llama_batch`, allocated once per stage and filled anew for each call.
 *
 * It must not know where tokens and hidden states come from.
 */
import { addressOf } from './llama.js';
import type { Batch } from './llama.js';

export interface BatchShape {
  readonly maxTokens: number;
  /** Width of an input row; 0 = the batch takes token ids. */
  readonly inputSize: number;
  readonly positionsPerToken: number;
}

export class DecodeBatch {
  /** `[maxTokens]`, one id per row; empty when the batch takes rows. */
  readonly tokens: Int32Array;
  /** `[maxTokens, inputSize]` f32; empty when the batch takes token ids. */
  readonly rows: Float32Array;
  private readonly positions: Int32Array;
  private readonly sequenceCounts: Int32Array;
  private readonly sequenceIds: Int32Array;
  private readonly sequencePointers: BigUint64Array;
  private readonly outputs: Int8Array;
  private readonly struct: Batch;

  constructor(private readonly shape: BatchShape) {
    const { maxTokens, inputSize } = shape;
    this.tokens = new Int32Array(new ArrayBuffer(inputSize === 0 ? maxTokens * 4 : 0));
    this.rows = new Float32Array(new ArrayBuffer(maxTokens * inputSize * 4));
    this.positions = new Int32Array(new ArrayBuffer(maxTokens * shape.positionsPerToken * 4));
    this.sequenceCounts = new Int32Array(new ArrayBuffer(maxTokens * 4)).fill(1);
    this.sequenceIds = new Int32Array(new ArrayBuffer(maxTokens * 4));
    this.sequencePointers = new BigUint64Array(new ArrayBuffer((maxTokens + 1) * 8));
    const firstId = addressOf(this.sequenceIds);
    for (let row = 0; row < maxTokens; row += 1) this.sequencePointers[row] = firstId + BigInt(row * 4);
    this.outputs = new Int8Array(new ArrayBuffer(maxTokens));
    this.struct = {
      n_tokens: 0,
      token: inputSize === 0 ? addressOf(this.tokens) : null,
      embd: inputSize === 0 ? null : addressOf(this.rows),
      pos: addressOf(this.positions),
      n_seq_id: addressOf(this.sequenceCounts),
      seq_id: addressOf(this.sequencePointers),
      logits: addressOf(this.outputs),
    };
  }

  /** Every row of a call is set once; `rowCount` is the call's total (M-RoPE positions are laid out by it). */
  setRow(row: number, rowCount: number, value: { readonly slot: number; readonly position: number; readonly output: boolean }): void {
    this.sequenceIds[row] = value.slot;
    this.outputs[row] = value.output ? 1 : 0;
    // Text has the same position in the first three sections (time, height, width) and 0 in the last.
    const sections = this.shape.inputSize > 0 && this.shape.positionsPerToken > 1 ? this.shape.positionsPerToken : 1;
    for (let section = 0; section < sections; section += 1) {
      this.positions[section * rowCount + row] = section < 3 ? value.position : 0;
    }
  }

  /** The struct for the first `rowCount` rows; valid until the next call. */
  take(rowCount: number): Batch {
    this.struct.n_tokens = rowCount;
    return this.struct;
  }
}
