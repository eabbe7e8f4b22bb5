/** What a hub may answer, and what becomes of it: refusals are said once, what passes is waited for, what came is kept. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import { HubClient } from '../../src/model/hub-client.js';
import { hubToken } from '../../src/model/hub-token.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { failureOf } from '../support/thrown.js';

const QUIET = new AbortController().signal;
const REPOSITORY = 'tiny/Any-GGUF';
const FILE = 'any.gguf';
const bytes = Uint8Array.from({ length: 20_000 }, (_, index) => (index * 31) & 0xff);
/** No test would live through one of these: who waits was not told to. */
const FOR_EVER_MS = 3_600_000;

const hub = await HubServer.start();
hub.add(REPOSITORY, FILE, bytes);
afterAll(() => hub.stop());
beforeEach(() => {
  hub.faults.length = 0;
  hub.forgetCounts();
  Object.assign(hub, { lyingSize: null });
});

async function read(options: { readonly token?: string; readonly backoffMs?: number } = {}): Promise<Uint8Array> {
  const client = new HubClient({ endpoint: hub.url, token: options.token ?? null, stallMs: 1_000, backoffMs: options.backoffMs ?? 2 });
  const url = client.urlOf({ repository: REPOSITORY, revision: 'main', files: [{ location: FILE, sizeBytes: bytes.length }] }, 0);
  const parts: Uint8Array[] = [];
  for await (const chunk of client.read(url, { start: 0, end: bytes.length, sizeBytes: bytes.length }, QUIET)) parts.push(chunk);
  return Buffer.concat(parts);
}

describe('a hub that refuses', () => {
  it.each([
    [401, null, /refuses access \(401\).*set HF_TOKEN/],
    [403, null, /refuses access \(403\).*gated.*accept its conditions on the hub's page, and set HF_TOKEN or log in/],
    [403, 'mine', /Your token \(HF_TOKEN, or that of "hf auth login"\) does not give access: accept the model's conditions/],
  ])('with %i says what to do, and is asked no more', async (status, token, text) => {
    hub.faults.push({ kind: 'status', status });
    const error = await failureOf(read(token === null ? {} : { token }));
    expect(error.code).toBe('source_refused');
    expect(error.message).toMatch(text);
    expect(hub.bytesGiven()).toBe(0);
  });

  it.each([404, 410])('with %i says that there is no such file', async (status) => {
    hub.faults.push({ kind: 'status', status });
    const error = await failureOf(read());
    expect([error.code, error.message]).toEqual(['source_missing', expect.stringMatching(new RegExp(`no such file or repository \\(${status}\\)\\. Check the spelling`))]);
  });

  it('with another answer is not asked again', async () => {
    hub.faults.push({ kind: 'status', status: 418 });
    expect((await failureOf(read())).code).toBe('source_failed');
  });
});

describe('a hub that has too much to do', () => {
  it.each(['0', '0.01', new Date(0).toUTCString()])('is asked again when it says so (Retry-After: %s), not before', async (retryAfter) => {
    hub.faults.push({ kind: 'status', status: 429, retryAfter }, { kind: 'status', status: 503, retryAfter });
    expect(Buffer.compare(await read({ backoffMs: FOR_EVER_MS }), bytes)).toBe(0);
  });

  it('is given up after some attempts that bring nothing, and what came is kept', async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) hub.faults.push({ kind: 'status', status: 429 });
    const error = await failureOf(read());
    expect(error.code).toBe('source_failed');
    expect(error.message).toMatch(/too many requests \(429\)\. 6 attempts brought nothing; what came so far is kept/);
  });
});

describe('a token', () => {
  it('is HF_TOKEN, else what the hub\'s own tools keep, unless that is not wanted', async () => {
    const home = temporaryDirectory();
    expect(await hubToken({ HOME: home })).toBeNull();
    await mkdir(join(home, '.cache', 'huggingface'), { recursive: true });
    await writeFile(join(home, '.cache', 'huggingface', 'token'), 'kept\n');
    await writeFile(join(home, 'odd'), 'two words');
    expect(await hubToken({ HOME: home })).toBe('kept');
    expect(await hubToken({ HOME: home, HF_TOKEN: ' named ' })).toBe('named');
    expect(await hubToken({ HOME: '/nowhere', XDG_CACHE_HOME: join(home, '.cache') })).toBe('kept');
    expect(await hubToken({ HOME: '/nowhere', HF_HOME: join(home, '.cache', 'huggingface') })).toBe('kept');
    expect(await hubToken({ HOME: home, HF_TOKEN_PATH: join(home, 'odd') })).toBeNull();
    expect(await hubToken({ HOME: home, HF_HUB_DISABLE_IMPLICIT_TOKEN: '1' })).toBeNull();
  });
});

describe('a hub that cannot be reached', () => {
  const failing = (code: string, asked: { times: number } = { times: 0 }): Promise<RingError> => {
    const client = new HubClient({ endpoint: 'https://hub.example', token: null, stallMs: 1_000, backoffMs: 1, fetch: () => {
      asked.times += 1;
      return Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error(`getaddrinfo ${code} hub.example`), { code }) }));
    } });
    return failureOf(client.revision(REPOSITORY, 'main', QUIET));
  };

  it.each([
    ['EAI_AGAIN', /no way to hub\.example: its name is not resolved\. Is this machine connected to the internet\? Behind a proxy, set HTTPS_PROXY/],
    ['ENOTFOUND', /its name is not resolved/],
    ['ENETUNREACH', /there is no route to it/],
    ['ECONNREFUSED', /it refuses connections\. Is HF_ENDPOINT or the proxy the right one/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /its certificate is not trusted\. .*NODE_EXTRA_CA_CERTS/],
  ])('for %s is said with what to do', async (code, text) => {
    const error = await failing(code);
    expect([error.code, error.message]).toEqual(['source_failed', expect.stringMatching(text)]);
  });

  it('because there is no internet is not asked again and again', async () => {
    const asked = { times: 0 };
    await failing('EAI_AGAIN', asked);
    expect(asked.times).toBe(2);
  });

  it('is another thing than one that answers nonsense', async () => {
    expect((await failing('HPE_INVALID_CONSTANT')).message).toMatch(/cannot be read: getaddrinfo HPE_INVALID_CONSTANT/);
  });
});

describe('a connection that breaks', () => {
  it('a hundred times goes on where it was, as long as each attempt brings something', async () => {
    for (let attempt = 0; attempt < 100; attempt += 1) hub.faults.push({ kind: 'cut', afterBytes: 150 });
    expect(Buffer.compare(await read(), bytes)).toBe(0);
    expect(hub.asked.length).toBeGreaterThan(100);
    for (const [index, { start }] of hub.asked.entries()) expect(start).toBeGreaterThanOrEqual(hub.asked[index - 1]?.start ?? 0);
  });

  it('before the first byte, always, is said so', async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) hub.faults.push({ kind: 'cut', afterBytes: 0 });
    expect((await failureOf(read())).code).toBe('source_failed');
  });
});

describe('a file that is another one', () => {
  it.each([bytes.length - 1, bytes.length + 1, 0])('by its size (%i) is refused before a byte is taken', async (size) => {
    Object.assign(hub, { lyingSize: size });
    const error = await failureOf(read());
    expect(error.code).toBe('source_failed');
    expect(error.message).toMatch(`has ${size} bytes now, ${bytes.length} were expected: the file was replaced. Name the model again`);
  });
});
