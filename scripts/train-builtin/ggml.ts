/**
 * ggml's graphs, gradients and optimiser steps as TypeScript functions, from the libraries that the engine already loaded.
 *
 * The engine itself never trains, so this stays beside the training script and is not shipped. Like `src/engine/llama.ts`
 * the declarations are written by hand for the one pinned build, which `loadLlama` has checked. It must not know models.
 */
import koffi from 'koffi';
import type { LibraryHandle, TypeObject } from 'koffi';
import { RingError } from '../../src/core/errors.js';
import { loadLlama } from '../../src/engine/llama.js';
import { libraryFiles } from '../../src/engine/packages.js';

/** Address of a `struct ggml_tensor`. */
export type Tensor = bigint;
export type Pointer = bigint | null;

export const TYPE_F32 = 0;
export const TYPE_I32 = 26;
/** `GGML_BACKEND_DEVICE_TYPE_CPU` */
const DEVICE_CPU = 0;
const STATUS_SUCCESS = 0;

const INIT_PARAMS = koffi.struct('ggml_init_params', { mem_size: 'size_t', mem_buffer: 'void *', no_alloc: 'bool' });
const SET_THREADS = koffi.proto('void ring_set_n_threads(void *backend, int threads)');

type LibraryName = 'base' | 'ggml';
type Declaration = readonly [library: LibraryName, result: TypeObject | string, parameters: readonly (TypeObject | string)[]];

const FUNCTIONS = {
  ggml_init: ['base', 'void *', [INIT_PARAMS]],
  ggml_free: ['base', 'void', ['void *']],
  ggml_tensor_overhead: ['base', 'size_t', []],
  ggml_graph_overhead_custom: ['base', 'size_t', ['size_t', 'bool']],
  ggml_new_tensor_1d: ['base', 'void *', ['void *', 'int', 'int64']],
  ggml_new_tensor_2d: ['base', 'void *', ['void *', 'int', 'int64', 'int64']],
  ggml_set_param: ['base', 'void', ['void *']],
  ggml_set_loss: ['base', 'void', ['void *']],
  ggml_set_output: ['base', 'void', ['void *']],
  ggml_add: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_sub: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_mul: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_scale: ['base', 'void *', ['void *', 'void *', 'float']],
  ggml_cpy: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_cont: ['base', 'void *', ['void *', 'void *']],
  ggml_transpose: ['base', 'void *', ['void *', 'void *']],
  ggml_permute: ['base', 'void *', ['void *', 'void *', 'int', 'int', 'int', 'int']],
  ggml_reshape_1d: ['base', 'void *', ['void *', 'void *', 'int64']],
  ggml_reshape_2d: ['base', 'void *', ['void *', 'void *', 'int64', 'int64']],
  ggml_reshape_3d: ['base', 'void *', ['void *', 'void *', 'int64', 'int64', 'int64']],
  ggml_reshape_4d: ['base', 'void *', ['void *', 'void *', 'int64', 'int64', 'int64', 'int64']],
  ggml_get_rows: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_rms_norm: ['base', 'void *', ['void *', 'void *', 'float']],
  ggml_mul_mat: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_rope_ext: ['base', 'void *', ['void *', 'void *', 'void *', 'void *', 'int', 'int', 'int', 'float', 'float', 'float', 'float', 'float', 'float']],
  ggml_soft_max_ext: ['base', 'void *', ['void *', 'void *', 'void *', 'float', 'float']],
  ggml_swiglu_split: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_cross_entropy_loss: ['base', 'void *', ['void *', 'void *', 'void *']],
  ggml_opt_step_adamw: ['base', 'void *', ['void *', 'void *', 'void *', 'void *', 'void *', 'void *']],
  ggml_new_graph_custom: ['base', 'void *', ['void *', 'size_t', 'bool']],
  ggml_build_forward_expand: ['base', 'void', ['void *', 'void *']],
  ggml_build_backward_expand: ['base', 'void', ['void *', 'void *', 'void *']],
  ggml_graph_get_grad: ['base', 'void *', ['void *', 'void *']],
  ggml_graph_get_grad_acc: ['base', 'void *', ['void *', 'void *']],
  ggml_backend_get_device: ['base', 'void *', ['void *']],
  ggml_backend_dev_backend_reg: ['base', 'void *', ['void *']],
  ggml_backend_reg_get_proc_address: ['base', 'void *', ['void *', 'str']],
  ggml_backend_get_default_buffer_type: ['base', 'void *', ['void *']],
  ggml_backend_alloc_ctx_tensors: ['base', 'void *', ['void *', 'void *']],
  ggml_backend_buffer_free: ['base', 'void', ['void *']],
  ggml_backend_free: ['base', 'void', ['void *']],
  ggml_backend_graph_compute: ['base', 'int', ['void *', 'void *']],
  ggml_backend_tensor_get: ['base', 'void', ['void *', 'void *', 'size_t', 'size_t']],
  ggml_backend_tensor_set: ['base', 'void', ['void *', 'void *', 'size_t', 'size_t']],
  ggml_gallocr_new: ['base', 'void *', ['void *']],
  ggml_gallocr_alloc_graph: ['base', 'bool', ['void *', 'void *']],
  ggml_gallocr_free: ['base', 'void', ['void *']],
  ggml_backend_init_by_type: ['ggml', 'void *', ['int', 'str']],
} as const satisfies Readonly<Record<string, Declaration>>;

type FunctionName = keyof typeof FUNCTIONS;
type Argument = number | boolean | bigint | string | null | ArrayBufferView | { mem_size: number; mem_buffer: null; no_alloc: boolean };
/** A null pointer never reaches a caller: `bind` throws. */
type Result<Name extends FunctionName> = (typeof FUNCTIONS)[Name][1] extends 'void' ? void
  : (typeof FUNCTIONS)[Name][1] extends 'void *' ? bigint
    : (typeof FUNCTIONS)[Name][1] extends 'bool' ? boolean
      : number;
export type GgmlFunctions = { readonly [Name in FunctionName]: (...parameters: Argument[]) => Result<Name> };

let bound: GgmlFunctions | null = null;

/** Throws what `loadLlama` throws, and `engine_missing` when the build lacks one of the functions. */
export function loadGgml(): GgmlFunctions {
  if (bound !== null) return bound;
  const files = libraryFiles(loadLlama().enginePackage);
  const libraries = { base: koffi.load(files.base), ggml: koffi.load(files.ggml) };
  const table: Record<string, unknown> = {};
  for (const [name, [library, result, parameters]] of Object.entries<Declaration>(FUNCTIONS)) {
    table[name] = bind(libraries[library], name, result, parameters);
  }
  bound = table as unknown as GgmlFunctions;
  return bound;
}

function bind(library: LibraryHandle, name: string, result: TypeObject | string, parameters: readonly (TypeObject | string)[]): (...values: unknown[]) => unknown {
  let call: (...values: unknown[]) => unknown;
  try {
    call = library.func(name, result, [...parameters]);
  } catch (cause) {
    throw new RingError('engine_missing', `the engine's ggml library has no ${name}, which training needs; reinstall the pinned package with npm ci`, { name }, { cause });
  }
  if (result !== 'void *') return call;
  return (...values) => {
    const pointer = call(...values);
    if (pointer === null) throw new RingError('engine_failed', `${name} gave nothing; is there memory left?`, { name });
    return pointer;
  };
}

/** A CPU backend of `threads` threads. */
export function openCpu(c: GgmlFunctions, threads: number): bigint {
  const backend = c.ggml_backend_init_by_type(DEVICE_CPU, null);
  const registry = c.ggml_backend_dev_backend_reg(c.ggml_backend_get_device(backend));
  koffi.call(c.ggml_backend_reg_get_proc_address(registry, 'ggml_backend_set_n_threads'), SET_THREADS, backend, threads);
  return backend;
}

/** Runs a graph whose tensors have memory. Throws `engine_failed`. */
export function compute(c: GgmlFunctions, backend: bigint, graph: bigint): void {
  const status = c.ggml_backend_graph_compute(backend, graph);
  if (status !== STATUS_SUCCESS) throw new RingError('engine_failed', `computing a training graph failed (${status})`, { status });
}
