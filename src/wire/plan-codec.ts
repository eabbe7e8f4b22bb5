/**
 * Plans, instances and what the coordinator wants, as protobuf (proto/control.proto), and back with everything checked.
 * Whether a plan makes sense is the reader's decision; here it has only the right shape.
 */
import { CACHE_TYPES, PACKED_TYPES } from '../core/formats.js';
import type {
  ActivationType, DesiredState, DraftPlan, DraftStatus, Instance, InstanceLife, InstanceRequest, InstanceState, KeyValueCachePolicy, Plan, PlacementPolicy, PlanNote, RequestedNode, StagePlan, StageState,
  StageStatus, Term,
} from '../core/types.js';
import {
  BACKENDS, badField, decodeBytes, DEVICE_KINDS, fitText, MAX_TEXT_CHARACTERS, readErrorCode, readFinite, readList, readName, readOneOf,
  readOptionalUnsigned, readRequired, readText, readUnsigned,
} from './fields.js';
import { fromHeldModelMessage, readRange, toHeldModelMessage } from './record-codec.js';
import { ringagent } from './gen/messages.js';

const MAX_STAGES = 1024;
const MAX_STAGE_LAYERS = 65_536;
const MAX_INSTANCES = 1024;
const MAX_REMOVED = 1024;
const MAX_NOTES = 4096;
const MAX_REQUESTED_NODES = 4096;
const MAX_DEVICES = 8;
export const MAX_STATUSES = 4096;

const POLICIES: readonly PlacementPolicy[] = ['auto', 'ram_balanced', 'throughput', 'manual'];
const CACHE_POLICIES: readonly KeyValueCachePolicy[] = ['none', 'host', 'device'];
const INSTANCE_STATES: readonly InstanceState[] = ['planning', 'preparing', 'active', 'failed'];
const STAGE_STATES: readonly StageState[] = ['fetching', 'loading', 'ready', 'failed'];

export function fromTermMessage(message: ringagent.control.Term.$Properties | null | undefined, field: string): Term {
  const term = readRequired(message, field);
  return { counter: readUnsigned(term.counter, `${field}.counter`), node: readName(term.node, `${field}.node`) };
}

export function toRequestMessage(request: InstanceRequest): ringagent.control.InstanceRequest.$Properties {
  const { life, nodeSettings, activations, ...rest } = request;
  return { ...rest, activations: packedName(activations), nodeSettings: (nodeSettings ?? []).map(toRequestedNodeMessage), ...(life === undefined ? {} : { life: { ...life } }) };
}

export function fromRequestMessage(message: ringagent.control.InstanceRequest.$Properties | null | undefined): InstanceRequest {
  const request = readRequired(message, 'request');
  const nodeSettings = readList(request.nodeSettings, 'request.node_settings', MAX_REQUESTED_NODES, fromRequestedNodeMessage);
  return {
    model: readText(request.model, 'request.model', MAX_TEXT_CHARACTERS),
    policy: readOneOf(request.policy, 'request.policy', POLICIES),
    nodes: readOptionalUnsigned(request.nodes, 'request.nodes'),
    contextTokens: readOptionalUnsigned(request.contextTokens, 'request.context_tokens'),
    slots: readOptionalUnsigned(request.slots, 'request.slots'),
    ...(request.activations ? { activations: readOneOf(request.activations, 'request.activations', PACKED_TYPES) } : {}),
    ...(request.cacheType ? { cacheType: readOneOf(request.cacheType, 'request.cache_type', CACHE_TYPES) } : {}),
    ...(request.draft ? { draft: readText(request.draft, 'request.draft', MAX_TEXT_CHARACTERS) } : {}),
    ...(nodeSettings.length === 0 ? {} : { nodeSettings }),
    ...(request.life === null || request.life === undefined ? {} : { life: fromLifeMessage(request.life) }),
  };
}

function fromLifeMessage(message: ringagent.control.Life.$Properties): InstanceLife {
  return { pinned: message.pinned ?? false, keepAliveMs: readOptionalUnsigned(message.keepAliveMs, 'life.keep_alive_ms'), returns: message.returns ?? false };
}

function toRequestedNodeMessage({ nodeId, settings }: RequestedNode): ringagent.control.NodeSettings.$Properties {
  return {
    nodeId,
    maxRamBytes: settings.maxRamBytes ?? null,
    reserveBytes: settings.reserveBytes ?? null,
    devices: [...(settings.devices ?? [])],
    layersStart: settings.layers?.start ?? 0,
    layersEnd: settings.layers?.end ?? 0,
    precision: settings.precision ?? '',
    keyValueCache: settings.keyValueCache ?? '',
    seed: settings.seed ?? null,
  };
}

function fromRequestedNodeMessage(message: ringagent.control.NodeSettings.$Properties): RequestedNode {
  const maxRamBytes = readOptionalUnsigned(message.maxRamBytes, 'node_settings.max_ram_bytes');
  const reserveBytes = readOptionalUnsigned(message.reserveBytes, 'node_settings.reserve_bytes');
  const seed = readOptionalUnsigned(message.seed, 'node_settings.seed');
  const devices = readList(message.devices, 'node_settings.devices', MAX_DEVICES, (device) => readOneOf(device, 'node_settings.devices', DEVICE_KINDS));
  return {
    nodeId: readName(message.nodeId, 'node_settings.node_id'),
    settings: {
      ...(maxRamBytes === null ? {} : { maxRamBytes }),
      ...(reserveBytes === null ? {} : { reserveBytes }),
      ...(devices.length === 0 ? {} : { devices }),
      ...((message.layersEnd ?? 0) === 0 ? {} : { layers: readRange(message.layersStart, message.layersEnd, 'node_settings.layers') }),
      ...readNumerics(message, 'node_settings'),
      ...(seed === null ? {} : { seed }),
    },
  };
}

/** Precision and cache policy, of a request and of a stage alike; absent where empty. */
function readNumerics(
  message: { readonly precision?: string | null; readonly keyValueCache?: string | null }, field: string,
): Pick<StagePlan, 'precision' | 'keyValueCache'> {
  const precision = readText(message.precision, `${field}.precision`);
  const keyValueCache = message.keyValueCache ?? '';
  return {
    ...(precision === '' ? {} : { precision }),
    ...(keyValueCache === '' ? {} : { keyValueCache: readOneOf(keyValueCache, `${field}.key_value_cache`, CACHE_POLICIES) }),
  };
}

export function toDesiredMessage(desired: DesiredState): ringagent.control.DesiredState.$Properties {
  return { version: desired.version, instances: desired.instances.map(toInstanceMessage), removed: [...(desired.removed ?? [])] };
}

export function fromDesiredMessage(message: ringagent.control.DesiredState.$Properties | null | undefined): DesiredState {
  const desired = readRequired(message, 'desired');
  const removed = readList(desired.removed, 'desired.removed', MAX_REMOVED, (id) => readName(id, 'desired.removed'));
  return {
    version: readUnsigned(desired.version, 'desired.version'),
    instances: readList(desired.instances, 'desired.instances', MAX_INSTANCES, fromInstanceMessage),
    ...(removed.length === 0 ? {} : { removed }),
  };
}

/** For a disk; what comes back is checked as if a stranger had sent it. */
export function encodeDesired(desired: DesiredState): Uint8Array {
  return ringagent.control.DesiredState.encode(toDesiredMessage(desired)).finish();
}

export function decodeDesired(bytes: Uint8Array): DesiredState {
  return fromDesiredMessage(decodeBytes(ringagent.control.DesiredState, bytes, 'a desired state'));
}

function toInstanceMessage(instance: Instance): ringagent.control.Instance.$Properties {
  return {
    instanceId: instance.instanceId,
    request: toRequestMessage(instance.request),
    state: instance.state,
    plan: instance.plan === null ? null : toPlanMessage(instance.plan),
    reason: fitText(instance.reason),
    serial: instance.serial,
    code: instance.state === 'failed' ? instance.code ?? '' : '',
  };
}

function fromInstanceMessage(message: ringagent.control.Instance.$Properties): Instance {
  return {
    instanceId: readName(message.instanceId, 'instance.instance_id'),
    request: fromRequestMessage(message.request),
    state: readOneOf(message.state, 'instance.state', INSTANCE_STATES),
    plan: message.plan === null || message.plan === undefined ? null : fromPlanMessage(message.plan),
    reason: readText(message.reason, 'instance.reason', MAX_TEXT_CHARACTERS),
    serial: readUnsigned(message.serial, 'instance.serial'),
    ...(message.code ? { code: readText(message.code, 'instance.code') } : {}),
  };
}

function toPlanMessage(plan: Plan): ringagent.control.Plan.$Properties {
  return {
    planId: plan.planId,
    instanceId: plan.instanceId,
    model: toHeldModelMessage(plan.model),
    stages: plan.stages.map(toStageMessage),
    contextTokens: plan.contextTokens,
    slots: plan.slots,
    keyType: plan.keyType,
    valueType: plan.valueType,
    activations: packedName(plan.activations),
    ...(plan.draft === undefined ? {} : { draft: { model: toHeldModelMessage(plan.draft.model), predictedBytes: plan.draft.predictedBytes } }),
    ...(plan.predictedTokensPerSecond === undefined ? {} : { predictedTokensPerSecond: plan.predictedTokensPerSecond }),
    explanation: plan.explanation.slice(0, MAX_NOTES).map((note) => ({ nodeId: note.nodeId ?? '', text: fitText(note.text), ...(note.passing === true ? { passing: true } : {}) })),
  };
}

function fromPlanMessage(message: ringagent.control.Plan.$Properties): Plan {
  const predicted = message.predictedTokensPerSecond ?? null;
  return {
    planId: readName(message.planId, 'plan.plan_id'),
    instanceId: readName(message.instanceId, 'plan.instance_id'),
    model: fromHeldModelMessage(readRequired(message.model, 'plan.model')),
    stages: readList(message.stages, 'plan.stages', MAX_STAGES, fromStageMessage),
    contextTokens: readUnsigned(message.contextTokens, 'plan.context_tokens'),
    slots: readUnsigned(message.slots, 'plan.slots'),
    keyType: readOneOf(message.keyType, 'plan.key_type', CACHE_TYPES),
    valueType: readOneOf(message.valueType, 'plan.value_type', CACHE_TYPES),
    ...(message.activations ? { activations: readOneOf(message.activations, 'plan.activations', PACKED_TYPES) } : {}),
    ...(message.draft === null || message.draft === undefined ? {} : { draft: fromDraftMessage(message.draft) }),
    ...(predicted === null ? {} : { predictedTokensPerSecond: readFinite(predicted, 'plan.predicted_tokens_per_second') }),
    explanation: readList(message.explanation, 'plan.explanation', MAX_NOTES, fromNoteMessage),
  };
}

function fromDraftMessage(message: ringagent.control.Draft.$Properties): DraftPlan {
  return { model: fromHeldModelMessage(readRequired(message.model, 'plan.draft.model')), predictedBytes: readUnsigned(message.predictedBytes, 'plan.draft.predicted_bytes') };
}

function packedName(activations: ActivationType | undefined): string {
  return activations === undefined || activations === 'f32' ? '' : activations;
}

function toStageMessage(stage: StagePlan): ringagent.control.StagePlan.$Properties {
  return {
    rank: stage.rank,
    nodeId: stage.nodeId,
    start: stage.range.start,
    end: stage.range.end,
    backend: stage.backend ?? '',
    predictedBytes: stage.predictedBytes,
    ...(stage.spill === undefined ? {} : { spill: { ...stage.spill } }),
    precision: stage.precision ?? '',
    keyValueCache: stage.keyValueCache ?? '',
  };
}

function fromStageMessage(message: ringagent.control.StagePlan.$Properties): StagePlan {
  // One that a newer coordinator knows and this version does not is the engine's own default.
  const backend = BACKENDS.find((known) => known === message.backend);
  return {
    rank: readUnsigned(message.rank, 'stage.rank', MAX_STAGES),
    nodeId: readName(message.nodeId, 'stage.node_id'),
    range: readRange(message.start, message.end, 'stage'),
    ...(backend === undefined ? {} : { backend }),
    predictedBytes: readUnsigned(message.predictedBytes, 'stage.predicted_bytes'),
    ...(message.spill === null || message.spill === undefined ? {} : {
      spill: {
        hostLayers: readUnsigned(message.spill.hostLayers, 'stage.spill.host_layers', MAX_STAGE_LAYERS),
        hostBytes: readUnsigned(message.spill.hostBytes, 'stage.spill.host_bytes'),
      },
    }),
    ...readNumerics(message, 'stage'),
  };
}

function fromNoteMessage(message: ringagent.control.PlanNote.$Properties): PlanNote {
  const nodeId = readText(message.nodeId, 'note.node_id');
  const text = readText(message.text, 'note.text', MAX_TEXT_CHARACTERS);
  return { nodeId: nodeId === '' ? null : nodeId, text, ...(message.passing === true ? { passing: true as const } : {}) };
}

export function toStatusMessage(status: StageStatus): ringagent.control.StageStatus.$Properties {
  return {
    planId: status.planId,
    rank: status.rank,
    state: status.state,
    progress: status.progress,
    error: status.error === null ? null : { code: status.error.code, message: fitText(status.error.message) },
    residentBytes: status.residentBytes,
    fetchedBytes: status.fetchedBytes,
    ...(status.requests === undefined ? {} : { openRequests: status.requests.open, takenRequests: status.requests.taken }),
    ...(status.pace === undefined ? {} : { tokenMicros: status.pace.tokenMicros, stageMicros: [...status.pace.stageMicros] }),
    ...(status.buildMs === undefined ? {} : { buildMs: status.buildMs }),
    ...(status.draft === undefined ? {} : { draft: { ...status.draft, reason: fitText(status.draft.reason) } }),
  };
}

export function fromStatusMessage(message: ringagent.control.StageStatus.$Properties): StageStatus {
  const progress = readFinite(message.progress, 'status.progress');
  const open = readOptionalUnsigned(message.openRequests, 'status.open_requests');
  const tokenMicros = readOptionalUnsigned(message.tokenMicros, 'status.token_micros');
  const stageMicros = readList(message.stageMicros, 'status.stage_micros', MAX_STAGES, (micros) => readUnsigned(micros, 'status.stage_micros'));
  const buildMs = readOptionalUnsigned(message.buildMs, 'status.build_ms');
  if (progress < 0 || progress > 1) throw badField('status.progress', 'is not between 0 and 1');
  return {
    planId: readName(message.planId, 'status.plan_id'),
    rank: readUnsigned(message.rank, 'status.rank', MAX_STAGES),
    state: readOneOf(message.state, 'status.state', STAGE_STATES),
    progress,
    error: message.error === null || message.error === undefined
      ? null
      // Codes of stage errors are shown and compared as text: a newer peer's code stays readable.
      : { code: readName(message.error.code, 'status.error.code'), message: readText(message.error.message, 'status.error.message', MAX_TEXT_CHARACTERS) },
    residentBytes: readUnsigned(message.residentBytes, 'status.resident_bytes'),
    fetchedBytes: readUnsigned(message.fetchedBytes, 'status.fetched_bytes'),
    ...(open === null ? {} : { requests: { open, taken: readUnsigned(message.takenRequests, 'status.taken_requests') } }),
    ...(tokenMicros === null ? {} : { pace: { tokenMicros, stageMicros } }),
    ...(buildMs === null ? {} : { buildMs }),
    ...(message.draft === null || message.draft === undefined ? {} : { draft: fromDraftStatusMessage(message.draft) }),
  };
}

function fromDraftStatusMessage(message: ringagent.control.DraftStatus.$Properties): DraftStatus {
  return {
    state: readOneOf(message.state, 'status.draft.state', STAGE_STATES),
    reason: readText(message.reason, 'status.draft.reason', MAX_TEXT_CHARACTERS),
    residentBytes: readUnsigned(message.residentBytes, 'status.draft.resident_bytes'),
  };
}

/** For `reply` and `refused`: a known code, and a text for people. */
export function fromProblemMessage(message: ringagent.control.Problem.$Properties): { code: ReturnType<typeof readErrorCode>; message: string } {
  return { code: readErrorCode(message.code), message: readText(message.message, 'problem.message', MAX_TEXT_CHARACTERS) };
}
