/**
 * What a node's precision does to a model's tensors: which are kept in another type, and how many bytes that makes.
 *
 * The layers' matrices are converted. Norms, biases, routers and convolutions are small and want their precision; the
 * embedding and the output matrix stay as stored, so that what is converted does not depend on where a model is cut.
 * It must not know how numbers are rounded (runner/convert-file.ts).
 */
import type { WeightStorage } from '../core/precision.js';
import { WEIGHT_STORAGES } from '../core/precision.js';
import { ggmlType, tensorBytes } from './ggml-types.js';
import type { GgufTensor } from './gguf-reader.js';
import { layerOfTensor } from './model-facts.js';

const STORAGE_TYPES: Readonly<Record<WeightStorage, number>> = { f32: 0, f16: 1, bf16: 30, mxfp4: 39, nvfp4: 40 };
/** Tensors that the engine reads as f32 or not by matrix products. */
const KEPT = /(_norm|ffn_gate_inp|ffn_gate_inp_shexp|ssm_conv1d|shortconv\.conv|altup|laurel|time_mix|channel_mix|attn_rel_b)/;
/** Integers and the engine's own working types are no weights. */
const NO_WEIGHTS: ReadonlySet<string> = new Set(['i8', 'i16', 'i32', 'i64', 'f64', 'q8_1', 'q8_K']);

/** True for a layer's matrix whose rows are whole blocks of the storage. */
export function isConvertible(tensor: Pick<GgufTensor, 'name' | 'dims' | 'ggmlType'>, storage: WeightStorage): boolean {
  const stored = ggmlType(tensor.ggmlType);
  const target = ggmlType(STORAGE_TYPES[storage]);
  if (stored === null || target === null || NO_WEIGHTS.has(stored.name)) return false;
  if (layerOfTensor(tensor.name) === null || !tensor.name.endsWith('.weight') || KEPT.test(tensor.name)) return false;
  const [row, ...others] = tensor.dims;
  return row !== undefined && others.length > 0 && row % target.blockElements === 0;
}

/** The type that the tensor has on a node of that storage; its own when it is not converted. */
export function convertedType(tensor: Pick<GgufTensor, 'name' | 'dims' | 'ggmlType'>, storage: WeightStorage): number {
  return isConvertible(tensor, storage) ? STORAGE_TYPES[storage] : tensor.ggmlType;
}

/** Weight bytes of every layer in every storage. `[layers]` each */
export function layerBytesAs(tensors: readonly GgufTensor[], layers: number): Readonly<Record<WeightStorage, readonly number[]>> {
  const bytesIn = (storage: WeightStorage): readonly number[] => {
    const sums = Array.from({ length: layers }, () => 0);
    for (const tensor of tensors) {
      const layer = layerOfTensor(tensor.name);
      const type = ggmlType(convertedType(tensor, storage));
      if (layer === null || type === null) continue;
      sums[layer] = (sums[layer] ?? 0) + (tensorBytes(type, tensor.dims) ?? tensor.sizeBytes);
    }
    return sums;
  };
  const [f32, f16, bf16, mxfp4, nvfp4] = WEIGHT_STORAGES.map(bytesIn);
  return { f32: f32 ?? [], f16: f16 ?? [], bf16: bf16 ?? [], mxfp4: mxfp4 ?? [], nvfp4: nvfp4 ?? [] };
}
