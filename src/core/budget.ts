/**
 * How many bytes a stage may take on each node: memory, limits, devices, reserve, and the
 * memory that several agents on one machine share.
 *
 * It must not know the model beyond its supported backends, nor what other stages need.
 */
import { backendOfDevice, chooseBackend, missingDeviceAdvice, BACKEND_PREFERENCE } from './backends.js';
import { countText } from './quantities.js';
import type { PlacementNode } from './placement-types.js';
import type { Backend, DeviceKind, NodeId, PlanNote } from './types.js';

/** Share of a device's memory that a stage may take; the rest is the driver's and the screen's. */
const DEVICE_MEMORY_PERCENT = 85n;
/** Without a cluster file, this much of a machine's memory stays free, and never less than the minimum. */
const DEFAULT_RESERVE_PERCENT = 10n;
const MIN_RESERVE_BYTES = 1e9;

export interface NodeBudget {
  readonly nodeId: NodeId;
  readonly budgetBytes: number;
  /** Backends that this node's stage may use: all of its own, or the one its owner named. */
  readonly backends: readonly Backend[];
  /** What the primary device holds before a stage spills to host memory; null = spilling is not asked for. */
  readonly spillAboveBytes: number | null;
  /** Host memory beside a device that has its own, for what a stage keeps there (a `host` KV cache); null = one memory. */
  readonly hostBytes: number | null;
}

export type BudgetResult =
  | { readonly kind: 'budgets'; readonly budgets: readonly NodeBudget[]; readonly notes: readonly PlanNote[] }
  | { readonly kind: 'missing_device'; readonly nodeId: NodeId; readonly message: string };

/** Budgets in the order of `nodes`. `labels` name nodes for people. */
export function nodeBudgets(
  nodes: readonly PlacementNode[], modelBackends: readonly Backend[], labels: ReadonlyMap<NodeId, string>,
): BudgetResult {
  const budgets: NodeBudget[] = [];
  const notes: PlanNote[] = [];
  const machines = shareMachines(nodes);
  for (const node of nodes) {
    const primary = primaryBackend(node, modelBackends);
    if (primary.kind === 'missing') {
      const label = labels.get(node.nodeId) ?? node.nodeId;
      return { kind: 'missing_device', nodeId: node.nodeId, message: missingDeviceText(label, primary.device, node) };
    }
    const machine = machines.get(node.capabilities.machineId) ?? { agents: 1, availableBytes: node.capabilities.ramAvailableBytes };
    if (machine.agents > 1) {
      notes.push({ nodeId: node.nodeId, text: `${countText(machine.agents, 'agent')} share this machine's memory; each gets one part` });
    }
    const budget = budgetOf(node, primary.backend, machine);
    // Whole bytes, whatever a record said: shares are computed with integers.
    const whole = (bytes: number): number => Math.max(0, Math.floor(Math.min(bytes, Number.MAX_SAFE_INTEGER)));
    budgets.push({
      spillAboveBytes: budget.spillAboveBytes, budgetBytes: whole(budget.budgetBytes), hostBytes: budget.hostBytes === null ? null : whole(budget.hostBytes),
      nodeId: node.nodeId, backends: primary.allowed,
    });
  }
  return { kind: 'budgets', budgets, notes };
}

interface MachineShare {
  readonly agents: number;
  readonly availableBytes: number;
}

/** Agents of one machine each report what is free beside their own runners: the largest report is nearest the truth. */
function shareMachines(nodes: readonly PlacementNode[]): ReadonlyMap<string, MachineShare> {
  const machines = new Map<string, MachineShare>();
  for (const { capabilities } of nodes) {
    const known = machines.get(capabilities.machineId);
    machines.set(capabilities.machineId, {
      agents: (known?.agents ?? 0) + 1,
      // A report cut by a limit says nothing about the machine.
      availableBytes: Math.max(known?.availableBytes ?? 0, capabilities.ramLimitBytes === null ? capabilities.ramAvailableBytes : 0),
    });
  }
  return machines;
}

type Primary =
  | { readonly kind: 'found'; readonly backend: Backend | null; readonly allowed: readonly Backend[] }
  | { readonly kind: 'missing'; readonly device: DeviceKind };

function primaryBackend(node: PlacementNode, modelBackends: readonly Backend[]): Primary {
  const { backends } = node.capabilities;
  const asked = node.settings?.devices?.[0];
  if (asked === undefined) return { kind: 'found', backend: chooseBackend(backends, modelBackends), allowed: backends };
  const backend = backendOfDevice(asked, backends);
  return backend === null ? { kind: 'missing', device: asked } : { kind: 'found', backend, allowed: [backend] };
}

function missingDeviceText(label: string, device: DeviceKind, node: PlacementNode): string {
  const has = BACKEND_PREFERENCE.filter((backend) => node.capabilities.backends.includes(backend)).join(', ');
  const advice = missingDeviceAdvice(device);
  return `node ${label} has no device "${device}" (it has: ${has === '' ? 'none' : has})${advice === '' ? '' : `; ${advice}`}`;
}

function budgetOf(
  node: PlacementNode, backend: Backend | null, machine: MachineShare,
): Pick<NodeBudget, 'budgetBytes' | 'spillAboveBytes' | 'hostBytes'> {
  const { capabilities, settings } = node;
  const total = Math.floor(capabilities.ramTotalBytes / machine.agents);
  const host = hostMemory(node, machine, total);
  const reserve = settings?.reserveBytes ?? Math.ceil(defaultReserveBytes(capabilities.ramTotalBytes) / machine.agents);
  // With a limit but no cluster file the reserve is what the machine keeps, not a further cut of the limit.
  const limited = settings?.reserveBytes === undefined && (capabilities.ramLimitBytes !== null || settings?.maxRamBytes !== undefined);
  const afterReserve = (bytes: number): number =>
    limited ? Math.min(bytes, Math.max(0, total - reserve)) : Math.max(0, bytes - reserve);
  const device = backend === null || backend === 'cpu' ? null : largestDevice(node, backend);
  if (device === null) return { budgetBytes: afterReserve(host), spillAboveBytes: null, hostBytes: null };
  const hostBytes = device.unified ? null : afterReserve(host);
  const limit = capabilities.deviceLimitBytes ?? Number.POSITIVE_INFINITY;
  const deviceBytes = Math.min(limit, device.memoryBytes > 0 ? percentOf(device.memoryBytes, DEVICE_MEMORY_PERCENT) : host);
  const spills = settings?.devices?.slice(1).includes('cpu') === true;
  const isSmaller = device.memoryBytes < total || limit < host;
  // Without a cluster file the reserve is what the host keeps; what a device of its own keeps is left out already.
  const ownReserve = settings?.reserveBytes === undefined;
  if (!spills) {
    if (!isSmaller) return { budgetBytes: afterReserve(host), spillAboveBytes: null, hostBytes };
    return { budgetBytes: ownReserve ? Math.min(afterReserve(host), deviceBytes) : afterReserve(Math.min(host, deviceBytes)), spillAboveBytes: null, hostBytes };
  }
  // A unified device's memory is the host's; a discrete one adds its own to it.
  const both = device.unified ? host : host + deviceBytes;
  const budgetBytes = ownReserve && !device.unified ? afterReserve(host) + deviceBytes : afterReserve(both);
  return { budgetBytes, spillAboveBytes: Math.min(deviceBytes, both), hostBytes };
}

/** Host memory before the reserve: a limit that was set, else what is free, else this agent's part of it. */
function hostMemory(node: PlacementNode, machine: MachineShare, total: number): number {
  const { ramAvailableBytes, ramLimitBytes } = node.capabilities;
  const limit = node.settings?.maxRamBytes;
  if (limit !== undefined) return Math.min(Math.trunc(limit), ramLimitBytes ?? total, total);
  if (ramLimitBytes !== null) return Math.min(ramAvailableBytes, ramLimitBytes, total);
  return Math.min(Math.floor(machine.availableBytes / machine.agents), total);
}

function largestDevice(node: PlacementNode, backend: Backend): { readonly memoryBytes: number; readonly unified: boolean } {
  const devices = node.capabilities.devices.filter((device) => device.backend === backend);
  const memoryBytes = devices.reduce((largest, device) => Math.max(largest, device.memoryTotalBytes), 0);
  return { memoryBytes, unified: devices.some((device) => device.unified) };
}

/** max(1 GB, 10 % of the machine's memory), so that 8 GB machines take part. */
function defaultReserveBytes(ramTotalBytes: number): number {
  return Math.max(MIN_RESERVE_BYTES, percentOf(ramTotalBytes, DEFAULT_RESERVE_PERCENT));
}

function percentOf(bytes: number, percent: bigint): number {
  return Number((BigInt(Math.floor(bytes)) * percent) / 100n);
}

