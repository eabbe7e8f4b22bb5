/** Embeddings as OpenAI's and Ollama's own clients ask for them. */
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import { RingError } from '../../src/core/errors.js';
import { KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';

const agent = new ScriptedAgent();
let server: ApiServer | null = null;
let openai = new OpenAI({ apiKey: 'none' });
let ollama = new Ollama();

beforeAll(async () => {
  server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: null });
  openai = new OpenAI({ apiKey: 'none', baseURL: `${server.address}/v1`, maxRetries: 0 });
  ollama = new Ollama({ host: server.address });
});
beforeEach(() => {
  agent.planError = null;
});
afterAll(async () => {
  await server?.close(0);
});

function rounded(vector: readonly number[] | undefined): number[] {
  return (vector ?? []).map((value) => Math.round(value * 1e4) / 1e4);
}

it('OpenAI: one text, several, token ids; its client reads base64 by itself', async () => {
  const one = await openai.embeddings.create({ model: MODEL.name, input: 'Hello' });
  expect(one).toMatchObject({ object: 'list', model: MODEL.name, usage: { prompt_tokens: 3, total_tokens: 3 } });
  expect(rounded(one.data[0]?.embedding)).toEqual([0.6, 0, 0.8]);
  const several = await openai.embeddings.create({ model: MODEL.name, input: ['a', 'b'], encoding_format: 'float', user: 'me' });
  expect(several.data.map(({ index, embedding }) => [index, rounded(embedding)])).toEqual([[0, [0.6, 0, 0.8]], [1, [0.6, 0, -0.8]]]);
  await openai.embeddings.create({ model: MODEL.name, input: [[1, 2], [3]] });
  expect(agent.embeddingTasks.at(-1)?.inputs).toEqual([{ kind: 'tokens', tokens: [1, 2] }, { kind: 'tokens', tokens: [3] }]);
  await openai.embeddings.create({ model: MODEL.name, input: [1, 2] });
  expect(agent.embeddingTasks.at(-1)?.inputs).toEqual([{ kind: 'tokens', tokens: [1, 2] }]);
  expect(agent.embeddingTasks.at(-1)?.client).toMatch(/^[0-9a-f]{16}$/);
});

it('OpenAI: fewer dimensions, of length 1 again', async () => {
  expect(rounded((await openai.embeddings.create({ model: MODEL.name, input: 'x', dimensions: 1 })).data[0]?.embedding)).toEqual([1]);
  await expect(openai.embeddings.create({ model: MODEL.name, input: 'x', dimensions: 4 })).rejects.toThrow(/'dimensions' is 4.*have 3/);
});

it('OpenAI: refuses by name, and passes on what the model cannot', async () => {
  for (const input of ['', [], [''], [[]], ['a', [1]], [-1], 7]) {
    const asked = await fetch(`${server?.address}/v1/embeddings`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ input }) });
    expect([input, asked.status]).toEqual([input, JSON.stringify(input) === '["a",[1]]' ? 200 : 400]);
  }
  const odd = await fetch(`${server?.address}/v1/embeddings`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ input: 'x', inpt: 1 }) });
  expect(await odd.text()).toContain('Did you mean \'input\'?');
  agent.planError = new RingError('bad_request', 'this model compares texts');
  await expect(openai.embeddings.create({ model: MODEL.name, input: 'x' })).rejects.toMatchObject({ status: 400, message: expect.stringContaining('compares texts') as string });
});

it('Ollama: embed and embeddings; long texts are cut unless told otherwise', async () => {
  const answer = await ollama.embed({ model: `${MODEL.name}:latest`, input: ['a', 'b'], dimensions: 2, keep_alive: '5m', options: { num_ctx: 99 } });
  expect(answer).toMatchObject({ model: MODEL.name, prompt_eval_count: 6 });
  expect(answer.embeddings.map(rounded)).toEqual([[1, 0], [1, 0]]);
  expect(agent.embeddingTasks.at(-1)).toMatchObject({ model: MODEL.name, truncate: true, keepAliveMs: 300_000 });
  await ollama.embed({ model: MODEL.name, input: 'a', truncate: false });
  expect(agent.embeddingTasks.at(-1)?.truncate).toBe(false);
  expect(rounded((await ollama.embeddings({ model: MODEL.name, prompt: 'a' })).embedding)).toEqual([0.6, 0, 0.8]);
});
