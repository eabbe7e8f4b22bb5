/**
 * What goes into the cluster core and what comes out of it: the contract between core/cluster.ts and the agent's loop.
 */
import type { CallAnswer } from './calls.js';
import type { ErrorCode } from './errors.js';
import type { ClusterMessage } from './messages.js';
import type { Place } from './planning.js';
import type { Capabilities, DesiredState, InstanceRequest, ModelShape, NodeId, StageStatus } from './types.js';

export interface ClusterSettings {
  readonly nodeId: NodeId;
  /** Persisted, incremented at every start. */
  readonly incarnation: number;
  /** Drawn per process. */
  readonly nonce: string;
  readonly place: Place;
  /** What this node kept of what its cluster wanted before it was started (`ClusterNode.toKeep`). Absent = nothing. */
  readonly remembered?: DesiredState;
}

export type ClusterInput =
  /** Every 100 ms or so. */
  | { readonly kind: 'tick' }
  | { readonly kind: 'node_connected'; readonly nodeId: NodeId }
  | { readonly kind: 'node_disconnected'; readonly nodeId: NodeId; readonly reason: string }
  | { readonly kind: 'message'; readonly from: NodeId; readonly message: ClusterMessage }
  /** What this node is, at start and at every change. */
  | { readonly kind: 'capabilities'; readonly capabilities: Capabilities; readonly addresses?: readonly string[] }
  /** All stages of this node, at every change. */
  | { readonly kind: 'local_stages'; readonly statuses: readonly StageStatus[] }
  | { readonly kind: 'load'; readonly callId: string; readonly request: InstanceRequest }
  | { readonly kind: 'unload'; readonly callId: string; readonly instanceId: string }
  /** Answers `need_shape`. */
  | {
    readonly kind: 'shape'; readonly modelRef: string; readonly shape: ModelShape | null;
    readonly error: { readonly code: ErrorCode; readonly message: string } | null;
  }
  /** The node goes on purpose. Nothing happens after it. */
  | { readonly kind: 'leave' };

export type ClusterOutput =
  | { readonly kind: 'send'; readonly to: NodeId; readonly message: ClusterMessage }
  /** `modelRef` is the model's digest. Asked again every `SHAPE_RETRY_MS` until it is answered. */
  | { readonly kind: 'need_shape'; readonly modelRef: string }
  | { readonly kind: 'reply'; readonly callId: string; readonly instanceId: string; readonly error: CallAnswer['error'] }
  /** One sentence for people, and the sign to look at the accessors again. `figures`: a node that was there has others of itself. */
  | { readonly kind: 'changed'; readonly what: 'membership' | 'figures' | 'coordinator' | 'desired'; readonly text: string };
