/**
 * The coordinator's rules, in order: what an instance is, and what it becomes.
 *
 * Each rule is a few lines, looks at one thing and either says what the instance becomes or passes on to the next; the
 * order is the policy. They know tables, statuses and shapes; they must not know messages or who else coordinates.
 */
import { weightsAreThere } from './planning.js';
import { draftOf, fail, hostnameOf, isGone, livePlan, mayStillConnect, memberOf, modelOf, stageName, statusOf, withoutCode } from './reconcile-context.js';
import type { Context, Outcome } from './reconcile-context.js';
import { placeNow } from './reconcile-placing.js';
import type { Backend, NodeId, Plan, StagePlan } from './types.js';

/** Plans in a row that may fail before the instance does. */
const MAX_PLAN_ATTEMPTS = 3;
/** A node whose stage failed is done without for this long, if it can be done without. */
const FAULT_COOLDOWN_MS = 60_000;
/** An instance that served and then failed, or failed for what may pass, is tried again after this, each time twice as long: answers may wait for it. */
const FAILED_RETRY_MS = 5_000;
const LONGEST_FAILED_RETRY_MS = 60_000;
/** After this much quiet service earlier failures are forgotten. */
const STABLE_MS = 30_000;
/** A stage of an active plan that its node says is not there (a word may be late). */
const STAGE_LOST_GRACE_MS = 2_000;
/** How long a broken edge waits for its cause: a runner that died, a node that is gone. */
const EDGE_GRACE_MS = 300;
/** A living node that never says anything about its stage. */
const NO_REPORT_MS = 10_000;
/** A stage that loads or fetches without any progress; the worker's own deadlines are shorter. */
const PREPARE_STALL_MS = 600_000;
/** Nodes that served a model before a restart of the whole cluster are waited for, should they come a little later. */
export const RETURN_WAIT_MS = 20_000;
/** A shape that was asked for and has not come, or could not be read, is asked for again after this. */
export const SHAPE_RETRY_MS = 5_000;
/** An impossible placement is not tried again sooner, however often the table changes. */
const PLACEMENT_RETRY_MS = 1_000;

/** Causes that another node would not cure. */
const MODEL_FAULTS: ReadonlySet<string> = new Set(['bad_gguf', 'bad_checkpoint', 'unsupported_architecture', 'unsplittable_model']);

/** Causes that may be over by themselves: the way to a node, or to where the weights are. */
const PASSING_FAULTS: ReadonlySet<string> = new Set(['peer_lost', 'peer_unreachable', 'timeout', 'source_failed']);

/** What a stage says whose neighbour in the ring is gone. */
const BROKEN_EDGE = 'peer_lost';
/** What a stage says whose previous stage sends it nonsense. */
const BAD_FRAMES: ReadonlySet<string> = new Set(['bad_frame', 'frame_too_large']);

type Rule = (context: Context) => Outcome | null;

/** First match wins: what ends a plan, what it waits for, what is needed for the next one. */
const RULES: readonly Rule[] = [nodeLost, stageFailed, stageSilent, allReady, underWay, failedWaits, returnWaits, modelGone, shapeMissing, draftShapeMissing, placeNow];

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
  const { instance, memory, view, host } = context;
  const digest = modelOf(instance, view)?.digest ?? '';
  const answer = view.shapes.get(digest);
  if (answer?.kind === 'shape') return null;
  // What went wrong before it was asked for may go well now.
  const isOld = answer !== undefined && (view.nowMs - answer.atMs >= SHAPE_RETRY_MS || answer.atMs < (memory.sinceMs ?? view.nowMs));
  if (answer === undefined || isOld) {
    host.askShape(digest, view.nowMs);
    return { instance, again: false };
  }
  return fail(context, 'shape', answer.code, answer.message);
}

/** A draft that cannot be had is no reason to wait: an answer that says so is enough. */
function draftShapeMissing({ instance, view, host }: Context): Outcome | null {
  const draft = draftOf(instance, view);
  if (draft === null || !weightsAreThere(draft, view.members) || view.shapes.has(draft.digest)) return null;
  host.askShape(draft.digest, view.nowMs);
  return { instance, again: false };
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
