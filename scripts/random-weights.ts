/**
 * Seeded random weights in the encodings that generated models use: f32, f16, q8_0 and q4_0.
 *
 * The block encoders follow ggml's reference layouts (a test compares them with the engine's). Same seed, same bytes.
 */
import { createHash } from 'node:crypto';
import { GGML_F16, GGML_F32, GGML_Q4_0, GGML_Q8_0 } from '../src/model/ggml-types.js';

export type WeightFormat = 'f32' | 'f16' | 'q8_0' | 'q4_0';

export function formatType(format: WeightFormat): number {
  switch (format) {
    case 'f32': return GGML_F32;
    case 'f16': return GGML_F16;
    case 'q8_0': return GGML_Q8_0;
    case 'q4_0': return GGML_Q4_0;
  }
}

const BLOCK = 32;
const Q4_BLOCK_BYTES = 18;
/** Standard deviation of q4_0's sixteen levels drawn evenly. */
const Q4_LEVEL_DEVIATION = 4.61;
const PIECE_BLOCKS = 1 << 16;

/** 32 random bits a call (xorshift128 seeded by SHA-256). */
export function seededBits(seed: string): () => number {
  const digest = createHash('sha256').update(seed).digest();
  let a = digest.readInt32LE(0);
  let b = digest.readInt32LE(4);
  let c = digest.readInt32LE(8);
  let d = digest.readInt32LE(12) | 1;
  return () => {
    const t = a ^ (a << 11);
    a = b;
    b = c;
    c = d;
    d = d ^ (d >>> 19) ^ t ^ (t >>> 8);
    return d >>> 0;
  };
}

/** Nearly normal: four uniform draws, unit variance. */
function normal(bits: () => number): number {
  const first = bits();
  const second = bits();
  const sum = (first & 0xffff) + (first >>> 16) + (second & 0xffff) + (second >>> 16);
  return (sum / 65_536 - 2) * Math.sqrt(3);
}

const floatView = new Float32Array(1);
const bitsView = new Uint32Array(floatView.buffer);

/** Round to nearest even. */
export function toHalf(value: number): number {
  floatView[0] = value;
  const bits = bitsView[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  const mantissa = bits & 0x7f_ffff;
  if (exponent >= 31) return sign | 0x7c00;
  if (exponent > 0) {
    const half = sign | (exponent << 10) | (mantissa >>> 13);
    const rest = mantissa & 0x1fff;
    return rest > 0x1000 || (rest === 0x1000 && (half & 1) === 1) ? half + 1 : half;
  }
  if (exponent < -10) return sign;
  const shift = 14 - exponent;
  const full = mantissa | 0x80_0000;
  const half = sign | (full >>> shift);
  const rest = full & ((1 << shift) - 1);
  const middle = 1 << (shift - 1);
  return rest > middle || (rest === middle && (half & 1) === 1) ? half + 1 : half;
}

export interface WeightRequest {
  readonly seed: string;
  readonly elements: number;
  readonly centre: number;
  readonly deviation: number;
  readonly format: WeightFormat;
}

export function randomWeights(request: WeightRequest): Uint8Array {
  const bits = seededBits(request.seed);
  const values = new Float32Array(request.elements);
  for (let index = 0; index < values.length; index++) values[index] = request.centre + request.deviation * normal(bits);
  return encodeWeights(values, request.format);
}

/** Values in their encoded form; whole blocks of 32 for the quantised ones. */
export function encodeWeights(values: Float32Array, format: WeightFormat): Uint8Array {
  switch (format) {
    case 'f32': return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case 'f16': return new Uint8Array(Uint16Array.from(values, toHalf).buffer);
    case 'q8_0': return encodeQ8(values);
    case 'q4_0': return encodeQ4(values);
  }
}

function encodeQ8(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array((values.length / BLOCK) * 34);
  const view = new DataView(bytes.buffer);
  for (let block = 0; block < values.length / BLOCK; block++) {
    const start = block * BLOCK;
    let largest = 0;
    for (let i = 0; i < BLOCK; i++) largest = Math.max(largest, Math.abs(values[start + i] ?? 0));
    const scale = Math.fround(largest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    view.setUint16(block * 34, toHalf(scale), true);
    for (let i = 0; i < BLOCK; i++) {
      const scaled = Math.fround((values[start + i] ?? 0) * inverse);
      view.setInt8(block * 34 + 2 + i, Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5));
    }
  }
  return bytes;
}

function encodeQ4(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array((values.length / BLOCK) * Q4_BLOCK_BYTES);
  const view = new DataView(bytes.buffer);
  for (let block = 0; block < values.length / BLOCK; block++) {
    const start = block * BLOCK;
    let extreme = 0;
    for (let i = 0; i < BLOCK; i++) {
      const value = values[start + i] ?? 0;
      if (Math.abs(value) > Math.abs(extreme)) extreme = value;
    }
    const scale = Math.fround(extreme / -8);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    view.setUint16(block * Q4_BLOCK_BYTES, toHalf(scale), true);
    const level = (index: number): number => Math.min(15, Math.trunc(Math.fround(Math.fround((values[start + index] ?? 0) * inverse) + 8.5)));
    for (let i = 0; i < BLOCK / 2; i++) {
      view.setUint8(block * Q4_BLOCK_BYTES + 2 + i, level(i) | (level(i + BLOCK / 2) << 4));
    }
  }
  return bytes;
}

/** Random q4_0 blocks of a given deviation, in pieces, much faster than encoding values: every level is drawn evenly. */
export function* randomQ4Pieces(seed: string, elements: number, deviation: number): Generator<Uint8Array> {
  const bits = seededBits(seed);
  const scale = toHalf(deviation / Q4_LEVEL_DEVIATION);
  const blocks = elements / BLOCK;
  for (let done = 0; done < blocks; done += PIECE_BLOCKS) {
    const count = Math.min(PIECE_BLOCKS, blocks - done);
    const words = new Uint16Array(count * (Q4_BLOCK_BYTES / 2));
    for (let block = 0; block < count; block++) {
      const at = block * (Q4_BLOCK_BYTES / 2);
      // The levels -8..7 lean to one side: a random sign of the scale takes the mean away.
      words[at] = scale ^ (bits() & 0x8000);
      for (let i = 1; i < Q4_BLOCK_BYTES / 2; i += 2) {
        const drawn = bits();
        words[at + i] = drawn & 0xffff;
        words[at + i + 1] = drawn >>> 16;
      }
    }
    yield new Uint8Array(words.buffer);
  }
}
