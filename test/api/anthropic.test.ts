/** Anthropic's own client against the API. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import { RingError } from '../../src/core/errors.js';
import { aborted, answerOf, KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';

const agent = new ScriptedAgent();
const directory = mkdtempSync(join(tmpdir(), 'ringtest-anthropic-'));
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] }];
const question = { model: MODEL.name, max_tokens: 16, messages };
let server: ApiServer | null = null;
let client = new Anthropic({ apiKey: 'none' });

beforeAll(async () => {
  const apiKeyFile = join(directory, 'keys');
  writeFileSync(apiKeyFile, 'ring-agent-test-key\n', { mode: 0o600 });
  chmodSync(apiKeyFile, 0o600);
  server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile, heartbeatMs: 30 });
  client = new Anthropic({ apiKey: 'ring-agent-test-key', baseURL: server.address, maxRetries: 0 });
});
beforeEach(() => {
  agent.script = () => answerOf(['In the', ' beginning']);
});
afterAll(async () => {
  await server?.close(0);
  rmSync(directory, { recursive: true, force: true });
});

it('answers whole, with the system prompt first', async () => {
  // This version of the client sends a temperature without knowing its type.
  const warm = { ...question, temperature: 0.5 };
  const message = await client.messages.create({ ...warm, system: 'Be brief', stop_sequences: ['x'] });
  expect(message).toMatchObject({
    type: 'message', role: 'assistant', model: MODEL.name, stop_reason: 'end_turn',
    content: [{ type: 'text', text: 'In the beginning' }], usage: { input_tokens: 2, cache_read_input_tokens: 3, output_tokens: 2 },
  });
  expect(agent.tasks.at(-1)).toMatchObject({
    maxTokens: 16, stop: ['x'], sampling: { temperature: 0.5 },
    prompt: { kind: 'chat', messages: [{ role: 'system', content: 'Be brief' }, { role: 'user', content: 'Hello' }] },
  });
});

it('streams over pauses what its client puts together again', async () => {
  agent.script = async function* slow() {
    for await (const event of answerOf(['In the', ' beginning'])) {
      await new Promise((resolve) => setTimeout(resolve, 70));
      yield event;
    }
  };
  const stream = client.messages.stream(question);
  const texts: string[] = [];
  stream.on('text', (text) => texts.push(text));
  expect(await stream.finalMessage()).toMatchObject({ content: [{ type: 'text', text: 'In the beginning' }], stop_reason: 'end_turn', usage: { output_tokens: 2 } });
  expect(texts).toEqual(['In the', ' beginning']);
});

it('counts tokens', async () => {
  expect(await client.messages.countTokens({ model: MODEL.name, messages, system: 'Be brief' })).toEqual({ input_tokens: 20 });
  await expect(client.messages.countTokens({ model: 'none', messages })).rejects.toBeInstanceOf(Anthropic.NotFoundError);
});

it('refuses in its own errors: a wrong key, what is not supported, no room, a break', async () => {
  await expect(new Anthropic({ apiKey: 'wrong', baseURL: server?.address ?? '', maxRetries: 0 }).messages.create(question)).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  const tools: Anthropic.ToolUnion[] = [{ type: 'web_search_20250305', name: 'web_search' }];
  await expect(client.messages.create({ ...question, tools })).rejects.toThrow(/invalid_request_error.*'tools/);
  await expect(client.messages.create({ ...question, thinking: { type: 'between_tools' } })).rejects.toThrow('\'thinking');
  agent.script = async function* full() {
    yield { kind: 'started', model: MODEL.name, promptTokens: 1 };
    throw new RingError('queue_full', 'too many requests wait');
  };
  await expect(client.messages.create(question)).rejects.toBeInstanceOf(Anthropic.RateLimitError);
  await expect(client.messages.stream(question).finalMessage()).rejects.toThrow('too many requests wait');
});

it('a client that aborts ends the work', async () => {
  agent.script = async function* endless(_task, signal) {
    yield { kind: 'started', model: MODEL.name, promptTokens: 1 };
    yield { kind: 'text', text: 'a', tokens: [1] };
    await aborted(signal);
  };
  const stream = await client.messages.create({ ...question, stream: true });
  for await (const event of stream) if (event.type === 'content_block_delta') stream.controller.abort();
  await expect.poll(() => agent.signal?.aborted, { timeout: 5_000 }).toBe(true);
});
