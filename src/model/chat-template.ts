/**
 * Renders a chat with the template that the model brings (`tokenizer.chat_template`, Jinja).
 *
 * A model without a template gets a plain transcript: one line `role: text` per message, then `assistant:`. The library
 * brings `raise_exception` and `strftime_now` (this node's clock). It must not know tokens: the template's special tokens
 * are text here and become ids when the engine parses them.
 */
import { runInNewContext } from 'node:vm';
import { Template } from '@huggingface/jinja';
import { errorMessageOf, RingError } from '../core/errors.js';
import { withToolSupport } from './chat-tools.js';
import type { GgufHeader } from './gguf-reader.js';
import { arrayStrings, metadataArray, metadataNumber, metadataText } from './gguf-values.js';

export interface ChatInput {
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly name?: unknown;
    readonly reasoning_content?: unknown;
    readonly thinking?: unknown;
    /** As OpenAI has them, their arguments a text. */
    readonly tool_calls?: unknown;
    readonly tool_call_id?: unknown;
  }[];
  /** As OpenAI describes functions. */
  readonly tools?: readonly unknown[];
  /** Further variables of the template; they do not hide those above. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** A template longer than this is refused. */
const MAX_TEMPLATE_CHARACTERS = 1024 * 1024;
/** A template is a program of whoever made the model, on the agent's thread: one that does not end must not take it along. */
const RENDER_DEADLINE_MS = 1_000;

/** Ready to render; parsed once per model. */
export interface ChatTemplate {
  /** Ends with the opening of the assistant's answer. Throws RingError `bad_request` with the template's own message. */
  render(chat: ChatInput): string;
}

/** Throws RingError `bad_request` when the model's template does not parse. */
export function chatTemplate(header: GgufHeader): ChatTemplate {
  const source = metadataText(header.metadata, 'tokenizer.chat_template');
  if (source === null) return { render: withToolSupport(plainTranscript) };
  if (source.length > MAX_TEMPLATE_CHARACTERS) throw new RingError('bad_request', `the model's chat template is longer than ${MAX_TEMPLATE_CHARACTERS} characters: use a completion instead of a chat`);
  const template = parse(source);
  const tokens = specialTokens(header);
  return {
    render: withToolSupport((chat) => {
      try {
        return withinTime(() => template.render({
          ...chat.variables,
          messages: chat.messages.map((message) => withThoughts(withTextContent(message))),
          ...(chat.tools === undefined || chat.tools.length === 0 ? {} : { tools: chat.tools }),
          ...tokens,
          add_generation_prompt: true,
        }));
      } catch (error) {
        throw new RingError('bad_request', `the model's chat template refuses these messages: ${errorMessageOf(error)}`, {}, { cause: error });
      }
    }),
  };
}

function parse(source: string): Template {
  try {
    return withinTime(() => new Template(source));
  } catch (error) {
    throw new RingError('bad_request', `the model's chat template cannot be read (${errorMessageOf(error)}): use a completion instead of a chat`, {}, { cause: error });
  }
}

/** Ends what does not end by itself: V8 stops the thread's own work, which nothing else could. */
function withinTime<T>(work: () => T): T {
  const done: { result?: { readonly value: T } } = {};
  const run = (): void => {
    done.result = { value: work() };
  };
  try {
    runInNewContext('run()', { run }, { timeout: RENDER_DEADLINE_MS });
  } catch (error) {
    // An error of the other context's: it is no `Error` of ours.
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw new Error(`it did not end within ${RENDER_DEADLINE_MS} ms`);
    throw error;
  }
  if (done.result === undefined) throw new Error('it gave nothing');
  return done.result.value;
}

/** Content in parts becomes text when all of it is text: most templates know strings only. */
function withTextContent<T extends { readonly content: unknown }>(message: T): T {
  if (!Array.isArray(message.content)) return message;
  const texts = message.content.map(partText);
  return texts.every((part) => part !== null) ? { ...message, content: texts.join('') } : message;
}

/** Thoughts of earlier answers: most templates know them by the one name, gpt-oss's by the other. */
function withThoughts<T extends { readonly reasoning_content?: unknown; readonly thinking?: unknown }>(message: T): T {
  const thoughts = message.reasoning_content ?? message.thinking;
  return typeof thoughts === 'string' && thoughts !== '' ? { ...message, reasoning_content: thoughts, thinking: thoughts } : message;
}

function partText(part: unknown): string | null {
  if (typeof part !== 'object' || part === null || !('text' in part)) return null;
  return typeof part.text === 'string' ? part.text : null;
}

function plainTranscript(chat: ChatInput): string {
  const lines = chat.messages.map(withTextContent).map((message) => `${message.role}: ${typeof message.content === 'string' ? message.content : ''}\n`);
  return `${lines.join('')}assistant:`;
}

/** `bos_token`, `eos_token` and their like as text; absent ones are empty, as templates expect. */
function specialTokens(header: GgufHeader): Readonly<Record<string, string>> {
  const array = metadataArray(header.metadata, 'tokenizer.ggml.tokens');
  const tokens = array === null ? [] : arrayStrings(array);
  const named = (key: string): string => {
    const id = metadataNumber(header.metadata, `tokenizer.ggml.${key}_token_id`);
    return id === null ? '' : tokens[id] ?? '';
  };
  return { bos_token: named('bos'), eos_token: named('eos'), unk_token: named('unknown'), pad_token: named('padding') };
}
