/**
 * Keeps this machine awake while it serves, by the system's own means: a child process whose life is the wish.
 *
 * Linux: `systemd-inhibit` around a `cat` that ends when our end of its pipe does. macOS: `caffeinate`, which also watches
 * our process. Either ends with a killed agent. Where there is neither, or the system refuses, the machine may sleep, and
 * that is said once. The screen may go dark, and a lid that is closed is a person's wish. It must not know stages.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Log, SleepGuard } from '../ports.js';

/** After the pipe was closed. */
const KILL_GRACE_MS = 2_000;
/** A guard that ended by itself is not tried again sooner. */
const RETRY_MS = 60_000;
/** Of what it says when it is refused. */
const MAX_WORDS = 300;

interface GuardCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** What keeps this platform awake; null = nothing that we know. */
export function guardCommand(platform: NodeJS.Platform, pid: number): GuardCommand | null {
  switch (platform) {
    case 'linux':
      return { command: 'systemd-inhibit', args: ['--what=idle:sleep', '--who=ring-agent', '--why=layers of a model are served here', '--mode=block', 'cat'] };
    case 'darwin':
      return { command: 'caffeinate', args: ['-i', '-w', String(pid)] };
    default:
      return null;
  }
}

export class ProcessSleepGuard implements SleepGuard {
  private child: ChildProcess | null = null;
  private wanted = false;
  private said = false;
  private notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly log: Log, private readonly chosen: GuardCommand | null = guardCommand(process.platform, process.pid)) {}

  hold(): void {
    this.wanted = true;
    if (this.child !== null || this.chosen === null || performance.now() < this.notBeforeMs) return;
    const child = spawn(this.chosen.command, [...this.chosen.args], { stdio: ['pipe', 'ignore', 'pipe'] });
    this.child = child;
    let words = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-MAX_WORDS);
    });
    // A broken pipe is reported by the exit.
    child.stdin.on('error', (error) => this.log.debug('the pipe to the sleep guard broke', { error: error.message }));
    child.once('error', (error) => this.ended(child, error.message));
    child.once('close', () => this.ended(child, words.trim()));
  }

  async release(): Promise<void> {
    this.wanted = false;
    const { child } = this;
    if (child === null) return;
    this.child = null;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    child.stdin?.end();
    // macOS's takes no notice of its input.
    if (process.platform !== 'linux') child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), KILL_GRACE_MS);
    await closed;
    clearTimeout(timer);
  }

  private ended(child: ChildProcess, why: string): void {
    if (this.child !== child) return;
    this.child = null;
    this.notBeforeMs = performance.now() + RETRY_MS;
    if (!this.wanted || this.said) return;
    this.said = true;
    this.log.info('this machine cannot be kept awake: it may go to sleep while it serves', { command: this.chosen?.command ?? '', reason: why });
  }
}
