/**
 * The vocabulary of the project as types: what every other file means by node, model, term, plan, instance.
 *
 * Everything here is plain readonly data: no class, no method, no I/O, so that it can be compared, logged, simulated and
 * sent. What travels around a ring is in step-types.ts. It must not know libp2p, protobuf, koffi or the clock.
 */

/** A node's stable id: the base58 peer id of its Ed25519 key. Ordered by plain string comparison. */
export type NodeId = string;

/** Milliseconds on the local monotonic clock. Never compared between nodes. */
export type Millis = number;

/** Where a shard computes. Preference order: metal, cuda, vulkan, cpu (core/backends.ts). */
export type Backend = 'metal' | 'cuda' | 'vulkan' | 'cpu';

/** A device as people may ask for it. Those that are no `Backend` parse, and are missing on every node of this engine. */
export type DeviceKind = Backend | 'mlx' | 'ane' | 'rocm' | 'gpu';

/** One compute device as the engine enumerates it. */
export interface Device {
  /** The engine's name, e.g. `CPU`, `Vulkan0`, `CUDA0`. */
  readonly name: string;
  readonly description: string;
  readonly backend: Backend;
  /** Device memory in bytes; for a cpu or unified device the host's memory. */
  readonly memoryTotalBytes: number;
  readonly memoryFreeBytes: number;
  /** True when the device shares the host's memory (Apple silicon, integrated GPUs, cpu). */
  readonly unified: boolean;
  /** Measured on a layer of common size: prefill arithmetic. Absent = not measured. */
  readonly gflops?: number;
  /** Measured on a layer of common size: weight bytes that a decode step reads per second. Absent = not measured. */
  readonly memoryBandwidthBytesPerSecond?: number;
}

/** What a node measured on the way to another one. */
export interface LinkFigures {
  readonly nodeId: NodeId;
  /** The shortest of late, in microseconds: there, the other agent's answer, and back. */
  readonly roundTripMicros: number;
  /** Of weights that came over it; null = nothing large has yet. */
  readonly bytesPerSecond: number | null;
}

/** Half-open range of layers `[start, end)`. */
export interface LayerRange {
  readonly start: number;
  readonly end: number;
}

/** What a model is, whatever it is called: SHA-256 (hex) of its GGUF header bytes, and its total size. */
export interface ModelIdentity {
  readonly digest: string;
  readonly sizeBytes: number;
}

/** Where a model's files are on the internet. Every node reads only the bytes that its own stages need. */
export interface ModelSource {
  /** `owner/repo` on the hub; empty = the locations are URLs. */
  readonly repository: string;
  /** Commit of the repository, so that all nodes read the same bytes; empty for URLs. */
  readonly revision: string;
  /** In shard order. */
  readonly files: readonly ModelSourceFile[];
}

export interface ModelSourceFile {
  /** Path in the repository, or an https URL. */
  readonly location: string;
  readonly sizeBytes: number;
}

/** A model that a node holds in full, or (`source`) can fetch from the internet, as gossiped. */
export interface HeldModel extends ModelIdentity {
  /** The name people type, e.g. `kjv-q8_0`. Unique per digest on a node. */
  readonly name: string;
  readonly architecture: string;
  readonly layers: number;
  /** Context that it was trained for, in tokens. Absent = not known. */
  readonly trainedContext?: number;
  /** Absent = not known. */
  readonly parameters?: number;
  /** The type that most of the weights are stored in, such as `q8_0`. Absent = not known. */
  readonly weights?: string;
  /** Absent = on the disk of the node that says so. */
  readonly source?: ModelSource;
  /** A Hugging Face directory: every stage needs a file of its own, also that of the whole model. Absent = a GGUF. */
  readonly checkpoint?: true;
}

/** A stage's weights that a node holds, as gossiped. `range` covers blocks; the extras are separate. */
export interface HeldShard {
  readonly modelDigest: string;
  readonly range: LayerRange;
  readonly head: boolean;
  readonly tail: boolean;
}

/** What a node can do. Each node publishes its own record; see `NodeRecord`. */
export interface Capabilities {
  readonly agentVersion: string;
  /** Protocol versions that this agent can speak, inclusive. */
  readonly protocolMin: number;
  readonly protocolMax: number;
  readonly hostname: string;
  readonly os: string;
  readonly arch: string;
  readonly cores: number;
  readonly ramTotalBytes: number;
  /** Memory that a plan may use: free memory plus what the agent's own runners hold, cut by `--max-ram`. */
  readonly ramAvailableBytes: number;
  /** Set by `--max-ram`; null = no limit. */
  readonly ramLimitBytes: number | null;
  /** Same for all agents that share one machine (boot id + hostname hash), so that they share its memory. */
  readonly machineId: string;
  readonly diskFreeBytes: number;
  readonly devices: readonly Device[];
  /** Backends that the engine really has here, in preference order. */
  readonly backends: readonly Backend[];
  /** Measured speed of the primary device; null until measured. */
  readonly gflops: number | null;
  readonly memoryBandwidthBytesPerSecond: number | null;
  readonly models: readonly HeldModel[];
  readonly shards: readonly HeldShard[];
  /** Where the HTTP API listens, for people (`http://127.0.0.1:11500`); empty when off. */
  readonly apiAddress: string;
  /** `--device`: first is primary, a later `cpu` takes what does not fit it. Absent = the best that is there. */
  readonly devicePreference?: readonly DeviceKind[];
  /** `--max-device-ram`; absent = no limit. */
  readonly deviceLimitBytes?: number;
  /** Ways to other nodes that were measured, by node id. Absent = none. */
  readonly links?: readonly LinkFigures[];
  /** True = this agent ends with the command that started it (`agent run`): stages go elsewhere. Absent = it stays. */
  readonly temporary?: boolean;
  /** What new stage files may take here, with what unused ones would give back, within `--max-disk`. Absent = `diskFreeBytes`. */
  readonly storeRoomBytes?: number;
  /** For people: what this machine could compute on and does not, and what to do. Absent = nothing. */
  readonly hints?: readonly string[];
}

/**
 * A node's own record, ordered by (incarnation, counter). Only its owner publishes it.
 * `nonce` is drawn per process: two nonces for one (id, incarnation) are a clone.
 */
export interface NodeRecord {
  readonly nodeId: NodeId;
  /** Persisted, incremented at every start. */
  readonly incarnation: number;
  readonly counter: number;
  readonly nonce: string;
  readonly addresses: readonly string[];
  readonly capabilities: Capabilities;
}

/** A coordinator's reign: a pair, totally ordered by (counter, node). One coordinator per pair by construction. */
export interface Term {
  readonly counter: number;
  readonly node: NodeId;
}

export type GgmlCacheType = 'f32' | 'f16' | 'bf16' | 'q8_0' | 'q4_0';

/** Hidden states on the way from stage to stage. Only `f32` is exact; a frame with values that `f16` has not goes as `f32`. */
export type ActivationType = 'f32' | 'f16' | 'q8_0';

/** What one stage of a plan is. */
export interface StagePlan {
  /** 0-based position in the ring: 0 is the head, the last one the tail. */
  readonly rank: number;
  readonly nodeId: NodeId;
  readonly range: LayerRange;
  /** Absent = the engine's own default. */
  readonly backend?: Backend;
  /** Prediction of the memory model, in bytes, above an idle runner. */
  readonly predictedBytes: number;
  /** The stage's first layers that its device has no room for; absent = all of it is on the device. */
  readonly spill?: Spill;
  /** Of the stage's weights, a name that core/precision.ts parses; absent = as stored. */
  readonly precision?: string;
  /** Absent = device memory (host memory on cpu). */
  readonly keyValueCache?: KeyValueCachePolicy;
}

/** What of a stage is in host memory beside its device; part of `predictedBytes`. */
export interface Spill {
  readonly hostLayers: number;
  readonly hostBytes: number;
}

/** A deterministic answer to "which node runs which layers". */
export interface Plan {
  /** `<term counter>.<term node>.<serial>`: contains the term that created it. */
  readonly planId: string;
  readonly instanceId: string;
  readonly model: HeldModel;
  readonly stages: readonly StagePlan[];
  /** Context cells per slot, in tokens. */
  readonly contextTokens: number;
  /** Sequences at once. */
  readonly slots: number;
  readonly keyType: GgmlCacheType;
  readonly valueType: GgmlCacheType;
  /** Absent = f32. */
  readonly activations?: ActivationType;
  /** A small model whole on the head's node that guesses for this one. Absent = none. */
  readonly draft?: DraftPlan;
  /** One answer alone in the ring, by measured bandwidths. Absent = a node of it was not measured, or computes without a cache. */
  readonly predictedTokensPerSecond?: number;
  /** Nodes left out, with the reason, and everything that was shrunk. For people. */
  readonly explanation: readonly PlanNote[];
  /** Of a preview only, where rings were compared by speed: those, the plan's own included. No part of what the cluster keeps. */
  readonly options?: readonly RingOption[];
}

/** The draft of a plan: its context and slots are the plan's. */
export interface DraftPlan {
  readonly model: HeldModel;
  /** Of its weights, cache and buffers, beside the head's stage. */
  readonly predictedBytes: number;
}

/** A ring that a plan was compared with, or the plan's own: by predicted decode speed of one answer. */
export interface RingOption {
  /** `alone`: the fastest single node; `several`: the fastest of two or more; `all`: every node that could take part. */
  readonly what: 'alone' | 'several' | 'all';
  /** In ring order. Empty = the model fits on none alone. */
  readonly nodeIds: readonly NodeId[];
  /** Null = no such ring fits. */
  readonly tokensPerSecond: number | null;
  /** False: a node of it was not measured yet and counts as the slowest that was. */
  readonly measured: boolean;
  /** It is the plan's. */
  readonly chosen: boolean;
}

export interface PlanNote {
  readonly nodeId: NodeId | null;
  readonly text: string;
  /** True of the moment of planning: who sees that the node answers leaves the note out. Absent = as long as the plan. */
  readonly passing?: true;
}

/** `auto`: the ring with the best predicted decode speed; as `ram_balanced` while nothing was measured. */
export type PlacementPolicy = 'auto' | 'ram_balanced' | 'throughput' | 'manual';

/** What people asked for; survives a re-plan. */
export interface InstanceRequest {
  readonly model: string;
  readonly policy: PlacementPolicy;
  /** Use exactly this many nodes; null = the policy's choice. */
  readonly nodes: number | null;
  readonly contextTokens: number | null;
  readonly slots: number | null;
  /** Absent = f32. */
  readonly activations?: ActivationType;
  /** Of keys and values. Absent = the planner's choice. */
  readonly cacheType?: GgmlCacheType;
  /** The model that is to guess for it: a name or a digest. Absent = none. */
  readonly draft?: string;
  /** The nodes of a cluster file, in ring order; only they take part. Absent = every node that is there, as it is. */
  readonly nodeSettings?: readonly RequestedNode[];
  /** Absent = it stays as long as nobody needs its room. */
  readonly life?: InstanceLife;
}

/** How long an instance stays (core/instance-life.ts). */
export interface InstanceLife {
  /** Never makes room for another model, and is never idle for too long. */
  readonly pinned: boolean;
  /** Without a request for this long it is unloaded; null = never. */
  readonly keepAliveMs: number | null;
  /** After a restart of the whole cluster it is served again. */
  readonly returns: boolean;
}

/** What a cluster file says of a node that placement knows by its id. */
export interface RequestedNode {
  readonly nodeId: NodeId;
  readonly settings: NodeSettings;
}

/** What people may say of one node. Every field absent = zero configuration. */
export interface NodeSettings {
  /** Cap of the budget, in bytes (decimal GB times 1e9). */
  readonly maxRamBytes?: number;
  /** Left free beyond the stage. Absent = max(1 GB, 10 % of RAM). */
  readonly reserveBytes?: number;
  /** Preference list; first is primary. */
  readonly devices?: readonly DeviceKind[];
  /** Pins the node to this range. */
  readonly layers?: LayerRange;
  /** A name that core/precision.ts parses. Absent = weights as the model stores them. */
  readonly precision?: string;
  /** Absent = device memory (host memory on cpu). */
  readonly keyValueCache?: KeyValueCachePolicy;
  /** Seed of requests that bring none, when this node samples. u32 */
  readonly seed?: number;
}

/** Where a stage keeps keys and values: nowhere (it computes them again), in host memory, or on its device. */
export type KeyValueCachePolicy = 'none' | 'host' | 'device';

/** `preparing`: stages load. `active`: the head may send. `failed`: see `reason`; a new plan may follow. */
export type InstanceState = 'planning' | 'preparing' | 'active' | 'failed';

/** A model that the cluster is asked to serve. Travels whole in the coordinator's heartbeat. */
export interface Instance {
  readonly instanceId: string;
  readonly request: InstanceRequest;
  readonly state: InstanceState;
  readonly plan: Plan | null;
  /** For people. */
  readonly reason: string;
  /** Of a failed one, for programs: the code of the error that `reason` is about. Absent = not told, as by an older coordinator. */
  readonly code?: string;
  /** Serial of the last plan made for this instance. */
  readonly serial: number;
}

/** What the coordinator wants to be true; `version` increases within a term. */
export interface DesiredState {
  readonly version: number;
  readonly instances: readonly Instance[];
  /** Ids unloaded lately, newest last, bounded: two sides of a healed split must not bring them back. Absent = none. */
  readonly removed?: readonly string[];
}

/** How long a token of one answer takes when nothing else is in the ring (running averages). */
export interface TokenPace {
  /** All around the ring, hops included. */
  readonly tokenMicros: number;
  /** Of it, in each stage's runner, in rank order. */
  readonly stageMicros: readonly number[];
}

/** A stage as its own node sees it; sent to the coordinator. */
export type StageState = 'fetching' | 'loading' | 'ready' | 'failed';

export interface StageStatus {
  readonly planId: string;
  readonly rank: number;
  readonly state: StageState;
  /** 0..1 while fetching. */
  readonly progress: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Resident memory above an idle runner, in bytes; 0 until ready. */
  readonly residentBytes: number;
  /** Weight bytes that crossed the network for this stage since this agent started. */
  readonly fetchedBytes: number;
  /** The ring's head only: requests that run or wait there, and all that came since its plan began. Absent = not the head. */
  readonly requests?: { readonly open: number; readonly taken: number };
  /** From the plan's arrival until the stage was ready: fetching, converting, loading. Absent = not yet. */
  readonly buildMs?: number;
  /** The ring's head only: a token of an answer that was alone, as measured. Absent = not the head, or not yet. */
  readonly pace?: TokenPace;
  /** The ring's head only, where the plan has a draft. */
  readonly draft?: DraftStatus;
}

/** A plan's draft as the head's node sees it. `failed`: the ring goes on without it until its next plan. */
export interface DraftStatus {
  readonly state: StageState;
  /** Of a failed one; for people. */
  readonly reason: string;
  /** Above an idle runner, in bytes; 0 until ready. */
  readonly residentBytes: number;
}

/** What a model is made of, as far as placement needs to know. Made by model/model-shape.ts from a GGUF header. */
export interface ModelShape {
  readonly identity: ModelIdentity;
  readonly name: string;
  readonly architecture: string;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly vocabularySize: number;
  /** SHA-256 (hex) of its tokens' texts, in order. Absent = not known. */
  readonly vocabularyDigest?: string;
  /** False: the engine's memory of it cannot forget its last tokens again. Absent = not known that it cannot. */
  readonly canRollBack?: boolean;
  /** Context the model was trained for, in tokens. */
  readonly trainedContext: number;
  /** Weight bytes of each layer, as stored. Length `layers`. */
  readonly layerBytes: readonly number[];
  /** The same with the layers' matrices in another type (core/precision.ts). Absent = not known: the stored bytes count. */
  readonly layerBytesAs?: Readonly<Record<'f32' | 'f16' | 'bf16' | 'mxfp4' | 'nvfp4', readonly number[]>>;
  /** Token embedding and everything else the head's file holds in memory (0 when looked up from disk). */
  readonly headBytes: number;
  /** Output matrix, final norm, tokenizer: what the tail holds beyond its layers. */
  readonly tailBytes: number;
  /** Weight bytes when the whole file is loaded as one stage. */
  readonly wholeBytes: number;
  /** KV elements per token and layer for K and for V. Length `layers`. 0 for recurrent layers. */
  readonly keyElementsPerToken: readonly number[];
  readonly valueElementsPerToken: readonly number[];
  /** Sizes of a key head; a quantised K cache needs multiples of its block. Absent = not known to be odd. */
  readonly keyHeadSizes?: readonly number[];
  /** Constant state per slot and layer in bytes (recurrent layers). */
  readonly stateBytesPerSlot: readonly number[];
  /** Layers whose KV is bounded by a sliding window, in tokens; 0 = full context. Length `layers`. */
  readonly windowTokens: readonly number[];
  readonly feedForwardSize: number;
  readonly attentionHeads: number;
  readonly expertCount: number;
  readonly expertUsed: number;
  /** Width of one expert's feed-forward net. Absent = `feedForwardSize`. */
  readonly expertFeedForwardSize?: number;
  /** Cuts must fall on multiples of this. 1 = anywhere. */
  readonly cutPeriod: number;
  /** Null = splittable; else the reason why this model must run on one node. */
  readonly unsplittableReason: string | null;
  /** Allowed numbers of layers in a stage when split are restricted by guards: stage counts to refuse. */
  readonly refusedStageLayers: readonly { readonly layers: number; readonly reason: string }[];
  /** Non-null when the engine cannot run the model at all. */
  readonly unsupportedReason: string | null;
  readonly supportedBackends: readonly Backend[];
  /** Where the files are when no node needs to have them. Absent = on a node's disk. */
  readonly source?: ModelSource;
}
