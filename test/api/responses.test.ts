/** OpenAI's Responses API, by its own client. */
import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import { RESPONSE_CHARACTERS_MAX, RESPONSES_MAX, ResponseStore } from '../../src/api/responses-store.js';
import { RingError } from '../../src/core/errors.js';
import { aborted, answerOf, finishedEvent, KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';

const agent = new ScriptedAgent();
const model = MODEL.name;
const tools: OpenAI.Responses.FunctionTool[] = [{ type: 'function', name: 'look', description: 'Looks.', strict: true, parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'], additionalProperties: false } }];
let server: ApiServer | null = null;
let client = new OpenAI({ apiKey: 'none' });

beforeAll(async () => {
  server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: null });
  client = new OpenAI({ apiKey: 'none', baseURL: `${server.address}/v1`, maxRetries: 0 });
});
beforeEach(() => {
  agent.script = () => answerOf(['In the', ' beginning']);
});
afterAll(async () => {
  await server?.close(0);
});

function isCall(item: OpenAI.Responses.ResponseOutputItem): item is OpenAI.Responses.ResponseFunctionToolCall {
  return item.type === 'function_call';
}

it('answers a text, with instructions first', async () => {
  const response = await client.responses.create({ model, input: 'Hello', instructions: 'Be brief', max_output_tokens: 9, temperature: 0, metadata: { a: 'b' }, store: false });
  expect(response.output_text).toBe('In the beginning');
  expect(response).toMatchObject({
    object: 'response', status: 'completed', model, error: null, instructions: 'Be brief', metadata: { a: 'b' }, max_output_tokens: 9, temperature: 0, store: false,
    output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'In the beginning', annotations: [] }] }],
    usage: { input_tokens: 5, input_tokens_details: { cached_tokens: 3 }, output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 7 },
  });
  expect(agent.tasks.at(-1)).toMatchObject({
    maxTokens: 9, sampling: { temperature: 0 }, prompt: { messages: [{ role: 'system', content: 'Be brief' }, { role: 'user', content: 'Hello' }] },
  });
});

it('goes on from an earlier response, with new instructions, as long as it is kept', async () => {
  const first = await client.responses.create({ model, input: 'Hello', instructions: 'Be brief' });
  const second = await client.responses.create({ model, input: [{ role: 'user', content: [{ type: 'input_text', text: 'And then?' }] }], previous_response_id: first.id });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({
    messages: [{ role: 'user', content: 'Hello' }, { role: 'assistant', content: 'In the beginning' }, { role: 'user', content: 'And then?' }],
  });
  expect(second.previous_response_id).toBe(first.id);
  expect((await client.responses.retrieve(second.id)).output_text).toBe('In the beginning');
  await client.responses.delete(first.id);
  await expect(client.responses.create({ model, input: 'x', previous_response_id: first.id })).rejects.toMatchObject({ status: 404, code: 'previous_response_not_found' });
  const unkept = await client.responses.create({ model, input: 'x', store: false });
  await expect(client.responses.retrieve(unkept.id)).rejects.toMatchObject({ status: 404 });
});

it('streams what its client puts together again: thoughts, then the message', async () => {
  agent.script = () => answerOf(['<think>', 'Hm.', '</think>', 'It', ' is.']);
  const stream = client.responses.stream({ model, input: 'Hello' });
  const types: string[] = [];
  const numbers: number[] = [];
  stream.on('event', (event) => {
    types.push(event.type);
    numbers.push(event.sequence_number);
  });
  const response = await stream.finalResponse();
  expect(response.output_text).toBe('It is.');
  expect(response.output).toMatchObject([{ type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] }, { type: 'message', status: 'completed' }]);
  expect(response.usage?.output_tokens_details.reasoning_tokens).toBe(3);
  expect(types).toEqual([
    'response.created', 'response.in_progress',
    'response.output_item.added', 'response.content_part.added', 'response.reasoning_text.delta', 'response.reasoning_text.done', 'response.content_part.done', 'response.output_item.done',
    'response.output_item.added', 'response.content_part.added', 'response.output_text.delta', 'response.output_text.delta', 'response.output_text.done', 'response.content_part.done', 'response.output_item.done',
    'response.completed',
  ]);
  expect(numbers).toEqual(numbers.map((_, index) => index));
  await client.responses.create({ model, input: 'x', previous_response_id: response.id });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ messages: [{}, { role: 'assistant', content: 'It is.', reasoning_content: 'Hm.' }, {}] });
});

it('says that an answer was cut', async () => {
  agent.script = async function* cut() {
    yield { kind: 'started', model, promptTokens: 5 };
    yield { kind: 'text', text: 'In', tokens: [1] };
    yield { ...finishedEvent(5, 1), reason: 'length' };
  };
  expect(await client.responses.create({ model, input: 'x' })).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  expect(await client.responses.stream({ model, input: 'x' }).finalResponse()).toMatchObject({ status: 'incomplete', output: [{ status: 'incomplete' }] });
});

it('calls tools, whole and streamed, and takes their results as items', async () => {
  agent.script = () => answerOf(['<tool_call>{"name": "look", "arg', 'uments": {"at": "sky"}}</tool_call>']);
  const whole = await client.responses.create({ model, input: 'Look', tools, tool_choice: 'auto' });
  const streamed = await client.responses.stream({ model, input: 'Look', tools }).finalResponse();
  for (const output of [whole.output, streamed.output]) {
    const call = [...output].find(isCall);
    expect(call).toMatchObject({ name: 'look', status: 'completed', call_id: expect.stringMatching(/^call_/) as string });
    expect(JSON.parse(call?.arguments ?? '')).toEqual({ at: 'sky' });
  }
  const call = whole.output.find(isCall);
  if (call === undefined) throw new Error('no call');
  agent.script = () => answerOf(['Blue']);
  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'blue' };
  const asMessages = [
    { role: 'user', content: 'Look' },
    { role: 'assistant', tool_calls: [{ id: call.call_id, function: { name: 'look' } }] },
    { role: 'tool', tool_call_id: call.call_id, content: 'blue' },
  ];
  await client.responses.create({ model, input: [result], previous_response_id: whole.id, tools });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ messages: asMessages, tools: [{ name: 'look', strict: true }] });
  await client.responses.create({ model, input: [{ role: 'user', content: 'Look' }, call, result], tools });
  expect(agent.tasks.at(-1)?.prompt).toMatchObject({ messages: asMessages });
});

it('asks for a form of the answer by text.format', async () => {
  await client.responses.create({ model, input: 'x', text: { format: { type: 'json_schema', name: 'x', strict: true, schema: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false } } } });
  expect(agent.tasks.at(-1)?.sampling.grammar?.text).toContain('root');
});

it('refuses by name what it cannot do', async () => {
  const refused: readonly (readonly [fields: object, what: string])[] = [
    [{ background: true }, '\'background\''], [{ truncation: 'auto' }, '\'truncation\''], [{ conversation: 'c' }, '\'conversation\''],
    [{ tools: [{ type: 'web_search' }] }, 'tools'], [{ input: [{ type: 'item_reference', id: 'x' }] }, '\'input'], [{ inptu: 1 }, 'Unknown field'],
    [{ include: ['file_search_call.results'] }, 'include'], [{ temperature: 3 }, '\'temperature\''],
  ];
  for (const [fields, what] of refused) {
    const given = { model, input: 'x', ...fields };
    await expect(client.responses.create(given), JSON.stringify(fields)).rejects.toMatchObject({ status: 400, message: expect.stringContaining(what) as string });
  }
});

it('a stream that breaks says so, and a client that leaves ends the work', async () => {
  agent.script = async function* broken() {
    yield { kind: 'started', model, promptTokens: 1 };
    yield { kind: 'text', text: 'a', tokens: [1] };
    throw new RingError('peer_lost', 'a stage was lost');
  };
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ model, input: 'x', stream: true })) events.push(event);
  expect(events.slice(-2)).toMatchObject([{ type: 'error', code: 'peer_lost', message: 'a stage was lost' }, { type: 'response.failed', response: { status: 'failed', error: { message: 'a stage was lost' } } }]);

  agent.script = async function* endless(_task, signal) {
    yield { kind: 'started', model, promptTokens: 1 };
    yield { kind: 'text', text: 'a', tokens: [1] };
    await aborted(signal);
  };
  const stream = await client.responses.create({ model, input: 'x', stream: true });
  for await (const event of stream) if (event.type === 'response.output_text.delta') stream.controller.abort();
  await expect.poll(() => agent.signal?.aborted, { timeout: 5_000 }).toBe(true);
});

it('keeps so many responses and no more, each for its own client', () => {
  const store = new ResponseStore();
  const kept = { client: 'me', messages: [{ role: 'user', content: 'x' }], response: {} };
  for (let index = 0; index <= RESPONSES_MAX; index += 1) store.put(`r${index}`, kept);
  expect(store.get('r0', 'me')).toBeNull();
  expect(store.get('r1', 'me')).toBe(kept);
  expect(store.get('r1', 'you')).toBeNull();
  expect(store.remove('r1', 'you')).toBe(false);
  store.put('large', { ...kept, messages: [{ role: 'user', content: 'x'.repeat(RESPONSE_CHARACTERS_MAX - 100) }] });
  expect(store.get('r2', 'me')).toBeNull();
  expect(store.get('large', 'me')).not.toBeNull();
});
