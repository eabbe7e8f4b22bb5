/**
 * Ollama's API, for clients that speak nothing else: chat and generate. What it says of models is in ollama-model-routes.ts.
 *
 * Streams are lines of JSON. An error before the first line has its own status; later it is a line `{"error": …}`, and
 * no line says `done`.
 */
import type { Hono } from 'hono';
import type { AgentService } from '../agent/service.js';
import type { FinishReason } from '../core/messages.js';
import type { AnswerUsage } from './answer-events.js';
import { Answering } from './answering.js';
import type { AnswerFormat } from './answering.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { timeText } from './ollama-model-routes.js';
import { parseOllamaChat, parseOllamaGenerate } from './ollama-schema.js';

const NANOS_PER_MILLI = 1e6;
/** White space before a line's JSON says nothing and keeps the connection. */
const HEARTBEAT = ' ';
const LINES_HEADERS = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' };

type Endpoint = 'chat' | 'generate';

export function addOllamaRoutes(app: Hono<ApiEnv>, service: Pick<AgentService, 'complete' | 'ready'>, options: ApiOptions): void {
  const answering = new Answering(service, options);
  app.post('/api/chat', async (context) => answering.answer(context, parseOllamaChat(await readJsonBody(context.req.raw), options), ollamaFormat('chat', options)));
  app.post('/api/generate', async (context) => answering.answer(context, parseOllamaGenerate(await readJsonBody(context.req.raw), options), ollamaFormat('generate', options)));
}

function ollamaFormat(endpoint: Endpoint, options: ApiOptions): AnswerFormat {
  let model = '';
  let reason: FinishReason = 'stop';

  function part(text: string, thinking = ''): object {
    const thoughts = thinking === '' ? {} : { thinking };
    const content = endpoint === 'chat' ? { message: { role: 'assistant', content: text, ...thoughts } } : { response: text, ...thoughts };
    return { model, created_at: timeText(options.now()), ...content };
  }

  /** Times in nanoseconds. Waiting for a slot is in the prompt's. */
  function lastPart(text: string, thinking: string, { promptTokens, completionTokens, timings }: AnswerUsage): object {
    return {
      ...part(text, thinking),
      done: true,
      done_reason: reason,
      total_duration: nanos(timings.totalMs),
      load_duration: 0,
      prompt_eval_count: promptTokens,
      prompt_eval_duration: nanos(timings.firstTokenMs),
      eval_count: completionTokens,
      eval_duration: nanos(Math.max(0, timings.totalMs - timings.firstTokenMs)),
    };
  }

  return {
    id: options.newId(),
    streamHeaders: LINES_HEADERS,
    heartbeat: HEARTBEAT,
    pieces(event) {
      switch (event.kind) {
        case 'started':
          model = event.model;
          return [];
        case 'text':
          return event.text === '' ? [] : [line({ ...part(event.text), done: false })];
        case 'reasoning':
          return event.text === '' ? [] : [line({ ...part('', event.text), done: false })];
        case 'finished':
          reason = event.reason;
          return [];
        case 'usage':
          return [line(lastPart('', '', event))];
      }
    },
    failure: ({ body }) => line({ error: body.error.message }),
    whole(answer) {
      const choice = answer.choices[0];
      model = answer.model;
      reason = choice?.reason ?? reason;
      return lastPart(choice?.text ?? '', choice?.reasoning ?? '', answer.usage);
    },
  };
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function nanos(millis: number): number {
  return Math.round(millis * NANOS_PER_MILLI);
}
