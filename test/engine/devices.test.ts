import { describe, expect, it } from 'vitest';
import { inventory } from '../../src/engine/devices.js';
import { loadLlama, PINNED_LLAMA_VERSION } from '../../src/engine/llama.js';
import { choosePackage, libraryFiles, listPackages } from '../../src/engine/packages.js';
import { CHECKED_THREADS, checkDefaults } from '../../src/engine/self-check.js';

describe('the engine on this machine', () => {
  it('is the pinned build, with every default where the structs say', () => {
    const { c } = loadLlama();
    expect(c.llama_version().startsWith(PINNED_LLAMA_VERSION)).toBe(true);
    expect(checkDefaults(c.llama_model_default_params(), c.llama_context_default_params(), c.ggml_threadpool_params_default(CHECKED_THREADS))).toBeNull();
  });

  it('a default that moved is named with both values', () => {
    const { c } = loadLlama();
    const moved = { ...c.llama_context_default_params(), n_ubatch: 4 };
    const pool = c.ggml_threadpool_params_default(CHECKED_THREADS);
    expect(checkDefaults(c.llama_model_default_params(), moved, pool)).toBe('default of llama_context_params.n_ubatch is 4 instead of 512');
    expect(checkDefaults(c.llama_model_default_params(), c.llama_context_default_params(), { ...pool, poll: 0 })).toBe('default of ggml_threadpool_params.poll is 0 instead of 50');
  });

  it('lists the cpu with the machine\'s memory', () => {
    const { version, devices, libraryDirectory } = inventory('cpu');
    expect(version).toContain(PINNED_LLAMA_VERSION);
    expect(libraryDirectory).toContain('@node-llama-cpp');
    const cpu = devices.find((device) => device.backend === 'cpu');
    expect(cpu?.unified).toBe(true);
    expect(cpu?.memoryTotalBytes).toBeGreaterThan(1e8);
  });

  it('finds the libraries of every installed package', () => {
    expect(listPackages().length).toBeGreaterThan(0);
    for (const entry of listPackages()) {
      const files = libraryFiles(entry);
      expect(files.llama).toMatch(/llama[^/]*$/);
      expect(files.ggml).not.toMatch(/ggml-/);
      expect(files.llama).not.toMatch(/common/);
    }
  });

  it('says which packages are here when a backend is not', () => {
    const absent = (['metal', 'cuda', 'vulkan'] as const).filter((backend) => listPackages().every((entry) => entry.backend !== backend));
    for (const backend of absent) expect(() => choosePackage(backend)).toThrow(/was asked for.*installed: @node-llama-cpp/);
    expect(absent.length).toBeGreaterThan(0);
  });
});
