/**
 * Hidden states in fewer bytes, for links that are slower than the stages: ggml's f16 (half of f32) and q8_0 (about a
 * quarter), packed and unpacked with the engine's own arithmetic. It must not know frames or stages.
 */
import { RingError } from '../core/errors.js';
import type { PackedStates } from '../core/step-types.js';
import type { ActivationType } from '../core/types.js';
import { GGML_F16, GGML_Q8_0 } from '../model/ggml-types.js';
import { quantizeChunk, typeTraits } from './quantize.js';

const GGML_TYPES: Readonly<Record<PackedStates['type'], number>> = { f16: GGML_F16, q8_0: GGML_Q8_0 };
/** All bits of an f16's exponent: infinite, or no number. */
const F16_EXPONENT = 0x7c00;

/**
 * `[tokens, hiddenSize]` f32 as `type`. Null = they go as they are: f32 is asked for, or f16 cannot hold one of the values
 * (above 65,504), which also is the scale of a q8_0 block. Rows that are no whole blocks of q8_0 become f16.
 */
export function packStates(hidden: Float32Array, hiddenSize: number, type: ActivationType): PackedStates | null {
  if (type === 'f32' || hidden.length === 0) return null;
  const { blockSize, typeSize } = typeTraits(GGML_TYPES[type]);
  if (hiddenSize % blockSize !== 0) return packStates(hidden, hiddenSize, 'f16');
  const bytes = quantizeChunk(GGML_TYPES[type], hidden, hidden.length / hiddenSize, hiddenSize);
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  // Of a q8_0 block only the first half is one: its scale.
  for (let index = 0; index < halves.length; index += type === 'f16' ? 1 : typeSize / 2) {
    if (((halves[index] ?? 0) & F16_EXPONENT) === F16_EXPONENT) return null;
  }
  return { type, bytes };
}

/** `[tokens, hiddenSize]` f32 again, in `into` where it is large enough. Throws `bad_frame` for bytes that are no whole rows. */
export function unpackStates({ type, bytes }: PackedStates, hiddenSize: number, into?: Float32Array): Float32Array {
  const traits = typeTraits(GGML_TYPES[type]);
  const rowBytes = (hiddenSize / traits.blockSize) * traits.typeSize;
  const tokens = bytes.byteLength / rowBytes;
  if (!Number.isInteger(rowBytes) || !Number.isInteger(tokens)) {
    throw new RingError('bad_frame', `${bytes.byteLength} bytes are no whole rows of ${hiddenSize} values in ${type}`);
  }
  const values = tokens * hiddenSize;
  return traits.dequantize(bytes, values, into !== undefined && into.length >= values ? into : undefined);
}
