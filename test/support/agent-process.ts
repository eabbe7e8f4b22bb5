/**
 * An agent as a real process, on this host or on a host of a test LAN: started through the command line, watched through
 * its HTTP API, ended politely or by force, with its output kept for failure messages.
 *
 * It must not know libp2p, plans or engines: only the command line and the API that people use.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterStatus } from '../../src/agent/service.js';
import type { LanHost } from '../lan/harness.js';
import { freePort } from './free-port.js';
import { callHttp } from './http.js';
import type { HttpAnswer, HttpCall, HttpTarget } from './http.js';
import { PACKAGE_ROOT } from './package-root.js';
import { clearStaleProcesses, runToEnd, signalQuietly, TestChild, waitUntil } from './processes.js';
import type { Exit, Finished } from './processes.js';

const MAIN = join(PACKAGE_ROOT, 'dist', 'program', 'src', 'cli', 'main.js');
/** Where the API listens when nobody says otherwise. */
const DEFAULT_API_PORT = 11500;
const START_DEADLINE_MS = 30_000;
/** Longer than an agent lets its answers finish. */
const STOP_DEADLINE_MS = 40_000;
const COMMAND_DEADLINE_MS = 60_000;
const POLL_MS = 50;

export interface AgentOptions {
  /** Kept over restarts; `temporaryDirectory` makes one. */
  readonly stateDir: string;
  /** Further arguments of `agent start`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Absent = this host: then the API gets a free port; on a LAN's host it has its default one. */
  readonly host?: LanHost;
}

/** Runs one command of the agent's command line to its end. */
export function runAgentCommand(args: readonly string[], options: Pick<AgentOptions, 'env' | 'host'> & { readonly timeoutMs?: number } = {}): Promise<Finished> {
  const child = { env: options.env ?? {}, timeoutMs: options.timeoutMs ?? COMMAND_DEADLINE_MS };
  const line = [mainProgram(), ...args];
  return options.host === undefined ? runToEnd(process.execPath, line, child) : options.host.run(process.execPath, line, child);
}

export class AgentProcess {
  private constructor(private readonly child: TestChild, readonly http: HttpTarget, readonly stateDir: string) {}

  /** Resolves when the API answers. */
  static async start(options: AgentOptions): Promise<AgentProcess> {
    const agent = await AgentProcess.launch(options);
    try {
      await agent.waitForApi();
    } catch (error) {
      await agent.kill9();
      throw error;
    }
    return agent;
  }

  /** Resolves when the process is started; it may still fail. */
  static async launch(options: AgentOptions): Promise<AgentProcess> {
    clearStaleProcesses();
    const { host } = options;
    const port = host === undefined ? await freePort() : DEFAULT_API_PORT;
    const line = [
      mainProgram(), 'start', '--state-dir', options.stateDir,
      ...(host === undefined ? ['--api-port', String(port)] : []),
      ...options.args ?? [],
    ];
    const childOptions = { env: options.env ?? {} };
    const child = host === undefined ? new TestChild(process.execPath, line, childOptions) : host.spawn(process.execPath, line, childOptions);
    return new AgentProcess(child, host === undefined ? { port } : await host.http(port), options.stateDir);
  }

  get pid(): number | null {
    return this.child.pid;
  }

  get exited(): Promise<Exit> {
    return this.child.exited;
  }

  /** Everything that it said, for failure messages. */
  output(): string {
    return this.child.describe();
  }

  /** Process ids of the agent and everything it started. */
  family(): readonly number[] {
    return this.child.family();
  }

  call(call: HttpCall): Promise<HttpAnswer> {
    return callHttp(this.http, call);
  }

  async status(): Promise<ClusterStatus> {
    const answer = await this.call({ path: '/v1/cluster' });
    const value = await answer.json();
    if (answer.status !== 200 || !isClusterStatus(value)) {
      throw new Error(`/v1/cluster answered ${answer.status}: ${JSON.stringify(value).slice(0, 500)}\n${this.output()}`);
    }
    return value;
  }

  /** The first status that the predicate takes. */
  async statusWhen(takes: (status: ClusterStatus) => boolean, options: { readonly timeoutMs: number; readonly what: string }): Promise<ClusterStatus> {
    let last: ClusterStatus | null = null;
    await waitUntil(async () => {
      last = await this.status();
      return takes(last);
    }, { ...options, pollMs: POLL_MS, detail: () => `last status: ${JSON.stringify(last, null, 1)}\n${this.output()}` });
    return last ?? this.status();
  }

  /** SIGTERM, as `agent stop` sends it; throws when processes are left. */
  async stop(): Promise<Exit> {
    this.child.signalAlone('SIGTERM');
    const exit = await this.child.exitWithin(STOP_DEADLINE_MS);
    if (exit === null) {
      const output = this.output();
      await this.child.reap();
      throw new Error(`the agent did not stop within ${STOP_DEADLINE_MS} ms:\n${output}`);
    }
    await this.expectNoneLeft();
    await this.child.reap();
    return exit;
  }

  /** As a power cut: the agent and its runners end at once. */
  async kill9(): Promise<void> {
    await this.child.reap();
  }

  /** Stops the agent's process where it is, as a debugger does; its connections stay open, what it started goes on. */
  freeze(): void {
    this.child.signalAlone('SIGSTOP');
  }

  /** Lets a frozen agent go on. */
  thaw(): void {
    this.child.signalAlone('SIGCONT');
  }

  /** Signals what the agent started (its runners) and not the agent. */
  signalRunners(signal: NodeJS.Signals): void {
    for (const pid of this.family()) if (pid !== this.pid) signalQuietly(pid, signal);
  }

  /** The agent alone is killed; what it started must notice by itself. */
  async killAgentAlone(): Promise<void> {
    this.child.signalAlone('SIGKILL');
    await this.child.exited;
    await this.expectNoneLeft();
  }

  private async expectNoneLeft(): Promise<void> {
    try {
      await waitUntil(() => this.family().length === 0, { timeoutMs: STOP_DEADLINE_MS, what: 'the end of every process that the agent started' });
    } catch (error) {
      const left = this.family().join(', ');
      await this.child.reap();
      throw new Error(`processes left by the agent: ${left}\n${this.output()}`, { cause: error });
    }
  }

  private async waitForApi(): Promise<void> {
    await waitUntil(async () => {
      if (!this.child.running) throw new Error(`the agent ended at its start:\n${this.output()}`);
      try {
        return (await (await this.call({ path: '/v1/cluster' })).json()) !== null;
      } catch (error) {
        // Nothing listens yet; the deadline says when that is too long.
        if (isConnectionError(error)) return false;
        throw error;
      }
    }, { timeoutMs: START_DEADLINE_MS, what: 'an answer of the agent\'s API', pollMs: POLL_MS, detail: () => this.output() });
  }
}

export function mainProgram(): string {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run "npm run build" before the tests that start agents`);
  return MAIN;
}

function isConnectionError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(String(error.code));
}

function isClusterStatus(value: unknown): value is ClusterStatus {
  return typeof value === 'object' && value !== null && 'nodes' in value && Array.isArray(value.nodes) && 'instances' in value && Array.isArray(value.instances);
}
