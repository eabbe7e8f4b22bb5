/**
 * Ollama's API, for clients that speak nothing else: chat and generate. What it says of models is in ollama-model-routes.ts.
 *
 * Streams are lines of JSON. An error before the first line has its own status; later it is a line `{"error": …}`, and
 * no line says `done`.
 */
import type { Context, Hono } from 'hono';
import type { AgentService, TextProbability } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { requestLife } from '../core/instance-life.js';
import { templateThinks } from '../core/reasoning.js';
import type { AnswerCall, AnswerReason, AnswerUsage } from './answer-events.js';
import { Answering } from './answering.js';
import type { AnswerFormat, AnsweringService } from './answering.js';
import { ApiError } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { tokenLogprobs } from './logprobs.js';
import { timeText } from './ollama-model-routes.js';
import { parseOllamaChat, parseOllamaGenerate, parseOllamaPresence, parseOllamaThink } from './ollama-schema.js';
import { underRequest } from './request-signal.js';

const NANOS_PER_MILLI = 1e6;
/** White space before a line's JSON says nothing and keeps the connection. */
const HEARTBEAT = ' ';
const LINES_HEADERS = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' };

type Endpoint = 'chat' | 'generate';
type OllamaService = AnsweringService & Pick<AgentService, 'details' | 'models' | 'status' | 'load' | 'unload'>;

export function addOllamaRoutes(app: Hono<ApiEnv>, service: OllamaService, options: ApiOptions): void {
  const answering = new Answering(service, options);
  app.post('/api/chat', async (context) => {
    const body = await readJsonBody(context.req.raw);
    const presence = parseOllamaPresence(body);
    if (presence !== null) return context.json({ ...await present(presence, context), message: { role: 'assistant', content: '' } });
    const request = parseOllamaChat(body, options);
    await checkThinking(context, body);
    return answering.answer(context, request, ollamaFormat('chat', options));
  });
  app.post('/api/generate', async (context) => {
    const body = await readJsonBody(context.req.raw);
    const presence = parseOllamaPresence(body);
    if (presence !== null) return context.json({ ...await present(presence, context), response: '' });
    const request = parseOllamaGenerate(body, options);
    await checkThinking(context, body);
    return answering.answer(context, request, ollamaFormat('generate', options));
  });

  /** In Ollama's words: clients look for them, and ask again without. */
  async function checkThinking(context: Context<ApiEnv>, body: unknown): Promise<void> {
    const asked = parseOllamaThink(body);
    if (asked === null) return;
    const details = await underRequest(context, options, (signal) => service.details(asked.model, signal)).catch((error: unknown) => {
      // A name of the catalogue, or none: whoever answers says what there is.
      if (error instanceof RingError && error.code === 'unknown_model') return null;
      throw error;
    });
    if (details !== null && !templateThinks(details.chatTemplate ?? '')) {
      throw new ApiError({ status: 400, code: 'unsupported_parameter', param: 'think', message: `${JSON.stringify(asked.model)} does not support thinking` });
    }
  }

  /** A request without a question loads the model, or unloads it when it is to stay for no time. */
  async function present({ model, keepAliveMs }: { readonly model: string; readonly keepAliveMs?: number | null }, context: Context<ApiEnv>): Promise<object> {
    const common = { model, created_at: timeText(options.now()), done: true };
    if (keepAliveMs === 0) {
      const digest = service.models().find((one) => one.name === model)?.digest;
      const instance = service.status().instances.find((one) => one.modelDigest === digest || one.model === model);
      if (instance?.life.pinned === true) throw new RingError('bad_request', `model ${JSON.stringify(model.slice(0, 100))} is pinned: "agent models unpin" comes first`);
      if (instance !== undefined) await service.unload(instance.instanceId);
      return { ...common, done_reason: 'unload' };
    }
    const life = keepAliveMs === undefined ? 'usual' : requestLife(keepAliveMs);
    await underRequest(context, options, (signal) => service.load({ model, policy: 'auto', nodes: null, contextTokens: null, slots: null, life }, signal));
    return { ...common, done_reason: 'load' };
  }
}

function ollamaFormat(endpoint: Endpoint, options: ApiOptions): AnswerFormat {
  let model = '';
  let reason: AnswerReason = 'stop';
  /** Clients of this API get a call whole. */
  const calls: { name: string; arguments: string }[] = [];

  interface Said {
    readonly text?: string;
    readonly thinking?: string;
    readonly calls?: readonly AnswerCall[];
    readonly probabilities?: readonly TextProbability[] | undefined;
  }

  function part({ text = '', thinking = '', calls: called = [], probabilities = [] }: Said): object {
    const thoughts = thinking === '' ? {} : { thinking };
    const toolCalls = called.length === 0 ? {} : { tool_calls: called.map((call, index) => ({ id: `call_${options.newId()}`, function: { index, name: call.name, arguments: argumentsOf(call) } })) };
    const content = endpoint === 'chat' ? { message: { role: 'assistant', content: text, ...thoughts, ...toolCalls } } : { response: text, ...thoughts };
    return { model, created_at: timeText(options.now()), ...content, ...(probabilities.length === 0 ? {} : { logprobs: tokenLogprobs(probabilities) }) };
  }

  /** Times in nanoseconds. Waiting for a slot is in the prompt's. */
  function lastPart(said: Said, { promptTokens, completionTokens, timings }: AnswerUsage): object {
    return {
      ...part(said),
      done: true,
      done_reason: reason === 'length' ? 'length' : 'stop',
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
        case 'reasoning': {
          const { text, probabilities } = event;
          if (text === '' && (probabilities ?? []).length === 0) return [];
          return [line({ ...part({ ...(event.kind === 'text' ? { text } : { thinking: text }), probabilities }), done: false })];
        }
        case 'call':
          calls.push({ name: event.name, arguments: '' });
          return [];
        case 'arguments': {
          const call = calls[event.call];
          if (call !== undefined) call.arguments += event.text;
          return [];
        }
        case 'finished':
          reason = event.reason;
          return calls.length === 0 ? [] : [line({ ...part({ calls }), done: false })];
        case 'usage':
          return [line(lastPart({}, event))];
      }
    },
    trace: (traces) => line({ ...part({}), done: false, ring_trace: traces }),
    failure: ({ body }) => line({ error: body.error.message }),
    whole(answer) {
      const choice = answer.choices[0];
      model = answer.model;
      reason = choice?.reason ?? reason;
      return lastPart(choice === undefined ? {} : { text: choice.text, thinking: choice.reasoning, calls: choice.calls, probabilities: choice.probabilities }, answer.usage);
    },
  };
}

/** A call that the limit of tokens has cut off has none. */
function argumentsOf(call: AnswerCall): unknown {
  try {
    return JSON.parse(call.arguments);
  } catch {
    return {};
  }
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function nanos(millis: number): number {
  return Math.round(millis * NANOS_PER_MILLI);
}
