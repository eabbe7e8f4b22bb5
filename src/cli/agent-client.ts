/**
 * The commands' side of the agent's HTTP API: finds the agent of a state directory and speaks to it on loopback.
 */
import { readApiKeys } from '../api/api-keys.js';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';
import { patientFetch } from './patient-fetch.js';
import type { RunningAgent } from './state-directory.js';

const CALL_DEADLINE_MS = 30_000;

export class AgentClient {
  private constructor(private readonly running: RunningAgent, private readonly apiKey: string | null) {}

  /** Reads the API key from the agent's own key file, if it has one. */
  static async open(running: RunningAgent): Promise<AgentClient> {
    const keys = running.apiKeyFile === null ? [] : await readApiKeys(running.apiKeyFile);
    return new AgentClient(running, keys[0] ?? null);
  }

  async get(path: string): Promise<unknown> {
    return this.json(await this.call('GET', path, undefined, AbortSignal.timeout(CALL_DEADLINE_MS)));
  }

  /** Without a signal the usual deadline counts; with one, nothing but it. */
  async post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.json(await this.call('POST', path, body, signal ?? AbortSignal.timeout(CALL_DEADLINE_MS), signal !== undefined));
  }

  async delete(path: string): Promise<unknown> {
    return this.json(await this.call('DELETE', path, undefined, AbortSignal.timeout(CALL_DEADLINE_MS)));
  }

  /** Data of the server-sent events of a POST, one JSON value each, until `[DONE]`. */
  async *stream(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<unknown> {
    const response = await this.call('POST', path, body, signal);
    if (response.body === null) throw new RingError('io_failed', 'the agent answered without a body');
    let rest = '';
    for await (const chunk of this.chunks(response.body, signal)) {
      rest += chunk;
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
        const line = rest.slice(0, end).trim();
        rest = rest.slice(end + 1);
        if (!line.startsWith('data:')) continue;
        const data = line.slice('data:'.length).trim();
        if (data === '[DONE]') return;
        const value: unknown = JSON.parse(data);
        const error = errorOf(value);
        if (error !== null) throw error;
        yield value;
      }
    }
    throw new RingError('peer_lost', `the agent (pid ${this.running.pid}) ended the answer before it was complete`);
  }

  private async *chunks(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
    try {
      yield* body.pipeThrough(new TextDecoderStream());
    } catch (error) {
      throw this.failure(error, signal);
    }
  }

  private async call(method: string, path: string, body: unknown, signal: AbortSignal, mayTakeLong = false): Promise<Response> {
    let response: Response;
    try {
      response = await (mayTakeLong ? patientFetch : fetch)(new URL(path, this.running.apiUrl), {
        method,
        signal,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(this.apiKey === null ? {} : { authorization: `Bearer ${this.apiKey}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw this.failure(error, signal);
    }
    if (response.ok) return response;
    const value: unknown = await response.json().catch(() => null);
    throw errorOf(value) ?? new RingError('internal', `the agent answered ${response.status} to ${method} ${path}: are agent and command of the same version?`);
  }

  private async json(response: Response): Promise<unknown> {
    try {
      return await response.json();
    } catch (error) {
      throw new RingError('peer_lost', `the answer of the agent (pid ${this.running.pid}) broke off: ${errorMessageOf(error)}`, {}, { cause: error });
    }
  }

  /** Why a call did not come to its end. */
  private failure(error: unknown, signal: AbortSignal): unknown {
    const { pid, apiUrl } = this.running;
    const reason: unknown = signal.aborted ? signal.reason : null;
    if (reason instanceof Error && reason.name === 'TimeoutError') {
      return new RingError('timeout', `the agent (pid ${pid}) did not answer in time at ${apiUrl}: it may be overloaded or suspended. Look at its log, or end it with "agent stop"`, {}, { cause: error });
    }
    if (reason !== null) return reason;
    // fetch says "fetch failed" and keeps what happened in the cause.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return new RingError('peer_unreachable', `the agent (pid ${pid}) does not answer at ${apiUrl} (${errorMessageOf(cause)}): it may just have ended. Look with "agent status"`, {}, { cause: error });
  }
}

function errorOf(value: unknown): RingError | null {
  if (typeof value !== 'object' || value === null || !('error' in value)) return null;
  const { error } = value;
  if (typeof error !== 'object' || error === null || !('message' in error) || typeof error.message !== 'string') return null;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'internal';
  // Codes come from our own agent; an unknown one (another version's) is only shown.
  return new RingError(code as ErrorCode, error.message);
}
