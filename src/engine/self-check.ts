/**
 * The start-up check of the hand-written structs: every default parameter that the pinned build is known to return.
 *
 * If a field moved, its neighbours' values come back in its place and the comparison names the first one that is wrong.
 * It must not know koffi: it sees plain objects.
 */
import type { ContextParams, ModelParams, ThreadPoolParams } from './llama.js';

const MODEL_DEFAULTS: ModelParams = {
  devices: null, tensor_buft_overrides: null, n_gpu_layers: -1, split_mode: 1, load_mode: -1, lazy_mode: 1, main_gpu: 0,
  tensor_split: null, progress_callback: null, progress_callback_user_data: null, kv_overrides: null,
  vocab_only: false, check_tensors: false, use_extra_bufts: true, no_host: false, no_alloc: false, load_mtp: false,
};

const CONTEXT_DEFAULTS: ContextParams = {
  n_ctx: 512, n_batch: 2048, n_ubatch: 512, n_seq_max: 1, n_rs_seq: 0, n_outputs_max: 0, n_outputs_max_per_seq: 1,
  n_threads: 4, n_threads_batch: 4,
  ctx_type: 0, rope_scaling_type: -1, pooling_type: -1, attention_type: -1, flash_attn_type: -1,
  rope_freq_base: 0, rope_freq_scale: 0, yarn_ext_factor: -1, yarn_attn_factor: -1, yarn_beta_fast: -1, yarn_beta_slow: -1,
  yarn_orig_ctx: 0, defrag_thold: -1, cb_eval: null, cb_eval_user_data: null, type_k: 1, type_v: 1,
  abort_callback: null, abort_callback_data: null,
  embeddings: false, offload_kqv: true, no_perf: true, op_offload: true, swa_full: true, kv_unified: false,
  samplers: null, n_samplers: 0, ctx_other: null,
};

/** Threads of the pool whose parameters are checked. */
export const CHECKED_THREADS = 4;

/** `cpumask` comes before all of these: were it longer or shorter, they would be elsewhere. */
const THREAD_POOL_DEFAULTS: Omit<ThreadPoolParams, 'cpumask'> = { n_threads: CHECKED_THREADS, prio: 0, poll: 50, strict_cpu: false, paused: false };

/** Null when all defaults are the pinned build's; else the first field that differs, with both values. */
export function checkDefaults(model: ModelParams, context: ContextParams, threadPool: ThreadPoolParams): string | null {
  return firstDifference('llama_model_params', MODEL_DEFAULTS, model)
    ?? firstDifference('llama_context_params', CONTEXT_DEFAULTS, context)
    ?? firstDifference('ggml_threadpool_params', THREAD_POOL_DEFAULTS, threadPool);
}

function firstDifference(struct: string, expected: object, found: object): string | null {
  const foundValues = new Map<string, unknown>(Object.entries(found));
  for (const [field, wanted] of Object.entries(expected)) {
    const value = foundValues.get(field);
    if (value !== wanted) return `default of ${struct}.${field} is ${String(value)} instead of ${String(wanted)}`;
  }
  return null;
}
