/**
 * What OpenAI's clients expect back, made from an answer's events. Shapes only: no HTTP, no streams, no clock.
 *
 * Two additions that other clients skip: `timings` (llama-server's names) beside `usage`, and `tokens` (ids) in a
 * choice when the request has `return_tokens`.
 */
import type { ModelView } from '../agent/service.js';
import type { AnswerChoice, AnswerEvent, AnswerUsage, WholeAnswer } from './answer-events.js';
import { textLogprobs, tokenLogprobs } from './logprobs.js';

export type Endpoint = 'chat' | 'text';

/** What all chunks of one answer share. */
export interface AnswerHead {
  readonly endpoint: Endpoint;
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly includeUsage: boolean;
  readonly returnTokens: boolean;
  /** Tells each token's probability. */
  readonly logprobs: boolean;
  newCallId(): string;
}

export type PartEvent = Extract<AnswerEvent, { kind: 'text' | 'reasoning' }>;
export type CallEvent = Extract<AnswerEvent, { kind: 'call' | 'arguments' }>;
export type FinishedEvent = Extract<AnswerEvent, { kind: 'finished' }>;

export function answerId(endpoint: Endpoint, unique: string): string {
  return `${endpoint === 'chat' ? 'chatcmpl' : 'cmpl'}-${unique}`;
}

function usageOf(usage: AnswerUsage): object {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.reusedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

/** llama-server's names; `cache_n` are the prompt's tokens that were not computed again. `prompt_ms` is the time to the first token: waiting for a slot is in it. */
function timingsOf(usage: AnswerUsage): object {
  const { firstTokenMs, totalMs, decodeTokensPerSecond } = usage.timings;
  const computed = usage.promptTokens - usage.reusedTokens;
  const decodeMs = Math.max(0, totalMs - firstTokenMs);
  return {
    cache_n: usage.reusedTokens,
    prompt_n: computed,
    prompt_ms: firstTokenMs,
    prompt_per_token_ms: computed > 0 ? firstTokenMs / computed : 0,
    prompt_per_second: firstTokenMs > 0 ? (computed * 1000) / firstTokenMs : 0,
    predicted_n: usage.completionTokens,
    predicted_ms: decodeMs,
    predicted_per_token_ms: usage.completionTokens > 1 ? decodeMs / (usage.completionTokens - 1) : 0,
    predicted_per_second: decodeTokensPerSecond,
    total_ms: totalMs,
  };
}

function chunkOf(head: AnswerHead, choice: number, fields: object, extra: object = {}): object {
  return {
    id: head.id,
    object: head.endpoint === 'chat' ? 'chat.completion.chunk' : 'text_completion',
    created: head.created,
    model: head.model,
    choices: [{ index: choice, logprobs: null, ...fields }],
    ...(head.includeUsage ? { usage: null } : {}),
    ...extra,
  };
}

/** Opens a chat's stream; a text completion has no such chunk. */
export function roleChunk(head: AnswerHead, choice: number): object {
  return chunkOf(head, choice, { delta: { role: 'assistant', content: '' }, finish_reason: null });
}

/** `offset`: characters of the choice's text before this part. */
export function partChunk(head: AnswerHead, part: PartEvent, offset: number): object {
  const tokens = head.returnTokens ? { tokens: part.tokens } : {};
  const delta = part.kind === 'reasoning' ? { reasoning_content: part.text } : { content: part.text };
  const fields = head.endpoint === 'chat' ? { delta } : { text: part.text };
  return chunkOf(head, part.choice, { ...fields, ...tokens, ...logprobsOf(head, part, offset), finish_reason: null });
}

function logprobsOf(head: AnswerHead, { probabilities }: Pick<PartEvent, 'probabilities'>, offset: number): object {
  if (!head.logprobs || probabilities === undefined || probabilities.length === 0) return {};
  return { logprobs: head.endpoint === 'chat' ? { content: tokenLogprobs(probabilities), refusal: null } : textLogprobs(probabilities, offset) };
}

export function callChunk(head: AnswerHead, event: CallEvent): object {
  const call = event.kind === 'call'
    ? { index: event.call, id: head.newCallId(), type: 'function', function: { name: event.name, arguments: '' } }
    : { index: event.call, function: { arguments: event.text } };
  return chunkOf(head, event.choice, { delta: { tool_calls: [call] }, finish_reason: null });
}

export function finishChunk(head: AnswerHead, { choice, reason, usage }: FinishedEvent): object {
  const fields = head.endpoint === 'chat' ? { delta: {} } : { text: '' };
  return chunkOf(head, choice, { ...fields, finish_reason: reason }, { timings: timingsOf(usage) });
}

/** The chunk of `stream_options.include_usage`: no choice. */
export function usageChunk(head: AnswerHead, usage: AnswerUsage): object {
  return { ...chunkOf(head, 0, {}), choices: [], usage: usageOf(usage), timings: timingsOf(usage) };
}

/** The whole answer of a request without `stream`. */
export function wholeAnswer(head: AnswerHead, answer: WholeAnswer): object {
  return {
    id: head.id,
    object: head.endpoint === 'chat' ? 'chat.completion' : 'text_completion',
    created: head.created,
    model: answer.model,
    choices: answer.choices.map((choice, index) => ({
      index,
      ...(head.endpoint === 'chat' ? { message: messageOf(head, choice) } : { text: choice.text }),
      ...(head.returnTokens ? { tokens: choice.tokens } : {}),
      logprobs: null,
      ...logprobsOf(head, choice, 0),
      finish_reason: choice.reason,
    })),
    usage: usageOf(answer.usage),
    timings: timingsOf(answer.usage),
  };
}

function messageOf(head: AnswerHead, { text, reasoning, calls }: AnswerChoice): object {
  const called = calls.map((call) => ({ id: head.newCallId(), type: 'function', function: { name: call.name, arguments: call.arguments } }));
  return {
    role: 'assistant',
    content: text === '' && called.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(called.length === 0 ? {} : { tool_calls: called }),
    refusal: null,
  };
}

/** `created` is the start of this agent, in Unix seconds: files have no meaningful time in a cluster. */
export function modelObject(model: ModelView, created: number): object {
  return {
    id: model.name,
    object: 'model',
    created,
    owned_by: 'ring',
    meta: {
      digest: model.digest,
      size_bytes: model.sizeBytes,
      architecture: model.architecture,
      layers: model.layers,
      trained_context: model.trainedContext ?? null,
      held_by: model.heldBy,
      loaded: model.loaded,
    },
  };
}
