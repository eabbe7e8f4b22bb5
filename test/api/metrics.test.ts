import { expect, it } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { RingError } from '../../src/core/errors.js';
import { apiOptions, ScriptedAgent } from './scripted-agent.js';

const HEADERS = { host: '127.0.0.1', 'content-type': 'application/json' };

it('counts answers, tokens and failures, and says nothing that anybody wrote', async () => {
  const agent = new ScriptedAgent();
  const app = createApp(agent, apiOptions());
  const ask = async (): Promise<number> => {
    const answer = await app.request('/v1/completions', { method: 'POST', headers: HEADERS, body: JSON.stringify({ prompt: 'sesame' }) });
    await answer.text();
    return answer.status;
  };
  expect(await ask()).toBe(200);
  expect(await ask()).toBe(200);
  agent.script = async function* refuse() {
    yield { kind: 'started', model: 'kjv-q8_0', promptTokens: 5 };
    throw new RingError('queue_full', 'no room for sesame');
  };
  expect(await ask()).toBe(429);

  const answer = await app.request('/metrics', { headers: HEADERS });
  const text = await answer.text();
  expect(answer.headers.get('content-type')).toContain('text/plain');
  for (const line of [
    'ring_requests_total{model="kjv-q8_0",outcome="stop"} 2',
    'ring_requests_total{model="kjv-q8_0",outcome="queue_full"} 1',
    'ring_prompt_tokens_total{model="kjv-q8_0"} 10',
    'ring_completion_tokens_total{model="kjv-q8_0"} 4',
    'ring_first_token_seconds_count{model="kjv-q8_0"} 2',
    'ring_requests_under_way 0',
    'ring_is_coordinator 1',
    'ring_term 1',
    'ring_sequences_active{model="kjv-q8_0"} 0',
    'ring_events{what="healed"} 1',
  ]) expect(text.split('\n')).toContain(line);
  expect(text).not.toMatch(/sesame|In the|beginning/);
});

it('is for those with a key when keys are asked for', async () => {
  const app = createApp(new ScriptedAgent(), apiOptions({ apiKeys: ['key'] }));
  expect((await app.request('/metrics', { headers: HEADERS })).status).toBe(401);
  expect((await app.request('/metrics', { headers: { ...HEADERS, authorization: 'Bearer key' } })).status).toBe(200);
});
