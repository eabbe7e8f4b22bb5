import { expect, it } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { apiOptions, ScriptedAgent } from './scripted-agent.js';

const HTML = { host: '127.0.0.1', accept: 'text/html,application/xhtml+xml' };

it('gives browsers a page that may ask nobody but this agent, and everybody else a text', async () => {
  const app = createApp(new ScriptedAgent(), apiOptions({ apiKeys: ['key'] }));
  const page = await app.request('/', { headers: HTML });
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toContain('text/html');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const html = await page.text();
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
  expect(files).toContain('/dashboard/main.js');
  for (const path of files) {
    const answer = await app.request(path, { headers: HTML });
    expect([path, answer.status]).toEqual([path, 200]);
    for (const imported of (await answer.text()).matchAll(/from '\.\/([a-z-]+\.js)'/g)) {
      expect((await app.request(`/dashboard/${imported[1] ?? ''}`, { headers: HTML })).status).toBe(200);
    }
  }
  expect((await app.request('/dashboard/index.html', { headers: { ...HTML, authorization: 'Bearer key' } })).status).toBe(404);
  expect((await app.request('/', { headers: { host: '127.0.0.1' } })).headers.get('content-type')).toContain('text/plain');
});

it('streams what happens and the status until the client leaves; with keys only to those who have one', async () => {
  const app = createApp(new ScriptedAgent(), apiOptions({ apiKeys: ['key'] }));
  expect((await app.request('/v1/cluster/events', { headers: { host: '127.0.0.1' } })).status).toBe(401);
  const abort = new AbortController();
  const answer = await app.request('/v1/cluster/events', { headers: { host: '127.0.0.1', authorization: 'Bearer key' }, signal: abort.signal });
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const reader = answer.body?.getReader();
  const read = async (): Promise<unknown> => JSON.parse(new TextDecoder().decode((await reader?.read())?.value).slice('data: '.length));
  expect(await read()).toMatchObject({ kind: 'event', text: 'pc joined' });
  expect(await read()).toMatchObject({ kind: 'status', status: { cluster: 'home' }, requests: 0 });
  abort.abort();
  expect((await reader?.read())?.done).toBe(true);
});
