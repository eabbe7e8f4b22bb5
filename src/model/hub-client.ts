/**
 * Bytes of files on the internet: a hub's listing, and ranges of files that go on where they broke off.
 *
 * Plain `fetch`: redirects, tokens, stalls, sizes and waits all need rules of ours. A token goes to the hub's own origin only;
 * redirects lead to https or stay on their host; plain http is spoken only to the origin that `HF_ENDPOINT` names. Every wait
 * has a deadline and every retry a bound. It must not know GGUF, stages or peers.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { ModelSource } from '../core/types.js';
import { EitherSignal, underEither } from '../either-signal.js';
import type { HubFile } from './hub-files.js';
import type { Fetch } from './proxy.js';
import { fetchThroughProxy } from './proxy.js';
import type { RateLimit } from './rate-limit.js';
import { whyUnreachable } from './unreachable.js';

const HUB_ENDPOINT_DEFAULT = 'https://huggingface.co';
const MAX_REDIRECTS = 5;
/** Attempts in a row that bring no byte. */
const MAX_FRUITLESS_ATTEMPTS = 6;
/** Of a question whose server has no way to it: a person waits, and time mends nothing. */
const MAX_UNREACHABLE_ATTEMPTS = 2;
const MAX_LISTING_BYTES = 16 * 1024 * 1024;
const MAX_LISTED_FILES = 20_000;
const MAX_BACKOFF_MS = 60_000;
/** A small file is given up when it comes slower. */
const SLOWEST_BYTES_PER_SECOND = 50_000;

export interface HubOptions {
  /** `HF_ENDPOINT`. */
  readonly endpoint: string;
  /** `HF_TOKEN`; null = none. */
  readonly token: string | null;
  /** No byte for this long: the connection is given up for another one. */
  readonly stallMs: number;
  /** The first wait before another attempt; doubles each time. */
  readonly backoffMs: number;
  /** Of all reads together; absent = as fast as they come. */
  readonly limit?: RateLimit;
  /** Absent = the platform's own, without a proxy. */
  readonly fetch?: Fetch;
}

export interface HubRevision {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

/** From the environment, as other tools read it. Throws `bad_config`. */
export function hubOptions(environment: Readonly<Record<string, string | undefined>>): HubOptions {
  const endpoint = (environment['HF_ENDPOINT'] ?? '').trim() || HUB_ENDPOINT_DEFAULT;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) throw new RingError('bad_config', `HF_ENDPOINT is ${JSON.stringify(endpoint)}: give an address such as ${HUB_ENDPOINT_DEFAULT}`);
  const proxied = fetchThroughProxy(environment);
  return {
    endpoint: endpoint.replace(/\/+$/, ''), token: (environment['HF_TOKEN'] ?? '').trim() || null, stallMs: 15_000, backoffMs: 500, ...(proxied === null ? {} : { fetch: proxied }),
  };
}

/** Ends the attempts: another one would bring the same. */
class Final extends Error {
  constructor(readonly error: RingError) {
    super(error.message);
  }
}

/** This attempt failed; the next one may wait as long as the server said. */
class Again extends Error {
  constructor(message: string, readonly waitMs: number | null = null) {
    super(message);
  }
}

export class HubClient {
  constructor(private readonly options: HubOptions) {}

  /** The files of a repository at a revision. Throws `source_missing`, `source_refused`, `source_failed`, `cancelled`. */
  async revision(repository: string, revision: string, signal: AbortSignal): Promise<HubRevision> {
    const url = `${this.options.endpoint}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`;
    const bytes = await this.body(url, { what: `hf:${repository}`, deadlineMs: this.options.stallMs, maxBytes: MAX_LISTING_BYTES }, signal);
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(bytes));
    } catch (error) {
      throw new RingError('source_failed', `${url} did not answer with a listing: is HF_ENDPOINT a hub?`, { url }, { cause: error });
    }
    const listing = readListing(value);
    if (listing === null) throw new RingError('source_failed', `${url} answered with a listing that makes no sense`, { url });
    return listing;
  }

  /** A whole file that may not come in parts. Throws `source_failed` when it has another size. */
  async small(url: string, sizeBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const deadlineMs = this.options.stallMs + Math.ceil((sizeBytes * 1000) / SLOWEST_BYTES_PER_SECOND);
    const bytes = await this.body(this.checkedUrl(url).toString(), { what: url, deadlineMs, maxBytes: sizeBytes }, signal);
    if (bytes.length !== sizeBytes) throw new RingError('source_failed', `${url} has ${bytes.length} bytes now, ${sizeBytes} were expected: the file was replaced. Name the model again`, { url });
    return bytes;
  }

  /** Size of a file, asked with its first byte. */
  async sizeOf(url: string, signal: AbortSignal): Promise<number> {
    const checked = this.checkedUrl(url);
    return this.attempts(url, { signal, deadlineMs: this.options.stallMs }, async (attempt) => {
      const { response } = await this.open(checked, { range: 'bytes=0-0' }, attempt, url);
      await response.body?.cancel();
      const total = totalOf(response);
      if (response.status !== 206 || total === null) throw new Final(noRanges(url));
      return total;
    });
  }

  /** Where a source's file is. Throws `bad_config` for a source that this node must not follow. */
  urlOf(source: ModelSource, fileIndex: number): string {
    const file = source.files[fileIndex];
    if (file === undefined) throw new RingError('source_failed', `the model has no file ${fileIndex}`);
    if (source.repository === '') return this.checkedUrl(file.location).toString();
    const path = file.location.split('/').map(encodeURIComponent).join('/');
    const url = `${this.options.endpoint}/${source.repository}/resolve/${encodeURIComponent(source.revision)}/${path}`;
    if (file.location.split('/').some((part) => part === '' || part === '.' || part === '..') || !/^[\w.-]+\/[\w.-]+$/.test(source.repository)) {
      throw new RingError('bad_config', `the model's source ${url} makes no sense`, { url });
    }
    return url;
  }

  /** Bytes `[start, end)` of a file of `sizeBytes`; goes on where a connection broke off. */
  async *read(url: string, range: { readonly start: number; readonly end: number; readonly sizeBytes: number }, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const checked = this.checkedUrl(url);
    let at = range.start;
    let fruitless = 0;
    while (at < range.end) {
      const before = at;
      try {
        for await (const chunk of this.readOnce(checked, { ...range, start: at }, signal)) {
          at += chunk.length;
          yield chunk;
        }
      } catch (error) {
        if (error instanceof Final) throw error.error;
        if (signal.aborted) throw cancelled(url, error);
        fruitless = at > before ? 0 : fruitless + 1;
        if (fruitless >= MAX_FRUITLESS_ATTEMPTS) throw gaveUp(url, error);
        await this.backOff(Math.max(fruitless, 1), error, signal, url);
      }
    }
  }

  private async *readOnce(url: URL, range: { readonly start: number; readonly end: number; readonly sizeBytes: number }, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const attempt = new EitherSignal([signal]);
    const stall = new StallTimer(this.options.stallMs, attempt);
    try {
      const { response } = await this.open(url, { range: `bytes=${range.start}-${range.end - 1}` }, attempt.signal, url.toString());
      const expected = range.end - range.start;
      this.checkRange(response, range, url);
      if (response.body === null) throw new Again('an answer without a body');
      let done = 0;
      for await (const chunk of streamOf(response.body)) {
        // Whoever takes the bytes may take their time.
        stall.stop();
        if (done + chunk.length > expected) throw new Final(new RingError('source_failed', `${url.origin} sends more of ${url.pathname} than was asked for`, { url: url.toString() }));
        done += chunk.length;
        await this.slowDown(chunk.length, signal);
        yield chunk;
        stall.restart();
      }
      if (done < expected) throw new Again(`the transfer ended ${expected - done} bytes early`);
    } finally {
      stall.stop();
      attempt.abort(new Again('the transfer is over'));
    }
  }

  private checkRange(response: Response, range: { readonly start: number; readonly sizeBytes: number; readonly end: number }, url: URL): void {
    const total = totalOf(response);
    const wrongSize = (found: number): Final => new Final(new RingError('source_failed', `${url.toString()} has ${found} bytes now, ${range.sizeBytes} were expected: the file was replaced. Name the model again`, { url: url.toString(), found, expected: range.sizeBytes }));
    if (response.status === 416) throw total === null ? new Final(noRanges(url.toString())) : wrongSize(total);
    if (response.status !== 206) throw new Final(noRanges(url.toString()));
    if (total !== null && total !== range.sizeBytes) throw wrongSize(total);
    const start = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1];
    if (start === undefined || Number(start) !== range.start) throw new Final(noRanges(url.toString()));
  }

  private async body(url: string, { what, deadlineMs, maxBytes }: { readonly what: string; readonly deadlineMs: number; readonly maxBytes: number }, signal: AbortSignal): Promise<Uint8Array> {
    return this.attempts(url, { signal, deadlineMs }, async (attempt) => {
      const { response } = await this.open(new URL(url), {}, attempt, what);
      const parts: Uint8Array[] = [];
      let length = 0;
      if (response.body === null) throw new Again('an answer without a body');
      for await (const chunk of streamOf(response.body)) {
        length += chunk.length;
        if (length > maxBytes) throw new Final(new RingError('source_failed', `${url} answers with more than ${maxBytes} bytes`, { url }));
        parts.push(chunk);
      }
      return new Uint8Array(Buffer.concat(parts));
    });
  }

  /** Small answers: the whole attempt has one deadline. */
  private async attempts<T>(url: string, { signal, deadlineMs }: { readonly signal: AbortSignal; readonly deadlineMs: number }, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let failed = 1; ; failed++) {
      try {
        return await underEither([signal, AbortSignal.timeout(deadlineMs)], attempt);
      } catch (error) {
        if (error instanceof Final) throw error.error;
        if (signal.aborted) throw cancelled(url, error);
        if (failed >= (whyUnreachable(error)?.lasting === true ? MAX_UNREACHABLE_ATTEMPTS : MAX_FRUITLESS_ATTEMPTS)) throw gaveUp(url, error);
        await this.backOff(failed, error, signal, url);
      }
    }
  }

  /** What is not read from the socket yet holds up the server. */
  private async slowDown(bytes: number, signal: AbortSignal): Promise<void> {
    const waitMs = this.options.limit?.waitMs(bytes, performance.now()) ?? 0;
    if (waitMs > 0) await abortablePause(waitMs, signal);
    signal.throwIfAborted();
  }

  private async backOff(failed: number, error: unknown, signal: AbortSignal, url: string): Promise<void> {
    const asked = error instanceof Again ? error.waitMs : null;
    const waitMs = Math.min(asked ?? this.options.backoffMs * 2 ** (failed - 1), MAX_BACKOFF_MS);
    await abortablePause(waitMs, signal);
    if (signal.aborted) throw cancelled(url, error);
  }

  /** Follows redirects; resolves with a 2xx or a 416. */
  private async open(start: URL, headers: { readonly range?: string }, signal: AbortSignal, what: string): Promise<{ response: Response }> {
    let url = start;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const token = url.origin === new URL(this.options.endpoint).origin ? this.options.token : null;
      // Compressed answers have no byte ranges of the file.
      const sent = { 'accept-encoding': 'identity', ...headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
      const response = await (this.options.fetch ?? fetch)(url, { redirect: 'manual', headers: sent, signal });
      if (response.ok || response.status === 416) return { response };
      await response.body?.cancel();
      const location = response.headers.get('location');
      if (response.status >= 300 && response.status < 400 && location !== null) url = this.redirected(url, location);
      else throw this.refusal(response, what, url);
    }
    throw new Final(new RingError('source_failed', `${what}: more than ${MAX_REDIRECTS} redirects`));
  }

  private redirected(from: URL, location: string): URL {
    if (!URL.canParse(location, from.toString())) throw new Final(new RingError('source_failed', `${from.toString()} leads to an address that is none`));
    const to = new URL(location, from);
    if (to.protocol !== 'https:' && to.host !== from.host) {
      throw new Final(new RingError('source_refused', `${from.toString()} leads to ${to.origin}, which is not https: not followed`, { from: from.toString(), to: to.origin }));
    }
    return to;
  }

  private refusal(response: Response, what: string, url: URL): Error {
    const { status } = response;
    const facts = { url: `${url.origin}${url.pathname}`, status };
    if (status === 401 || status === 403) {
      const help = this.options.token === null
        ? 'It may be private, gated or misspelt: accept its conditions on the hub\'s page, and set HF_TOKEN or log in with "hf auth login"'
        : 'Your token (HF_TOKEN, or that of "hf auth login") does not give access: accept the model\'s conditions on the hub\'s page with the account of that token';
      return new Final(new RingError('source_refused', `${what}: ${url.origin} refuses access (${status}). ${help}`, facts));
    }
    if (status === 404 || status === 410) return new Final(new RingError('source_missing', `${what}: ${url.origin} has no such file or repository (${status}). Check the spelling`, facts));
    if (status === 429 || status >= 500 || status === 408) return new Again(status === 429 ? `${url.origin} says that there are too many requests (429)` : `${url.origin} answers ${status}`, retryAfterMs(response));
    return new Final(new RingError('source_failed', `${what}: ${url.origin} answers ${status}`, facts));
  }

  private checkedUrl(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url !== null && (url.protocol === 'https:' || url.origin === new URL(this.options.endpoint).origin)) return url;
    throw new RingError('bad_config', `${text.slice(0, 200)} is not read: only https addresses are`, { url: text.slice(0, 200) });
  }
}

/** Aborts when no byte came for a while. */
class StallTimer {
  private timer: NodeJS.Timeout;

  constructor(private readonly stallMs: number, private readonly attempt: EitherSignal) {
    this.timer = this.start();
  }

  restart(): void {
    clearTimeout(this.timer);
    this.timer = this.start();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private start(): NodeJS.Timeout {
    return setTimeout(() => this.attempt.abort(new Again(`no byte for ${this.stallMs / 1000} s`)), this.stallMs);
  }
}

/** Ends early when the signal aborts; whoever waits looks. */
async function abortablePause(waitMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, waitMs);
    signal.addEventListener('abort', done);
  });
}

async function* streamOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Whoever reads no further wants no more bytes to come.
    await reader.cancel().catch(() => undefined);
  }
}

function totalOf(response: Response): number | null {
  const total = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  return total !== undefined && Number.isSafeInteger(Number(total)) ? Number(total) : null;
}

/** Seconds, or a date. */
function retryAfterMs(response: Response): number | null {
  const text = (response.headers.get('retry-after') ?? '').trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - Date.now());
}

function noRanges(url: string): RingError {
  return new RingError('source_failed', `${url} does not give parts of the file: a server with byte ranges is needed`, { url });
}

function gaveUp(url: string, error: unknown): RingError {
  const known = whyUnreachable(error);
  if (known !== null) return new RingError('source_failed', `no way to ${new URL(url).host}: ${known.why}. ${known.advice}`, { url, unreachable: true }, { cause: error });
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new RingError('source_failed', `${url} cannot be read: ${errorMessageOf(cause)}. ${MAX_FRUITLESS_ATTEMPTS} attempts brought nothing; what came so far is kept`, { url }, { cause: error });
}

function cancelled(url: string, error: unknown): RingError {
  return new RingError('cancelled', `reading ${url} was cancelled`, { url }, { cause: error });
}

function readListing(value: unknown): HubRevision | null {
  if (typeof value !== 'object' || value === null || !('sha' in value) || !('siblings' in value)) return null;
  const { sha, siblings } = value;
  if (typeof sha !== 'string' || !/^[0-9a-zA-Z]{6,64}$/.test(sha) || !Array.isArray(siblings)) return null;
  const files: HubFile[] = [];
  for (const entry of siblings.slice(0, MAX_LISTED_FILES)) {
    const file = readFileEntry(entry);
    if (file !== null) files.push(file);
  }
  return { commit: sha, files };
}

function readFileEntry(entry: unknown): HubFile | null {
  if (typeof entry !== 'object' || entry === null || !('rfilename' in entry) || typeof entry.rfilename !== 'string') return null;
  const lfs = 'lfs' in entry && typeof entry.lfs === 'object' && entry.lfs !== null ? entry.lfs : null;
  const size = lfs !== null && 'size' in lfs ? lfs.size : 'size' in entry ? entry.size : null;
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return null;
  const sha256 = lfs !== null && 'sha256' in lfs && typeof lfs.sha256 === 'string' && /^[0-9a-f]{64}$/.test(lfs.sha256) ? lfs.sha256 : null;
  return { path: entry.rfilename, sizeBytes: size, sha256 };
}
