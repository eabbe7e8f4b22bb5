/**
 * Anthropic's requests as data of ours: its names are translated to those of openai-schema.ts, which checks ranges.
 *
 * Text, thoughts, tools, calls and results are understood: images, documents and tools that the provider runs are
 * refused by name. A model thinks aloud only where the
 * request asks for it, as far as its chat template can tell it so. Cache marks pass: they change the cost of an answer
 * and not the answer. It must not know HTTP.
 */
import { z } from 'zod';
import type { ChatMessage, Prompt } from '../agent/service.js';
import { ApiError } from './api-error.js';
import { callId, requestedTools, toolDescription, toolName, toolParameters, TOOLS_MAX } from './openai-tools.js';
import type { ToolFields } from './openai-tools.js';
import { MODEL_NAME_LENGTH_MAX, parseChatRequest, parseFields, thinkingVariables } from './openai-schema.js';
import type { CompletionRequest, ParseOptions } from './openai-schema.js';

const MESSAGES_MAX = 100_000;
/** What chat templates know. */
const EFFORTS = { low: 'low', medium: 'medium', high: 'high', xhigh: 'high', max: 'high' } as const;

const textBlock = z.strictObject({ type: z.literal('text', 'must be "text": images and documents are not supported'), text: z.string(), cache_control: z.unknown().optional(), citations: z.union([z.null(), z.tuple([])]).optional() });
/** Of earlier answers. Signatures say nothing here. */
const thinkingBlock = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().optional() });
const redactedBlock = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() });
const resultContent = z.union([z.string(), z.array(textBlock)], 'must be a text or a list of blocks of type "text" (images and documents are not supported)');
const callBlock = z.looseObject({ type: z.literal('tool_use'), id: callId, name: z.string(), input: z.record(z.string(), z.unknown()) });
const resultBlock = z.strictObject({ type: z.literal('tool_result'), tool_use_id: callId, content: resultContent.nullish(), is_error: z.boolean().nullish(), cache_control: z.unknown().optional() });
const content = z.union(
  [z.string(), z.array(z.union([textBlock, thinkingBlock, redactedBlock, callBlock, resultBlock]))],
  'must be a text or a list of blocks of type "text", "thinking", "tool_use" or "tool_result" (images and documents are not supported)',
);

const tools = z.array(z.looseObject({
  type: z.literal('custom', 'must be a tool of your own: those that the provider runs are not there').nullish(),
  name: toolName, description: toolDescription, input_schema: toolParameters, strict: z.boolean().nullish(),
})).max(TOOLS_MAX);
const parallel = { disable_parallel_tool_use: z.boolean().nullish() };
const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...parallel }),
  z.strictObject({ type: z.literal('any'), ...parallel }),
  z.strictObject({ type: z.literal('tool'), name: toolName, ...parallel }),
  z.strictObject({ type: z.literal('none') }),
], 'must be of type auto, any, tool or none');

const outputFormat = z.strictObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) }).nullish();
/** What is cleared of the history: here nothing is. */
const keptHistory = z.strictObject({ edits: z.array(z.looseObject({ keep: z.literal('all') }), 'is not supported: every turn is kept').nullish() }).nullish();

const display = z.enum(['summarized', 'omitted']).nullish();

const countFields = {
  model: z.string().max(MODEL_NAME_LENGTH_MAX),
  messages: z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content })).min(1).max(MESSAGES_MAX),
  system: content.optional(),
  tools: tools.optional(),
  tool_choice: toolChoice.optional(),
  /** The budget passes: the model itself ends its thoughts. */
  thinking: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('disabled') }),
    z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1), display }),
    z.strictObject({ type: z.literal('adaptive'), display }),
  ], 'must be disabled, enabled or adaptive').optional(),
  cache_control: z.unknown().optional(),
  output_config: z.strictObject({ effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(), format: outputFormat }).nullish(),
  /** The same, as it was called first. */
  output_format: outputFormat,
  context_management: keptHistory,
  /** Conversations that the server holds between turns. */
  thread: z.union([z.looseObject({ type: z.literal('create') }), z.looseObject({ type: z.literal('continue'), previous_message_id: z.string() })]).nullish(),
};
const countSchema = z.strictObject(countFields);
const messageSchema = z.strictObject({
  ...countFields,
  max_tokens: z.int().min(1),
  temperature: z.number().min(0).max(1).default(1),
  top_k: z.int().min(0).default(0),
  top_p: z.number().min(0).max(1).default(1),
  stop_sequences: z.array(z.string()).default([]),
  stream: z.boolean().default(false),
  metadata: z.unknown().optional(),
  service_tier: z.string().optional(),
  speed: z.literal('standard').nullish(),
  inference_geo: z.unknown().optional(),
  diagnostics: z.unknown().optional(),
});

export interface MessageRequest extends CompletionRequest {
  /** False: the client does not want to see them, only to know of them. */
  readonly showThoughts: boolean;
}

/** None is held here: clients hear it at the next turn, and send their whole history again as they do when one was lost. */
function checkThread({ thread }: Pick<z.output<typeof countSchema>, 'thread'>): void {
  if (thread?.type !== 'continue') return;
  throw new ApiError({ status: 404, code: 'thread_not_found', param: 'thread', message: 'No conversation is kept here: send all of its messages.' });
}

/** The body of `POST /v1/messages`. Throws a 400 naming the field. */
export function parseMessageRequest(body: unknown, options: ParseOptions): MessageRequest {
  const fields = parseFields(messageSchema, body);
  checkThread(fields);
  const { model, max_tokens, temperature, top_k, top_p, stop_sequences: stop, stream } = fields;
  const chat = { model, max_tokens, temperature, top_k, top_p, stop, stream, messages: messagesOf(fields), ...toolFieldsOf(fields), ...formatOf(fields), chat_template_kwargs: variablesOf(fields) };
  const hidden = fields.thinking !== undefined && 'display' in fields.thinking && fields.thinking.display === 'omitted';
  return { ...parseChatRequest(chat, options), showThoughts: !hidden };
}

/** The body of `POST /v1/messages/count_tokens`. */
export function parseCountRequest(body: unknown): { readonly model: string; readonly prompt: Prompt } {
  const fields = parseFields(countSchema, body);
  const asked = requestedTools(toolFieldsOf(fields));
  const prompt: Prompt = { kind: 'chat', messages: messagesOf(fields), variables: variablesOf(fields), ...(asked === null ? {} : { tools: asked.tools }) };
  return { model: fields.model, prompt };
}

/** The answer follows the schema to the letter. */
function formatOf({ output_config: config, output_format: older }: Pick<z.output<typeof countSchema>, 'output_config' | 'output_format'>): object {
  const format = config?.format ?? older;
  return format === null || format === undefined ? {} : { response_format: { type: 'json_schema', json_schema: { schema: format.schema } } };
}

function variablesOf({ thinking, output_config: config }: Pick<z.output<typeof countSchema>, 'thinking' | 'output_config'>): Readonly<Record<string, unknown>> {
  const effort = config?.effort ?? null;
  return { ...thinkingVariables(thinking !== undefined && thinking.type !== 'disabled'), ...(effort === null ? {} : { reasoning_effort: EFFORTS[effort] }) };
}

/** As OpenAI's requests have them. */
function toolFieldsOf({ tools: given, tool_choice: choice }: Pick<z.output<typeof countSchema>, 'tools' | 'tool_choice'>): ToolFields {
  if (given === undefined || given.length === 0) return {};
  const described = given.map(({ name, description, input_schema: parameters, strict }) => ({ type: 'function' as const, function: { name, description, parameters, strict } }));
  const serial = choice !== undefined && choice.type !== 'none' && choice.disable_parallel_tool_use === true;
  return { tools: described, ...(choice === undefined ? {} : { tool_choice: choiceOf(choice) }), ...(serial ? { parallel_tool_calls: false } : {}) };
}

function choiceOf(choice: z.output<typeof toolChoice>): NonNullable<ToolFields['tool_choice']> {
  switch (choice.type) {
    case 'auto': return 'auto';
    case 'any': return 'required';
    case 'none': return 'none';
    case 'tool': return { type: 'function', function: { name: choice.name } };
  }
}

/** Results of calls become messages of their own, before what the user says besides. */
function messagesOf({ system, messages }: z.output<typeof countSchema>): readonly ChatMessage[] {
  const first = system === undefined ? [] : [{ role: 'system', content: textOf(system) }];
  return [...first, ...messages.flatMap((message): ChatMessage[] => {
    if (typeof message.content === 'string') return [{ role: message.role, content: message.content }];
    const thoughts = thoughtsOf(message.content);
    const calls = message.content.flatMap((block) => (block.type === 'tool_use' ? [{ id: block.id, type: 'function', function: { name: block.name, arguments: JSON.stringify(block.input) } }] : []));
    const results = message.content.flatMap((block) => (block.type === 'tool_result' ? [{ role: 'tool', tool_call_id: block.tool_use_id, content: resultOf(block) }] : []));
    const text = textOf(message.content);
    if (results.length > 0 && text === '') return results;
    return [...results, { role: message.role, content: text, ...(thoughts === '' ? {} : { reasoning_content: thoughts }), ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
  })];
}

function resultOf({ content: given, is_error: failed }: z.output<typeof resultBlock>): string {
  const text = given === null || given === undefined ? '' : typeof given === 'string' ? given : given.map((block) => block.text).join('\n');
  return failed === true ? `Error: ${text}` : text;
}

function textOf(given: z.output<typeof content>): string {
  return typeof given === 'string' ? given : given.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function thoughtsOf(given: z.output<typeof content>): string {
  return typeof given === 'string' ? '' : given.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : [])).join('\n');
}
