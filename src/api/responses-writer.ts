/**
 * An answer in the shape of OpenAI's Responses API: items (thoughts, a message, calls), and a stream's many events.
 *
 * The same items make the whole answer and the stream's last event. It must not know HTTP or requests.
 */
import type { AnswerEvent, AnswerUsage, WholeAnswer } from './answer-events.js';
import type { ItemMessage } from './responses-items.js';

export interface ResponseHead {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** What is repeated of the request. */
  readonly repeated: object;
}

/** One item of the answer, growing. */
interface Item {
  readonly kind: 'reasoning' | 'text' | 'call';
  readonly id: string;
  readonly name: string;
  /** Text, thoughts, or a call's arguments. */
  text: string;
}

export interface ResponseEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

type Status = 'in_progress' | 'completed' | 'incomplete';

export class ResponseWriter {
  private readonly items: Item[] = [];
  private model = '';
  private sequence = 0;
  private open = false;
  private reason = 'stop';

  constructor(private readonly head: ResponseHead, private readonly newId: () => string) {}

  /** What a stream says of an event. */
  events(event: AnswerEvent): readonly ResponseEvent[] {
    switch (event.kind) {
      case 'started':
        this.model = event.model;
        return [this.numbered('response.created', { response: this.response('in_progress', null) }), this.numbered('response.in_progress', { response: this.response('in_progress', null) })];
      case 'text':
      case 'reasoning': {
        if (event.text === '') return [];
        const begun = this.current()?.kind === event.kind && this.open ? [] : this.begin(event.kind, '');
        return [...begun, ...this.more(event.text)];
      }
      case 'call':
        return this.begin('call', event.name);
      case 'arguments':
        return this.more(event.text);
      case 'finished': {
        this.reason = event.reason;
        // An answer of nothing is a message all the same.
        const only = this.items.length === 0 ? this.begin('text', '') : [];
        return [...only, ...this.end()];
      }
      case 'usage': {
        const status = this.status();
        return [this.numbered(`response.${status}`, { response: this.response(status, event) })];
      }
    }
  }

  /** The stream breaks. */
  failed(error: { readonly code: string; readonly message: string; readonly param: string | null }): readonly ResponseEvent[] {
    const { code, message, param } = error;
    return [
      this.numbered('error', { code, message, param }),
      this.numbered('response.failed', { response: { ...this.response('in_progress', null), status: 'failed', error: { code: 'server_error', message } } }),
    ];
  }

  whole({ model, choices, usage }: WholeAnswer): object {
    const [choice] = choices;
    this.model = model;
    this.reason = choice?.reason ?? 'stop';
    const add = (kind: Item['kind'], text: string, name = ''): void => void this.items.push({ kind, id: this.itemId(kind), name, text });
    if (choice !== undefined && choice.reasoning !== '') add('reasoning', choice.reasoning);
    if (choice === undefined || choice.text !== '' || (choice.reasoning === '' && choice.calls.length === 0)) add('text', choice?.text ?? '');
    for (const call of choice?.calls ?? []) add('call', call.arguments, call.name);
    return this.response(this.status(), usage);
  }

  /** The answer as a message of the conversation. */
  message(): ItemMessage {
    const of = (kind: Item['kind']): string => this.items.filter((item) => item.kind === kind).map(({ text }) => text).join('\n');
    const calls = this.items.filter(({ kind }) => kind === 'call').map(({ id, name, text }) => ({ id: callId(id), type: 'function', function: { name, arguments: text } }));
    const thoughts = of('reasoning');
    return { role: 'assistant', content: of('text'), ...(thoughts === '' ? {} : { reasoning_content: thoughts }), ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  }

  private current(): Item | undefined {
    return this.items.at(-1);
  }

  private begin(kind: Item['kind'], name: string): readonly ResponseEvent[] {
    const before = this.end();
    const item: Item = { kind, id: this.itemId(kind), name, text: '' };
    this.items.push(item);
    this.open = true;
    const added = this.numbered('response.output_item.added', { output_index: this.items.length - 1, item: started(item) });
    // Numbered in the order in which they are sent.
    return kind === 'call' ? [...before, added] : [...before, added, this.ofPart('response.content_part.added', { part: partOf(item) })];
  }

  private more(text: string): readonly ResponseEvent[] {
    const item = this.current();
    if (item === undefined) return [];
    item.text += text;
    switch (item.kind) {
      case 'text': return [this.ofPart('response.output_text.delta', { delta: text, logprobs: [] })];
      case 'reasoning': return [this.ofPart('response.reasoning_text.delta', { delta: text })];
      case 'call': return [this.ofItem('response.function_call_arguments.delta', { delta: text })];
    }
  }

  private end(): readonly ResponseEvent[] {
    const item = this.current();
    if (item === undefined || !this.open) return [];
    this.open = false;
    const part = (): ResponseEvent => this.ofPart('response.content_part.done', { part: partOf(item) });
    const done = (): ResponseEvent => this.numbered('response.output_item.done', { output_index: this.items.length - 1, item: itemOf(item, 'completed') });
    switch (item.kind) {
      case 'text': return [this.ofPart('response.output_text.done', { text: item.text, logprobs: [] }), part(), done()];
      case 'reasoning': return [this.ofPart('response.reasoning_text.done', { text: item.text }), part(), done()];
      case 'call': return [this.ofItem('response.function_call_arguments.done', { name: item.name, arguments: item.text }), done()];
    }
  }

  private status(): Status {
    return this.reason === 'length' ? 'incomplete' : 'completed';
  }

  private response(status: Status, usage: AnswerUsage | null): object {
    const itemStatus = status === 'in_progress' ? 'completed' : status;
    return {
      id: this.head.id,
      object: 'response',
      created_at: this.head.created,
      status,
      error: null,
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      model: this.model,
      output: this.items.map((item, index) => itemOf(item, index === this.items.length - 1 ? itemStatus : 'completed')),
      usage: usage === null ? null : usageOf(usage),
      ...this.head.repeated,
    };
  }

  private itemId(kind: Item['kind']): string {
    const prefix = { reasoning: 'rs', text: 'msg', call: 'fc' }[kind];
    return `${prefix}_${this.newId()}`;
  }

  private ofItem(type: string, fields: object): ResponseEvent {
    return this.numbered(type, { item_id: this.current()?.id ?? '', output_index: this.items.length - 1, ...fields });
  }

  private ofPart(type: string, fields: object): ResponseEvent {
    return this.ofItem(type, { content_index: 0, ...fields });
  }

  private numbered(type: string, fields: object): ResponseEvent {
    const event = { type, sequence_number: this.sequence, ...fields };
    this.sequence += 1;
    return event;
  }
}

function callId(itemId: string): string {
  return itemId.replace(/^fc_/, 'call_');
}

function partOf({ kind, text }: Item): object {
  return kind === 'reasoning' ? { type: 'reasoning_text', text } : { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** As it is told before there is anything in it. */
function started(item: Item): object {
  const { id, kind } = item;
  switch (kind) {
    case 'reasoning': return { id, type: 'reasoning', summary: [], content: [] };
    case 'text': return { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    case 'call': return itemOf(item, 'in_progress');
  }
}

function itemOf(item: Item, status: Status): object {
  const { id, kind, name, text } = item;
  switch (kind) {
    case 'reasoning': return { id, type: 'reasoning', summary: [], content: [partOf(item)] };
    case 'text': return { id, type: 'message', status, role: 'assistant', content: [partOf(item)] };
    case 'call': return { id, type: 'function_call', status, call_id: callId(id), name, arguments: text };
  }
}

function usageOf({ promptTokens, completionTokens, reusedTokens, reasoningTokens }: AnswerUsage): object {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: reusedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}
