/**
 * What programs do with the vendors' own clients beyond single calls: loops that run tools, answers parsed into types, streaming
 * helpers, aborts. The agent is scripted; what its model says is in the test.
 */
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import { ANTHROPIC_AGENT_REQUEST } from '../support/anthropic-agent-request.js';
import { aborted, answerOf, KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';

const agent = new ScriptedAgent();
const model = MODEL.name;
const messages = [{ role: 'user' as const, content: 'Weather in Jericho?' }];
const schema = z.object({ city: z.string(), days: z.number() });
const VALUE = { city: 'Jericho', days: 7 };
const CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Jericho"}}\n</tool_call>';
let server: ApiServer | null = null;
let openai = new OpenAI({ apiKey: 'none' });
let anthropic = new Anthropic({ apiKey: 'none' });
let ollama = new Ollama();

beforeAll(async () => {
  server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: null, heartbeatMs: 30 });
  openai = new OpenAI({ apiKey: 'none', baseURL: `${server.address}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'none', baseURL: server.address, maxRetries: 0 });
  ollama = new Ollama({ host: server.address });
});
beforeEach(() => {
  agent.tasks.length = 0;
});
afterAll(async () => {
  await server?.close(0);
});

/** One answer after the other, in pieces of three characters. */
function says(...answers: readonly string[]): void {
  const waiting = [...answers];
  agent.script = () => answerOf((waiting.length > 1 ? waiting.shift() ?? '' : waiting[0] ?? '').match(/[^]{1,3}/g) ?? []);
}

const endless: ScriptedAgent['script'] = async function* endless(_task, signal) {
  yield { kind: 'started', model, promptTokens: 1 };
  yield { kind: 'text', text: 'a', tokens: [1] };
  await aborted(signal);
};

async function expectEnded(): Promise<void> {
  await expect.poll(() => agent.signal?.aborted, { timeout: 5_000 }).toBe(true);
}

describe('OpenAI\'s client', () => {
  const weather = { type: 'function' as const, function: { name: 'weather', description: 'The weather.', parameters: { type: 'object' as const, properties: { city: { type: 'string' } } }, parse: JSON.parse, function: ({ city }: { city: string }) => `${city}: sun` } };

  it.each([false, true])('runs tools until there is an answer (stream: %s)', async (stream) => {
    says(CALL, 'Sun in Jericho.');
    const tools = [weather];
    const runner = stream ? openai.chat.completions.runTools({ model, messages, tools, stream: true }) : openai.chat.completions.runTools({ model, messages, tools });
    expect(await runner.finalContent()).toBe('Sun in Jericho.');
    expect(await runner.finalFunctionToolCallResult()).toBe('Jericho: sun');
    const prompt = agent.tasks[1]?.prompt;
    expect(prompt?.kind === 'chat' ? prompt.messages.map(({ role }) => role) : []).toEqual(['user', 'assistant', 'tool']);
  });

  it('parses answers into types, of chats and responses, whole and streamed', async () => {
    says(JSON.stringify(VALUE));
    const format = zodResponseFormat(schema, 'forecast');
    expect((await openai.chat.completions.parse({ model, messages, response_format: format })).choices[0]?.message.parsed).toEqual(VALUE);
    expect((await openai.chat.completions.stream({ model, messages, response_format: format }).finalChatCompletion()).choices[0]?.message.parsed).toEqual(VALUE);
    expect((await openai.responses.parse({ model, input: 'x', text: { format: zodTextFormat(schema, 'forecast') } })).output_parsed).toEqual(VALUE);
    expect((await openai.responses.stream({ model, input: 'x', text: { format: zodTextFormat(schema, 'forecast') } }).finalResponse()).output_parsed).toEqual(VALUE);
    expect(agent.tasks.every(({ sampling }) => sampling.grammar !== undefined)).toBe(true);
  });

  it('tells of a stream as it comes, lists models, and ends what it aborts', async () => {
    says('In the beginning');
    const stream = openai.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
    const deltas: string[] = [];
    stream.on('content', (delta) => void deltas.push(delta));
    expect(await stream.finalContent()).toBe('In the beginning');
    expect(deltas.join('')).toBe('In the beginning');
    expect((await stream.totalUsage()).completion_tokens).toBe(6);
    const names: string[] = [];
    for await (const one of openai.models.list()) names.push(one.id);
    expect(names).toEqual([model]);
    expect((await openai.models.retrieve(model)).id).toBe(model);
    agent.script = endless;
    const response = openai.responses.stream({ model, input: 'x' });
    response.on('response.output_text.delta', () => response.abort());
    await expect(response.finalResponse()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await expectEnded();
  });
});

describe('gpt-oss, which may call tools', () => {
  const answer = '<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Jericho"}<|call|>';

  it('thinks, speaks and calls for OpenAI\'s and Anthropic\'s clients, whole and streamed', async () => {
    says(answer);
    const parameters = { type: 'object' as const, properties: { city: { type: 'string' } } };
    const request = { model, messages, tools: [{ type: 'function' as const, function: { name: 'weather', parameters } }], tool_choice: 'auto' as const };
    const said = { message: { content: 'I look.', reasoning_content: 'Look.', tool_calls: [{ function: { name: 'weather', arguments: '{"city": "Jericho"}' } }] }, finish_reason: 'tool_calls' };
    expect((await openai.chat.completions.create(request)).choices[0]).toMatchObject(said);
    const { reasoning_content: _thoughts, ...streamed } = said.message;
    expect((await openai.chat.completions.stream(request).finalChatCompletion()).choices[0]).toMatchObject({ ...said, message: streamed });
    const question = { model, max_tokens: 99, messages, thinking: { type: 'enabled' as const, budget_tokens: 1_024 }, tools: [{ name: 'weather', input_schema: parameters }] };
    const content = [{ type: 'thinking', thinking: 'Look.' }, { type: 'text', text: 'I look.' }, { type: 'tool_use', name: 'weather', input: { city: 'Jericho' } }];
    expect(await anthropic.messages.create(question)).toMatchObject({ content, stop_reason: 'tool_use' });
    expect(await anthropic.messages.stream(question).finalMessage()).toMatchObject({ content, stop_reason: 'tool_use' });
  });
});

describe('Anthropic\'s client', () => {
  const weather = betaZodTool({ name: 'weather', description: 'The weather.', inputSchema: z.object({ city: z.string() }), run: ({ city }) => `${city}: sun` });

  it.each([false, true])('runs tools until there is an answer (stream: %s)', async (stream) => {
    // Twice: a conversation that the server is asked to keep is sent whole at each turn.
    says(CALL, CALL, 'Sun in Jericho.');
    const runner = stream
      ? anthropic.beta.messages.toolRunner({ model, max_tokens: 99, messages, tools: [weather], stream: true })
      : anthropic.beta.messages.toolRunner({ model, max_tokens: 99, messages, tools: [weather] });
    const last = await runner.runUntilDone();
    expect(last.content).toMatchObject([{ type: 'text', text: 'Sun in Jericho.' }]);
    const prompt = agent.tasks[2]?.prompt;
    expect(prompt?.kind === 'chat' ? prompt.messages.map(({ role, content }) => [role, content]) : []).toEqual([['user', 'Weather in Jericho?'], ['assistant', ''], ['tool', 'Jericho: sun'], ['assistant', ''], ['tool', 'Jericho: sun']]);
    expect(prompt?.kind === 'chat' ? prompt.tools : []).toHaveLength(1);
  });

  it('parses answers into types, of both of its faces', async () => {
    says(JSON.stringify(VALUE));
    expect((await anthropic.messages.parse({ model, max_tokens: 99, messages, output_config: { format: zodOutputFormat(schema) } })).parsed_output).toEqual(VALUE);
    const beta = await anthropic.beta.messages.create({ model, max_tokens: 99, messages, betas: ['structured-outputs-2025-11-13'], output_config: { format: { type: 'json_schema', schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } } } });
    expect(beta.content[0]).toMatchObject({ text: JSON.stringify(VALUE) });
    expect(agent.tasks.every(({ sampling }) => sampling.grammar !== undefined)).toBe(true);
  });

  it('puts calls together from their pieces, and ends what it aborts', async () => {
    says(`I look. ${CALL}`);
    const tools: Anthropic.Tool[] = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }];
    const stream = anthropic.messages.stream({ model, max_tokens: 99, messages, tools });
    const blocks: string[] = [];
    let json = '';
    stream.on('contentBlock', ({ type }) => void blocks.push(type)).on('inputJson', (delta) => void (json += delta));
    expect(await stream.finalMessage()).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'text' }, { type: 'tool_use', name: 'weather', input: { city: 'Jericho' } }] });
    expect(blocks).toEqual(['text', 'tool_use']);
    expect(JSON.parse(json)).toEqual({ city: 'Jericho' });
    const names: string[] = [];
    for await (const one of anthropic.models.list()) names.push(one.id);
    expect(names).toEqual([model]);
    agent.script = endless;
    const left = anthropic.messages.stream({ model, max_tokens: 99, messages });
    left.on('text', () => left.abort());
    await expect(left.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
    await expectEnded();
  });

  it('a coding agent\'s request is understood whole', async () => {
    says(CALL.replaceAll('weather', 'Read').replace('"city": "Jericho"', '"file_path": "/a"'));
    const message = await anthropic.beta.messages.stream({ ...ANTHROPIC_AGENT_REQUEST, model, context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] }, betas: ['context-management-2025-06-27'] }).finalMessage();
    expect(message).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'tool_use', name: 'Read', input: { file_path: '/a' } }] });
    const prompt = agent.tasks[0]?.prompt;
    if (prompt?.kind !== 'chat') throw new Error('no chat');
    expect(prompt.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'assistant', 'tool']);
    expect(prompt.messages[2]).toMatchObject({ reasoning_content: 'First I run them, and look for the word at once.', tool_calls: [{ function: { name: 'Bash' } }, { function: { name: 'Grep' } }] });
    expect(prompt.messages[3]).toMatchObject({ content: 'Error: Exit code 1\nAssertionError: expected 3 to be 4', tool_call_id: 'toolu_01A' });
    expect(prompt.tools?.map(({ name }) => name)).toEqual(['Read', 'Edit', 'Bash', 'Grep', 'TodoWrite', 'WebFetch']);
    expect(prompt.variables).toMatchObject({ enable_thinking: true, reasoning_effort: 'medium' });
    const { stream: _stream, max_tokens: _max, metadata: _metadata, ...counted } = ANTHROPIC_AGENT_REQUEST;
    expect((await anthropic.messages.countTokens({ ...counted, model })).input_tokens).toBeGreaterThan(0);
  });
});

describe('Ollama\'s client', () => {
  const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }];

  it('calls tools and takes their results, whole and streamed', async () => {
    says(CALL, 'Sun in Jericho.');
    const { message } = await ollama.chat({ model, messages, tools });
    expect(message.tool_calls).toMatchObject([{ id: expect.stringMatching(/^call_/) as string, function: { index: 0, name: 'weather', arguments: { city: 'Jericho' } } }]);
    const after = await ollama.chat({ model, tools, messages: [...messages, message, { role: 'tool', tool_name: 'weather', content: 'sun' }] });
    expect(after.message.content).toBe('Sun in Jericho.');
    says(CALL);
    const parts = [];
    for await (const part of await ollama.chat({ model, messages, tools, stream: true })) parts.push(part);
    expect(parts.flatMap(({ message: said }) => said.tool_calls ?? []).map((call) => call.function.name)).toEqual(['weather']);
    expect(parts.at(-1)).toMatchObject({ done: true, done_reason: 'stop' });
  });

  it('embeds, shows, tells what is loaded, and ends all that it aborts', async () => {
    expect((await ollama.embed({ model, input: ['a', 'b'] })).embeddings).toHaveLength(2);
    expect((await ollama.embed({ model, input: 'a', dimensions: 2, truncate: true })).embeddings[0]).toHaveLength(2);
    expect((await ollama.embeddings({ model, prompt: 'a' })).embedding).toHaveLength(3);
    expect((await ollama.ps()).models[0]).toMatchObject({ model, size: expect.any(Number) as number, size_vram: expect.any(Number) as number, details: { parameter_size: '4.72M', quantization_level: 'Q8_0' } });
    expect(await ollama.show({ model })).toMatchObject({ template: agent.chatTemplate, details: { format: 'gguf', parameter_size: '4.72M' } });
    agent.script = endless;
    const stream = await ollama.generate({ model, prompt: 'x', stream: true });
    await expect(async () => {
      for await (const part of stream) if (part.response !== '') ollama.abort();
    }).rejects.toThrow();
    await expectEnded();
  });
});
