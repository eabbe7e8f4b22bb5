/**
 * Input and output of placement: the contract between core/placement.ts and those who ask for a plan.
 */
import type { DraftChoice } from './draft.js';
import type { ErrorCode } from './errors.js';
import type { Capabilities, GgmlCacheType, InstanceRequest, ModelShape, NodeId, NodeSettings, Plan, PlanNote, RingOption } from './types.js';

export type { NodeSettings } from './types.js';

/** A node as placement sees it. `settings` come from a cluster file or flags; absent = zero configuration. */
export interface PlacementNode {
  readonly nodeId: NodeId;
  readonly capabilities: Capabilities;
  readonly settings?: NodeSettings;
}

export interface PlacementInput {
  readonly shape: ModelShape;
  /** In ring order when `ordered`; else placement sorts by node id. Nodes that may not be used are not in it. */
  readonly nodes: readonly PlacementNode[];
  readonly ordered: boolean;
  readonly request: InstanceRequest;
  readonly planId: string;
  readonly instanceId: string;
  readonly keyType: GgmlCacheType;
  readonly valueType: GgmlCacheType;
  /** Room is kept for it on every node. Absent = none is wanted. */
  readonly draft?: DraftChoice;
  /** Nodes that are known but left out before placement, with the reason (other version, unreachable …). */
  readonly excluded: readonly PlanNote[];
}

export type PlacementResult =
  /** `options`: the rings that it was compared with, itself included; for people, and no part of what the cluster keeps. */
  | { readonly kind: 'plan'; readonly plan: Plan; readonly options?: readonly RingOption[] }
  | { readonly kind: 'impossible'; readonly code: ErrorCode; readonly message: string; readonly notes: readonly PlanNote[] };
