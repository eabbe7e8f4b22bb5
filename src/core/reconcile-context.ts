/**
 * What a rule of the coordinator looks at, what is remembered of an instance between steps, and what a rule may answer.
 *
 * It must not decide anything: that is what reconcile-rules.ts is for.
 */
import { findModel } from './planning.js';
import type { ClusterMember, Place } from './planning.js';
import type { Backend, DesiredState, HeldModel, Instance, Millis, ModelShape, NodeId, Plan, StagePlan, StageStatus, Term } from './types.js';

/** An adopted plan's nodes may still be about to connect to us. */
const ADOPTION_GRACE_MS = 5_000;

export type ShapeAnswer =
  | { readonly kind: 'shape'; readonly shape: ModelShape }
  | { readonly kind: 'error'; readonly code: string; readonly message: string; readonly atMs: Millis };

export interface ReconcileView {
  readonly nowMs: Millis;
  readonly term: Term;
  /** Every node with a record, ours included, by id. */
  readonly members: readonly ClusterMember[];
  /** What each connected node last said of its stages; no entry = it has said nothing since it connected. */
  readonly statuses: ReadonlyMap<NodeId, readonly StageStatus[]>;
  /** By model digest. */
  readonly shapes: ReadonlyMap<string, ShapeAnswer>;
  /** Somebody who just came is not yet usable: wait a moment before planning. */
  readonly unsettled: boolean;
  /** Counts every change of the table, and every coming of a node. */
  readonly tableVersion: number;
  readonly joins: number;
}

/** Why the instance is `failed`, and what was known then. */
interface Failure {
  readonly kind: 'placement' | 'shape' | 'stage';
  /** Another try may go better. */
  readonly curable: boolean;
  readonly tableVersion: number;
  readonly joins: number;
  readonly atMs: Millis;
}

/** A stage that is not ready: since when, and since when it says the same. */
interface Absence {
  readonly sinceMs: Millis;
  signature: string;
  changedMs: Millis;
}

/** A node whose stage failed. */
interface Fault {
  readonly untilMs: Millis;
  readonly reason: string;
  /** Only this is at fault: the node may take part without it. */
  readonly backend?: Backend;
}

/** Of one instance; the coordinator's own. */
export interface Memory {
  /** When it was asked for, for the first time or again; null = in this step. */
  sinceMs: Millis | null;
  /** Plans in a row that failed. */
  attempts: number;
  /** Tries since it failed. */
  retries: number;
  /** A plan of it was active in this reign, or may have been in an earlier one. */
  served: boolean;
  /** Nodes that are done without for a while. */
  readonly faults: Map<NodeId, Fault>;
  activeSinceMs: Millis | null;
  adoptedAtMs: Millis | null;
  /** Served before a restart of the cluster, and not planned since. */
  returnedAtMs: Millis | null;
  /** Somebody asked for it since its last plan. */
  asked: boolean;
  /** A stage's node is another process now. */
  lost: string | null;
  /** Stages that are not ready, by rank, of the plan `absencesOf`. */
  absences: Map<number, Absence>;
  absencesOf: string;
  failure: Failure | null;
}

/** Of an instance that nothing has happened to yet. */
export function newMemory(): Memory {
  return {
    sinceMs: null, attempts: 0, retries: 0, served: false, faults: new Map(), activeSinceMs: null, adoptedAtMs: null, returnedAtMs: null, asked: false, lost: null,
    absences: new Map(), absencesOf: '', failure: null,
  };
}

export interface Context {
  readonly instance: Instance;
  readonly memory: Memory;
  readonly view: ReconcileView;
  readonly desired: DesiredState;
  readonly host: RuleHost;
}

/** `again`: further rules may apply in the same step. */
export interface Outcome {
  readonly instance: Instance;
  readonly again: boolean;
}

/** What rules may ask of the coordinator. */
export interface RuleHost {
  readonly place: Place;
  askShape(digest: string, nowMs: Millis): void;
  /** Serial of the next plan; the same again until it is used. */
  nextSerial(): number;
  useSerial(): number;
  /** What may be unloaded for the context's instance, the longest unused first. */
  yielding(context: Context): readonly Instance[];
  unload(instanceIds: readonly string[]): void;
}

/** What is tried again has not failed. */
export function withoutCode({ code: _code, ...instance }: Instance): Instance {
  return instance;
}

/** The instance cannot be served as things are; what may change that is kept with the failure. */
export function fail({ instance, memory, view }: Context, kind: Failure['kind'], code: string, reason: string, curable = true): Outcome {
  memory.failure = { kind, curable, tableVersion: view.tableVersion, joins: view.joins, atMs: view.nowMs };
  return { instance: { ...instance, state: 'failed', reason, ...(code === '' ? {} : { code }) }, again: false };
}

/** Keeps since when each stage is not ready, and since when it says the same. */
export function watchStages(instance: Instance, memory: Memory, view: ReconcileView): void {
  const plan = livePlan(instance);
  if (plan === null || memory.absencesOf !== plan.planId) memory.absences = new Map();
  memory.absencesOf = plan?.planId ?? '';
  for (const stage of plan?.stages ?? []) {
    const status = plan === null ? null : statusOf(plan, stage, view);
    if (status?.state === 'ready') {
      memory.absences.delete(stage.rank);
      continue;
    }
    const signature = status === null ? '' : `${status.state} ${status.progress} ${status.fetchedBytes}`;
    const absence = memory.absences.get(stage.rank);
    if (absence === undefined) memory.absences.set(stage.rank, { sinceMs: view.nowMs, signature, changedMs: view.nowMs });
    else if (absence.signature !== signature) {
      absence.signature = signature;
      absence.changedMs = view.nowMs;
    }
  }
}

/** Of an instance whose stages load or run. */
export function livePlan(instance: Instance): Plan | null {
  return instance.state === 'preparing' || instance.state === 'active' ? instance.plan : null;
}

export function modelOf(instance: Instance, view: ReconcileView): HeldModel | null {
  return instance.plan?.model ?? findModel(instance.request.model, view.members);
}

/** What the request names as its draft; null = it names none, or nobody knows it. */
export function draftOf({ request, plan }: Instance, view: ReconcileView): HeldModel | null {
  if (request.draft === undefined) return null;
  const planned = plan?.draft?.model;
  if (planned !== undefined && (planned.digest === request.draft || planned.name === request.draft)) return planned;
  return findModel(request.draft, view.members);
}

export function statusOf(plan: Plan, stage: StagePlan, view: ReconcileView): StageStatus | null {
  return view.statuses.get(stage.nodeId)?.find((status) => status.planId === plan.planId && status.rank === stage.rank) ?? null;
}

export function isGone(nodeId: NodeId, memory: Memory, view: ReconcileView): boolean {
  const member = memberOf(nodeId, view);
  if (member !== null && member.liveness !== 'dead') return false;
  return !mayStillConnect(nodeId, memory, view);
}

/** After an adoption, until we have seen the node ourselves. */
export function mayStillConnect(nodeId: NodeId, memory: Memory, view: ReconcileView): boolean {
  if (memory.adoptedAtMs === null || view.nowMs - memory.adoptedAtMs >= ADOPTION_GRACE_MS) return false;
  const member = memberOf(nodeId, view);
  return member === null || member.sinceMs <= memory.adoptedAtMs;
}

export function memberOf(nodeId: NodeId, view: ReconcileView): ClusterMember | null {
  return view.members.find((member) => member.record.nodeId === nodeId) ?? null;
}

export function hostnameOf(nodeId: NodeId, view: ReconcileView): string {
  return memberOf(nodeId, view)?.record.capabilities.hostname ?? nodeId;
}

export function stageName(stage: StagePlan, view: ReconcileView): string {
  return `stage ${stage.rank} (layers ${stage.range.start}-${stage.range.end - 1}) on ${hostnameOf(stage.nodeId, view)}`;
}
