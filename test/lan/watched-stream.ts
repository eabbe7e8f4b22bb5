/**
 * A streamed completion as a patient client sees it: every token id with the moment of its arrival, and how it ended.
 * For tests that break something while it runs. It must not know what is broken.
 */
import type { AgentProcess } from '../support/agent-process.js';
import { field } from '../support/json.js';

export interface StreamRequest {
  readonly model: string;
  readonly prompt: readonly number[];
  readonly count: number;
  readonly temperature: number;
  readonly seed: number;
}

/** Until the answer's head; loading a model may be in it. */
const HEAD_TIMEOUT_MS = 60_000;
const POLL_MS = 2;

export class WatchedStream {
  readonly tokens: number[] = [];
  /** Arrival of each token, on the test's clock. */
  readonly arrivals: number[] = [];
  readonly ended: Promise<void>;
  /** What came instead of an end, for people. */
  failure = '';
  done = false;

  constructor(agent: AgentProcess, readonly request: StreamRequest) {
    this.ended = this.read(agent)
      .catch((error: unknown) => {
        this.failure = `the stream broke: ${String(error)}`;
      })
      .finally(() => {
        this.done = true;
      });
  }

  /** Resolves when so many tokens are there, or the answer has ended. */
  async reaches(count: number): Promise<void> {
    while (this.tokens.length < count && !this.done) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }

  /** Arrival of the first token after `momentMs`; null when none came. */
  firstAfter(momentMs: number): number | null {
    return this.arrivals.find((arrival) => arrival > momentMs) ?? null;
  }

  /** Longest time between two tokens. */
  longestPauseMs(): number {
    return Math.max(0, ...this.arrivals.slice(1).map((arrival, index) => arrival - (this.arrivals[index] ?? arrival)));
  }

  private async read(agent: AgentProcess): Promise<void> {
    const { model, prompt, count, temperature, seed } = this.request;
    const answer = await agent.call({
      path: '/v1/completions',
      timeoutMs: HEAD_TIMEOUT_MS,
      json: { model, prompt, max_tokens: count, ignore_eos: true, return_tokens: true, temperature, seed, stream: true },
    });
    if (answer.status !== 200) {
      this.failure = `${answer.status}: ${await answer.text()}`;
      return;
    }
    let last = '';
    for await (const data of answer.events()) {
      last = data;
      if (data === '[DONE]') continue;
      const now = performance.now();
      for (const token of tokensOf(JSON.parse(data))) {
        this.tokens.push(token);
        this.arrivals.push(now);
      }
    }
    if (last !== '[DONE]') this.failure = `the stream ended with: ${last}`;
  }
}

function tokensOf(chunk: unknown): readonly number[] {
  const choices = field(chunk, 'choices');
  const tokens = field(Array.isArray(choices) ? choices[0] : null, 'tokens');
  return Array.isArray(tokens) ? tokens.map(Number) : [];
}
