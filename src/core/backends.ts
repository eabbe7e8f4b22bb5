/**
 * Which backend each shard computes on, and how people name devices.
 *
 * The coordinator alone knows what every node can compute on and what the model supports, so it decides, and the
 * decision travels in the plan. Pure: what a node has comes from its capabilities, never from its operating system.
 */
import type { Backend, DeviceKind, NodeId, PlanNote, StagePlan } from './types.js';

/** First match wins. */
export const BACKEND_PREFERENCE: readonly Backend[] = ['metal', 'cuda', 'vulkan', 'cpu'];

/** What a person may type (lower case, trimmed) -> device. */
export const DEVICE_ALIASES: ReadonlyMap<string, DeviceKind> = new Map<string, DeviceKind>([
  ['cpu', 'cpu'], ['host', 'cpu'],
  ['metal', 'metal'], ['mtl', 'metal'],
  ['mlx', 'mlx'],
  ['ane', 'ane'], ['neural-engine', 'ane'],
  ['cuda', 'cuda'], ['nvidia', 'cuda'],
  ['rocm', 'rocm'], ['hip', 'rocm'], ['amd', 'rocm'],
  ['vulkan', 'vulkan'], ['vk', 'vulkan'],
  ['gpu', 'gpu'], ['wgpu', 'gpu'], ['webgpu', 'gpu'],
]);

export type DevicesResult =
  | { readonly kind: 'devices'; readonly devices: readonly DeviceKind[] }
  | { readonly kind: 'bad'; readonly message: string };

/** `metal+cpu` -> metal first, then cpu. Duplicates are dropped in first-seen order. A bad string is an error, never cpu. */
export function parseDevices(text: string): DevicesResult {
  const devices: DeviceKind[] = [];
  for (const part of text.split('+')) {
    const name = part.trim().toLowerCase();
    const device = DEVICE_ALIASES.get(name);
    if (device === undefined) {
      const what = name === '' ? `device "${text}" has an empty part` : `device "${name}" is unknown`;
      return { kind: 'bad', message: `${what}; use ${[...new Set(DEVICE_ALIASES.values())].join(', ')}, or a list such as "metal+cpu"` };
    }
    if (!devices.includes(device)) devices.push(device);
  }
  return { kind: 'devices', devices };
}

/** What a node computes on when it was asked for `device`; null = the node lacks it. `gpu` is any but the cpu. */
export function backendOfDevice(device: DeviceKind, backends: readonly Backend[]): Backend | null {
  if (device === 'gpu') return BACKEND_PREFERENCE.find((backend) => backend !== 'cpu' && backends.includes(backend)) ?? null;
  return BACKEND_PREFERENCE.find((backend) => backend === device && backends.includes(backend)) ?? null;
}

/** What to do when a node lacks a device; empty when there is nothing better to say. */
export function missingDeviceAdvice(device: DeviceKind): string {
  switch (device) {
    case 'mlx': case 'ane': return 'this engine computes on Apple GPUs as "metal"';
    case 'rocm': return 'this engine computes on AMD GPUs as "vulkan"';
    case 'cuda': return 'install the CUDA engine package there, or use "vulkan"';
    case 'metal': case 'vulkan': case 'gpu': case 'cpu': return '';
  }
}

/** The first backend in the preference order that both sides support. */
export function chooseBackend(nodeBackends: readonly Backend[], modelBackends: readonly Backend[]): Backend | null {
  return BACKEND_PREFERENCE.find((backend) => nodeBackends.includes(backend) && modelBackends.includes(backend)) ?? null;
}

export interface BackendAssignment {
  readonly stages: readonly StagePlan[];
  /** One for each node without a match. */
  readonly notes: readonly PlanNote[];
}

/**
 * Gives every stage its backend. `nodeBackends` has what each node may use: what its engine found, or less when its
 * owner said so. A stage whose node has no match keeps the field absent: the engine's own default.
 */
export function assignShardBackends(
  stages: readonly StagePlan[],
  nodeBackends: ReadonlyMap<NodeId, readonly Backend[]>,
  modelBackends: readonly Backend[],
): BackendAssignment {
  const notes: PlanNote[] = [];
  const assigned = stages.map((stage): StagePlan => {
    const available = nodeBackends.get(stage.nodeId) ?? [];
    const backend = chooseBackend(available, modelBackends);
    const { backend: _previous, ...rest } = stage;
    if (backend !== null) return { ...rest, backend };
    notes.push({
      nodeId: stage.nodeId,
      text: `no backend assigned: the node has ${listText(available)}, the model supports ${listText(modelBackends)}; the engine's default is used`,
    });
    return rest;
  });
  return { stages: assigned, notes };
}

function listText(backends: readonly Backend[]): string {
  return backends.length === 0 ? 'none' : BACKEND_PREFERENCE.filter((backend) => backends.includes(backend)).join(', ');
}
