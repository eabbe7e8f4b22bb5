/**
 * Anthropic's API: `POST /v1/messages`, streamed and whole, and `/v1/messages/count_tokens`.
 *
 * An error before the first event has its own status; later it is an `error` event, and no `message_stop` follows. An
 * answer that ended at a stop sequence says `end_turn`, as one that the model ended: the agent does not tell them apart.
 */
import type { Hono } from 'hono';
import type { AgentService } from '../agent/service.js';
import type { AnswerCall, AnswerEvent, AnswerReason, AnswerUsage } from './answer-events.js';
import { Answering } from './answering.js';
import type { AnswerFormat, AnsweringService } from './answering.js';
import { parseCountRequest, parseMessageRequest } from './anthropic-schema.js';
import type { MessageRequest } from './anthropic-schema.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { anthropicError } from './error-shapes.js';
import { readJsonBody } from './guards.js';
import { underRequest } from './request-signal.js';
import { EVENT_STREAM_HEADERS } from './sse.js';

const STOP_REASONS: Readonly<Record<AnswerReason, string>> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' };

export function addAnthropicRoutes(app: Hono<ApiEnv>, service: AnsweringService & Pick<AgentService, 'countTokens'>, options: ApiOptions): void {
  app.post('/v1/messages/count_tokens', async (context) => {
    const { model, prompt } = parseCountRequest(await readJsonBody(context.req.raw));
    return context.json({ input_tokens: await underRequest(context, options, (signal) => service.countTokens(model, prompt, signal)) });
  });

  const answering = new Answering(service, options);
  app.post('/v1/messages', async (context) => {
    const request = parseMessageRequest(await readJsonBody(context.req.raw), options);
    return answering.answer(context, request, anthropicFormat(request, options));
  });
}

type BlockKind = 'text' | 'reasoning' | 'call';

function anthropicFormat({ showThoughts }: MessageRequest, options: ApiOptions): AnswerFormat {
  const id = `msg_${options.newId()}`;
  const newCallId = (): string => `toolu_${options.newId()}`;
  let reason: AnswerReason = 'stop';
  /** Of the stream: the block that is open, and how many there were before it. */
  let open: BlockKind | null = null;
  let index = 0;

  /** Ends the block that is open, if it is another one, and begins this one. */
  function turnTo(kind: 'text' | 'reasoning'): readonly AnthropicEvent[] {
    return open === kind ? [] : beginBlock(kind, kind === 'text' ? textBlock('') : thinkingBlock(''));
  }

  function beginBlock(kind: BlockKind, block: object): readonly AnthropicEvent[] {
    const ended = endBlock();
    open = kind;
    return [...ended, { type: 'content_block_start', index, content_block: block }];
  }

  function endBlock(): readonly AnthropicEvent[] {
    if (open === null) return [];
    // Clients keep a signature of thoughts and send it back; there is nothing to sign here.
    const signature = open !== 'reasoning' ? [] : [{ type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: '' } }];
    const events = [...signature, { type: 'content_block_stop', index }];
    open = null;
    index += 1;
    return events;
  }

  function eventsOf(event: AnswerEvent): readonly AnthropicEvent[] {
    switch (event.kind) {
      case 'started':
        return [{ type: 'message_start', message: { ...messageOf(id, event.model, null), content: [], usage: { input_tokens: event.promptTokens, output_tokens: 0 } } }];
      case 'reasoning':
      case 'text': {
        if (event.text === '') return [];
        const begin = turnTo(event.kind);
        if (event.kind === 'text') return [...begin, { type: 'content_block_delta', index, delta: { type: 'text_delta', text: event.text } }];
        return showThoughts ? [...begin, { type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking: event.text } }] : begin;
      }
      case 'call':
        return beginBlock('call', toolBlock(newCallId(), event.name, {}));
      case 'arguments':
        return [{ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: event.text } }];
      case 'finished': {
        reason = event.reason;
        // An answer of nothing has a block all the same.
        const only = open === null && index === 0 ? turnTo('text') : [];
        return [...only, ...endBlock()];
      }
      case 'usage':
        return [
          { type: 'message_delta', delta: { stop_reason: STOP_REASONS[reason], stop_sequence: null }, usage: usageOf(event) },
          { type: 'message_stop' },
        ];
    }
  }

  return {
    id,
    streamHeaders: EVENT_STREAM_HEADERS,
    heartbeat: namedEvent({ type: 'ping' }),
    pieces: (event) => eventsOf(event).map(namedEvent),
    failure: ({ status, body }) => namedEvent({ ...anthropicError(status, body), type: 'error' }),
    whole({ model, choices, usage }) {
      const { text, reasoning, calls, reason: ended } = choices[0] ?? { text: '', reasoning: '', calls: [], reason };
      return {
        ...messageOf(id, model, STOP_REASONS[ended]),
        content: [
          ...(reasoning === '' ? [] : [thinkingBlock(showThoughts ? reasoning : '')]),
          ...(text === '' && (reasoning !== '' || calls.length > 0) ? [] : [textBlock(text)]),
          ...calls.map((call) => toolBlock(newCallId(), call.name, inputOf(call))),
        ],
        usage: usageOf(usage),
      };
    },
  };
}

function textBlock(text: string): object {
  return { type: 'text', text };
}

function toolBlock(id: string, name: string, input: unknown): object {
  return { type: 'tool_use', id, name, input };
}

/** A call that the limit of tokens has cut off has no input. */
function inputOf(call: AnswerCall): unknown {
  try {
    return JSON.parse(call.arguments);
  } catch {
    return {};
  }
}

function thinkingBlock(thinking: string): object {
  return { type: 'thinking', thinking, signature: '' };
}

/** Cached tokens of the prompt are counted apart. */
function usageOf({ promptTokens, completionTokens, reusedTokens }: AnswerUsage): object {
  return { input_tokens: promptTokens - reusedTokens, cache_creation_input_tokens: 0, cache_read_input_tokens: reusedTokens, output_tokens: completionTokens };
}

function messageOf(id: string, model: string, stopReason: string | null): object {
  return { id, type: 'message', role: 'assistant', model, stop_reason: stopReason, stop_sequence: null };
}

interface AnthropicEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

function namedEvent(event: AnthropicEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
