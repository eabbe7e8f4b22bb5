/**
 * From the cluster's table to a question for placement: which nodes may take part in a plan, with what memory, and which
 * are left out with what reason.
 *
 * The policy itself is placement.ts, handed in. Memory that other instances' stages hold is taken off here, because a
 * node reports what its own runners hold as available.
 */
import { backendOfDevice } from './backends.js';
import type { DraftChoice } from './draft.js';
import type { PlacementInput, PlacementNode, PlacementResult } from './placement-types.js';
import type { Liveness } from './failure-detector.js';
import type {
  Backend, Capabilities, DesiredState, GgmlCacheType, HeldModel, HeldShard, InstanceRequest, Millis, ModelShape, NodeId, NodeRecord, Plan, PlanNote,
} from './types.js';

/** Cache types that keep answers exact (docs/how-it-works.md, "What is exact"). */
const KEY_TYPE: GgmlCacheType = 'q8_0';
const VALUE_TYPE: GgmlCacheType = 'f16';
/** For key heads that do not fill q8_0's blocks: these two are exact together as well. */
const UNALIGNED_KEY_TYPE: GgmlCacheType = 'f16';
const UNALIGNED_VALUE_TYPE: GgmlCacheType = 'bf16';
/** Elements in a block of q8_0. */
const KEY_BLOCK = 32;
const BLOCK_TYPES: ReadonlySet<GgmlCacheType> = new Set(['q8_0', 'q4_0']);
/** Shortest digest prefix that names a model. */
const MIN_DIGEST_PREFIX = 8;

export type Place = (input: PlacementInput) => PlacementResult;

/** A node as the planner sees it. */
export interface ClusterMember {
  readonly record: NodeRecord;
  readonly liveness: Liveness;
  /** When it came into that state. */
  readonly sinceMs: Millis;
  /** Has the same coordinator as we. */
  readonly follows: boolean;
  /** Said goodbye: nobody needs to be told that it is not used. */
  readonly left?: boolean;
  /** Why it may not take part (clone, version); null = it may. */
  readonly problem: string | null;
}

export interface PlanningQuestion {
  readonly shape: ModelShape;
  readonly request: InstanceRequest;
  readonly planId: string;
  readonly instanceId: string;
  readonly members: readonly ClusterMember[];
  readonly desired: DesiredState;
  /** What the request's draft is. Absent = it names none. */
  readonly draft?: DraftChoice;
  /** Nodes to do without if it can be done, with the reason. */
  readonly avoid: ReadonlyMap<NodeId, string>;
  /** Backends that a node said it has and then had not. Absent = none. */
  readonly missing?: ReadonlyMap<NodeId, ReadonlySet<Backend>>;
}

export function planOn(question: PlanningQuestion, place: Place): PlacementResult {
  const absent = undecidedNodes(question);
  if (absent.length > 0) {
    return { kind: 'impossible', code: 'not_ready', message: `the cluster file's ring waits for ${absent.join(', ')}: not yet agreed on who coordinates`, notes: [] };
  }
  const result = place(placementInput(question, question.avoid));
  if (result.kind === 'plan' || question.avoid.size === 0) return result;
  const withAll = place(placementInput(question, new Map()));
  return withAll.kind === 'plan' ? withAll : result;
}

/**
 * The same for an instance whose plan is over: answers that run may need all the context that they had. Where nobody asked
 * for a context, the planner's own choice may be smaller on fewer nodes; it is only taken when the old one does not fit.
 */
export function replanOn(question: PlanningQuestion, before: Plan, place: Place): PlacementResult {
  const chosen = planOn(question, place);
  if (question.request.contextTokens !== null || (chosen.kind === 'plan' && chosen.plan.contextTokens >= before.contextTokens)) return chosen;
  const kept = planOn({ ...question, request: { ...question.request, contextTokens: before.contextTokens } }, place);
  return kept.kind === 'plan' ? kept : chosen;
}

function placementInput(question: PlanningQuestion, avoid: ReadonlyMap<NodeId, string>): PlacementInput {
  const held = heldByMachine(question);
  const asked = question.request.nodeSettings;
  const settings = new Map((asked ?? []).map((node) => [node.nodeId, node.settings] as const));
  const nodes: PlacementNode[] = [];
  const excluded: PlanNote[] = [];
  const settled = question.members.some((member) => member.problem === null && silenceOf(member) === null && member.record.capabilities.temporary !== true);
  for (const member of inAskedOrder(question.members, asked)) {
    if (member.left === true) continue;
    const { nodeId, capabilities } = member.record;
    // Who comes for one question would only make everyone plan again when it goes. Alone it serves itself.
    const passing = settled && capabilities.temporary === true ? 'it is here for the length of a command' : null;
    const unasked = asked !== undefined && !settings.has(nodeId) ? 'the cluster file does not name it' : null;
    const silence = silenceOf(member);
    const reason = unasked ?? passing ?? member.problem ?? silence ?? avoid.get(nodeId) ?? null;
    if (reason !== null) {
      excluded.push({ nodeId, text: `${capabilities.hostname} is left out: ${reason}`, ...(reason === silence ? { passing: true } : {}) });
      continue;
    }
    const ramAvailableBytes = Math.max(0, capabilities.ramAvailableBytes - (held.get(capabilities.machineId) ?? 0));
    const there = withoutMissing({ ...capabilities, ramAvailableBytes }, question.missing?.get(nodeId));
    const own = settings.get(nodeId);
    // What the file says of a device that is not there is an error of its own, with the node's name.
    if (own?.devices !== undefined) {
      nodes.push({ nodeId, capabilities: there, settings: own });
      continue;
    }
    const preferred = capabilities.devicePreference ?? [];
    // A preference list: the first that is there is the primary device.
    const devices = preferred.filter((device) => backendOfDevice(device, there.backends) !== null);
    if (preferred.length > 0 && devices.length === 0) {
      excluded.push({ nodeId, text: `${capabilities.hostname} is left out: its device ${preferred.join('+')} is not there` });
      continue;
    }
    if (own === undefined && devices.length === 0) nodes.push({ nodeId, capabilities: there });
    else nodes.push({ nodeId, capabilities: there, settings: { ...own, ...(devices.length === 0 ? {} : { devices }) } });
  }
  return {
    shape: question.shape,
    nodes,
    ordered: asked !== undefined,
    request: question.request,
    planId: question.planId,
    instanceId: question.instanceId,
    ...cacheTypes(question.shape, question.request.cacheType),
    ...(question.draft === undefined ? {} : { draft: question.draft }),
    excluded,
  };
}

/** Nodes of a cluster file that are here and do not follow yet: a moment later the ring is what the file says. */
function undecidedNodes({ request, members }: PlanningQuestion): readonly string[] {
  const asked = new Set((request.nodeSettings ?? []).map(({ nodeId }) => nodeId));
  return members.filter((member) => asked.has(member.record.nodeId) && member.liveness === 'alive' && member.problem === null && !member.follows)
    .map(({ record }) => record.capabilities.hostname);
}

/** With a cluster file its order is the ring's; nodes that it does not name come last. */
function inAskedOrder(members: readonly ClusterMember[], asked: InstanceRequest['nodeSettings']): readonly ClusterMember[] {
  if (asked === undefined) return members;
  const places = new Map(asked.map(({ nodeId }, index) => [nodeId, index] as const));
  const placeOf = ({ record }: ClusterMember): number => places.get(record.nodeId) ?? asked.length;
  return [...members].sort((a, b) => placeOf(a) - placeOf(b) || (a.record.nodeId < b.record.nodeId ? -1 : 1));
}

function withoutMissing(capabilities: Capabilities, missing: ReadonlySet<Backend> | undefined): Capabilities {
  if (missing === undefined) return capabilities;
  return {
    ...capabilities,
    backends: capabilities.backends.filter((backend) => !missing.has(backend)),
    devices: capabilities.devices.filter((device) => !missing.has(device.backend)),
  };
}

/** A type in blocks needs key heads of whole blocks: where they are not, what is asked for is not taken (the plan shows what is). */
function cacheTypes(shape: ModelShape, asked?: GgmlCacheType): Pick<PlacementInput, 'keyType' | 'valueType'> {
  const aligned = (shape.keyHeadSizes ?? []).every((size) => size % KEY_BLOCK === 0);
  if (asked !== undefined && (aligned || !BLOCK_TYPES.has(asked))) return { keyType: asked, valueType: asked };
  return aligned ? { keyType: KEY_TYPE, valueType: VALUE_TYPE } : { keyType: UNALIGNED_KEY_TYPE, valueType: UNALIGNED_VALUE_TYPE };
}

/** What keeps it from taking part until it is heard again. */
function silenceOf(member: ClusterMember): string | null {
  if (member.liveness === 'dead') return 'it does not answer';
  if (member.liveness === 'suspect') return 'it has not answered for a moment';
  return member.follows ? null : 'it does not follow this coordinator';
}

/** Bytes that stages of other instances hold, by machine: agents that share a machine share its memory. */
function heldByMachine({ members, desired, instanceId }: PlanningQuestion): Map<string, number> {
  const machineOf = new Map(members.map(({ record }) => [record.nodeId, record.capabilities.machineId]));
  const held = new Map<string, number>();
  for (const instance of desired.instances) {
    if (instance.instanceId === instanceId || instance.plan === null || (instance.state !== 'preparing' && instance.state !== 'active')) continue;
    for (const stage of instance.plan.stages) {
      const machine = machineOf.get(stage.nodeId);
      const draftBytes = stage.rank === 0 ? instance.plan.draft?.predictedBytes ?? 0 : 0;
      if (machine !== undefined) held.set(machine, (held.get(machine) ?? 0) + stage.predictedBytes + draftBytes);
    }
  }
  return held;
}

/** The model that `reference` (a name, a digest or its prefix) means among what living members hold; null = none. */
export function findModel(reference: string, members: readonly ClusterMember[]): HeldModel | null {
  const models = new Map<string, HeldModel>();
  for (const { record, liveness } of members) {
    if (liveness === 'dead') continue;
    for (const model of record.capabilities.models) if (!models.has(model.digest)) models.set(model.digest, model);
  }
  const sorted = [...models.values()].sort((a, b) => (a.digest < b.digest ? -1 : 1));
  const byName = sorted.find((model) => model.name === reference || `${model.name}.gguf` === reference);
  if (byName !== undefined) return byName;
  if (reference.length < MIN_DIGEST_PREFIX) return null;
  const matches = sorted.filter((model) => model.digest.startsWith(reference));
  return matches.length === 1 ? matches[0] ?? null : null;
}

/** Whether the living members together hold every weight of the model: in full, or in shards that tile it. */
export function weightsAreThere(model: HeldModel, members: readonly ClusterMember[]): boolean {
  const living = members.filter(({ liveness }) => liveness !== 'dead');
  if (living.some(({ record }) => record.capabilities.models.some(({ digest }) => digest === model.digest))) return true;
  const shards = living.flatMap(({ record }) => record.capabilities.shards.filter(({ modelDigest }) => modelDigest === model.digest));
  return shards.some(({ head }) => head) && shards.some(({ tail }) => tail) && tiles(shards, model.layers);
}

function tiles(shards: readonly HeldShard[], layers: number): boolean {
  let end = 0;
  for (const { range } of [...shards].sort((a, b) => a.range.start - b.range.start)) {
    if (range.start > end) return false;
    end = Math.max(end, range.end);
  }
  return end >= layers;
}
