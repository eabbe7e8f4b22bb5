/**
 * The coordinator's last rule: everything that a plan needs is known, so one is made, or it is said why there can be none.
 *
 * Idle models make room for what is asked for now, and a ring that lost a node goes on with fewer. It must not know when a
 * plan ends (reconcile-rules.ts).
 */
import { lifeOf } from './instance-life.js';
import { planWithRoom } from './make-room.js';
import type { DraftChoice } from './draft.js';
import type { PlacementResult } from './placement-types.js';
import { planOn, replanOn, weightsAreThere } from './planning.js';
import type { Place, PlanningQuestion } from './planning.js';
import { draftOf, fail, modelOf, withoutCode } from './reconcile-context.js';
import type { Context, Outcome } from './reconcile-context.js';
import { makePlanId } from './terms.js';
import type { Backend, NodeId } from './types.js';

/** Models that one message names. */
const MAX_NAMED = 4;

export function placeNow(context: Context): Outcome | null {
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
    ...draftChoice(context),
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

/** Its shape was asked for and answered before (reconcile-rules.ts). */
function draftChoice({ instance, view }: Context): { readonly draft?: DraftChoice } {
  const { request } = instance;
  if (request.draft === undefined) return {};
  const model = draftOf(instance, view);
  if (model === null || !weightsAreThere(model, view.members)) return { draft: { kind: 'absent', reason: `no node that is here holds the model ${model?.name ?? request.draft}` } };
  const answer = view.shapes.get(model.digest);
  return { draft: answer?.kind === 'shape' ? answer : { kind: 'absent', reason: `the header of ${model.name} cannot be read${answer === undefined ? '' : `: ${answer.message}`}` } };
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
