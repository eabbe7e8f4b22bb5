/**
 * llama.cpp's C API as TypeScript functions: THE only file that knows its structs and memory layouts.
 *
 * The declarations are written by hand for one pinned build. A wrong layout is memory corruption, so `loadLlama` checks
 * the version and reads every default parameter back before anything else is called. It must not know what a stage is.
 *
 * Pointers are plain addresses. Memory for one call is passed as a typed array itself, which keeps it alive. Memory that
 * C keeps a pointer to is a typed array over its own `ArrayBuffer` (never moved by the garbage collector) in a field.
 */
import koffi from 'koffi';
import type { TypeObject } from 'koffi';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { Backend } from '../core/types.js';
import { engineLog } from './engine-log.js';
import { choosePackage, libraryFiles } from './packages.js';
import type { EnginePackage } from './packages.js';
import { CHECKED_THREADS, checkDefaults } from './self-check.js';

/** An address in C memory. Null is `NULL`. */
export type Pointer = bigint | null;

/** What `llama_version()` says of the build that the structs below describe (a `-dev` or commit suffix may follow). */
export const PINNED_LLAMA_VERSION = '0.4.0';

/** Offset of `name` in `struct ggml_tensor`; checked at load through ggml_get_name. */
const TENSOR_NAME_OFFSET = 256;

export const LOAD_MODE_NONE = 0;
export const FLASH_ATTENTION_ENABLED = 1;
/** `enum ggml_backend_dev_type` */
export const DEVICE_TYPE = { cpu: 0, gpu: 1, integratedGpu: 2, accelerator: 3 } as const;
/** `enum llama_rope_type`: these two take four positions per token. */
export const ROPE_TYPE_MROPE = 8;
export const ROPE_TYPE_IMROPE = 40;

export interface ModelParams {
  devices: Pointer;
  tensor_buft_overrides: Pointer;
  n_gpu_layers: number;
  split_mode: number;
  load_mode: number;
  lazy_mode: number;
  main_gpu: number;
  tensor_split: Pointer;
  progress_callback: Pointer;
  progress_callback_user_data: Pointer;
  kv_overrides: Pointer;
  vocab_only: boolean;
  check_tensors: boolean;
  use_extra_bufts: boolean;
  no_host: boolean;
  no_alloc: boolean;
  load_mtp: boolean;
}

export interface ContextParams {
  n_ctx: number;
  n_batch: number;
  n_ubatch: number;
  n_seq_max: number;
  n_rs_seq: number;
  n_outputs_max: number;
  n_outputs_max_per_seq: number;
  n_threads: number;
  n_threads_batch: number;
  ctx_type: number;
  rope_scaling_type: number;
  pooling_type: number;
  attention_type: number;
  flash_attn_type: number;
  rope_freq_base: number;
  rope_freq_scale: number;
  yarn_ext_factor: number;
  yarn_attn_factor: number;
  yarn_beta_fast: number;
  yarn_beta_slow: number;
  yarn_orig_ctx: number;
  defrag_thold: number;
  cb_eval: Pointer;
  cb_eval_user_data: Pointer;
  type_k: number;
  type_v: number;
  abort_callback: Pointer;
  abort_callback_data: Pointer;
  embeddings: boolean;
  offload_kqv: boolean;
  no_perf: boolean;
  op_offload: boolean;
  swa_full: boolean;
  kv_unified: boolean;
  samplers: Pointer;
  n_samplers: number;
  ctx_other: Pointer;
}

/** `struct llama_batch`: exactly one of token and embd is set. */
export interface ThreadPoolParams {
  cpumask: readonly boolean[];
  n_threads: number;
  prio: number;
  /** How long threads look for work before they sleep: 0 = not at all, 100 = as long as can be. */
  poll: number;
  strict_cpu: boolean;
  paused: boolean;
}

export interface Batch {
  n_tokens: number;
  token: Pointer;
  embd: Pointer;
  pos: Pointer;
  n_seq_id: Pointer;
  seq_id: Pointer;
  logits: Pointer;
}

const MODEL_PARAMS = koffi.struct('llama_model_params', {
  devices: 'void *', tensor_buft_overrides: 'void *',
  n_gpu_layers: 'int32', split_mode: 'int32', load_mode: 'int32', lazy_mode: 'int32', main_gpu: 'int32',
  tensor_split: 'void *', progress_callback: 'void *', progress_callback_user_data: 'void *', kv_overrides: 'void *',
  vocab_only: 'bool', check_tensors: 'bool', use_extra_bufts: 'bool', no_host: 'bool', no_alloc: 'bool', load_mtp: 'bool',
});

const CONTEXT_PARAMS = koffi.struct('llama_context_params', {
  n_ctx: 'uint32', n_batch: 'uint32', n_ubatch: 'uint32', n_seq_max: 'uint32', n_rs_seq: 'uint32',
  n_outputs_max: 'uint32', n_outputs_max_per_seq: 'uint32', n_threads: 'int32', n_threads_batch: 'int32',
  ctx_type: 'int32', rope_scaling_type: 'int32', pooling_type: 'int32', attention_type: 'int32', flash_attn_type: 'int32',
  rope_freq_base: 'float', rope_freq_scale: 'float',
  yarn_ext_factor: 'float', yarn_attn_factor: 'float', yarn_beta_fast: 'float', yarn_beta_slow: 'float', yarn_orig_ctx: 'uint32',
  defrag_thold: 'float', cb_eval: 'void *', cb_eval_user_data: 'void *', type_k: 'int32', type_v: 'int32',
  abort_callback: 'void *', abort_callback_data: 'void *',
  embeddings: 'bool', offload_kqv: 'bool', no_perf: 'bool', op_offload: 'bool', swa_full: 'bool', kv_unified: 'bool',
  samplers: 'void *', n_samplers: 'size_t', ctx_other: 'void *',
});

const BATCH = koffi.struct('llama_batch', {
  n_tokens: 'int32', token: 'void *', embd: 'void *', pos: 'void *', n_seq_id: 'void *', seq_id: 'void *', logits: 'void *',
});

/** `cpumask` is ggml's GGML_MAX_N_THREADS. */
const THREAD_POOL_PARAMS = koffi.struct('ggml_threadpool_params', {
  cpumask: koffi.array('bool', 512), n_threads: 'int', prio: 'int', poll: 'uint32', strict_cpu: 'bool', paused: 'bool',
});

const CHAIN_PARAMS = koffi.struct('llama_sampler_chain_params', { no_perf: 'bool' });
const EVAL_CALLBACK = koffi.proto('bool ring_eval_callback(void *tensor, bool ask, void *user_data)');
const LOG_CALLBACK = koffi.proto('void ring_log_callback(int level, const char *text, void *user_data)');
const NEW_THREAD_POOL = koffi.proto('ring_new_thread_pool', 'void *', [koffi.pointer(THREAD_POOL_PARAMS)]);
const FREE_THREAD_POOL = koffi.proto('void ring_free_thread_pool(void *pool)');
const TO_FLOAT = koffi.proto('void ring_to_float(const void *rows, void *floats, int64_t count)');

type LibraryName = 'base' | 'ggml' | 'llama';
type Declaration = readonly [library: LibraryName, result: TypeObject | string, parameters: readonly (TypeObject | string)[]];

const FUNCTIONS = {
  ggml_version: ['base', 'str', []],
  ggml_commit: ['base', 'str', []],
  ggml_get_name: ['base', 'void *', ['void *']],
  ggml_nbytes: ['base', 'size_t', ['void *']],
  ggml_get_type_traits: ['base', 'void *', ['int']],
  ggml_quantize_chunk: ['base', 'size_t', ['int', 'void *', 'void *', 'int64', 'int64', 'int64', 'void *']],
  ggml_quantize_requires_imatrix: ['base', 'bool', ['int']],
  ggml_backend_tensor_get: ['base', 'void', ['void *', 'void *', 'size_t', 'size_t']],
  ggml_backend_tensor_set: ['base', 'void', ['void *', 'void *', 'size_t', 'size_t']],
  ggml_threadpool_params_default: ['base', THREAD_POOL_PARAMS, ['int']],
  ggml_backend_reg_get_proc_address: ['base', 'void *', ['void *', 'str']],
  ggml_backend_dev_name: ['base', 'str', ['void *']],
  ggml_backend_dev_description: ['base', 'str', ['void *']],
  ggml_backend_dev_type: ['base', 'int', ['void *']],
  ggml_backend_dev_memory: ['base', 'void', ['void *', 'void *', 'void *']],
  ggml_backend_dev_backend_reg: ['base', 'void *', ['void *']],
  ggml_backend_reg_name: ['base', 'str', ['void *']],
  ggml_backend_reg_by_name: ['ggml', 'void *', ['str']],
  ggml_backend_dev_count: ['ggml', 'size_t', []],
  ggml_backend_dev_get: ['ggml', 'void *', ['size_t']],
  ggml_backend_load_all_from_path: ['ggml', 'void', ['str']],
  llama_version: ['llama', 'str', []],
  llama_backend_init: ['llama', 'void', []],
  llama_log_set: ['llama', 'void', ['void *', 'void *']],
  llama_max_parallel_sequences: ['llama', 'size_t', []],
  llama_model_default_params: ['llama', MODEL_PARAMS, []],
  llama_context_default_params: ['llama', CONTEXT_PARAMS, []],
  llama_sampler_chain_default_params: ['llama', CHAIN_PARAMS, []],
  llama_model_load_from_file: ['llama', 'void *', ['str', MODEL_PARAMS]],
  llama_model_free: ['llama', 'void', ['void *']],
  llama_init_from_model: ['llama', 'void *', ['void *', CONTEXT_PARAMS]],
  llama_free: ['llama', 'void', ['void *']],
  llama_model_meta_val_str: ['llama', 'int32', ['void *', 'str', 'void *', 'size_t']],
  llama_model_size: ['llama', 'size_t', ['void *']],
  llama_model_n_embd: ['llama', 'int32', ['void *']],
  llama_model_n_embd_inp: ['llama', 'int32', ['void *']],
  llama_model_n_layer: ['llama', 'int32', ['void *']],
  llama_model_n_swa: ['llama', 'int32', ['void *']],
  llama_model_rope_type: ['llama', 'int32', ['void *']],
  llama_model_get_vocab: ['llama', 'void *', ['void *']],
  llama_model_has_encoder: ['llama', 'bool', ['void *']],
  llama_n_ctx_seq: ['llama', 'uint32', ['void *']],
  llama_attach_threadpool: ['llama', 'void', ['void *', 'void *', 'void *']],
  llama_get_memory: ['llama', 'void *', ['void *']],
  llama_memory_clear: ['llama', 'void', ['void *', 'bool']],
  llama_memory_seq_rm: ['llama', 'bool', ['void *', 'int32', 'int32', 'int32']],
  llama_memory_seq_cp: ['llama', 'void', ['void *', 'int32', 'int32', 'int32', 'int32']],
  llama_decode: ['llama', 'int32', ['void *', BATCH]],
  llama_synchronize: ['llama', 'void', ['void *']],
  llama_get_logits_ith: ['llama', 'void *', ['void *', 'int32']],
  llama_set_embeddings: ['llama', 'void', ['void *', 'bool']],
  llama_get_embeddings_ith: ['llama', 'void *', ['void *', 'int32']],
  llama_get_embeddings_seq: ['llama', 'void *', ['void *', 'int32']],
  llama_vocab_n_tokens: ['llama', 'int32', ['void *']],
  llama_vocab_type: ['llama', 'int32', ['void *']],
  llama_vocab_get_attr: ['llama', 'int', ['void *', 'int32']],
  llama_vocab_is_eog: ['llama', 'bool', ['void *', 'int32']],
  llama_vocab_bos: ['llama', 'int32', ['void *']],
  llama_vocab_eos: ['llama', 'int32', ['void *']],
  llama_vocab_get_add_bos: ['llama', 'bool', ['void *']],
  llama_tokenize: ['llama', 'int32', ['void *', 'void *', 'int32', 'void *', 'int32', 'bool', 'bool']],
  llama_token_to_piece: ['llama', 'int32', ['void *', 'int32', 'void *', 'int32', 'int32', 'bool']],
  llama_sampler_chain_init: ['llama', 'void *', [CHAIN_PARAMS]],
  llama_sampler_chain_add: ['llama', 'void', ['void *', 'void *']],
  llama_sampler_chain_remove: ['llama', 'void *', ['void *', 'int32']],
  llama_sampler_chain_n: ['llama', 'int', ['void *']],
  llama_sampler_init_greedy: ['llama', 'void *', []],
  llama_sampler_init_dist: ['llama', 'void *', ['uint32']],
  llama_sampler_init_top_k: ['llama', 'void *', ['int32']],
  llama_sampler_init_top_p: ['llama', 'void *', ['float', 'size_t']],
  llama_sampler_init_min_p: ['llama', 'void *', ['float', 'size_t']],
  llama_sampler_init_temp: ['llama', 'void *', ['float']],
  llama_sampler_init_penalties: ['llama', 'void *', ['int32', 'int32', 'float', 'float', 'float']],
  llama_sampler_init_logit_bias: ['llama', 'void *', ['int32', 'int32', 'void *']],
  llama_sampler_init_grammar: ['llama', 'void *', ['void *', 'str', 'str']],
  llama_sampler_apply: ['llama', 'void', ['void *', 'void *']],
  llama_sampler_accept: ['llama', 'void', ['void *', 'int32']],
  llama_sampler_sample: ['llama', 'int32', ['void *', 'void *', 'int32']],
  llama_sampler_free: ['llama', 'void', ['void *']],
} as const satisfies Readonly<Record<string, Declaration>>;

type FunctionName = keyof typeof FUNCTIONS;
type Argument = number | bigint | boolean | string | null | ArrayBufferView | ModelParams | ContextParams | Batch | { no_perf: boolean };

/** Functions by what they return; the parameter types are checked by koffi at the call. */
type Returning<Names extends FunctionName, Result> = { readonly [Name in Names]: (...parameters: Argument[]) => Result };
type NamesWhere<Result extends string> = {
  [Name in FunctionName]: (typeof FUNCTIONS)[Name][1] extends Result ? Name : never;
}[FunctionName];

export type LlamaFunctions =
  & Returning<NamesWhere<'void'>, void>
  & Returning<NamesWhere<'bool'>, boolean>
  & Returning<NamesWhere<'str'>, string>
  & Returning<NamesWhere<'void *'>, Pointer>
  & Returning<NamesWhere<'int' | 'int32' | 'uint32' | 'size_t'>, number>
  & {
    llama_model_default_params(): ModelParams;
    llama_context_default_params(): ContextParams;
    llama_sampler_chain_default_params(): { no_perf: boolean };
    ggml_threadpool_params_default(threads: number): ThreadPoolParams;
  };

/** `struct ggml_type_traits`, as far as it is needed. */
export interface TypeTraits {
  readonly name: string;
  readonly blockElements: number;
  readonly blockBytes: number;
  /** Null for f32. */
  readonly toFloat: Pointer;
}

/** The loaded engine: one per process. */
export interface Llama {
  readonly enginePackage: EnginePackage;
  /** As the build names itself, with ggml's version and commit. */
  readonly version: string;
  readonly c: LlamaFunctions;
}

let loaded: Llama | null = null;

/**
 * Loads the engine for a backend, or returns the loaded one when it serves that backend. Throws `engine_missing`,
 * `engine_mismatch`, `backend_missing`, or `engine_failed` when this process already loaded another package.
 */
export function loadLlama(backend?: Backend): Llama {
  if (loaded !== null) {
    const has = loaded.enginePackage.backend;
    if (backend === undefined || backend === 'cpu' || backend === has) return loaded;
    throw new RingError(
      'engine_failed',
      `this process already loaded ${loaded.enginePackage.name}, which has no ${backend}; a stage on ${backend} needs a process of its own`,
      { backend },
    );
  }
  const enginePackage = choosePackage(backend);
  const files = libraryFiles(enginePackage);
  const c = bind(enginePackage, files);
  const version = `llama ${c.llama_version()}, ggml ${c.ggml_version()} (${c.ggml_commit()})`;
  const problem = selfCheck(c);
  if (problem !== null) {
    throw new RingError(
      'engine_mismatch',
      `the libraries of ${enginePackage.name} are ${version}, but this program was written for llama ${PINNED_LLAMA_VERSION}: ${problem}. ` +
        'Reinstall the pinned package with npm ci',
      { found: c.llama_version(), wanted: PINNED_LLAMA_VERSION },
    );
  }
  c.llama_log_set(registerLogCallback((level, text) => engineLog.accept(level, text)), null);
  // JavaScript is gone when the libraries' own exit handlers run.
  process.once('exit', () => c.llama_log_set(null, null));
  c.llama_backend_init();
  for (const directory of [enginePackage.directory, ...enginePackage.extraDirectories]) c.ggml_backend_load_all_from_path(directory);
  loaded = { enginePackage, version, c };
  return loaded;
}

function bind(enginePackage: EnginePackage, files: { readonly base: string; readonly ggml: string; readonly llama: string }): LlamaFunctions {
  try {
    // In this order, so that each finds the ones it needs already loaded, whatever the platform's search rules.
    const libraries = { base: koffi.load(files.base), ggml: koffi.load(files.ggml), llama: koffi.load(files.llama) };
    const table: Record<string, unknown> = {};
    for (const [name, [library, result, parameters]] of Object.entries<Declaration>(FUNCTIONS)) {
      table[name] = libraries[library].func(name, result, [...parameters]);
    }
    return table as unknown as LlamaFunctions;
  } catch (cause) {
    throw new RingError(
      'engine_missing',
      `the engine libraries of ${enginePackage.name} do not load: ${errorMessageOf(cause)}. They need a glibc system on Linux; reinstall with npm ci, or use another machine`,
      { package: enginePackage.name },
      { cause },
    );
  }
}

/** Null when the build is the one that the structs describe; else what differs. */
function selfCheck(c: LlamaFunctions): string | null {
  const version = c.llama_version();
  if (version !== PINNED_LLAMA_VERSION && !version.startsWith(`${PINNED_LLAMA_VERSION}-`)) return `version ${version}`;
  const probe = 65_536n;
  if (c.ggml_get_name(probe) !== probe + BigInt(TENSOR_NAME_OFFSET)) return 'struct ggml_tensor has another layout';
  return checkDefaults(c.llama_model_default_params(), c.llama_context_default_params(), c.ggml_threadpool_params_default(CHECKED_THREADS));
}

/** Address of a typed array's memory. The caller keeps the array alive while C may use it. */
export function addressOf(memory: ArrayBufferView): bigint {
  return koffi.address(memory);
}

/** C memory as bytes, without a copy; valid as long as C's memory is. */
export function viewMemory(pointer: bigint, bytes: number): ArrayBuffer {
  return koffi.view(pointer, bytes);
}

/** A C string. */
function readString(pointer: bigint): string {
  return koffi.decode.string(pointer);
}

/** First four bytes of a tensor's name as a little-endian integer: tells most nodes apart at the cost of one read. */
export function tensorNamePrefix(tensor: bigint): number {
  return koffi.decode.uint32le(tensor + BigInt(TENSOR_NAME_OFFSET));
}

export function tensorName(tensor: bigint): string {
  return koffi.decode.string(tensor + BigInt(TENSOR_NAME_OFFSET));
}

/** Calls back on the thread that decodes. `unregister` it with the returned address. */
export function registerEvalCallback(call: (tensor: bigint, ask: boolean) => boolean): bigint {
  return koffi.register(call, koffi.pointer(EVAL_CALLBACK));
}

function registerLogCallback(call: (level: number, text: string) => void): bigint {
  return koffi.register(call, koffi.pointer(LOG_CALLBACK));
}

export function unregisterCallback(callback: bigint): void {
  koffi.unregister(callback);
}

/** Null when ggml has no such type. */
export function readTypeTraits(llama: Llama, type: number): TypeTraits | null {
  const pointer = llama.c.ggml_get_type_traits(type);
  if (pointer === null) return null;
  const fields = new BigUint64Array(viewMemory(pointer, 48));
  const [name, blockElements, , blockBytes, , toFloat] = fields;
  if (name === undefined || name === 0n || !blockElements || !blockBytes) return null;
  return { name: readString(name), blockElements: Number(blockElements), blockBytes: Number(blockBytes), toFloat: toFloat || null };
}

/** Runs a type's `to_float`: `count` elements from `rows` to `floats`. */
export function callToFloat(toFloat: bigint, rows: ArrayBufferView, floats: Float32Array, count: number): void {
  koffi.call(toFloat, TO_FLOAT, rows, floats, count);
}

/** `create` and `free` are the addresses of a backend's `ggml_threadpool_new` and `ggml_threadpool_free`. */
export function newThreadPool(create: bigint, params: ThreadPoolParams): Pointer {
  const pool: unknown = koffi.call(create, NEW_THREAD_POOL, params);
  return typeof pool === 'bigint' ? pool : null;
}

export function freeThreadPool(free: bigint, pool: bigint): void {
  koffi.call(free, FREE_THREAD_POOL, pool);
}
