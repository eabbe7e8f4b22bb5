/**
 * The compute devices that the engine finds on this machine, through the libraries of one package.
 *
 * What a package without a GPU backend cannot see is not there: who wants to know of vulkan asks in a process that
 * loads the vulkan package. It must not know models or plans.
 */
import type { Backend, Device } from '../core/types.js';
import type { EngineInventory } from '../ports.js';
import { DEVICE_TYPE, loadLlama } from './llama.js';
import type { Llama } from './llama.js';

/** A device with the handle that the engine wants back. */
export interface EngineDevice extends Device {
  readonly handle: bigint;
}

/** ggml's registry names, lower-cased, that we compute on. */
const REGISTRY_BACKENDS: ReadonlyMap<string, Backend> = new Map([
  ['cpu', 'cpu'], ['vulkan', 'vulkan'], ['cuda', 'cuda'], ['metal', 'metal'], ['mtl', 'metal'],
]);
/** More devices than any machine has; a registry that says more is not believed. */
const MAX_DEVICES = 256;

/**
 * What the engine's package for `backend` sees (absent = the plain package). The cpu device is always there.
 * Throws `engine_missing`, `engine_mismatch` or `backend_missing` (package not installed).
 */
export function inventory(backend?: Backend): EngineInventory {
  const llama = loadLlama(backend);
  const devices = engineDevices(llama).map(({ handle: _handle, ...device }): Device => device);
  return { version: llama.version, libraryDirectory: llama.enginePackage.directory, devices };
}

/** Accelerator libraries for the host's own arithmetic (BLAS and the like) are left out: they are part of cpu. */
export function engineDevices(llama: Llama): readonly EngineDevice[] {
  const { c } = llama;
  const devices: EngineDevice[] = [];
  const count = Math.min(c.ggml_backend_dev_count(), MAX_DEVICES);
  for (let index = 0; index < count; index += 1) {
    const handle = c.ggml_backend_dev_get(index);
    if (handle === null) continue;
    const type = c.ggml_backend_dev_type(handle);
    const backend = REGISTRY_BACKENDS.get(c.ggml_backend_reg_name(c.ggml_backend_dev_backend_reg(handle)).toLowerCase());
    if (backend === undefined || type === DEVICE_TYPE.accelerator) continue;
    const memory = new BigUint64Array(new ArrayBuffer(16));
    c.ggml_backend_dev_memory(handle, memory, memory.subarray(1));
    const [free, total] = memory;
    devices.push({
      handle,
      name: c.ggml_backend_dev_name(handle),
      description: c.ggml_backend_dev_description(handle).trim(),
      backend,
      memoryTotalBytes: Number(total ?? 0n),
      memoryFreeBytes: Number(free ?? 0n),
      unified: type === DEVICE_TYPE.cpu || type === DEVICE_TYPE.integratedGpu || (backend === 'metal' && process.arch === 'arm64'),
    });
  }
  return devices;
}
