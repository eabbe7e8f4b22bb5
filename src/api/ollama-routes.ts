/**
 * Ollama's API, for clients that speak nothing else: chat, generate, tags, show, ps, version. Models cannot be pulled or
 * made through it.
 *
 * Streams are lines of JSON. An error before the first line has its own status; later it is a line `{"error": …}`, and
 * no line says `done`.
 */
import type { Context, Hono } from 'hono';
import type { AgentService, CompletionEvent, ModelView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { answerOfError, isServerFault } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { parseOllamaChat, parseOllamaGenerate, parseOllamaShow } from './ollama-schema.js';
import type { CompletionRequest } from './openai-schema.js';
import { RequestAbort } from './request-abort.js';
import { eventStream, within } from './sse.js';

const NANOS_PER_MILLI = 1e6;
/** White space before a line's JSON says nothing and keeps the connection. */
const HEARTBEAT = ' ';
const LINES_HEADERS = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' };
/** Ollama says when a model will be unloaded; here it stays until somebody unloads it. */
const NEVER = '2318-01-01T00:00:00Z';

type Endpoint = 'chat' | 'generate';
type FinishedEvent = Extract<CompletionEvent, { kind: 'finished' }>;

export function addOllamaRoutes(app: Hono<ApiEnv>, service: Pick<AgentService, 'complete' | 'models' | 'ready' | 'status'>, options: ApiOptions): void {
  app.get('/api/version', (context) => context.json({ version: options.agentVersion }));
  app.get('/api/tags', (context) => context.json({ models: service.models().map((model) => tagOf(model, options)) }));
  app.get('/api/ps', (context) => context.json({
    models: service.models().filter((model) => model.loaded).map((model) => {
      const instance = service.status().instances.find((one) => one.modelDigest === model.digest);
      const residentBytes = (instance?.stages ?? []).reduce((sum, stage) => sum + stage.residentBytes, 0);
      return { ...tagOf(model, options), size: residentBytes, size_vram: 0, expires_at: NEVER, context_length: instance?.contextTokens ?? 0 };
    }),
  }));
  app.post('/api/show', async (context) => {
    const name = parseOllamaShow(await readJsonBody(context.req.raw));
    const model = service.models().find((one) => one.name === name);
    if (model === undefined) throw new RingError('unknown_model', `model ${JSON.stringify(name.slice(0, 100))} not found: GET /api/tags lists those that there are`);
    const { architecture } = model;
    return context.json({
      modelfile: '', parameters: '', template: '', details: tagOf(model, options).details, capabilities: ['completion'], modified_at: timeText(options.startedAt),
      model_info: {
        'general.architecture': architecture,
        [`${architecture}.block_count`]: model.layers,
        ...(model.trainedContext === null ? {} : { [`${architecture}.context_length`]: model.trainedContext }),
      },
    });
  });
  app.post('/api/chat', async (context) => answer(context, 'chat', parseOllamaChat(await readJsonBody(context.req.raw), options)));
  app.post('/api/generate', async (context) => answer(context, 'generate', parseOllamaGenerate(await readJsonBody(context.req.raw), options)));

  async function answer(context: Context<ApiEnv>, endpoint: Endpoint, request: CompletionRequest): Promise<Response> {
    if (!service.ready()) throw new RingError('not_ready', 'This agent has not joined its cluster yet. It takes a few seconds after its start.');
    const abort = new RequestAbort([context.req.raw.signal, options.shutdown]);
    const events = service.complete(request.task, abort.signal)[Symbol.asyncIterator]();
    try {
      if (!request.stream) {
        const whole = await collect(events, endpoint);
        abort.dispose();
        return context.json(whole);
      }
      const first = events.next();
      await within(first, options.heartbeatMs);
      const stream = eventStream(lines(first, events, endpoint), {
        heartbeatMs: options.heartbeatMs,
        stallMs: options.stallMs,
        heartbeat: HEARTBEAT,
        ended(reason) {
          if (reason === 'done') abort.dispose();
          else abort.abort();
          if (reason === 'client_stalled') context.env.outgoing?.destroy();
        },
      });
      return context.body(stream, 200, LINES_HEADERS);
    } catch (error) {
      abort.dispose();
      throw error;
    }
  }

  /** Errors included, so that it never throws. */
  async function* lines(first: Promise<IteratorResult<CompletionEvent>>, events: AsyncIterator<CompletionEvent>, endpoint: Endpoint): AsyncGenerator<string> {
    try {
      let model = '';
      for (let next = await first; next.done !== true; next = await events.next()) {
        const event = next.value;
        if (event.kind === 'started') model = event.model;
        else if (event.kind === 'finished') yield line(finishedPart(endpoint, model, '', event));
        else if (event.text !== '') yield line({ ...textPart(endpoint, model, event.text), done: false });
      }
    } catch (error) {
      if (isServerFault(error)) options.log.error('an answer failed', { error });
      yield line({ error: answerOfError(error).body.error.message });
    } finally {
      // Not awaited: it may be waiting for what the abort has just ended.
      events.return?.().catch(() => undefined);
    }
  }

  async function collect(events: AsyncIterator<CompletionEvent>, endpoint: Endpoint): Promise<object> {
    let model = '';
    const texts: string[] = [];
    for (;;) {
      const next = await events.next();
      if (next.done === true) throw new RingError('internal', 'The answer ended without a reason. The agent\'s log says more.');
      const event = next.value;
      if (event.kind === 'started') model = event.model;
      else if (event.kind === 'text') texts.push(event.text);
      else {
        await events.return?.();
        return finishedPart(endpoint, model, texts.join(''), event);
      }
    }
  }

  function textPart(endpoint: Endpoint, model: string, text: string): object {
    const content = endpoint === 'chat' ? { message: { role: 'assistant', content: text } } : { response: text };
    return { model, created_at: timeText(options.now()), ...content };
  }

  /** Times in nanoseconds. Waiting for a slot is in the prompt's. */
  function finishedPart(endpoint: Endpoint, model: string, text: string, { reason, promptTokens, completionTokens, timings }: FinishedEvent): object {
    return {
      ...textPart(endpoint, model, text),
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
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function nanos(millis: number): number {
  return Math.round(millis * NANOS_PER_MILLI);
}

function timeText(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString();
}

function tagOf(model: ModelView, { startedAt }: ApiOptions) {
  return {
    name: model.name,
    model: model.name,
    modified_at: timeText(startedAt),
    size: model.sizeBytes,
    digest: model.digest,
    details: { parent_model: '', format: 'gguf', family: model.architecture, families: [model.architecture], parameter_size: '', quantization_level: '' },
  };
}
