/**
 * Anthropic's requests as data of ours: its names are translated to those of openai-schema.ts, which checks ranges.
 *
 * Text alone is understood: images, documents, tools and thinking are refused by name. Cache marks pass: they change the
 * cost of an answer and not the answer. It must not know HTTP.
 */
import { z } from 'zod';
import type { Prompt } from '../agent/service.js';
import { MODEL_NAME_LENGTH_MAX, parseChatRequest, parseFields } from './openai-schema.js';
import type { CompletionRequest, ParseOptions } from './openai-schema.js';

const MESSAGES_MAX = 100_000;

const textBlock = z.strictObject({ type: z.literal('text', 'must be "text": images, documents and tools are not supported'), text: z.string(), cache_control: z.unknown().optional(), citations: z.null().optional() });
const content = z.union([z.string(), z.array(textBlock)], 'must be a text or a list of blocks of type "text" (images, documents and tools are not supported)');
const noTools = z.tuple([], 'is not supported').optional();

const countFields = {
  model: z.string().max(MODEL_NAME_LENGTH_MAX),
  messages: z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content })).min(1).max(MESSAGES_MAX),
  system: content.optional(),
  tools: noTools,
  tool_choice: z.unknown().optional(),
  thinking: z.strictObject({ type: z.literal('disabled', 'is not supported') }).optional(),
  cache_control: z.unknown().optional(),
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
});

/** The body of `POST /v1/messages`. Throws a 400 naming the field. */
export function parseMessageRequest(body: unknown, options: ParseOptions): CompletionRequest {
  const fields = parseFields(messageSchema, body);
  const { model, max_tokens, temperature, top_k, top_p, stop_sequences: stop, stream } = fields;
  return parseChatRequest({ model, max_tokens, temperature, top_k, top_p, stop, stream, messages: messagesOf(fields) }, options);
}

/** The body of `POST /v1/messages/count_tokens`. */
export function parseCountRequest(body: unknown): { readonly model: string; readonly prompt: Prompt } {
  const fields = parseFields(countSchema, body);
  return { model: fields.model, prompt: { kind: 'chat', messages: messagesOf(fields) } };
}

function messagesOf({ system, messages }: z.output<typeof countSchema>): { role: string; content: string }[] {
  const first = system === undefined ? [] : [{ role: 'system', content: textOf(system) }];
  return [...first, ...messages.map((message) => ({ role: message.role, content: textOf(message.content) }))];
}

function textOf(given: z.output<typeof content>): string {
  return typeof given === 'string' ? given : given.map((block) => block.text).join('\n');
}
