/**
 * Ollama's API, for clients that speak nothing else: chat, generate, tags, show, ps, version. Models cannot be pulled or
 * made through it.
 *
 * Streams are lines of JSON. An error before the first line has its own status; later it is a line `{"error": …}`, and
 * no line says `done`.
 */
import type { Hono } from 'hono';
import type { AgentService, ModelView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import type { FinishReason } from '../core/messages.js';
import type { AnswerUsage } from './answer-events.js';
import { Answering } from './answering.js';
import type { AnswerFormat } from './answering.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { parseOllamaChat, parseOllamaGenerate, parseOllamaShow } from './ollama-schema.js';

const NANOS_PER_MILLI = 1e6;
/** White space before a line's JSON says nothing and keeps the connection. */
const HEARTBEAT = ' ';
const LINES_HEADERS = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' };
/** Ollama says when a model will be unloaded; here it stays until somebody unloads it. */
const NEVER = '2318-01-01T00:00:00Z';

type Endpoint = 'chat' | 'generate';

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
