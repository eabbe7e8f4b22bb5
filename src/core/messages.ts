/**
 * What nodes say to each other on the control channel, as plain data. wire/control-codec.ts turns it into protobuf.
 *
 * Membership and election live on `alive`, `record`, `coordinator` and `stages`; requests on the rest. Activations do
 * not travel here: they have a link per edge of the ring (wire/activation-codec.ts).
 */
import type { SamplingSettings, TokenProbability } from './step-types.js';
import type {
  DesiredState, InstanceRequest, NodeId, NodeRecord, StageStatus, Term,
} from './types.js';
import type { ErrorCode } from './errors.js';
import type { RingTrace } from './step-traces.js';

/** Every node to every connected one, every `ALIVE_INTERVAL_MS`. */
export interface AliveMessage {
  readonly kind: 'alive';
  readonly incarnation: number;
  readonly counter: number;
  /** Highest term that the sender follows; null before the first. */
  readonly term: Term | null;
}

/** A node's own record, sent when it changes, at connection and when asked. Accepted from its owner only. */
export interface RecordMessage {
  readonly kind: 'record';
  readonly record: NodeRecord;
}

/** Asks the receiver for its record (its `alive` named a newer version than ours). */
export interface RecordRequestMessage {
  readonly kind: 'record_request';
}

/** The coordinator to every node, every `ALIVE_INTERVAL_MS` and on change: its reign and all it wants to be true. */
export interface CoordinatorMessage {
  readonly kind: 'coordinator';
  readonly term: Term;
  /** Instances with a running plan on the sender's side; decides ties of equal counters at healing. */
  readonly serving: number;
  readonly desired: DesiredState;
}

/** A node's stages to the coordinator, on change and every few heartbeats. */
export interface StagesMessage {
  readonly kind: 'stages';
  readonly term: Term;
  readonly statuses: readonly StageStatus[];
  /** From before the sender's start, while its coordinator does not seem to know of it. Absent = nothing (core/remembered.ts). */
  readonly remembered?: DesiredState;
}

/** A node that leaves on purpose (drained). */
export interface LeaveMessage {
  readonly kind: 'leave';
}

/** Any node to the coordinator. Answered by `reply` with the same id. */
export interface LoadMessage {
  readonly kind: 'load';
  readonly callId: string;
  readonly request: InstanceRequest;
}

export interface UnloadMessage {
  readonly kind: 'unload';
  readonly callId: string;
  readonly instanceId: string;
}

export interface ReplyMessage {
  readonly kind: 'reply';
  readonly callId: string;
  readonly instanceId: string;
  /** Null = accepted. */
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
}

/** Origin to head: start a sequence, or resume one (`emittedTokens` not empty). */
export interface GenerateMessage {
  readonly kind: 'generate';
  readonly requestId: string;
  readonly planId: string;
  readonly promptTokens: readonly number[];
  readonly emittedTokens: readonly number[];
  readonly sampling: SamplingSettings;
  /** Tokens to draw in all, `emittedTokens` included. */
  readonly maxTokens: number;
  /** Tells the origin's clients apart and says nothing else of them; they take turns. Absent = the origin itself. */
  readonly client?: string;
}

/** Origin to head: the client is gone or a stop sequence was seen. */
export interface CancelMessage {
  readonly kind: 'cancel';
  readonly requestId: string;
}

/** Tail to origin. The origin drops what it has already seen, by position. */
export interface TokenMessage {
  readonly kind: 'token';
  readonly requestId: string;
  readonly planId: string;
  /** Index of the token in the answer, 0-based. */
  readonly index: number;
  readonly token: number;
  readonly endOfGeneration: boolean;
  /** Where the request asks for it. */
  readonly probability?: TokenProbability;
  /** Beside an answer's first token: tokens of the prompt that the ring held already. Absent = none. */
  readonly reusedTokens?: number;
  /** Where the request asks for it (`SamplingSettings.pooling`): the prompt's hidden states in one, `[hiddenSize]`. */
  readonly embedding?: Float32Array;
}

export type FinishReason = 'stop' | 'length';

/** Head to origin: no further token will be drawn. */
export interface FinishedMessage {
  readonly kind: 'finished';
  readonly requestId: string;
  readonly planId: string;
  readonly reason: FinishReason;
  /** Tokens drawn in all, the end-of-generation token included: the origin waits until it has them. */
  readonly tokens: number;
}

/** Head (or any stage) to origin: the request cannot go on under this plan. */
export interface RefusedMessage {
  readonly kind: 'refused';
  readonly requestId: string;
  readonly planId: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/** To a node that has just come, about the others, and to the others about it: `--peer` need name only one of them. */
export interface IntroductionMessage {
  readonly kind: 'introduction';
  readonly peers: readonly { readonly nodeId: NodeId; readonly addresses: readonly string[] }[];
}

/** Any node to one where a ring begins. Answered by `trace_reply` with the same id. */
export interface TraceRequestMessage {
  readonly kind: 'trace_request';
  readonly callId: string;
  /** Beginning of a request's id; empty = all that are remembered. */
  readonly request: string;
}

export interface TraceReplyMessage {
  readonly kind: 'trace_reply';
  readonly callId: string;
  readonly traces: readonly RingTrace[];
}

export type ClusterMessage =
  | AliveMessage | RecordMessage | RecordRequestMessage | CoordinatorMessage | StagesMessage | LeaveMessage
  | LoadMessage | UnloadMessage | ReplyMessage;

export type RequestMessage = GenerateMessage | CancelMessage | TokenMessage | FinishedMessage | RefusedMessage;

export type TraceMessage = TraceRequestMessage | TraceReplyMessage;

export type ControlMessage = ClusterMessage | RequestMessage | IntroductionMessage | TraceMessage;
