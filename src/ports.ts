/**
 * Every side effect of the agent as an interface, so that core logic and the agent's loop can be simulated.
 * Adapters live in net/, process/, engine/ and model/. Nothing here is implemented.
 */
import type { ControlMessage } from './core/messages.js';
import type { RingError } from './core/errors.js';
import type { Pooling, SampledToken, SequenceOperation, SequenceSlice } from './core/step-types.js';
import type {
  ActivationType, Backend, Capabilities, Device, GgmlCacheType, HeldModel, HeldShard, KeyValueCachePolicy, LayerRange, LinkFigures, ModelShape, NodeId,
} from './core/types.js';

export interface Clock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Calls once after `delayMs`; the returned function cancels. */
  after(delayMs: number, call: () => void): () => void;
}

/** Keeps the machine awake while it is held. Best effort: neither call throws. */
export interface SleepGuard {
  /** May be called again and again. */
  hold(): void;
  /** Resolves when nothing of it is left. */
  release(): Promise<void>;
}

export interface Log {
  debug(message: string, facts?: object): void;
  info(message: string, facts?: object): void;
  warn(message: string, facts?: object): void;
  error(message: string, facts?: object): void;
  child(facts: object): Log;
}

/** What a stage computes. `whole` takes tokens and samples; `head` takes tokens; `tail` samples. */
export type StageRole = 'whole' | 'head' | 'middle' | 'tail';

export interface StageOptions {
  readonly role: StageRole;
  /** A GGUF made by model/stage-file.ts, or the user's own file (role `whole`). */
  readonly stageFile: string;
  /** Role `head` only: the token embedding's rows as stored, `[vocabularySize, hiddenSize]` of `type`. */
  readonly embedding: { readonly file: string; readonly offset: number; readonly ggmlType: number; readonly rows: number } | null;
  /** Absent = the engine's own default. */
  readonly backend?: Backend;
  readonly threads: number;
  readonly contextTokens: number;
  readonly slots: number;
  readonly keyType: GgmlCacheType;
  readonly valueType: GgmlCacheType;
  /** Largest number of tokens in one engine call; a larger step takes several. */
  readonly batchTokens: number;
  /** Absent = device memory (host memory on cpu). */
  readonly keyValueCache?: KeyValueCachePolicy;
  /** Layers of the stage, its last, that the device holds; the first stay in host memory. Absent = all. */
  readonly deviceLayers?: number;
  /** How hidden states leave it. Absent = f32. */
  readonly activations?: ActivationType;
}

export interface StageInput {
  readonly slices: readonly SequenceSlice[];
  /** Roles `whole` and `head`: one id per token, in slice order. */
  readonly tokens: Int32Array | null;
  /** Roles `middle` and `tail`: `[tokens, hiddenSize]` f32, in slice order. */
  readonly hidden: Float32Array | null;
}

export interface StageOutput {
  /** Roles `head` and `middle`: `[tokens, hiddenSize]` f32, valid until the next step. */
  readonly hidden: Float32Array | null;
  /** Roles `whole` and `tail`: one per slice with `sample`. */
  readonly sampled: readonly SampledToken[];
  /** Calls into the engine's decode, for the tests of slot packing. */
  readonly engineCalls: number;
  /** What it took before the step came, in microseconds. Absent = nothing. */
  readonly aheadMicros?: number;
}

/** A loaded stage. Every call blocks its thread: it lives in a runner, never in the agent. Throws RingError. */
export interface StageEngine {
  readonly hiddenSize: number;
  readonly layers: number;
  /** 0 for a stage without vocabulary. */
  readonly vocabularySize: number;
  /** The KV cache can drop its last tokens and be copied between slots, to the bit. */
  readonly canRollBack: boolean;
  /** Applies in order, before the step that travels with them. */
  apply(operations: readonly SequenceOperation[]): void;
  step(input: StageInput): StageOutput;
  /**
   * Begins with a step of a token for each sequence, which probably comes next, as far as it can be taken back. Whatever comes
   * next, results are as if this had not been called.
   */
  ahead(input: StageInput): void;
  /** Logits `[vocabularySize]` of the slice with `sample` in the last step, for tests and tools. */
  logits(sliceIndex: number): Float32Array;
  /** Forgets every sequence. */
  reset(): void;
  close(): void;
}

/** Text to tokens and back through a header-only GGUF. */
export interface Vocabulary {
  readonly size: number;
  readonly bos: number | null;
  readonly eos: number | null;
  readonly endOfGeneration: ReadonlySet<number>;
  readonly addsBos: boolean;
  tokenize(text: string, options: { readonly addSpecial: boolean; readonly parseSpecial: boolean }): Int32Array;
  /** The bytes of a token; special tokens give nothing unless `special`. */
  piece(token: number, special?: boolean): Uint8Array;
  /** Throws `bad_request` when the engine cannot read the grammar. */
  checkGrammar(text: string): void;
  close(): void;
}

export interface EngineInventory {
  readonly version: string;
  readonly libraryDirectory: string;
  readonly devices: readonly Device[];
}

export interface MeasureOptions {
  readonly backend: Backend;
  /** Holds the layer's file for the length of the measurement. */
  readonly directory: string;
  readonly threads: number;
}

/** Weights in another precision (core/precision.ts). */
export interface ConvertOptions {
  /** A GGUF, or the first of several shards. */
  readonly sourceFile: string;
  readonly targetFile: string;
  /** A name that core/precision.ts parses. */
  readonly precision: string;
}

/** Of one device, on a layer of common size. */
export interface MeasuredSpeed {
  /** Arithmetic of a prefill. */
  readonly gflops: number;
  /** Weight bytes that a decode step of one sequence reads per second. */
  readonly memoryBandwidthBytesPerSecond: number;
}

/** One end of an edge of the ring, or the pipe to a runner: whole frames, in order, bounded. */
export interface FrameLink {
  /** Resolves when the frame may be followed by another (back-pressure). Rejects with RingError when closed. */
  send(frame: Uint8Array): Promise<void>;
  readonly frames: AsyncIterable<Uint8Array>;
  close(reason?: Error): void;
}

/** A peer that was seen but cannot be used, for `status`. */
export interface RefusedPeer {
  readonly nodeId: NodeId;
  readonly address: string;
  readonly code: 'version_mismatch' | 'wrong_cluster' | 'cloned_identity' | 'misbehaved';
  /** Says both versions, or what else is wrong and what to do. */
  readonly message: string;
}

export interface PeerEvents {
  /** The hello was exchanged: the peer is of this cluster and speaks our protocol. */
  connected(nodeId: NodeId, address: string): void;
  disconnected(nodeId: NodeId, reason: string): void;
  message(from: NodeId, message: ControlMessage): void;
  /** A peer broke the protocol, or lied; `count` is of its offences so far. */
  offence?(nodeId: NodeId, reason: string, count: number): void;
  /** The previous stage's node opened the edge that ends at our stage `rank` of `planId`. */
  ringLink(from: NodeId, edge: RingEdge, link: FrameLink): void;
}

/** The edge of a ring that enters stage `rank` (rank 0: from the tail back to the head). */
export interface RingEdge {
  readonly planId: string;
  readonly rank: number;
}

/** What a peer may ask of our weights. Names and digests only; never a path. */
export interface WeightsProvider {
  /** Header bytes of a model that this node holds (concatenated files' headers for a sharded one), or null. */
  header(modelDigest: string): Promise<WeightsHeader | null>;
  /** Null when this node does not hold the tensor. */
  tensor(modelDigest: string, tensorName: string): Promise<TensorContent | null>;
}

export interface WeightsHeader {
  readonly name: string;
  readonly sizeBytes: number;
  /** Header bytes per file of the model, in shard order. */
  readonly files: readonly Uint8Array[];
}

export interface TensorContent {
  readonly sizeBytes: number;
  /** SHA-256, hex. */
  readonly digest: string;
  read(offset: number): AsyncIterable<Uint8Array>;
  /** What was read is something else: whoever sent it answers for that, and is asked last from now on. Absent = nobody to blame. */
  reject?(): void;
}

/** The network as the agent sees it; net/network.ts over libp2p, or a simulated one. */
export interface Network {
  readonly nodeId: NodeId;
  /** Addresses that others can dial, without the peer id suffix. */
  addresses(): readonly string[];
  /** Connected peers whose hello was accepted. */
  peers(): readonly NodeId[];
  refused(): readonly RefusedPeer[];
  /** Somebody else says that a node is there: it is dialled as if it had announced itself. */
  introduce(nodeId: NodeId, addresses: readonly string[]): void;
  /** Never blocks. False when the peer is not connected or its queue is full (the peer is then dropped). */
  send(to: NodeId, message: ControlMessage): boolean;
  /** Dials the edge that enters `edge.rank`; rejects with RingError within a deadline. */
  openRingLink(to: NodeId, edge: RingEdge): Promise<FrameLink>;
  fetchHeader(from: NodeId, modelDigest: string, signal: AbortSignal): Promise<WeightsHeader>;
  /** A remote tensor; verified by whoever stores it. */
  fetchTensor(from: NodeId, modelDigest: string, tensorName: string, signal: AbortSignal): Promise<TensorContent>;
  /** A peer sent what no agent sends: counted, and its connection ends. Absent = not counted here. */
  accuse?(nodeId: NodeId, reason: string): void;
  /** Ways to connected peers, as far as they were measured. */
  links(): readonly LinkFigures[];
  /** Weight bytes received since start, for status and tests. */
  weightBytesReceived(): number;
  stop(): Promise<void>;
}

/** What a runner says on its own. */
export interface RunnerEvents {
  /** An activation frame's body, as wire/activation-codec.ts reads it. */
  activation(body: Uint8Array): void;
  /** Memory that the stage holds now, above an idle runner, in bytes. */
  resident(bytes: number): void;
  /** A step failed; the runner lives on. */
  stepFailed(step: number, error: RingError): void;
  /** Once, whatever the reason. Null when it was asked to end. */
  ended(error: RingError | null): void;
}

export interface LoadedStage {
  readonly hiddenSize: number;
  readonly layers: number;
  /** 0 for a stage without vocabulary. */
  readonly vocabularySize: number;
  /** As `StageEngine.canRollBack`. */
  readonly canRollBack: boolean;
  /** Above an idle runner, after warm-up. */
  readonly residentBytes: number;
}

/** Every token's bytes, and the special ones, as loaded once per model. */
export interface VocabularyTable {
  /** Index = token id. Control tokens are empty. */
  readonly pieces: readonly Uint8Array[];
  readonly endOfGeneration: ReadonlySet<number>;
  /** What control tokens look like where they are wanted as text. */
  readonly controlTexts: ReadonlyMap<number, string>;
  readonly bos: number | null;
  readonly eos: number | null;
  readonly addsBos: boolean;
}

/** A child process that runs the engine. Every call has a deadline and rejects with RingError. */
export interface Runner {
  readonly pid: number | null;
  loadStage(options: StageOptions, stageBytes: number): Promise<LoadedStage>;
  loadVocabulary(headerFile: string): Promise<VocabularyTable>;
  tokenize(text: string, options: { readonly addSpecial: boolean; readonly parseSpecial: boolean }): Promise<readonly number[]>;
  /** Of the loaded vocabulary. Rejects with `bad_request` when the engine cannot read the grammar. */
  checkGrammar(text: string): Promise<void>;
  probeDevices(backend: Backend): Promise<EngineInventory>;
  /** Writes a GGUF again in another precision; resolves with its bytes. */
  convert(options: ConvertOptions, sourceBytes: number): Promise<number>;
  /** Takes a second or two of computing. */
  measure(options: MeasureOptions): Promise<MeasuredSpeed>;
  reset(): Promise<void>;
  /** Sends an activation frame's body. False when the pipe is full: wait for `drained`. */
  step(body: Uint8Array): boolean;
  drained(): Promise<void>;
  /** Politely, then by force; resolves when the child is reaped. */
  end(): Promise<void>;
}

export interface RunnerLauncher {
  /** `what` names the runner in messages, e.g. `the runner of layers 0-7 of kjv-q8_0`. */
  launch(what: string, events: RunnerEvents): Runner;
}

/** Where a stage's missing tensors come from. */
export interface RemoteWeights {
  header(modelDigest: string, signal: AbortSignal): Promise<WeightsHeader>;
  tensor(modelDigest: string, tensorName: string, signal: AbortSignal): Promise<TensorContent>;
}

export interface StageFilesRequest {
  readonly model: HeldModel;
  readonly range: LayerRange;
  readonly head: boolean;
  readonly tail: boolean;
  readonly signal: AbortSignal;
  /** 0..1 */
  onProgress(fraction: number): void;
  /** Weight bytes that came from the internet; peers' bytes are the network's to count. */
  onInternetBytes?(bytes: number): void;
}

/** Which part of which model. */
export type StagePart = Pick<StageFilesRequest, 'model' | 'range' | 'head' | 'tail'>;

export interface StageFiles {
  readonly stageFile: string;
  readonly embedding: StageOptions['embedding'];
  /** Size of the stage file: how long a load may take. */
  readonly bytes: number;
}

export interface ChatPrompt {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  /** Further variables of the template, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** As OpenAI describes functions. */
  readonly tools?: readonly object[];
}

/** What a model's header says. */
export interface ModelDetails {
  readonly architecture: string;
  readonly layers: number;
  readonly hiddenSize: number;
  readonly vocabularySize: number;
  /** In tokens. Absent = not known. */
  readonly trainedContext?: number;
  readonly parameters: number;
  /** The type that most of the weights are stored in, such as `q8_0`. */
  readonly weights: string;
  /** Jinja; null = the model brings none. */
  readonly chatTemplate: string | null;
  /** How the model was made to be embedded with; null = it does not say. `rank`: it compares texts and embeds none. */
  readonly pooling: Pooling | 'rank' | null;
  /** False: every token sees those after it too. */
  readonly causal: boolean;
  /** The header's short facts, by their GGUF names. */
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** What this node keeps of a model, for people. */
export interface KeptModel {
  readonly name: string;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly layers: number;
  /** The whole model's file or first shard on this disk; null = not here. */
  readonly path: string | null;
  /** False: the file lies elsewhere and is used in place; a removal leaves it. */
  readonly ours: boolean;
  /** Where it is on the internet; null = not known. */
  readonly internet: string | null;
  readonly inUse: boolean;
  /** Of a whole model whose fetching was broken off, or goes on now. */
  readonly partialBytes: number;
  /** What a removal gives back. */
  readonly freesBytes: number;
  readonly shards: readonly (Omit<HeldShard, 'modelDigest'> & {
    readonly bytes: number;
    readonly complete: boolean;
    /** Milliseconds since 1970. */
    readonly lastUsed: number;
    readonly inUse: boolean;
  })[];
}

export interface ModelTransfer {
  readonly model: string;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

/** Upkeep of this node's models. Throws RingError. */
export interface ModelUpkeep {
  list(): Promise<readonly KeptModel[]>;
  /** Whole models that are being fetched now. */
  transfers(): readonly ModelTransfer[];
  /** The whole model onto this node's disk. */
  pull(reference: string, signal: AbortSignal): Promise<{ readonly model: string; readonly path: string; readonly bytes: number }>;
  /** `leftInPlace`: a file that is not ours. */
  remove(reference: string): Promise<{ readonly model: string; readonly freedBytes: number; readonly leftInPlace: string | null }>;
  /** Removes what nothing uses, broken-off downloads and then the longest unused stages, until at most `keepBytes` are left. */
  prune(keepBytes: number): Promise<{ readonly removed: number; readonly brokenOff: number; readonly freedBytes: number }>;
}

/** What the upkeep of a store knows of the other nodes. */
export interface ClusterOfStore {
  /** Whole models come from who has them, before the internet is asked. */
  readonly remote: RemoteWeights;
  /** Tells the others that something came or went. */
  changed(): Promise<void>;
}

/** Models and shards on this node's disk, and what is known of other nodes' models. */
export interface ModelLibrary extends WeightsProvider {
  /** Upkeep that leaves what `inUse` names alone; the library itself keeps to it from then on. Absent = none. */
  upkeep?(inUse: () => readonly HeldShard[], cluster?: ClusterOfStore): ModelUpkeep;
  models(): readonly HeldModel[];
  shards(): readonly HeldShard[];
  /** What new stage files may take, with what unused ones would give back. Absent = nobody has looked. */
  roomBytes?(): Promise<number>;
  /** By name, digest prefix, path or internet reference (whose header is then read). Null when this node does not hold it. */
  resolve(reference: string, signal?: AbortSignal): Promise<HeldModel | null>;
  /** From the local file, the cached header, or `remote`. */
  shape(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<ModelShape>;
  /** As `shape`, for clients that ask about a model. */
  details(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<ModelDetails>;
  /** A header-only GGUF for the vocabulary. */
  vocabularyFile(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<string>;
  /** Text of a chat through the model's template. Throws `bad_request` with the template's own message. */
  renderChat(model: HeldModel, remote: RemoteWeights, chat: ChatPrompt, signal: AbortSignal): Promise<string>;
  /** Makes the stage's files, or finds them; fetches only what is missing. Resumable. */
  stageFiles(request: StageFilesRequest, remote: RemoteWeights): Promise<StageFiles>;
  /** Where the stage's file in another precision belongs, and its size; null = it is not there, or older than its source. */
  convertedFile(stage: StagePart, sourceFile: string, precision: string): Promise<{ readonly file: string; readonly bytes: number | null }>;
}

/** This machine, as the capabilities record describes it. */
export interface Machine {
  /** Everything but models and shards. Fresh memory figures; devices from the start-up probe. */
  capabilities(ownResidentBytes: number): Promise<Omit<Capabilities, 'models' | 'shards' | 'apiAddress'>>;
  /** Looks for devices anew: one that was there may be gone. */
  lookAgain(): Promise<void>;
  /** True while other programs compute: a figure measured now would be theirs too. */
  isLoaded(): boolean;
  /** Measures devices that were never measured, at the lowest priority. True when there are new figures. */
  measure(signal: AbortSignal): Promise<boolean>;
}
