/** Tool calls, several answers and probabilities through the three vendors' own clients; the model's words are scripted. */
import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import { finishedEvent, KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';
import type { Script } from './scripted-agent.js';

const agent = new ScriptedAgent();
const ARGUMENTS = { city: 'Paris "{"', days: [1, 2] };
const CALL = JSON.stringify({ name: 'get_weather', arguments: ARGUMENTS });
const PARAMETERS = { type: 'object' as const, properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' } } }, required: ['city'] };
let server: ApiServer | null = null;
let openai = new OpenAI({ apiKey: 'none' });
let anthropic = new Anthropic({ apiKey: 'none' });
let ollama = new Ollama();

/** Says the text in pieces of a few characters. */
function saying(text: string): Script {
  return async function* script() {
    yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
    const pieces = text.match(/[^]{1,5}/g) ?? [];
    for (const [index, piece] of pieces.entries()) yield { kind: 'text', text: piece, tokens: [100 + index] };
    yield finishedEvent(5, pieces.length);
  };
}

beforeAll(async () => {
  server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: null, heartbeatMs: 1_000 });
  openai = new OpenAI({ apiKey: 'none', baseURL: `${server.address}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'none', baseURL: server.address, maxRetries: 0 });
  ollama = new Ollama({ host: server.address });
});
beforeEach(() => {
  agent.script = saying(`Let me look.\n<tool_call>\n${CALL}\n</tool_call>\n<tool_call>\n${CALL}\n</tool_call>`);
});
afterAll(async () => {
  await server?.close(0);
});

const question = { model: MODEL.name, messages: [{ role: 'user' as const, content: 'Weather?' }] };
const openaiTools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'get_weather', description: 'Weather.', parameters: PARAMETERS } }];

it('OpenAI\'s client gets calls whole and as a stream', async () => {
  const whole = await openai.chat.completions.create({ ...question, tools: openaiTools });
  const [choice] = whole.choices;
  expect(choice?.finish_reason).toBe('tool_calls');
  expect(choice?.message.content).toBe('Let me look.');
  const calls = choice?.message.tool_calls ?? [];
  expect(calls).toHaveLength(2);
  for (const call of calls) expect(call).toMatchObject({ type: 'function', id: expect.stringMatching(/^call_./), function: { name: 'get_weather' } });
  expect(calls.map((call) => (call.type === 'function' ? JSON.parse(call.function.arguments) as unknown : null))).toEqual([ARGUMENTS, ARGUMENTS]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);

  // The client's own helper puts the deltas together.
  const stream = openai.chat.completions.stream({ ...question, tools: openaiTools });
  let deltas = 0;
  stream.on('tool_calls.function.arguments.delta', () => {
    deltas += 1;
  });
  const message = await stream.finalMessage();
  expect(message.content).toBe('Let me look.');
  expect(message.tool_calls?.map((call) => (call.type === 'function' ? [call.function.name, JSON.parse(call.function.arguments)] : null))).toEqual([['get_weather', ARGUMENTS], ['get_weather', ARGUMENTS]]);
  expect(deltas).toBeGreaterThan(6);
});

it('calls and results go back into the prompt', async () => {
  agent.script = saying('Rain.');
  const calls = [{ id: 'call_1', type: 'function' as const, function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }];
  await openai.chat.completions.create({ ...question, tools: openaiTools, messages: [...question.messages, { role: 'assistant', content: null, tool_calls: calls }, { role: 'tool', tool_call_id: 'call_1', content: 'rain' }] });
  const expected = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', tool_calls: calls },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  ];
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ messages: expected, tools: [{ name: 'get_weather' }] });

  await anthropic.messages.create({
    model: MODEL.name, max_tokens: 50, tools: [{ name: 'get_weather', input_schema: PARAMETERS }],
    messages: [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }, { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Paris' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'rain' }] }, { type: 'tool_result', tool_use_id: 'call_2', is_error: true, content: 'gone' }, { type: 'text', text: 'Well?' }] },
    ],
  });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({
    messages: [
      expected[0], { role: 'assistant', content: 'Hm.', tool_calls: calls }, expected[2],
      { role: 'tool', tool_call_id: 'call_2', content: 'Error: gone' }, { role: 'user', content: 'Well?' },
    ],
  });

  await ollama.chat({
    model: MODEL.name, tools: [{ type: 'function', function: { name: 'get_weather', description: 'Weather.', parameters: PARAMETERS } }],
    messages: [{ role: 'user', content: 'Weather?' }, { role: 'assistant', content: '', tool_calls: [{ function: { name: 'get_weather', arguments: { city: 'Paris' } } }] }, { role: 'tool', content: 'rain', tool_name: 'get_weather' }],
  });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ messages: expected, tools: [{ name: 'get_weather' }] });
});

it('Anthropic\'s client gets calls whole and as a stream', async () => {
  const request = { model: MODEL.name, max_tokens: 50, messages: question.messages, tools: [{ name: 'get_weather', description: 'Weather.', input_schema: PARAMETERS }] };
  const whole = await anthropic.messages.create(request);
  expect(whole.stop_reason).toBe('tool_use');
  const use = { type: 'tool_use', name: 'get_weather', input: ARGUMENTS, id: expect.stringMatching(/^toolu_./) };
  expect(whole.content).toMatchObject([{ type: 'text', text: 'Let me look.' }, use, use]);
  const stream = anthropic.messages.stream({ ...request, tool_choice: { type: 'any', disable_parallel_tool_use: true } });
  let deltas = 0;
  stream.on('inputJson', () => {
    deltas += 1;
  });
  const message = await stream.finalMessage();
  expect(message.content).toMatchObject([{ type: 'text', text: 'Let me look.' }, use, use]);
  expect(message.stop_reason).toBe('tool_use');
  expect(deltas).toBeGreaterThan(6);
  expect(agent.tasks.at(-1)?.toolCalling).toEqual({ choice: 'required', parallel: false });
});

it('Ollama\'s client gets calls whole and as a stream', async () => {
  const request = { model: MODEL.name, messages: question.messages, tools: [{ type: 'function', function: { name: 'get_weather', description: 'Weather.', parameters: PARAMETERS } }] };
  const call = { function: { name: 'get_weather', arguments: ARGUMENTS } };
  expect((await ollama.chat(request)).message).toMatchObject({ content: 'Let me look.', tool_calls: [call, call] });
  const calls: unknown[] = [];
  for await (const part of await ollama.chat({ ...request, stream: true })) calls.push(...part.message.tool_calls ?? []);
  expect(calls).toMatchObject([call, call]);
  await ollama.chat({ ...request, tools: [], format: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } });
  expect(agent.tasks.at(-1)?.sampling.grammar?.text).toContain('root ::=');
  await ollama.generate({ model: MODEL.name, prompt: 'x', format: 'json', raw: true });
  expect(agent.tasks.at(-1)?.sampling.grammar?.text).toContain('root ::=');
});

it('calls are not looked for where no tools are', async () => {
  const whole = await openai.chat.completions.create(question);
  expect(whole.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: expect.stringContaining('<tool_call>') } });
});

it('several answers come with seeds and numbers of their own', async () => {
  agent.script = async function* each(task) {
    yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
    for (const text of ['seed ', String(task.sampling.seed)]) yield { kind: 'text', text, tokens: [1] };
    yield finishedEvent(5, 2);
  };
  const whole = await openai.chat.completions.create({ ...question, n: 4, seed: 7 });
  expect(whole.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  const texts = whole.choices.map(({ message }) => message.content);
  expect(texts[0]).toBe('seed 7');
  expect(new Set(texts).size).toBe(4);
  expect(whole.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 8, total_tokens: 13 });

  const streamed = ['', '', '', ''];
  const reasons: number[] = [];
  for await (const chunk of await openai.chat.completions.create({ ...question, n: 4, seed: 7, stream: true })) {
    for (const { index, delta, finish_reason: reason } of chunk.choices) {
      streamed[index] += delta.content ?? '';
      if (reason !== null) reasons.push(index);
    }
  }
  expect(streamed).toEqual(texts);
  expect(reasons.sort()).toEqual([0, 1, 2, 3]);
  expect((await openai.completions.create({ model: MODEL.name, prompt: 'x', n: 2, seed: 7 })).choices.map(({ text }) => text)).toEqual(texts.slice(0, 2));
});

it('probabilities come in the forms of chats and completions', async () => {
  agent.script = async function* likely() {
    yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
    for (const text of ['In', ' thé']) {
      yield { kind: 'text', text, tokens: [1], probabilities: [{ bytes: Buffer.from(text), logprob: -0.5, alternatives: [{ bytes: Buffer.from(text), logprob: -0.5 }, { bytes: Uint8Array.of(0xc3), logprob: -1.5 }] }] };
    }
    yield finishedEvent(5, 2);
  };
  const chat = await openai.chat.completions.create({ ...question, logprobs: true, top_logprobs: 2 });
  expect(chat.choices[0]?.logprobs?.content).toEqual(['In', ' thé'].map((token) => ({
    token, logprob: -0.5, bytes: [...Buffer.from(token)], top_logprobs: [{ token, logprob: -0.5, bytes: [...Buffer.from(token)] }, { token: '\ufffd', logprob: -1.5, bytes: [0xc3] }],
  })));
  const streamed: unknown[] = [];
  for await (const chunk of await openai.chat.completions.create({ ...question, logprobs: true, top_logprobs: 2, stream: true })) streamed.push(...chunk.choices[0]?.logprobs?.content ?? []);
  expect(streamed).toEqual(chat.choices[0]?.logprobs?.content);
  const text = await openai.completions.create({ model: MODEL.name, prompt: 'x', logprobs: 2 });
  expect(text.choices[0]?.logprobs).toEqual({ tokens: ['In', ' thé'], token_logprobs: [-0.5, -0.5], top_logprobs: [{ In: -0.5, '\ufffd': -1.5 }, { ' thé': -0.5, '\ufffd': -1.5 }], text_offset: [0, 2] });
});
