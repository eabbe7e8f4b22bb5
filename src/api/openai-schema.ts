/**
 * OpenAI's requests as data of ours: which fields there are, their ranges and their defaults. The only place where a
 * sampling default of the API lives.
 *
 * Defaults: temperature 1, top_p 1 (off), top_k 0 (off), min_p 0 (off), no penalty, as OpenAI has them; no max_tokens
 * means as far as the context goes, for both endpoints, as llama-server has it; an absent seed is drawn at random by
 * the caller. It must not know HTTP or the agent's inside.
 */
import { z } from 'zod';
import type { ChatMessage, CompletionTask, Prompt } from '../agent/service.js';
import { STOP_STRING_LENGTH_MAX, STOP_STRINGS_MAX } from '../core/stop-sequence.js';
import { MAX_ALTERNATIVES } from '../core/step-types.js';
import { grammarField, jsonSchemaField, requestedGrammar, responseFormatField } from './answer-grammar.js';
import { ApiError } from './api-error.js';
import { dropNeutralFields } from './openai-fields.js';
import { callId, earlierCalls, requestedTools, toolCallsField, toolChoiceField, toolsField } from './openai-tools.js';

export const MODEL_NAME_LENGTH_MAX = 1024;
const LOGIT_BIAS_ENTRIES_MAX = 1024;
/** Larger values are taken as "as many as pay". */
const SPECULATIVE_MAX = 1_024;
/** Answers to one request. */
const CHOICES_MAX = 32;
/** Values (list items and object fields) in a request, the prompt's token ids aside. */
const BODY_VALUES_MAX = 100_000;
const TEMPERATURE_MAX = 100;
const TOKEN_ID_MAX = 2 ** 31 - 1;
const U32_MAX = 2 ** 32 - 1;

export interface CompletionRequest {
  readonly task: CompletionTask;
  /** Answers, each with a seed of its own. */
  readonly choices: number;
  readonly stream: boolean;
  /** Streams only: a last chunk with `usage`. */
  readonly includeUsage: boolean;
  /** Our addition: token ids beside the text. */
  readonly returnTokens: boolean;
  /** Thoughts are told apart from the answer. */
  readonly splitReasoning: boolean;
}

export interface ParseOptions {
  /** A u32, for requests without a seed. */
  randomSeed(): number;
}

const penalty = z.number().min(-2).max(2);
const repeatPenalty = z.number().gt(0).max(100);
/** -1 is llama-server's "no limit". */
const tokenLimit = z.int().min(-1).max(TOKEN_ID_MAX).refine((value) => value !== 0, 'must be at least 1, or -1 for no limit');

/** Half of a character cannot be found in text that is made of whole ones. */
const stopString = z.string().min(1).max(STOP_STRING_LENGTH_MAX).refine((stop) => !/\p{Surrogate}/u.test(stop), 'has half a character (a lone surrogate)');

const commonFields = {
  model: z.string().max(MODEL_NAME_LENGTH_MAX).default(''),
  max_tokens: tokenLimit.optional(),
  max_completion_tokens: tokenLimit.optional(),
  temperature: z.number().min(0).max(TEMPERATURE_MAX).default(1),
  top_p: z.number().min(0).max(1).default(1),
  /** -1 is vLLM's "off". */
  top_k: z.int().min(-1).max(TOKEN_ID_MAX).default(0),
  min_p: z.number().min(0).max(1).default(0),
  /** -1 is llama-server's "at random". */
  seed: z.int().min(-1).max(U32_MAX).default(-1),
  stop: z.union(
    [stopString.transform((stop) => [stop]), z.array(stopString).max(STOP_STRINGS_MAX)],
    `must be a text or a list of at most ${STOP_STRINGS_MAX} texts, each of 1 to ${STOP_STRING_LENGTH_MAX} characters`,
  ).default([]),
  frequency_penalty: penalty.default(0),
  presence_penalty: penalty.default(0),
  repeat_penalty: repeatPenalty.optional(),
  repetition_penalty: repeatPenalty.optional(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).default({}),
  ignore_eos: z.boolean().default(false),
  stream: z.boolean().default(false),
  stream_options: z.strictObject({
    include_usage: z.boolean().nullish(),
    /** Padding against traffic analysis: not made, and no part of the answer. */
    include_obfuscation: z.boolean().nullish(),
  }).optional(),
  return_tokens: z.boolean().default(false),
  /** llama-server's: the most guessed tokens in a step; 0 turns guessing off, and changes no answer. */
  'speculative.n_max': z.int().min(0).max(SPECULATIVE_MAX).optional(),
  n: z.int().min(1).max(CHOICES_MAX).default(1),
  grammar: grammarField.optional(),
  json_schema: jsonSchemaField.optional(),
};

/** Most values that a request sets for the chat template. */
const TEMPLATE_VARIABLES_MAX = 64;

/** Models differ in the name that turns thoughts off and on; templates skip what they do not know. */
export function thinkingVariables(think: boolean): Readonly<Record<string, unknown>> {
  return { enable_thinking: think, thinking: think };
}

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });
/** Message fields that other modalities use; empty ones pass, as clients send earlier answers back. */
const absent = z.union([z.null(), z.tuple([])], 'is not supported').optional();
const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool'], 'must be system, developer, user, assistant or tool'),
  content: z.union([z.string(), z.null(), z.array(textPart).min(1)], 'must be a text or a list of parts of type "text" (images, audio and files are not supported)').optional(),
  name: z.string().optional(),
  tool_calls: toolCallsField.nullish(),
  tool_call_id: callId.nullish(),
  function_call: absent,
  audio: absent,
});

const chatSchema = z.object({
  ...commonFields,
  messages: z.array(messageSchema).min(1, 'must have at least one message'),
  logprobs: z.boolean().default(false),
  top_logprobs: z.int().min(0).max(MAX_ALTERNATIVES).optional(),
  response_format: responseFormatField.optional(),
  tools: toolsField.optional(),
  tool_choice: toolChoiceField.optional(),
  parallel_tool_calls: z.boolean().optional(),
  /** llama-server's: `none` leaves thoughts in the text. */
  reasoning_format: z.enum(['auto', 'deepseek', 'none'], 'must be "auto", "deepseek" or "none"').default('auto'),
  /** For the chat template, as far as the model's knows it. */
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).refine((variables) => Object.keys(variables).length <= TEMPLATE_VARIABLES_MAX, `has more than ${TEMPLATE_VARIABLES_MAX} entries`).default({}),
});

/** All but `prompt`, which `promptOf` reads: a million token ids are one prompt, not a million things to report about. */
const textSchema = z.object({
  ...commonFields,
  /** Alternatives to each token. */
  logprobs: z.int().min(0).max(MAX_ALTERNATIVES).optional(),
});

type CommonFields = Omit<z.output<typeof textSchema>, 'logprobs'>;

const CHAT_FIELDS: ReadonlySet<string> = new Set(Object.keys(chatSchema.shape));
const TEXT_FIELDS: ReadonlySet<string> = new Set([...Object.keys(textSchema.shape), 'prompt']);

/** The body of `POST /v1/chat/completions`. Throws a 400 naming the field. */
export function parseChatRequest(body: unknown, options: ParseOptions): CompletionRequest {
  const given = dropNeutralFields(body, CHAT_FIELDS);
  checkValueCount(given);
  const fields = parseFields(chatSchema, given);
  const variables = { ...effortVariables(fields.reasoning_effort ?? null), ...fields.chat_template_kwargs };
  const asked = requestedTools(fields);
  const prompt: Prompt = {
    kind: 'chat',
    messages: fields.messages.map(messageOf),
    ...(Object.keys(variables).length === 0 ? {} : { variables }),
    ...(asked === null ? {} : { tools: asked.tools }),
  };
  if ((fields.top_logprobs ?? 0) > 0 && !fields.logprobs) throw invalid('top_logprobs', 'needs "logprobs": true');
  const request = requestOf(fields, prompt, { ...options, ...(fields.logprobs ? { probabilities: fields.top_logprobs ?? 0 } : {}) });
  if (asked !== null && request.task.sampling.grammar !== undefined) {
    throw invalid('tools', 'cannot be called by an answer whose form is given: leave out response_format, json_schema and grammar, or send "tool_choice": "none"');
  }
  const isForced = asked !== null && asked.calling.choice !== 'auto';
  if (isForced && fields.ignore_eos) throw invalid('ignore_eos', 'cannot be together with a call that is asked for: it has an end');
  const task = asked === null ? request.task : { ...request.task, toolCalling: asked.calling };
  return { ...request, task, splitReasoning: fields.reasoning_format !== 'none' };
}

/** The body of `POST /v1/completions`. Throws a 400 naming the field. */
export function parseTextRequest(body: unknown, options: ParseOptions): CompletionRequest {
  const { prompt, ...given } = dropNeutralFields(body, TEXT_FIELDS);
  checkValueCount(given);
  const fields = parseFields(textSchema, given);
  return requestOf(fields, promptOf(prompt), { ...options, ...(fields.logprobs === undefined ? {} : { probabilities: fields.logprobs }) });
}

/** Validates and names the first field at fault. Shared with the cluster routes. */
export function parseFields<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.output<Schema> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const param = pathText(issue?.path ?? []);
  if (issue?.code === 'invalid_type' && valueAt(fields, issue.path) === undefined) throw missing(param);
  throw new ApiError({
    status: 400,
    code: 'invalid_value',
    ...(param === '' ? {} : { param }),
    message: `'${param}': ${issue?.message ?? 'is not valid'}.`,
  });
}

function missing(param: string): ApiError {
  return new ApiError({ status: 400, code: 'missing_required_parameter', param, message: `'${param}' is missing.` });
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`)).join('');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

function requestOf(fields: CommonFields & { readonly response_format?: z.output<typeof responseFormatField> | undefined }, prompt: Prompt, options: ParseOptions & { readonly probabilities?: number }): CompletionRequest {
  if (fields.stream_options !== undefined && !fields.stream) {
    throw invalid('stream_options', 'is for streams: send it with "stream": true');
  }
  const repeat = sameOrOne('repeat_penalty', fields.repeat_penalty, 'repetition_penalty', fields.repetition_penalty);
  const grammar = requestedGrammar(fields);
  if (grammar !== null && fields.ignore_eos) throw invalid('ignore_eos', 'cannot be together with a form of the answer: it has an end');
  const limit = sameOrOne('max_tokens', fields.max_tokens, 'max_completion_tokens', fields.max_completion_tokens);
  return {
    task: {
      model: fields.model,
      prompt,
      sampling: {
        temperature: fields.temperature,
        topK: Math.max(0, fields.top_k),
        topP: fields.top_p,
        minP: fields.min_p,
        seed: fields.seed === -1 ? options.randomSeed() : fields.seed,
        repeatPenalty: repeat ?? 1,
        frequencyPenalty: fields.frequency_penalty,
        presencePenalty: fields.presence_penalty,
        ignoreEos: fields.ignore_eos,
        logitBias: logitBiasOf(fields.logit_bias),
        ...(grammar === null ? {} : { grammar }),
        ...(fields['speculative.n_max'] === undefined ? {} : { draftTokens: fields['speculative.n_max'] }),
        ...(options.probabilities === undefined ? {} : { probabilities: options.probabilities }),
      },
      maxTokens: limit === undefined || limit === -1 ? null : limit,
      stop: fields.stop,
    },
    choices: fields.n,
    stream: fields.stream,
    includeUsage: fields.stream_options?.include_usage ?? false,
    returnTokens: fields.return_tokens,
    splitReasoning: false,
  };
}

function effortVariables(effort: string | null): Readonly<Record<string, unknown>> {
  if (effort === null) return {};
  return effort === 'none' ? thinkingVariables(false) : { reasoning_effort: effort };
}

/** Two names of one setting: both may be there if they agree. */
function sameOrOne(name: string, value: number | undefined, otherName: string, other: number | undefined): number | undefined {
  if (value !== undefined && other !== undefined && value !== other) {
    throw invalid(otherName, `says ${other} and '${name}' says ${value}: send one of them`);
  }
  return value ?? other;
}

function logitBiasOf(bias: Readonly<Record<string, number>>): readonly (readonly [number, number])[] {
  const entries = Object.entries(bias);
  if (entries.length > LOGIT_BIAS_ENTRIES_MAX) throw invalid('logit_bias', `has more than ${LOGIT_BIAS_ENTRIES_MAX} entries`);
  return entries.map(([name, value]) => {
    const token = Number(name);
    if (!/^\d{1,10}$/.test(name) || token > TOKEN_ID_MAX) throw invalid('logit_bias', 'maps token ids to numbers from -100 to 100');
    return [token, value] as const;
  });
}

function messageOf(message: z.output<typeof messageSchema>): ChatMessage {
  const { role, content, tool_calls: calls, function_call: _call, audio: _audio, ...others } = message;
  return {
    ...others,
    ...earlierCalls(calls),
    // Templates know `system`; `developer` is OpenAI's newer name of the same.
    role: role === 'developer' ? 'system' : role,
    content: Array.isArray(content) ? content.map((part) => part.text).join('\n') : (content ?? null),
  };
}

function promptOf(prompt: unknown): Prompt {
  if (prompt === undefined) throw missing('prompt');
  const single: unknown = Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] !== 'number' ? prompt[0] : prompt;
  if (typeof single === 'string') return { kind: 'text', text: single };
  if (Array.isArray(single) && single.length > 0 && single.every(isTokenId)) return { kind: 'tokens', tokens: single };
  throw invalid('prompt', 'must be one text or one list of token ids (send several prompts as several requests)');
}

export function isTokenId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= TOKEN_ID_MAX;
}

/** A body may be large, but the checks make a report for every wrong value in it: their number is bounded first. */
function checkValueCount(fields: unknown): void {
  const pending: unknown[] = [fields];
  let count = 0;
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner: unknown[] = Object.values(value);
    count += inner.length;
    if (count > BODY_VALUES_MAX) {
      throw new ApiError({ status: 400, code: 'invalid_value', message: `The request has more than ${BODY_VALUES_MAX} values.` });
    }
    for (const item of inner) pending.push(item);
  }
}

function invalid(param: string, what: string): ApiError {
  return new ApiError({ status: 400, code: 'invalid_value', param, message: `'${param}' ${what}.` });
}
