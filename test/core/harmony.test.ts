/**
 * gpt-oss's answers when it may call tools, as OpenAI's description of the harmony format writes them: thoughts, words before the
 * calls, calls with the recipient in the channel or in the role, several of them. However the text comes in pieces.
 */
import { describe, expect, it } from 'vitest';
import { ReasoningSplit } from '../../src/core/reasoning.js';
import { ToolCalls } from '../../src/core/tools/tool-calls.js';
import type { ToolDefinition } from '../../src/core/tools/tool-use.js';

const TOOLS: readonly ToolDefinition[] = ['get_weather', 'get-time'].map((name) => ({ name, description: '', parameters: { type: 'object', properties: { city: { type: 'string' } } }, strict: false }));
/** Control tokens come whole, text in tokens. */
const MARK = /<\|[a-z]+\|>/;

interface Told {
  readonly thoughts: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
}

function told(pieces: readonly string[]): Told {
  const split = new ReasoningSplit(null);
  const reader = new ToolCalls(TOOLS);
  let thoughts = '';
  let text = '';
  const calls: { name: string; arguments: string }[] = [];
  const read = (found: ReturnType<ToolCalls['push']>): void => {
    for (const piece of found) {
      if (piece.kind === 'text') text += piece.text;
      else if (piece.kind === 'call') calls.push({ name: piece.name, arguments: '' });
      else {
        const call = calls[piece.index];
        if (call === undefined) throw new Error('arguments before their call');
        call.arguments += piece.text;
      }
    }
  };
  const take = (parts: ReturnType<ReasoningSplit['push']>): void => {
    for (const part of parts) {
      if (part.kind === 'reasoning') thoughts += part.text;
      else read(reader.push(part.text));
    }
  };
  for (const piece of pieces) take(split.push(piece));
  take(split.end());
  read(reader.end());
  return { thoughts, text, calls: calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })) };
}

/** The answer in pieces: marks whole and text cut, or cut anywhere. */
function ways(answer: string): readonly (readonly string[])[] {
  const tokens = answer.split(new RegExp(`(${MARK.source})`)).flatMap((part) => (MARK.test(part) ? [part] : part.match(/[^]{1,4}/g) ?? []));
  return [tokens, ...[1, 2, 3, 5, 8, 13, 1_000].map((step) => answer.match(new RegExp(`[^]{1,${step}}`, 'g')) ?? [])];
}

function expectTold(answer: string, wanted: Told): void {
  for (const pieces of ways(answer)) expect(told(pieces), JSON.stringify(pieces.slice(0, 6))).toEqual(wanted);
}

const PARIS = { city: 'Paris {"}' };
const THOUGHT = '<|channel|>analysis<|message|>The person wants the weather. Use get_weather.<|end|>';
const json = JSON.stringify(PARIS);

describe('an answer of gpt-oss that may call tools', () => {
  it('thinks, says what it will do, and calls', () => {
    expectTold(`${THOUGHT}<|start|>assistant<|channel|>commentary<|message|>I look at the weather first.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>${json}<|call|>`, {
      thoughts: 'The person wants the weather. Use get_weather.', text: 'I look at the weather first.', calls: [{ name: 'get_weather', arguments: PARIS }],
    });
  });

  it('calls with the recipient in the role, also as its first words', () => {
    const wanted = { thoughts: '', text: '', calls: [{ name: 'get_weather', arguments: PARIS }] };
    expectTold(` to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>${json}<|call|>`, wanted);
    expectTold(`to=functions.get_weather<|channel|>commentary json<|message|>${json}`, wanted);
    expectTold(`${THOUGHT}<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>${json}<|call|>`, { ...wanted, thoughts: 'The person wants the weather. Use get_weather.' });
  });

  it('calls several tools, one behind the other', () => {
    const call = (name: string): string => `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${json}<|call|>`;
    expectTold(`${THOUGHT}${call('get_weather')}${call('get-time')}${call('get_weather')}`, {
      thoughts: 'The person wants the weather. Use get_weather.', text: '', calls: ['get_weather', 'get-time', 'get_weather'].map((name) => ({ name, arguments: PARIS })),
    });
  });

  it('calls in its thoughts\' channel, and thinks again before it answers', () => {
    expectTold(`<|channel|>analysis to=functions.get-time code<|message|>${json}<|call|>`, { thoughts: '', text: '', calls: [{ name: 'get-time', arguments: PARIS }] });
    expectTold(`${THOUGHT}<|start|>assistant<|channel|>final<|message|>No tool is needed: {"a": 1}.<|return|>`, {
      thoughts: 'The person wants the weather. Use get_weather.', text: 'No tool is needed: {"a": 1}.', calls: [],
    });
  });

  it('is text where it only begins like a call', () => {
    expectTold('to=functions. is what a header says.', { thoughts: '', text: 'to=functions. is what a header says.', calls: [] });
    expectTold('to be or not to be', { thoughts: '', text: 'to be or not to be', calls: [] });
  });
});
