/**
 * OpenAI's Responses API: `POST /v1/responses`, streamed and whole, and `GET` and `DELETE /v1/responses/{id}` for the last
 * ones, which this agent alone has in memory.
 */
import type { Hono } from 'hono';
import { Answering } from './answering.js';
import type { AnswerFormat, AnsweringService } from './answering.js';
import { ApiError } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { clientOf } from './clients.js';
import { readJsonBody } from './guards.js';
import { parseResponseRequest } from './responses-schema.js';
import type { ResponseRequest } from './responses-schema.js';
import { ResponseStore } from './responses-store.js';
import { ResponseWriter } from './responses-writer.js';
import type { ResponseEvent } from './responses-writer.js';
import { EVENT_STREAM_HEADERS } from './sse.js';

export function addResponsesRoutes(app: Hono<ApiEnv>, service: AnsweringService, options: ApiOptions): void {
  const answering = new Answering(service, options);
  const store = new ResponseStore();

  app.post('/v1/responses', async (context) => {
    const client = clientOf(context, options);
    const body = await readJsonBody(context.req.raw);
    const request = parseResponseRequest(body, options, (id) => store.get(id, client)?.messages ?? null);
    return answering.answer(context, request.completion, responsesFormat(request, client));
  });

  app.get('/v1/responses/:id', (context) => {
    const kept = store.get(context.req.param('id'), clientOf(context, options));
    if (kept === null) throw notFound(context.req.param('id'));
    return context.json(kept.response);
  });

  app.delete('/v1/responses/:id', (context) => {
    const id = context.req.param('id');
    if (!store.remove(id, clientOf(context, options))) throw notFound(id);
    return context.json({ id, object: 'response', deleted: true });
  });

  function responsesFormat({ messages, repeated, store: isKept }: ResponseRequest, client: string): AnswerFormat {
    const id = `resp_${options.newId()}`;
    const writer = new ResponseWriter({ id, created: options.now(), repeated }, options.newId);
    const keep = (response: object): void => {
      if (isKept) store.put(id, { client, messages: [...messages, writer.message()], response });
    };
    return {
      id,
      streamHeaders: EVENT_STREAM_HEADERS,
      pieces(event) {
        const events = writer.events(event);
        const last = events.at(-1);
        if (event.kind === 'usage' && typeof last?.['response'] === 'object' && last['response'] !== null) keep(last['response']);
        return events.map(namedEvent);
      },
      failure: ({ body }) => writer.failed(body.error).map(namedEvent).join(''),
      whole(answer) {
        const response = writer.whole(answer);
        keep(response);
        return response;
      },
    };
  }
}

function notFound(id: string): ApiError {
  return new ApiError({ status: 404, code: 'response_not_found', param: 'id', message: `There is no response ${JSON.stringify(id.slice(0, 100))} here: this agent keeps the last ones in memory only.` });
}

function namedEvent(event: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
