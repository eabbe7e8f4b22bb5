/**
 * A runner as the agent holds it: the child process, the pipe to it, deadlines on everything it is asked, and its end.
 *
 * The agent never blocks on the engine and never shares its fate: whatever the engine does, this file answers with a
 * value or a RingError within a deadline, and the child is reaped. It knows frames and processes, not plans or peers.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { isSea } from 'node:sea';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { RingError } from '../core/errors.js';
import type { Device } from '../core/types.js';
import type { ConvertOptions, EngineInventory, LoadedStage, Log, MeasuredSpeed, MeasureOptions, Runner, RunnerEvents, RunnerLauncher, StageOptions, VocabularyTable } from '../ports.js';
import { encodeFrame, FrameDecoder } from '../wire/framing.js';
import { isActivation, MAX_PIPE_FRAME_BYTES, PIPE_ACTIVATION, PIPE_CONTROL, PIPE_KIND_BYTES } from '../wire/pipe.js';
import { decodeFromRunner, encodeToRunner } from '../wire/runner-codec.js';
import type { FromRunner, ToRunner } from '../wire/runner-codec.js';
import { describeDeath } from './classify-death.js';

/** Kept of stderr, from its end. */
const STDERR_KEPT_BYTES = 32 * 1024;
/** Loading is bounded by the disk's speed: a floor, and the time that a slow disk needs. */
const LOAD_DEADLINE_FLOOR_MS = 60_000;
const SLOWEST_DISK_BYTES_PER_MS = 30_000;
/** Of stored weights, on a slow core. */
const SLOWEST_CONVERSION_BYTES_PER_MS = 3_000;
const VOCABULARY_DEADLINE_MS = 60_000;
const PROBE_DEADLINE_MS = 30_000;
/** A device may compile its kernels first, and everything else comes before measuring. */
const MEASURE_DEADLINE_MS = 180_000;
const TOKENIZE_DEADLINE_MS = 30_000;
const GRAMMAR_DEADLINE_MS = 20_000;
/** One step of the engine, a long prefill on a slow machine included. */
const STEP_DEADLINE_MS = 300_000;
/** After its pipe was closed; a step under way is not waited for any longer. */
const KILL_GRACE_MS = 2_000;

/** The single executable's first argument for a runner (scripts/binary/payload.ts). */
const EXECUTABLE_RUNNER_ARGUMENT = 'internal-runner';

/** Of JavaScript's young objects: a step makes few, and what they may take is memory that a stage could have. */
const YOUNG_HEAP_MEGABYTES = 1;

/** What makes this program's own Node.js a runner: the runner's program, or a word that the single executable knows. */
function runnerArguments(): readonly string[] {
  return isSea() ? [EXECUTABLE_RUNNER_ARGUMENT] : ['--no-warnings', `--max-semi-space-size=${YOUNG_HEAP_MEGABYTES}`, runnerProgram()];
}

/** Where the runner's program is: in the build, seen from the sources (tests) and from single modules (scripts), or beside this one. */
function runnerProgram(): string {
  const places = ['../../dist/program/src/runner/main.js', '../../program/src/runner/main.js', '../runner/main.js'].map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const program = places.find((place) => existsSync(place));
  if (program === undefined) throw new RingError('engine_missing', `the runner program is missing (looked at ${places.join(', ')}): run "npm run build"`);
  return program;
}

interface Waiter {
  readonly matches: (message: FromRunner) => boolean;
  readonly resolve: (message: FromRunner) => void;
  readonly reject: (error: RingError) => void;
  readonly cancelTimer: () => void;
}

export class RunnerProcess implements Runner {
  private readonly child: ChildProcess;
  private readonly pipe: Duplex;
  private readonly waiters = new Set<Waiter>();
  private stderr = '';
  private endRequested = false;
  private hasEnded = false;
  private nextCall = 1;
  private stepTimer: NodeJS.Timeout | null = null;
  private stepsUnderWay = 0;
  /** A step was sent or came back. */
  private progressAtMs = 0;
  private fatal: RingError | null = null;

  constructor(private readonly what: string, private readonly log: Log, private readonly events: RunnerEvents) {
    this.child = spawn(process.execPath, runnerArguments(), {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env },
    });
    const pipe = this.child.stdio[3];
    if (!(pipe instanceof Duplex)) throw new RingError('io_failed', `${what}: no pipe to the child process`);
    this.pipe = pipe;
    const decoder = new FrameDecoder(MAX_PIPE_FRAME_BYTES);
    this.pipe.on('data', (chunk: Buffer) => {
      try {
        for (const frame of decoder.push(chunk)) this.receive(frame);
      } catch (error) {
        this.fail(error instanceof RingError ? error : new RingError('bad_frame', `${what} sent a malformed frame`, {}, { cause: error }));
      }
    });
    // A broken pipe is reported by the exit that follows.
    this.pipe.on('error', (error) => this.log.debug('the pipe to a runner broke', { runner: what, error: error.message }));
    this.child.stderr?.setEncoding('utf8');
    this.child.stderr?.on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_KEPT_BYTES);
    });
    this.child.on('error', (error) => this.onEnd(null, null, error));
    // `close` comes after stderr was read to its end, so the last words are complete.
    this.child.on('close', (exitCode, signal) => this.onEnd(exitCode, signal, null));
  }

  get pid(): number | null {
    return this.child.pid ?? null;
  }

  /** Loads and warms up a stage. Rejects with what the engine said. */
  async loadStage(options: StageOptions, stageBytes: number): Promise<LoadedStage> {
    const deadlineMs = LOAD_DEADLINE_FLOOR_MS + stageBytes / SLOWEST_DISK_BYTES_PER_MS;
    const message = await this.ask({ kind: 'load_stage', options }, (answer) => answer.kind === 'loaded', deadlineMs, 'loading the stage');
    if (message.kind !== 'loaded') throw new RingError('internal', `${this.what} answered ${message.kind} to a load`);
    return message.stage;
  }

  async loadVocabulary(headerFile: string): Promise<VocabularyTable> {
    const message = await this.ask({ kind: 'load_vocabulary', headerFile }, (answer) => answer.kind === 'vocabulary', VOCABULARY_DEADLINE_MS, 'loading the vocabulary');
    if (message.kind !== 'vocabulary') throw new RingError('internal', `${this.what} answered ${message.kind} to a vocabulary load`);
    return message.table;
  }

  async tokenize(text: string, options: { readonly addSpecial: boolean; readonly parseSpecial: boolean }): Promise<readonly number[]> {
    const call = this.nextCall;
    this.nextCall += 1;
    const message = await this.ask({ kind: 'tokenize', call, text, ...options }, (answer) => answer.kind === 'tokenized' && answer.call === call, TOKENIZE_DEADLINE_MS, 'tokenizing', call);
    if (message.kind !== 'tokenized') throw new RingError('internal', `${this.what} answered ${message.kind} to a tokenize call`);
    return message.tokens;
  }

  async checkGrammar(text: string): Promise<void> {
    const call = this.nextCall;
    this.nextCall += 1;
    await this.ask({ kind: 'check_grammar', call, text }, (answer) => answer.kind === 'grammar_checked' && answer.call === call, GRAMMAR_DEADLINE_MS, 'checking a grammar', call);
  }

  /** Devices that the engine package of `backend` finds. Empty when the package is not installed or finds none. */
  async probeDevices(backend: Device['backend']): Promise<EngineInventory> {
    const message = await this.ask({ kind: 'probe_devices', backend }, (answer) => answer.kind === 'devices', PROBE_DEADLINE_MS, 'looking for devices');
    if (message.kind !== 'devices') throw new RingError('internal', `${this.what} answered ${message.kind} to a device probe`);
    return message.inventory;
  }

  /** How fast a device is. It computes for a second or two, so it steps back behind everything else first. */
  async measure(options: MeasureOptions): Promise<MeasuredSpeed> {
    if (this.child.pid !== undefined) lowestPriority(this.child.pid);
    const message = await this.ask({ kind: 'measure', options }, (answer) => answer.kind === 'measured', MEASURE_DEADLINE_MS, 'measuring');
    if (message.kind !== 'measured') throw new RingError('internal', `${this.what} answered ${message.kind} to a measurement`);
    return message.speed;
  }

  async convert(options: ConvertOptions, sourceBytes: number): Promise<number> {
    if (this.child.pid !== undefined) lowestPriority(this.child.pid);
    const deadlineMs = LOAD_DEADLINE_FLOOR_MS + sourceBytes / SLOWEST_CONVERSION_BYTES_PER_MS;
    const message = await this.ask({ kind: 'convert', options }, (answer) => answer.kind === 'converted', deadlineMs, 'converting weights');
    if (message.kind !== 'converted') throw new RingError('internal', `${this.what} answered ${message.kind} to a conversion`);
    return message.bytes;
  }

  /** Forgets every sequence; the weights stay. */
  async reset(): Promise<void> {
    await this.ask({ kind: 'reset' }, (answer) => answer.kind === 'was_reset', STEP_DEADLINE_MS, 'resetting');
  }

  /** Sends an activation frame's body. False when the pipe's buffer is full: wait for `drained`. */
  step(body: Uint8Array): boolean {
    if (this.hasEnded) return true;
    this.stepsUnderWay += 1;
    this.watchSteps();
    return this.write(PIPE_ACTIVATION, body);
  }

  /** Resolves when the pipe takes more, or the runner has ended. */
  async drained(): Promise<void> {
    if (!this.pipe.writableNeedDrain || this.hasEnded) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.pipe.off('drain', done);
        this.pipe.off('close', done);
        resolve();
      };
      this.pipe.once('drain', done);
      this.pipe.once('close', done);
    });
  }

  /** Ends the child: politely, then by force. Resolves when it is reaped. */
  async end(): Promise<void> {
    this.endRequested = true;
    if (this.hasEnded) return;
    const closed = new Promise<void>((resolve) => this.child.once('close', () => resolve()));
    // The runner ends when its pipe does.
    this.pipe.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), KILL_GRACE_MS);
    await closed;
    clearTimeout(timer);
  }

  private ask(message: ToRunner, matches: Waiter['matches'], deadlineMs: number, doing: string, call = 0): Promise<FromRunner> {
    if (this.hasEnded) return Promise.reject(this.fatal ?? new RingError('runner_died', `${this.what} has ended`));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiters.delete(waiter);
        const error = new RingError('timeout', `${this.what}: ${doing} took longer than ${Math.round(deadlineMs / 1000)} s`);
        reject(error);
        this.fail(error);
      }, deadlineMs);
      const waiter: Waiter = {
        // A failure of the whole runner answers whoever waits; a failed call only its caller.
        matches: (answer) => matches(answer) || (answer.kind === 'failed' && answer.step === 0 && answer.call === call),
        resolve,
        reject,
        cancelTimer: () => clearTimeout(timer),
      };
      this.waiters.add(waiter);
      this.write(PIPE_CONTROL, encodeToRunner(message));
    });
  }

  private write(kind: Uint8Array, body: Uint8Array): boolean {
    if (this.pipe.destroyed || this.pipe.writableEnded) return true;
    this.pipe.cork();
    let more = true;
    for (const part of encodeFrame([kind, body])) more = this.pipe.write(part);
    this.pipe.uncork();
    return more;
  }

  private receive(frame: Uint8Array): void {
    const body = frame.subarray(PIPE_KIND_BYTES);
    if (isActivation(frame)) {
      this.stepsUnderWay = Math.max(0, this.stepsUnderWay - 1);
      this.watchSteps();
      this.events.activation(body);
      return;
    }
    const message = decodeFromRunner(body);
    if (message.kind === 'resident') {
      this.events.resident(message.bytes);
      return;
    }
    for (const waiter of this.waiters) {
      if (!waiter.matches(message)) continue;
      this.waiters.delete(waiter);
      waiter.cancelTimer();
      if (message.kind === 'failed') waiter.reject(new RingError(message.code, message.message));
      else waiter.resolve(message);
      return;
    }
    if (message.kind === 'failed') {
      this.stepsUnderWay = Math.max(0, this.stepsUnderWay - 1);
      this.watchSteps();
      this.events.stepFailed(message.step, new RingError(message.code, message.message));
    }
  }

  /** The deadline is for progress: it starts again whenever a step comes back. One timer for many steps: there are many. */
  private watchSteps(): void {
    this.progressAtMs = performance.now();
    if (this.stepTimer !== null || this.stepsUnderWay === 0) return;
    this.armStepTimer(STEP_DEADLINE_MS);
  }

  private armStepTimer(afterMs: number): void {
    this.stepTimer = setTimeout(() => {
      this.stepTimer = null;
      if (this.stepsUnderWay === 0) return;
      const leftMs = STEP_DEADLINE_MS - (performance.now() - this.progressAtMs);
      if (leftMs > 0) this.armStepTimer(leftMs);
      else this.fail(new RingError('timeout', `${this.what}: no step finished within ${STEP_DEADLINE_MS / 1000} s`));
    }, afterMs);
    this.stepTimer.unref();
  }

  /** Gives up on the child for a reason of our own. */
  private fail(error: RingError): void {
    if (this.hasEnded) return;
    this.fatal ??= error;
    this.child.kill('SIGKILL');
  }

  private onEnd(exitCode: number | null, signal: string | null, spawnError: Error | null): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (this.stepTimer !== null) clearTimeout(this.stepTimer);
    this.pipe.destroy();
    const error = this.endRequested
      ? null
      : this.fatal ?? (spawnError === null
        ? describeDeath(this.what, { exitCode, signal, stderr: this.stderr })
        : new RingError('runner_died', `${this.what} could not be started: ${spawnError.message}`, {}, { cause: spawnError }));
    this.fatal ??= error;
    for (const waiter of this.waiters) {
      waiter.cancelTimer();
      waiter.reject(error ?? new RingError('cancelled', `${this.what} was ended`));
    }
    this.waiters.clear();
    this.events.ended(error);
  }
}

/** A runner lowers its own priority at its start, and a process may only go further down. */
function lowestPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It ended, or the system does not allow it: the measurement still stands, it is only less polite.
    return;
  }
}

/** Starts runners as child processes of this one. */
export function createRunnerLauncher(log: Log): RunnerLauncher {
  return { launch: (what, events) => new RunnerProcess(what, log, events) };
}
