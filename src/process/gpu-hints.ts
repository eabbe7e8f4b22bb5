/**
 * What a machine could compute on and does not, in words for `agent status`: an NVIDIA card without its faster package, or
 * without anything that reaches it.
 *
 * The sentences are pure; looking for the card is one function beside them. It must not know the engine's libraries.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Backend } from '../core/types.js';

export interface GpuFacts {
  /** The card's driver is installed. */
  readonly nvidia: boolean;
  /** What the engine found. */
  readonly backends: readonly Backend[];
  /** `<platform>-<arch>` of Node. */
  readonly platform: string;
  /** Of the engine's packages, which come in one version only. */
  readonly engineVersion: string;
}

/** npm names of the CUDA packages by platform; others have none. */
const CUDA_PACKAGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['linux-x64', ['@node-llama-cpp/linux-x64-cuda', '@node-llama-cpp/linux-x64-cuda-ext']],
  ['win32-x64', ['@node-llama-cpp/win-x64-cuda', '@node-llama-cpp/win-x64-cuda-ext']],
]);

/** Empty when there is nothing to say. */
export function gpuHints(facts: GpuFacts): readonly string[] {
  const { nvidia, backends, platform, engineVersion } = facts;
  if (!nvidia || backends.includes('cuda')) return [];
  const packages = CUDA_PACKAGES.get(platform)?.map((name) => `${name}@${engineVersion}`);
  const install = packages === undefined ? null : `npm install ${packages.join(' ')}`;
  if (backends.includes('vulkan')) {
    return [`NVIDIA GPU found, used through vulkan.${install === null ? '' : ` For more speed (cuda, about 540 MB): ${install}`}`];
  }
  const vulkan = "the driver's Vulkan part (Debian: apt install libvulkan1 nvidia-vulkan-icd)";
  return [`NVIDIA GPU found, but not used: the cpu computes. Install ${install === null ? vulkan : `${vulkan}, or for more speed (cuda, about 540 MB): ${install}`}`];
}

/** Whether an NVIDIA driver is installed: the kernel says so, or its tool is on the path. */
export function hasNvidiaDriver(environment: NodeJS.ProcessEnv = process.env): boolean {
  if (existsSync('/proc/driver/nvidia/version')) return true;
  const tools = process.platform === 'win32' ? ['nvidia-smi.exe'] : ['nvidia-smi'];
  return (environment['PATH'] ?? '').split(delimiter).some((directory) => directory !== '' && tools.some((tool) => existsSync(join(directory, tool))));
}
