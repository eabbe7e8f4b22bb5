import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gpuHints, hasNvidiaDriver } from '../../src/process/gpu-hints.js';

const LINUX = { nvidia: true, platform: 'linux-x64', engineVersion: '3.21.1' } as const;
const INSTALL = 'npm install @node-llama-cpp/linux-x64-cuda@3.21.1 @node-llama-cpp/linux-x64-cuda-ext@3.21.1';

describe('an NVIDIA machine without the CUDA package', () => {
  it('says that the GPU was found, what is used, and what to install for more', () => {
    expect(gpuHints({ ...LINUX, backends: ['vulkan', 'cpu'] })).toEqual([
      `NVIDIA GPU found, used through vulkan. For more speed (cuda, about 540 MB): ${INSTALL}`,
    ]);
  });

  it('says so when only the cpu computes', () => {
    const [hint] = gpuHints({ ...LINUX, backends: ['cpu'] });
    expect(hint).toMatch(/^NVIDIA GPU found, but not used: the cpu computes\. Install the driver's Vulkan part/);
    expect(hint).toContain(INSTALL);
  });

  it('names no package where there is none', () => {
    expect(gpuHints({ ...LINUX, platform: 'linux-arm64', backends: ['cpu'] })[0]).not.toContain('npm');
    expect(gpuHints({ ...LINUX, platform: 'linux-arm64', backends: ['vulkan', 'cpu'] })).toEqual(['NVIDIA GPU found, used through vulkan.']);
  });

  it('says nothing with CUDA, or without a card', () => {
    expect(gpuHints({ ...LINUX, backends: ['cuda', 'vulkan', 'cpu'] })).toEqual([]);
    expect(gpuHints({ ...LINUX, nvidia: false, backends: ['vulkan', 'cpu'] })).toEqual([]);
  });

  it('is known by its tool on the path', () => {
    const directory = mkdtempSync(join(tmpdir(), 'path-'));
    try {
      writeFileSync(join(directory, process.platform === 'win32' ? 'nvidia-smi.exe' : 'nvidia-smi'), '');
      expect(hasNvidiaDriver({ PATH: directory })).toBe(true);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
