/**
 * What OpenAI's clients expect back, made from the agent's events. Shapes only: no HTTP, no streams, no clock.
 *
 * Two additions that other clients skip: `timings` (llama-server's names) beside `usage`, and `tokens` (ids) in a
 * choice when the request has `return_tokens`.
 */
import type { CompletionEvent, ModelView } from '../agent/service.js';
import type { FinishReason } from '../core/messages.js';

export type FinishedEvent = Extract<CompletionEvent, { kind: 'finished' }>;

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
}

export interface AnswerPart {
  readonly text: string;
  readonly tokens: readonly number[];
}

export function answerId(endpoint: Endpoint, unique: string): string {
  return `${endpoint === 'chat' ? 'chatcmpl' : 'cmpl'}-${unique}`;
}

function usageOf(finished: FinishedEvent): object {
  return {
    prompt_tokens: finished.promptTokens,
    completion_tokens: finished.completionTokens,
    total_tokens: finished.promptTokens + finished.completionTokens,
  };
}

/** llama-server's names. `prompt_ms` is the time to the first token: waiting for a slot is in it. */
function timingsOf(finished: FinishedEvent): object {
  const { firstTokenMs, totalMs, decodeTokensPerSecond } = finished.timings;
  return {
    prompt_n: finished.promptTokens,
    prompt_ms: firstTokenMs,
    prompt_per_second: firstTokenMs > 0 ? (finished.promptTokens * 1000) / firstTokenMs : 0,
    predicted_n: finished.completionTokens,
    predicted_ms: Math.max(0, totalMs - firstTokenMs),
    predicted_per_second: decodeTokensPerSecond,
    total_ms: totalMs,
  };
}

function chunkOf(head: AnswerHead, choice: object, extra: object = {}): object {
  return {
    id: head.id,
    object: head.endpoint === 'chat' ? 'chat.completion.chunk' : 'text_completion',
    created: head.created,
    model: head.model,
    choices: [{ index: 0, ...choice, logprobs: null }],
    ...(head.includeUsage ? { usage: null } : {}),
    ...extra,
  };
}

/** Opens a chat's stream; a text completion has no such chunk. */
export function roleChunk(head: AnswerHead): object {
  return chunkOf(head, { delta: { role: 'assistant', content: '' }, finish_reason: null });
}

export function partChunk(head: AnswerHead, part: AnswerPart): object {
  const tokens = head.returnTokens ? { tokens: part.tokens } : {};
  const choice = head.endpoint === 'chat' ? { delta: { content: part.text } } : { text: part.text };
  return chunkOf(head, { ...choice, ...tokens, finish_reason: null });
}

export function finishChunk(head: AnswerHead, finished: FinishedEvent): object {
  const choice = head.endpoint === 'chat' ? { delta: {} } : { text: '' };
  return chunkOf(head, { ...choice, finish_reason: finished.reason }, { timings: timingsOf(finished) });
}

/** The chunk of `stream_options.include_usage`: no choice. */
export function usageChunk(head: AnswerHead, finished: FinishedEvent): object {
  return { ...chunkOf(head, {}), choices: [], usage: usageOf(finished), timings: timingsOf(finished) };
}

/** The whole answer of a request without `stream`. */
export function wholeAnswer(head: AnswerHead, part: AnswerPart, finished: FinishedEvent): object {
  const reason: FinishReason = finished.reason;
  const tokens = head.returnTokens ? { tokens: part.tokens } : {};
  const choice = head.endpoint === 'chat'
    ? { message: { role: 'assistant', content: part.text, refusal: null } }
    : { text: part.text };
  return {
    id: head.id,
    object: head.endpoint === 'chat' ? 'chat.completion' : 'text_completion',
    created: head.created,
    model: head.model,
    choices: [{ index: 0, ...choice, ...tokens, logprobs: null, finish_reason: reason }],
    usage: usageOf(finished),
    timings: timingsOf(finished),
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
      trained_context: model.trainedContext,
      held_by: model.heldBy,
      loaded: model.loaded,
    },
  };
}
