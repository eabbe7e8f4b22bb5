/**
 * `POST /v1/chat/completions` and `POST /v1/completions`, streamed and whole.
 *
 * An error before the first event has its own status, also for a stream: the answer's headers wait for the first event,
 * but no longer than a heartbeat (a model may take minutes to load, and clients give up on silence). After that an error
 * is an event, and the stream ends without `[DONE]`, so that no client takes half an answer for a whole one.
 */
import type { Context, Hono } from 'hono';
import type { AgentService, CompletionEvent } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { answerOfError, isServerFault } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { answerId, finishChunk, partChunk, roleChunk, usageChunk, wholeAnswer } from './openai-responses.js';
import type { AnswerHead, AnswerPart, Endpoint, FinishedEvent } from './openai-responses.js';
import { parseChatRequest, parseTextRequest } from './openai-schema.js';
import type { CompletionRequest } from './openai-schema.js';
import { RequestAbort } from './request-abort.js';
import { EVENT_STREAM_HEADERS, eventStream, sseEvent, within } from './sse.js';

export function addCompletionRoutes(app: Hono<ApiEnv>, service: Pick<AgentService, 'complete' | 'ready'>, options: ApiOptions): void {
  app.post('/v1/chat/completions', async (context) =>
    answer(context, 'chat', parseChatRequest(await readJsonBody(context.req.raw), options)));
  app.post('/v1/completions', async (context) =>
    answer(context, 'text', parseTextRequest(await readJsonBody(context.req.raw), options)));

  async function answer(context: Context<ApiEnv>, endpoint: Endpoint, request: CompletionRequest): Promise<Response> {
    if (!service.ready()) {
      throw new RingError('not_ready', 'This agent takes no request now: it has just started and not joined its cluster yet, or it is about to stop. Ask again in a few seconds, or ask another node.');
    }
    const abort = new RequestAbort([context.req.raw.signal, options.shutdown]);
    const head = {
      endpoint,
      id: answerId(endpoint, options.newId()),
      created: options.now(),
      includeUsage: request.includeUsage,
      returnTokens: request.returnTokens,
    };
    let first: Promise<IteratorResult<CompletionEvent>>;
    let events: AsyncIterator<CompletionEvent>;
    try {
      events = service.complete(request.task, abort.signal)[Symbol.asyncIterator]();
      if (!request.stream) {
        const whole = await collect(events, head);
        // The agent's side ends with its last event only when it is told so.
        await events.return?.();
        abort.dispose();
        return context.json(whole);
      }
      first = events.next();
      await within(first, options.heartbeatMs);
    } catch (error) {
      abort.dispose();
      throw stoppingError(error);
    }
    const stream = eventStream(chunks(first, events, head), {
      heartbeatMs: options.heartbeatMs,
      stallMs: options.stallMs,
      ended(reason) {
        if (reason === 'done') abort.dispose();
        else abort.abort();
        if (reason !== 'client_stalled') return;
        options.log.warn('a client stopped reading its answer and was dropped', { id: head.id });
        context.env.outgoing?.destroy();
      },
    });
    return context.body(stream, 200, EVENT_STREAM_HEADERS);
  }

  /** The whole of a stream's events; errors included, so that it never throws. */
  async function* chunks(
    first: Promise<IteratorResult<CompletionEvent>>,
    events: AsyncIterator<CompletionEvent>,
    request: Omit<AnswerHead, 'model'>,
  ): AsyncGenerator<string> {
    try {
      let head: AnswerHead = { ...request, model: '' };
      for (let next = await first; next.done !== true; next = await events.next()) {
        const event = next.value;
        switch (event.kind) {
          case 'started':
            head = { ...request, model: event.model };
            if (head.endpoint === 'chat') yield sseEvent(JSON.stringify(roleChunk(head)));
            break;
          case 'text':
            if (event.text !== '' || (head.returnTokens && event.tokens.length > 0)) {
              yield sseEvent(JSON.stringify(partChunk(head, event)));
            }
            break;
          case 'finished':
            yield sseEvent(JSON.stringify(finishChunk(head, event)));
            if (head.includeUsage) yield sseEvent(JSON.stringify(usageChunk(head, event)));
            yield sseEvent('[DONE]');
            return;
        }
      }
      throw unfinished();
    } catch (error) {
      const failure = stoppingError(error);
      if (isServerFault(failure)) options.log.error('an answer failed', { id: request.id, error: failure });
      yield sseEvent(JSON.stringify(answerOfError(failure).body));
    } finally {
      // Does nothing after the end; frees the agent's side when the client has left. Not awaited: it may be waiting
      // for what the abort has just ended.
      events.return?.().catch(() => undefined);
    }
  }

  /** When the agent stops, answers end because of that, whatever the agent's inside says about it. */
  function stoppingError(error: unknown): unknown {
    if (!options.shutdown.aborted) return error;
    return new RingError('not_ready', 'The agent is stopping; ask another one of the cluster.', {}, { cause: error });
  }
}

async function collect(events: AsyncIterator<CompletionEvent>, request: Omit<AnswerHead, 'model'>): Promise<object> {
  let model = '';
  const texts: string[] = [];
  const tokens: number[] = [];
  let finished: FinishedEvent | null = null;
  while (finished === null) {
    const next = await events.next();
    if (next.done === true) throw unfinished();
    const event = next.value;
    switch (event.kind) {
      case 'started':
        model = event.model;
        break;
      case 'text':
        texts.push(event.text);
        tokens.push(...event.tokens);
        break;
      case 'finished':
        finished = event;
        break;
    }
  }
  const part: AnswerPart = { text: texts.join(''), tokens };
  return wholeAnswer({ ...request, model }, part, finished);
}

function unfinished(): RingError {
  return new RingError('internal', 'The answer ended without a reason. The agent\'s log says more.');
}
