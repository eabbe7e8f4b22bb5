/**
 * The origin's part of a request: text in, tokens to the head, tokens from the tail, text out.
 *
 * The router keeps the prompt and everything that was drawn. A plan may end under a request; it then waits for the next
 * active plan of the instance and submits again with what it has, so the caller's stream goes on. Tokens are taken once
 * each, in order, by their index in the answer.
 */
import { RingError } from '../core/errors.js';
import { lifeOf } from '../core/instance-life.js';
import type { ControlMessage, FinishReason, TokenMessage } from '../core/messages.js';
import { afterThoughts } from '../core/grammar/after-thoughts.js';
import { StopSequence } from '../core/stop-sequence.js';
import { TextStream } from '../core/text-stream.js';
import { toolGrammar } from '../core/tools/tool-grammar.js';
import type { HeldModel, Instance, NodeId, Plan, SamplingSettings } from '../core/types.js';
import { underEither } from '../either-signal.js';
import type { Clock, Log } from '../ports.js';
import { markPieces, shortened, textProbability } from './answer-text.js';
import { failureOf } from './models.js';
import type { CompletionEvent, CompletionTask, Prompt } from './service.js';
import type { TokenizedPrompt, Vocabularies } from './vocabularies.js';
import { orAborted } from './vocabularies.js';

/** Longest silence of a running request: a long prefill on a slow ring is well below it. */
const TOKEN_DEADLINE_MS = 300_000;
/** After the head said how many tokens there are: time for the tail's last ones. */
const LAST_TOKENS_DEADLINE_MS = 3_000;
/** Longest wait for a new plan after one ended under a request, unless the node's person says otherwise. */
export const REPLAN_DEADLINE_MS = 120_000;
/** A head that has not heard yet that its plan is active answers `not_ready`: ask again after this. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 800;
/** Loading a model for a request that named it. */
const LOAD_DEADLINE_MS = 30 * 60_000;

export interface RouterPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: NodeId;
  readonly vocabularies: Pick<Vocabularies, 'table' | 'tokenizeText' | 'tokenizeChat' | 'checkGrammar'>;
  send(to: NodeId, message: ControlMessage): boolean;
  /** Throws `unknown_model`. A name of the catalogue is looked up. */
  resolveModel(reference: string): Promise<HeldModel>;
  /** The instance that serves the model, loaded if need be. */
  ensureInstance(model: HeldModel, signal: AbortSignal, keepAliveMs?: number | null): Promise<Instance>;
  instance(instanceId: string): Instance | null;
  /** Somebody said so; absent = what is gone was unloaded. */
  wasUnloaded?(instanceId: string): boolean;
  /** An instance that serves the model, if there is one: after a split healed it may have another id. */
  instanceOf(modelDigest: string): Instance | null;
  randomId(): string;
  /** Absent = the usual one. */
  readonly replanDeadlineMs?: number;
}

type Arrival =
  | TokenMessage
  | { readonly kind: 'finished'; readonly reason: FinishReason; readonly tokens: number }
  | { readonly kind: 'refused'; readonly error: RingError };

/** One request that waits for its tokens. */
interface Pending {
  /** Of the attempt under way. */
  requestId: string;
  /** Of the attempt under way: head and tail, whose words we need. */
  ends: readonly NodeId[];
  /** A word of theirs may be lost: the connection to one of them ended. */
  cutOff: boolean;
  readonly arrivals: Arrival[];
  wake: () => void;
}

export class RequestRouter {
  /** By the id of the attempt under way. */
  private readonly pending = new Map<string, Pending>();
  private readonly answers = new Set<Pending>();
  private running = 0;

  constructor(private readonly ports: RouterPorts) {}

  get size(): number {
    return this.running;
  }

  /** Messages of tails and heads about our requests. */
  receive(from: NodeId, message: Extract<ControlMessage, { kind: 'token' | 'finished' | 'refused' }>): void {
    const pending = this.pending.get(message.requestId);
    // Of an attempt only its own head and tail may speak.
    if (pending === undefined || !pending.ends.includes(from)) return;
    switch (message.kind) {
      case 'token':
        pending.arrivals.push(message);
        break;
      case 'finished':
        pending.arrivals.push({ kind: 'finished', reason: message.reason, tokens: message.tokens });
        break;
      case 'refused':
        pending.arrivals.push({ kind: 'refused', error: new RingError(message.code, message.message) });
        break;
    }
    pending.wake();
  }

  /** The connection to a node ended: what it was about to say of a request may never come. */
  peerLost(nodeId: NodeId): void {
    for (const pending of this.answers) {
      if (!pending.ends.includes(nodeId)) continue;
      pending.cutOff = true;
      pending.wake();
    }
  }

  /** Plans or peers changed: requests under way look whether theirs still stands. */
  clusterChanged(): void {
    for (const pending of this.answers) pending.wake();
  }

  async *complete(task: CompletionTask, signal: AbortSignal): AsyncGenerator<CompletionEvent> {
    this.running += 1;
    try {
      yield* this.answer(task, signal);
    } finally {
      this.running -= 1;
    }
  }

  private async *answer(asked: CompletionTask, signal: AbortSignal): AsyncGenerator<CompletionEvent> {
    const startedMs = this.ports.clock.now();
    const model = await this.ports.resolveModel(asked.model);
    const prompt = await this.tokenize(model, asked, signal);
    const { opened } = prompt;
    if (prompt.tokens.length === 0) throw new RingError('bad_request', 'the prompt is empty: give at least one token');
    const task = { ...asked, sampling: await this.samplingOf(model, asked, prompt, signal) };
    const instance = await this.loaded(model, task, signal);
    const table = await this.ports.vocabularies.table(model, signal);
    const contextTokens = instance.plan?.contextTokens ?? 0;
    const promptTokens = task.truncate === true ? shortened(prompt.tokens, contextTokens - 1) : prompt.tokens;
    if (promptTokens.length >= contextTokens) {
      throw new RingError('context_too_long', `the prompt has ${promptTokens.length} tokens, and the context of ${model.name} is ${contextTokens} tokens here: shorten it, or start with a larger --ctx`, { promptTokens: promptTokens.length, contextTokens });
    }
    const maxTokens = Math.min(task.maxTokens ?? Number.MAX_SAFE_INTEGER, contextTokens - promptTokens.length);

    const text = new TextStream();
    const stop = new StopSequence(task.stop);
    const drawn: number[] = [];
    const marks = markPieces(table, task);
    const pieceOf = (token: number): Uint8Array => marks.get(token) ?? table.pieces[token] ?? new Uint8Array();
    let firstTokenMs = 0;
    let reusedTokens = 0;
    let embedding: Float32Array | undefined;
    let reason: FinishReason | null = null;
    let stopped = false;
    const answer = this.tokens(instance, promptTokens, drawn, task, maxTokens, signal);
    let begun = false;
    for await (const arrival of answer) {
      if (!begun) {
        begun = true;
        firstTokenMs = this.ports.clock.now();
        // Not before: a ring that has no room says so first, and an HTTP status must say it.
        yield { kind: 'started', model: model.name, promptTokens: promptTokens.length, ...(opened === null ? {} : { opened }) };
      }
      if (arrival.kind === 'end') {
        reason = arrival.reason;
        break;
      }
      reusedTokens = arrival.reusedTokens ?? reusedTokens;
      embedding = arrival.embedding ?? embedding;
      const isEnd = arrival.endOfGeneration && !task.sampling.ignoreEos;
      const matched = stop.push(text.push(isEnd ? new Uint8Array() : pieceOf(arrival.token)));
      const probabilities = arrival.probability === undefined || isEnd ? {} : { probabilities: [textProbability(arrival.token, arrival.probability, table, pieceOf)] };
      yield { kind: 'text', text: matched.text, tokens: [arrival.token], ...probabilities };
      if (matched.stopped) {
        stopped = true;
        reason = 'stop';
        break;
      }
    }
    if (reason === null) throw new RingError('internal', 'the answer ended without a reason');
    if (!stopped) {
      const last = stop.push(text.end());
      const rest = last.text + (last.stopped ? '' : stop.end());
      if (rest !== '') yield { kind: 'text', text: rest, tokens: [] };
    }
    const endMs = this.ports.clock.now();
    const decodeMs = endMs - firstTokenMs;
    yield {
      kind: 'finished',
      reason,
      promptTokens: promptTokens.length,
      completionTokens: drawn.length,
      reusedTokens,
      ...(embedding === undefined ? {} : { embedding }),
      timings: {
        firstTokenMs: firstTokenMs - startedMs,
        totalMs: endMs - startedMs,
        decodeTokensPerSecond: drawn.length > 1 && decodeMs > 0 ? ((drawn.length - 1) * 1000) / decodeMs : 0,
      },
    };
  }

  async countTokens(reference: string, prompt: Prompt, signal: AbortSignal): Promise<number> {
    return (await this.tokenize(await this.ports.resolveModel(reference), { prompt }, signal)).tokens.length;
  }

  /** The instance that answers; one that is still to be loaded has its time too. */
  private async loaded(model: HeldModel, { keepAliveMs }: Pick<CompletionTask, 'keepAliveMs'>, signal: AbortSignal): Promise<Instance> {
    const late = new AbortController();
    const cancel = this.ports.clock.after(LOAD_DEADLINE_MS, () => late.abort(new RingError('timeout', `${model.name} was not loaded within ${LOAD_DEADLINE_MS / 60_000} minutes`)));
    try {
      return await underEither([signal, late.signal], (either) => this.ports.ensureInstance(model, either, keepAliveMs));
    } finally {
      cancel();
    }
  }

  /** With the grammar that the answer must follow. Throws `bad_request` for one that cannot be followed. */
  private async samplingOf(model: HeldModel, task: CompletionTask, { opened, toolStyle }: TokenizedPrompt, signal: AbortSignal): Promise<SamplingSettings> {
    const { sampling, prompt, toolCalling } = task;
    const tools = prompt.kind === 'chat' ? prompt.tools ?? [] : [];
    const wanted = sampling.grammar ?? (toolCalling === undefined || tools.length === 0 ? null : toolGrammar(tools, toolCalling, toolStyle));
    if (wanted === null) return sampling;
    const grammar = opened === null ? wanted : afterThoughts(wanted, opened.close);
    await this.ports.vocabularies.checkGrammar(model, grammar.text, signal);
    return { ...sampling, grammar };
  }

  private async tokenize(model: HeldModel, task: Pick<CompletionTask, 'prompt'>, signal: AbortSignal): Promise<TokenizedPrompt> {
    switch (task.prompt.kind) {
      case 'text': return { tokens: await this.ports.vocabularies.tokenizeText(model, task.prompt.text, signal), opened: null, toolStyle: 'tagged' };
      case 'chat': return this.ports.vocabularies.tokenizeChat(model, task.prompt, signal);
      case 'tokens': {
        const { tokens } = task.prompt;
        const size = (await this.ports.vocabularies.table(model, signal)).pieces.length;
        const bad = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= size);
        if (bad !== undefined) throw new RingError('bad_request', `token ${bad} is outside the vocabulary of ${model.name} (${size} tokens)`);
        return { tokens, opened: null, toolStyle: 'tagged' };
      }
    }
  }

  /** Tokens of the answer, each once and in order, over as many plans as it takes. Appends to `drawn`. */
  private async *tokens(
    instance: Instance,
    promptTokens: readonly number[],
    drawn: number[],
    task: CompletionTask,
    maxTokens: number,
    signal: AbortSignal,
  ): AsyncGenerator<TokenMessage | { kind: 'end'; reason: FinishReason }> {
    const answerId = task.requestId ?? this.ports.randomId();
    const pending: Pending = { requestId: answerId, ends: [], cutOff: false, arrivals: [], wake: () => undefined };
    this.answers.add(pending);
    let plan: Plan | null = null;
    let attempt = 0;
    /** Spent without a ring since the last token. */
    let withoutRingMs = 0;
    /** Tokens that the answer has in all, once the head says so. */
    let end: { reason: FinishReason; tokens: number } | null = null;
    /** The head may still draw for this attempt: it is told to stop. */
    const giveUp = (): void => {
      const head = plan?.stages[0];
      if (head !== undefined && end === null) this.ports.send(head.nodeId, { kind: 'cancel', requestId: pending.requestId });
      this.pending.delete(pending.requestId);
      pending.arrivals.length = 0;
      pending.ends = [];
      pending.cutOff = false;
      plan = null;
    };
    /** Refused again and again, many requests at once would be a flood: each asks less and less often. */
    let refusals = 0;
    const retry = async (): Promise<void> => {
      giveUp();
      const waitMs = Math.min(RETRY_MS * 2 ** Math.max(0, refusals - 1), MAX_RETRY_MS);
      withoutRingMs += waitMs;
      await this.pause(waitMs, signal);
    };
    try {
      for (;;) {
        if (plan === null) {
          const sinceMs = this.ports.clock.now();
          plan = await this.activePlan(instance, pending, { deadlineMs: sinceMs + this.replanDeadlineMs() - withoutRingMs, patient: attempt > 0, begun: drawn.length > 0 || lifeOf(instance).keepAliveMs === null }, signal);
          withoutRingMs += this.ports.clock.now() - sinceMs;
          end = null;
          // An id for each attempt: what an earlier one still sends goes nowhere.
          attempt += 1;
          pending.requestId = `${answerId}.${attempt}`;
          pending.ends = [plan.stages[0], plan.stages.at(-1)].flatMap((stage) => (stage === undefined ? [] : [stage.nodeId]));
          this.pending.set(pending.requestId, pending);
          if (!this.submit(plan, pending.requestId, promptTokens, drawn, task, maxTokens)) {
            await retry();
            continue;
          }
        }
        const arrival = pending.arrivals.shift();
        if (arrival === undefined) {
          if (end !== null && drawn.length >= end.tokens) {
            yield { kind: 'end', reason: end.reason };
            return;
          }
          if (this.isGone(plan)) {
            this.ports.log.info('the plan under a request ended; it goes on with the next one', { requestId: answerId, plan: plan.planId, tokens: drawn.length });
            giveUp();
          } else if (pending.cutOff) {
            this.ports.log.info('the connection to an end of the ring was lost under a request; it is asked for again', { requestId: answerId, plan: plan.planId, tokens: drawn.length });
            await retry();
          } else if (end === null) {
            await this.wait(pending, TOKEN_DEADLINE_MS, signal, `no token came from the ring within ${TOKEN_DEADLINE_MS / 1000} s`);
          } else if (!await this.waitShortly(pending, signal)) {
            this.ports.log.warn('the last tokens of an answer were lost; they are drawn again', { requestId: answerId, have: drawn.length, of: end.tokens });
            giveUp();
          }
          continue;
        }
        switch (arrival.kind) {
          case 'token':
            if (arrival.index === drawn.length) {
              drawn.push(arrival.token);
              withoutRingMs = 0;
              refusals = 0;
              yield arrival;
              // The answer is whole, whether or not the head still lives to say so.
              if (arrival.endOfGeneration || drawn.length >= maxTokens) {
                end = { reason: arrival.endOfGeneration ? 'stop' : 'length', tokens: drawn.length };
                yield { kind: 'end', reason: end.reason };
                return;
              }
            } else if (arrival.index > drawn.length) {
              this.ports.log.warn('a token of an answer was lost; it is drawn again', { requestId: answerId, index: drawn.length });
              giveUp();
            }
            break;
          case 'finished':
            end = { reason: arrival.reason, tokens: arrival.tokens };
            break;
          case 'refused':
            if (!this.isPassing(arrival.error, drawn.length > 0)) throw arrival.error;
            refusals += 1;
            await retry();
            break;
        }
      }
    } finally {
      giveUp();
      this.answers.delete(pending);
    }
  }

  /** A refusal that says nothing about the request; an answer that has begun also waits for a place in the new ring's queue. */
  private isPassing(error: RingError, begun: boolean): boolean {
    return error.code === 'not_ready' || error.code === 'wrong_plan' || (error.code === 'queue_full' && begun);
  }

  /** False when the head cannot be reached now. */
  private submit(plan: Plan, requestId: string, promptTokens: readonly number[], drawn: readonly number[], task: CompletionTask, maxTokens: number): boolean {
    const head = plan.stages[0];
    if (head === undefined) throw new RingError('internal', `plan ${plan.planId} has no stage`);
    return this.ports.send(head.nodeId, {
      kind: 'generate',
      requestId,
      planId: plan.planId,
      promptTokens,
      emittedTokens: [...drawn],
      sampling: task.sampling,
      maxTokens,
      ...(task.client === undefined ? {} : { client: task.client }),
    });
  }

  /**
   * The plan that serves the model, as soon as one is active. Patient: an answer under way also waits for the return of
   * what its model cannot be served without.
   */
  private async activePlan(
    wanted: Instance, pending: Pending, wait: { readonly deadlineMs: number; readonly patient: boolean; readonly begun: boolean }, signal: AbortSignal,
  ): Promise<Plan> {
    for (;;) {
      const instance = this.ports.instance(wanted.instanceId) ?? this.ports.instanceOf(wanted.plan?.model.digest ?? '');
      if (instance === null) {
        const ended = wait.begun && (this.ports.wasUnloaded?.(wanted.instanceId) ?? true);
        if (ended || wanted.plan === null) throw new RingError('not_ready', 'the model was unloaded while the request ran');
        // It was idle for too long, or made room for another one, just when this request came or while its origin was cut off.
        wanted = await this.loaded(wanted.plan.model, {}, signal);
        continue;
      }
      const leftMs = wait.deadlineMs - this.ports.clock.now();
      if (instance.state === 'active' && instance.plan !== null && leftMs > 0) return instance.plan;
      if (instance.state === 'failed' && !wait.patient) throw failureOf(instance, wanted.plan?.model.name ?? 'the model');
      const late = `the ring was not ready again within ${this.replanDeadlineMs() / 1000} s${instance.reason === '' ? '' : ` (${instance.reason})`}`;
      if (leftMs <= 0) throw new RingError('timeout', late);
      await this.wait(pending, leftMs, signal, late);
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
  private async wait(pending: Pending, deadlineMs: number, signal: AbortSignal, late: string): Promise<void> {
    let cancel: () => void = () => undefined;
    const woken = new Promise<void>((resolve, reject) => {
      pending.wake = resolve;
      cancel = this.ports.clock.after(deadlineMs, () => reject(new RingError('timeout', late)));
    });
    try {
      await orAborted(woken, signal);
    } finally {
      cancel();
      pending.wake = () => undefined;
    }
  }

  /** False when nothing came in time. */
  private async waitShortly(pending: Pending, signal: AbortSignal): Promise<boolean> {
    try {
      await this.wait(pending, LAST_TOKENS_DEADLINE_MS, signal, 'the last tokens did not come');
      return true;
    } catch (error) {
      if (error instanceof RingError && error.code === 'timeout' && !signal.aborted) return false;
      throw error;
    }
  }

  private async pause(delayMs: number, signal: AbortSignal): Promise<void> {
    await orAborted(new Promise<void>((resolve) => this.ports.clock.after(delayMs, resolve)), signal);
  }
}
