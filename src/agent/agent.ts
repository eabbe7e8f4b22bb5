/**
 * The agent: one per machine. Drives the pure cluster core with what happens (messages, time, memory, requests) and
 * carries out what it answers: messages, stages, plans. Everything it touches comes in as a port.
 */
import { setMaxListeners } from 'node:events';
import { ClusterNode } from '../core/cluster.js';
import type { ClusterInput, ClusterOutput } from '../core/cluster.js';
import { modelKey } from '../core/desired-state.js';
import { RingError } from '../core/errors.js';
import type { ControlMessage } from '../core/messages.js';
import { placeModel } from '../core/placement.js';
import type { ActivationType, DesiredState, GgmlCacheType, NodeId, Plan } from '../core/types.js';
import { streamUnderEither, underEither } from '../either-signal.js';
import type { Clock, FrameLink, Log, Machine, ModelDetails, ModelLibrary, ModelUpkeep, Network, PeerEvents, RemoteWeights, RingEdge, RunnerLauncher, SleepGuard } from '../ports.js';
import { DeviceWatch } from './device-watch.js';
import { embed } from './embeddings.js';
import { createRemoteWeights } from './holders.js';
import { Introductions } from './introductions.js';
import { shardsInPlans } from './known-models.js';
import { Models } from './models.js';
import { OwnCapabilities } from './own-capabilities.js';
import { RequestRouter } from './request-router.js';
import { RingTraces } from './ring-traces.js';
import { RunnerPool } from './runner-pool.js';
import type { AgentService, ClusterEventKind, ClusterStatus, ClusterUpdate, CompletionEvent, CompletionTask, EmbeddingAnswer, EmbeddingTask, InstanceView, ModelView, PlanRequest, Prompt, TracesView } from './service.js';
import { StageWorker } from './stage-worker.js';
import { clusterStatus } from './status-view.js';
import type { ViewSources } from './status-view.js';
import { Updates } from './updates.js';
import { Vocabularies } from './vocabularies.js';

/** How often the core is told the time. */
const TICK_MS = 100;
/** How long `stop` waits for running answers. */
const DRAIN_DEADLINE_MS = 30_000;
/** Time for the last messages to leave. */
const LEAVE_MS = 100;

export interface AgentSettings {
  readonly clusterName: string;
  readonly secured: boolean;
  readonly incarnation: number;
  /** Drawn per process. */
  readonly nonce: string;
  readonly threads: number;
  readonly contextTokens: number | null;
  readonly slots: number | null;
  /** Between the stages of what this agent has loaded. Absent = f32. */
  readonly activations?: ActivationType;
  /** Of keys and values of what this agent has loaded. Absent = the planner's choice. */
  readonly cacheType?: GgmlCacheType;
  /** The model that is to guess for what this agent has loaded. Absent = none. */
  readonly draft?: string;
  /** Models to serve from the start. */
  readonly serve: readonly string[];
  /** The model that a request without a name means when none is loaded. */
  readonly defaultModel: string;
  /** The agent ends with the command that started it. */
  readonly temporary: boolean;
  /** How long an answer waits for a ring that is planned again; absent = the usual time. */
  readonly replanDeadlineMs?: number;
  /** How long a model stays that a request loaded; null = for ever, absent = the usual time. */
  readonly keepAliveMs?: number | null;
  /** Steps without work that a ring of this node's takes before its first request. Absent = none. */
  readonly rehearsalSteps?: number;
  /** What this node kept of what its cluster wanted before (`AgentPorts.keep`). Absent = nothing. */
  readonly remembered?: DesiredState;
}

export interface AgentPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly library: ModelLibrary;
  readonly launcher: RunnerLauncher;
  readonly machine: Machine;
  /** Absent = the machine may sleep as it likes. */
  readonly sleepGuard?: SleepGuard;
  randomId(): string;
  /** Takes what is to outlive a restart of all nodes, at each change. Never throws. Absent = nothing does. */
  keep?(desired: DesiredState): void;
}

export class Agent implements AgentService {
  /** Leaves alone what this node's plans use; a model that any plan uses is in use. */
  readonly upkeep: ModelUpkeep | undefined;
  private readonly cluster: ClusterNode;
  private readonly worker: StageWorker;
  private readonly router: RequestRouter;
  private readonly vocabularies: Vocabularies;
  private readonly runners: RunnerPool;
  private readonly devices: DeviceWatch;
  private readonly remote: RemoteWeights;
  private readonly held: Models;
  private readonly updates: Updates;
  private readonly ringTraces: RingTraces;
  private readonly capabilities: OwnCapabilities;
  private readonly introductions: Introductions;
  private readonly life = new AbortController();
  private cancelTick: () => void = () => undefined;
  private statusesQueued = false;
  private lookedAt: DesiredState | null = null;
  private draining = false;

  constructor(private readonly settings: AgentSettings, private readonly ports: AgentPorts, private readonly network: Network) {
    // Every request and every wait listens to it; Node warns of more than ten.
    setMaxListeners(0, this.life.signal);
    this.cluster = new ClusterNode({ nodeId: network.nodeId, incarnation: settings.incarnation, nonce: settings.nonce, place: placeModel, ...(settings.remembered === undefined ? {} : { remembered: settings.remembered }) });
    this.remote = createRemoteWeights(network, () => this.cluster.records());
    this.updates = new Updates(ports.clock);
    this.runners = new RunnerPool(ports.launcher, ports.clock, ports.log);
    this.introductions = new Introductions(network, this.cluster);
    this.capabilities = new OwnCapabilities(settings.temporary, {
      clock: ports.clock,
      log: ports.log,
      machine: ports.machine,
      library: ports.library,
      network,
      residentBytes: () => this.runners.residentBytes(),
      changed: (capabilities) => this.step({ kind: 'capabilities', capabilities, addresses: network.addresses() }),
    });
    this.upkeep = ports.library.upkeep?.(() => shardsInPlans(this.cluster.desired()), { remote: this.remote, changed: () => this.capabilities.publish() });
    this.devices = new DeviceWatch({
      clock: ports.clock,
      log: ports.log,
      machine: ports.machine,
      isBusy: () => this.router.size > 0 || this.worker.isComputing() || this.worker.statuses().some((status) => status.state === 'fetching' || status.state === 'loading'),
      publish: () => this.capabilities.publish(),
    });
    this.vocabularies = new Vocabularies(ports.library, this.remote, ports.launcher, ports.clock, ports.log);
    this.held = new Models(settings, {
      clock: ports.clock,
      log: ports.log,
      library: ports.library,
      remote: this.remote,
      vocabularies: this.vocabularies,
      cluster: this.cluster,
      life: this.life.signal,
      step: (input) => this.step(input),
      publish: () => this.capabilities.publish(),
      viewSources: () => this.viewSources(),
      aliveRecords: () => this.aliveRecords(),
      randomId: () => ports.randomId(),
    });
    this.worker = new StageWorker({ threads: settings.threads, rehearsalSteps: settings.rehearsalSteps ?? 0 }, {
      network,
      library: ports.library,
      remote: this.remote,
      runners: this.runners,
      clock: ports.clock,
      log: ports.log,
      send: (to, message) => void this.send(to, message),
      changed: () => this.queueStatuses(),
    });
    this.ringTraces = new RingTraces({
      nodeId: network.nodeId,
      clock: ports.clock,
      cluster: this.cluster,
      own: () => this.worker.traces(),
      send: (to, message) => network.send(to, message),
      randomId: () => ports.randomId(),
    });
    this.router = new RequestRouter({
      clock: ports.clock,
      log: ports.log,
      vocabularies: this.vocabularies,
      send: (to, message) => this.send(to, message),
      resolveModel: (reference) => this.held.resolveRequested(reference),
      ensureInstance: (model, signal, keepAliveMs) => this.held.ensureInstance(model, signal, keepAliveMs),
      instance: (instanceId) => this.held.instance(instanceId),
      wasUnloaded: (instanceId) => this.cluster.desired().removed?.includes(instanceId) ?? false,
      instanceOf: (modelDigest) => this.cluster.desired().instances.find((instance) => modelKey(instance) === modelDigest) ?? null,
      randomId: () => ports.randomId(),
      ...(settings.replanDeadlineMs === undefined ? {} : { replanDeadlineMs: settings.replanDeadlineMs }),
    });
  }

  /** What the network tells us; give it to `createNetwork`. */
  readonly peerEvents: PeerEvents = {
    connected: (nodeId, address) => {
      this.ports.log.info('a node joined', { nodeId, address });
      this.step({ kind: 'node_connected', nodeId });
    },
    disconnected: (nodeId, reason) => {
      this.ports.log.info('a node is no longer connected', { nodeId, reason });
      this.introductions.nodeLost(nodeId);
      this.step({ kind: 'node_disconnected', nodeId, reason });
      this.worker.originLost(nodeId);
      this.router.nodeLost(nodeId);
    },
    message: (from, message) => this.receive(from, message),
    offence: (nodeId, reason, count) => this.updates.push('offence', `${nodeId} broke the rules, ${count} times so far: ${reason}`),
    ringLink: (from: NodeId, edge: RingEdge, link: FrameLink) => this.worker.acceptLink(from, edge, link),
  };

  /** Publishes this node and starts to take part. */
  async start(apiAddress: string): Promise<void> {
    await this.capabilities.start(apiAddress);
    this.tick();
    this.devices.start();
    for (const model of this.settings.serve) void this.held.serve(model);
  }

  ready(): boolean {
    return !this.draining && this.cluster.coordinator() !== null;
  }

  status(): ClusterStatus {
    return clusterStatus({
      clusterName: this.settings.clusterName,
      secured: this.settings.secured,
      cluster: this.cluster,
      network: this.network,
      headFigures: (planId) => this.worker.headFigures(planId),
      localStatuses: this.worker.statuses(),
    });
  }

  /** What a cluster file says of this node's seed; null = no file is in force. */
  defaultSeed(): number | null {
    const named = this.cluster.desired().instances.flatMap(({ request }) => request.nodeSettings ?? []);
    return named.find(({ nodeId }) => nodeId === this.network.nodeId)?.settings.seed ?? null;
  }

  models(): readonly ModelView[] {
    return this.held.list();
  }

  plan(request: PlanRequest): Promise<Plan> {
    return this.held.plan(request);
  }

  load(request: PlanRequest, signal: AbortSignal): Promise<InstanceView> {
    return this.held.load(request, signal);
  }

  unload(instanceId: string): Promise<void> {
    return this.held.unload(instanceId);
  }

  async *complete(task: CompletionTask, signal: AbortSignal): AsyncGenerator<CompletionEvent> {
    if (this.draining) throw new RingError('not_ready', 'this agent is about to stop: ask another node');
    yield* streamUnderEither([signal, this.life.signal], (either) => this.router.complete(task, either));
  }

  countTokens(model: string, prompt: Prompt, signal: AbortSignal): Promise<number> {
    return underEither([signal, this.life.signal], (either) => this.router.countTokens(model, prompt, either));
  }

  embed(task: EmbeddingTask, signal: AbortSignal): Promise<EmbeddingAnswer> {
    return embed({
      resolveModel: (reference) => this.held.known(reference),
      details: (model, either) => this.ports.library.details(model, this.remote, either),
      complete: (completion, either) => this.complete(completion, either),
    }, task, signal);
  }

  details(model: string, signal: AbortSignal): Promise<ModelDetails> {
    return underEither([signal, this.life.signal], async (either) => this.ports.library.details(this.held.known(model), this.remote, either));
  }

  watch(signal: AbortSignal): AsyncIterable<ClusterUpdate> {
    return streamUnderEither([signal, this.life.signal], (either) => this.updates.watch(either, () => ({ status: this.status(), models: this.models(), requests: this.router.size })));
  }

  traces(request: string): Promise<TracesView> {
    return this.ringTraces.find(request);
  }

  eventCounts(): Readonly<Record<ClusterEventKind, number>> {
    return this.updates.counts();
  }

  /** Finishes running answers (unless `atOnce`), says goodbye, ends every runner. */
  async stop(atOnce: boolean): Promise<void> {
    this.draining = true;
    if (!atOnce) {
      const deadline = this.ports.clock.now() + DRAIN_DEADLINE_MS;
      while (this.router.size > 0 && this.ports.clock.now() < deadline) await this.pause(TICK_MS);
    }
    this.cancelTick();
    this.capabilities.stop();
    this.step({ kind: 'leave' });
    // Before the others close their edges: what is over on purpose is no failure.
    await this.worker.stop();
    await this.pause(LEAVE_MS);
    this.life.abort(new RingError('cancelled', 'the agent stops'));
    this.held.stop();
    await this.devices.stop();
    await Promise.all([this.runners.stop(), this.vocabularies.stop(), this.ports.sleepGuard?.release()]);
    await this.network.stop();
  }

  private tick(): void {
    this.step({ kind: 'tick' });
    this.cancelTick = this.ports.clock.after(TICK_MS, () => this.tick());
  }

  private receive(from: NodeId, message: ControlMessage): void {
    switch (message.kind) {
      case 'generate': return this.worker.generate(from, message);
      case 'cancel': return this.worker.cancel(from, message.requestId);
      case 'token':
      case 'finished':
      case 'refused': return this.router.receive(from, message);
      case 'trace_request': return this.ringTraces.answer(from, message);
      case 'trace_reply': return this.ringTraces.answered(from, message);
      case 'introduction':
        for (const { nodeId, addresses } of message.peers) this.network.introduce(nodeId, addresses);
        return;
      default:
        this.step({ kind: 'message', from, message });
        if (message.kind === 'record') this.introductions.introduce(from);
    }
  }

  private send(to: NodeId, message: ControlMessage): boolean {
    if (to !== this.network.nodeId) return this.network.send(to, message);
    // Never in the middle of whoever sends: a scheduler must not be entered again from its own output.
    queueMicrotask(() => this.receive(to, message));
    return true;
  }

  private step(input: ClusterInput): void {
    for (const output of this.cluster.step(input, this.ports.clock.now())) this.carryOut(output);
    this.keepDesired();
  }

  private keepDesired(): void {
    const desired = this.cluster.desired();
    // Nothing is new to a node that has no coordinator yet.
    if (desired === this.lookedAt || this.cluster.coordinator() === null) return;
    this.lookedAt = desired;
    this.ports.keep?.(this.cluster.toKeep());
  }

  private carryOut(output: ClusterOutput): void {
    switch (output.kind) {
      case 'send':
        this.network.send(output.to, output.message);
        return;
      case 'need_shape':
        void this.held.findShape(output.modelRef);
        return;
      case 'reply':
        this.held.answered(output.callId, output);
        return;
      case 'changed':
        this.ports.log[output.what === 'figures' ? 'debug' : 'info'](output.text, { what: output.what });
        this.updates.changed(output.what, output.text);
        this.updates.instancesAre(this.status().instances);
        this.worker.apply(this.cluster.desired());
        this.stayAwake();
        this.router.clusterChanged();
        this.held.changed();
        return;
    }
  }

  private async pause(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => void this.ports.clock.after(delayMs, resolve));
  }

  /** Many stage events in one turn become one report. */
  private queueStatuses(): void {
    if (this.statusesQueued) return;
    this.statusesQueued = true;
    queueMicrotask(() => {
      this.statusesQueued = false;
      const statuses = this.worker.statuses();
      this.devices.stagesChanged(statuses);
      this.stayAwake();
      this.step({ kind: 'local_stages', statuses });
    });
  }

  /** While a stage is here, sleep would be a lost node. */
  private stayAwake(): void {
    if (this.worker.statuses().length > 0) this.ports.sleepGuard?.hold();
    else void this.ports.sleepGuard?.release();
  }

  private aliveRecords() {
    return this.cluster.records().filter((record) => record.nodeId === this.network.nodeId || this.cluster.liveness(record.nodeId) === 'alive');
  }

  private viewSources(): ViewSources {
    return { cluster: this.cluster, headFigures: (planId: string) => this.worker.headFigures(planId), localStatuses: this.worker.statuses() };
  }
}
