/**
 * Ollama's requests as data of ours: its names are translated to those of openai-schema.ts, which checks ranges.
 *
 * Defaults are Ollama's: temperature 0.8, top_k 40, top_p 0.9, answers streamed. Its repeat_penalty looks at the last 64
 * tokens and ours at all, so it is off unless asked for. What would change the answer and is not supported is refused by
 * name; what is about Ollama's own memory (num_ctx, num_gpu, …) passes: here the plan decides. It must not know HTTP.
 */
import { z } from 'zod';
import { MAX_ALTERNATIVES } from '../core/step-types.js';
import { ApiError } from './api-error.js';
import { keepAliveField } from './keep-alive-field.js';
import { MODEL_NAME_LENGTH_MAX, parseChatRequest, parseFields, parseTextRequest, thinkingVariables } from './openai-schema.js';
import type { CompletionRequest, ParseOptions } from './openai-schema.js';

/** Options that change how the same answer is computed, or for how long the model stays. */
const PASSED_OPTIONS: ReadonlySet<string> = new Set([
  'num_ctx', 'num_batch', 'num_gpu', 'main_gpu', 'num_thread', 'num_keep', 'use_mmap', 'use_mlock', 'numa', 'low_vram', 'f16_kv', 'logits_all', 'vocab_only', 'embedding_only',
]);
/** Samplers that are not here, and the values at which they do nothing. */
const NEUTRAL_OPTIONS: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['mirostat', [0]], ['tfs_z', [0, 1]], ['typical_p', [0, 1]], ['penalize_newline', [true]],
]);
/** What tunes a sampler that is off. */
const IDLE_OPTIONS: ReadonlySet<string> = new Set(['mirostat_tau', 'mirostat_eta']);
/** Names that both have. */
const SAME_OPTIONS: ReadonlySet<string> = new Set(['temperature', 'top_k', 'top_p', 'min_p', 'seed', 'stop', 'repeat_penalty', 'presence_penalty', 'frequency_penalty']);
/** Anything below zero is no limit: Ollama has -1 and -2. */
const NO_LIMIT = -1;

const formatField = z.union([z.literal('json'), z.literal(''), z.record(z.string(), z.unknown())], 'must be "json" or a JSON schema').nullish();
const earlierCall = z.looseObject({ id: z.string().optional(), function: z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }) });

const nothing = z.union([z.null(), z.literal(''), z.tuple([])], 'is not supported').optional();

const commonFields = {
  model: z.string().max(MODEL_NAME_LENGTH_MAX),
  stream: z.boolean().default(true),
  options: z.record(z.string(), z.unknown()).default({}),
  keep_alive: keepAliveField.nullish(),
  format: formatField,
  /** Absent = as the model's template has it. */
  think: z.union([z.boolean(), z.enum(['low', 'medium', 'high'])], 'must be true, false, "low", "medium" or "high"').nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(MAX_ALTERNATIVES).nullish(),
  /** Of a conversation that is too long: it is refused here. */
  truncate: z.boolean().nullish(),
  shift: z.boolean().nullish(),
};

const messageSchema = z.strictObject({ role: z.string(), content: z.string(), images: nothing, tool_calls: z.array(earlierCall).nullish(), tool_name: z.string().nullish(), tool_call_id: z.string().nullish(), thinking: z.string().nullish() });
const chatSchema = z.strictObject({ ...commonFields, messages: z.array(messageSchema), tools: z.array(z.unknown()).nullish() });
const generateSchema = z.strictObject({
  ...commonFields, prompt: z.string(), system: z.string().default(''), raw: z.boolean().default(false),
  suffix: nothing, template: nothing, context: nothing, images: nothing,
});
const emptyFields = { model: z.string().max(MODEL_NAME_LENGTH_MAX), keep_alive: keepAliveField.nullish() };
const presenceSchema = z.union([
  z.looseObject({ ...emptyFields, messages: z.tuple([]) }),
  z.looseObject({ ...emptyFields, prompt: z.literal('').optional(), messages: z.undefined().optional() }),
]);
const thinkSchema = z.looseObject({ model: z.string().max(MODEL_NAME_LENGTH_MAX), think: z.union([z.literal(true), z.string()]) });
const showSchema = z.looseObject({ model: z.string().max(MODEL_NAME_LENGTH_MAX).optional(), name: z.string().max(MODEL_NAME_LENGTH_MAX).optional() });

/** The body of `POST /api/chat`. Throws a 400 naming the field. */
export function parseOllamaChat(body: unknown, options: ParseOptions): CompletionRequest {
  const fields = parseFields(chatSchema, body);
  return staying(fields.keep_alive, parseChatRequest({ ...sharedFields(fields), ...templateVariables(fields.think), ...logprobFields(fields), messages: messagesOf(fields.messages), ...(fields.tools ? { tools: fields.tools } : {}) }, options));
}

/** The body of `POST /api/generate`: a question, unless it is `raw`. */
export function parseOllamaGenerate(body: unknown, options: ParseOptions): CompletionRequest {
  const fields = parseFields(generateSchema, body);
  if (fields.raw) return staying(fields.keep_alive, parseTextRequest({ ...sharedFields(fields), ...(fields.logprobs === true ? { logprobs: fields.top_logprobs ?? 0 } : {}), prompt: fields.prompt }, options));
  const system = fields.system === '' ? [] : [{ role: 'system', content: fields.system }];
  return staying(fields.keep_alive, parseChatRequest({ ...sharedFields(fields), ...logprobFields(fields), ...templateVariables(fields.think), messages: [...system, { role: 'user', content: fields.prompt }] }, options));
}

/** Calls have no ids here: results come in the order of the calls. */
function messagesOf(messages: readonly z.output<typeof messageSchema>[]): readonly object[] {
  const open: string[] = [];
  let serial = 0;
  return messages.map(({ role, content, thinking, tool_calls: calls, tool_name: name, tool_call_id: given }) => {
    const toolCalls = (calls ?? []).map((call) => {
      serial += 1;
      const id = call.id ?? `call_${serial}`;
      open.push(id);
      return { id, type: 'function', function: { name: call.function.name, arguments: JSON.stringify(call.function.arguments) } };
    });
    const result = role === 'tool' ? { tool_call_id: given ?? open.shift() ?? '', ...(name ? { name } : {}) } : {};
    return { role, content, ...(thinking ? { reasoning_content: thinking } : {}), ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }), ...result };
  });
}

function logprobFields({ logprobs, top_logprobs: top }: { readonly logprobs?: boolean | null | undefined; readonly top_logprobs?: number | null | undefined }): object {
  return logprobs === true ? { logprobs, top_logprobs: top ?? 0 } : {};
}

function staying(keepAlive: { readonly ms: number | null } | null | undefined, request: CompletionRequest): CompletionRequest {
  return keepAlive === undefined || keepAlive === null ? request : { ...request, task: { ...request.task, keepAliveMs: keepAlive.ms } };
}

/**
 * A chat without messages or a prompt that is empty asks for no answer: the model is to be loaded, or (`keepAliveMs` 0)
 * unloaded. Null = an answer is wanted. `keepAliveMs` null = for ever; absent = nothing is said of it.
 */
export function parseOllamaPresence(body: unknown): { readonly model: string; readonly keepAliveMs?: number | null } | null {
  const presence = presenceSchema.safeParse(body);
  if (!presence.success) return null;
  const { model, keep_alive: keepAlive } = presence.data;
  return { model: modelName(model), ...(keepAlive === undefined || keepAlive === null ? {} : { keepAliveMs: keepAlive.ms }) };
}

/** Whether the model is to think aloud; null = it is not said, or there is nothing to say. */
export function parseOllamaThink(body: unknown): { readonly model: string } | null {
  const asked = thinkSchema.safeParse(body);
  return asked.success ? { model: modelName(asked.data.model) } : null;
}

/** The model that `POST /api/show` asks about. */
export function parseOllamaShow(body: unknown): string {
  const { model, name } = parseFields(showSchema, body);
  return modelName(model ?? name ?? '');
}

/** Ollama's clients add a tag; names here have none of this sort. */
function modelName(name: string): string {
  return name.replace(/:latest$/, '');
}

interface SharedFields {
  readonly model: string;
  readonly stream: boolean;
  readonly think?: boolean | string | null | undefined;
  readonly format?: string | Readonly<Record<string, unknown>> | null | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What the chat template hears of `think`. */
function templateVariables(think: boolean | string | null | undefined): object {
  if (think === undefined || think === null) return {};
  return { chat_template_kwargs: { ...thinkingVariables(think !== false), ...(typeof think === 'string' ? { reasoning_effort: think } : {}) } };
}

function sharedFields({ model, stream, format, options }: SharedFields): object {
  const settings: Record<string, unknown> = { temperature: 0.8, top_k: 40, top_p: 0.9 };
  if (format) settings['json_schema'] = format === 'json' ? { type: 'object' } : format;
  for (const [name, value] of Object.entries(options)) {
    if (value === null || PASSED_OPTIONS.has(name) || IDLE_OPTIONS.has(name) || NEUTRAL_OPTIONS.get(name)?.includes(value) === true) continue;
    if (name === 'repeat_last_n' && (options['repeat_penalty'] ?? 1) === 1) continue;
    if (name === 'num_predict') settings['max_tokens'] = typeof value === 'number' && value < 0 ? NO_LIMIT : value;
    else if (SAME_OPTIONS.has(name)) settings[name] = value;
    else throw new ApiError({ status: 400, code: 'unsupported_parameter', param: `options.${name}`, message: `'options.${name.slice(0, 100)}' is not supported: leave it out.` });
  }
  return { model: modelName(model), stream, ...settings };
}
