/**
 * A plan for a model that does not fit beside the others: which of them, unloaded, would make the room that it lacks.
 *
 * The longest unused go first, and only as many as it takes; nothing is unloaded for a plan that would be no better. Pure.
 * It must not know what is idle: who asks says what may go.
 */
import { DEFAULT_CONTEXT_TOKENS } from './placement.js';
import type { PlacementResult } from './placement-types.js';
import { planOn } from './planning.js';
import type { Place, PlanningQuestion } from './planning.js';
import type { Instance } from './types.js';

export interface RoomyPlan {
  readonly result: PlacementResult;
  /** Instance ids to unload for it. */
  readonly unloaded: readonly string[];
}

/** `yielding`: what may be unloaded, in that order. `asked`: the plan without unloading anything. */
export function planWithRoom(question: PlanningQuestion, asked: PlacementResult, yielding: readonly Instance[], place: Place): RoomyPlan {
  const unchanged = { result: asked, unloaded: [] };
  if (yielding.length === 0 || !lacksRoom(question, asked)) return unchanged;
  const without = (gone: readonly Instance[]): PlacementResult => {
    const instances = question.desired.instances.filter((instance) => !gone.includes(instance));
    return planOn({ ...question, desired: { ...question.desired, instances } }, place);
  };
  const best = without(yielding);
  if (best.kind === 'impossible' || contextOf(best) <= contextOf(asked)) return unchanged;
  const isGood = (result: PlacementResult): boolean => contextOf(result) >= contextOf(best);
  let gone = yielding;
  for (let count = 1; count < yielding.length; count += 1) {
    if (!isGood(without(yielding.slice(0, count)))) continue;
    gone = yielding.slice(0, count);
    break;
  }
  // An old one on a machine that does not matter here stays.
  for (const instance of gone) {
    const fewer = gone.filter((other) => other !== instance);
    if (isGood(without(fewer))) gone = fewer;
  }
  return { result: without(gone), unloaded: gone.map(({ instanceId }) => instanceId) };
}

/** Nothing fits, or the context that nobody chose had to shrink. */
function lacksRoom({ shape, request }: PlanningQuestion, result: PlacementResult): boolean {
  if (result.kind === 'impossible') return result.code === 'no_placement';
  const usual = shape.trainedContext > 0 ? Math.min(shape.trainedContext, DEFAULT_CONTEXT_TOKENS) : DEFAULT_CONTEXT_TOKENS;
  return request.contextTokens === null && result.plan.contextTokens < usual;
}

function contextOf(result: PlacementResult): number {
  return result.kind === 'plan' ? result.plan.contextTokens : 0;
}
