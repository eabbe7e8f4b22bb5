import { EventEmitter } from 'node:events';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import type { ApiEnv } from '../../src/api/api-options.js';
import { createApp } from '../../src/api/app.js';
import { BodyBudget } from '../../src/api/body-budget.js';
import { BODY_BYTES_MAX, readJsonBody } from '../../src/api/guards.js';
import { apiOptions, ScriptedAgent } from './scripted-agent.js';

const KEYS = ['the-key-of-the-first-person', 'the-key-of-the-second-person'];

/** The client that the agent is told for each of these requests. */
async function clientsOf(apiKeys: readonly string[], requests: readonly { readonly address: string; readonly headers?: Record<string, string> }[]): Promise<(string | undefined)[]> {
  const agent = new ScriptedAgent();
  const app = createApp(agent, apiOptions({ apiKeys }));
  for (const { address, headers } of requests) {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] });
    const answer = await app.request('/v1/chat/completions', { method: 'POST', body, headers: { host: '127.0.0.1', 'content-type': 'application/json', ...headers } }, { incoming: { socket: { remoteAddress: address } } });
    expect(answer.status).toBe(200);
  }
  return agent.tasks.map((task) => task.client);
}

describe('clients', () => {
  it('are told apart by their key where one is asked for, whatever header it comes in', async () => {
    const [first, second] = KEYS;
    const [a, b, c, d] = await clientsOf(KEYS, [
      { address: '10.0.0.1', headers: { authorization: `Bearer ${first}` } },
      { address: '10.0.0.1', headers: { authorization: `Bearer ${second}` } },
      { address: '10.0.0.2', headers: { authorization: `Bearer ${first}` } },
      { address: '10.0.0.3', headers: { 'x-api-key': first ?? '' } },
    ]);
    expect(a).toMatch(/^[0-9a-f]{16}$/);
    expect(b).not.toBe(a);
    expect([c, d]).toEqual([a, a]);
  });

  it('are told apart by their address where no key is asked for, and nothing of it can be read', async () => {
    const [a, b, c] = await clientsOf([], [{ address: '10.0.0.1' }, { address: '10.0.0.2' }, { address: '10.0.0.1', headers: { authorization: 'Bearer whatever' } }]);
    expect(b).not.toBe(a);
    expect(c).toBe(a);
    expect(a).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe('bodies that are held at a time', () => {
  it('are refused beyond the budget with 429 and when to come again, and their room comes back', () => {
    const budget = new BodyBudget(100);
    const { giveBack } = budget.take(60);
    expect(() => budget.take(41)).toThrow(expect.objectContaining({ options: expect.objectContaining({ status: 429, headers: expect.objectContaining({ 'Retry-After': '2' }) as object }) as object }) as Error);
    budget.take(40);
    giveBack();
    giveBack();
    expect(budget.held).toBe(40);
    budget.take(60);
  });

  it('count what was read of a body that announced no length, and nothing when its answer has ended', async () => {
    const budget = new BodyBudget();
    const app = new Hono<ApiEnv>();
    const outgoing = Object.assign(new EventEmitter(), { closed: false });
    app.use(budget.middleware);
    app.post('/', async (context) => {
      expect(budget.held).toBe(BODY_BYTES_MAX);
      await readJsonBody(context.req.raw);
      return context.text('read');
    });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"a": 1}'));
        controller.close();
      },
    });
    const answer = await app.request('/', { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/json' } }, { outgoing });
    expect([answer.status, budget.held]).toEqual([200, 8]);
    outgoing.emit('close');
    expect(budget.held).toBe(0);
  });
});
