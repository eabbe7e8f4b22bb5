/**
 * The precision that a node's weights are kept in, as people name it.
 *
 * Only names and what they mean; conversion is the engine's and the stage builder's work.
 */
import { parseMinifloat } from './minifloat.js';
import type { Minifloat } from './minifloat.js';

/** `name` is as people write it, in lower case. */
export type Precision =
  /** Weights as the checkpoint stores them; computes in f32. */
  | { readonly name: string; readonly kind: 'stored' }
  | { readonly name: string; readonly kind: 'ggml'; readonly type: 'f32' | 'f16' | 'bf16' | 'mxfp4' | 'nvfp4' }
  /** Rounded to the format's grid; `scale` says what is divided out before: nothing, per tensor, per 32 weights. */
  | { readonly name: string; readonly kind: 'minifloat'; readonly format: Minifloat; readonly scale: 'none' | 'tensor' | 'block' };

/** How a precision's weights lie in a file. */
export type WeightStorage = 'f32' | 'f16' | 'bf16' | 'mxfp4' | 'nvfp4';
export const WEIGHT_STORAGES: readonly WeightStorage[] = ['f32', 'f16', 'bf16', 'mxfp4', 'nvfp4'];

/** Null = as the model stores them. A grid of at most eight bits is stored as bf16, which has all its values. */
export function weightStorage(precision: Precision): WeightStorage | null {
  switch (precision.kind) {
    case 'stored': return null;
    case 'ggml': return precision.type;
    case 'minifloat': return 'bf16';
  }
}

export const PRECISION_NAMES: readonly string[] = ['f32', 'f16', 'bf16', 'mixed', 'fp8', 'fp8e5m2', 'mxfp8', 'nvfp4', 'mxfp4'];

/** Null when the name is none. Case and surrounding space do not matter. */
export function parsePrecision(text: string): Precision | null {
  const name = text.trim().toLowerCase();
  switch (name) {
    case 'f32': case 'f16': case 'bf16': case 'mxfp4': case 'nvfp4': return { name, kind: 'ggml', type: name };
    case 'mixed': return { name, kind: 'stored' };
    case 'fp8': return scaled(name, 'f8e4m3', 'tensor');
    case 'fp8e5m2': return scaled(name, 'f8e5m2', 'none');
    case 'mxfp8': return scaled(name, 'f8e4m3', 'block');
    default: return scaled(name, name, 'none');
  }
}

function scaled(name: string, formatName: string, scale: 'none' | 'tensor' | 'block'): Precision | null {
  const format = parseMinifloat(formatName);
  return format === null ? null : { name, kind: 'minifloat', format, scale };
}
