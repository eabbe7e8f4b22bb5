/**
 * The draft of one plan on the head's node: a small model in a runner of its own that guesses for the large one.
 *
 * It is fetched and loaded beside a ring that serves already. Whatever happens to it is the end of guessing under this plan
 * and of nothing else: the ring is never told to wait for longer than a wish says. It must not know what guesses are for.
 */
import { DRAFT_CACHE_TYPE } from '../core/draft.js';
import { DraftRun } from '../core/draft-run.js';
import type { DraftStep } from '../core/draft-run.js';
import { DraftSlots } from '../core/draft-slots.js';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { DraftAnswer, DraftState, DraftWish } from '../core/model-drafts.js';
import { stepTokens } from '../core/step-size.js';
import type { SampledToken } from '../core/step-types.js';
import type { DraftPlan, DraftStatus, Plan, StagePlan } from '../core/types.js';
import type { ModelLibrary, Runner, RunnerEvents } from '../ports.js';
import { decodeActivationHeader, encodeActivation } from '../wire/activation-codec.js';
import type { LocalStagePorts } from './local-stage.js';

/** It is whole on its node. */
const STEP_TOKENS = stepTokens(1);

export interface DraftSettings {
  readonly threads: number;
  /** Token ids of the model that it guesses for are below this. */
  readonly vocabularySize: number;
  /** Whether that model's stages can forget wrong guesses. */
  readonly canRollBack: boolean;
}

export interface DraftEvents {
  /** `state` may be another now, without a wish having been answered. */
  stateChanged(): void;
  statusChanged(): void;
}

export interface DraftPorts extends Pick<LocalStagePorts, 'remote' | 'runners' | 'clock' | 'log'> {
  readonly library: Pick<ModelLibrary, 'stageFiles'>;
}

interface Waiting {
  resolve(drawn: SampledToken | null): void;
  reject(error: RingError): void;
}

export class DraftModel {
  private current: DraftStatus = { state: 'fetching', reason: '', residentBytes: 0 };
  private readonly slots: DraftSlots;
  private readonly abort = new AbortController();
  private runner: Runner | null = null;
  private waiting: Waiting | null = null;
  private steps = 0;
  private busy = false;
  /** What the runner pool knows it by: the whole of another model, where the head's stage is. */
  private readonly plan: Plan;
  private readonly stage: StagePlan;
  private readonly runnerEvents: RunnerEvents = {
    activation: (body) => this.waiting?.resolve(decodeActivationHeader(body).sampled[0] ?? null),
    resident: (residentBytes) => this.become({ ...this.current, residentBytes }),
    stepFailed: (_step, error) => this.fail(error),
    ended: (error) => this.fail(error ?? new RingError('runner_died', 'its runner ended')),
  };

  constructor(plan: Plan, head: StagePlan, private readonly draft: DraftPlan, private readonly settings: DraftSettings, private readonly ports: DraftPorts, private readonly events: DraftEvents) {
    this.plan = { ...plan, model: draft.model };
    this.stage = { ...head, range: { start: 0, end: draft.model.layers } };
    this.slots = new DraftSlots(plan.slots);
  }

  status(): DraftStatus {
    return this.current;
  }

  state(): DraftState {
    if (this.runner === null) return 'none';
    return this.busy ? 'busy' : 'idle';
  }

  /** Fetches and loads. Never throws: a failure becomes the status. */
  async start(): Promise<void> {
    try {
      await this.load();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Gives the runner back. */
  stop(): void {
    if (this.abort.signal.aborted) return;
    this.abort.abort(new RingError('cancelled', 'the plan is over'));
    this.giveBack(new RingError('cancelled', 'the plan is over'));
  }

  /** Answers once, at the latest when the wish's time is over. One wish at a time. */
  ask(wish: DraftWish, answer: (answer: DraftAnswer) => void): void {
    void this.carryOut(wish, answer);
  }

  private async carryOut(wish: DraftWish, answer: (answer: DraftAnswer) => void): Promise<void> {
    const { clock } = this.ports;
    const startedMs = clock.now();
    const run = new DraftRun(this.slots, wish, STEP_TOKENS);
    const isTold = { yes: false };
    const tell = (): void => {
      isTold.yes = true;
      answer({ sequenceId: wish.sequenceId, read: run.read, guesses: [...run.guesses], elapsedMs: clock.now() - startedMs });
    };
    const cancel = wish.limit === 0 ? () => undefined : clock.after(wish.withinMs, tell);
    this.busy = true;
    try {
      let drawn: SampledToken | null = null;
      for (let step = run.next(null); step !== null && !isTold.yes; step = run.next(drawn)) drawn = await this.compute(step);
    } catch (error) {
      this.fail(error);
    }
    this.busy = false;
    cancel();
    if (isTold.yes) this.events.stateChanged();
    else tell();
  }

  private async compute({ operations, slices, tokens }: DraftStep): Promise<SampledToken | null> {
    const { runner } = this;
    if (runner === null) throw new RingError('not_ready', 'the draft is not loaded');
    this.steps += 1;
    const body = encodeActivation({
      planId: this.plan.planId, step: this.steps, operations, slices, tokens, hidden: null, hiddenSize: 0, sampled: [], computeMicros: 0, stageMicros: [],
    });
    try {
      // The runner has a deadline of its own for every step: it answers, or it ends.
      return await new Promise<SampledToken | null>((resolve, reject) => {
        this.waiting = { resolve, reject };
        runner.step(body);
      });
    } finally {
      this.waiting = null;
    }
  }

  private async load(): Promise<void> {
    const { library, remote, runners } = this.ports;
    const { model } = this.draft;
    const { signal } = this.abort;
    if (!this.settings.canRollBack) throw new RingError('bad_request', 'the memory of the model that it is for cannot take wrong guesses back');
    const files = await library.stageFiles({ model, range: this.stage.range, head: true, tail: true, signal, onProgress: () => undefined }, remote);
    if (signal.aborted) return;
    this.become({ ...this.current, state: 'loading' });
    const { runner, loaded } = await runners.acquire(this.plan, this.stage, {
      role: 'whole',
      stageFile: files.stageFile,
      embedding: null,
      ...(this.stage.backend === undefined ? {} : { backend: this.stage.backend }),
      threads: this.settings.threads,
      contextTokens: this.plan.contextTokens,
      slots: this.plan.slots,
      keyType: DRAFT_CACHE_TYPE,
      valueType: DRAFT_CACHE_TYPE,
      batchTokens: STEP_TOKENS,
    }, files.bytes, this.runnerEvents);
    if (signal.aborted) return runners.release(this.plan, this.stage, this.runnerEvents);
    if (!loaded.canRollBack) throw new RingError('bad_request', 'its memory cannot take wrong guesses back');
    // What it guesses is looked up in the other one's embedding.
    if (loaded.vocabularySize > this.settings.vocabularySize) {
      throw new RingError('bad_request', `it has ${loaded.vocabularySize} tokens, and the model that it is for only ${this.settings.vocabularySize}`);
    }
    this.runner = runner;
    this.become({ state: 'ready', reason: '', residentBytes: loaded.residentBytes });
    this.ports.log.info('a draft is ready', { plan: this.plan.planId, draft: model.name, runner: runner.pid });
    this.events.stateChanged();
  }

  private fail(error: unknown): void {
    if (this.abort.signal.aborted || this.current.state === 'failed') return;
    this.become({ state: 'failed', reason: errorMessageOf(error), residentBytes: 0 });
    this.ports.log.warn('a draft failed: the ring goes on without it until its next plan', { plan: this.plan.planId, draft: this.draft.model.name, error: this.current.reason });
    this.giveBack(new RingError('runner_died', this.current.reason));
    this.events.stateChanged();
  }

  private giveBack(reason: RingError): void {
    this.runner = null;
    this.waiting?.reject(reason);
    this.ports.runners.release(this.plan, this.stage, this.runnerEvents);
  }

  private become(status: DraftStatus): void {
    this.current = status;
    this.events.statusChanged();
  }
}
