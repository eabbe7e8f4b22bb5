/**
 * Anthropic's API: `POST /v1/messages`, streamed and whole, and `/v1/messages/count_tokens`.
 *
 * An error before the first event has its own status; later it is an `error` event, and no `message_stop` follows. An
 * answer that ended at a stop sequence says `end_turn`, as one that the model ended: the agent does not tell them apart.
 */
import type { Hono } from 'hono';
import type { AgentService } from '../agent/service.js';
import type { FinishReason } from '../core/messages.js';
import type { AnswerEvent, AnswerUsage } from './answer-events.js';
import { Answering } from './answering.js';
import type { AnswerFormat } from './answering.js';
import { parseCountRequest, parseMessageRequest } from './anthropic-schema.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { anthropicError } from './error-shapes.js';
import { readJsonBody } from './guards.js';
import { RequestAbort } from './request-abort.js';
import { EVENT_STREAM_HEADERS } from './sse.js';

const STOP_REASONS: Readonly<Record<FinishReason, string>> = { stop: 'end_turn', length: 'max_tokens' };

export function addAnthropicRoutes(app: Hono<ApiEnv>, service: Pick<AgentService, 'complete' | 'countTokens' | 'ready'>, options: ApiOptions): void {
  app.post('/v1/messages/count_tokens', async (context) => {
    const { model, prompt } = parseCountRequest(await readJsonBody(context.req.raw));
    const abort = new RequestAbort([context.req.raw.signal, options.shutdown]);
    try {
      return context.json({ input_tokens: await service.countTokens(model, prompt, abort.signal) });
    } finally {
      abort.dispose();
    }
  });

  const answering = new Answering(service, options);
  app.post('/v1/messages', async (context) =>
    answering.answer(context, parseMessageRequest(await readJsonBody(context.req.raw), options), anthropicFormat(options)));
}

function anthropicFormat(options: ApiOptions): AnswerFormat {
  const id = `msg_${options.newId()}`;
  let reason: FinishReason = 'stop';

  function eventsOf(event: AnswerEvent): readonly AnthropicEvent[] {
    switch (event.kind) {
      case 'started':
        return [
          { type: 'message_start', message: { ...messageOf(id, event.model, null), content: [], usage: { input_tokens: event.promptTokens, output_tokens: 0 } } },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ];
      case 'text':
        return event.text === '' ? [] : [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: event.text } }];
      case 'finished':
        reason = event.reason;
        return [{ type: 'content_block_stop', index: 0 }];
      case 'usage':
        return [
          { type: 'message_delta', delta: { stop_reason: STOP_REASONS[reason], stop_sequence: null }, usage: usageOf(event) },
          { type: 'message_stop' },
        ];
    }
  }

  return {
    id,
    streamHeaders: EVENT_STREAM_HEADERS,
    heartbeat: namedEvent({ type: 'ping' }),
    pieces: (event) => eventsOf(event).map(namedEvent),
    failure: ({ status, body }) => namedEvent({ ...anthropicError(status, body), type: 'error' }),
    whole({ model, choices, usage }) {
      const choice = choices[0];
      return {
        ...messageOf(id, model, STOP_REASONS[choice?.reason ?? reason]),
        content: [{ type: 'text', text: choice?.text ?? '' }],
        usage: usageOf(usage),
      };
    },
  };
}

function usageOf({ promptTokens, completionTokens }: AnswerUsage): object {
  return { input_tokens: promptTokens, output_tokens: completionTokens };
}

function messageOf(id: string, model: string, stopReason: string | null): object {
  return { id, type: 'message', role: 'assistant', model, stop_reason: stopReason, stop_sequence: null };
}

interface AnthropicEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

function namedEvent(event: AnthropicEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
