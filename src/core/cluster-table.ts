/**
 * The table of nodes as the coordinator and the planner see it: records joined with who answers and who follows whom.
 *
 * Only reads. It must not know messages, terms or plans.
 */
import type { FailureDetector } from './failure-detector.js';
import type { Membership } from './membership.js';
import type { ClusterMember } from './planning.js';
import type { Millis, NodeId, NodeRecord } from './types.js';

/** How long a new coordinator, or the coming of a node, holds up plans until everyone follows. */
const SETTLE_MS = 1_500;

export interface TableSources {
  readonly membership: Membership;
  readonly detector: FailureDetector;
  readonly self: NodeId;
  /** Ours; null while there is none. */
  readonly coordinator: NodeId | null;
  /** Whom another node follows. */
  follows(nodeId: NodeId): NodeId | null;
}

/** Every node with a record, ours included, by id. */
export function membersOf(sources: TableSources): ClusterMember[] {
  const { membership, detector, self, coordinator } = sources;
  const own = membership.ownRecord();
  return membership.records().map((record): ClusterMember => {
    const { nodeId } = record;
    const liveness = nodeId === self ? 'alive' : membership.hasLeft(nodeId) ? 'dead' : detector.liveness(nodeId) ?? 'dead';
    return {
      record,
      liveness,
      left: membership.hasLeft(nodeId),
      sinceMs: detector.sinceMs(nodeId) ?? 0,
      follows: nodeId === self || nodeId === coordinator || (coordinator !== null && sources.follows(nodeId) === coordinator),
      problem: membership.cloneProblem(nodeId) ?? (own === null ? null : versionProblem(record, own)),
    };
  });
}

/** Somebody who came a moment ago, or does not answer at this moment, is not yet usable: plans wait for it a little. */
export function isUnsettled({ membership, detector, self, follows }: TableSources, coordinatorSinceMs: Millis, nowMs: Millis): boolean {
  return detector.living().some((nodeId) => {
    if (nowMs - Math.max(coordinatorSinceMs, detector.sinceMs(nodeId) ?? 0) >= SETTLE_MS) return false;
    return membership.record(nodeId) === null || follows(nodeId) !== self || detector.liveness(nodeId) === 'suspect';
  });
}

export function hostnameOf(nodeId: NodeId, membership: Membership): string {
  return membership.record(nodeId)?.capabilities.hostname ?? nodeId;
}

/** For the caller of a load that nobody answered. */
export function whyNoCoordinator(coordinator: NodeId | null, coordinatorOfOthers: NodeId | null, membership: Membership): string {
  if (coordinator !== null) return `the coordinator ${hostnameOf(coordinator, membership)} did not answer: look at "agent status" and try again`;
  if (coordinatorOfOthers === null) return 'this cluster has no coordinator yet: try again in a moment';
  return `other nodes follow ${hostnameOf(coordinatorOfOthers, membership)}, which this node cannot reach: check the network between the two`;
}

function versionProblem({ capabilities }: NodeRecord, own: NodeRecord): string | null {
  const { protocolMin, protocolMax } = own.capabilities;
  if (capabilities.protocolMin <= protocolMax && protocolMin <= capabilities.protocolMax) return null;
  return `it speaks protocol ${capabilities.protocolMin}-${capabilities.protocolMax}, this node ${protocolMin}-${protocolMax}: update the older agent`;
}
