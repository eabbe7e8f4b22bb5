/**
 * The worker's side of reconciliation: which stages should exist on a node, given what the coordinator wants.
 *
 * Pure, and the same for every node. It must not know how a stage is started or what state it is in: a stage that
 * failed stays wanted until the coordinator makes another plan, so that its failure stays visible.
 */
import type { DesiredState, NodeId, Plan, StagePlan } from './types.js';

export interface WantedStage {
  readonly plan: Plan;
  readonly stage: StagePlan;
}

/** In order of instance id, then rank. A plan that is being made again or has failed holds no memory anywhere. */
export function wantedStages(desired: DesiredState, nodeId: NodeId): WantedStage[] {
  return desired.instances.flatMap(({ plan, state }) => {
    if (plan === null || (state !== 'preparing' && state !== 'active')) return [];
    return plan.stages.filter((stage) => stage.nodeId === nodeId).map((stage) => ({ plan, stage }));
  });
}
