/**
 * The tokens of one answer as they come from the ring, each once and in order, over as many plans as it takes.
 *
 * It keeps the prompt and everything that was drawn. A plan may end under it, a head may refuse it, a word may be lost: it
 * then waits for the next active plan of the instance and submits again with what it has, under an id of its own for each
 * attempt, so that what an earlier one still sends goes nowhere. It must not know text.
 */
import { RingError } from '../core/errors.js';
import { lifeOf } from '../core/instance-life.js';
import type { ControlMessage, FinishReason, TokenMessage } from '../core/messages.js';
import type { SamplingSettings } from '../core/step-types.js';
import type { HeldModel, Instance, NodeId, Plan } from '../core/types.js';
import type { Clock, Log } from '../ports.js';
import { failureOf } from './models.js';
import { orAborted } from './or-aborted.js';

/** Longest silence before the first token: others may be served first, and a long prompt takes minutes on a slow ring. */
const FIRST_TOKEN_DEADLINE_MS = 3_600_000;
/** And between two tokens, while chunks of others' prompts take turns with them. */
const TOKEN_DEADLINE_MS = 300_000;
/** After the head said how many tokens there are: time for the tail's last ones. */
const LAST_TOKENS_DEADLINE_MS = 3_000;
/** Longest wait for a new plan after one ended under a request, unless the node's person says otherwise. */
const REPLAN_DEADLINE_MS = 120_000;
/** A head that has not heard yet that its plan is active answers `not_ready`: ask again after this. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 800;
/** Between two tries to have a model loaded again. */
const LOAD_RETRY_MS = 1_000;

export interface RingAnswerPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** False when the node cannot be reached now. */
  send(to: NodeId, message: ControlMessage): boolean;
  /** Resolves when the model is served. */
  load(model: HeldModel, signal: AbortSignal): Promise<Instance>;
  instance(instanceId: string): Instance | null;
  /** Somebody said so; absent = what is gone was unloaded. */
  wasUnloaded?(instanceId: string): boolean;
  /** An instance that serves the model, if there is one: after a split healed it may have another id. */
  instanceOf(modelDigest: string): Instance | null;
  /** Absent = `REPLAN_DEADLINE_MS`. */
  readonly replanDeadlineMs?: number;
}

export interface RingRequest {
  /** Of the answer; its attempts are `<id>.1`, `<id>.2`, … */
  readonly id: string;
  readonly instance: Instance;
  readonly promptTokens: readonly number[];
  readonly sampling: SamplingSettings;
  readonly maxTokens: number;
  readonly client?: string;
}

/** What heads and tails say of a request. */
export type RingWord = Extract<ControlMessage, { kind: 'token' | 'finished' | 'refused' }>;

type Arrival =
  | TokenMessage
  | { readonly kind: 'finished'; readonly reason: FinishReason; readonly tokens: number }
  | { readonly kind: 'refused'; readonly error: RingError };

export class RingAnswer {
  /** Every token so far. */
  readonly drawn: number[] = [];
  private plan: Plan | null = null;
  private attempts = 0;
  /** Of the attempt under way. */
  private requestId = '';
  /** Of the attempt under way: head and tail, whose words we need. */
  private ends: readonly NodeId[] = [];
  /** A token of this attempt has come. */
  private hasSpoken = false;
  /** A word of theirs may be lost: the connection to one of them ended. */
  private cutOff = false;
  private readonly arrivals: Arrival[] = [];
  /** Refused again and again, many requests at once would be a flood: each asks less and less often. */
  private refusals = 0;
  /** Spent without a ring since the last token. */
  private withoutRingMs = 0;
  /** How many tokens the answer has in all, once the head says so. */
  private end: { readonly reason: FinishReason; readonly tokens: number } | null = null;
  private woken: () => void = () => undefined;

  /** `underWay`: every answer by the id of its attempt under way, kept by the answers themselves. */
  constructor(
    private readonly ports: RingAnswerPorts, private readonly request: RingRequest, private readonly signal: AbortSignal,
    private readonly underWay: Map<string, RingAnswer>,
  ) {}

  /** Of an attempt only its own head and tail may speak. */
  receive(from: NodeId, message: RingWord): void {
    if (!this.ends.includes(from)) return;
    switch (message.kind) {
      case 'token':
        this.arrivals.push(message);
        break;
      case 'finished':
        this.arrivals.push({ kind: 'finished', reason: message.reason, tokens: message.tokens });
        break;
      case 'refused':
        this.arrivals.push({ kind: 'refused', error: new RingError(message.code, message.message) });
        break;
    }
    this.woken();
  }

  nodeLost(nodeId: NodeId): void {
    if (!this.ends.includes(nodeId)) return;
    this.cutOff = true;
    this.woken();
  }

  /** Looks whether its plan still stands. */
  wake(): void {
    this.woken();
  }

  /** Ends after `end`. Throws what ends the answer otherwise; whoever stops taking tokens has the ring stop too. */
  async *tokens(): AsyncGenerator<TokenMessage | { readonly kind: 'end'; readonly reason: FinishReason }> {
    try {
      for (;;) {
        const plan = this.plan ?? await this.begin();
        if (plan === null) continue;
        const arrival = this.arrivals.shift();
        switch (arrival?.kind) {
          case undefined:
            if (this.end !== null && this.drawn.length >= this.end.tokens) {
              yield { kind: 'end', reason: this.end.reason };
              return;
            }
            await this.more(plan);
            break;
          case 'token':
            if (!this.isNext(arrival)) break;
            yield arrival;
            // The answer is whole, whether or not the head still lives to say so.
            if (arrival.endOfGeneration || this.drawn.length >= this.request.maxTokens) {
              this.end = { reason: arrival.endOfGeneration ? 'stop' : 'length', tokens: this.drawn.length };
              yield { kind: 'end', reason: this.end.reason };
              return;
            }
            break;
          case 'finished':
            this.end = { reason: arrival.reason, tokens: arrival.tokens };
            break;
          case 'refused':
            if (!this.isPassing(arrival.error)) throw arrival.error;
            this.refusals += 1;
            await this.retry();
            break;
        }
      }
    } finally {
      this.giveUp();
    }
  }

  /** Submits to the next active plan; null when its head cannot be reached now. */
  private async begin(): Promise<Plan | null> {
    const { id, instance, promptTokens, sampling, maxTokens, client } = this.request;
    const sinceMs = this.ports.clock.now();
    const plan = await this.activePlan(sinceMs + this.replanDeadlineMs() - this.withoutRingMs);
    this.withoutRingMs += this.ports.clock.now() - sinceMs;
    const [head] = plan.stages;
    if (head === undefined) throw new RingError('internal', `plan ${plan.planId} of ${instance.instanceId} has no stage`);
    this.plan = plan;
    this.end = null;
    this.hasSpoken = false;
    this.attempts += 1;
    this.requestId = `${id}.${this.attempts}`;
    this.ends = [head.nodeId, plan.stages.at(-1)?.nodeId ?? head.nodeId];
    this.underWay.set(this.requestId, this);
    const sent = this.ports.send(head.nodeId, {
      kind: 'generate', requestId: this.requestId, planId: plan.planId, promptTokens, emittedTokens: [...this.drawn], sampling, maxTokens,
      ...(client === undefined ? {} : { client }),
    });
    if (!sent) await this.retry();
    return this.plan;
  }

  /** Takes a token in; false when it is one that we have, or one behind a gap. */
  private isNext({ index, token }: TokenMessage): boolean {
    if (index > this.drawn.length) {
      this.ports.log.warn('a token of an answer was lost; it is drawn again', { requestId: this.request.id, index: this.drawn.length });
      this.giveUp();
    }
    if (index !== this.drawn.length) return false;
    this.drawn.push(token);
    this.hasSpoken = true;
    this.withoutRingMs = 0;
    this.refusals = 0;
    return true;
  }

  /** Nothing has arrived: waits for it, or gives the attempt up. */
  private async more(plan: Plan): Promise<void> {
    const facts = { requestId: this.request.id, plan: plan.planId, tokens: this.drawn.length };
    if (this.isGone(plan)) {
      this.ports.log.info('the plan under a request ended; it goes on with the next one', facts);
      this.giveUp();
    } else if (this.cutOff) {
      this.ports.log.info('the connection to an end of the ring was lost under a request; it is asked for again', facts);
      await this.retry();
    } else if (this.end === null) {
      const deadlineMs = this.hasSpoken ? TOKEN_DEADLINE_MS : FIRST_TOKEN_DEADLINE_MS;
      await this.wait(deadlineMs, `no token came from the ring within ${deadlineMs / 1000} s`);
    } else if (!await this.waitShortly(LAST_TOKENS_DEADLINE_MS)) {
      this.ports.log.warn('the last tokens of an answer were lost; they are drawn again', { ...facts, of: this.end.tokens });
      this.giveUp();
    }
  }

  /** Ends the attempt. The head may still draw for it: it is told to stop. */
  private giveUp(): void {
    const head = this.plan?.stages[0];
    if (head !== undefined && this.end === null) this.ports.send(head.nodeId, { kind: 'cancel', requestId: this.requestId });
    this.underWay.delete(this.requestId);
    this.arrivals.length = 0;
    this.ends = [];
    this.cutOff = false;
    this.plan = null;
  }

  private async retry(): Promise<void> {
    this.giveUp();
    const waitMs = Math.min(RETRY_MS * 2 ** Math.max(0, this.refusals - 1), MAX_RETRY_MS);
    this.withoutRingMs += waitMs;
    await orAborted(new Promise<void>((resolve) => this.ports.clock.after(waitMs, resolve)), this.signal);
  }

  /** A refusal that says nothing about the request; an answer that has begun also waits for a place in the new ring's queue. */
  private isPassing({ code }: RingError): boolean {
    return code === 'not_ready' || code === 'wrong_plan' || (code === 'queue_full' && this.drawn.length > 0);
  }

  /** The plan that serves the model, as soon as one is active. */
  private async activePlan(deadlineMs: number): Promise<Plan> {
    let wanted = this.request.instance;
    // An answer under way also waits for the return of what its model cannot be served without.
    const patient = this.attempts > 0;
    const staysLoaded = this.drawn.length > 0 || lifeOf(wanted).keepAliveMs === null;
    for (;;) {
      const instance = this.ports.instance(wanted.instanceId) ?? this.ports.instanceOf(wanted.plan?.model.digest ?? '');
      if (instance === null) {
        const ended = staysLoaded && (this.ports.wasUnloaded?.(wanted.instanceId) ?? true);
        if (ended || wanted.plan === null) throw new RingError('not_ready', 'the model was unloaded while the request ran');
        // It was idle for too long, or made room for another one, just when this request came or while its origin was cut off.
        wanted = await this.loadedAgain(wanted, patient ? deadlineMs : 0);
        continue;
      }
      const leftMs = deadlineMs - this.ports.clock.now();
      if (instance.state === 'active' && instance.plan !== null && leftMs > 0) return instance.plan;
      if (instance.state === 'failed' && !patient) throw failureOf(instance, wanted.plan?.model.name ?? 'the model');
      const late = `the ring was not ready again within ${this.replanDeadlineMs() / 1000} s${instance.reason === '' ? '' : ` (${instance.reason})`}`;
      if (leftMs <= 0) throw new RingError('timeout', late);
      await this.wait(leftMs, late);
    }
  }

  /** As it was, when it cannot be loaded now and there is time to ask again: who has it may be about to come back. */
  private async loadedAgain(instance: Instance, deadlineMs: number): Promise<Instance> {
    try {
      return instance.plan === null ? instance : await this.ports.load(instance.plan.model, this.signal);
    } catch (error) {
      const leftMs = deadlineMs - this.ports.clock.now();
      if (this.signal.aborted || leftMs <= 0) throw error;
      await this.waitShortly(Math.min(leftMs, LOAD_RETRY_MS));
      return instance;
    }
  }

  private replanDeadlineMs(): number {
    return this.ports.replanDeadlineMs ?? REPLAN_DEADLINE_MS;
  }

  private isGone(plan: Plan): boolean {
    const instance = this.ports.instance(plan.instanceId);
    return instance === null || instance.state !== 'active' || instance.plan?.planId !== plan.planId;
  }

  /** Until something arrives or changes. */
  private async wait(deadlineMs: number, late: string): Promise<void> {
    let cancel: () => void = () => undefined;
    const woken = new Promise<void>((resolve, reject) => {
      this.woken = resolve;
      cancel = this.ports.clock.after(deadlineMs, () => reject(new RingError('timeout', late)));
    });
    try {
      await orAborted(woken, this.signal);
    } finally {
      cancel();
      this.woken = () => undefined;
    }
  }

  /** False when nothing came in time. */
  private async waitShortly(deadlineMs: number): Promise<boolean> {
    try {
      await this.wait(deadlineMs, 'nothing came in time');
      return true;
    } catch (error) {
      if (error instanceof RingError && error.code === 'timeout' && !this.signal.aborted) return false;
      throw error;
    }
  }
}
