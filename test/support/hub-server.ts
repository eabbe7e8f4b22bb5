/**
 * A hub on this machine: the listing and the file addresses of the real one, byte ranges, a redirect to a store of its own,
 * and every way in which such a server fails. Counts each byte that it gives.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';

/** What happens to the next file requests, one each; `cut` and `stall` wait for one that is long enough. */
export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  /** The connection ends after so many bytes. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** Nothing more comes after so many bytes, the connection stays. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  | { readonly kind: 'redirect'; readonly location: string }
  /** One bit of the byte at this place of what is given is another. */
  | { readonly kind: 'flip'; readonly at: number };

export class HubServer {
  /** By `owner/repo`, then by path. */
  readonly files = new Map<string, Map<string, Uint8Array>>();
  readonly faults: Fault[] = [];
  /** Per `owner/repo/path`: how often each byte was given. */
  readonly given = new Map<string, Uint8Array>();
  readonly authorizations: (string | undefined)[] = [];
  /** Parts of files that were asked for, in order; `end` exclusive. */
  readonly asked: { readonly start: number; readonly end: number }[] = [];
  requests = 0;
  private sum = 0;
  /** Asked for by every request; null = open. */
  token: string | null = null;
  /** Told instead of the real size. */
  lyingSize: number | null = null;
  /** False: whole files only. */
  ranges = true;
  /** Bytes a file request gives before it pauses; 0 = at once. */
  chunkBytes = 0;
  chunkDelayMs = 0;
  redirects = true;

  private constructor(private readonly server: Server, readonly url: string) {}

  static async start(host = '127.0.0.1', port = 0): Promise<HubServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    return HubServer.serve(server, `http://${host}:${address.port}`);
  }

  /** On a unix socket; `url` is where others reach it. */
  static async startBehind(socketPath: string, url: string): Promise<HubServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    return HubServer.serve(server, url);
  }

  private static serve(server: Server, url: string): HubServer {
    const hub = new HubServer(server, url);
    server.on('request', (request, response) => {
      hub.answer(request, response).catch(() => response.destroy());
    });
    return hub;
  }

  add(repository: string, path: string, bytes: Uint8Array): void {
    const files = this.files.get(repository) ?? new Map<string, Uint8Array>();
    files.set(path, bytes);
    this.files.set(repository, files);
    this.given.set(`${repository}/${path}`, new Uint8Array(bytes.length));
  }

  /** The most often that any byte of the range was given. */
  mostGiven(file: string, start: number, end: number): number {
    let most = 0;
    for (const count of this.given.get(file)?.subarray(start, end) ?? []) most = Math.max(most, count);
    return most;
  }

  bytesGiven(): number {
    return this.sum;
  }

  forgetCounts(): void {
    this.asked.length = 0;
    for (const counts of this.given.values()) counts.fill(0);
    this.sum = 0;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    this.authorizations.push(request.headers.authorization);
    const url = new URL(request.url ?? '/', this.url);
    if (this.token !== null && !url.pathname.startsWith('/store/') && request.headers.authorization !== `Bearer ${this.token}`) {
      response.writeHead(401).end();
      return;
    }
    const listing = /^\/api\/models\/([^/]+\/[^/]+)\/revision\/(.+)$/.exec(url.pathname);
    if (listing !== null) {
      this.list(listing[1] ?? '', response);
      return;
    }
    const file = /^\/(?:store\/)?([^/]+\/[^/]+)\/resolve\/[^/]+\/(.+)$/.exec(url.pathname);
    const bytes = this.files.get(file?.[1] ?? '')?.get(decodeURIComponent(file?.[2] ?? ''));
    if (file === null || bytes === undefined) {
      response.writeHead(404).end();
      return;
    }
    const fault = url.pathname.startsWith('/store/') || !this.redirects ? this.nextFault(request) : undefined;
    if (fault?.kind === 'status') {
      response.writeHead(fault.status, fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter }).end();
    } else if (fault?.kind === 'redirect') {
      response.writeHead(302, { location: fault.location }).end();
    } else if (this.redirects && !url.pathname.startsWith('/store/')) {
      response.writeHead(302, { location: `/store${url.pathname}` }).end();
    } else {
      await this.give(`${file[1]}/${decodeURIComponent(file[2] ?? '')}`, bytes, request, response, fault);
    }
  }

  private nextFault(request: IncomingMessage): Fault | undefined {
    const [next] = this.faults;
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const wanted = range === null ? Infinity : Number(range[2]) + 1 - Number(range[1]);
    if (next !== undefined && 'afterBytes' in next && wanted <= next.afterBytes) return undefined;
    return this.faults.shift();
  }

  private list(repository: string, response: ServerResponse): void {
    const files = this.files.get(repository);
    if (files === undefined) {
      response.writeHead(404).end();
      return;
    }
    const siblings = [...files].map(([rfilename, bytes]) => ({
      rfilename, size: bytes.length, ...(isLarge(rfilename) ? { lfs: { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex'), pointerSize: 130 } } : {}),
    }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: repository, sha: '0123456789abcdef0123456789abcdef01234567', siblings }));
  }

  private async give(name: string, bytes: Uint8Array, request: IncomingMessage, response: ServerResponse, fault: Fault | undefined): Promise<void> {
    const range = this.ranges && isLarge(name) ? /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') : null;
    const start = Number(range?.[1] ?? 0);
    const end = Math.min(Number(range?.[2] ?? bytes.length - 1) + 1, bytes.length);
    const total = this.lyingSize ?? bytes.length;
    this.asked.push({ start, end });
    if (start >= bytes.length) {
      response.writeHead(416, { 'content-range': `bytes */${total}` }).end();
      return;
    }
    response.writeHead(range === null ? 200 : 206, {
      'content-length': end - start, ...(range === null ? {} : { 'content-range': `bytes ${start}-${end - 1}/${total}` }),
    });
    const limit = fault?.kind === 'cut' || fault?.kind === 'stall' ? Math.min(end, start + fault.afterBytes) : end;
    const step = this.chunkBytes === 0 ? limit - start : this.chunkBytes;
    for (let at = start; at < limit && !response.destroyed; at += step) {
      const part = flipped(bytes.subarray(at, Math.min(at + step, limit)), fault?.kind === 'flip' ? start + fault.at - at : -1);
      const counts = this.given.get(name);
      if (counts !== undefined) for (let index = at; index < at + part.length; index++) counts[index] = (counts[index] ?? 0) + 1;
      this.sum += part.length;
      response.write(part);
      if (this.chunkDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.chunkDelayMs));
    }
    if (fault?.kind === 'cut') setTimeout(() => response.destroy(), 20);
    else if (fault?.kind !== 'stall') response.end();
  }
}

/** What a hub keeps apart from the repository; the rest comes whole only. */
function isLarge(path: string): boolean {
  return /\.(gguf|safetensors)$/.test(path) || path.endsWith('tokenizer.json');
}

function flipped(part: Uint8Array, at: number): Uint8Array {
  if (at < 0 || at >= part.length) return part;
  const copy = Uint8Array.from(part);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
