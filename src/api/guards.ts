/**
 * Who may speak to the API: Host, Origin, key, and how large a body may be. Checked before anything is parsed.
 *
 * A page on any web site can make the browser of somebody on this LAN send requests here. Two checks stop that: the
 * `Host` must be a name of this machine (a rebound DNS name is not), and an `Origin`, which browsers always send with
 * a request that could change something, must be this API itself or a page of the same machine. Programs send no
 * Origin. It must not know models, plans or the agent.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { ApiError } from './api-error.js';

/** Checked before and while reading; parsing comes after. */
export const BODY_BYTES_MAX = 16 * 1024 * 1024;

export interface HostPolicy {
  /** The address that the API is bound to, and every other name that it is known by. Compared without case. */
  readonly names: readonly string[];
  /** Bound to every address of the machine: any literal address is right (a DNS name cannot pose as one). */
  readonly anyAddress: boolean;
}

/** Host part of `host[:port]`, lower case, without brackets or final dot. Null when it is none. */
function hostNameOf(host: string): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host.trim());
  const name = match?.[1];
  if (name === undefined) return null;
  return name.toLowerCase().replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

export function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return isIP(name) === 4 && name.startsWith('127.');
}

export function isWildcardAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '[::]';
}

export function checkHost(hostHeader: string | undefined, policy: HostPolicy): void {
  const name = hostNameOf(hostHeader ?? '');
  if (name !== null) {
    if (isLoopbackName(name)) return;
    if (policy.anyAddress && isIP(name) !== 0) return;
    if (policy.names.some((allowed) => hostNameOf(allowed) === name || allowed.toLowerCase() === name)) return;
  }
  throw new ApiError({
    status: 403,
    code: 'host_not_allowed',
    param: 'Host',
    message: `The Host header ${JSON.stringify((hostHeader ?? '').slice(0, 100))} is not a name of this agent. `
      + 'Use its address, or start it with that name allowed.',
  });
}

/** Throws unless the request comes from a program, from the API's own pages, or from a page of this machine. */
export function checkOrigin(origin: string | undefined, hostHeader: string | undefined): void {
  if (origin === undefined) return;
  const page = pageHostOf(origin);
  if (page !== null && (page.host === hostHeader?.trim().toLowerCase() || isLoopbackName(page.name))) return;
  throw new ApiError({
    status: 403,
    code: 'origin_not_allowed',
    param: 'Origin',
    message: `Pages of ${JSON.stringify(origin.slice(0, 100))} may not use this agent: only its own pages and pages of this machine may.`,
  });
}

function pageHostOf(origin: string): { readonly host: string; readonly name: string } | null {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return null;
  const url = new URL(origin);
  const name = hostNameOf(url.host);
  return name === null ? null : { host: url.host, name };
}

/** Compares in constant time, whatever the length, over all keys. No keys = open. */
export class KeyCheck {
  private readonly digests: readonly Buffer[];

  constructor(keys: readonly string[]) {
    this.digests = keys.map(digestOf);
  }

  check(authorization: string | undefined): void {
    if (this.digests.length === 0) return;
    const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    const digest = digestOf(given ?? '');
    let matches = 0;
    for (const known of this.digests) matches += timingSafeEqual(known, digest) ? 1 : 0;
    if (given !== undefined && matches > 0) return;
    throw new ApiError({
      status: 401,
      code: 'invalid_api_key',
      message: given === undefined
        ? 'This agent needs an API key: send `Authorization: Bearer <key>` with a key of its --api-key-file.'
        : 'This API key is not in the agent\'s --api-key-file.',
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/** Who wants to know how large a body turned out to be. */
const listeners = new WeakMap<Request, (bytes: number) => void>();

/** Calls once, when the whole body of the request was read by `readJsonBody`. */
export function onBodyRead(request: Request, listener: (bytes: number) => void): void {
  listeners.set(request, listener);
}

/** What curl says of a body when it is told nothing, as in the examples of Ollama. A form of a web page says the same, but comes with an Origin. */
const UNSAID_TYPES: ReadonlySet<string> = new Set(['', 'application/x-www-form-urlencoded']);

/** Browsers tell of every request that could change something where it comes from. */
function isFromProgram(request: Request): boolean {
  return !request.headers.has('origin') && !request.headers.has('sec-fetch-site');
}

/** The body of a request as JSON: type, size and encoding are checked in this order, and each has its own status. */
export async function readJsonBody(request: Request): Promise<unknown> {
  const mediaType = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (mediaType !== 'application/json' && !(isFromProgram(request) && UNSAID_TYPES.has(mediaType))) {
    throw new ApiError({
      status: 415,
      code: 'unsupported_media_type',
      param: 'Content-Type',
      message: 'The body must be JSON, and say so: send the header `Content-Type: application/json` (curl: -H \'Content-Type: application/json\').',
    });
  }
  const contentEncoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (contentEncoding !== 'identity') {
    throw new ApiError({
      status: 415,
      code: 'unsupported_encoding',
      param: 'Content-Encoding',
      message: 'Compressed bodies are not taken: send the JSON as it is.',
    });
  }
  const bytes = await readBounded(request);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw badJson('it is not UTF-8', cause);
  }
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (cause) {
    throw badJson(text.length === 0 ? 'it is empty' : positionOf(cause), cause);
  }
}

function badJson(what: string, cause: unknown): ApiError {
  const error = new ApiError({ status: 400, code: 'invalid_json', message: `The body is not valid JSON: ${what}.` });
  error.cause = cause;
  return error;
}

/** V8's message without the excerpt of the body that it may quote: prompts stay out of messages. */
function positionOf(cause: unknown): string {
  const position = cause instanceof Error ? /at position (\d+)/.exec(cause.message)?.[1] : undefined;
  return position === undefined ? 'it ends too early or has a wrong character' : `wrong character at position ${position}`;
}

async function readBounded(request: Request): Promise<Uint8Array> {
  const announced = Number(request.headers.get('content-length') ?? '0');
  if (announced > BODY_BYTES_MAX) throw bodyTooLarge();
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      listeners.get(request)?.(length);
      return Buffer.concat(chunks, length);
    }
    length += value.byteLength;
    if (length > BODY_BYTES_MAX) {
      // Not awaited: the sender may still be sending, and the answer must not wait for it.
      reader.cancel().catch(() => undefined);
      throw bodyTooLarge();
    }
    chunks.push(value);
  }
}

function bodyTooLarge(): ApiError {
  return new ApiError({
    status: 413,
    code: 'body_too_large',
    message: `The body is larger than ${BODY_BYTES_MAX / 1024 / 1024} MiB, the most that this agent reads.`,
    // The rest of the body is not read: the connection cannot be used again.
    headers: { Connection: 'close' },
  });
}
