/**
 * Tools in a chat, whatever the model's template knows of them.
 *
 * What a template does with tools, calls and results is tried once, on a small chat with words that are easy to find. What
 * it does not show is put into words: tools into the system message, calls and results into the texts of the messages. It
 * must not know what a template says or how it is rendered.
 */
import { CALL_CLOSE, CALL_OPEN } from '../core/tools/tool-use.js';
import type { ChatInput } from './chat-template.js';

type ToolMessage = ChatInput['messages'][number];

interface Support {
  readonly tools: boolean;
  readonly system: boolean;
  readonly results: boolean;
  /** What arguments of earlier calls must be; null = calls are not shown. */
  readonly calls: 'object' | 'text' | null;
}

interface EarlierCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** `render` with tools that it need not know. Throws what `render` throws. */
export function withToolSupport(render: (chat: ChatInput) => string): (chat: ChatInput) => string {
  let support: Support | null = null;
  return (chat) => {
    const hasTools = (chat.tools ?? []).length > 0;
    if (!hasTools && !chat.messages.some((message) => message.role === 'tool' || callsOf(message).length > 0)) return render(chat);
    support ??= tried(render, chat);
    return render(adapted(chat, support));
  };
}

const PROBE = { name: 'ring_probe_tool', key: 'ring_probe_key', value: 'ring_probe_value', result: 'ring_probe_result', system: 'ring_probe_system' };

function tried(render: (chat: ChatInput) => string, like: ChatInput): Support {
  const user = { role: 'user', content: 'x' };
  const tools = [functionTool(PROBE.name, 'x', { type: 'object', properties: { [PROBE.key]: { type: 'string' } } })];
  const shown = (messages: readonly ToolMessage[], withTools: boolean): string => {
    try {
      return render({ ...like, messages, tools: withTools ? tools : [] });
    } catch {
      // What a template refuses it does not support.
      return '';
    }
  };
  const knowsTools = shown([user], true).includes(PROBE.name);
  const calling = (given: unknown): string => shown([
    user,
    { role: 'assistant', content: '', tool_calls: [{ id: shortId('x'), type: 'function', function: { name: PROBE.name, arguments: given } }] },
    { role: 'tool', content: PROBE.result, name: PROBE.name, tool_call_id: shortId('x') },
    { role: 'assistant', content: 'x' },
    user,
  ], knowsTools);
  const showsArguments = (text: string): boolean => text.includes(PROBE.key) && text.includes(PROBE.value) && !text.includes(`\\"${PROBE.key}`);
  // The tool itself names the key too, so the value is what counts.
  const asObject = calling({ [PROBE.key]: PROBE.value });
  const asText = showsArguments(asObject) ? asObject : calling(`{"${PROBE.key}": "${PROBE.value}"}`);
  return {
    tools: knowsTools,
    system: shown([{ role: 'system', content: PROBE.system }, user], false).includes(PROBE.system),
    results: asText.includes(PROBE.result),
    calls: showsArguments(asObject) ? 'object' : showsArguments(asText) ? 'text' : null,
  };
}

function adapted(chat: ChatInput, support: Support): ChatInput {
  const names = new Map<string, string>();
  let messages: ToolMessage[] = [];
  for (const message of chat.messages) {
    const calls = callsOf(message);
    for (const { id, name } of calls) names.set(id, name);
    if (calls.length > 0) messages.push(withCalls(message, calls, support));
    else if (message.role === 'tool') addResult(messages, message, names, support);
    else messages.push(message);
  }
  const tools = chat.tools ?? [];
  if (tools.length === 0 || support.tools) return { ...chat, messages };
  messages = withInstructions(messages, instructionsFor(tools), support);
  return { ...chat, messages, tools: [] };
}

function withCalls(message: ToolMessage, calls: readonly EarlierCall[], support: Support): ToolMessage {
  const { tool_calls: _calls, ...plain } = message;
  const content = message.content ?? '';
  if (support.calls === null || !support.results) {
    const written = calls.map((call) => `${CALL_OPEN}\n${JSON.stringify({ name: call.name, arguments: parsed(call.arguments) })}\n${CALL_CLOSE}`);
    return { ...plain, content: [...(content === '' ? [] : [textOf(content)]), ...written].join('\n') };
  }
  return {
    ...plain,
    content,
    tool_calls: calls.map((call) => ({ id: shortId(call.id), type: 'function', function: { name: call.name, arguments: support.calls === 'object' ? parsed(call.arguments) : call.arguments } })),
  };
}

function addResult(messages: ToolMessage[], message: ToolMessage, names: ReadonlyMap<string, string>, support: Support): void {
  const id = typeof message.tool_call_id === 'string' ? message.tool_call_id : '';
  if (support.calls !== null && support.results) {
    const name = message.name ?? names.get(id);
    messages.push({ ...message, ...(name === undefined ? {} : { name }), tool_call_id: shortId(id) });
    return;
  }
  const text = `<tool_response>\n${textOf(message.content)}\n</tool_response>`;
  const last = messages.at(-1);
  // Templates want user and assistant in turns: results of one round are one message.
  if (last?.role === 'user' && typeof last.content === 'string' && last.content.startsWith('<tool_response>')) messages[messages.length - 1] = { ...last, content: `${last.content}\n${text}` };
  else messages.push({ role: 'user', content: text });
}

function withInstructions(messages: readonly ToolMessage[], instructions: string, support: Support): ToolMessage[] {
  const role = support.system ? 'system' : 'user';
  const at = messages.findIndex((message) => message.role === role);
  const target = messages[at];
  if (target === undefined || (role === 'system' && at !== 0)) return [{ role, content: instructions }, ...messages];
  const text = textOf(target.content);
  const content = role === 'system' ? `${text}\n\n${instructions}` : `${instructions}\n\n${text}`;
  return messages.map((message, index) => (index === at ? { ...message, content } : message));
}

function instructionsFor(tools: readonly unknown[]): string {
  return [
    '# Tools',
    '',
    'You may call one or more of these functions. Each line describes one as JSON, with a JSON schema of its arguments:',
    '<tools>',
    ...tools.map((tool) => JSON.stringify(tool)),
    '</tools>',
    '',
    `To call a function, answer with a JSON object of its name and arguments between ${CALL_OPEN} and ${CALL_CLOSE}:`,
    CALL_OPEN,
    '{"name": "<function name>", "arguments": {…}}',
    CALL_CLOSE,
  ].join('\n');
}

export function functionTool(name: string, description: string, parameters: object): object {
  return { type: 'function', function: { name, description, parameters } };
}

/** Calls of an earlier answer, as OpenAI has them; the API has checked their shape. */
function callsOf({ tool_calls: calls }: ToolMessage): readonly EarlierCall[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown): EarlierCall[] => {
    if (typeof call !== 'object' || call === null || !('function' in call)) return [];
    const { function: called } = call;
    if (typeof called !== 'object' || called === null || !('name' in called) || !('arguments' in called)) return [];
    return [{ id: 'id' in call ? String(call.id) : '', name: String(called.name), arguments: String(called.arguments) }];
  });
}

/** Of earlier arguments; what is no JSON stays a text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : content === null || content === undefined ? '' : JSON.stringify(content);
}

/** Mistral's templates insist on nine letters and digits. The same for the same id, so that prompts begin alike. */
function shortId(id: string): string {
  let high = 0xdead_beef;
  let low = 0x41c6_ce57;
  for (const character of id) {
    const point = character.codePointAt(0) ?? 0;
    high = Math.imul(high ^ point, 2_654_435_761);
    low = Math.imul(low ^ point, 1_597_334_677);
  }
  return ((high >>> 0).toString(36) + (low >>> 0).toString(36)).padEnd(9, '0').slice(0, 9);
}
