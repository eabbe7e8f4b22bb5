/**
 * Agents of one bench ring: processes started through the command line on this machine, joined by address, asked through
 * the HTTP API as any client would, and ended with their runners. It must not know what is measured.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ClusterStatus } from '../../src/agent/service.js';
import { freePort } from '../../test/support/free-port.js';

const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 30_000;
const CALL_DEADLINE_MS = 20 * 60_000;
const POLL_MS = 100;
const OUTPUT_KEPT_CHARACTERS = 16_384;
const DATA = 'data: ';

export interface AgentSettings {
  readonly packageDirectory: string;
  readonly stateDir: string;
  /** Ports of every agent of the ring; `index` is this one's. */
  readonly peerPorts: readonly number[];
  readonly index: number;
  /** Where this agent meets the others; absent = at their own ports. */
  readonly meetingPorts?: readonly number[];
  readonly cluster: string;
  readonly threads: number;
  readonly contextTokens: number;
  /** Null = the planner's choice. */
  readonly kvType: string | null;
  /** Null = this agent has no model file. */
  readonly modelFile: string | null;
  readonly slots: number;
  /** The agent and its runners stay on this core (`taskset`); null = wherever the system puts them. */
  readonly core: number | null;
}

const living = new Set<Agent>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}
process.once('exit', () => {
  for (const agent of living) agent.kill();
});

export class Agent {
  private output = '';

  private constructor(private readonly child: ChildProcess, private readonly apiPort: number) {
    living.add(this);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-OUTPUT_KEPT_CHARACTERS);
      });
    }
  }

  static async start(settings: AgentSettings): Promise<Agent> {
    const apiPort = await freePort();
    const ownPort = settings.peerPorts[settings.index];
    const others = (settings.meetingPorts ?? settings.peerPorts.filter((_, index) => index !== settings.index)).map((port) => `127.0.0.1:${port}`);
    const child = spawn(settings.core === null ? process.execPath : 'taskset', [
      ...(settings.core === null ? [] : ['-c', String(settings.core), process.execPath]),
      join(settings.packageDirectory, 'dist', 'program', 'src', 'cli', 'main.js'), 'start',
      '--state-dir', settings.stateDir, '--cluster', settings.cluster, '--no-mdns', '--log-level', 'warn',
      '--listen', `127.0.0.1:${ownPort}`, '--api-port', String(apiPort),
      '--threads', String(settings.threads), '--ctx', String(settings.contextTokens), '--slots', String(settings.slots),
      ...(settings.kvType === null ? [] : ['--kv-type', settings.kvType]),
      ...others.flatMap((address) => ['--peer', address]),
      // An agent would load a model that it is given by name, as it thinks best; here the number of stages is the question.
      ...(settings.modelFile === null ? [] : ['--ckpt-dir', dirname(settings.modelFile)]),
    ], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    return new Agent(child, apiPort);
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('an agent could not be started');
    return this.child.pid;
  }

  async status(): Promise<ClusterStatus> {
    // The agent's own answer, of this same version.
    return await (await this.call('GET', '/v1/cluster')).json() as ClusterStatus;
  }

  async statusWhen(what: string, takes: (status: ClusterStatus) => boolean): Promise<ClusterStatus> {
    const deadline = performance.now() + START_DEADLINE_MS;
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(`an agent ended before ${what}:\n${this.output}`);
      const status = await this.status().catch(() => null);
      if (status !== null && takes(status)) return status;
      if (performance.now() > deadline) throw new Error(`not within ${START_DEADLINE_MS} ms: ${what}\n${JSON.stringify(status, null, 1)}\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Throws on any status but 2xx, with the agent's own message. */
  async call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Response> {
    const response = await fetch(`http://127.0.0.1:${this.apiPort}${path}`, {
      method,
      signal: AbortSignal.timeout(CALL_DEADLINE_MS),
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}\n${this.output}`);
    return response;
  }

  /**
   * Data of each server-sent event of an answer, until `[DONE]`. A bare socket of Node.js: what reads the answer takes time
   * of the cores that are measured.
   */
  async *stream(path: string, body: unknown): AsyncGenerator<unknown> {
    const response = await this.post(path, JSON.stringify(body));
    let rest = '';
    for await (const piece of response) {
      rest += String(piece);
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const event = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (!event.startsWith(DATA)) continue;
        const data = event.slice(DATA.length);
        if (data === '[DONE]') return;
        yield JSON.parse(data);
      }
    }
    throw new Error(`the answer of ${path} was cut off\n${this.output}`);
  }

  private async post(path: string, body: string): Promise<IncomingMessage> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.apiPort, path, method: 'POST', agent: false, signal: AbortSignal.timeout(CALL_DEADLINE_MS), headers: { 'content-type': 'application/json' } };
      request(options, resolve).on('error', reject).end(body);
    });
    response.setEncoding('utf8');
    if (response.statusCode === 200) return response;
    throw new Error(`${path} answered ${String(response.statusCode)}: ${await text(response)}\n${this.output}`);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.kill('SIGTERM');
      const timer = setTimeout(() => this.kill(), STOP_DEADLINE_MS);
      await exited;
      clearTimeout(timer);
    }
    this.kill();
  }

  /** The whole group: the agent's runners are in it. */
  kill(): void {
    living.delete(this);
    if (this.child.pid === undefined) return;
    try {
      process.kill(-this.child.pid, 'SIGKILL');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

/** The token ids that a chunk of our API carries (api/openai-responses.ts). */
export function tokensOf(chunk: unknown): readonly number[] {
  if (typeof chunk !== 'object' || chunk === null || !('choices' in chunk) || !Array.isArray(chunk.choices)) return [];
  const choice: unknown = chunk.choices[0];
  return typeof choice === 'object' && choice !== null && 'tokens' in choice && Array.isArray(choice.tokens) ? choice.tokens.filter((token) => typeof token === 'number') : [];
}
