import { describe, expect, it } from 'vitest';
import { describeDeath } from '../../src/process/classify-death.js';

const base = { exitCode: null, signal: 'SIGABRT', stderr: '' };

describe('how a runner died', () => {
  it.each([
    ['llama_model_load: error loading model: unable to allocate CPU buffer', 'out_of_memory'],
    ['terminate called after throwing an instance of std::bad_alloc', 'out_of_memory'],
    ["llama_model_load: error loading model: unknown model architecture: 'nope'", 'unsupported_architecture'],
    ["gguf_init_from_file_impl: invalid magic characters: 'XXXX', expected 'GGUF'", 'bad_gguf'],
    ["tensor 'blk.0.attn_q.weight' data is not within the file bounds, model is corrupted or incomplete", 'bad_gguf'],
    ['vk::PhysicalDevice::createDevice: ErrorInitializationFailed\nggml_vulkan: no devices found', 'backend_missing'],
    ['/ggml/src/ggml.c:1234: GGML_ASSERT(tensor->ne[0] > 0) failed', 'engine_failed'],
  ])('is told from its last words: %s', (stderr, code) => {
    expect(describeDeath('the runner of layers 0-3 of m', { ...base, stderr }).code).toBe(code);
  });

  it('names the runner, the signal and the last words', () => {
    const error = describeDeath('the runner of layers 0-3 of m', { ...base, stderr: 'first\n\nGGML_ASSERT(false) failed\n' });
    expect(error.message).toContain('the runner of layers 0-3 of m was ended by SIGABRT');
    expect(error.message).toContain('first | GGML_ASSERT(false) failed');
  });

  it('says that a silent kill may be the kernel\'s', () => {
    const error = describeDeath('a runner', { ...base, signal: 'SIGKILL' });
    expect(error.code).toBe('runner_died');
    expect(error.message).toMatch(/ran out of memory/);
  });
});
