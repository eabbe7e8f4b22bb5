/**
 * Anthropic's API: `POST /v1/messages`, streamed and whole, and `/v1/messages/count_tokens`.
 *
 * An error before the first event has its own status; later it is an `error` event, and no `message_stop` follows. An
 * answer that ended at a stop sequence says `end_turn`, as one that the model ended: the agent does not tell them apart.
 */
import type { Context, Hono } from 'hono';
import type { AgentService, CompletionEvent } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import type { FinishReason } from '../core/messages.js';
import { parseCountRequest, parseMessageRequest } from './anthropic-schema.js';
import { answerOfError, isServerFault } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { anthropicError } from './error-shapes.js';
import { readJsonBody } from './guards.js';
import { RequestAbort } from './request-abort.js';
import { EVENT_STREAM_HEADERS, eventStream, within } from './sse.js';

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

  app.post('/v1/messages', async (context: Context<ApiEnv>) => {
    const request = parseMessageRequest(await readJsonBody(context.req.raw), options);
    if (!service.ready()) throw new RingError('not_ready', 'This agent has not joined its cluster yet. It takes a few seconds after its start.');
    const abort = new RequestAbort([context.req.raw.signal, options.shutdown]);
    const id = `msg_${options.newId()}`;
    const events = service.complete(request.task, abort.signal)[Symbol.asyncIterator]();
    try {
      if (!request.stream) {
        const whole = await collect(events, id);
        abort.dispose();
        return context.json(whole);
      }
      const first = events.next();
      await within(first, options.heartbeatMs);
      const stream = eventStream(parts(first, events, id), {
        heartbeatMs: options.heartbeatMs,
        stallMs: options.stallMs,
        heartbeat: namedEvent({ type: 'ping' }),
        ended(reason) {
          if (reason === 'done') abort.dispose();
          else abort.abort();
          if (reason === 'client_stalled') context.env.outgoing?.destroy();
        },
      });
      return context.body(stream, 200, EVENT_STREAM_HEADERS);
    } catch (error) {
      abort.dispose();
      throw error;
    }
  });

  /** Errors included, so that it never throws. */
  async function* parts(first: Promise<IteratorResult<CompletionEvent>>, events: AsyncIterator<CompletionEvent>, id: string): AsyncGenerator<string> {
    try {
      for (let next = await first; next.done !== true; next = await events.next()) {
        const event = next.value;
        switch (event.kind) {
          case 'started':
            yield namedEvent({ type: 'message_start', message: { ...messageOf(id, event.model, null), content: [], usage: { input_tokens: event.promptTokens, output_tokens: 0 } } });
            yield namedEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
            break;
          case 'text':
            if (event.text !== '') yield namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: event.text } });
            break;
          case 'finished':
            yield namedEvent({ type: 'content_block_stop', index: 0 });
            yield namedEvent({ type: 'message_delta', delta: { stop_reason: STOP_REASONS[event.reason], stop_sequence: null }, usage: { input_tokens: event.promptTokens, output_tokens: event.completionTokens } });
            yield namedEvent({ type: 'message_stop' });
            return;
        }
      }
      throw unfinished();
    } catch (error) {
      if (isServerFault(error)) options.log.error('an answer failed', { id, error });
      const { status, body } = answerOfError(error);
      yield namedEvent({ ...anthropicError(status, body), type: 'error' });
    } finally {
      // Not awaited: it may be waiting for what the abort has just ended.
      events.return?.().catch(() => undefined);
    }
  }
}

async function collect(events: AsyncIterator<CompletionEvent>, id: string): Promise<object> {
  let model = '';
  const texts: string[] = [];
  for (;;) {
    const next = await events.next();
    if (next.done === true) throw unfinished();
    const event = next.value;
    if (event.kind === 'started') model = event.model;
    else if (event.kind === 'text') texts.push(event.text);
    else {
      await events.return?.();
      return {
        ...messageOf(id, model, STOP_REASONS[event.reason]),
        content: [{ type: 'text', text: texts.join('') }],
        usage: { input_tokens: event.promptTokens, output_tokens: event.completionTokens },
      };
    }
  }
}

function messageOf(id: string, model: string, stopReason: string | null): object {
  return { id, type: 'message', role: 'assistant', model, stop_reason: stopReason, stop_sequence: null };
}

function namedEvent(event: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function unfinished(): RingError {
  return new RingError('internal', 'The answer ended without a reason. The agent\'s log says more.');
}
