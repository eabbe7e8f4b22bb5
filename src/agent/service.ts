/**
 * What the HTTP API and the command line may ask of the agent: the only face of agent/ that api/ and cli/ see.
 * Implemented by agent/agent.ts. All methods throw RingError on operating failures.
 */
import type { FinishReason } from '../core/messages.js';
import type { ReasoningMarks } from '../core/reasoning.js';
import type { ToolCalling, ToolDefinition } from '../core/tools/tool-use.js';
import type { GuessSource } from '../core/speculation.js';
import type { SamplingSettings } from '../core/step-types.js';
import type {
  ActivationType, Backend, Capabilities, GgmlCacheType, HeldModel, InstanceLife, InstanceState, LayerRange, NodeId, Plan, PlacementPolicy, PlanNote, RequestedNode,
  Spill, StageState, Term, TokenPace,
} from '../core/types.js';
import type { RingTrace } from '../core/step-traces.js';
import type { ModelDetails, ModelUpkeep } from '../ports.js';

export type ChatContent = string | null | readonly { readonly type: string; readonly text?: string }[];

export interface ChatMessage {
  readonly role: string;
  readonly content: ChatContent;
  readonly [key: string]: unknown;
}

export type Prompt =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tokens'; readonly tokens: readonly number[] }
  /** `variables`: further ones for the model's template, such as `enable_thinking`. */
  | { readonly kind: 'chat'; readonly messages: readonly ChatMessage[]; readonly variables?: Readonly<Record<string, unknown>>; readonly tools?: readonly ToolDefinition[] };

/** How likely a piece of the answer was; `bytes` need not be whole characters. */
export interface TextProbability {
  readonly bytes: Uint8Array;
  readonly logprob: number;
  readonly alternatives: readonly { readonly bytes: Uint8Array; readonly logprob: number }[];
}

export interface CompletionTask {
  /** What its traces are found by: the beginning of the request's id in the ring. Unique. Absent = drawn. */
  readonly requestId?: string;
  /** A model's name, digest prefix or path; empty = the only or default model. */
  readonly model: string;
  readonly prompt: Prompt;
  readonly sampling: SamplingSettings;
  /** How long the model is to stay after the answer, in ms; null = for ever. Absent = as it is, or the agent's own. */
  readonly keepAliveMs?: number | null;
  /** Null = as far as the context goes. */
  readonly maxTokens: number | null;
  /** The answer ends before the first of these. */
  readonly stop: readonly string[];
  /** Of the prompt's tools; absent = the model is told of them and nothing else happens. */
  readonly toolCalling?: ToolCalling;
  /** Tells this node's clients apart: they take turns. Absent = the node itself. */
  readonly client?: string;
  /** A prompt that is longer than the context is cut; its last token stays. Absent = it is refused. */
  readonly truncate?: boolean;
}

export interface EmbeddingTask {
  /** As a completion's. */
  readonly model: string;
  readonly inputs: readonly Prompt[];
  /** As a completion's. */
  readonly truncate: boolean;
  readonly keepAliveMs?: number | null;
  readonly client?: string;
}

export interface EmbeddingAnswer {
  readonly model: string;
  /** `[hiddenSize]` each, of length 1, in the order of the inputs. */
  readonly vectors: readonly Float32Array[];
  readonly promptTokens: number;
}

export interface CompletionTimings {
  /** From acceptance to the first token, in ms. */
  readonly firstTokenMs: number;
  readonly totalMs: number;
  /** Tokens per second after the first token; 0 when fewer than two were drawn. */
  readonly decodeTokensPerSecond: number;
}

export type CompletionEvent =
  /** `opened`: the model's template has opened these marks, so the answer begins with thoughts. */
  | { readonly kind: 'started'; readonly model: string; readonly promptTokens: number; readonly opened?: ReasoningMarks }
  /** `text` may be empty while bytes of a character or of a possible stop sequence are held back. */
  | { readonly kind: 'text'; readonly text: string; readonly tokens: readonly number[]; readonly probabilities?: readonly TextProbability[] }
  | {
      readonly kind: 'finished';
      readonly reason: FinishReason;
      readonly promptTokens: number;
      readonly completionTokens: number;
      /** Tokens of the prompt that were not computed, because the ring held them already. */
      readonly reusedTokens: number;
      /** Where the sampling settings have a `pooling`; `[hiddenSize]`, as the engine gives it. */
      readonly embedding?: Float32Array;
      readonly timings: CompletionTimings;
    };

export interface StageView {
  readonly rank: number;
  readonly nodeId: NodeId;
  readonly hostname: string;
  readonly range: LayerRange;
  readonly backend: Backend | null;
  readonly state: StageState | 'unknown';
  readonly progress: number;
  readonly error: string | null;
  readonly predictedBytes: number;
  /** What of it is in host memory beside the device; null = nothing. */
  readonly spill: Spill | null;
  readonly residentBytes: number;
  readonly fetchedBytes: number;
  /** Until it was ready, in ms; null or absent = not yet. */
  readonly buildMs?: number | null;
  /** Share of the last seconds that its runner computed, 0..1. Known on the head's node only; null or absent elsewhere. */
  readonly busyShare?: number | null;
}

export interface DraftView {
  readonly model: string;
  readonly predictedBytes: number;
  /** `unknown`: the head's node has not said yet. */
  readonly state: StageState | 'unknown';
  /** Of a failed one: why the ring goes on without it. */
  readonly reason: string;
  readonly residentBytes: number;
}

export interface InstanceView {
  readonly instanceId: string;
  readonly model: string;
  readonly modelDigest: string;
  readonly state: InstanceState;
  readonly reason: string;
  /** Of a failed one: the code of the error that `reason` is about. */
  readonly code?: string;
  readonly planId: string | null;
  readonly contextTokens: number;
  readonly slots: number;
  /** Of hidden states between its stages, where the plan has others than f32. */
  readonly activations?: ActivationType;
  /** The small model that guesses for it. Absent = none. */
  readonly draft?: DraftView;
  readonly stages: readonly StageView[];
  readonly notes: readonly PlanNote[];
  readonly life: InstanceLife;
  /** Known on the head's node only; null elsewhere. */
  readonly activeSequences: number | null;
  readonly queuedSequences: number | null;
  readonly stepsInFlight: number | null;
  /** Prompt tokens that were not computed because a slot held them already, since the plan began. Known on the head's node only. */
  readonly reusedTokens?: number | null;
  /** Tokens that were guessed since the plan began, and those that were right, by where the guesses came from. Known on the head's node only. */
  readonly guesses?: Readonly<Record<GuessSource, { readonly drafted: number; readonly accepted: number }>> | null;
  /** Of one answer alone in the ring, by the plan. Absent or null = not known. */
  readonly predictedTokensPerSecond?: number | null;
  /** The same as the head measured it. Absent or null = not yet. */
  readonly pace?: TokenPace | null;
  /** Measured on decode steps that were alone in the ring: time per edge that no runner computed. */
  readonly hops: { readonly overheadMicros: number; readonly computeMicros: number; readonly samples: number } | null;
}

export interface NodeView {
  readonly nodeId: NodeId;
  readonly self: boolean;
  readonly coordinator: boolean;
  readonly capabilities: Capabilities | null;
  readonly addresses: readonly string[];
  /** `incompatible`: speaks another protocol version; `cloned`: two processes with one identity. */
  readonly state: 'alive' | 'suspect' | 'incompatible' | 'cloned';
  readonly problem: string | null;
}

export interface ClusterStatus {
  readonly cluster: string;
  /** False: the cluster has no secret and any agent on the LAN may join. */
  readonly secured: boolean;
  readonly nodeId: NodeId;
  readonly coordinator: NodeId | null;
  readonly term: Term | null;
  readonly nodes: readonly NodeView[];
  readonly instances: readonly InstanceView[];
}

export interface PlanRequest {
  readonly model: string;
  readonly policy: PlacementPolicy;
  readonly nodes: number | null;
  readonly contextTokens: number | null;
  readonly slots: number | null;
  /** Absent = f32. */
  readonly activations?: ActivationType;
  /** Of keys and values. Absent = the planner's choice. */
  readonly cacheType?: GgmlCacheType;
  /** The model that is to guess for it: name, digest or reference. Absent = what the agent was started with. */
  readonly draft?: string;
  /** From a cluster file, in ring order. Absent = every node that is there, as it is. */
  readonly nodeSettings?: readonly RequestedNode[];
  /** `usual`: as a request that needs the model. Absent = it stays until its room is needed, or is as pinned as it was. */
  readonly life?: InstanceLife | 'usual';
}

export interface ModelView extends HeldModel {
  readonly heldBy: readonly NodeId[];
  readonly loaded: boolean;
}

/** `healed`: a model that was interrupted serves again. `offence`: a node broke the protocol or lied. */
export type ClusterEventKind = 'membership' | 'coordinator' | 'desired' | 'healed' | 'offence';

/** The cluster as a watcher sees it. */
export interface WatchedStatus {
  readonly status: ClusterStatus;
  readonly models: readonly ModelView[];
  /** Answers under way that came in through this agent. */
  readonly requests: number;
}

export type ClusterUpdate =
  | ({ readonly kind: 'status' } & WatchedStatus)
  /** For people. `serial` grows by one; `agoMs` is its age when it was sent. */
  | { readonly kind: 'event'; readonly what: ClusterEventKind; readonly text: string; readonly serial: number; readonly agoMs: number };

/** Where the time of a request's first steps went. */
export interface TraceView extends Omit<RingTrace, 'nodeIds'> {
  /** In rank order. */
  readonly stages: readonly { readonly nodeId: NodeId; readonly hostname: string }[];
}

export interface TracesView {
  /** The latest first. */
  readonly traces: readonly TraceView[];
  /** Where the cluster's rings begin: whose traces these are. */
  readonly heads: readonly TraceHead[];
}

export interface TraceHead {
  readonly nodeId: NodeId;
  readonly hostname: string;
  /** False: it did not answer in time, so what it knows is not among the traces. */
  readonly answered: boolean;
}

export interface AgentService {
  /** Upkeep of this node's models. Absent = this agent keeps none. */
  readonly upkeep?: ModelUpkeep | undefined;
  status(): ClusterStatus;
  /** Every model that any alive node holds, by name, sorted. */
  models(): readonly ModelView[];
  /** A plan without running it. Throws `no_placement` with the numbers. */
  plan(request: PlanRequest): Promise<Plan>;
  /** Asks the coordinator to serve a model; resolves when it is active. */
  load(request: PlanRequest, signal: AbortSignal): Promise<InstanceView>;
  unload(instanceId: string): Promise<void>;
  /** Ends with `finished` or throws. Aborting the signal frees every stage. */
  complete(task: CompletionTask, signal: AbortSignal): AsyncIterable<CompletionEvent>;
  /** Tokens that a prompt becomes, with everything that the model's template adds. */
  countTokens(model: string, prompt: Prompt, signal: AbortSignal): Promise<number>;
  /** Vectors of texts. Throws `bad_request` when the model cannot. Aborting the signal frees every stage. */
  embed(task: EmbeddingTask, signal: AbortSignal): Promise<EmbeddingAnswer>;
  /** What the header of a model says, wherever the model is. */
  details(model: string, signal: AbortSignal): Promise<ModelDetails>;
  /** True when a request could be taken now (an agent that has found its coordinator). */
  ready(): boolean;
  /** What happened lately, the status, then what is new of both (a status at most twice a second). Ends at the abort. */
  watch(signal: AbortSignal): AsyncIterable<ClusterUpdate>;
  /** Of requests whose id begins so (empty = all that are remembered), asked of every node where a ring begins. Never throws. */
  traces(request: string): Promise<TracesView>;
  /** How often each kind of event happened since this agent started. */
  eventCounts(): Readonly<Record<ClusterEventKind, number>>;
}
