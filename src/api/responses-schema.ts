/**
 * Requests of OpenAI's Responses API as data of ours: their names are translated to those of openai-schema.ts, which
 * checks ranges and refuses what an answer cannot be.
 *
 * What the provider itself would do (hosted tools, background work, files, stored prompts) is refused by name. It must
 * not know HTTP.
 */
import { z } from 'zod';
import { ApiError } from './api-error.js';
import { unknownField } from './openai-fields.js';
import { MODEL_NAME_LENGTH_MAX, parseChatRequest, parseFields } from './openai-schema.js';
import type { CompletionRequest, ParseOptions } from './openai-schema.js';
import { inputField, messagesOfItems } from './responses-items.js';
import type { ItemMessage } from './responses-items.js';

const ID_LENGTH_MAX = 256;
const METADATA_ENTRIES_MAX = 16;

const plainFormat = z.looseObject({ type: z.literal('text') });
const objectFormat = z.looseObject({ type: z.literal('json_object') });
const schemaFormat = z.looseObject({ type: z.literal('json_schema'), name: z.string(), schema: z.record(z.string(), z.unknown()), strict: z.boolean().nullish(), description: z.string().nullish() });
const functionTool = z.looseObject({
  type: z.literal('function', 'must be "function": tools that the provider runs are not there'),
  name: z.string(), description: z.string().nullish(), parameters: z.record(z.string(), z.unknown()).nullish(), strict: z.boolean().nullish(),
});
const notThere = z.null('is not supported').optional();

const fields = {
  model: z.string().max(MODEL_NAME_LENGTH_MAX).default(''),
  input: inputField,
  instructions: z.string().nullish(),
  previous_response_id: z.string().max(ID_LENGTH_MAX).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({}).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish() }).nullish(),
  text: z.looseObject({
    format: z.union([plainFormat, objectFormat, schemaFormat], 'must be of type text, json_object or json_schema').nullish(),
    verbosity: z.literal('medium', 'is not supported with this value: say it in the prompt').nullish(),
  }).nullish(),
  tools: z.array(functionTool).nullish(),
  tool_choice: z.union([
    z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.literal('function'), name: z.string() }),
  ], 'must be "none", "auto", "required" or {"type": "function", "name": …}').nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  metadata: z.record(z.string(), z.string()).refine((entries) => Object.keys(entries).length <= METADATA_ENTRIES_MAX, `has more than ${METADATA_ENTRIES_MAX} entries`).nullish(),
  truncation: z.literal('disabled', 'is not supported with this value: a conversation that is too long is refused').nullish(),
  background: z.literal(false, 'is not supported').nullish(),
  /** Thoughts are told anyway. */
  include: z.array(z.enum(['reasoning.encrypted_content'], 'can only be "reasoning.encrypted_content"')).nullish(),
  top_logprobs: z.literal(0, 'is not supported: ask /v1/chat/completions').nullish(),
  conversation: notThere, prompt: notThere, context_management: notThere, moderation: notThere,
  // For the provider's accounts, caches and own tools.
  user: z.unknown().optional(), service_tier: z.unknown().optional(), safety_identifier: z.unknown().optional(), prompt_cache_key: z.unknown().optional(),
  prompt_cache_options: z.unknown().optional(), prompt_cache_retention: z.unknown().optional(), max_tool_calls: z.unknown().optional(), client_metadata: z.unknown().optional(),
};
const schema = z.object(fields);
const FIELDS: ReadonlySet<string> = new Set(Object.keys(fields));

export interface ResponseRequest {
  readonly completion: CompletionRequest;
  /** What the conversation is with this request, without instructions. */
  readonly messages: readonly ItemMessage[];
  readonly store: boolean;
  /** What the answer repeats of the request, in the API's names. */
  readonly repeated: object;
}

/** The body of `POST /v1/responses`; `earlier` finds a conversation. Throws a 400 naming the field, or a 404 for a conversation. */
export function parseResponseRequest(body: unknown, options: ParseOptions, earlier: (id: string) => readonly ItemMessage[] | null): ResponseRequest {
  if (typeof body === 'object' && body !== null) for (const name of Object.keys(body)) if (!FIELDS.has(name)) throw unknownField(name, FIELDS);
  const given = parseFields(schema, body);
  const before = given.previous_response_id === null || given.previous_response_id === undefined ? [] : earlier(given.previous_response_id);
  if (before === null) {
    throw new ApiError({
      status: 404, code: 'previous_response_not_found', param: 'previous_response_id',
      message: `There is no response ${JSON.stringify(given.previous_response_id?.slice(0, 100))} here: this agent keeps the last ones in memory only. Send the conversation as 'input'.`,
    });
  }
  const messages = [...before, ...messagesOfItems(given.input)];
  const instructions = given.instructions ?? '';
  const tools = given.tools ?? [];
  const completion = parseChatRequest(withoutGaps({
    model: given.model,
    messages: [...(instructions === '' ? [] : [{ role: 'system', content: instructions }]), ...messages],
    stream: given.stream,
    max_tokens: given.max_output_tokens,
    temperature: given.temperature,
    top_p: given.top_p,
    reasoning_effort: given.reasoning?.effort,
    response_format: formatOf(given.text?.format),
    ...(tools.length === 0 ? {} : {
      tools: tools.map(({ type, ...tool }) => ({ type, function: tool })),
      parallel_tool_calls: given.parallel_tool_calls,
      tool_choice: typeof given.tool_choice === 'object' && given.tool_choice !== null ? { type: 'function', function: { name: given.tool_choice.name } } : given.tool_choice,
    }),
  }), options);
  return { completion, messages, store: given.store ?? true, repeated: repeatedOf(given) };
}

function withoutGaps(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
}

function formatOf(format: NonNullable<z.output<typeof schema>['text']>['format']): object | undefined {
  if (format === null || format === undefined || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  const { type, ...described } = format;
  return { type, json_schema: described };
}

function repeatedOf(given: z.output<typeof schema>): object {
  return {
    background: false,
    instructions: given.instructions ?? null,
    max_output_tokens: given.max_output_tokens ?? null,
    metadata: given.metadata ?? {},
    parallel_tool_calls: given.parallel_tool_calls ?? true,
    previous_response_id: given.previous_response_id ?? null,
    reasoning: { effort: given.reasoning?.effort ?? null, summary: null },
    service_tier: 'default',
    store: given.store ?? true,
    temperature: given.temperature ?? 1,
    text: { format: given.text?.format ?? { type: 'text' } },
    tool_choice: given.tool_choice ?? 'auto',
    tools: given.tools ?? [],
    top_p: given.top_p ?? 1,
    truncation: 'disabled',
  };
}
