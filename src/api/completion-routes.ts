/** `POST /v1/chat/completions` and `POST /v1/completions`, streamed and whole. */
import type { Hono } from 'hono';
import type { AnswerEvent } from './answer-events.js';
import { Answering } from './answering.js';
import type { AnswerFormat, AnsweringService } from './answering.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { answerId, callChunk, finishChunk, partChunk, roleChunk, usageChunk, wholeAnswer } from './openai-responses.js';
import type { AnswerHead, Endpoint } from './openai-responses.js';
import { parseChatRequest, parseTextRequest } from './openai-schema.js';
import type { CompletionRequest } from './openai-schema.js';
import { EVENT_STREAM_HEADERS, sseEvent } from './sse.js';

export function addCompletionRoutes(app: Hono<ApiEnv>, service: AnsweringService, options: ApiOptions): void {
  const answering = new Answering(service, options);
  app.post('/v1/chat/completions', async (context) => {
    const request = parseChatRequest(await readJsonBody(context.req.raw), options);
    return answering.answer(context, request, openAiFormat('chat', request, options));
  });
  app.post('/v1/completions', async (context) => {
    const request = parseTextRequest(await readJsonBody(context.req.raw), options);
    return answering.answer(context, request, openAiFormat('text', request, options));
  });
}

function openAiFormat(endpoint: Endpoint, request: CompletionRequest, options: ApiOptions): AnswerFormat {
  let head: AnswerHead = {
    endpoint,
    id: answerId(endpoint, options.newId()),
    created: options.now(),
    model: '',
    includeUsage: request.includeUsage,
    returnTokens: request.returnTokens,
    logprobs: request.task.sampling.probabilities !== undefined,
    newCallId: () => `call_${options.newId()}`,
  };

  /** Characters that each choice's text has so far. */
  const lengths = new Map<number, number>();

  function chunks(event: AnswerEvent): readonly object[] {
    switch (event.kind) {
      case 'started':
        head = { ...head, model: event.model };
        return endpoint === 'chat' ? Array.from({ length: request.choices }, (_, choice) => roleChunk(head, choice)) : [];
      case 'text':
      case 'reasoning':
        return partChunks(event);
      case 'call':
      case 'arguments':
        return [callChunk(head, event)];
      case 'finished':
        return [finishChunk(head, event)];
      case 'usage':
        return head.includeUsage ? [usageChunk(head, event)] : [];
    }
  }

  function partChunks(event: Extract<AnswerEvent, { kind: 'text' | 'reasoning' }>): readonly object[] {
    const offset = lengths.get(event.choice) ?? 0;
    lengths.set(event.choice, offset + event.text.length);
    const tells = event.text !== '' || (head.returnTokens && event.tokens.length > 0) || (event.probabilities ?? []).length > 0;
    return tells ? [partChunk(head, event, offset)] : [];
  }

  return {
    id: head.id,
    streamHeaders: EVENT_STREAM_HEADERS,
    pieces: (event) => [...chunks(event).map((chunk) => sseEvent(JSON.stringify(chunk))), ...(event.kind === 'usage' ? [sseEvent('[DONE]')] : [])],
    failure: ({ body }) => sseEvent(JSON.stringify(body)),
    whole: (answer) => wholeAnswer(head, answer),
  };
}
