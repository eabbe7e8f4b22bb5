/** Tool calls in the ways that models write them, whole and bit by bit. */
import { describe, expect, it } from 'vitest';
import { ReasoningSplit } from '../../src/core/reasoning.js';
import { ToolCalls } from '../../src/core/tools/tool-calls.js';
import type { ToolPiece } from '../../src/core/tools/tool-calls.js';
import { toolStyleOf } from '../../src/core/tools/tool-use.js';
import type { ToolDefinition } from '../../src/core/tools/tool-use.js';

const TOOLS: readonly ToolDefinition[] = [
  { name: 'get_weather', description: '', strict: false, parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } } },
  { name: 'write-file', description: '', strict: false, parameters: { type: 'object', properties: { path: { type: 'string' }, content: { type: 'string' }, mode: { type: 'object' } } } },
];

interface Read {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
}

/** Fed in pieces of `step` characters. */
function read(answer: string, step: number): Read {
  const reader = new ToolCalls(TOOLS);
  const characters = [...answer];
  const pieces: ToolPiece[] = [];
  for (let at = 0; at < characters.length; at += step) pieces.push(...reader.push(characters.slice(at, at + step).join('')));
  pieces.push(...reader.end());
  const calls: { name: string; text: string }[] = [];
  for (const piece of pieces) {
    if (piece.kind === 'call') calls[piece.index] = { name: piece.name, text: '' };
    const call = piece.kind === 'arguments' ? calls[piece.index] : undefined;
    if (piece.kind === 'arguments' && call !== undefined) call.text += piece.text;
  }
  return { text: pieces.flatMap((piece) => (piece.kind === 'text' ? [piece.text] : [])).join(''), calls: calls.map(({ name, text }) => ({ name, arguments: JSON.parse(text) as unknown })) };
}

const PARIS = { name: 'get_weather', arguments: { city: 'Paris "}{"', days: 2 } };
const ROME = { name: 'get_weather', arguments: { city: 'Rome' } };
const FILE = { name: 'write-file', arguments: { path: 'a.ts', content: 'if (a < b) {\n  "}";\n}\n', mode: { x: [1, { y: null }] } } };
const json = (value: unknown): string => JSON.stringify(value);

const ANSWERS: readonly (readonly [string, string, Read])[] = [
  ['no call at all', 'Just words, <b>tags</b> and {braces}.\n', { text: 'Just words, <b>tags</b> and {braces}.\n', calls: [] }],
  ['tagged', `<tool_call>\n${json(PARIS)}\n</tool_call>`, { text: '', calls: [PARIS] }],
  ['tagged behind words', `Let me look.\n\n<tool_call>\n${json(FILE)}\n</tool_call>`, { text: 'Let me look.', calls: [FILE] }],
  ['tagged, several', `<tool_call>\n${json(PARIS)}\n</tool_call>\n<tool_call>\n${json(ROME)}\n</tool_call>`, { text: '', calls: [PARIS, ROME] }],
  ['tagged with words behind', `<tool_call>${json(ROME)}</tool_call>\nDone.`, { text: 'Done.', calls: [ROME] }],
  ['bare, as Llama 3', json({ name: 'get_weather', parameters: ROME.arguments }), { text: '', calls: [ROME] }],
  ['bare with a tag, several', `<|python_tag|>${json({ name: 'get_weather', parameters: ROME.arguments })}; ${json({ type: 'function', name: 'write-file', parameters: FILE.arguments })}`, { text: '', calls: [ROME, FILE] }],
  ['a list, as Mistral', `[TOOL_CALLS][${json(PARIS)}, ${json({ ...FILE, id: 'abc123def' })}]`, { text: '', calls: [PARIS, FILE] }],
  ['names before arguments, as newer Mistral', `[TOOL_CALLS]get_weather[ARGS]${json(PARIS.arguments)}[TOOL_CALLS]write-file[ARGS]${json(FILE.arguments)}`, { text: '', calls: [PARIS, FILE] }],
  ['names before arguments without a mark', `[TOOL_CALLS]get_weather${json(ROME.arguments)}`, { text: '', calls: [ROME] }],
  ['tagged parameters, as Qwen3-Coder', `<tool_call>\n<function=write-file>\n<parameter=path>\na.ts\n</parameter>\n<parameter=content>\n${FILE.arguments.content}\n</parameter>\n<parameter=mode>\n${json(FILE.arguments.mode)}\n</parameter>\n</function>\n</tool_call>`, { text: '', calls: [FILE] }],
  ['tagged parameters alone', 'Now:\n<function=get_weather>\n<parameter=city>\n5\n</parameter>\n<parameter=days>\n5\n</parameter>\n</function>', { text: 'Now:', calls: [{ name: 'get_weather', arguments: { city: '5', days: 5 } }] }],
  ['as DeepSeek R1', `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n\`\`\`json\n${json(PARIS.arguments)}\n\`\`\`<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n\`\`\`json\n${json(ROME.arguments)}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, { text: '', calls: [PARIS, ROME] }],
  ['as DeepSeek V3.1', `Hm.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>${json(PARIS.arguments)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, { text: 'Hm.', calls: [PARIS] }],
  ['arguments first', json({ arguments: ROME.arguments, name: 'get_weather' }), { text: '', calls: [ROME] }],
  ['arguments as a text', `<tool_call>${json({ name: 'get_weather', arguments: json(PARIS.arguments) })}</tool_call>`, { text: '', calls: [PARIS] }],
  ['no arguments', `<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>`, { text: '', calls: [{ name: 'get_weather', arguments: {} }] }],
  ['JSON that is an answer', '{"name": "Anna", "arguments": {"a": 1}}', { text: '{"name": "Anna", "arguments": {"a": 1}}', calls: [] }],
  ['JSON without arguments', '{"name": "get_weather"}', { text: '{"name": "get_weather"}', calls: [] }],
  ['JSON that breaks', '{"name": get_weather}', { text: '{"name": get_weather}', calls: [] }],
  ['a tag with words behind it', 'Write <tool_call> to call.', { text: 'Write <tool_call> to call.', calls: [] }],
  ['a tool that is not there', '<tool_call>{"name": "rm", "arguments": {}}</tool_call>', { text: '<tool_call>{"name": "rm", "arguments": {}}</tool_call>', calls: [] }],
  ['a tag that is not finished', 'a <tool_ca', { text: 'a <tool_ca', calls: [] }],
];

describe('tool calls in an answer', () => {
  it.each(ANSWERS)('%s', (_name, answer, expected) => {
    for (const step of [1, 2, 3, 7, 1_000]) expect({ step, ...read(answer, step) }).toEqual({ step, ...expected });
  });

  it('are told as they come', () => {
    const reader = new ToolCalls(TOOLS);
    expect(reader.push('<tool_call>{"name": "get_wea')).toEqual([]);
    expect(reader.push('ther", "arguments": ')).toEqual([]);
    expect(reader.push('{"city": "Pa')).toEqual([{ kind: 'call', index: 0, name: 'get_weather' }, { kind: 'arguments', index: 0, text: '{"city": "Pa' }]);
    expect(reader.push('ris"}')).toEqual([{ kind: 'arguments', index: 0, text: 'ris"}' }]);
    expect(reader.push('}</tool_call>')).toEqual([]);
    expect(reader.end()).toEqual([]);
    expect(reader.found).toBe(1);
  });

  it('that an end cuts off stay what they were', () => {
    const reader = new ToolCalls(TOOLS);
    expect([...reader.push('<tool_call>{"name": "get_weather", "arguments": {"city"'), ...reader.end()]).toEqual([{ kind: 'call', index: 0, name: 'get_weather' }, { kind: 'arguments', index: 0, text: '{"city"' }]);
    const early = new ToolCalls(TOOLS);
    expect([...early.push('<tool_call>{"name": "get_w'), ...early.end()]).toEqual([{ kind: 'text', text: '<tool_call>{"name": "get_w' }]);
  });
});

it('gpt-oss calls by messages to a tool, behind its thoughts', () => {
  const answer = `<|channel|>analysis<|message|>Need the weather.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>${json(PARIS.arguments)}<|call|>`;
  for (const step of [1, 4, 1_000]) {
    const split = new ReasoningSplit(null);
    const reader = new ToolCalls(TOOLS);
    const pieces = (answer.match(new RegExp(`[^]{1,${step}}`, 'g')) ?? []).flatMap((part) => split.push(part));
    const told = [...pieces, ...split.end()];
    expect(told.flatMap((piece) => (piece.kind === 'reasoning' ? [piece.text] : [])).join('')).toBe('Need the weather.');
    const calls = [...told.flatMap((piece) => (piece.kind === 'text' ? reader.push(piece.text) : [])), ...reader.end()];
    expect(calls[0]).toEqual({ kind: 'call', index: 0, name: 'get_weather' });
    expect(JSON.parse(calls.flatMap((piece) => (piece.kind === 'arguments' ? [piece.text] : [])).join(''))).toEqual(PARIS.arguments);
    expect(calls.some((piece) => piece.kind === 'text')).toBe(false);
  }
});

it('the style of calls is seen in the prompt', () => {
  expect(toolStyleOf('[AVAILABLE_TOOLS] [{"type": "function"}][/AVAILABLE_TOOLS][INST] hi [/INST]')).toBe('listed');
  expect(toolStyleOf('return a json object within <tool_call></tool_call> XML tags')).toBe('tagged');
  expect(toolStyleOf('<|start_header_id|>user<|end_header_id|> Respond in the format {"name": function name, "parameters": …}')).toBe('bare');
});
