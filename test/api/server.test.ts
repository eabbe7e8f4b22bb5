/**
 * The API over real sockets: the `openai` npm client, slow and vanishing clients, ports, keys, and the stop.
 */
import { chmod, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { OpenAI } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer, ApiServerOptions } from '../../src/api/server.js';
import { RingError } from '../../src/core/errors.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aborted, answerOf, finishedEvent, KeptLog, MODEL, ScriptedAgent } from './scripted-agent.js';

const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];
const KEY = 'a-key-of-sixteen-characters';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Running {
  readonly agent: ScriptedAgent;
  readonly server: ApiServer;
  readonly client: OpenAI;
  readonly log: KeptLog;
}

async function start(changes: Partial<ApiServerOptions> = {}): Promise<Running> {
  const agent = new ScriptedAgent();
  const log = new KeptLog();
  const server = await startApiServer({
    service: agent, agentVersion: '0.0.0-test', log, host: '127.0.0.1', port: 0, portExplicit: false, apiKeyFile: null, ...changes,
  });
  ends.push(() => server.close(0));
  const client = new OpenAI({ baseURL: `${server.address}/v1`, apiKey: KEY, maxRetries: 0 });
  return { agent, server, client, log };
}

async function keyFile(text: string, mode = 0o600): Promise<string> {
  const file = join(temporaryDirectory(), 'keys');
  await writeFile(file, text);
  await chmod(file, mode);
  return file;
}

/** A connection that has sent a request and reads only what it is told to. */
async function rawRequest(port: number, path: string, body: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  ends.push(async () => {
    socket.destroy();
  });
  socket.pause();
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  return socket;
}

async function until(condition: () => boolean, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not so within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function failureOf(work: Promise<unknown>): Promise<RingError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RingError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('the openai client', () => {
  it('lists models and gets one', async () => {
    const { client } = await start();
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual([MODEL.name]);
    expect((await client.models.retrieve(MODEL.name)).owned_by).toBe('ring');
    await expect(client.models.retrieve('nothing')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it('gets a whole answer', async () => {
    const { client } = await start();
    const answer = await client.chat.completions.create({ model: MODEL.name, messages: MESSAGES });
    expect(answer.choices[0]?.message.content).toBe('In the beginning');
    expect(answer.usage?.total_tokens).toBe(7);
    const text = await client.completions.create({ model: MODEL.name, prompt: 'x' });
    expect(text.choices[0]?.text).toBe('In the beginning');
  });

  it('streams, and its helper puts the whole answer together', async () => {
    const { client } = await start();
    const stream = client.chat.completions.stream({ model: MODEL.name, messages: MESSAGES, stream_options: { include_usage: true } });
    const deltas: string[] = [];
    stream.on('content', (delta) => deltas.push(delta));
    const answer = await stream.finalChatCompletion();
    expect(deltas).toEqual(['In the', ' beginning']);
    expect(answer.choices[0]?.message.content).toBe('In the beginning');
    expect(answer.choices[0]?.finish_reason).toBe('stop');
    expect(answer.usage?.completion_tokens).toBe(2);
  });

  it('gets each token when it is drawn, not at the end', async () => {
    const { agent, client } = await start();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    agent.script = async function* () {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      yield { kind: 'text', text: 'first', tokens: [1] };
      await released;
      yield { kind: 'text', text: 'second', tokens: [2] };
      yield finishedEvent(5, 2);
    };
    const stream = await client.completions.create({ model: '', prompt: 'x', stream: true });
    const texts: string[] = [];
    for await (const chunk of stream) {
      texts.push(chunk.choices[0]?.text ?? '');
      release();
    }
    expect(texts).toEqual(['first', 'second', '']);
  });

  it('aborts a stream: the agent knows within a second', async () => {
    const { agent, client } = await start();
    agent.script = async function* (_task, signal) {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      yield { kind: 'text', text: 'first', tokens: [1] };
      await aborted(signal);
    };
    const stream = await client.chat.completions.create({ model: '', messages: MESSAGES, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'first') break;
    stream.controller.abort();
    await until(() => agent.signal?.aborted === true, 1000);
  });

  it('aborts a request that has had no answer yet: the agent knows within a second', async () => {
    for (const stream of [true, false]) {
      const { agent, client } = await start();
      agent.script = async function* (_task, signal) {
        await aborted(signal);
        yield finishedEvent(0, 0);
      };
      const controller = new AbortController();
      const request = client.chat.completions.create({ model: '', messages: MESSAGES, stream }, { signal: controller.signal });
      await until(() => agent.signal !== null, 5000);
      controller.abort();
      await expect(request).rejects.toThrow(/abort/i);
      await until(() => agent.signal?.aborted === true, 1000);
    }
  });

  it('understands errors, before and in the middle of a stream', async () => {
    const { agent, client } = await start();
    const create = () => client.chat.completions.create({ model: '', messages: MESSAGES, stream: true });
    agent.script = async function* () {
      throw new RingError('context_too_long', 'the prompt has 2000 tokens, the context 1024');
    };
    await expect(create()).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
    agent.script = async function* () {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      throw new RingError('peer_lost', 'node pc left');
    };
    const stream = await create();
    const read = async (): Promise<void> => {
      for await (const chunk of stream) expect(chunk.choices[0]?.delta.content).toBe('');
    };
    await expect(read()).rejects.toThrow('node pc left');
  });

  it('tries again by itself when there was no room', async () => {
    const { agent, server } = await start();
    let asked = 0;
    agent.script = () => {
      asked += 1;
      if (asked === 1) throw new RingError('queue_full', 'the queue is full');
      return answerOf(['ok']);
    };
    const client = new OpenAI({ baseURL: `${server.address}/v1`, apiKey: KEY, maxRetries: 1 });
    const answer = await client.completions.create({ model: '', prompt: 'x' });
    expect(answer.choices[0]?.text).toBe('ok');
  });

  it('waits through a long load on comments', async () => {
    const { agent, client, server } = await start({ heartbeatMs: 20 });
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    agent.script = async function* () {
      await released;
      yield* answerOf(['loaded']);
    };
    const response = await fetch(`${server.address}/v1/completions`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"prompt": "x", "stream": true}',
    });
    expect(response.status).toBe(200);
    const stream = await client.completions.create({ model: '', prompt: 'x', stream: true });
    release();
    const texts: string[] = [];
    for await (const chunk of stream) texts.push(chunk.choices[0]?.text ?? '');
    expect(texts).toEqual(['loaded', '']);
    expect(await response.text()).toMatch(/^(: waiting\n\n)+data: /);
  });
});

describe('bad clients', () => {
  const STREAM = JSON.stringify({ prompt: 'x', stream: true });

  it('a client that vanishes ends the work within a second', async () => {
    const { agent, server } = await start();
    agent.script = async function* (_task, signal) {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      yield { kind: 'text', text: 'first', tokens: [1] };
      await aborted(signal);
    };
    const socket = await rawRequest(server.port, '/v1/completions', STREAM);
    await until(() => agent.signal !== null, 5000);
    socket.destroy();
    await until(() => agent.signal?.aborted === true, 1000);
  });

  it('a slow client slows its own source and nothing else', async () => {
    const { agent, server, client } = await start();
    let made = 0;
    agent.script = async function* (task) {
      if (task.maxTokens === 1) {
        yield* answerOf(['quick']);
        return;
      }
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      for (; made < 10_000; made += 1) yield { kind: 'text', text: 'x'.repeat(10_000), tokens: [1] };
      yield finishedEvent(5, made);
    };
    const socket = await rawRequest(server.port, '/v1/completions', STREAM);
    // Made so far stops growing when the socket's buffers are full, far from the 100 MB of the answer.
    let before = -1;
    await until(() => {
      const stands = made > 0 && made === before;
      before = made;
      return stands;
    }, 10_000);
    expect(made).toBeLessThan(5_000);
    const quick = await client.completions.create({ model: '', prompt: 'x', max_tokens: 1 });
    expect(quick.choices[0]?.text).toBe('quick');
    let received = 0;
    socket.on('data', (bytes) => {
      received += bytes.length;
    });
    socket.resume();
    await until(() => made === 10_000 && received > 100_000_000, 30_000);
  });

  it('a client that stops reading is dropped at last', async () => {
    const { agent, server, log } = await start({ stallMs: 100 });
    agent.script = async function* (_task, signal) {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      while (!signal.aborted) yield { kind: 'text', text: 'x'.repeat(100_000), tokens: [1] };
    };
    await rawRequest(server.port, '/v1/completions', STREAM);
    await until(() => agent.signal?.aborted === true, 10_000);
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('stopped reading') }]);
    await server.close(2000);
  });

  it('bytes that are no HTTP, an early close and a body that is too large leave the server well', async () => {
    const { server, client } = await start();
    const noise = connect(server.port, '127.0.0.1');
    await new Promise<void>((resolve) => {
      noise.once('close', () => resolve());
      noise.on('data', () => undefined);
      noise.write('\u0016\u0003\u0001 hello\r\n\r\n');
    });
    const early = connect(server.port, '127.0.0.1');
    await new Promise<void>((resolve) => early.once('connect', resolve));
    early.destroy();
    const large = await fetch(`${server.address}/v1/completions`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: ' '.repeat(17 * 1024 * 1024),
    });
    expect(large.status).toBe(413);
    const half = await rawRequest(server.port, '/v1/completions', '{"prompt": ');
    half.resume();
    half.destroy();
    expect((await client.completions.create({ model: '', prompt: 'x' })).choices[0]?.text).toBe('In the beginning');
  });

  it('a page of another site cannot use it, by whatever name it calls it', async () => {
    const { server, agent } = await start();
    const socket = connect(server.port, '127.0.0.1');
    const text = await new Promise<string>((resolve) => {
      let received = '';
      socket.on('data', (bytes) => {
        received += bytes.toString();
      });
      socket.once('close', () => resolve(received));
      socket.write('GET /v1/cluster HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n');
    });
    expect(text).toContain('HTTP/1.1 403');
    expect(agent.tasks).toHaveLength(0);
  });
});

describe('where it listens', () => {
  /** A port that somebody else holds. */
  async function takenPort(): Promise<number> {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => holder.close(() => resolve())));
    const address: AddressInfo | string | null = holder.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    return address.port;
  }

  it('takes the next free port with a notice', async () => {
    const port = await takenPort();
    const { server, log } = await start({ port });
    expect(server.port).toBeGreaterThan(port);
    expect(server.notice).toContain(`port ${port} is taken`);
    expect(log.lines).toMatchObject([{ level: 'warn' }]);
    expect((await fetch(`${server.address}/health`)).status).toBe(200);
  });

  it('fails when a port chosen by hand is taken', async () => {
    const failure = await failureOf(start({ port: await takenPort(), portExplicit: true }));
    expect(failure.code).toBe('port_in_use');
    expect(failure.message).toContain('--api-port');
  });

  it('fails on an address of another machine', async () => {
    const apiKeyFile = await keyFile(KEY);
    expect((await failureOf(start({ host: '192.0.2.1', apiKeyFile }))).code).toBe('bad_config');
  });

  it('insists on keys beyond loopback, and takes them', async () => {
    const failure = await failureOf(start({ host: '0.0.0.0' }));
    expect(failure.code).toBe('bad_config');
    expect(failure.message).toContain('--api-key-file');
    const { server, client } = await start({ host: '0.0.0.0', apiKeyFile: await keyFile(`# mine\n\n${KEY}\r\n`) });
    expect((await fetch(`http://127.0.0.1:${server.port}/v1/models`)).status).toBe(401);
    const local = client.withOptions({ baseURL: `http://127.0.0.1:${server.port}/v1` });
    expect((await local.models.retrieve(MODEL.name)).id).toBe(MODEL.name);
  });

  it.each([
    ['0644', KEY, 0o644, 'chmod 600'], ['empty', '# nothing\n', 0o600, 'no key'], ['short', 'short', 0o600, 'line 1'],
    ['spaced', 'one key with spaces in it', 0o600, 'line 1'], ['huge', 'x'.repeat(70_000), 0o600, 'larger'],
  ])('refuses a key file that is %s', async (_what, text, mode, says) => {
    const failure = await failureOf(start({ apiKeyFile: await keyFile(text, mode) }));
    expect(failure.code).toBe('bad_config');
    expect(failure.message).toContain(says);
    expect(failure.message).not.toContain(KEY);
  });

  it('says when there is no key file', async () => {
    const failure = await failureOf(start({ apiKeyFile: join(temporaryDirectory(), 'none') }));
    expect(failure.message).toContain('cannot be read');
  });
});

describe('the stop', () => {
  it('lets an answer end, and takes no new connection', async () => {
    const { agent, client, server } = await start();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    agent.script = async function* () {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      await released;
      yield* answerOf(['to the end']);
    };
    const stream = await client.completions.create({ model: '', prompt: 'x', stream: true });
    const closed = server.close(10_000);
    await expect(fetch(`${server.address}/health`, { headers: { connection: 'close' } })).rejects.toThrow();
    release();
    const texts: string[] = [];
    for await (const chunk of stream) texts.push(chunk.choices[0]?.text ?? '');
    expect(texts).toEqual(['to the end', '']);
    await closed;
    await server.close();
  });

  it('does not wait for connections without a request', async () => {
    const { server } = await start();
    const spare = connect(server.port, '127.0.0.1');
    ends.push(async () => {
      spare.destroy();
    });
    const dropped = new Promise<void>((resolve) => spare.once('close', () => resolve()));
    await new Promise<void>((resolve) => spare.once('connect', resolve));
    expect((await fetch(`${server.address}/health`)).status).toBe(200);
    const begin = performance.now();
    await server.close(10_000);
    expect(performance.now() - begin).toBeLessThan(2000);
    await dropped;
  });

  it('cuts answers at the deadline, with an error that says why', async () => {
    const { agent, client, server } = await start();
    agent.script = async function* (_task, signal) {
      yield { kind: 'started', model: MODEL.name, promptTokens: 5 };
      yield { kind: 'text', text: 'first', tokens: [1] };
      await aborted(signal);
    };
    const stream = await client.completions.create({ model: '', prompt: 'x', stream: true });
    const read = (async () => {
      for await (const chunk of stream) expect(chunk.choices[0]?.text).toBe('first');
    })();
    const failed = expect(read).rejects.toThrow('The agent is stopping');
    const begin = performance.now();
    await server.close(50);
    expect(performance.now() - begin).toBeLessThan(2000);
    await failed;
  });
});
