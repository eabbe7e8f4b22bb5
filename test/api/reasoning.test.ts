/** Thoughts apart from the answer, as the three vendors' own clients see them. */
import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import type { CompletionEvent } from '../../src/agent/service.js';
import { answerOf, finishedEvent, KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';

const agent = new ScriptedAgent();
const messages = [{ role: 'user' as const, content: 'What is 2+2?' }];
const THOUGHT = ['<th', 'ink>\nTwo and', ' two.', '\n</think>', '\n\nIt', ' is 4.'];
let server: ApiServer | null = null;
let address = '';

beforeAll(async () => {
  server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: null });
  ({ address } = server);
});
beforeEach(() => {
  agent.script = () => answerOf(THOUGHT);
});
afterAll(async () => {
  await server?.close(0);
});

function openAi(): OpenAI {
  return new OpenAI({ apiKey: 'none', baseURL: `${address}/v1`, maxRetries: 0 });
}

function anthropic(): Anthropic {
  return new Anthropic({ apiKey: 'none', baseURL: address, maxRetries: 0 });
}

it('OpenAI: reasoning_content, whole and streamed, and the tokens it took', async () => {
  const whole = await openAi().chat.completions.create({ model: MODEL.name, messages });
  expect(whole.choices[0]?.message).toMatchObject({ content: 'It is 4.', reasoning_content: 'Two and two.' });
  expect(whole.usage).toMatchObject({ completion_tokens: 6, completion_tokens_details: { reasoning_tokens: 3 } });
  const deltas: object[] = [];
  for await (const chunk of await openAi().chat.completions.create({ model: MODEL.name, messages, stream: true })) deltas.push(chunk.choices[0]?.delta ?? {});
  expect(deltas).toEqual([
    { role: 'assistant', content: '' }, { reasoning_content: 'Two and' }, { reasoning_content: ' two.' }, { content: 'It' }, { content: ' is 4.' }, {},
  ]);
});

it('OpenAI: token ids are told once each, in order, whatever they are part of', async () => {
  const response = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ messages, return_tokens: true }),
  });
  expect(await response.json()).toMatchObject({ choices: [{ tokens: [100, 101, 102, 103, 104, 105] }] });
});

it('OpenAI: the request says whether they are told apart and what the template hears', async () => {
  const raw = { model: MODEL.name, messages, reasoning_format: 'none', chat_template_kwargs: { enable_thinking: true } };
  expect((await openAi().chat.completions.create(raw)).choices[0]?.message.content).toBe('<think>\nTwo and two.\n</think>\n\nIt is 4.');
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ variables: { enable_thinking: true } });
  await openAi().chat.completions.create({ model: MODEL.name, messages, reasoning_effort: 'low' });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ variables: { reasoning_effort: 'low' } });
  await openAi().chat.completions.create({ model: MODEL.name, messages, reasoning_effort: 'none' });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ variables: { enable_thinking: false } });
});

it('a template that has opened the thoughts', async () => {
  agent.script = async function* opened(): AsyncGenerator<CompletionEvent> {
    yield { kind: 'started', model: MODEL.name, promptTokens: 5, opened: { open: '<think>', close: '</think>' } };
    yield { kind: 'text', text: 'Hm</think>4', tokens: [1] };
    yield finishedEvent(5, 1);
  };
  expect((await openAi().chat.completions.create({ model: MODEL.name, messages })).choices[0]?.message).toMatchObject({ content: '4', reasoning_content: 'Hm' });
});

it('Anthropic: thinking blocks, whole and streamed, and only where they are asked for', async () => {
  const question = { model: MODEL.name, max_tokens: 2048, messages, thinking: { type: 'enabled' as const, budget_tokens: 1024 } };
  const content = [{ type: 'thinking', thinking: 'Two and two.', signature: '' }, { type: 'text', text: 'It is 4.' }];
  expect((await anthropic().messages.create(question)).content).toEqual(content);
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ variables: { enable_thinking: true } });
  const streamed = await anthropic().messages.stream(question).finalMessage();
  expect(streamed.content).toMatchObject(content);
  const omitted = await anthropic().messages.create({ ...question, thinking: { type: 'adaptive', display: 'omitted' } });
  expect(omitted.content[0]).toMatchObject({ type: 'thinking', thinking: '' });
  await anthropic().messages.create({
    model: MODEL.name, max_tokens: 16,
    messages: [...messages, { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature: '' }, { type: 'text', text: '4' }] }, ...messages],
  });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ variables: { enable_thinking: false }, messages: [{}, { content: '4', reasoning_content: 'Hm' }, {}] });
});

it('Ollama: thinking beside the content, in chat and generate', async () => {
  const client = new Ollama({ host: address });
  expect((await client.chat({ model: MODEL.name, messages, think: true })).message).toEqual({ role: 'assistant', content: 'It is 4.', thinking: 'Two and two.' });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ variables: { enable_thinking: true } });
  const parts: { content: string; thinking?: string | undefined }[] = [];
  for await (const { message } of await client.chat({ model: MODEL.name, messages, stream: true, think: 'high' })) parts.push(message);
  expect(parts.map(({ content }) => content).join('')).toBe('It is 4.');
  expect(parts.map(({ thinking }) => thinking ?? '').join('')).toBe('Two and two.');
  expect(await client.generate({ model: MODEL.name, prompt: 'x', think: false })).toMatchObject({ response: 'It is 4.', thinking: 'Two and two.' });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ variables: { enable_thinking: false } });
});
