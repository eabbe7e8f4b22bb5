/**
 * What laying layers over nodes takes and gives, and the questions every policy asks: does this range fit that node,
 * where may the model be cut, what to say when it cannot be placed.
 *
 * Shared by core/layer-policies.ts and core/manual-layers.ts. It must not know contexts, slots or plan ids.
 */
import type { NodeBudget } from './budget.js';
import type { NodeSpeed } from './decode-speed.js';
import type { ErrorCode } from './errors.js';
import { layerCapacity } from './apportion.js';
import { hostCacheBytes, mainBytes, stageBytes, stagePositionOf } from './memory-model.js';
import type { MemoryTable, StageBytes } from './memory-model.js';
import { bytesText } from './quantities.js';
import { diskCapacity, isUneven, stageDiskBytes } from './stage-disk.js';
import type { NodeDisk } from './stage-disk.js';
import type { StageVerdict } from './tiling.js';
import type { LayerRange, ModelShape, NodeSettings, PlacementPolicy, PlanNote, RingOption } from './types.js';

/** A node that may take layers. */
export interface Candidate {
  readonly label: string;
  readonly budget: NodeBudget;
  /** Integer; its part of the layers is proportional. Budget bytes, or measured speed. */
  readonly weight: number;
  readonly pin: LayerRange | null;
  /** From a cluster file. Absent = nothing is said of this node. */
  readonly settings?: NodeSettings;
  /** Its own, where its weights or its cache take other room than the problem's table says. */
  readonly table?: MemoryTable;
  /** Only when somebody was measured. */
  readonly speed?: NodeSpeed;
  /** Absent = its disk is no question. */
  readonly disk?: NodeDisk;
}

export interface LayerProblem {
  readonly shape: ModelShape;
  readonly table: MemoryTable;
  /** Numbers of layers in `shape.refusedStageLayers`. */
  readonly refusedSizes: ReadonlySet<number>;
  /** In ring order. */
  readonly candidates: readonly Candidate[];
  readonly policy: PlacementPolicy;
  /** Exactly this many stages; null = the policy's choice. */
  readonly nodes: number | null;
  /** The order is a person's: never changed. */
  readonly ordered: boolean;
}

export interface Placed {
  readonly candidate: Candidate;
  /** Empty = left out. */
  readonly range: LayerRange;
}

export type LayerResult =
  /** `options`: what it was chosen from, where rings were compared by speed. */
  | { readonly kind: 'laid'; readonly placed: readonly Placed[]; readonly notes: readonly PlanNote[]; readonly options?: readonly RingOption[] }
  /** `memory`: less context or fewer slots might help. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string; readonly memory: boolean };

/** What stages take on this node. */
export function tableOn(problem: Pick<LayerProblem, 'table'>, candidate: Candidate): MemoryTable {
  return candidate.table ?? problem.table;
}

export function refuse(code: ErrorCode, message: string, memory = false): LayerResult {
  return { kind: 'failed', code, message, memory };
}

/** Half-open, as people write it in a cluster file. */
export function rangeText(range: LayerRange): string {
  return `${range.start}:${range.end}`;
}

export function isEmpty(range: LayerRange): boolean {
  return range.start === range.end;
}

/** Bytes of the range on this node. */
export function bytesOn(problem: LayerProblem, candidate: Candidate, range: LayerRange): number {
  return stageBytes(tableOn(problem, candidate), range).total;
}

/** On layers `[start, end)`. The whole model is never a refused size. */
export function verdictOn(problem: LayerProblem, candidate: Candidate, start: number, end: number): StageVerdict {
  if (exceeds(tableOn(problem, candidate), candidate.budget, start, end)) return 'exceeds';
  const { disk } = candidate;
  if (disk !== undefined && stageDiskBytes(disk, start, end) > disk.roomBytes) return isUneven(disk) ? 'refused' : 'exceeds';
  const isWhole = start === 0 && end === problem.shape.layers;
  return !isWhole && problem.refusedSizes.has(end - start) ? 'refused' : 'fits';
}

/** More than the node gives, on its device or beside it. */
function exceeds(table: MemoryTable, budget: NodeBudget, start: number, end: number): boolean {
  const main = mainBytes(table, start, end);
  if (main > budget.budgetBytes) return true;
  if (table.hostCacheBefore === undefined || budget.hostBytes === null) return false;
  const beside = hostCacheBytes(table, start, end);
  // What spills has the same host memory.
  return beside > budget.hostBytes || (budget.spillAboveBytes !== null && main + beside > budget.budgetBytes);
}

/** What of the range is above what the node gives, in words; null = it fits. */
export function excessText(problem: LayerProblem, candidate: Candidate, range: LayerRange): string | null {
  const { budget } = candidate;
  const table = tableOn(problem, candidate);
  if (!exceeds(table, budget, range.start, range.end)) return diskText(candidate, range);
  const beside = hostCacheBytes(table, range.start, range.end);
  if (budget.hostBytes !== null && beside > budget.hostBytes) {
    return `need ${bytesText(beside)} of host memory for the KV cache, above the node's budget of ${bytesText(budget.hostBytes)} there`;
  }
  const bytes = budget.spillAboveBytes === null ? mainBytes(table, range.start, range.end) : bytesOn(problem, candidate, range);
  return `need ${bytesText(bytes)}, above the node's budget of ${bytesText(budget.budgetBytes)}`;
}

function diskText({ disk }: Candidate, { start, end }: LayerRange): string | null {
  const bytes = disk === undefined ? 0 : stageDiskBytes(disk, start, end);
  if (disk === undefined || bytes <= disk.roomBytes) return null;
  return `need ${bytesText(bytes)} on the node's disk, which has room for ${bytesText(disk.roomBytes)}: free some, or raise --max-disk there`;
}

/** Why a stage may not have this many layers; the whole model always may. */
export function refusedReason(shape: ModelShape, range: LayerRange): string | null {
  if (stagePositionOf(range, shape.layers) === 'whole') return null;
  return shape.refusedStageLayers.find((refused) => refused.layers === range.end - range.start)?.reason ?? null;
}

/** Boundaries where the model may be cut within `range`, its ends included. */
export function cutsWithin(shape: ModelShape, range: LayerRange): readonly number[] {
  const cuts = [range.start];
  const period = Math.max(1, shape.cutPeriod);
  for (let cut = (Math.floor(range.start / period) + 1) * period; cut < range.end; cut += period) cuts.push(cut);
  cuts.push(range.end);
  return cuts;
}

/** Layers that a node can hold by the average layer, when its stage also holds what `range` brings with it. */
export function capacityOn(problem: LayerProblem, candidate: Candidate, range: LayerRange): number {
  const table = tableOn(problem, candidate);
  const { budgetBytes, hostBytes, spillAboveBytes } = candidate.budget;
  const { layers } = table;
  const position = stagePositionOf(range, layers);
  const main = (table.weightsBefore[layers] ?? 0) + (table.cacheBefore[layers] ?? 0) + table.bufferBytesPerLayer * layers;
  const beside = table.hostCacheBefore?.[layers] ?? 0;
  const extraBytes = table.extraWeights[position] + table.buffers[position];
  const capacity = layerCapacity({ budgetBytes, extraBytes, totalLayerBytes: spillAboveBytes === null ? main : main + beside, layers });
  const fitting = Math.min(capacity, candidate.disk === undefined ? layers : diskCapacity(candidate.disk, range));
  if (beside === 0 || hostBytes === null) return fitting;
  return Math.min(fitting, layerCapacity({ budgetBytes: hostBytes, extraBytes: 0, totalLayerBytes: beside, layers }));
}

/** What does not fit, then the numbers: those of the nodes, whose precision and cache may differ. */
export function doesNotFit(problem: LayerProblem, capacityLayers: number): LayerResult {
  const tables = problem.candidates.length === 0 ? [problem.table] : problem.candidates.map((candidate) => tableOn(problem, candidate));
  const wholes = tables.map((table) => stageBytes(table, { start: 0, end: problem.shape.layers }));
  const sizes = (part: keyof StageBytes): string => spanText(wholes.map((whole) => whole[part]));
  const budgets = problem.candidates.map((candidate) => `${candidate.label} ${bytesText(candidate.budget.budgetBytes)}`);
  const shown = budgets.slice(0, SHOWN_BUDGETS).join(', ');
  const more = budgets.length > SHOWN_BUDGETS ? ` and ${budgets.length - SHOWN_BUDGETS} more` : '';
  return refuse(
    'no_placement',
    `model (${problem.shape.layers} layers, ${sizes('total')}) does not fit the cluster (capacity ${capacityLayers} layers). `
    + 'Lower precision, add a node, raise max_ram, or reduce reserve. '
    + `Model ${problem.shape.name} needs ${sizes('weights')} for weights, ${sizes('cache')} for the KV cache and `
    + `${sizes('buffers')} for buffers; budgets: ${shown}${more}.${disksText(problem)}`,
    true,
  );
}

/** Why not even the smallest part of the model can be put on this node's disk; null = it can. */
export function noDiskText({ disk }: Candidate, { layers, cutPeriod }: ModelShape): string | null {
  if (disk === undefined || diskCapacity(disk, { start: 1, end: layers - 1 }) >= Math.min(layers, Math.max(1, cutPeriod))) return null;
  return `left out: its disk has room for ${bytesText(disk.roomBytes)}, less than the smallest stage of this model: free some, or raise --max-disk`;
}

/** Nodes whose disks have room for a part of the model only. */
export function disksText({ candidates, shape }: LayerProblem): string {
  const short = candidates.filter(({ disk }) => disk !== undefined && !isUneven(disk) && diskCapacity(disk, { start: 0, end: shape.layers }) < shape.layers)
    .slice(0, SHOWN_BUDGETS).map(({ label, disk }) => `${label} ${bytesText(disk?.roomBytes ?? 0)}`);
  return short.length === 0 ? '' : ` Room on disks for its layers: ${short.join(', ')} (free some, or raise --max-disk).`;
}

/** `1.0 GB`, or `1.0 GB to 2.0 GB`. Never empty. */
function spanText(bytes: readonly number[]): string {
  const least = bytesText(bytes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY));
  const most = bytesText(bytes.reduce((a, b) => Math.max(a, b), 0));
  return least === most ? least : `${least} to ${most}`;
}

/** Budgets that one message names. */
const SHOWN_BUDGETS = 12;
