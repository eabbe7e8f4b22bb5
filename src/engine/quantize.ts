/**
 * ggml's numeric formats from TypeScript: rows to f32 and back, with the engine's own arithmetic.
 *
 * Used by the head (embedding rows), the model generator and precision conversion. It must not know models or files.
 */
import { RingError } from '../core/errors.js';
import { callToFloat, loadLlama, readTypeTraits } from './llama.js';

export interface GgmlTypeTraits {
  readonly type: number;
  /** ggml's name, e.g. `q8_0`. */
  readonly name: string;
  /** Elements per block. */
  readonly blockSize: number;
  /** Bytes per block. */
  readonly typeSize: number;
  /** `elements` values from the start of `bytes`, in `into` or in an array of their own. Throws `bad_gguf` when they are not whole blocks or not all there. */
  dequantize(bytes: Uint8Array, elements: number, into?: Float32Array): Float32Array;
}

const F32 = 0;
/** Types above this are no ggml types; asking ggml for them reads past its table. */
const MAX_TYPE = 41;
const known = new Map<number, GgmlTypeTraits>();

/** Throws `bad_gguf` for a type that the engine does not have. */
export function typeTraits(type: number): GgmlTypeTraits {
  const cached = known.get(type);
  if (cached !== undefined) return cached;
  const traits = Number.isInteger(type) && type >= 0 && type <= MAX_TYPE ? readTypeTraits(loadLlama(), type) : null;
  if (traits === null) throw new RingError('bad_gguf', `tensor type ${type} is unknown to the engine; use a model in another format`, { type });
  const { name, blockElements, blockBytes, toFloat } = traits;
  const result: GgmlTypeTraits = {
    type,
    name,
    blockSize: blockElements,
    typeSize: blockBytes,
    dequantize(bytes, elements, into) {
      const wanted = (elements / blockElements) * blockBytes;
      if (!Number.isInteger(elements / blockElements) || bytes.byteLength < wanted) {
        throw new RingError('bad_gguf', `${elements} elements of ${name} need ${wanted} bytes in whole blocks of ${blockElements}, got ${bytes.byteLength} bytes`);
      }
      const floats = into?.subarray(0, elements) ?? new Float32Array(new ArrayBuffer(elements * 4));
      if (toFloat !== null) callToFloat(toFloat, bytes, floats, elements);
      else if (type === F32) new Uint8Array(floats.buffer, floats.byteOffset).set(bytes.subarray(0, wanted));
      else throw new RingError('bad_gguf', `tensor type ${name} cannot be read as floating point`, { type });
      return floats;
    },
  };
  known.set(type, result);
  return result;
}

/**
 * `f32` of `[rows, rowSize]` as blocks of `type`. Throws `bad_config` for types that need an importance matrix and for
 * rows that are not whole blocks.
 */
export function quantizeChunk(type: number, f32: Float32Array, rows: number, rowSize: number): Uint8Array {
  const traits = typeTraits(type);
  const { c } = loadLlama();
  if (rowSize % traits.blockSize !== 0 || f32.length < rows * rowSize) {
    throw new RingError('bad_config', `${rows} rows of ${rowSize} values do not make whole blocks of ${traits.blockSize} for ${traits.name}`);
  }
  if (c.ggml_quantize_requires_imatrix(type)) throw new RingError('bad_config', `${traits.name} needs an importance matrix; choose another precision`);
  const bytes = (rowSize / traits.blockSize) * traits.typeSize * rows;
  const quantized = new Uint8Array(new ArrayBuffer(bytes));
  const written = c.ggml_quantize_chunk(type, f32, quantized, 0, rows, rowSize, null);
  if (written !== bytes) throw new RingError('engine_failed', `quantising ${rows} rows to ${traits.name} wrote ${written} bytes instead of ${bytes}`);
  return quantized;
}
