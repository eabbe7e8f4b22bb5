/**
 * The agent: one per machine. Drives the pure cluster core with what happens (messages, time, memory, requests) and
 * carries out what it answers: messages, stages, plans. Everything it touches comes in as a port.
 */
import { ClusterNode } from '../core/cluster.js';
import type { ClusterInput, ClusterOutput } from '../core/cluster.js';
import { errorCodeOf, errorMessageOf, RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';
import type { ClusterMessage, ControlMessage } from '../core/messages.js';
import { placeModel } from '../core/placement.js';
import type { Capabilities, HeldModel, Instance, InstanceRequest, NodeId, Plan } from '../core/types.js';
import type { Clock, FrameLink, Log, Machine, ModelLibrary, ModelUpkeep, Network, PeerEvents, RemoteWeights, RingEdge, RunnerLauncher } from '../ports.js';
import { DeviceWatch } from './device-watch.js';
import { createRemoteWeights } from './holders.js';
import { heldModels, resolveModel, shardsInPlans } from './known-models.js';
import { steadyLinks } from './link-record.js';
import { RequestRouter } from './request-router.js';
import { RunnerPool } from './runner-pool.js';
import type { AgentService, ClusterEventKind, ClusterStatus, ClusterUpdate, CompletionEvent, CompletionTask, InstanceView, ModelView, PlanRequest, Prompt } from './service.js';
import { StageWorker } from './stage-worker.js';
import { clusterStatus, instanceView } from './status-view.js';
import { Updates } from './updates.js';
import { orAborted, Vocabularies } from './vocabularies.js';

/** How often the core is told the time. */
const TICK_MS = 100;
/** How often memory and disk are looked at. */
const CAPABILITIES_INTERVAL_MS = 5_000;
/** A change of free memory below this part of the whole is not worth telling everyone. */
const MEMORY_CHANGE_PART = 0.05;
/** The coordinator answers a load or unload at once or not at all. */
const CALL_DEADLINE_MS = 15_000;
/** A request may come before the coordinator is known. */
const COORDINATOR_DEADLINE_MS = 15_000;
/** How long `stop` waits for running answers. */
const DRAIN_DEADLINE_MS = 30_000;
/** How often a model given at start is asked for again while no node holds it. */
const SERVE_RETRY_MS = 2_000;
/** Nodes that one introduction names, and addresses of each. */
const MAX_INTRODUCED = 256;
const MAX_INTRODUCED_ADDRESSES = 24;
/** Time for the last messages to leave. */
const LEAVE_MS = 100;

/** What time may mend before the coordinator has the request; from then on it tries again by itself. */
const SERVE_AGAIN: ReadonlySet<ErrorCode> = new Set(['unknown_model', 'not_ready', 'timeout', 'peer_unreachable', 'peer_lost', 'source_failed']);

export interface AgentSettings {
  readonly clusterName: string;
  readonly secured: boolean;
  readonly incarnation: number;
  /** Drawn per process. */
  readonly nonce: string;
  readonly threads: number;
  readonly contextTokens: number | null;
  readonly slots: number | null;
  /** Models to serve from the start. */
  readonly serve: readonly string[];
  /** The model that a request without a name means when none is loaded. */
  readonly defaultModel: string;
  /** The agent ends with the command that started it. */
  readonly temporary: boolean;
}

export interface AgentPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly library: ModelLibrary;
  readonly launcher: RunnerLauncher;
  readonly machine: Machine;
  randomId(): string;
}

interface Call {
  resolve(instanceId: string): void;
  reject(error: RingError): void;
}

export class Agent implements AgentService {
  private readonly cluster: ClusterNode;
  private readonly worker: StageWorker;
  private readonly router: RequestRouter;
  private readonly vocabularies: Vocabularies;
  private readonly runners: RunnerPool;
  private readonly devices: DeviceWatch;
  private readonly remote: RemoteWeights;
  private readonly calls = new Map<string, Call>();
  private readonly watchers = new Set<() => void>();
  private readonly updates: Updates;
  private readonly shapesUnderWay = new Set<string>();
  private readonly introduced = new Set<NodeId>();
  private readonly life = new AbortController();
  private published: Capabilities | null = null;
  private apiAddress = '';
  private cancelTick: () => void = () => undefined;
  private cancelCapabilities: () => void = () => undefined;
  private statusesQueued = false;
  private draining = false;

  constructor(private readonly settings: AgentSettings, private readonly ports: AgentPorts, private readonly network: Network) {
    this.cluster = new ClusterNode({ nodeId: network.nodeId, incarnation: settings.incarnation, nonce: settings.nonce, place: placeModel });
    this.upkeep = ports.library.upkeep?.(() => shardsInPlans(this.cluster.desired()));
    this.remote = createRemoteWeights(network, () => this.cluster.records());
    this.updates = new Updates(ports.clock);
    this.runners = new RunnerPool(ports.launcher, ports.clock, ports.log);
    this.devices = new DeviceWatch({
      clock: ports.clock,
      log: ports.log,
      machine: ports.machine,
      isBusy: () => ports.machine.isLoaded() || this.router.size > 0 || this.worker.statuses().some((status) => status.state === 'fetching' || status.state === 'loading'),
      publish: () => this.publish(),
    });
    this.vocabularies = new Vocabularies(ports.library, this.remote, ports.launcher, ports.clock, ports.log);
    this.worker = new StageWorker({ threads: settings.threads }, {
      network,
      library: ports.library,
      remote: this.remote,
      runners: this.runners,
      clock: ports.clock,
      log: ports.log,
      send: (to, message) => void this.send(to, message),
      changed: () => this.queueStatuses(),
    });
    this.router = new RequestRouter({
      clock: ports.clock,
      log: ports.log,
      nodeId: network.nodeId,
      vocabularies: this.vocabularies,
      send: (to, message) => this.send(to, message),
      resolveModel: async (reference) => this.known(reference),
      ensureInstance: (model, signal) => this.ensureInstance(model, signal),
      instance: (instanceId) => this.instance(instanceId),
      instanceOf: (modelDigest) => this.cluster.desired().instances.find(({ plan }) => plan?.model.digest === modelDigest) ?? null,
      randomId: () => ports.randomId(),
    });
  }

  /** Leaves alone what this node's plans use; a model that any plan uses is in use. */
  readonly upkeep: ModelUpkeep | undefined;

  /** What the network tells us; give it to `createNetwork`. */
  readonly peerEvents: PeerEvents = {
    connected: (nodeId, address) => {
      this.ports.log.info('a node joined', { nodeId, address });
      this.step({ kind: 'peer_connected', nodeId });
    },
    disconnected: (nodeId, reason) => {
      this.ports.log.info('a node is no longer connected', { nodeId, reason });
      this.introduced.delete(nodeId);
      this.step({ kind: 'peer_disconnected', nodeId, reason });
      this.worker.originLost(nodeId);
      this.router.peerLost(nodeId);
    },
    message: (from, message) => this.receive(from, message),
    ringLink: (from: NodeId, edge: RingEdge, link: FrameLink) => this.worker.acceptLink(from, edge, link),
  };

  /** Publishes this node and starts to take part. */
  async start(apiAddress: string): Promise<void> {
    this.apiAddress = apiAddress;
    await this.publish();
    this.tick();
    this.scheduleCapabilities();
    this.devices.start();
    for (const model of this.settings.serve) void this.serve(model);
  }

  /** A model that no node holds yet, or that fits nowhere yet, is no reason not to start: another node may bring what is missing. */
  private async serve(model: string): Promise<void> {
    let said = '';
    while (!this.life.signal.aborted) {
      try {
        await this.load({ model, policy: 'auto', nodes: null, contextTokens: null, slots: null }, this.life.signal);
        return;
      } catch (error) {
        if (this.life.signal.aborted) return;
        const again = SERVE_AGAIN.has(errorCodeOf(error));
        const text = errorMessageOf(error);
        if (text !== said) this.ports.log.error(again ? 'a model given at start is not served yet' : 'a model given at start is not served', { model, error: text });
        said = text;
        if (!again) return;
      }
      await this.pause(SERVE_RETRY_MS);
    }
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
    return heldModels(this.aliveRecords(), this.cluster.desired());
  }

  async plan(request: PlanRequest): Promise<Plan> {
    const model = await this.resolve(request.model);
    const shape = await this.ports.library.shape(model, this.remote, this.life.signal);
    const result = this.cluster.preview(shape, this.instanceRequest({ ...request, model: model.name }));
    if (result.kind === 'impossible') throw new RingError(result.code, result.message);
    return result.plan;
  }

  async load(request: PlanRequest, signal: AbortSignal): Promise<InstanceView> {
    await this.coordinatorKnown(signal);
    const model = await this.resolve(request.model);
    // Who loads a model asks it something next: its vocabulary is fetched meanwhile. A failure shows when it is needed.
    this.vocabularies.table(model, this.life.signal).catch((error: unknown) => this.ports.log.debug('no vocabulary yet', { error: errorMessageOf(error) }));
    const ask = (): Promise<string> => this.call((callId) => ({ kind: 'load', callId, request: this.instanceRequest({ ...request, model: model.digest }) }), signal);
    let instanceId = await ask();
    let seen = false;
    for (;;) {
      const instance = this.instance(instanceId);
      if (instance === null && seen) {
        // It was unloaded, or two halves of the cluster met and kept the other one's.
        instanceId = await ask();
        seen = false;
      }
      seen ||= instance !== null;
      if (instance?.state === 'active') return instanceView(instance, this.viewSources());
      if (instance?.state === 'failed') throw new RingError('no_placement', `${model.name} cannot be served: ${instance.reason}`);
      await this.change(signal);
    }
  }

  async unload(instanceId: string): Promise<void> {
    await this.call((callId) => ({ kind: 'unload', callId, instanceId }), this.life.signal);
  }

  async *complete(task: CompletionTask, signal: AbortSignal): AsyncGenerator<CompletionEvent> {
    if (this.draining) throw new RingError('not_ready', 'this agent is about to stop: ask another node');
    yield* this.router.complete(task, AbortSignal.any([signal, this.life.signal]));
  }

  countTokens(model: string, prompt: Prompt, signal: AbortSignal): Promise<number> {
    return this.router.countTokens(model, prompt, AbortSignal.any([signal, this.life.signal]));
  }

  watch(signal: AbortSignal): AsyncIterable<ClusterUpdate> {
    return this.updates.watch(AbortSignal.any([signal, this.life.signal]), () => ({ status: this.status(), models: this.models(), requests: this.router.size }));
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
    this.cancelCapabilities();
    this.step({ kind: 'leave' });
    // Before the others close their edges: what is over on purpose is no failure.
    await this.worker.stop();
    await this.pause(LEAVE_MS);
    this.life.abort(new RingError('cancelled', 'the agent stops'));
    for (const call of this.calls.values()) call.reject(new RingError('cancelled', 'the agent stops'));
    await this.devices.stop();
    await Promise.all([this.runners.stop(), this.vocabularies.stop()]);
    await this.network.stop();
  }

  private tick(): void {
    this.step({ kind: 'tick' });
    this.cancelTick = this.ports.clock.after(TICK_MS, () => this.tick());
  }

  private scheduleCapabilities(): void {
    this.cancelCapabilities = this.ports.clock.after(CAPABILITIES_INTERVAL_MS, () => {
      this.publish()
        .catch((error: unknown) => this.ports.log.warn('the machine could not be looked at', { error: errorMessageOf(error) }))
        .finally(() => {
          if (!this.draining) this.scheduleCapabilities();
        });
    });
  }

  /** Tells the core what this machine has, if it changed enough to matter. */
  private async publish(): Promise<void> {
    const machine = await this.ports.machine.capabilities(this.runners.residentBytes());
    const links = steadyLinks(this.published?.links ?? [], this.network.links());
    const next: Capabilities = {
      ...machine, models: this.ports.library.models(), shards: this.ports.library.shards(), apiAddress: this.apiAddress, ...(links.length === 0 ? {} : { links }),
      ...(this.settings.temporary ? { temporary: true } : {}),
    };
    if (this.published !== null && !differs(this.published, next)) return;
    this.published = next;
    this.step({ kind: 'capabilities', capabilities: next, addresses: this.network.addresses() });
  }

  private receive(from: NodeId, message: ControlMessage): void {
    switch (message.kind) {
      case 'generate': return this.worker.generate(from, message);
      case 'cancel': return this.worker.cancel(message.requestId);
      case 'token':
      case 'finished':
      case 'refused': return this.router.receive(message);
      case 'introduction':
        for (const { nodeId, addresses } of message.peers) this.network.introduce(nodeId, addresses);
        return;
      default:
        this.step({ kind: 'message', from, message });
        if (message.kind === 'record') this.introduce(from);
    }
  }

  /** Whom two nodes know both they should know each other, also where no multicast reaches. Once per connection. */
  private introduce(newcomer: NodeId): void {
    const peers = this.network.peers();
    if (this.introduced.has(newcomer) || !peers.includes(newcomer)) return;
    this.introduced.add(newcomer);
    const known = this.cluster.records().map(({ nodeId, addresses }) => ({ nodeId, addresses: addresses.slice(0, MAX_INTRODUCED_ADDRESSES) }));
    const self = known.find(({ nodeId }) => nodeId === newcomer);
    const others = known.filter(({ nodeId }) => nodeId !== newcomer && nodeId !== this.network.nodeId && peers.includes(nodeId)).slice(0, MAX_INTRODUCED);
    if (others.length > 0) this.network.send(newcomer, { kind: 'introduction', peers: others });
    if (self !== undefined) for (const { nodeId } of others) this.network.send(nodeId, { kind: 'introduction', peers: [self] });
  }

  private send(to: NodeId, message: ControlMessage): boolean {
    if (to !== this.network.nodeId) return this.network.send(to, message);
    // Never in the middle of whoever sends: a scheduler must not be entered again from its own output.
    queueMicrotask(() => this.receive(to, message));
    return true;
  }

  private step(input: ClusterInput): void {
    for (const output of this.cluster.step(input, this.ports.clock.now())) this.carryOut(output);
  }

  private carryOut(output: ClusterOutput): void {
    switch (output.kind) {
      case 'send':
        this.network.send(output.to, output.message);
        return;
      case 'need_shape':
        void this.findShape(output.modelRef);
        return;
      case 'reply': {
        const call = this.calls.get(output.callId);
        if (output.error === null) call?.resolve(output.instanceId);
        else call?.reject(new RingError(output.error.code, output.error.message));
        return;
      }
      case 'changed':
        this.ports.log.info(output.text, { what: output.what });
        this.updates.push(output.what, output.text);
        this.updates.instancesAre(this.cluster.desired().instances);
        this.worker.apply(this.cluster.desired());
        this.router.clusterChanged();
        for (const watcher of [...this.watchers]) watcher();
        return;
    }
  }

  private async findShape(modelRef: string): Promise<void> {
    if (this.shapesUnderWay.has(modelRef)) return;
    this.shapesUnderWay.add(modelRef);
    try {
      const model = await this.resolve(modelRef);
      const shape = await this.ports.library.shape(model, this.remote, this.life.signal);
      this.step({ kind: 'shape', modelRef, shape, error: null });
    } catch (error) {
      if (this.life.signal.aborted) return;
      const known = error instanceof RingError ? error : new RingError('internal', errorMessageOf(error));
      this.step({ kind: 'shape', modelRef, shape: null, error: { code: known.code, message: known.message } });
    } finally {
      this.shapesUnderWay.delete(modelRef);
    }
  }

  /** What a load or plan names: a name, a digest, or a path on this node's disk. Requests name only what is `known`. */
  private async resolve(reference: string): Promise<HeldModel> {
    const known = resolveModel(reference, this.aliveRecords(), this.cluster.desired(), this.settings.defaultModel);
    if (known !== null) return known;
    const local = await this.ports.library.resolve(reference, this.life.signal);
    if (local === null) return this.known(reference);
    await this.publish();
    return local;
  }

  private known(reference: string): HeldModel {
    const known = resolveModel(reference, this.aliveRecords(), this.cluster.desired(), this.settings.defaultModel);
    if (known !== null) return known;
    const names = this.models().map((model) => model.name);
    throw new RingError('unknown_model', `no node of this cluster holds a model "${reference}"; known: ${names.length === 0 ? 'none' : names.join(', ')}`);
  }

  private async ensureInstance(model: HeldModel, signal: AbortSignal): Promise<Instance> {
    const find = (): Instance | undefined => this.cluster.desired().instances.find((instance) => instance.plan?.model.digest === model.digest && instance.state === 'active');
    const active = find();
    if (active !== undefined) return active;
    const view = await this.load({ model: model.digest, policy: 'auto', nodes: null, contextTokens: null, slots: null }, signal);
    const instance = this.instance(view.instanceId);
    if (instance === null) throw new RingError('not_ready', `${model.name} was unloaded before the request could start`);
    return instance;
  }

  private instance(instanceId: string): Instance | null {
    return this.cluster.desired().instances.find((instance) => instance.instanceId === instanceId) ?? null;
  }

  private instanceRequest(request: PlanRequest): InstanceRequest {
    return {
      model: request.model,
      policy: request.policy,
      nodes: request.nodes,
      contextTokens: request.contextTokens ?? this.settings.contextTokens,
      slots: request.slots ?? this.settings.slots,
      ...(request.nodeSettings === undefined ? {} : { nodeSettings: request.nodeSettings }),
    };
  }

  private async coordinatorKnown(signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.timeout(COORDINATOR_DEADLINE_MS);
    while (this.cluster.coordinator() === null) {
      if (deadline.aborted) throw new RingError('not_ready', `no coordinator was found within ${COORDINATOR_DEADLINE_MS / 1000} s: try again, or look at "agent status"`);
      await Promise.race([this.change(signal), this.pause(TICK_MS)]);
    }
  }

  /** Asks the coordinator (this node, or the one we follow). */
  private async call(make: (callId: string) => Extract<ClusterMessage, { kind: 'load' | 'unload' }>, signal: AbortSignal): Promise<string> {
    const callId = this.ports.randomId();
    let cancelTimer: () => void = () => undefined;
    const answer = new Promise<string>((resolve, reject) => {
      this.calls.set(callId, { resolve, reject });
      cancelTimer = this.ports.clock.after(CALL_DEADLINE_MS, () => reject(new RingError('timeout', `the coordinator did not answer within ${CALL_DEADLINE_MS / 1000} s`)));
    });
    answer.catch(() => undefined);
    try {
      this.step(make(callId));
      return await orAborted(answer, signal);
    } finally {
      cancelTimer();
      this.calls.delete(callId);
    }
  }

  /** Resolves at the next change of the cluster. */
  private async change(signal: AbortSignal): Promise<void> {
    let watcher: () => void = () => undefined;
    const changed = new Promise<void>((resolve) => {
      watcher = resolve;
      this.watchers.add(watcher);
    });
    try {
      await orAborted(changed, AbortSignal.any([signal, this.life.signal]));
    } finally {
      this.watchers.delete(watcher);
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
      this.step({ kind: 'local_stages', statuses });
    });
  }

  private aliveRecords() {
    return this.cluster.records().filter((record) => record.nodeId === this.network.nodeId || this.cluster.liveness(record.nodeId) === 'alive');
  }

  private viewSources() {
    return { cluster: this.cluster, headFigures: (planId: string) => this.worker.headFigures(planId), localStatuses: this.worker.statuses() };
  }
}

function differs(before: Capabilities, after: Capabilities): boolean {
  const threshold = before.ramTotalBytes * MEMORY_CHANGE_PART;
  if (Math.abs(before.ramAvailableBytes - after.ramAvailableBytes) > threshold) return true;
  if (Math.abs(before.diskFreeBytes - after.diskFreeBytes) > threshold) return true;
  const steady = (capabilities: Capabilities): string => JSON.stringify({ ...capabilities, ramAvailableBytes: 0, diskFreeBytes: 0 });
  return steady(before) !== steady(after);
}
