/**
 * Agents on other machines, started through the system's ssh for as long as this one runs.
 *
 * A remote agent holds its standard input and ends with it, so that whatever happens to this process or to the
 * connection, nothing is left there. Every argument is quoted for the remote shell; whatever a login prints is skipped;
 * every message names the host. It must not know plans or the network.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { ClusterFile, ClusterFileNode } from '../core/cluster-file.js';
import { RingError } from '../core/errors.js';
import type { Log } from '../ports.js';
import { addressText } from './file-nodes.js';

/** Logging in and looking at the machine. */
const PROBE_DEADLINE_MS = 40_000;
/** From the login to the remote agent's word that it runs. */
const READY_DEADLINE_MS = 60_000;
/** A remote agent lets its answers finish; after this the connection is cut, and with it the agent. */
const END_GRACE_MS = 8_000;
/** Kept of what a host says, from its end. */
const OUTPUT_KEPT_CHARACTERS = 16_384;
/** Lines of it that a message repeats. */
const QUOTED_LINES = 6;
/** `agent start` says this when it takes part. */
const READY_LINE = /^ring-agent is running: node (\S+?),/m;
const COMMAND_NOT_FOUND = 127;

/** Never a password prompt, never a hang: a host that does not answer is an error with its name. */
const SSH_OPTIONS = ['-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10', '-o', 'ServerAliveInterval=5', '-o', 'ServerAliveCountMax=3'];

export interface RemoteStart {
  readonly file: ClusterFile;
  readonly clusterName: string;
  /** The cluster's secret as its file has it; null = an open cluster. It travels on standard input, never in arguments. */
  readonly secretText: string | null;
  /** This machine's entry in the file; the remote agents call it. */
  readonly own: ClusterFileNode | null;
  readonly mdns: boolean;
  readonly log: Log;
}

export interface RemoteAgents {
  /** Ends every remote agent and reaps every connection. Idempotent. */
  stop(): Promise<void>;
}

/** Starts one agent per node with `ssh`, all at once. Throws what went wrong on the first host that failed; then none is left. */
export async function startRemoteAgents(start: RemoteStart): Promise<RemoteAgents> {
  const running: Connection[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((connection) => connection.end()));
  };
  const launches = start.file.nodes.filter((node) => node.ssh !== null).map(async (node) => {
    const host = node.ssh ?? '';
    await probeHost(host, node.checkpointDirectory, running);
    const connection = new Connection(host, startCommand(node, start), start.log);
    running.push(connection);
    connection.say(`${start.secretText?.trim() ?? ''}\n`);
    await connection.ready();
    start.log.info('a remote agent runs', { host });
  });
  try {
    await Promise.all(launches);
  } catch (error) {
    await stop();
    await Promise.allSettled(launches);
    await stop();
    throw error;
  }
  return { stop };
}

/** The first line of `text` that begins with `{` and is JSON; null when there is none. */
export function jsonAfterBanner(text: string): unknown {
  for (const line of text.split('\n').filter((candidate) => candidate.startsWith('{'))) {
    try {
      return JSON.parse(line);
    } catch {
      // A banner in braces; the answer may come after it.
      continue;
    }
  }
  return null;
}

/** For a POSIX shell: one word, whatever is in it. */
export function shellQuote(argument: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

/** The shell command line that starts the node's agent. */
export function startCommand(node: ClusterFileNode, start: Pick<RemoteStart, 'file' | 'clusterName' | 'secretText' | 'own' | 'mdns'>): string {
  const others = start.file.nodes.filter((other) => other !== node && (other === start.own || other.ssh === null));
  const line = [
    'agent', 'start', '--exit-with-stdin', '--secret-stdin', '--cluster', start.clusterName,
    '--state-dir', `${node.checkpointDirectory}/.ring-agent`, '--ckpt-dir', node.checkpointDirectory,
    '--listen', String(node.port), '--api-port', '0', '--log-level', 'warn',
    ...(start.mdns ? [] : ['--no-mdns']),
    ...(start.file.replanDeadlineMs === null ? [] : ['--replan-deadline', String(start.file.replanDeadlineMs / 1000)]),
    ...others.flatMap((other) => ['--peer', addressText(other)]),
  ];
  // In the login shell's place: one process less there, and its exit is the agent's own.
  return `exec ${line.map(shellQuote).join(' ')}`;
}

/** What the machine has, before anything is started there. */
async function probeHost(host: string, directory: string, running: Connection[]): Promise<void> {
  const connection = new Connection(host, ['exec', 'agent', 'probe', '--json', '--dir', directory].map(shellQuote).join(' '), null);
  running.push(connection);
  connection.closeInput();
  const exit = await connection.exitWithin(PROBE_DEADLINE_MS);
  running.splice(running.indexOf(connection), 1);
  if (exit === null) {
    await connection.end();
    throw new RingError('timeout', `${host}: no answer over ssh within ${PROBE_DEADLINE_MS / 1000} s${connection.quote()}`, { host });
  }
  if (exit === COMMAND_NOT_FOUND) {
    throw new RingError('peer_unreachable', `${host}: "agent" is not found there: install ring-agent, and see that a login without a terminal has it in its PATH${connection.quote()}`, { host });
  }
  if (exit !== 0) throw new RingError('peer_unreachable', `${host}: ssh or the agent there failed (exit ${exit})${connection.quote()}`, { host });
  const found = jsonAfterBanner(connection.stdout);
  if (typeof found !== 'object' || found === null || !('cores' in found)) {
    throw new RingError('peer_unreachable', `${host}: "agent probe" gave no answer that can be read${connection.quote()}`, { host });
  }
}

/** One ssh process. */
class Connection {
  stdout = '';
  private stderr = '';
  private unfinishedLine = '';
  private readonly child: ChildProcess;
  private exit: number | null = null;
  private ending = false;
  private readonly closed: Promise<number>;
  private readonly watchers = new Set<() => void>();

  /** `log` null = nothing that it says is shown. Throws `bad_config` for a host that ssh would read as an option. */
  constructor(private readonly host: string, command: string, private readonly log: Log | null) {
    if (host.startsWith('-')) throw new RingError('bad_config', `"${host}" is no ssh host: it begins with "-"`, { host });
    // A group of its own: Ctrl-C is for this agent, which then lets the others finish.
    this.child = spawn('ssh', [...SSH_OPTIONS, '--', host, command], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout = (this.stdout + text).slice(-OUTPUT_KEPT_CHARACTERS);
      this.wake();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-OUTPUT_KEPT_CHARACTERS);
      const lines = (this.unfinishedLine + text).split('\n');
      // A line may come in pieces; an endless one is cut.
      this.unfinishedLine = (lines.pop() ?? '').slice(-OUTPUT_KEPT_CHARACTERS);
      for (const line of lines) if (line.trim() !== '') this.log?.warn(`${host}: ${line.trimEnd()}`);
    });
    // The exit says why.
    this.child.stdin?.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.child.once('error', (error) => {
        this.stderr += `ssh cannot be started: ${error.message}\n`;
        this.onExit(COMMAND_NOT_FOUND);
        resolve(COMMAND_NOT_FOUND);
      });
      this.child.once('close', (code) => {
        this.onExit(code ?? 255);
        resolve(code ?? 255);
      });
    });
  }

  say(text: string): void {
    this.child.stdin?.write(text);
  }

  closeInput(): void {
    this.child.stdin?.end();
  }

  /** The agent takes part. Throws with what it said when it ends first. */
  async ready(): Promise<void> {
    const deadline = setTimeout(() => this.wake(), READY_DEADLINE_MS);
    const startedAt = performance.now();
    try {
      while (!READY_LINE.test(this.stdout)) {
        if (this.exit !== null) throw new RingError('peer_lost', `${this.host}: the agent ended before it was ready (exit ${this.exit})${this.quote()}`, { host: this.host });
        if (performance.now() - startedAt >= READY_DEADLINE_MS) {
          throw new RingError('timeout', `${this.host}: the agent was not ready within ${READY_DEADLINE_MS / 1000} s${this.quote()}`, { host: this.host });
        }
        await new Promise<void>((resolve) => this.watchers.add(resolve));
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  async exitWithin(deadlineMs: number): Promise<number | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), deadlineMs);
    });
    try {
      return await Promise.race([this.closed, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the agent's standard input, then the connection. Resolves when ssh is reaped. */
  async end(): Promise<void> {
    this.ending = true;
    this.closeInput();
    if (await this.exitWithin(END_GRACE_MS) !== null) return;
    this.child.kill('SIGKILL');
    await this.closed;
  }

  /** The last that the host said, for messages. */
  quote(): string {
    const lines = `${this.stderr}\n${this.stdout}`.split('\n').map((line) => line.trim()).filter((line) => line !== '').slice(-QUOTED_LINES);
    return lines.length === 0 ? '' : `: ${lines.join(' | ')}`;
  }

  private onExit(code: number): void {
    if (this.exit !== null) return;
    this.exit = code;
    this.wake();
    if (!this.ending && READY_LINE.test(this.stdout)) this.log?.error(`${this.host}: the remote agent ended (exit ${code})${this.quote()}`);
  }

  private wake(): void {
    for (const watcher of this.watchers) watcher();
    this.watchers.clear();
  }
}
