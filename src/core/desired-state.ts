/**
 * Two desired states that meet when a split heals: which plan of an instance lives on, and when one state may take the
 * place of another without anything being lost.
 *
 * The rules, in one place because both sides must come to the same answer:
 * - Instances are united by id. What was unloaded stays unloaded (`removed`).
 * - Of two plans of one instance the one that runs wins over the one that does not; of two that run the one on more
 *   nodes, then the older one, which has answered without a break; of two that do not run the newer one.
 * - Two instances of one model, made on either side: both live while both run, because dropping one would break off
 *   answers for the sake of tidiness. One that does not run yields to one that does, or else to the smaller id.
 */
import { compareIds, comparePlanIds } from './terms.js';
import type { DesiredState, Instance } from './types.js';

/** Models that a cluster serves at once. */
export const MAX_INSTANCES = 64;
/** Unloaded ids that are remembered. */
export const MAX_REMOVED = 256;

export const NOTHING_DESIRED: DesiredState = { version: 0, instances: [], removed: [] };

/** Tells whether an instance's plan really answers, as far as the caller can see. */
export type Runs = (instance: Instance) => boolean;

/** What we want and what they want, each with the view that we have of it. */
export interface Meeting {
  readonly mine: DesiredState;
  readonly theirs: DesiredState;
  readonly mineRuns: Runs;
  readonly theirsRuns: Runs;
}

export function modelKey(instance: Instance): string {
  return instance.plan?.model.digest ?? instance.request.model;
}

/** True when nothing of ours is lost if their state takes the place of ours. */
export function covers(meeting: Meeting): boolean {
  const { mine, theirs, theirsRuns } = meeting;
  const removed = new Set(theirs.removed ?? []);
  const byId = new Map(theirs.instances.map((instance) => [instance.instanceId, instance]));
  return mine.instances.every((instance) => {
    if (removed.has(instance.instanceId)) return true;
    const other = byId.get(instance.instanceId);
    if (other !== undefined) return samePlan(instance, other) || preferred(instance, other, meeting) === other;
    // Theirs has dropped it as a second instance of a model that it serves anyway.
    return !meeting.mineRuns(instance) && theirs.instances.some((candidate) => modelKey(candidate) === modelKey(instance)
      && (theirsRuns(candidate) || candidate.instanceId < instance.instanceId));
  });
}

/** Their instances adopted into our state. The same object when that changes nothing. */
export function adopt(meeting: Meeting): DesiredState {
  const { mine, theirs, mineRuns, theirsRuns } = meeting;
  const removed = new Set([...(mine.removed ?? []), ...(theirs.removed ?? [])]);
  const united = new Map<string, { readonly instance: Instance; readonly runs: boolean }>();
  for (const instance of mine.instances) {
    if (!removed.has(instance.instanceId)) united.set(instance.instanceId, { instance, runs: mineRuns(instance) });
  }
  for (const other of theirs.instances) {
    if (removed.has(other.instanceId)) continue;
    const own = united.get(other.instanceId);
    if (own === undefined) {
      if (united.size < MAX_INSTANCES) united.set(other.instanceId, { instance: other, runs: theirsRuns(other) });
    } else if (!samePlan(own.instance, other) && preferred(own.instance, other, meeting) === other) {
      united.set(other.instanceId, { instance: other, runs: theirsRuns(other) });
    }
  }
  for (const [instanceId, { instance, runs }] of [...united]) {
    const better = !runs && [...united.values()].some((candidate) => modelKey(candidate.instance) === modelKey(instance)
      && (candidate.runs || candidate.instance.instanceId < instanceId));
    // Not remembered as removed: the other side may have chosen the other one of the two, and then both would go.
    if (better) united.delete(instanceId);
  }
  const instances = [...united.values()].map(({ instance }) => instance).sort((a, b) => compareIds(a.instanceId, b.instanceId));
  const kept = [...removed].slice(-MAX_REMOVED);
  const unchanged = instances.length === mine.instances.length && instances.every((instance) => mine.instances.includes(instance))
    && kept.length === (mine.removed ?? []).length;
  return unchanged ? mine : { version: mine.version, instances, removed: kept };
}

function samePlan(a: Instance, b: Instance): boolean {
  return a.plan?.planId === b.plan?.planId;
}

/** `mine` and `theirs` are one instance with two plans. */
function preferred(mine: Instance, theirs: Instance, { mineRuns, theirsRuns }: Pick<Meeting, 'mineRuns' | 'theirsRuns'>): Instance {
  const [mineIsRunning, theirsIsRunning] = [mineRuns(mine), theirsRuns(theirs)];
  if (mineIsRunning !== theirsIsRunning) return mineIsRunning ? mine : theirs;
  const age = comparePlanIds(mine.plan?.planId ?? '', theirs.plan?.planId ?? '');
  if (!mineIsRunning) return age >= 0 ? mine : theirs;
  const breadth = nodesOf(mine) - nodesOf(theirs);
  if (breadth !== 0) return breadth > 0 ? mine : theirs;
  return age <= 0 ? mine : theirs;
}

function nodesOf(instance: Instance): number {
  return new Set(instance.plan?.stages.map((stage) => stage.nodeId) ?? []).size;
}
