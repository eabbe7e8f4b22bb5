/**
 * The models that people ask this node for: which one a name means, what a plan for it would be, loading and unloading it
 * by asking the coordinator, and waiting until it is served.
 *
 * It must not know messages, links or stages: it puts questions to the cluster core and hears of its changes.
 */
import type { ClusterInput, ClusterNode } from '../core/cluster.js';
import type { DraftChoice } from '../core/draft.js';
import { draftProblem } from '../core/draft.js';
import { errorCodeOf, errorMessageOf, RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';
import { DEFAULT_KEEP_ALIVE_MS, lifeAfter, lifeOf, LOADED_LIFE, NAMED_LIFE, PINNED_LIFE, requestLife } from '../core/instance-life.js';
import type { ClusterMessage } from '../core/messages.js';
import { nearestName } from '../core/nearest-name.js';
import type { ActivationType, GgmlCacheType, HeldModel, Instance, InstanceLife, InstanceRequest, ModelShape, NodeRecord, Plan } from '../core/types.js';
import { underEither } from '../either-signal.js';
import type { Clock, Log, ModelLibrary, RemoteWeights } from '../ports.js';
import { readErrorCode } from '../wire/fields.js';
import { heldModels, resolveModel } from './known-models.js';
import { orAborted } from './or-aborted.js';
import type { InstanceView, ModelView, PlanRequest } from './service.js';
import { instanceView } from './status-view.js';
import type { ViewSources } from './status-view.js';
import type { Vocabularies } from './vocabularies.js';

/** The coordinator answers a load or unload at once or not at all. */
const CALL_DEADLINE_MS = 15_000;
/** A request may come before the coordinator is known. */
const COORDINATOR_DEADLINE_MS = 15_000;
/** A coordinator that took a call says so to everyone within this, if it lives. */
const UNSEEN_MS = 3_000;
/** How often a model given at start is asked for again while no node holds it. */
const SERVE_RETRY_MS = 2_000;

/** No path, no file and no address. */
const CATALOGUE_NAME = /^(?!.*\.gguf$)[a-z0-9][a-z0-9._-]{0,63}(:[a-z0-9._-]{1,64})?$/i;

/** What time may mend before the coordinator has the request; from then on it tries again by itself. */
const SERVE_AGAIN: ReadonlySet<ErrorCode> = new Set(['unknown_model', 'not_ready', 'timeout', 'peer_unreachable', 'peer_lost', 'source_failed']);

export interface ModelSettings {
  readonly contextTokens: number | null;
  readonly slots: number | null;
  readonly activations?: ActivationType;
  readonly cacheType?: GgmlCacheType;
  readonly draft?: string;
  /** The model that a request without a name means when none is loaded. */
  readonly defaultModel: string;
  /** How long a model stays that a request loaded; null = for ever, absent = the usual time. */
  readonly keepAliveMs?: number | null;
}

export interface ModelPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly library: ModelLibrary;
  readonly remote: RemoteWeights;
  readonly vocabularies: Pick<Vocabularies, 'table'>;
  readonly cluster: ClusterNode;
  /** Aborts when the agent ends. */
  readonly life: AbortSignal;
  step(input: ClusterInput): void;
  /** Tells the cluster that this node's models changed. */
  publish(): Promise<void>;
  viewSources(): ViewSources;
  /** Records of this node and of everyone who answers. */
  aliveRecords(): readonly NodeRecord[];
  randomId(): string;
}

interface Call {
  resolve(instanceId: string): void;
  reject(error: RingError): void;
}

export class Models {
  private readonly calls = new Map<string, Call>();
  private readonly watchers = new Set<() => void>();
  private readonly shapesUnderWay = new Set<string>();

  constructor(private readonly settings: ModelSettings, private readonly ports: ModelPorts) {}

  /** A model that no node holds yet, or that fits nowhere yet, is no reason not to start: another node may bring what is missing. */
  async serve(model: string): Promise<void> {
    let said = '';
    while (!this.ports.life.aborted) {
      try {
        await this.load({ model, policy: 'auto', nodes: null, contextTokens: null, slots: null, life: NAMED_LIFE }, this.ports.life);
        return;
      } catch (error) {
        if (this.ports.life.aborted) return;
        const again = SERVE_AGAIN.has(errorCodeOf(error));
        const text = errorMessageOf(error);
        if (text !== said) this.ports.log.error(again ? 'a model given at start is not served yet' : 'a model given at start is not served', { model, error: text });
        said = text;
        if (!again) return;
      }
      await this.pause(SERVE_RETRY_MS);
    }
  }

  list(): readonly ModelView[] {
    return heldModels(this.ports.aliveRecords(), this.ports.cluster.desired());
  }

  async plan(request: PlanRequest): Promise<Plan> {
    const model = await this.resolve(request.model);
    const shape = await this.ports.library.shape(model, this.ports.remote, this.ports.life);
    const draft = await this.draftFor(request, shape);
    const result = this.ports.cluster.preview(shape, this.instanceRequest({ ...request, ...named(draft), model: model.name }), draft?.choice);
    if (result.kind === 'impossible') throw new RingError(result.code, result.message);
    return result.options === undefined ? result.plan : { ...result.plan, options: result.options };
  }

  async load(request: PlanRequest, signal: AbortSignal): Promise<InstanceView> {
    await this.coordinatorKnown(signal);
    const model = await this.resolve(request.model);
    // Who loads a model asks it something next: its vocabulary is fetched meanwhile. A failure shows when it is needed.
    this.ports.vocabularies.table(model, signal).catch((error: unknown) => this.ports.log.debug('no vocabulary yet', { error: errorMessageOf(error) }));
    // What runs has the draft that it has: only who asks for one is told.
    const draft = request.draft === undefined && this.served(model) !== undefined ? null : await this.draftFor(request, model);
    this.checkSettings(request, model, draft);
    const ask = (): Promise<string> => this.call((callId) => ({ kind: 'load', callId, request: this.instanceRequest({ ...request, ...named(draft), model: model.digest }, this.lifeFor(request, model)) }), signal);
    let instanceId = await ask();
    let askedMs = this.ports.clock.now();
    let seen = false;
    for (;;) {
      const instance = this.instance(instanceId);
      seen ||= instance !== null;
      if (instance?.state === 'active') return instanceView(instance, this.ports.viewSources());
      if (instance?.state === 'failed') throw failureOf(instance, model.name);
      if (instance === null && (seen || this.ports.clock.now() - askedMs >= UNSEEN_MS)) {
        // It was unloaded, two halves of the cluster met and kept the other one's, or who took the call is gone.
        instanceId = await ask();
        askedMs = this.ports.clock.now();
        seen = false;
        // What was said of it meanwhile is looked at before the next change is waited for.
        if (this.instance(instanceId) !== null) continue;
      }
      await this.change(signal, instance === null ? UNSEEN_MS : null);
    }
  }

  /** What runs has the context and slots that it has: whoever asks for others is not to believe that they are theirs. */
  private checkSettings({ contextTokens, slots, activations, cacheType, draft: wantedDraft, nodeSettings }: PlanRequest, model: HeldModel, draft: KnownDraft | null): void {
    const served = this.served(model);
    if (served === undefined || served.plan === null || nodeSettings !== undefined) return;
    const { plan, request } = served;
    const differs = (wanted: number | null, has: number, asked: number | null): boolean => wanted !== null && wanted !== has && wanted !== asked;
    const otherFormat = (activations !== undefined && activations !== (plan.activations ?? 'f32') && activations !== request.activations)
      || (cacheType !== undefined && cacheType !== plan.keyType && cacheType !== request.cacheType)
      || (wantedDraft !== undefined && draft !== null && draft.reference !== plan.draft?.model.digest && draft.reference !== request.draft);
    if (!otherFormat && !differs(contextTokens, plan.contextTokens, request.contextTokens) && !differs(slots, plan.slots, request.slots)) return;
    throw new RingError(
      'conflict',
      `${model.name} is served already, with a context of ${plan.contextTokens} tokens, ${plan.slots} slots, KV ${plan.keyType}/${plan.valueType} and ${plan.activations ?? 'f32'} activations${plan.draft === undefined ? '' : `, drafts by ${plan.draft.model.name}`}: unload it first ("agent models unload ${model.name}"), then load it as you want it`,
      { contextTokens: plan.contextTokens, slots: plan.slots, instance: served.instanceId },
    );
  }

  async unload(instanceId: string): Promise<void> {
    await this.call((callId) => ({ kind: 'unload', callId, instanceId }), this.ports.life);
  }

  /** The coordinator's answer to one of our calls. */
  answered(callId: string, answer: { readonly instanceId: string; readonly error: { readonly code: ErrorCode; readonly message: string } | null }): void {
    const call = this.calls.get(callId);
    if (answer.error === null) call?.resolve(answer.instanceId);
    else call?.reject(new RingError(answer.error.code, answer.error.message));
  }

  /** Something in the cluster changed. */
  changed(): void {
    for (const watcher of [...this.watchers]) watcher();
  }

  stop(): void {
    for (const call of this.calls.values()) call.reject(new RingError('cancelled', 'the agent stops'));
  }

  async findShape(modelRef: string): Promise<void> {
    if (this.shapesUnderWay.has(modelRef)) return;
    this.shapesUnderWay.add(modelRef);
    try {
      const model = await this.resolve(modelRef);
      const shape = await this.ports.library.shape(model, this.ports.remote, this.ports.life);
      this.ports.step({ kind: 'shape', modelRef, shape, error: null });
    } catch (error) {
      if (this.ports.life.aborted) return;
      const known = error instanceof RingError ? error : new RingError('internal', errorMessageOf(error));
      this.ports.step({ kind: 'shape', modelRef, shape: null, error: { code: known.code, message: known.message } });
    } finally {
      this.shapesUnderWay.delete(modelRef);
    }
  }

  /** What a load or plan names: a name, a digest, or a path on this node's disk. Requests name only what is `known`. */
  private async resolve(reference: string): Promise<HeldModel> {
    const known = resolveModel(reference, this.ports.aliveRecords(), this.ports.cluster.desired(), this.settings.defaultModel);
    if (known !== null) return known;
    const local = await this.ports.library.resolve(reference, this.ports.life);
    if (local === null) return this.known(reference);
    await this.ports.publish();
    return local;
  }

  /** What a request names: a model that a node holds or knows of, or a name of the catalogue. Never a path or an address. */
  async resolveRequested(reference: string): Promise<HeldModel> {
    if (!CATALOGUE_NAME.test(reference) || resolveModel(reference, this.ports.aliveRecords(), this.ports.cluster.desired(), this.settings.defaultModel) !== null) return this.known(reference);
    return this.resolve(reference);
  }

  known(reference: string): HeldModel {
    const known = resolveModel(reference, this.ports.aliveRecords(), this.ports.cluster.desired(), this.settings.defaultModel);
    if (known !== null) return known;
    const names = this.list().map((model) => model.name);
    if (reference === '') throw new RingError('unknown_model', noDefaultText(names));
    const meant = nearestName(reference, names);
    throw new RingError('unknown_model', `no node of this cluster holds a model "${reference}"${meant === null ? '' : `; did you mean "${meant}"?`}${knownText(names)}. "agent models search" lists what can be fetched`);
  }

  /** `keepAliveMs`: what the request says of it; absent = nothing. */
  async ensureInstance(model: HeldModel, signal: AbortSignal, keepAliveMs?: number | null): Promise<Instance> {
    const life = keepAliveMs === undefined ? undefined : requestLife(keepAliveMs);
    const active = this.served(model);
    const stays = active !== undefined && (life === undefined || lifeAfter(lifeOf(active), life).keepAliveMs === lifeOf(active).keepAliveMs);
    if (stays) return active;
    const view = await this.load({ model: model.digest, policy: 'auto', nodes: null, contextTokens: null, slots: null, life: life ?? 'usual' }, signal);
    const instance = this.instance(view.instanceId);
    if (instance === null) throw new RingError('not_ready', `${model.name} was unloaded before the request could start`);
    return instance;
  }

  private served(model: HeldModel): Instance | undefined {
    return this.ports.cluster.desired().instances.find(({ state, plan }) => state === 'active' && plan?.model.digest === model.digest);
  }

  instance(instanceId: string): Instance | null {
    return this.ports.cluster.desired().instances.find((instance) => instance.instanceId === instanceId) ?? null;
  }

  private lifeFor({ life }: PlanRequest, model: HeldModel): InstanceLife {
    if (life === 'usual') return requestLife(this.settings.keepAliveMs === undefined ? DEFAULT_KEEP_ALIVE_MS : this.settings.keepAliveMs);
    if (life !== undefined) return life;
    const loaded = this.ports.cluster.desired().instances.find((instance) => instance.plan?.model.digest === model.digest);
    return loaded !== undefined && lifeOf(loaded).pinned ? PINNED_LIFE : LOADED_LIFE;
  }

  private instanceRequest(request: PlanRequest, life?: InstanceLife): InstanceRequest {
    return {
      model: request.model,
      policy: request.policy,
      nodes: request.nodes,
      contextTokens: request.contextTokens ?? this.settings.contextTokens,
      slots: request.slots ?? this.settings.slots,
      ...formatsOf(request, this.settings),
      ...(request.draft === undefined ? {} : { draft: request.draft }),
      ...(request.nodeSettings === undefined ? {} : { nodeSettings: request.nodeSettings }),
      ...(life === undefined ? {} : { life }),
    };
  }

  /** A draft that a request names must be able to guess for its model; what the agent was started with is used where it can. */
  private async draftFor(request: PlanRequest, model: HeldModel | ModelShape): Promise<KnownDraft | null> {
    const asked = request.draft !== undefined;
    const reference = request.draft ?? this.settings.draft ?? '';
    if (reference === '') return null;
    try {
      const draft = await this.resolve(reference);
      const shapeOf = (held: HeldModel): Promise<ModelShape> => this.ports.library.shape(held, this.ports.remote, this.ports.life);
      const [shape, large] = await Promise.all([shapeOf(draft), 'digest' in model ? shapeOf(model) : model]);
      const problem = draftProblem(large, shape);
      if (asked && problem !== null) throw new RingError('bad_request', `${problem}. Leave the draft out, or name another`);
      return { reference: draft.digest, choice: { kind: 'shape', shape } };
    } catch (error) {
      if (asked) throw error;
      return { reference, choice: { kind: 'absent', reason: errorMessageOf(error) } };
    }
  }

  private async coordinatorKnown(signal: AbortSignal): Promise<void> {
    let late = false;
    const cancel = this.ports.clock.after(COORDINATOR_DEADLINE_MS, () => {
      late = true;
      this.changed();
    });
    try {
      while (this.ports.cluster.coordinator() === null) {
        if (late) throw new RingError('not_ready', `no coordinator was found within ${COORDINATOR_DEADLINE_MS / 1000} s: try again, or look at "agent status"`);
        await this.change(signal);
      }
    } finally {
      cancel();
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
      this.ports.step(make(callId));
      return await orAborted(answer, signal);
    } finally {
      cancelTimer();
      this.calls.delete(callId);
    }
  }

  /** Resolves at the next change of the cluster, or after `withinMs`. */
  private async change(signal: AbortSignal, withinMs: number | null = null): Promise<void> {
    let watcher: () => void = () => undefined;
    let cancel: () => void = () => undefined;
    const changed = new Promise<void>((resolve) => {
      watcher = resolve;
      this.watchers.add(watcher);
      if (withinMs !== null) cancel = this.ports.clock.after(withinMs, resolve);
    });
    try {
      await underEither([signal, this.ports.life], (either) => orAborted(changed, either));
    } finally {
      cancel();
      this.watchers.delete(watcher);
    }
  }

  private async pause(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => void this.ports.clock.after(delayMs, resolve));
  }
}

/** What a request's draft is called in the cluster, and what is known of it. */
interface KnownDraft {
  readonly reference: string;
  readonly choice: DraftChoice;
}

function named(draft: KnownDraft | null): Pick<PlanRequest, 'draft'> {
  return draft === null ? {} : { draft: draft.reference };
}

/** What a request says of formats, else what the agent was started with. */
function formatsOf(...sources: readonly { readonly activations?: ActivationType; readonly cacheType?: GgmlCacheType }[]): Pick<InstanceRequest, 'activations' | 'cacheType'> {
  const activations = sources.find((source) => source.activations !== undefined)?.activations;
  const cacheType = sources.find((source) => source.cacheType !== undefined)?.cacheType;
  return { ...(activations === undefined ? {} : { activations }), ...(cacheType === undefined ? {} : { cacheType }) };
}

/** Names of a long list that an error tells. */
const NAMES_TOLD_MAX = 10;

function knownText(names: readonly string[]): string {
  if (names.length === 0) return '; none is known: start an agent with --model FILE, or fetch one with "agent models pull"';
  const more = names.length - NAMES_TOLD_MAX;
  return `; known: ${names.slice(0, NAMES_TOLD_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function noDefaultText(names: readonly string[]): string {
  return `the request names no model, and there is not exactly one that is served: name one${knownText(names)}`;
}

/** Why a failed instance is not served, with the code of what went wrong. */
export function failureOf({ code, reason }: Instance, name: string): RingError {
  return new RingError(code === undefined ? 'no_placement' : readErrorCode(code), `${name} cannot be served: ${reason}`);
}
