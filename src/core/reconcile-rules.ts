/**
 * The coordinator's rules, in order: what an instance is, and what it becomes.
 *
 * Each rule is a few lines, looks at one thing and either says what the instance becomes or passes on to the next; the
 * order is the policy. They know tables, statuses and shapes; they must not know messages or who else coordinates.
 */
import { lifeOf } from './instance-life.js';
import { planWithRoom } from './make-room.js';
import { findModel, planOn, replanOn, weightsAreThere } from './planning.js';
import type { PlacementResult } from './placement-types.js';
import type { ClusterMember, Place, PlanningQuestion } from './planning.js';
import { makePlanId } from './terms.js';
import type { Backend, DesiredState, HeldModel, Instance, Millis, ModelShape, NodeId, Plan, StagePlan, StageStatus, Term } from './types.js';

/** Plans in a row that may fail before the instance does. */
export const MAX_PLAN_ATTEMPTS = 3;
/** A node whose stage failed is done without for this long, if it can be done without. */
export const FAULT_COOLDOWN_MS = 60_000;
/** An instance that served and then failed, or failed for what may pass, is tried again after this, each time twice as long: answers may wait for it. */
export const FAILED_RETRY_MS = 5_000;
const LONGEST_FAILED_RETRY_MS = 60_000;
/** After this much quiet service earlier failures are forgotten. */
export const STABLE_MS = 30_000;
/** A stage of an active plan that its node says is not there (a word may be late). */
export const STAGE_LOST_GRACE_MS = 2_000;
/** How long a broken edge waits for its cause: a runner that died, a node that is gone. */
export const EDGE_GRACE_MS = 300;
/** A living node that never says anything about its stage. */
export const NO_REPORT_MS = 10_000;
/** A stage that loads or fetches without any progress; the worker's own deadlines are shorter. */
export const PREPARE_STALL_MS = 600_000;
/** An adopted plan's nodes may still be about to connect to us. */
export const ADOPTION_GRACE_MS = 5_000;
/** Nodes that served a model before a restart of the whole cluster are waited for, should they come a little later. */
export const RETURN_WAIT_MS = 20_000;
/** A shape that was asked for and has not come, or could not be read, is asked for again after this. */
export const SHAPE_RETRY_MS = 5_000;
/** An impossible placement is not tried again sooner, however often the table changes. */
export const PLACEMENT_RETRY_MS = 1_000;

/** Models that one message names. */
const MAX_NAMED = 4;

/** Causes that another node would not cure. */
const MODEL_FAULTS: ReadonlySet<string> = new Set(['bad_gguf', 'bad_checkpoint', 'unsupported_architecture', 'unsplittable_model']);

/** Causes that may be over by themselves: the way to a node, or to where the weights are. */
const PASSING_FAULTS: ReadonlySet<string> = new Set(['peer_lost', 'peer_unreachable', 'timeout', 'source_failed']);

/** What a stage says whose neighbour in the ring is gone. */
const BROKEN_EDGE = 'peer_lost';
/** What a stage says whose previous stage sends it nonsense. */
const BAD_FRAMES: ReadonlySet<string> = new Set(['bad_frame', 'frame_too_large']);

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

interface Failure {
  readonly kind: 'placement' | 'shape' | 'stage';
  /** Another try may go better. */
  readonly curable: boolean;
  readonly tableVersion: number;
  readonly joins: number;
  readonly atMs: Millis;
}

interface Absence {
  readonly sinceMs: Millis;
  signature: string;
  changedMs: Millis;
}

interface Fault {
  readonly untilMs: Millis;
  readonly reason: string;
  /** Only this is at fault: the node may take part without it. */
  readonly backend?: Backend;
}

export interface Memory {
  attempts: number;
  /** Tries since it failed. */
  retries: number;
  /** A plan of it was active in this reign, or when it began. */
  served: boolean;
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

type Rule = (context: Context) => Outcome | null;

/** First match wins: what ends a plan, what it waits for, what is needed for the next one. */
const RULES: readonly Rule[] = [nodeLost, stageFailed, stageSilent, allReady, underWay, failedWaits, returnWaits, modelGone, shapeMissing, placeNow];

/** What the first rule that matches makes of the instance; null = none matches. */
export function firstOutcome(context: Context): Outcome | null {
  for (const rule of RULES) {
    const outcome = rule(context);
    if (outcome !== null) return outcome;
  }
  return null;
}

function nodeLost(context: Context): Outcome | null {
  const plan = livePlan(context.instance);
  if (plan === null) return null;
  const { memory, view } = context;
  const gone = plan.stages.find((stage) => isGone(stage.nodeId, memory, view));
  if (gone === undefined && memory.lost === null) return null;
  const reason = gone === undefined ? memory.lost ?? '' : `${hostnameOf(gone.nodeId, view)} is gone`;
  return replan(context, reason);
}

function stageFailed(context: Context): Outcome | null {
  const plan = livePlan(context.instance);
  if (plan === null) return null;
  const { memory, view } = context;
  const failed = plan.stages.filter((stage) => statusOf(plan, stage, view)?.state === 'failed');
  const code = (stage: StagePlan): string => statusOf(plan, stage, view)?.error?.code ?? '';
  const text = (stage: StagePlan): string => `${stageName(stage, view)} failed: ${statusOf(plan, stage, view)?.error?.message ?? 'no reason given'}`;
  const cause = failed.find((stage) => code(stage) !== BROKEN_EDGE);
  if (cause !== undefined) {
    const vanished = code(cause) === 'backend_missing' ? cause.backend : undefined;
    return countFailure(context, faultyNode(plan, cause, code(cause)), text(cause), MODEL_FAULTS.has(code(cause)), code(cause), vanished);
  }
  const [edge] = failed;
  if (edge === undefined) return null;
  // Whoever reports a broken edge has done nothing wrong. What is at its other end says more, a moment later.
  const silent = plan.stages.find((stage) => memberOf(stage.nodeId, view)?.liveness === 'suspect');
  if (silent !== undefined) return replan(context, `${hostnameOf(silent.nodeId, view)} does not answer`);
  const sinceMs = memory.absences.get(edge.rank)?.changedMs ?? view.nowMs;
  if (view.nowMs - sinceMs < EDGE_GRACE_MS) return { instance: context.instance, again: false };
  return countFailure(context, null, text(edge), false, code(edge));
}

/** Who is to be done without: the stage's own node, or the one that sent it what no stage sends. */
function faultyNode(plan: Plan, stage: StagePlan, code: string): NodeId {
  if (!BAD_FRAMES.has(code)) return stage.nodeId;
  return plan.stages[(stage.rank + plan.stages.length - 1) % plan.stages.length]?.nodeId ?? stage.nodeId;
}

function stageSilent(context: Context): Outcome | null {
  const plan = livePlan(context.instance);
  if (plan === null) return null;
  const { instance, memory, view } = context;
  for (const stage of plan.stages) {
    const absence = memory.absences.get(stage.rank);
    if (absence === undefined || mayStillConnect(stage.nodeId, memory, view)) continue;
    const reported = statusOf(plan, stage, view) !== null;
    const stillMs = view.nowMs - absence.changedMs;
    if (instance.state === 'active') {
      const limitMs = view.statuses.has(stage.nodeId) ? STAGE_LOST_GRACE_MS : NO_REPORT_MS;
      if (view.nowMs - absence.sinceMs >= limitMs) return countFailure(context, null, `${stageName(stage, view)} is no longer there`, false, 'peer_lost');
    } else if (stillMs >= (reported ? PREPARE_STALL_MS : NO_REPORT_MS)) {
      return countFailure(context, stage.nodeId, `${stageName(stage, view)} makes no progress`, false, 'timeout');
    }
  }
  return null;
}

function allReady({ instance, memory, view }: Context): Outcome | null {
  const { plan } = instance;
  if (plan === null || instance.state !== 'preparing') return null;
  if (!plan.stages.every((stage) => statusOf(plan, stage, view)?.state === 'ready')) return null;
  memory.activeSinceMs = view.nowMs;
  return { instance: { ...instance, state: 'active', reason: '' }, again: false };
}

function underWay({ instance, memory, view }: Context): Outcome | null {
  if (livePlan(instance) === null) return null;
  if (instance.state === 'active') {
    memory.activeSinceMs ??= view.nowMs;
    if (view.nowMs - memory.activeSinceMs >= STABLE_MS) {
      memory.attempts = 0;
      memory.retries = 0;
      memory.faults.clear();
    }
  }
  return { instance, again: false };
}

function failedWaits({ instance, memory, view }: Context): Outcome | null {
  const { failure } = memory;
  if (instance.state !== 'failed' || failure === null) return null;
  if (failure.kind === 'stage' && view.joins !== failure.joins) {
    memory.attempts = 0;
    return null;
  }
  const waitedMs = view.nowMs - failure.atMs;
  if (failure.kind === 'stage' && failure.curable && waitedMs >= Math.min(LONGEST_FAILED_RETRY_MS, FAILED_RETRY_MS * 2 ** memory.retries)) {
    memory.attempts = MAX_PLAN_ATTEMPTS - 1;
    memory.retries += 1;
    memory.failure = null;
    return null;
  }
  if (failure.kind === 'placement' && view.tableVersion !== failure.tableVersion && waitedMs >= PLACEMENT_RETRY_MS) return null;
  if (failure.kind === 'shape' && waitedMs >= SHAPE_RETRY_MS) return null;
  return { instance, again: false };
}

function returnWaits({ instance, memory, view }: Context): Outcome | null {
  if (memory.returnedAtMs === null || view.nowMs - memory.returnedAtMs >= RETURN_WAIT_MS) return null;
  const missing = (instance.plan?.stages ?? []).filter(({ nodeId }) => {
    const member = memberOf(nodeId, view);
    return member === null || member.liveness !== 'alive' || !member.follows;
  });
  if (missing.length === 0) return null;
  return { instance: { ...instance, reason: 'waits for the nodes that served it before the restart' }, again: false };
}

function modelGone(context: Context): Outcome | null {
  const model = modelOf(context.instance, context.view);
  if (model !== null && weightsAreThere(model, context.view.members)) return null;
  if (context.view.unsettled) return { instance: context.instance, again: false };
  const name = model?.name ?? context.instance.request.model;
  // A model that was known comes back with a node: that is no mistake of whoever asks for it.
  return fail(context, 'placement', model === null ? 'unknown_model' : 'no_placement', `no node that is here holds the model ${name}: bring back a node that has it, or copy the file to one that is here`);
}

function shapeMissing(context: Context): Outcome | null {
  const { instance, view, host } = context;
  const digest = modelOf(instance, view)?.digest ?? '';
  const answer = view.shapes.get(digest);
  if (answer?.kind === 'shape') return null;
  if (answer === undefined || view.nowMs - answer.atMs >= SHAPE_RETRY_MS) {
    host.askShape(digest, view.nowMs);
    return { instance, again: false };
  }
  return fail(context, 'shape', answer.code, answer.message);
}

function placeNow(context: Context): Outcome | null {
  const { instance, memory, view, desired, host } = context;
  if (view.unsettled) return { instance, again: false };
  const answer = view.shapes.get(modelOf(instance, view)?.digest ?? '');
  if (answer?.kind !== 'shape') return null;
  const avoid = new Map<NodeId, string>();
  const missing = new Map<NodeId, ReadonlySet<Backend>>();
  for (const [nodeId, fault] of memory.faults) {
    if (view.nowMs >= fault.untilMs) continue;
    if (fault.backend === undefined) avoid.set(nodeId, fault.reason);
    else missing.set(nodeId, new Set([fault.backend]));
  }
  const serial = host.nextSerial();
  const question: PlanningQuestion = {
    shape: answer.shape,
    request: instance.request,
    planId: makePlanId(view.term, serial),
    instanceId: instance.instanceId,
    members: view.members,
    desired,
    avoid,
    missing,
  };
  const { result: roomy, unloaded } = planWithRoom(question, instance.plan === null ? planOn(question, host.place) : replanOn(question, instance.plan, host.place), host.yielding(context), host.place);
  const result = instance.plan === null ? roomy : onFewer(question, roomy, host.place);
  // Looked at again with every step: no table has to change for it.
  if (result.kind === 'impossible' && result.code === 'not_ready') return { instance: { ...withoutCode(instance), state: 'planning', reason: result.message }, again: false };
  if (result.kind === 'impossible') return fail(context, 'placement', result.code, `${result.message}${result.code === 'no_placement' ? othersText(context) : ''}`);
  host.unload(unloaded);
  host.useSerial();
  memory.failure = null;
  memory.lost = null;
  memory.adoptedAtMs = null;
  memory.activeSinceMs = null;
  memory.returnedAtMs = null;
  memory.asked = false;
  return { instance: { ...withoutCode(instance), state: 'preparing', plan: result.plan, reason: '', serial }, again: false };
}

/** Other models that are served hold memory too; those that could be unloaded were thought away already. */
function othersText({ instance, desired }: Context): string {
  const others = desired.instances.filter((other) => other !== instance && other.plan !== null && (other.state === 'preparing' || other.state === 'active'));
  if (others.length === 0) return '';
  const names = others.slice(0, MAX_NAMED).map((other) => `${other.plan?.model.name ?? ''}${lifeOf(other).pinned ? ' (pinned)' : ''}`);
  return ` Served beside it: ${names.join(', ')}.`;
}

/** Who asked for a number of nodes asked for an answer first of all: a plan that lost a node goes on with fewer. */
function onFewer(question: PlanningQuestion, asked: PlacementResult, place: Place): PlacementResult {
  const { nodes } = question.request;
  if (nodes === null || asked.kind === 'plan' || asked.code !== 'no_placement') return asked;
  const usable = question.members.filter(({ liveness, problem, follows }) => liveness === 'alive' && problem === null && follows).length;
  for (let fewer = Math.min(nodes - 1, usable); fewer >= 1; fewer -= 1) {
    const result = planOn({ ...question, request: { ...question.request, nodes: fewer } }, place);
    if (result.kind !== 'plan') continue;
    const note = { nodeId: null, text: `${nodes} nodes were asked for; only ${fewer} can serve it now` };
    return { ...result, plan: { ...result.plan, explanation: [...result.plan.explanation, note] } };
  }
  return asked;
}

/** What is tried again has not failed. */
function withoutCode({ code: _code, ...instance }: Instance): Instance {
  return instance;
}

function replan({ instance, memory }: Context, reason: string): Outcome {
  memory.lost = null;
  memory.activeSinceMs = null;
  return { instance: { ...withoutCode(instance), state: 'planning', reason: `${reason}: planning again` }, again: true };
}

/** `vanished`: the backend that the faulty node said it has and has not. */
function countFailure(context: Context, faulty: NodeId | null, message: string, incurable: boolean, code: string, vanished?: Backend): Outcome {
  const { memory, view } = context;
  memory.attempts += 1;
  if (faulty !== null) {
    const backend = vanished === undefined ? {} : { backend: vanished };
    memory.faults.set(faulty, { untilMs: view.nowMs + FAULT_COOLDOWN_MS, reason: message, ...backend });
  }
  if (incurable || memory.attempts >= MAX_PLAN_ATTEMPTS) return fail(context, 'stage', code, message, !incurable && (memory.served || PASSING_FAULTS.has(code)));
  return replan(context, message);
}

function fail({ instance, memory, view }: Context, kind: Failure['kind'], code: string, reason: string, curable = true): Outcome {
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

function livePlan(instance: Instance): Plan | null {
  return instance.state === 'preparing' || instance.state === 'active' ? instance.plan : null;
}

function modelOf(instance: Instance, view: ReconcileView): HeldModel | null {
  return instance.plan?.model ?? findModel(instance.request.model, view.members);
}

function statusOf(plan: Plan, stage: StagePlan, view: ReconcileView): StageStatus | null {
  return view.statuses.get(stage.nodeId)?.find((status) => status.planId === plan.planId && status.rank === stage.rank) ?? null;
}

function isGone(nodeId: NodeId, memory: Memory, view: ReconcileView): boolean {
  const member = memberOf(nodeId, view);
  if (member !== null && member.liveness !== 'dead') return false;
  return !mayStillConnect(nodeId, memory, view);
}

/** After an adoption, until we have seen the node ourselves. */
function mayStillConnect(nodeId: NodeId, memory: Memory, view: ReconcileView): boolean {
  if (memory.adoptedAtMs === null || view.nowMs - memory.adoptedAtMs >= ADOPTION_GRACE_MS) return false;
  const member = memberOf(nodeId, view);
  return member === null || member.sinceMs <= memory.adoptedAtMs;
}

function memberOf(nodeId: NodeId, view: ReconcileView): ClusterMember | null {
  return view.members.find((member) => member.record.nodeId === nodeId) ?? null;
}

function hostnameOf(nodeId: NodeId, view: ReconcileView): string {
  return memberOf(nodeId, view)?.record.capabilities.hostname ?? nodeId;
}

function stageName(stage: StagePlan, view: ReconcileView): string {
  return `stage ${stage.rank} (layers ${stage.range.start}-${stage.range.end - 1}) on ${hostnameOf(stage.nodeId, view)}`;
}
