/**
 * A small HTTP client for tests: one request, the answer as a stream, through a TCP port of this host or a unix socket
 * that leads into another network namespace. The Host header always names the server's own loopback address.
 *
 * It must not know which routes exist or what they answer.
 */
import { request as sendRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';

/** Where a server listens: a loopback port, reached directly or through `socketPath`. */
export interface HttpTarget {
  readonly port: number;
  /** Absent = this host's own loopback. */
  readonly socketPath?: string;
}

export interface HttpCall {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly signal?: AbortSignal;
  /** Until the answer's head; default 30 s. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_BODY_CHARACTERS = 64 * 1024 * 1024;

export class HttpAnswer {
  constructor(private readonly message: IncomingMessage) {
    message.setEncoding('utf8');
  }

  get status(): number {
    return this.message.statusCode ?? 0;
  }

  header(name: string): string | null {
    const value = this.message.headers[name.toLowerCase()];
    return value === undefined ? null : String(value);
  }

  async text(): Promise<string> {
    let text = '';
    for await (const chunk of this.chunks()) {
      text += chunk;
      if (text.length > MAX_BODY_CHARACTERS) throw new Error('the answer is longer than a test may hold');
    }
    return text;
  }

  async json(): Promise<unknown> {
    const text = await this.text();
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`status ${this.status}, not JSON: ${text.slice(0, 500)}`, { cause: error });
    }
  }

  /** The `data:` of each server-sent event, in order; comments are left out. */
  async *events(): AsyncGenerator<string> {
    let rest = '';
    for await (const chunk of this.chunks()) {
      rest += chunk;
      const events = rest.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = event.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart());
        if (data.length > 0) yield data.join('\n');
      }
    }
  }

  /** Hangs up. */
  destroy(): void {
    this.message.destroy();
  }

  private async *chunks(): AsyncGenerator<string> {
    for await (const chunk of this.message) yield String(chunk);
  }
}

export function callHttp(target: HttpTarget, call: HttpCall): Promise<HttpAnswer> {
  const timeoutMs = call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const body = call.json === undefined ? null : JSON.stringify(call.json);
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest({
      ...(target.socketPath === undefined ? { host: '127.0.0.1', port: target.port } : { socketPath: target.socketPath }),
      method: call.method ?? (body === null ? 'GET' : 'POST'),
      path: call.path,
      agent: false,
      headers: {
        host: `127.0.0.1:${target.port}`,
        ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
        ...call.headers,
      },
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer to ${call.path} within ${timeoutMs} ms`)), timeoutMs);
    outgoing.once('response', (message) => {
      clearTimeout(timer);
      resolve(new HttpAnswer(message));
    });
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.end(body ?? undefined);
  });
}
