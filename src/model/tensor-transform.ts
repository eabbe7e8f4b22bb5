/**
 * Changes a stored tensor while it is read, from any byte of the result on: rows of a head interleaved, small vectors as f32
 * with something added. At most one head's rows, or one vector, is in memory. It must not know why, nor where the bytes are.
 */
import { CHUNK_BYTES } from './file-io.js';

/** A head's rows, or a vector, beyond this are refused before they are allocated. */
export const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** What is stored of the tensor, from a byte of it on to its end. Throws when there is less than `storedBytes`. */
export type StoredBytes = (from: number) => AsyncIterable<Uint8Array>;

export interface TensorTransform {
  /** Tells two transforms of one place apart. */
  readonly name: string;
  /** What is read to make the tensor; it may have another size. */
  readonly storedBytes: number;
  read(stored: StoredBytes, from: number): AsyncIterable<Uint8Array>;
}

export type FloatType = 'F32' | 'F16' | 'BF16';

/** Row `i` of the first half of a head, then row `i` of the second, and so on. */
export function interleaveHeadRows(shape: { readonly heads: number; readonly rowsPerHead: number; readonly rowBytes: number }): TensorTransform {
  const { heads, rowsPerHead, rowBytes } = shape;
  const headBytes = rowsPerHead * rowBytes;
  return {
    name: `rows of ${rowsPerHead}`,
    storedBytes: heads * headBytes,
    async *read(stored, from) {
      let head = Math.floor(from / headBytes);
      for await (const whole of inPieces(stored(head * headBytes), headBytes)) {
        const rows = new Uint8Array(headBytes);
        for (let row = 0; row < rowsPerHead; row += 1) rows.set(whole.subarray(row * rowBytes, (row + 1) * rowBytes), interleaved(row, rowsPerHead) * rowBytes);
        for (let at = Math.max(0, from - head * headBytes); at < headBytes; at += CHUNK_BYTES) yield rows.subarray(at, Math.min(headBytes, at + CHUNK_BYTES));
        head += 1;
      }
    },
  };
}

export interface VectorChange {
  readonly type: FloatType;
  readonly elements: number;
  /** Added to every value, in f32. */
  readonly add: number;
  /** Values of a head, interleaved like its rows; null = they stay in their order. */
  readonly valuesPerHead: number | null;
}

/** A small tensor as f32. */
export function vectorAsFloat(change: VectorChange): TensorTransform {
  const { type, elements, add, valuesPerHead } = change;
  const storedBytes = elements * (type === 'F32' ? 4 : 2);
  return {
    name: `${type} to f32 plus ${add}${valuesPerHead === null ? '' : `, heads of ${valuesPerHead}`}`,
    storedBytes,
    async *read(stored, from) {
      for await (const whole of inPieces(stored(0), storedBytes)) {
        const values = floats(whole, type, elements);
        const result = new Float32Array(elements);
        for (let index = 0; index < elements; index += 1) {
          const value = Math.fround((values[index] ?? 0) + add);
          if (valuesPerHead === null) result[index] = value;
          else result[index - (index % valuesPerHead) + interleaved(index % valuesPerHead, valuesPerHead)] = value;
        }
        yield new Uint8Array(result.buffer).subarray(from);
      }
    },
  };
}

/** Bytes that are in no file. */
export function constantBytes(bytes: Uint8Array): TensorTransform {
  return {
    name: 'computed',
    storedBytes: 0,
    async *read(_stored, from) {
      yield bytes.subarray(from);
    },
  };
}

function interleaved(row: number, rows: number): number {
  const half = rows / 2;
  return row < half ? 2 * row : 2 * (row - half) + 1;
}

/** The same bytes in pieces of one size, each valid until the next one is asked for. */
async function* inPieces(chunks: AsyncIterable<Uint8Array>, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(pieceBytes);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const taken = chunk.subarray(at, at + pieceBytes - filled);
      piece.set(taken, filled);
      filled += taken.length;
      at += taken.length;
      if (filled < pieceBytes) continue;
      yield piece;
      filled = 0;
    }
  }
}

function floats(bytes: Uint8Array, type: FloatType, elements: number): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const result = new Float32Array(elements);
  for (let index = 0; index < elements; index += 1) {
    result[index] = type === 'F32' ? view.getFloat32(index * 4, true) : type === 'BF16' ? bfloat(view.getUint16(index * 2, true)) : half(view.getUint16(index * 2, true));
  }
  return result;
}

const bitsView = new Uint32Array(1);
const floatView = new Float32Array(bitsView.buffer);

function bfloat(bits: number): number {
  bitsView[0] = bits << 16;
  return floatView[0] ?? 0;
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  if (exponent === 0x1f) return mantissa === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15));
}
