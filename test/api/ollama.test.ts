/** Ollama's own client against the API: what its users call. */
import { Ollama } from 'ollama';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import { RingError } from '../../src/core/errors.js';
import { aborted, answerOf, KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';

const agent = new ScriptedAgent();
let server: ApiServer | null = null;
let client = new Ollama();

beforeAll(async () => {
  server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: null, heartbeatMs: 30 });
  client = new Ollama({ host: server.address });
});
beforeEach(() => {
  agent.script = () => answerOf(['In the', ' beginning']);
});
afterAll(async () => {
  await server?.close(0);
});

it('lists, shows and tells what is loaded', async () => {
  expect(await client.version()).toEqual({ version: '1.2.3' });
  expect((await client.list()).models[0]).toMatchObject({ name: MODEL.name, digest: MODEL.digest, size: MODEL.sizeBytes, details: { family: 'llama', parameter_size: '4.72M', quantization_level: 'Q8_0' } });
  expect((await client.ps()).models[0]).toMatchObject({ name: MODEL.name });
  expect(await client.show({ model: `${MODEL.name}:latest` })).toMatchObject({ model_info: { 'llama.block_count': 8 }, capabilities: ['completion', 'tools', 'thinking', 'embedding'], details: { parameter_size: '4.72M', quantization_level: 'Q8_0' } });
  await expect(client.show({ model: 'none' })).rejects.toThrow('"none"');
});

it('answers a chat whole and as a stream, over pauses', async () => {
  const messages = [{ role: 'user', content: 'Hello' }];
  const whole = await client.chat({ model: MODEL.name, messages, options: { temperature: 0, num_predict: 5, num_ctx: 4096, stop: ['x'] }, keep_alive: '5m' });
  expect(whole).toMatchObject({ model: MODEL.name, message: { role: 'assistant', content: 'In the beginning' }, done: true, done_reason: 'stop', prompt_eval_count: 5, eval_count: 2, eval_duration: 100e6 });
  expect(agent.tasks.at(-1)).toMatchObject({ model: MODEL.name, maxTokens: 5, stop: ['x'], sampling: { temperature: 0, topK: 40, topP: 0.9, repeatPenalty: 1 } });

  agent.script = async function* slow() {
    for await (const event of answerOf(['In', ' the'])) {
      await new Promise((resolve) => setTimeout(resolve, 70));
      yield event;
    }
  };
  const texts: string[] = [];
  let done = false;
  for await (const part of await client.chat({ model: MODEL.name, messages, stream: true })) {
    texts.push(part.message.content);
    done = part.done;
  }
  expect(texts).toEqual(['In', ' the', '']);
  expect(done).toBe(true);
});

it('generates from a question with the model\'s template, and raw', async () => {
  expect((await client.generate({ model: MODEL.name, prompt: 'Why', system: 'Be brief' })).response).toBe('In the beginning');
  expect(agent.tasks.at(-1)?.prompt).toEqual({ kind: 'chat', messages: [{ role: 'system', content: 'Be brief' }, { role: 'user', content: 'Why' }] });
  await client.generate({ model: MODEL.name, prompt: 'In the', raw: true, options: { num_predict: -2 } });
  expect(agent.tasks.at(-1)).toMatchObject({ prompt: { kind: 'text', text: 'In the' }, maxTokens: null });
});

it('refuses by name what it cannot do, and says errors as Ollama does', async () => {
  const messages = [{ role: 'user', content: 'Hello' }];
  await expect(client.chat({ model: MODEL.name, messages, format: 'yaml' })).rejects.toThrow('\'format\'');
  await expect(client.generate({ model: MODEL.name, prompt: 'x', images: ['aGVsbG8='] })).rejects.toThrow('\'images\'');
  await expect(client.chat({ model: MODEL.name, messages, options: { typical_p: 0.5 } })).rejects.toThrow('options.typical_p');
  agent.script = async function* broken() {
    yield { kind: 'started', model: MODEL.name, promptTokens: 1 };
    throw new RingError('peer_lost', 'a stage was lost');
  };
  await expect(async () => {
    for await (const part of await client.chat({ model: MODEL.name, messages, stream: true })) expect(part.done).toBe(false);
  }).rejects.toThrow('a stage was lost');
});

it('a client that aborts ends the work', async () => {
  agent.script = async function* endless(_task, signal) {
    yield { kind: 'started', model: MODEL.name, promptTokens: 1 };
    yield { kind: 'text', text: 'a', tokens: [1] };
    await aborted(signal);
  };
  const stream = await client.chat({ model: MODEL.name, messages: [{ role: 'user', content: 'Hello' }], stream: true });
  await expect(async () => {
    for await (const part of stream) {
      expect(part.message.content).toBe('a');
      stream.abort();
    }
  }).rejects.toThrow();
  await expect.poll(() => agent.signal?.aborted, { timeout: 5_000 }).toBe(true);
});

it('refuses thoughts of a model that has none in Ollama\'s words, and passes options that change nothing', async () => {
  const messages = [{ role: 'user', content: 'Hello' }];
  await client.chat({ model: MODEL.name, messages, think: true });
  agent.chatTemplate = '{{ messages }}';
  try {
    for (const think of [true, 'high'] as const) {
      await expect(client.chat({ model: MODEL.name, messages, think })).rejects.toMatchObject({ status_code: 400, error: `"${MODEL.name}" does not support thinking` });
      await expect(client.generate({ model: MODEL.name, prompt: 'x', think })).rejects.toThrow('does not support thinking');
    }
    await client.chat({ model: MODEL.name, messages, think: false });
  } finally {
    agent.chatTemplate = '<think>';
  }
  await client.chat({ model: MODEL.name, messages, options: { mirostat: 0, mirostat_eta: 0.1, tfs_z: 1, typical_p: 1, repeat_last_n: 64, penalize_newline: true, use_mlock: true, f16_kv: true } });
  await expect(client.chat({ model: MODEL.name, messages, options: { repeat_last_n: 64, repeat_penalty: 1.1 } })).rejects.toThrow('options.repeat_last_n');
  await expect(client.chat({ model: MODEL.name, messages, options: { mirostat: 2 } })).rejects.toThrow('options.mirostat');
});

it('is told how long a model stays, loads one that is asked nothing, and unloads one that is to stay for no time', async () => {
  await client.chat({ model: MODEL.name, messages: [{ role: 'user', content: 'Hello' }], keep_alive: '1h' });
  expect(agent.tasks.at(-1)?.keepAliveMs).toBe(3_600_000);
  await client.generate({ model: MODEL.name, prompt: 'Why', keep_alive: -1 });
  expect(agent.tasks.at(-1)?.keepAliveMs).toBeNull();
  await client.generate({ model: MODEL.name, prompt: 'Why' });
  expect(agent.tasks.at(-1)?.keepAliveMs).toBeUndefined();
  await expect(client.generate({ model: MODEL.name, prompt: 'Why', keep_alive: 'soon' })).rejects.toThrow(/keep_alive.*5m/);

  const asked = agent.tasks.length;
  expect(await client.chat({ model: MODEL.name, messages: [], keep_alive: 90 })).toMatchObject({ done: true, done_reason: 'load' });
  expect(agent.planRequests.at(-1)).toMatchObject({ model: MODEL.name, life: { pinned: false, keepAliveMs: 90_000, returns: false } });
  expect(await client.generate({ model: MODEL.name, prompt: '' })).toMatchObject({ done_reason: 'load', response: '' });
  expect(agent.planRequests.at(-1)).toMatchObject({ life: 'usual' });
  expect(await client.generate({ model: `${MODEL.name}:latest`, prompt: '', keep_alive: 0 })).toMatchObject({ done: true, done_reason: 'unload' });
  expect(agent.unloaded).toEqual(['inst-1']);
  expect(agent.tasks).toHaveLength(asked);
  expect((await client.ps()).models[0]).toMatchObject({ expires_at: '2318-01-01T00:00:00Z' });
});
