/**
 * One answer as the routes see it: typed events, whatever API the client speaks. The one place between the agent's
 * events and the three APIs' shapes, so that what is found in an answer's text is found once.
 *
 * `choice` numbers the answers of one request from 0. An answer is: `started`, parts, one `finished` for each choice,
 * `usage`. It must not know HTTP or any API's names.
 */
import type { CompletionEvent, CompletionTask, CompletionTimings, TextProbability } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import type { FinishReason } from '../core/messages.js';
import { ReasoningSplit } from '../core/reasoning.js';
import { ToolCalls } from '../core/tools/tool-calls.js';

export interface AnswerUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompt, not computed again. */
  readonly reusedTokens: number;
  /** Of the answer, thoughts. */
  readonly reasoningTokens: number;
  readonly timings: CompletionTimings;
}

/** `tool_calls`: the answer ended and has called tools. */
export type AnswerReason = FinishReason | 'tool_calls';

/** A call's number is the `call`th of its choice. */
interface CallPlace {
  readonly choice: number;
  readonly call: number;
}

export type AnswerEvent =
  | { readonly kind: 'started'; readonly model: string; readonly promptTokens: number }
  /**
   * What the model answers, or thinks aloud. `text` may be empty: its tokens' bytes are held back, invisible, or part of a
   * call. `probabilities` are of the tokens; absent = not asked for.
   */
  | { readonly kind: 'text' | 'reasoning'; readonly choice: number; readonly text: string; readonly tokens: readonly number[]; readonly probabilities?: readonly TextProbability[] }
  /** It calls a tool; the arguments follow. */
  | (CallPlace & { readonly kind: 'call'; readonly name: string })
  /** More of a call's arguments, which are JSON. */
  | (CallPlace & { readonly kind: 'arguments'; readonly text: string })
  /** `usage` of this choice alone. */
  | { readonly kind: 'finished'; readonly choice: number; readonly reason: AnswerReason; readonly usage: AnswerUsage }
  /** Of all choices. The last event. */
  | ({ readonly kind: 'usage' } & AnswerUsage);

export interface AnswerCall {
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

export interface AnswerChoice {
  readonly text: string;
  /** Empty = it did not think aloud. */
  readonly reasoning: string;
  readonly calls: readonly AnswerCall[];
  readonly tokens: readonly number[];
  readonly probabilities: readonly TextProbability[];
  readonly reason: AnswerReason;
}

export interface WholeAnswer {
  readonly model: string;
  /** By index. */
  readonly choices: readonly AnswerChoice[];
  readonly usage: AnswerUsage;
}

export interface ReadingOptions {
  readonly choice: number;
  readonly splitReasoning: boolean;
}

/** The events of one choice, all but `usage`. */
export async function* choiceEvents(events: AsyncIterable<CompletionEvent>, task: CompletionTask, options: ReadingOptions): AsyncGenerator<AnswerEvent> {
  const reader = new AnswerReader(task, options);
  for await (const event of events) {
    switch (event.kind) {
      case 'started':
        reader.begin(event);
        yield event;
        break;
      case 'text':
        yield* reader.read(event);
        break;
      case 'finished':
        yield* reader.end(event);
        return;
    }
  }
  throw new RingError('internal', 'The answer ended without a reason. The agent\'s log says more.');
}

type TextEvent = Extract<CompletionEvent, { kind: 'text' }>;
type Part = Exclude<AnswerEvent, { kind: 'started' | 'finished' | 'usage' }>;
/** What was found in the text; its tokens are added when it is told. */
type Found = { readonly kind: 'text' | 'reasoning'; readonly text: string } | Exclude<Part, { kind: 'text' | 'reasoning' }>;

/** Finds thoughts and calls in the text of one choice. */
class AnswerReader {
  private split: ReasoningSplit | null = null;
  private readonly calls: ToolCalls | null;
  private reasoningTokens = 0;

  constructor({ prompt, toolCalling }: CompletionTask, private readonly options: ReadingOptions) {
    const tools = prompt.kind === 'chat' ? prompt.tools ?? [] : [];
    this.calls = toolCalling === undefined || tools.length === 0 ? null : new ToolCalls(tools);
  }

  begin({ opened }: Extract<CompletionEvent, { kind: 'started' }>): void {
    if (this.options.splitReasoning) this.split = new ReasoningSplit(opened ?? null);
  }

  read({ text, tokens, probabilities }: TextEvent): readonly Part[] {
    const thought = this.split?.thinking === true;
    const found = this.find(text);
    const thinks = this.split?.thinking === true;
    if (thought || thinks) this.reasoningTokens += tokens.length;
    // The tokens come with the first piece that can bear them, so that each is told once and in order.
    const bearer = found.findIndex((one) => one.kind === 'text' || one.kind === 'reasoning');
    const told = bearer >= 0 ? found : [{ kind: thinks ? 'reasoning' as const : 'text' as const, text: '' }, ...found];
    return told.map((one, index) => this.part(one, index === Math.max(0, bearer) ? { tokens, ...(probabilities === undefined ? {} : { probabilities }) } : { tokens: [] }));
  }

  end({ reason, promptTokens, completionTokens, reusedTokens, timings }: Extract<CompletionEvent, { kind: 'finished' }>): readonly AnswerEvent[] {
    const { choice } = this.options;
    const left = [...(this.split?.end() ?? []).flatMap((piece) => this.findIn(piece)), ...this.callsIn(this.calls?.end() ?? [])];
    const called = reason === 'stop' && (this.calls?.found ?? 0) > 0;
    const usage = { promptTokens, completionTokens, reusedTokens, reasoningTokens: this.reasoningTokens, timings };
    return [...left.map((one) => this.part(one, { tokens: [] })), { kind: 'finished', choice, reason: called ? 'tool_calls' : reason, usage }];
  }

  private find(text: string): readonly Found[] {
    const pieces = this.split === null ? [{ kind: 'text' as const, text }] : this.split.push(text);
    return pieces.flatMap((piece) => this.findIn(piece));
  }

  private findIn(piece: { readonly kind: 'text' | 'reasoning'; readonly text: string }): readonly Found[] {
    return piece.kind === 'reasoning' || this.calls === null ? [piece] : this.callsIn(this.calls.push(piece.text));
  }

  private callsIn(pieces: ReturnType<ToolCalls['push']>): readonly Found[] {
    const { choice } = this.options;
    return pieces.map((piece): Found => {
      switch (piece.kind) {
        case 'text': return piece;
        case 'call': return { kind: 'call', choice, call: piece.index, name: piece.name };
        case 'arguments': return { kind: 'arguments', choice, call: piece.index, text: piece.text };
      }
    });
  }

  private part(found: Found, bearing: Pick<TextEvent, 'tokens' | 'probabilities'>): Part {
    switch (found.kind) {
      case 'text':
      case 'reasoning': return { kind: found.kind, text: found.text, choice: this.options.choice, ...bearing };
      case 'call':
      case 'arguments': return found;
    }
  }
}

interface OpenChoice {
  readonly text: string[];
  readonly reasoning: string[];
  readonly calls: { readonly name: string; readonly arguments: string[] }[];
  readonly tokens: number[];
  readonly probabilities: TextProbability[];
  reason: AnswerReason;
}

/** All of an answer, for clients that do not stream. */
export async function collectAnswer(events: AsyncIterable<AnswerEvent>): Promise<WholeAnswer> {
  let model = '';
  let usage: AnswerUsage | null = null;
  const open = new Map<number, OpenChoice>();
  const choiceOf = (index: number): OpenChoice => {
    const known = open.get(index) ?? { text: [], reasoning: [], calls: [], tokens: [], probabilities: [], reason: 'stop' };
    open.set(index, known);
    return known;
  };
  for await (const event of events) {
    switch (event.kind) {
      case 'started':
        model = event.model;
        break;
      case 'text':
      case 'reasoning': {
        const choice = choiceOf(event.choice);
        choice[event.kind].push(event.text);
        choice.tokens.push(...event.tokens);
        choice.probabilities.push(...event.probabilities ?? []);
        break;
      }
      case 'call':
        choiceOf(event.choice).calls.push({ name: event.name, arguments: [] });
        break;
      case 'arguments':
        choiceOf(event.choice).calls[event.call]?.arguments.push(event.text);
        break;
      case 'finished':
        choiceOf(event.choice).reason = event.reason;
        break;
      case 'usage':
        usage = event;
        break;
    }
  }
  if (usage === null) throw new RingError('internal', 'The answer ended without its figures. The agent\'s log says more.');
  const choices = [...open].sort(([left], [right]) => left - right).map(([, choice]) => ({
    ...choice,
    text: choice.text.join(''),
    reasoning: choice.reasoning.join(''),
    calls: choice.calls.map((call) => ({ name: call.name, arguments: call.arguments.join('') })),
  }));
  return { model, choices, usage };
}
