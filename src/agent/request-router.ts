/**
 * The origin's part of a request: text in, tokens to the ring and back (ring-answer.ts), text out.
 *
 * It finds the model, has it loaded, turns the prompt into tokens and tokens into text, and hands what heads and tails say to
 * the answer that it is about. It must not know how an answer outlives its plan.
 */
import { RingError } from '../core/errors.js';
import type { FinishReason } from '../core/messages.js';
import { afterThoughts } from '../core/grammar/after-thoughts.js';
import { StopSequence } from '../core/stop-sequence.js';
import { TextStream } from '../core/text-stream.js';
import { toolGrammar } from '../core/tools/tool-grammar.js';
import type { SamplingSettings } from '../core/step-types.js';
import type { HeldModel, Instance, NodeId } from '../core/types.js';
import { underEither } from '../either-signal.js';
import { markPieces, shortened, textProbability } from './answer-text.js';
import { RingAnswer } from './ring-answer.js';
import type { RingAnswerPorts, RingWord } from './ring-answer.js';
import type { CompletionEvent, CompletionTask, Prompt } from './service.js';
import type { TokenizedPrompt, Vocabularies } from './vocabularies.js';

/** Loading a model for a request that named it. */
const LOAD_DEADLINE_MS = 30 * 60_000;

export interface RouterPorts extends Omit<RingAnswerPorts, 'load'> {
  readonly vocabularies: Pick<Vocabularies, 'table' | 'tokenizeText' | 'tokenizeChat' | 'checkGrammar'>;
  /** Throws `unknown_model`. A name of the catalogue is looked up. */
  resolveModel(reference: string): Promise<HeldModel>;
  /** The instance that serves the model, loaded if need be. */
  ensureInstance(model: HeldModel, signal: AbortSignal, keepAliveMs?: number | null): Promise<Instance>;
  randomId(): string;
}

export class RequestRouter {
  /** By the id of the attempt under way. */
  private readonly underWay = new Map<string, RingAnswer>();
  private readonly answers = new Set<RingAnswer>();
  private readonly ringPorts: RingAnswerPorts;
  private running = 0;

  constructor(private readonly ports: RouterPorts) {
    this.ringPorts = { ...ports, load: (model, signal) => this.loaded(model, {}, signal) };
  }

  get size(): number {
    return this.running;
  }

  /** Of tails and heads about our requests. */
  receive(from: NodeId, message: RingWord): void {
    this.underWay.get(message.requestId)?.receive(from, message);
  }

  /** The connection to a node ended: what it was about to say of a request may never come. */
  nodeLost(nodeId: NodeId): void {
    for (const answer of this.answers) answer.nodeLost(nodeId);
  }

  /** Plans or nodes changed: requests under way look whether theirs still stands. */
  clusterChanged(): void {
    for (const answer of this.answers) answer.wake();
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
    const marks = markPieces(table, task);
    const pieceOf = (token: number): Uint8Array => marks.get(token) ?? table.pieces[token] ?? new Uint8Array();
    let firstTokenMs = 0;
    let reusedTokens = 0;
    let embedding: Float32Array | undefined;
    let reason: FinishReason | null = null;
    let stopped = false;
    const answer = new RingAnswer(this.ringPorts, {
      id: task.requestId ?? this.ports.randomId(), instance, promptTokens, sampling: task.sampling, maxTokens,
      ...(task.client === undefined ? {} : { client: task.client }),
    }, signal, this.underWay);
    let begun = false;
    for await (const arrival of this.arrivals(answer)) {
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
      completionTokens: answer.drawn.length,
      reusedTokens,
      ...(embedding === undefined ? {} : { embedding }),
      timings: {
        firstTokenMs: firstTokenMs - startedMs,
        totalMs: endMs - startedMs,
        decodeTokensPerSecond: answer.drawn.length > 1 && decodeMs > 0 ? ((answer.drawn.length - 1) * 1000) / decodeMs : 0,
      },
    };
  }

  /** Of an answer, which hears of the cluster meanwhile. */
  private async *arrivals(answer: RingAnswer): ReturnType<RingAnswer['tokens']> {
    this.answers.add(answer);
    try {
      yield* answer.tokens();
    } finally {
      this.answers.delete(answer);
    }
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
}
