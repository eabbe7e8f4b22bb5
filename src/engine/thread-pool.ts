/**
 * The threads that a context computes with on the cpu, kept from one call to the next.
 *
 * Without them the engine starts and ends all but one at every call, and a call is cut in two where a graph is. They sleep
 * between calls, at once: what else this machine does then, agents among it, is what the ring waits for.
 */
import { freeThreadPool, newThreadPool } from './llama.js';
import type { Llama } from './llama.js';

/** Nothing is looked for between two calls. */
const NO_POLLING = 0;

/** Returns what ends them, to be called when the context is gone. */
export function keepThreads({ c }: Llama, context: bigint, threads: number): () => void {
  const nothing = (): void => undefined;
  const backend = c.ggml_backend_reg_by_name('CPU');
  if (threads < 2 || backend === null) return nothing;
  const create = c.ggml_backend_reg_get_proc_address(backend, 'ggml_threadpool_new');
  const free = c.ggml_backend_reg_get_proc_address(backend, 'ggml_threadpool_free');
  if (create === null || free === null) return nothing;
  const pool = newThreadPool(create, { ...c.ggml_threadpool_params_default(threads), poll: NO_POLLING });
  if (pool === null) return nothing;
  c.llama_attach_threadpool(context, pool, pool);
  return () => freeThreadPool(free, pool);
}
