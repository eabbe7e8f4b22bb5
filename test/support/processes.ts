/**
 * Child processes of tests: started in a group of their own, their output kept within a bound, reaped whatever happens.
 *
 * Every process carries `RING_AGENT_TEST=<name>` in its environment, and so does everything it starts: that is how a
 * test sees what a stopped agent left behind, and how a run clears away what a crashed one left. It must not know agents.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isGone, OWNER_TAG, ownerLives, uniqueName } from './owner.js';

const MARKER = 'RING_AGENT_TEST';
/** Kept of each of stdout and stderr, from its end. */
const OUTPUT_KEPT_CHARACTERS = 256 * 1024;
/** How long output may still arrive after the exit. */
const OUTPUT_GRACE_MS = 500;
const KILL_DEADLINE_MS = 5_000;
const POLL_MS = 20;

export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** Given at once to standard input, which is then closed. Absent = standard input is empty. */
  readonly input?: string;
  /** Standard input stays open for `type`. Absent = false. */
  readonly typing?: boolean;
}

export interface Finished extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Started and not reaped: their descendants may outlive them. */
const living = new Set<TestChild>();
process.once('exit', () => {
  for (const child of living) child.signal('SIGKILL');
  if (living.size > 0) for (const pid of processesWithMarker((name) => name.startsWith(`${OWNER_TAG}-`))) killQuietly(pid);
});

/** A started process and its group. */
export class TestChild {
  /** The value of the marker that this process and its descendants carry. */
  readonly marker = uniqueName();
  readonly exited: Promise<Exit>;
  private readonly child: ChildProcess;
  private readonly kept = { stdout: '', stderr: '' };
  private exit: Exit | null = null;

  constructor(readonly command: string, readonly args: readonly string[], options: ChildOptions = {}) {
    const stdio: StdioOptions = [options.input === undefined && options.typing !== true ? 'ignore' : 'pipe', 'pipe', 'pipe'];
    this.child = spawn(command, [...args], {
      detached: true,
      stdio,
      ...(options.workingDirectory === undefined ? {} : { cwd: options.workingDirectory }),
      env: { ...process.env, ...options.env, [MARKER]: this.marker },
    });
    living.add(this);
    for (const stream of ['stdout', 'stderr'] as const) {
      this.child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        this.kept[stream] = (this.kept[stream] + text).slice(-OUTPUT_KEPT_CHARACTERS);
      });
    }
    // The process may end without reading; its exit says what happened.
    this.child.stdin?.on('error', () => undefined);
    if (options.input !== undefined) this.child.stdin?.end(options.input);
    this.exited = new Promise((resolve) => {
      const end = (exit: Exit): void => {
        this.exit ??= exit;
        resolve(this.exit);
      };
      this.child.once('error', (error) => {
        this.kept.stderr += `could not start ${command}: ${error.message}\n`;
        end({ code: 127, signal: null });
      });
      this.child.once('exit', (code, signal) => {
        this.exit = { code, signal };
        // The output usually ends right after; a descendant that holds the pipe must not hold the test.
        setTimeout(() => end({ code, signal }), OUTPUT_GRACE_MS).unref();
      });
      this.child.once('close', (code, signal) => end({ code, signal }));
    });
  }

  get pid(): number | null {
    return this.child.pid ?? null;
  }

  get running(): boolean {
    return this.exit === null;
  }

  get stdout(): string {
    return this.kept.stdout;
  }

  get stderr(): string {
    return this.kept.stderr;
  }

  type(text: string): void {
    this.child.stdin?.write(text);
  }

  /** Signals the whole group; nothing happens when it has ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.child.pid === undefined) return;
    try {
      process.kill(-this.child.pid, signal);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /** Signals only the process itself. */
  signalAlone(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** The exit, or null after `timeoutMs`. */
  async exitWithin(timeoutMs: number): Promise<Exit | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), timeoutMs);
    });
    try {
      return await Promise.race([this.exited, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Process ids that carry this child's marker, itself included while it runs. */
  family(): readonly number[] {
    return processesWithMarker((name) => name === this.marker);
  }

  /** Ends the group and everything that carries the marker, by force. */
  async reap(): Promise<void> {
    this.signal('SIGKILL');
    for (const pid of this.family()) killQuietly(pid);
    living.delete(this);
    await this.exitWithin(KILL_DEADLINE_MS);
    await waitUntil(() => this.family().length === 0, { timeoutMs: KILL_DEADLINE_MS, what: `the end of ${this.command}` });
  }

  /** What to print when a test fails. */
  describe(): string {
    const state = this.exit === null ? `running as ${this.pid ?? '?'}` : `ended with ${this.exit.code ?? this.exit.signal ?? '?'}`;
    return `$ ${this.command} ${this.args.join(' ')}\n(${state})\n--- stdout\n${this.stdout}\n--- stderr\n${this.stderr}`;
  }
}

/** Runs a command to its end; kills it and throws when that takes longer than `timeoutMs`. */
export async function runToEnd(command: string, args: readonly string[], options: ChildOptions & { readonly timeoutMs: number }): Promise<Finished> {
  const child = new TestChild(command, args, options);
  const exit = await child.exitWithin(options.timeoutMs);
  if (exit === null) {
    await child.reap();
    throw new Error(`did not end within ${options.timeoutMs} ms:\n${child.describe()}`);
  }
  return { ...exit, stdout: child.stdout, stderr: child.stderr };
}

export function killQuietly(pid: number): void {
  signalQuietly(pid, 'SIGKILL');
}

/** Nothing happens when the process has ended. */
export function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Ids of living processes whose marker the predicate takes. */
export function processesWithMarker(takes: (name: string) => boolean): readonly number[] {
  const found: number[] = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const name = markerOf(entry);
    if (name !== null && takes(name)) found.push(Number(entry));
  }
  return found;
}

function markerOf(pid: string): string | null {
  let environment: string;
  try {
    environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch (error) {
    // A process that ended, or another user's.
    if (isGone(error) || (error instanceof Error && 'code' in error && error.code === 'EACCES')) return null;
    throw error;
  }
  const prefix = `${MARKER}=`;
  return environment.split('\0').find((line) => line.startsWith(prefix))?.slice(prefix.length) ?? null;
}

/** Ends what test processes that no longer live have left running. */
export function clearStaleProcesses(): void {
  for (const pid of processesWithMarker((name) => !ownerLives(name))) killQuietly(pid);
}

/** Polls a condition; throws with `what` when it does not hold within `timeoutMs`. */
export async function waitUntil(
  holds: () => boolean | Promise<boolean>,
  options: { readonly timeoutMs: number; readonly what: string; readonly pollMs?: number; readonly detail?: () => string },
): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    if (await holds()) return;
    if (performance.now() > deadline) {
      throw new Error(`not within ${options.timeoutMs} ms: ${options.what}${options.detail === undefined ? '' : `\n${options.detail()}`}`);
    }
    await new Promise((resolve) => setTimeout(resolve, options.pollMs ?? POLL_MS));
  }
}
