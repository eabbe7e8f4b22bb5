/**
 * One answer as the routes see it: typed events, whatever API the client speaks. The one place between the agent's
 * events and the three APIs' shapes, so that what is found in an answer's text is found once.
 *
 * `choice` numbers the answers of one request from 0. An answer is: `started`, parts, one `finished` for each choice,
 * `usage`. It must not know HTTP or any API's names.
 */
import type { AgentService, CompletionEvent, CompletionTimings } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import type { FinishReason } from '../core/messages.js';
import { ReasoningSplit } from '../core/reasoning.js';
import type { CompletionRequest } from './openai-schema.js';

export interface AnswerUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompt, not computed again. */
  readonly reusedTokens: number;
  /** Of the answer, thoughts. */
  readonly reasoningTokens: number;
  readonly timings: CompletionTimings;
}

export type AnswerEvent =
  | { readonly kind: 'started'; readonly model: string; readonly promptTokens: number }
  /** What the model answers, or thinks aloud. `text` may be empty: its tokens' bytes are held back or invisible. */
  | { readonly kind: 'text' | 'reasoning'; readonly choice: number; readonly text: string; readonly tokens: readonly number[] }
  /** `usage` of this choice alone. */
  | { readonly kind: 'finished'; readonly choice: number; readonly reason: FinishReason; readonly usage: AnswerUsage }
  /** Of all choices. The last event. */
  | ({ readonly kind: 'usage' } & AnswerUsage);

export interface AnswerChoice {
  readonly text: string;
  /** Empty = it did not think aloud. */
  readonly reasoning: string;
  readonly tokens: readonly number[];
  readonly reason: FinishReason;
}

export interface WholeAnswer {
  readonly model: string;
  /** By index. */
  readonly choices: readonly AnswerChoice[];
  readonly usage: AnswerUsage;
}

/** The events of one request. Throws what the agent throws; ending it early frees the agent's side. */
export async function* answerEvents(service: Pick<AgentService, 'complete'>, request: CompletionRequest, signal: AbortSignal): AsyncGenerator<AnswerEvent> {
  yield* choiceEvents(service.complete(request.task, signal), 0, request.splitReasoning);
}

async function* choiceEvents(events: AsyncIterable<CompletionEvent>, choice: number, splitReasoning: boolean): AsyncGenerator<AnswerEvent> {
  let split: ReasoningSplit | null = null;
  let reasoningTokens = 0;
  for await (const event of events) {
    switch (event.kind) {
      case 'started':
        if (splitReasoning) split = new ReasoningSplit(event.opened ?? null);
        yield event;
        break;
      case 'text': {
        if (split === null) {
          yield { kind: 'text', choice, text: event.text, tokens: event.tokens };
          break;
        }
        const before = split.thinking;
        const pieces = split.push(event.text);
        if (before || split.thinking) reasoningTokens += event.tokens.length;
        const silent = { kind: split.thinking ? 'reasoning' as const : 'text' as const, text: '' };
        // The tokens come with the first piece, so that each is told once and in order.
        for (const [index, piece] of (pieces.length === 0 ? [silent] : pieces).entries()) yield { ...piece, choice, tokens: index === 0 ? event.tokens : [] };
        break;
      }
      case 'finished': {
        for (const piece of split?.end() ?? []) yield { ...piece, choice, tokens: [] };
        const { reason, promptTokens, completionTokens, reusedTokens, timings } = event;
        const usage = { promptTokens, completionTokens, reusedTokens, reasoningTokens, timings };
        yield { kind: 'finished', choice, reason, usage };
        yield { kind: 'usage', ...usage };
        return;
      }
    }
  }
  throw new RingError('internal', 'The answer ended without a reason. The agent\'s log says more.');
}

/** All of an answer, for clients that do not stream. */
export async function collectAnswer(events: AsyncIterable<AnswerEvent>): Promise<WholeAnswer> {
  let model = '';
  let usage: AnswerUsage | null = null;
  const open = new Map<number, { readonly text: string[]; readonly reasoning: string[]; readonly tokens: number[]; reason: FinishReason | null }>();
  const choiceOf = (index: number) => {
    const known = open.get(index) ?? { text: [], reasoning: [], tokens: [], reason: null };
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
        break;
      }
      case 'finished':
        choiceOf(event.choice).reason = event.reason;
        break;
      case 'usage':
        usage = event;
        break;
    }
  }
  if (usage === null) throw new RingError('internal', 'The answer ended without its figures. The agent\'s log says more.');
  const choices = [...open].sort(([left], [right]) => left - right).map(([, { text, reasoning, tokens, reason }]) => ({ text: text.join(''), reasoning: reasoning.join(''), tokens, reason: reason ?? 'stop' }));
  return { model, choices, usage };
}
