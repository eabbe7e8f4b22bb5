/**
 * The items of OpenAI's Responses API as chat messages: what clients send, and what they get and send back.
 *
 * One turn of the assistant is several items there (thoughts, text, calls) and one message here. It must not know HTTP.
 */
import { z } from 'zod';

/** Items in one request. */
const ITEMS_MAX = 20_000;
const TOOL_NAME_LENGTH_MAX = 128;
const ID_LENGTH_MAX = 256;

const noImages = 'must be a text or a list of parts of type "input_text" (images, audio and files are not supported)';
const textPart = z.looseObject({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() });
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });
const content = z.union([z.string(), z.array(z.union([textPart, refusalPart]))], noImages);
const id = z.string().max(ID_LENGTH_MAX);

const messageItem = z.looseObject({ type: z.literal('message').optional(), role: z.enum(['user', 'system', 'developer', 'assistant']), content });
const reasoningItem = z.looseObject({
  type: z.literal('reasoning'),
  content: z.array(z.looseObject({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
  summary: z.array(z.looseObject({ text: z.string() })).nullish(),
});
const callItem = z.looseObject({ type: z.literal('function_call'), call_id: id, name: z.string().max(TOOL_NAME_LENGTH_MAX), arguments: z.string() });
const outputItem = z.looseObject({ type: z.literal('function_call_output'), call_id: id, output: content });

export const inputField = z.union(
  [z.string(), z.array(z.union([messageItem, reasoningItem, callItem, outputItem])).min(1).max(ITEMS_MAX)],
  'must be a text or a list of items of type message, reasoning, function_call and function_call_output, each with text only',
);

export interface ItemMessage {
  readonly role: string;
  readonly content: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
}

/** In order; items of one turn are joined. */
export function messagesOfItems(input: z.output<typeof inputField>): readonly ItemMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages: ItemMessage[] = [];
  let thoughts = '';
  const withThoughts = (): { readonly reasoning_content?: string } => {
    const before = thoughts;
    thoughts = '';
    return before === '' ? {} : { reasoning_content: before };
  };
  for (const item of input) {
    switch (item.type) {
      case 'reasoning':
        thoughts += textOf(item);
        break;
      case 'function_call': {
        const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } };
        const last = messages.at(-1);
        if (last?.role === 'assistant') messages[messages.length - 1] = { ...last, ...withThoughts(), tool_calls: [...last.tool_calls ?? [], call] };
        else messages.push({ role: 'assistant', content: '', ...withThoughts(), tool_calls: [call] });
        break;
      }
      case 'function_call_output':
        messages.push({ role: 'tool', tool_call_id: item.call_id, content: plainText(item.output) });
        break;
      default:
        messages.push({ role: item.role, content: plainText(item.content), ...(item.role === 'assistant' ? withThoughts() : {}) });
    }
  }
  return messages;
}

function textOf(item: z.output<typeof reasoningItem>): string {
  const parts = item.content ?? [];
  return (parts.length > 0 ? parts : item.summary ?? []).map(({ text }) => text).join('\n');
}

function plainText(given: z.output<typeof content>): string {
  return typeof given === 'string' ? given : given.map((part) => ('refusal' in part && typeof part.refusal === 'string' ? part.refusal : 'text' in part && typeof part.text === 'string' ? part.text : '')).join('\n');
}
