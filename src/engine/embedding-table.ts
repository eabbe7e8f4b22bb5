/**
 * The head's token lookup: rows of the model's token embedding, read from disk as stored and dequantised by ggml.
 *
 * So the head's stage needs no vocabulary in memory. Rows come out equal to the engine's own lookup, bit for bit. It
 * must not know positions or slots.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { StageOptions } from '../ports.js';
import { typeTraits } from './quantize.js';
import type { GgmlTypeTraits } from './quantize.js';

/** Dequantised rows kept, in bytes, in one array: rows of their own would be garbage for long. The memory model counts it. */
export const KEPT_ROWS_BYTES = 4 << 20;

export class EmbeddingTable {
  readonly rows: number;
  private readonly descriptor: number;
  private readonly traits: GgmlTypeTraits;
  private readonly stored: Uint8Array;
  /** `[keptRows, hiddenSize]`; the oldest is overwritten first. */
  private readonly kept: Float32Array;
  /** Token -> its row of `kept`, the oldest first. */
  private readonly places = new Map<number, number>();
  private readonly keptRows: number;
  private closed = false;

  /** `scale` multiplies every row in f32; 1 = as stored. Throws `bad_gguf`, `io_failed`. */
  constructor(private readonly source: NonNullable<StageOptions['embedding']>, private readonly hiddenSize: number, private readonly scale: number) {
    this.traits = typeTraits(source.ggmlType);
    if (hiddenSize % this.traits.blockSize !== 0) {
      throw new RingError('bad_gguf', `token embedding rows of ${hiddenSize} values are no whole blocks of ${this.traits.name}`);
    }
    this.rows = source.rows;
    this.stored = new Uint8Array(new ArrayBuffer((hiddenSize / this.traits.blockSize) * this.traits.typeSize));
    this.keptRows = Math.max(1, Math.floor(KEPT_ROWS_BYTES / (hiddenSize * 4)));
    this.kept = new Float32Array(new ArrayBuffer(this.keptRows * hiddenSize * 4));
    try {
      this.descriptor = openSync(source.file, 'r');
    } catch (cause) {
      throw new RingError('io_failed', `cannot open the token embedding ${source.file}: ${errorMessageOf(cause)}`, { file: source.file }, { cause });
    }
  }

  /** The row of `token`, `[hiddenSize]` f32; not to be changed, and valid until the next call. The caller has checked the token. */
  row(token: number): Float32Array {
    const known = this.places.get(token);
    if (known !== undefined) return this.rowAt(known);
    const position = this.source.offset + token * this.stored.length;
    const read = readSync(this.descriptor, this.stored, 0, this.stored.length, position);
    if (read !== this.stored.length) {
      throw new RingError('bad_gguf', `the token embedding ${this.source.file} ends before token ${token}; fetch the stage again`, { file: this.source.file, token });
    }
    const place = this.freePlace();
    const row = this.traits.dequantize(this.stored, this.hiddenSize, this.rowAt(place));
    // Typed array arithmetic rounds to f32 as the engine's own scaling does.
    if (this.scale !== 1) for (let index = 0; index < row.length; index += 1) row[index] = (row[index] ?? 0) * this.scale;
    this.places.set(token, place);
    return row;
  }

  private freePlace(): number {
    if (this.places.size < this.keptRows) return this.places.size;
    const [oldest = [0, 0] as const] = this.places;
    this.places.delete(oldest[0]);
    return oldest[1];
  }

  private rowAt(place: number): Float32Array {
    return this.kept.subarray(place * this.hiddenSize, (place + 1) * this.hiddenSize);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    closeSync(this.descriptor);
  }
}
