/**
 * Anthropic's requests as data of ours: its names are translated to those of openai-schema.ts, which checks ranges.
 *
 * Text and thoughts are understood: images, documents and tools are refused by name. A model thinks aloud only where the
 * request asks for it, as far as its chat template can tell it so. Cache marks pass: they change the cost of an answer
 * and not the answer. It must not know HTTP.
 */
import { z } from 'zod';
import type { ChatMessage, Prompt } from '../agent/service.js';
import { MODEL_NAME_LENGTH_MAX, parseChatRequest, parseFields, thinkingVariables } from './openai-schema.js';
import type { CompletionRequest, ParseOptions } from './openai-schema.js';

const MESSAGES_MAX = 100_000;

const textBlock = z.strictObject({ type: z.literal('text', 'must be "text": images, documents and tools are not supported'), text: z.string(), cache_control: z.unknown().optional(), citations: z.null().optional() });
/** Of earlier answers. Signatures say nothing here. */
const thinkingBlock = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().optional() });
const redactedBlock = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() });
const content = z.union([z.string(), z.array(z.union([textBlock, thinkingBlock, redactedBlock]))], 'must be a text or a list of blocks of type "text" (images, documents and tools are not supported)');
const noTools = z.tuple([], 'is not supported').optional();

const display = z.enum(['summarized', 'omitted']).nullish();

const countFields = {
  model: z.string().max(MODEL_NAME_LENGTH_MAX),
  messages: z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content })).min(1).max(MESSAGES_MAX),
  system: content.optional(),
  tools: noTools,
  tool_choice: z.unknown().optional(),
  /** The budget passes: the model itself ends its thoughts. */
  thinking: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('disabled') }),
    z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1), display }),
    z.strictObject({ type: z.literal('adaptive'), display }),
  ], 'must be disabled, enabled or adaptive').optional(),
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

export interface MessageRequest extends CompletionRequest {
  /** False: the client does not want to see them, only to know of them. */
  readonly showThoughts: boolean;
}

/** The body of `POST /v1/messages`. Throws a 400 naming the field. */
export function parseMessageRequest(body: unknown, options: ParseOptions): MessageRequest {
  const fields = parseFields(messageSchema, body);
  const { model, max_tokens, temperature, top_k, top_p, stop_sequences: stop, stream } = fields;
  const chat = { model, max_tokens, temperature, top_k, top_p, stop, stream, messages: messagesOf(fields), chat_template_kwargs: variablesOf(fields) };
  const hidden = fields.thinking !== undefined && 'display' in fields.thinking && fields.thinking.display === 'omitted';
  return { ...parseChatRequest(chat, options), showThoughts: !hidden };
}

/** The body of `POST /v1/messages/count_tokens`. */
export function parseCountRequest(body: unknown): { readonly model: string; readonly prompt: Prompt } {
  const fields = parseFields(countSchema, body);
  return { model: fields.model, prompt: { kind: 'chat', messages: messagesOf(fields), variables: variablesOf(fields) } };
}

function variablesOf({ thinking }: Pick<z.output<typeof countSchema>, 'thinking'>): Readonly<Record<string, unknown>> {
  return thinkingVariables(thinking !== undefined && thinking.type !== 'disabled');
}

function messagesOf({ system, messages }: z.output<typeof countSchema>): readonly ChatMessage[] {
  const first = system === undefined ? [] : [{ role: 'system', content: textOf(system) }];
  return [...first, ...messages.map((message) => {
    const thoughts = thoughtsOf(message.content);
    return { role: message.role, content: textOf(message.content), ...(thoughts === '' ? {} : { reasoning_content: thoughts }) };
  })];
}

function textOf(given: z.output<typeof content>): string {
  return typeof given === 'string' ? given : given.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function thoughtsOf(given: z.output<typeof content>): string {
  return typeof given === 'string' ? '' : given.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : [])).join('\n');
}
