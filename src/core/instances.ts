/**
 * The coordinator's answer to a load or unload: pure changes of the desired state. A call may arrive twice.
 */
import { refusal } from './calls.js';
import type { CallAnswer } from './calls.js';
import { MAX_INSTANCES, MAX_REMOVED, modelKey } from './desired-state.js';
import { lifeAfter, lifeOf, lifeText, NAMED_LIFE } from './instance-life.js';
import type { LoadMessage, UnloadMessage } from './messages.js';
import { findModel } from './planning.js';
import type { ClusterMember } from './planning.js';
import type { DesiredState, HeldModel, Instance, InstanceLife, InstanceRequest } from './types.js';

export interface CallResult {
  readonly answer: CallAnswer;
  /** The same object when nothing changed. */
  readonly desired: DesiredState;
  /** For people; empty when nothing changed. */
  readonly event: string;
  /** An instance that failed and gets another chance; null = none. */
  readonly retried: string | null;
}

/** `nameInstance` is called at most once, and only for a new instance. */
export function loadInstance(
  desired: DesiredState, { callId, request }: LoadMessage, members: readonly ClusterMember[], nameInstance: (model: HeldModel) => string,
): CallResult {
  const model = findModel(request.model, members);
  const key = model?.digest ?? request.model;
  const existing = desired.instances.find((instance) => modelKey(instance) === key || (model !== null && instance.request.model === model.name));
  if (existing !== undefined) {
    const answer: CallAnswer = { callId, instanceId: existing.instanceId, error: null };
    // A cluster file that says something new is carried out; asking for the same again changes nothing.
    const sameNodes = request.nodeSettings === undefined || JSON.stringify(request.nodeSettings) === JSON.stringify(existing.request.nodeSettings);
    const life = lifeAfter(lifeOf(existing), request.life);
    if (existing.state !== 'failed' && sameNodes) {
      if (sameLife(life, lifeOf(existing))) return { answer, desired, event: '', retried: null };
      const changed: Instance = { ...existing, request: withLife(existing.request, life) };
      const all = desired.instances.map((instance) => (instance === existing ? changed : instance));
      return { answer, desired: { ...desired, instances: all }, event: `${existing.instanceId}: ${lifeText(life)}`, retried: null };
    }
    // What the person asks for now counts, not what they asked for then.
    const { code: _code, ...tried } = existing;
    const again: Instance = { ...tried, request: withLife(keepsFile(request, existing.request), life), state: 'planning', reason: 'asked for again' };
    const instances = desired.instances.map((instance) => (instance === existing ? again : instance));
    return { answer, desired: { ...desired, instances }, event: `${existing.instanceId}: asked for again`, retried: existing.instanceId };
  }
  const refused = (code: 'unknown_model' | 'queue_full', text: string): CallResult => ({ answer: refusal(callId, code, text), desired, event: '', retried: null });
  if (model === null) {
    const held = members.flatMap(({ record, liveness }) => (liveness === 'dead' ? [] : record.capabilities.models.map(({ name }) => name)));
    return refused('unknown_model', `no node of this cluster holds a model "${request.model}"; known: ${[...new Set(held)].sort().join(', ') || 'none'}`);
  }
  if (desired.instances.length >= MAX_INSTANCES) return refused('queue_full', `this cluster serves ${MAX_INSTANCES} models already: unload one first`);
  const instanceId = nameInstance(model);
  const instance: Instance = { instanceId, request, state: 'planning', plan: null, reason: 'waits for a plan', serial: 0 };
  return {
    answer: { callId, instanceId, error: null },
    desired: { ...desired, instances: [...desired.instances, instance] },
    event: `${instanceId}: asked for`,
    retried: null,
  };
}

/** A request that never said anything of it says nothing still. */
function withLife(request: InstanceRequest, life: InstanceLife): InstanceRequest {
  return request.life === undefined && sameLife(life, NAMED_LIFE) ? request : { ...request, life };
}

function sameLife(a: InstanceLife, b: InstanceLife): boolean {
  return a.pinned === b.pinned && a.keepAliveMs === b.keepAliveMs && a.returns === b.returns;
}

/** Without these; what was to return after a restart is remembered as unloaded, so that it does not. */
export function withoutInstances(desired: DesiredState, instanceIds: readonly string[]): DesiredState {
  const gone = desired.instances.filter((instance) => instanceIds.includes(instance.instanceId));
  if (gone.length === 0) return desired;
  const removed = [...desired.removed ?? [], ...gone.filter((instance) => lifeOf(instance).returns).map(({ instanceId }) => instanceId)];
  return { version: desired.version, instances: desired.instances.filter((instance) => !gone.includes(instance)), removed: removed.slice(-MAX_REMOVED) };
}

/** Whoever merely asks a model something does not undo what a cluster file says of it. */
function keepsFile(request: InstanceRequest, before: InstanceRequest): InstanceRequest {
  return request.nodeSettings === undefined && before.nodeSettings !== undefined ? before : request;
}

export function unloadInstance(desired: DesiredState, { callId, instanceId }: UnloadMessage): CallResult {
  const removed = desired.removed ?? [];
  const done: CallAnswer = { callId, instanceId, error: null };
  if (removed.includes(instanceId)) return { answer: done, desired, event: '', retried: null };
  if (!desired.instances.some((instance) => instance.instanceId === instanceId)) {
    const answer = refusal(callId, 'bad_request', `there is no instance ${instanceId}: "agent status" lists them`);
    return { answer, desired, event: '', retried: null };
  }
  return {
    answer: done,
    desired: {
      version: desired.version,
      instances: desired.instances.filter((instance) => instance.instanceId !== instanceId),
      removed: [...removed, instanceId].slice(-MAX_REMOVED),
    },
    event: `${instanceId}: unloaded`,
    retried: null,
  };
}
