/**
 * Changes a stored tensor while it is read, from any byte of the result on: rows of a head interleaved, small vectors as f32
 * with something added. At most one head's rows, or one vector, is in memory. It must not know why.
 */
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { RingError } from '../core/errors.js';
import { CHUNK_BYTES, readFully } from './file-io.js';

/** A head's rows, or a vector, beyond this are refused before they are allocated. */
export const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

export interface StoredPlace {
  readonly path: string;
  /** From the start of the file. */
  readonly offset: number;
}

export interface TensorTransform {
  /** Tells two transforms of one place apart. */
  readonly name: string;
  read(place: StoredPlace, from: number): AsyncIterable<Uint8Array>;
}

export type FloatType = 'F32' | 'F16' | 'BF16';

/** Row `i` of the first half of a head, then row `i` of the second, and so on. */
export function interleaveHeadRows(shape: { readonly heads: number; readonly rowsPerHead: number; readonly rowBytes: number }): TensorTransform {
  const { heads, rowsPerHead, rowBytes } = shape;
  const headBytes = rowsPerHead * rowBytes;
  return {
    name: `rows of ${rowsPerHead}`,
    async *read(place, from) {
      const handle = await open(place.path, 'r');
      try {
        for (let head = Math.floor(from / headBytes); head < heads; head += 1) {
          const stored = await readExactly(handle, place, head * headBytes, headBytes);
          const rows = new Uint8Array(headBytes);
          for (let row = 0; row < rowsPerHead; row += 1) rows.set(stored.subarray(row * rowBytes, (row + 1) * rowBytes), interleaved(row, rowsPerHead) * rowBytes);
          const skip = Math.max(0, from - head * headBytes);
          for (let at = skip; at < headBytes; at += CHUNK_BYTES) yield rows.subarray(at, Math.min(headBytes, at + CHUNK_BYTES));
        }
      } finally {
        await handle.close();
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
  return {
    name: `${type} to f32 plus ${add}${valuesPerHead === null ? '' : `, heads of ${valuesPerHead}`}`,
    async *read(place, from) {
      const handle = await open(place.path, 'r');
      try {
        const stored = await readExactly(handle, place, 0, elements * (type === 'F32' ? 4 : 2));
        const values = floats(stored, type, elements);
        const result = new Float32Array(elements);
        for (let index = 0; index < elements; index += 1) {
          const value = Math.fround((values[index] ?? 0) + add);
          if (valuesPerHead === null) result[index] = value;
          else result[index - (index % valuesPerHead) + interleaved(index % valuesPerHead, valuesPerHead)] = value;
        }
        yield new Uint8Array(result.buffer).subarray(from);
      } finally {
        await handle.close();
      }
    },
  };
}

/** Bytes that are in no file. */
export function constantBytes(bytes: Uint8Array): TensorTransform {
  return {
    name: 'computed',
    async *read(_place, from) {
      yield bytes.subarray(from);
    },
  };
}

function interleaved(row: number, rows: number): number {
  const half = rows / 2;
  return row < half ? 2 * row : 2 * (row - half) + 1;
}

async function readExactly(handle: FileHandle, place: StoredPlace, at: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(new ArrayBuffer(length));
  const read = await readFully(handle, bytes, place.offset + at);
  if (read < length) throw new RingError('io_failed', `${place.path} became shorter: ${length - read} bytes are missing`, { path: place.path });
  return bytes;
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
