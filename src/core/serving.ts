/**
 * What really runs, as one node sees it: the evidence by which two desired states are weighed when they meet.
 *
 * A claim "active" is worth what the stages' own nodes say. It must not know terms or who coordinates.
 */
import type { Meeting } from './desired-state.js';
import type { Liveness } from './failure-detector.js';
import type { DesiredState, Instance, NodeId, StageStatus } from './types.js';

export interface Evidence {
  liveness(nodeId: NodeId): Liveness;
  /** What each connected node last said of its stages; no entry = nothing since it connected. */
  readonly statuses: ReadonlyMap<NodeId, readonly StageStatus[]>;
}

/** Stages that are known to run: what decides between two coordinators. */
export function servingStages(desired: DesiredState, evidence: Evidence): number {
  let stages = 0;
  for (const instance of desired.instances) {
    if (!runs(instance, evidence)) continue;
    stages += instance.plan?.stages.filter((stage) => says(instance, stage.nodeId, stage.rank, evidence) === true).length ?? 0;
  }
  return stages;
}

export function meetingOf(mine: DesiredState, theirs: DesiredState, evidence: Evidence): Meeting {
  return {
    mine,
    theirs,
    mineRuns: (instance) => runs(instance, evidence),
    // They see nodes that we may not be connected to yet: believed, unless a stage's own node says otherwise.
    theirsRuns: (instance) => instance.state === 'active' && noneDenies(instance, evidence),
  };
}

/** Active, all its nodes answer us, and none says that its stage is not there. */
function runs(instance: Instance, evidence: Evidence): boolean {
  return instance.state === 'active' && noneDenies(instance, evidence)
    && (instance.plan?.stages.every((stage) => evidence.liveness(stage.nodeId) !== 'dead') ?? false);
}

function noneDenies(instance: Instance, evidence: Evidence): boolean {
  return instance.plan?.stages.every((stage) => says(instance, stage.nodeId, stage.rank, evidence) !== false) ?? false;
}

/** Whether the node says that the stage is ready; null = it has said nothing yet. */
function says(instance: Instance, nodeId: NodeId, rank: number, { statuses }: Evidence): boolean | null {
  const said = statuses.get(nodeId);
  if (said === undefined) return null;
  return said.some((status) => status.planId === instance.plan?.planId && status.rank === rank && status.state === 'ready');
}
