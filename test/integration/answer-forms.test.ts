/**
 * Answers in a form that the request gives, by a real agent with the built-in model, which knows neither JSON nor tools:
 * whatever it says right is the grammar's work. Asked by the vendors' own clients.
 */
import Anthropic from '@anthropic-ai/sdk';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProcess } from '../support/agent-process.js';
import { AGENT_REQUEST } from '../support/agent-tool-request.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const SLOTS = 8;
const LOAD_MS = 60_000;
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
/** Agents' tools are of draft 7. */
const draft7 = new Ajv({ strict: false });

let agent: AgentProcess | null = null;
let openai = new OpenAI({ apiKey: 'none' });
let anthropic = new Anthropic({ apiKey: 'none' });
let ollama = new Ollama();

beforeAll(async () => {
  agent = await AgentProcess.start({ stateDir: temporaryDirectory('forms'), args: ['--no-mdns', '--cluster', `forms-${process.pid}`, '--log-level', 'warn'] });
  const loaded = await agent.call({ path: '/v1/cluster/load', json: { model: MODEL, slots: SLOTS, contextTokens: 8_192 }, timeoutMs: LOAD_MS });
  expect(loaded.status, await loaded.text()).toBe(200);
  const address = `http://127.0.0.1:${agent.http.port}`;
  openai = new OpenAI({ apiKey: 'none', baseURL: `${address}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'none', baseURL: address, maxRetries: 0 });
  ollama = new Ollama({ host: address });
}, 120_000);
afterAll(async () => {
  await agent?.stop();
});

const SCHEMAS: readonly object[] = [
  { type: 'object', properties: { name: { type: 'string', minLength: 1, maxLength: 12 }, age: { type: 'integer', minimum: 0, maximum: 120 }, kind: { enum: ['king', 'prophet', 'judge'] } }, required: ['name', 'age', 'kind'], additionalProperties: false },
  { type: 'object', properties: { tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]{1,8}$' }, minItems: 1, maxItems: 3 }, score: { type: 'number', minimum: 0, maximum: 1 }, note: { type: ['string', 'null'], maxLength: 20 } }, required: ['tags', 'score'], additionalProperties: false },
  { type: 'array', items: { anyOf: [{ type: 'boolean' }, { type: 'string', format: 'date' }, { type: 'string', format: 'ipv4' }] }, minItems: 2, maxItems: 4 },
  { $ref: '#/$defs/tree', $defs: { tree: { type: 'object', properties: { value: { type: 'integer', minimum: -5, maximum: 5 }, left: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/leaf' }] } }, required: ['value', 'left'], additionalProperties: false }, leaf: { type: 'object', properties: { value: { const: 'end' } }, required: ['value'], additionalProperties: false } } },
];

describe('an answer in JSON', () => {
  it('follows its schema, 100 of 100', async () => {
    const valid = await Promise.all(SCHEMAS.map(async (schema, index) => {
      const answered = await openai.chat.completions.create({
        model: MODEL, seed: index, temperature: 1, n: 25, max_tokens: 400,
        messages: [{ role: 'user', content: 'Tell me of Moses.' }],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: { ...schema } } },
      });
      return answered.choices.map(({ message, finish_reason: reason }) => {
        const value: unknown = JSON.parse(message.content ?? '');
        const ok = reason === 'stop' && ajv.validate(schema, value);
        return ok ? 'valid' : `${reason}: ${message.content}: ${ajv.errorsText()}`;
      });
    }));
    expect(valid.flat()).toEqual(Array.from({ length: 100 }, () => 'valid'));
  }, 180_000);

  it('is any object where only JSON is asked for, and what a raw grammar says where that is given', async () => {
    const answered = await openai.chat.completions.create({ model: MODEL, temperature: 0, max_tokens: 300, messages: [{ role: 'user', content: 'JSON, please' }], response_format: { type: 'json_object' } });
    expect(answered.choices[0]?.message.content?.trimStart().startsWith('{')).toBe(true);
    const raw = await agent?.call({ path: '/v1/completions', json: { model: MODEL, prompt: 'In the', temperature: 1, seed: 3, max_tokens: 50, grammar: 'root ::= " " [a-z]{4} "!"' } });
    expect(await raw?.json()).toMatchObject({ choices: [{ text: expect.stringMatching(/^ [a-z]{4}!$/), finish_reason: 'stop' }] });
  });

  it('is refused with the reason where it cannot be', async () => {
    const bad = await agent?.call({ path: '/v1/completions', json: { model: MODEL, prompt: 'x', grammar: 'root ::= root "a"' } });
    expect(bad?.status).toBe(400);
    expect(await bad?.json()).toMatchObject({ error: { message: expect.stringContaining('cannot read the grammar') } });
    await expect(openai.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'x' }], response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object', not: {} } } } })).rejects.toThrow(/"not", which is not supported/);
    // The ring still answers.
    expect((await openai.completions.create({ model: MODEL, prompt: 'In the', max_tokens: 2 })).choices).toHaveLength(1);
  });

  it('comes through Ollama\'s client', async () => {
    const schema = SCHEMAS[0] ?? {};
    const { message } = await ollama.chat({ model: MODEL, messages: [{ role: 'user', content: 'Moses?' }], format: { ...schema }, options: { seed: 5, num_predict: 300 } });
    expect(ajv.validate(schema, JSON.parse(message.content)), message.content).toBe(true);
  });
});

describe('a call that is asked for', () => {
  const parameters = { type: 'object' as const, properties: { city: { type: 'string', minLength: 1, maxLength: 20 }, days: { type: 'integer', minimum: 1, maximum: 14 } }, required: ['city', 'days'], additionalProperties: false };
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'get_weather', description: 'The weather.', parameters, strict: true } },
    { type: 'function', function: { name: 'stop', description: 'Stops.', parameters: { type: 'object', properties: {}, additionalProperties: false } } },
  ];

  it('is made, whole and as a stream, of the tool that is named or any', async () => {
    const base = { model: MODEL, seed: 1, temperature: 1, max_tokens: 300, tools, messages: [{ role: 'user' as const, content: 'Weather?' }] };
    const named = await openai.chat.completions.create({ ...base, parallel_tool_calls: false, tool_choice: { type: 'function', function: { name: 'get_weather' } } });
    expect(named.choices[0]?.finish_reason).toBe('tool_calls');
    const [call, ...others] = named.choices[0]?.message.tool_calls ?? [];
    expect(others).toEqual([]);
    if (call?.type !== 'function') throw new Error(JSON.stringify(named));
    expect(call.function.name).toBe('get_weather');
    expect(ajv.validate(parameters, JSON.parse(call.function.arguments)), call.function.arguments).toBe(true);

    const streamed = await openai.chat.completions.stream({ ...base, parallel_tool_calls: false, tool_choice: 'required' }).finalMessage();
    expect(streamed.tool_calls).toHaveLength(1);
    for (const one of streamed.tool_calls ?? []) expect(['get_weather', 'stop']).toContain(one.type === 'function' ? one.function.name : '');
  });

  it('comes through Anthropic\'s client', async () => {
    const message = await anthropic.messages.stream({ model: MODEL, max_tokens: 300, temperature: 1, messages: [{ role: 'user', content: 'Weather?' }], tools: [{ name: 'get_weather', input_schema: parameters }], tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true } }).finalMessage();
    expect(message.stop_reason).toBe('tool_use');
    const [use] = message.content;
    if (use?.type !== 'tool_use') throw new Error(JSON.stringify(message));
    expect(ajv.validate(parameters, use.input), JSON.stringify(use.input)).toBe(true);
    expect((await anthropic.messages.countTokens({ model: MODEL, messages: [{ role: 'user', content: 'Weather?' }], tools: [{ name: 'get_weather', input_schema: parameters }] })).input_tokens).toBeGreaterThan(100);
  });

  it('a coding agent\'s request is answered: as it is, and with a call that it asks for', async () => {
    const free = await openai.chat.completions.create({ ...AGENT_REQUEST, model: MODEL, stream: true, max_tokens: 24, temperature: 0 });
    let text = '';
    let usage: OpenAI.CompletionUsage | null = null;
    for await (const chunk of free) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text.length).toBeGreaterThan(0);
    expect(usage?.prompt_tokens).toBeGreaterThan(1_500);
    const forced = await openai.chat.completions.create({ ...AGENT_REQUEST, model: MODEL, stream: false, stream_options: null, max_tokens: 600, temperature: 0, tool_choice: { type: 'function', function: { name: 'todo_write' } }, parallel_tool_calls: false });
    const [call] = forced.choices[0]?.message.tool_calls ?? [];
    if (call?.type !== 'function') throw new Error(JSON.stringify(forced));
    const schema = AGENT_REQUEST.tools.find((tool) => tool.type === 'function' && tool.function.name === 'todo_write');
    if (forced.choices[0]?.finish_reason === 'tool_calls') expect(draft7.validate(schema?.type === 'function' ? schema.function.parameters ?? {} : {}, JSON.parse(call.function.arguments)), call.function.arguments).toBe(true);
    expect(forced.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(1_000);
  }, 180_000);
});

describe('probabilities and several answers', () => {
  it('are the model\'s own', async () => {
    const base = { model: MODEL, prompt: 'In the beginning God created the', max_tokens: 4, temperature: 0 };
    const answered = await openai.completions.create({ ...base, logprobs: 3 });
    const { tokens = [], token_logprobs: logprobs = [], top_logprobs: top = [] } = answered.choices[0]?.logprobs ?? {};
    expect(tokens.join('')).toBe(answered.choices[0]?.text);
    logprobs.forEach((logprob, index) => {
      // Greedy: each token is the likeliest of its alternatives.
      expect(Math.max(...Object.values(top[index] ?? {}))).toBeCloseTo(logprob ?? 0, 5);
      expect(logprob).toBeLessThanOrEqual(0);
    });
    const several = await openai.completions.create({ ...base, temperature: 1, seed: 9, n: 3, max_tokens: 12 });
    const alone = await openai.completions.create({ ...base, temperature: 1, seed: 9, max_tokens: 12 });
    expect(several.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(several.choices[0]?.text).toBe(alone.choices[0]?.text);
    expect(new Set(several.choices.map(({ text }) => text)).size).toBeGreaterThan(1);
  });
});
