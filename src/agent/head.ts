/**
 * The head's part of a plan: takes requests from origins, lets the scheduler cut them into steps, and sends those into
 * the ring through its own stage. One per active plan whose first stage is on this node.
 */
import { HeadScheduler } from '../core/batching.js';
import type { BatchingCounters, HeadStep } from '../core/head-types.js';
import type { ControlMessage, GenerateMessage } from '../core/messages.js';
import type { DraftAnswer, DraftState, DraftWish } from '../core/model-drafts.js';
import { RecentValues } from '../core/recent-values.js';
import { StageLoad } from '../core/stage-load.js';
import { stepTokens } from '../core/step-size.js';
import { StepTraces } from '../core/step-traces.js';
import type { RequestTrace } from '../core/step-traces.js';
import type { NodeId, Plan, TokenPace } from '../core/types.js';
import type { Clock, Log } from '../ports.js';
import { encodeActivation } from '../wire/activation-codec.js';
import type { ActivationHeader } from '../wire/activation-codec.js';

/** Longest list of tokens that a request may bring, whatever the context. */
const MAX_LOGIT_BIAS = 4_096;
/** A token may wait so long for the stage's processor. */
const HOLD_MS = 30;
/** A slow link's rehearsal ends here. */
export const REHEARSAL_MS = 3_000;
/** Weight of the newest sample in running averages. */
const HOP_SMOOTHING = 0.05;
/** Steps whose median a hop's overhead is. */
const HOPS_KEPT = 255;

export interface HeadPorts {
  readonly clock: Clock;
  readonly log: Log;
  send(to: NodeId, message: ControlMessage): void;
  enter(body: Uint8Array): void;
  /** The first request came, or the last one is done. */
  requestsChanged(): void;
}

/** The plan's draft, as agent/draft-model.ts has it. */
export interface HeadDraft {
  state(): DraftState;
  /** Calls `answer` once, not at once. */
  ask(wish: DraftWish, answer: (answer: DraftAnswer) => void): void;
}

/** Measured on decode steps while one step was in flight. */
export interface HopFigures {
  /** Time of a step around the ring that no runner computed, per edge, in microseconds: the median of the latest steps. */
  readonly overheadMicros: number;
  /** Running average. */
  readonly computeMicros: number;
  readonly samples: number;
}

export interface HeadFigures extends BatchingCounters {
  readonly hops: HopFigures;
  /** Share of the last seconds that each stage's runner computed, 0..1, in rank order. */
  readonly busyShares: readonly number[];
}

export class Head {
  private readonly scheduler: HeadScheduler;
  private readonly load: StageLoad;
  private readonly stepTraces = new StepTraces();
  private readonly sentAt = new Map<number, { readonly atMs: number; readonly alone: boolean }>();
  /** When the step came around that the next is sent after, if its stage went on at once: what comes next began then. */
  private wentOnAtMs: number | null = null;
  private readonly overheads = new RecentValues(HOPS_KEPT);
  private meanOverheadMicros = 0;
  private computeMicros = 0;
  private samples = 0;
  private stageMicros: readonly number[] = [];
  private taken = 0;
  private hadRequests = false;
  /** Words to origins that wait until this node's stage is done with a step, in order. */
  private held: (() => void)[] = [];
  private cancelHold: (() => void) | null = null;
  /** Steps that the rehearsal still has; null before it began. */
  private rehearsal: { left: number; readonly untilMs: number } | null = null;
  private closed = false;

  constructor(
    readonly plan: Plan,
    private readonly model: { readonly vocabularySize: number; readonly canRollBack: boolean },
    private readonly ports: HeadPorts,
    private readonly draft: HeadDraft | null = null,
  ) {
    this.scheduler = new HeadScheduler({
      slots: plan.slots,
      contextTokens: plan.contextTokens,
      batchTokens: stepTokens(plan.stages.length),
      stages: plan.stages.length,
      canRollBack: model.canRollBack,
    });
    this.load = new StageLoad(plan.stages.length, ports.clock.now());
  }

  generate(from: NodeId, message: GenerateMessage): void {
    const problem = this.problemOf(message);
    const result = problem !== null
      ? { kind: 'refused' as const, code: 'bad_request' as const, message: problem }
      : this.scheduler.admit({
        requestId: message.requestId,
        origin: from,
        promptTokens: message.promptTokens,
        emittedTokens: message.emittedTokens,
        sampling: message.sampling,
        maxTokens: message.maxTokens,
        ...(message.client === undefined ? {} : { client: message.client }),
        ...(this.delivers(from, message) ? { headDelivers: true } : {}),
      });
    if (result.kind === 'refused') {
      this.ports.send(from, { kind: 'refused', requestId: message.requestId, planId: this.plan.planId, code: result.code, message: result.message });
      return;
    }
    this.taken += 1;
    if (this.rehearsal !== null) this.rehearsal.left = 0;
    this.noteRequests();
    this.pump();
  }

  cancel(from: NodeId, requestId: string): void {
    if (this.scheduler.cancel(requestId, from)) this.pump();
    this.noteRequests();
  }

  /**
   * Once, after the ring became active: sends steps that compute nothing around it, one by one, until somebody asks for something.
   * JavaScript is slow the first hundreds of times; this way they are over when the first answer begins.
   */
  rehearse(steps: number): void {
    if (this.rehearsal !== null) return;
    this.rehearsal = { left: this.taken > 0 ? 0 : steps, untilMs: this.ports.clock.now() + REHEARSAL_MS };
    this.pump();
  }

  /** The draft came, went, or is done with what nobody waited for. */
  draftChanged(): void {
    this.scheduler.draftIs(this.draft?.state() ?? 'none');
    this.pump();
  }

  originLost(nodeId: NodeId): void {
    for (const request of this.scheduler.unfinished()) if (request.origin === nodeId) this.cancel(nodeId, request.requestId);
  }

  /** A step came around. */
  stepReturned(header: ActivationHeader): void {
    const nowMs = this.ports.clock.now();
    const elapsedMs = this.measure(header, nowMs);
    this.load.stepReturned(header.stageMicros, nowMs);
    this.stepTraces.returned(header.step, header.stageMicros, nowMs);
    const { finished, drawn } = this.scheduler.complete(header.step, header.sampled, header.stageMicros, elapsedMs);
    // The ring waits for the next step; people can wait that long for a word.
    this.wentOnAtMs = header.goesOn === true ? nowMs : null;
    this.pump();
    this.wentOnAtMs = null;
    const { planId } = this.plan;
    const tell = (): void => {
      for (const { origin, reusedTokens, ...token } of drawn) {
        this.ports.send(origin, { kind: 'token', planId, ...token, ...(token.index > 0 || reusedTokens === 0 ? {} : { reusedTokens }) });
      }
      for (const { origin, ...end } of finished) this.ports.send(origin, { kind: 'finished', planId, ...end });
    };
    if (finished.length === 0 && drawn.length > 0 && drawn.every(({ index }) => index > 0) && this.stageWillRest()) {
      this.held.push(tell);
      this.cancelHold ??= this.ports.clock.after(HOLD_MS, () => this.tellHeld());
    } else {
      this.tellHeld();
      tell();
    }
    this.noteRequests();
  }

  /** This node's stage has passed a step on. */
  stagePassedOn(): void {
    if (this.held.length === 0) return;
    this.cancelHold?.();
    // First what the next stage waits for leaves this node.
    this.cancelHold = this.ports.clock.after(0, () => this.tellHeld());
  }

  /** How many run or wait now, and how many came so far. */
  requests(): { readonly open: number; readonly taken: number } {
    const { running, queued } = this.scheduler.counters();
    return { open: running + queued, taken: this.taken };
  }

  counters(): BatchingCounters {
    return this.scheduler.counters();
  }

  /** Share of the last seconds that each stage's runner computed, in rank order. */
  busyShares(): readonly number[] {
    return this.load.busyShares(this.ports.clock.now());
  }

  /** Null before an answer was alone. */
  pace(): TokenPace | null {
    if (this.samples === 0) return null;
    const tokenMicros = Math.round(this.computeMicros + this.meanOverheadMicros * this.plan.stages.length);
    return { tokenMicros, stageMicros: this.stageMicros.map(Math.round) };
  }

  hops(): HopFigures {
    return { overheadMicros: Math.round(this.overheads.median() ?? 0), computeMicros: Math.round(this.computeMicros), samples: this.samples };
  }

  /** Of the latest requests, the latest first. */
  traces(): readonly RequestTrace[] {
    return this.stepTraces.latest();
  }

  /** The plan is over: every origin hears it and may submit again under the next plan. */
  close(reason: string): void {
    if (this.closed) return;
    this.closed = true;
    this.tellHeld();
    for (const request of this.scheduler.unfinished()) {
      this.ports.send(request.origin, { kind: 'refused', requestId: request.requestId, planId: this.plan.planId, code: 'wrong_plan', message: reason });
    }
  }

  /**
   * The only step in the ring has just entered this node's stage, and the others come after it. What an answer costs an
   * agent would slow the stage down now, and nobody then: they often share a processor.
   */
  private stageWillRest(): boolean {
    return this.plan.stages.length > 1 && this.scheduler.inFlight === 1;
  }

  private tellHeld(): void {
    this.cancelHold?.();
    this.cancelHold = null;
    for (const tell of this.held.splice(0)) tell();
  }

  private noteRequests(): void {
    const has = this.requests().open > 0;
    if (has === this.hadRequests) return;
    this.hadRequests = has;
    this.ports.requestsChanged();
  }

  /** What comes back to the head is the bare token. */
  private delivers(origin: NodeId, { sampling }: GenerateMessage): boolean {
    return origin === this.plan.stages[0]?.nodeId && sampling.probabilities === undefined && sampling.pooling === undefined;
  }

  private problemOf(message: GenerateMessage): string | null {
    const outside = (token: number): boolean => token < 0 || token >= this.model.vocabularySize;
    if (message.promptTokens.some(outside) || message.emittedTokens.some(outside)) return `a token id is outside the vocabulary of ${this.model.vocabularySize}`;
    if (message.sampling.logitBias.length > MAX_LOGIT_BIAS) return `logit_bias has more than ${MAX_LOGIT_BIAS} entries`;
    if (message.sampling.logitBias.some(([token]) => outside(token))) return `logit_bias names a token outside the vocabulary of ${this.model.vocabularySize}`;
    if (message.maxTokens < 1) return 'max_tokens must be at least 1';
    return null;
  }

  private pump(): void {
    if (this.closed) return;
    for (let step = this.scheduler.next(); step !== null; step = this.scheduler.next()) this.enter(step);
    const rehearsed = this.rehearsedStep();
    if (rehearsed !== null) this.enter(rehearsed);
    this.askDraft();
  }

  private enter(step: HeadStep): void {
    const decode = step.slices.length > 0 && step.slices.every((slice) => slice.tokens === 1);
    this.stepTraces.sent(step, this.ports.clock.now());
    const atMs = this.wentOnAtMs ?? this.ports.clock.now();
    this.sentAt.set(step.step, { atMs, alone: decode && this.sentAt.size === 0 });
    this.ports.enter(encodeActivation({
      planId: this.plan.planId,
      step: step.step,
      operations: step.operations,
      slices: step.slices,
      tokens: step.tokens,
      hidden: null,
      hiddenSize: 0,
      sampled: [],
      computeMicros: 0,
      stageMicros: [],
      ...(step.goesOn ? { goesOn: true } : {}),
    }));
  }

  private rehearsedStep(): HeadStep | null {
    const { rehearsal } = this;
    if (rehearsal === null || rehearsal.left === 0 || this.ports.clock.now() >= rehearsal.untilMs) return null;
    const step = this.scheduler.emptyStep();
    if (step !== null) rehearsal.left -= 1;
    return step;
  }

  private askDraft(): void {
    const { draft } = this;
    const wish = draft === null ? null : this.scheduler.takeDraftWish();
    if (draft === null || wish === null) return;
    draft.ask(wish, (answer) => {
      this.scheduler.draftAnswered(answer);
      this.draftChanged();
    });
  }

  /** How long the step was under way. */
  private measure(header: ActivationHeader, nowMs: number): number {
    const sent = this.sentAt.get(header.step);
    this.sentAt.delete(header.step);
    if (sent === undefined || !sent.alone) return nowMs - (sent?.atMs ?? nowMs);
    const overhead = Math.max(0, (nowMs - sent.atMs) * 1000 - header.computeMicros) / this.plan.stages.length;
    const weight = this.samples === 0 ? 1 : HOP_SMOOTHING;
    this.overheads.add(overhead);
    this.meanOverheadMicros += (overhead - this.meanOverheadMicros) * weight;
    this.computeMicros += (header.computeMicros - this.computeMicros) * weight;
    this.stageMicros = header.stageMicros.map((micros, rank) => {
      const before = this.stageMicros[rank] ?? micros;
      return before + (micros - before) * weight;
    });
    this.samples += 1;
    return nowMs - sent.atMs;
  }
}
