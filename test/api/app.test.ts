import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/api/app.js';
import type { ApiOptions } from '../../src/api/api-options.js';
import { BODY_BYTES_MAX } from '../../src/api/guards.js';
import { RingError } from '../../src/core/errors.js';
import type { ErrorCode } from '../../src/core/errors.js';
import { answerOf, apiOptions, finishedEvent, INSTANCE, KeptLog, MODEL, PLAN, ScriptedAgent } from './scripted-agent.js';

const HELLO = { messages: [{ role: 'user', content: 'Hello' }] };
const KEY = 'a-key-of-sixteen-characters';

interface Call {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

function api(changes: Partial<ApiOptions> = {}) {
  const agent = new ScriptedAgent();
  const app = createApp(agent, apiOptions(changes));
  const call = async (path: string, { method, headers, json, body }: Call = {}): Promise<Answer> => {
    const content = json === undefined ? body : JSON.stringify(json);
    const response = await app.request(path, {
      method: method ?? (content === undefined ? 'GET' : 'POST'),
      headers: { host: '127.0.0.1:11500', ...(content === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(content === undefined ? {} : { body: content, duplex: 'half' }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { agent, call };
}

/** Data of the events, parsed; `[DONE]` as it is. */
function eventsOf(text: string): unknown[] {
  return text.split('\n\n').filter((block) => block.startsWith('data: ')).map((block) => {
    const data = block.slice('data: '.length);
    return data === '[DONE]' ? data : JSON.parse(data);
  });
}

function errorOf(answer: Answer): { message: string; type: string; param: string | null; code: string } {
  const body: { error: { message: string; type: string; param: string | null; code: string } } = JSON.parse(answer.text);
  return body.error;
}

const USAGE = {
  prompt_tokens: 5, completion_tokens: 2, total_tokens: 7,
  prompt_tokens_details: { cached_tokens: 3 }, completion_tokens_details: { reasoning_tokens: 0 },
};

describe('API', () => {
  it('tells people what it is', async () => {
    const answer = await api().call('/');
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('POST   /v1/chat/completions');
  });

  it('is healthy when the agent takes requests', async () => {
    const { agent, call } = api();
    expect(await call('/health')).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    agent.isReady = false;
    const answer = await call('/health');
    expect(answer.status).toBe(503);
    expect(errorOf(answer).code).toBe('not_ready');
  });

  it('lists models and finds one by name or digest', async () => {
    const { call } = api();
    const list = JSON.parse((await call('/v1/models')).text);
    expect(list).toMatchObject({ object: 'list', data: [{ id: MODEL.name, object: 'model', owned_by: 'ring', meta: { loaded: true } }] });
    for (const id of [MODEL.name, MODEL.digest.slice(0, 8)]) {
      expect(JSON.parse((await call(`/v1/models/${id}`)).text).id).toBe(MODEL.name);
    }
    const unknown = await call('/v1/models/org/other');
    expect(unknown.status).toBe(404);
    expect(errorOf(unknown)).toMatchObject({ code: 'model_not_found', param: 'model', type: 'invalid_request_error' });
  });

  it('answers a chat as a whole', async () => {
    const { agent, call } = api();
    const answer = await call('/v1/chat/completions', { json: { ...HELLO, model: 'kjv', max_tokens: 9 } });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual({
      id: 'chatcmpl-id',
      object: 'chat.completion',
      created: 1_700_000_001,
      model: MODEL.name,
      choices: [{ index: 0, message: { role: 'assistant', content: 'In the beginning', refusal: null }, logprobs: null, finish_reason: 'stop' }],
      usage: USAGE,
      timings: {
        cache_n: 3, prompt_n: 2, prompt_ms: 20, prompt_per_token_ms: 10, prompt_per_second: 100,
        predicted_n: 2, predicted_ms: 100, predicted_per_token_ms: 100, predicted_per_second: 30, total_ms: 120,
      },
    });
    expect(agent.tasks[0]).toMatchObject({ model: 'kjv', maxTokens: 9, sampling: { seed: 4242 } });
  });

  it('answers a text completion as a whole, with token ids when asked', async () => {
    const answer = await api().call('/v1/completions', { json: { prompt: 'x', return_tokens: true } });
    expect(JSON.parse(answer.text)).toMatchObject({
      id: 'cmpl-id', object: 'text_completion',
      choices: [{ index: 0, text: 'In the beginning', tokens: [100, 101], finish_reason: 'stop' }],
    });
  });

  it('streams a chat: role, deltas, reason, usage, end', async () => {
    const answer = await api().call('/v1/chat/completions', { json: { ...HELLO, stream: true, stream_options: { include_usage: true } } });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const shared = { id: 'chatcmpl-id', object: 'chat.completion.chunk', created: 1_700_000_001, model: MODEL.name, usage: null };
    const choice = (delta: object, finish_reason: string | null = null) => [{ index: 0, delta, logprobs: null, finish_reason }];
    const timings = expect.objectContaining({ predicted_n: 2 });
    expect(eventsOf(answer.text)).toEqual([
      { ...shared, choices: choice({ role: 'assistant', content: '' }) },
      { ...shared, choices: choice({ content: 'In the' }) },
      { ...shared, choices: choice({ content: ' beginning' }) },
      { ...shared, choices: choice({}, 'stop'), timings },
      { ...shared, choices: [], usage: USAGE, timings },
      '[DONE]',
    ]);
  });

  it('streams a text completion; held-back text makes a chunk only when its token ids are wanted', async () => {
    const { agent, call } = api();
    agent.script = () => answerOf(['', 'é']);
    const plain = eventsOf((await call('/v1/completions', { json: { prompt: 'x', stream: true } })).text);
    expect(plain).toMatchObject([{ choices: [{ text: 'é' }] }, { choices: [{ text: '', finish_reason: 'stop' }] }, '[DONE]']);
    expect(plain[0]).not.toHaveProperty('usage');
    const withTokens = eventsOf((await call('/v1/completions', { json: { prompt: 'x', stream: true, return_tokens: true } })).text);
    expect(withTokens).toMatchObject([
      { choices: [{ text: '', tokens: [100] }] }, { choices: [{ text: 'é', tokens: [101] }] }, { choices: [{ finish_reason: 'stop' }] }, '[DONE]',
    ]);
  });

  it('reports an error in the middle of a stream as an event, without [DONE]', async () => {
    const log = new KeptLog();
    const { agent, call } = api({ log });
    agent.script = async function* () {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      yield { kind: 'text', text: 'secret words', tokens: [1] };
      throw new RingError('peer_lost', 'node pc left and no other node can take its layers', { node: 'pc' });
    };
    const answer = await call('/v1/chat/completions', { json: { ...HELLO, stream: true } });
    expect(answer.status).toBe(200);
    expect(eventsOf(answer.text).slice(2)).toEqual([{
      error: {
        message: 'node pc left and no other node can take its layers', type: 'server_error', param: null, code: 'peer_lost', facts: { node: 'pc' },
      },
    }]);
    expect(JSON.stringify(log.lines)).not.toContain('secret words');
  });

  it.each([true, false])('does not take an answer without an end for a whole one (stream: %s)', async (stream) => {
    const { agent, call } = api();
    agent.script = async function* () {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
    };
    const answer = await call('/v1/chat/completions', { json: { ...HELLO, stream } });
    expect(answer.status).toBe(stream ? 200 : 500);
    expect(answer.text).toContain('ended without a reason');
    expect(answer.text).not.toContain('[DONE]');
  });

  it('says that the stop came from the agent when it stops', async () => {
    const shutdown = new AbortController();
    const { agent, call } = api({ shutdown: shutdown.signal });
    agent.script = async function* (_task, signal) {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      shutdown.abort();
      if (signal.aborted) throw new RingError('cancelled', 'cancelled');
      yield finishedEvent(5, 0);
    };
    const answer = await call('/v1/completions', { json: { prompt: 'x', stream: true } });
    expect(eventsOf(answer.text)).toMatchObject([{ error: { code: 'not_ready', message: expect.stringContaining('stopping') } }]);
  });

  it.each<[ErrorCode, number, string, string]>([
    ['bad_request', 400, 'bad_request', 'invalid_request_error'],
    ['context_too_long', 400, 'context_length_exceeded', 'invalid_request_error'],
    ['unsupported_architecture', 400, 'unsupported_architecture', 'invalid_request_error'],
    ['unknown_model', 404, 'model_not_found', 'invalid_request_error'],
    ['queue_full', 429, 'queue_full', 'rate_limit_error'],
    ['engine_failed', 500, 'engine_failed', 'server_error'],
    ['not_ready', 503, 'not_ready', 'server_error'],
    ['no_placement', 503, 'no_placement', 'server_error'],
    ['out_of_memory', 503, 'out_of_memory', 'server_error'],
    ['timeout', 504, 'timeout', 'server_error'],
  ])('answers %s with %i, streamed or not', async (code, status, shownCode, type) => {
    const { agent, call } = api();
    agent.script = async function* () {
      throw new RingError(code, 'needs 40 GB, the cluster has 24 GB');
    };
    for (const stream of [true, false]) {
      const answer = await call('/v1/chat/completions', { json: { ...HELLO, stream } });
      expect(answer.status).toBe(status);
      expect(errorOf(answer)).toMatchObject({ code: shownCode, type, message: 'needs 40 GB, the cluster has 24 GB' });
      expect(answer.headers.get('retry-after')).toBe(code === 'queue_full' || code === 'not_ready' ? '2' : null);
      expect(answer.headers.get('x-should-retry')).toBe(['no_placement', 'timeout', 'engine_failed', 'out_of_memory'].includes(code) ? 'false' : null);
    }
  });

  it('shows nothing of a bug but logs it', async () => {
    const log = new KeptLog();
    const { agent, call } = api({ log });
    agent.script = () => {
      throw new TypeError('secret inside');
    };
    const answer = await call('/v1/chat/completions', { json: HELLO });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('secret inside');
    expect(log.lines).toMatchObject([{ level: 'error', facts: { path: '/v1/chat/completions' } }]);
  });

  it('takes no request before the agent is in its cluster', async () => {
    const { agent, call } = api();
    agent.isReady = false;
    const answer = await call('/v1/chat/completions', { json: HELLO });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(agent.tasks).toHaveLength(0);
  });

  it.each<[string, string, number, string]>([
    ['no JSON', '{"messages": [', 400, 'invalid_json'],
    ['nothing', '', 400, 'invalid_json'],
    ['a list', '[]', 400, 'invalid_type'],
    ['a text', '"hello"', 400, 'invalid_type'],
  ])('refuses a body that is %s', async (_what, body, status, code) => {
    const answer = await api().call('/v1/chat/completions', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(status);
    expect(errorOf(answer).code).toBe(code);
  });

  it('does not quote the body of malformed JSON', async () => {
    const answer = await api().call('/v1/chat/completions', { body: '{"messages": "my secret" oops}' });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain('secret');
    expect((await api().call('/v1/completions', { body: Uint8Array.of(0x22, 0xff, 0x22) })).text).toContain('not UTF-8');
  });

  it('refuses a body that is not sent as JSON', async () => {
    const { call } = api();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const headers of [{ 'content-type': 'text/plain' }, { ...form, origin: 'http://localhost' }, { ...form, 'sec-fetch-site': 'cross-site' }, { 'content-encoding': 'gzip' }]) {
      expect((await call('/v1/chat/completions', { json: HELLO, headers })).status).toBe(415);
    }
    expect((await call('/v1/chat/completions', { json: HELLO, headers: form })).status, 'curl without -H').toBe(200);
    expect((await call('/v1/chat/completions', { json: HELLO, headers: { 'content-type': 'application/json; charset=utf-8' } })).status).toBe(200);
  });

  it('refuses a body above 16 MiB, announced or not', async () => {
    const { call } = api();
    const announced = await call('/v1/completions', { body: '{}', headers: { 'content-length': String(BODY_BYTES_MAX + 1) } });
    expect(announced.status).toBe(413);
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
    });
    const streamed = await call('/v1/completions', { body: endless });
    expect(streamed.status).toBe(413);
    expect(errorOf(streamed).code).toBe('body_too_large');
    expect(sent).toBeLessThan(BODY_BYTES_MAX + 10 * 65_536);
  });

  it('names the methods of a path, and says when there is no such path', async () => {
    const { call } = api();
    const wrongMethod = await call('/v1/chat/completions');
    expect(wrongMethod.status).toBe(405);
    expect(wrongMethod.headers.get('allow')).toBe('POST');
    expect((await call('/v1/models', { method: 'DELETE' })).status).toBe(405);
    expect((await call('/v1/cluster/models', { json: {} })).status).toBe(405);
    const unknown = await call('/v1/nothing', { json: {} });
    expect(unknown.status).toBe(404);
    expect(errorOf(unknown).code).toBe('unknown_route');
  });

  it.each([
    ['127.0.0.1', 200], ['127.0.0.1:11500', 200], ['localhost:80', 200], ['LOCALHOST', 200], ['[::1]:11500', 200], ['localhost.', 200],
    ['my.localhost:3', 200], ['box.lan:11500', 200], ['evil.example', 403], ['127.0.0.1.evil.example', 403], ['10.0.0.5', 403],
    ['localhost.evil.example:11500', 403], ['127.0.0.1@evil.example', 403], ['', 403],
  ])('checks the name that it is called by: %s gives %i', async (host, status) => {
    const answer = await api({ hosts: { names: ['Box.lan'], anyAddress: false } }).call('/health', { headers: { host } });
    expect(answer.status).toBe(status);
  });

  it('takes any literal address, but no name, when it listens on all of them', async () => {
    const { call } = api({ hosts: { names: ['0.0.0.0'], anyAddress: true } });
    expect((await call('/health', { headers: { host: '192.168.1.7:11500' } })).status).toBe(200);
    expect((await call('/health', { headers: { host: '[fd00::7]:11500' } })).status).toBe(200);
    expect((await call('/health', { headers: { host: 'evil.example' } })).status).toBe(403);
  });

  it.each([
    ['http://localhost:3000', 200], ['http://127.0.0.1:11500', 200], ['https://[::1]', 200], ['http://box.lan:11500', 200],
    ['http://box.lan:80', 403], ['https://evil.example', 403], ['null', 403], ['file://', 403], ['http://localhost.evil.example', 403],
  ])('checks which pages use it: %s gives %i', async (origin, status) => {
    const { agent, call } = api({ hosts: { names: ['box.lan'], anyAddress: false } });
    const answer = await call('/v1/chat/completions', { json: HELLO, headers: { origin, host: 'box.lan:11500' } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('access-control-allow-origin')).toBe(status === 200 ? origin : null);
    expect(agent.tasks).toHaveLength(status === 200 ? 1 : 0);
  });

  it('answers the preflight of pages that may use it, without a key', async () => {
    const { call } = api({ apiKeys: [KEY] });
    const headers = { origin: 'http://localhost:3000', 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type' };
    const answer = await call('/v1/chat/completions', { method: 'OPTIONS', headers });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
    expect((await call('/v1/chat/completions', { method: 'OPTIONS', headers: { ...headers, origin: 'https://evil.example' } })).status).toBe(403);
  });

  it('asks for a key on everything but the health check and the welcome', async () => {
    const { call } = api({ apiKeys: ['another-key-of-some-length', KEY] });
    expect((await call('/health')).status).toBe(200);
    expect((await call('/')).status).toBe(200);
    for (const path of ['/v1/models', '/v1/cluster', '/nowhere']) {
      const without = await call(path);
      expect(without.status).toBe(401);
      expect(without.headers.get('www-authenticate')).toBe('Bearer');
      expect(errorOf(without)).toMatchObject({ code: 'invalid_api_key', type: 'authentication_error' });
    }
    for (const authorization of ['Bearer wrong', `Basic ${KEY}`, KEY, `Bearer ${KEY}x`, 'Bearer ']) {
      expect((await call('/v1/models', { headers: { authorization } })).status).toBe(401);
    }
    expect((await call('/v1/models', { headers: { authorization: `Bearer ${KEY}` } })).status).toBe(200);
  });

  it('shows the cluster and plans, loads and unloads', async () => {
    const { agent, call } = api();
    expect(JSON.parse((await call('/v1/cluster')).text)).toEqual(agent.status());
    expect(JSON.parse((await call('/v1/cluster/models')).text)).toEqual({ models: [MODEL] });
    expect(JSON.parse((await call('/v1/cluster/plan', { json: { model: 'kjv', policy: 'throughput', nodes: 2 } })).text)).toEqual(PLAN);
    expect(JSON.parse((await call('/v1/cluster/load', { json: { model: 'kjv', contextTokens: 512, slots: 2 } })).text)).toEqual(INSTANCE);
    expect(agent.planRequests).toEqual([
      { model: 'kjv', policy: 'throughput', nodes: 2, contextTokens: null, slots: null },
      { model: 'kjv', policy: 'auto', nodes: null, contextTokens: 512, slots: 2 },
    ]);
    expect((await call('/v1/cluster/instances/inst-1', { method: 'DELETE' })).text).toBe('{"id":"inst-1","object":"instance","deleted":true}');
    expect(agent.unloaded).toEqual(['inst-1']);
    const unknown = await call('/v1/cluster/instances/inst-9', { method: 'DELETE' });
    expect(unknown.status).toBe(404);
    expect(errorOf(unknown).code).toBe('instance_not_found');
  });

  it('loads a model for as long as is said: pinned, until its room is needed, or as a request would', async () => {
    const { agent, call } = api();
    const lives = async (json: object): Promise<unknown> => {
      const answer = await call('/v1/cluster/load', { json: { model: 'kjv', ...json } });
      return answer.status === 200 ? agent.planRequests.at(-1)?.life : errorOf(answer).param;
    };
    expect(await lives({})).toBeUndefined();
    expect(await lives({ pinned: true })).toEqual({ pinned: true, keepAliveMs: null, returns: true });
    expect(await lives({ pinned: false })).toEqual({ pinned: false, keepAliveMs: null, returns: true });
    expect(await lives({ keepAlive: null })).toBe('usual');
    expect(await lives({ keepAlive: '90s' })).toEqual({ pinned: false, keepAliveMs: 90_000, returns: false });
    expect(await lives({ keepAlive: 'soon' })).toBe('keepAlive');
    expect(await lives({ keepAlive: 5, pinned: true })).toBe('keepAlive');
    expect(await lives({ pined: true })).toBe('pined');
    expect((await call('/v1/cluster/plan', { json: { model: 'kjv', pinned: true } })).status).toBe(400);
  });

  it('says why a model cannot be placed', async () => {
    const { agent, call } = api();
    agent.planError = new RingError('no_placement', 'model (80 layers, 40.0 GB) does not fit the cluster (capacity 48 layers)', { capacityLayers: 48 });
    const answer = await call('/v1/cluster/plan', { json: { model: 'big' } });
    expect(answer.status).toBe(503);
    expect(errorOf(answer)).toMatchObject({ code: 'no_placement', message: expect.stringContaining('capacity 48 layers'), facts: { capacityLayers: 48 } });
  });

  it('refuses wrong plan requests by field', async () => {
    const { call } = api();
    for (const [json, param] of [[{ polciy: 'manual' }, 'polciy'], [{ policy: 'fast' }, 'policy'], [{ nodes: 0 }, 'nodes'], [{ slots: 1.5 }, 'slots']] as const) {
      const answer = await call('/v1/cluster/plan', { json });
      expect(answer.status).toBe(400);
      expect(errorOf(answer).param).toBe(param);
    }
    expect((await call('/v1/cluster/plan', { json: [] })).status).toBe(400);
  });

  it('says where an answer\'s time went to who asks for it, and asks nobody otherwise', async () => {
    const trace = { requestId: 'chatcmpl-id.1', agoMs: 9, model: MODEL.name, wireMicros: 3, stages: [{ nodeId: 'node-a', hostname: 'mac' }], steps: [{ sentAfterMicros: 0, tokens: 5, otherTokens: 0, ahead: 0, stageMicros: [4], restMicros: 3 }] };
    const { agent, call } = api();
    const headers = { 'x-ring-trace': '1' };
    expect(JSON.parse((await call('/v1/chat/completions', { json: HELLO })).text)).not.toHaveProperty('ring_trace');
    expect(agent.traced).toEqual([]);
    // The head hears of the last step a moment later than the origin of its token.
    agent.remembered.push([], [{ ...trace, steps: [] }], [trace]);
    expect(JSON.parse((await call('/v1/chat/completions', { json: HELLO, headers })).text)).toMatchObject({ id: 'chatcmpl-id', ring_trace: [trace] });
    expect(agent.traced).toEqual(['chatcmpl-id', 'chatcmpl-id', 'chatcmpl-id']);
    await call('/v1/chat/completions', { json: { ...HELLO, n: 2 }, headers });
    expect(agent.tasks.slice(-2).map(({ requestId }) => requestId)).toEqual(['chatcmpl-id', 'chatcmpl-id-1']);

    const streamed = await call('/v1/chat/completions', { json: { ...HELLO, stream: true }, headers });
    const comment = streamed.text.indexOf(`: ring-trace ${JSON.stringify([trace])}\n\n`);
    expect(comment).toBeGreaterThan(0);
    expect(comment).toBeLessThan(streamed.text.indexOf('[DONE]'));
    const lines = (await call('/api/generate', { json: { model: MODEL.name, prompt: 'Why' }, headers })).text.trim().split('\n').map((line) => JSON.parse(line));
    expect(lines.at(-2)).toMatchObject({ response: '', done: false, ring_trace: [trace] });
    expect(lines.at(-1)).toMatchObject({ done: true });
    expect((await call('/v1/cluster/traces?request=chat')).text).toContain(JSON.stringify([trace]));
  });
});
