/**
 * What a cluster is to serve again after all of its nodes were off: kept by every node, united by the coordinator.
 *
 * Every node keeps the instances that are to return, and the ids of those that were unloaded. An id is used once, so that
 * an old node's memory can never bring back what was unloaded while it was away. Whoever follows a coordinator that does
 * not seem to know what it remembers tells it; whoever coordinates takes in what it hears. Pure.
 */
import { lifeOf } from './instance-life.js';
import { MAX_INSTANCES, MAX_REMOVED, modelKey } from './desired-state.js';
import type { DesiredState, Instance, Millis } from './types.js';

/** Of what a node remembers from before its start. */
const MAX_TOLD_REMOVED = MAX_REMOVED / 4;

/** A coordinator that has heard for this long what we remember has decided not to want it. */
const TOLD_MS = 10_000;

/** What one node still remembers from before its start. */
export class Remembered {
  private followingSinceMs: Millis | null = null;

  constructor(private pending: DesiredState | null) {}

  /** What the coordinator does not seem to know; undefined = nothing. */
  untold(): DesiredState | undefined {
    return this.pending ?? undefined;
  }

  /** We coordinate: it is ours to unite. */
  take(): DesiredState | null {
    const { pending } = this;
    this.pending = null;
    return pending;
  }

  /** We follow a coordinator that wants `state`. */
  following(state: DesiredState, nowMs: Millis): void {
    if (this.pending === null) return;
    this.followingSinceMs ??= nowMs;
    if (knows(state, this.pending) || nowMs - this.followingSinceMs >= TOLD_MS) this.pending = null;
  }

  /** What is to be kept on disk now. */
  toKeep(state: DesiredState): DesiredState {
    return toRemember(this.pending === null ? state : unite(state, this.pending).state);
  }
}

/** What of a desired state is to be kept over a restart of every node. */
export function toRemember(desired: DesiredState): DesiredState {
  return {
    version: desired.version,
    instances: desired.instances.filter((instance) => lifeOf(instance).returns).slice(0, MAX_INSTANCES),
    removed: (desired.removed ?? []).slice(-MAX_TOLD_REMOVED),
  };
}

/** True when the state has, or has dropped, everything of it. */
export function knows(state: DesiredState, remembered: DesiredState): boolean {
  return additions(state, remembered).length === 0 && (remembered.removed ?? []).every((id) => state.removed?.includes(id));
}

/** The same object when there is nothing new. */
export function unite(state: DesiredState, remembered: DesiredState): { readonly state: DesiredState; readonly returned: readonly string[]; readonly dropped: readonly string[] } {
  const removed = new Set([...(remembered.removed ?? []), ...(state.removed ?? [])]);
  const returned = additions(state, remembered).map((instance): Instance => ({ ...instance, state: 'planning', reason: 'was served before the restart' }));
  const dropped = state.instances.filter((instance) => removed.has(instance.instanceId)).map(({ instanceId }) => instanceId);
  if (returned.length === 0 && dropped.length === 0 && removed.size === (state.removed ?? []).length) return { state, returned: [], dropped };
  return {
    state: {
      version: state.version,
      instances: [...state.instances.filter((instance) => !removed.has(instance.instanceId)), ...returned].slice(0, MAX_INSTANCES),
      removed: [...removed].slice(-MAX_REMOVED),
    },
    returned: returned.map(({ instanceId }) => instanceId),
    dropped,
  };
}

/** Nothing that is removed, and no second instance of a model. */
function additions(state: DesiredState, remembered: DesiredState): readonly Instance[] {
  const removed = new Set([...(remembered.removed ?? []), ...(state.removed ?? [])]);
  const ids = new Set(state.instances.map(({ instanceId }) => instanceId));
  const models = new Set(state.instances.filter(({ instanceId }) => !removed.has(instanceId)).map(modelKey));
  return remembered.instances.filter((instance) => lifeOf(instance).returns && !ids.has(instance.instanceId) && !removed.has(instance.instanceId) && !models.has(modelKey(instance)));
}

