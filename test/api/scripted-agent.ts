/**
 * An agent that says what a test tells it to, for the tests of the HTTP API. No engine, no network.
 */
import type {
  AgentService, ClusterEventKind, ClusterStatus, ClusterUpdate, CompletionEvent, CompletionTask, EmbeddingAnswer, EmbeddingTask, InstanceView, ModelView, PlanRequest, Prompt, TracesView, TraceView,
} from '../../src/agent/service.js';
import type { ApiOptions } from '../../src/api/api-options.js';
import { RingError } from '../../src/core/errors.js';
import type { Plan } from '../../src/core/types.js';
import type { Log, ModelDetails } from '../../src/ports.js';

export const MODEL: ModelView = {
  name: 'kjv-q8_0',
  digest: 'a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90',
  sizeBytes: 5_000_000,
  architecture: 'llama',
  layers: 8,
  heldBy: ['node-a'],
  loaded: true,
  trainedContext: 1024,
  parameters: 4_720_000,
  weights: 'q8_0',
};

export const INSTANCE: InstanceView = {
  instanceId: 'inst-1',
  model: MODEL.name,
  modelDigest: MODEL.digest,
  state: 'active',
  reason: '',
  planId: '1.node-a.1',
  contextTokens: 1024,
  slots: 4,
  stages: [],
  notes: [],
  life: { pinned: false, keepAliveMs: null, returns: true },
  activeSequences: 0,
  queuedSequences: 0,
  stepsInFlight: 0,
  hops: null,
};

export const PLAN: Plan = {
  planId: '1.node-a.1',
  instanceId: 'inst-1',
  model: MODEL,
  stages: [{ rank: 0, nodeId: 'node-a', range: { start: 0, end: 8 }, backend: 'cpu', predictedBytes: 6_000_000 }],
  contextTokens: 1024,
  slots: 4,
  keyType: 'q8_0',
  valueType: 'f16',
  explanation: [],
};

export function finishedEvent(promptTokens: number, completionTokens: number): CompletionEvent {
  return {
    kind: 'finished',
    reason: 'stop',
    promptTokens,
    completionTokens,
    reusedTokens: 3,
    timings: { firstTokenMs: 20, totalMs: 120, decodeTokensPerSecond: 30 },
  };
}

/** An answer of these texts, each one token. */
export async function* answerOf(texts: readonly string[]): AsyncGenerator<CompletionEvent> {
  yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
  for (const [index, text] of texts.entries()) yield { kind: 'text', text, tokens: [100 + index] };
  yield finishedEvent(5, texts.length);
}

export type Script = (task: CompletionTask, signal: AbortSignal) => AsyncIterable<CompletionEvent>;

export class ScriptedAgent implements AgentService {
  readonly tasks: CompletionTask[] = [];
  readonly planRequests: PlanRequest[] = [];
  readonly unloaded: string[] = [];
  readonly embeddingTasks: EmbeddingTask[] = [];
  isReady = true;
  script: Script = () => answerOf(['In the', ' beginning']);
  /** Thrown by plan and load when set. */
  planError: RingError | null = null;
  /** Traces of the next calls; the last one stays. Empty = none is remembered. */
  readonly remembered: (readonly TraceView[])[] = [];
  /** Requests that traces were asked of. */
  readonly traced: string[] = [];
  /** Signal of the last completion. */
  signal: AbortSignal | null = null;

  status(): ClusterStatus {
    return {
      cluster: 'home', secured: true, nodeId: 'node-a', coordinator: 'node-a', term: { counter: 1, node: 'node-a' },
      nodes: [], instances: [INSTANCE],
    };
  }

  models(): readonly ModelView[] {
    return [MODEL];
  }

  async plan(request: PlanRequest): Promise<Plan> {
    this.planRequests.push(request);
    if (this.planError !== null) throw this.planError;
    return PLAN;
  }

  async load(request: PlanRequest, _signal: AbortSignal): Promise<InstanceView> {
    this.planRequests.push(request);
    if (this.planError !== null) throw this.planError;
    return INSTANCE;
  }

  async unload(instanceId: string): Promise<void> {
    this.unloaded.push(instanceId);
  }

  complete(task: CompletionTask, signal: AbortSignal): AsyncIterable<CompletionEvent> {
    this.tasks.push(task);
    this.signal = signal;
    return this.script(task, signal);
  }

  async *watch(signal: AbortSignal): AsyncGenerator<ClusterUpdate> {
    yield { kind: 'event', what: 'membership', text: 'pc joined', serial: 1, agoMs: 20 };
    yield { kind: 'status', status: this.status(), models: this.models(), requests: 0 };
    await aborted(signal).catch(() => undefined);
  }

  async countTokens(model: string, prompt: Prompt): Promise<number> {
    if (model !== MODEL.name) throw new RingError('unknown_model', 'no such model');
    return prompt.kind === 'chat' ? prompt.messages.length * 10 : 1;
  }

  async embed(task: EmbeddingTask): Promise<EmbeddingAnswer> {
    this.embeddingTasks.push(task);
    if (this.planError !== null) throw this.planError;
    return { model: MODEL.name, vectors: task.inputs.map((_, index) => Float32Array.of(0.6, 0, index % 2 === 0 ? 0.8 : -0.8)), promptTokens: task.inputs.length * 3 };
  }

  /** Of the model. */
  chatTemplate = '{% if tools %}{% endif %}<think>';

  async details(model: string): Promise<ModelDetails> {
    if (model !== MODEL.name) throw new RingError('unknown_model', `no node of this cluster holds a model "${model}"`);
    return {
      architecture: 'llama', layers: 8, hiddenSize: 3, vocabularySize: 100, trainedContext: 1024, parameters: 4_720_000, weights: 'q8_0',
      chatTemplate: this.chatTemplate, pooling: 'mean', causal: true, facts: { 'general.architecture': 'llama', 'llama.block_count': 8 },
    };
  }

  async traces(request: string): Promise<TracesView> {
    this.traced.push(request);
    const [traces = []] = this.remembered.length > 1 ? this.remembered.splice(0, 1) : this.remembered;
    return { traces, heads: [{ nodeId: 'node-a', hostname: 'mac', answered: true }] };
  }

  eventCounts(): Readonly<Record<ClusterEventKind, number>> {
    return { membership: 2, coordinator: 1, desired: 3, healed: 1, offence: 0 };
  }

  ready(): boolean {
    return this.isReady;
  }
}

/** Resolves at the abort, as an agent's work does. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const refuse = (): void => reject(new RingError('cancelled', 'the request was cancelled'));
    if (signal.aborted) refuse();
    else signal.addEventListener('abort', refuse, { once: true });
  });
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly facts: object | undefined;
}

/** Keeps what is logged, so that a test can say what must not be in it. */
export class KeptLog implements Log {
  constructor(readonly lines: LogLine[] = []) {}
  debug(message: string, facts?: object): void { this.lines.push({ level: 'debug', message, facts }); }
  info(message: string, facts?: object): void { this.lines.push({ level: 'info', message, facts }); }
  warn(message: string, facts?: object): void { this.lines.push({ level: 'warn', message, facts }); }
  error(message: string, facts?: object): void { this.lines.push({ level: 'error', message, facts }); }
  child(): Log { return this; }
}

export function apiOptions(changes: Partial<ApiOptions> = {}): ApiOptions {
  return {
    agentVersion: '0.0.0-test',
    hosts: { names: ['127.0.0.1'], anyAddress: false },
    apiKeys: [],
    log: new KeptLog(),
    startedAt: 1_700_000_000,
    now: () => 1_700_000_001,
    randomSeed: () => 4242,
    newId: () => 'id',
    shutdown: new AbortController().signal,
    heartbeatMs: 10_000,
    stallMs: 10_000,
    ...changes,
  };
}
