/**
 * How long a ring takes for one token of one sequence, predicted: the weight bytes that each stage reads over its
 * device's measured bandwidth, and a hop after every stage.
 *
 * Pure arithmetic on measured figures; KV reads are left out (they are small beside weights until a context is long). It
 * must not know which rings are worth comparing.
 */
import { chooseBackend } from './backends.js';
import type { NodeBudget } from './budget.js';
import { mainBytes } from './memory-model.js';
import type { MemoryTable } from './memory-model.js';
import type { PlacementNode } from './placement-types.js';
import { median } from './recent-values.js';
import type { ActivationType, Backend, Capabilities, LayerRange, LinkFigures, ModelShape, NodeId } from './types.js';

/** What a step costs a stage beside computing: the pipe to the runner and back, encoding, two processes that wake up. */
export const STEP_OVERHEAD_SECONDS = 0.0005;
/** A wired LAN, for ways that were not measured yet. */
const DEFAULT_ROUND_TRIP_SECONDS = 0.0006;
const DEFAULT_LINK_BYTES_PER_SECOND = 1e8;
/** Figures outside these are mistakes. */
const MIN_BANDWIDTH = 1e6;
const MAX_BANDWIDTH = 1e14;
const MAX_ROUND_TRIP_SECONDS = 10;

export interface NodeSpeed {
  /** Weight bytes per second on the stage's device. */
  readonly deviceBytesPerSecond: number;
  /** The same in host memory, for what spills. */
  readonly hostBytesPerSecond: number;
  /** To the next stage, whoever it is. */
  readonly hopSeconds: number;
  /** False: not measured yet, counted as the slowest that was. */
  readonly measured: boolean;
}

/** Of one value of a hidden state on the way; q8_0 has a scale of two bytes for 32 of them. */
const ACTIVATION_BYTES: Readonly<Record<ActivationType, number>> = { f32: 4, f16: 2, q8_0: 34 / 32 };

/** Speeds in the order of `nodes`; null when not one node was measured. */
export function nodeSpeeds(
  nodes: readonly PlacementNode[], budgets: readonly NodeBudget[], shape: ModelShape, activations: ActivationType = 'f32',
): readonly NodeSpeed[] | null {
  const devices = nodes.map((node, index) => {
    const backend = chooseBackend(budgets[index]?.backends ?? [], shape.supportedBackends);
    return backend === null ? null : bandwidthOf(node.capabilities, backend);
  });
  const slowest = devices.reduce<number | null>((least, speed) => (speed === null ? least : Math.min(least ?? speed, speed)), null);
  if (slowest === null) return null;
  const linksOf = new Map(nodes.map((node) => [node.nodeId, node.capabilities.links ?? []]));
  return nodes.map(({ nodeId, capabilities }, index): NodeSpeed => {
    const device = devices[index] ?? null;
    const deviceBytesPerSecond = device ?? slowest;
    return {
      deviceBytesPerSecond,
      hostBytesPerSecond: Math.min(deviceBytesPerSecond, bandwidthOf(capabilities, 'cpu') ?? deviceBytesPerSecond),
      hopSeconds: hopSeconds(nodeId, linksOf, shape.hiddenSize * ACTIVATION_BYTES[activations]),
      measured: device !== null,
    };
  });
}

/** Of the largest device of the backend: the one that a stage is given. */
function bandwidthOf(capabilities: Capabilities, backend: Backend): number | null {
  const device = capabilities.devices
    .filter((candidate) => candidate.backend === backend)
    .reduce<Capabilities['devices'][number] | null>((largest, candidate) => (largest === null || candidate.memoryTotalBytes > largest.memoryTotalBytes ? candidate : largest), null);
  const found = device?.memoryBandwidthBytesPerSecond ?? (capabilities.backends[0] === backend ? capabilities.memoryBandwidthBytesPerSecond : null);
  return found === null || !(found > 0) ? null : Math.min(Math.max(found, MIN_BANDWIDTH), MAX_BANDWIDTH);
}

/** Half the median way to the others that may take part, and the payload. A way is as long as the end says that saw it shorter. */
function hopSeconds(nodeId: NodeId, linksOf: ReadonlyMap<NodeId, readonly LinkFigures[]>, payloadBytes: number): number {
  const links = (linksOf.get(nodeId) ?? []).filter((link) => linksOf.has(link.nodeId));
  const roundTrip = median(links.map((link) => {
    const back = linksOf.get(link.nodeId)?.find((other) => other.nodeId === nodeId);
    return Math.min(link.roundTripMicros, back?.roundTripMicros ?? link.roundTripMicros) / 1e6;
  })) ?? DEFAULT_ROUND_TRIP_SECONDS;
  const rates = links.flatMap((link) => (link.bytesPerSecond === null || link.bytesPerSecond <= 0 ? [] : [link.bytesPerSecond]));
  const payload = payloadBytes / (median(rates) ?? DEFAULT_LINK_BYTES_PER_SECOND);
  return Math.min(roundTrip, MAX_ROUND_TRIP_SECONDS) / 2 + payload;
}

/** Of a mixture of experts only some are read for a token: part of the layers' bytes that is. */
export function activePart(shape: ModelShape): number {
  if (shape.expertCount <= 0 || shape.expertUsed <= 0) return 1;
  const attention = 4 * shape.hiddenSize * shape.hiddenSize;
  const expert = 3 * shape.hiddenSize * (shape.expertFeedForwardSize ?? shape.feedForwardSize);
  return (attention + expert * Math.min(shape.expertUsed, shape.expertCount)) / (attention + expert * shape.expertCount);
}

export interface StageTimeQuestion {
  readonly shape: ModelShape;
  readonly table: MemoryTable;
  /** `activePart(shape)`, asked once. */
  readonly active: number;
  readonly budget: NodeBudget;
  readonly speed: NodeSpeed;
}

export interface RingStage extends Omit<StageTimeQuestion, 'shape' | 'active'> {
  readonly range: LayerRange;
  /** It computes every sequence again with each token: no bandwidth says how long that takes. */
  readonly recomputes: boolean;
}

/** Of one answer in a ring of these stages; null when one of them was not measured, or recomputes. */
export function ringTokensPerSecond(shape: ModelShape, stages: readonly RingStage[]): number | null {
  if (stages.length === 0 || stages.some(({ speed, recomputes }) => !speed.measured || recomputes)) return null;
  const active = activePart(shape);
  const seconds = stages.reduce((sum, { range, ...stage }) =>
    sum + stageSeconds({ shape, active, ...stage }, range.start, range.end) + (stages.length === 1 ? 0 : stage.speed.hopSeconds), 0);
  return 1 / seconds;
}

/** Seconds of layers `[start, end)`, without a hop. */
export function stageSeconds({ shape, table, active, budget, speed }: StageTimeQuestion, start: number, end: number): number {
  const layers = ((table.weightsBefore[end] ?? 0) - (table.weightsBefore[start] ?? 0)) * active;
  const read = layers + (end === table.layers ? shape.tailBytes : 0);
  if (budget.spillAboveBytes === null) return STEP_OVERHEAD_SECONDS + read / speed.deviceBytesPerSecond;
  const total = mainBytes(table, start, end);
  const spilled = Math.min(1, Math.max(0, total - budget.spillAboveBytes) / Math.max(1, total));
  return STEP_OVERHEAD_SECONDS + (read * (1 - spilled)) / speed.deviceBytesPerSecond + (read * spilled) / speed.hostBytesPerSecond;
}
