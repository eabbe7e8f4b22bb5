/**
 * Runners in the simulation: a child process that takes time to load and to compute, does one thing after the other, can
 * be slow, hang and die. What it computes is fake-stage.ts.
 */
import { errorCodeOf, errorMessageOf, RingError } from '../../src/core/errors.js';
import type { LoadedStage, Runner, RunnerEvents, RunnerLauncher, StageOptions, VocabularyTable } from '../../src/ports.js';
import { decodeActivation, encodeActivation } from '../../src/wire/activation-codec.js';
import { END_TOKEN, HIDDEN_SIZE, pieceOf, VOCABULARY_SIZE } from './fake-model.js';
import { stageContent } from './fake-library.js';
import type { FakeProcess } from './fake-process.js';
import { FakeStage } from './fake-stage.js';

const RESIDENT_BYTES = 1_000_000;
const VOCABULARY_MS = 15;
/** Frames in the pipe before it is full. */
const PIPE_FRAMES = 4;

/** The machine that runners share. */
export interface RunnerHost {
  readonly process: FakeProcess;
  readonly canRollBack: boolean;
  at(delayMs: number, run: () => void): void;
  loadMs(): number;
  stepMs(tokens: number): number;
  /** Why the next load fails; null = it does not. */
  loadFailure(): RingError | null;
  /** Something that a correct agent never does. */
  violation(text: string): void;
}

export class FakeLauncher implements RunnerLauncher {
  readonly runners = new Set<FakeRunner>();

  constructor(private readonly host: RunnerHost) {}

  launch(what: string, events: RunnerEvents): Runner {
    const runner = new FakeRunner(what, this.host, events, () => this.runners.delete(runner));
    this.runners.add(runner);
    return runner;
  }

  stages(): FakeRunner[] {
    return [...this.runners].filter((runner) => runner.hasStage);
  }
}

interface Waiter {
  readonly reject: (error: RingError) => void;
}

export class FakeRunner implements Runner {
  readonly pid = 1;
  private stage: FakeStage | null = null;
  private planId: string | null = null;
  private ended = false;
  private hanging = false;
  private readonly work: (() => void)[] = [];
  private busy = false;
  private queuedSteps = 0;
  private readonly waiters = new Set<Waiter>();
  private readonly drains: (() => void)[] = [];

  constructor(private readonly what: string, private readonly host: RunnerHost, private readonly events: RunnerEvents, private readonly gone: () => void) {}

  get hasStage(): boolean {
    return this.stage !== null && !this.ended;
  }

  loadStage(options: StageOptions): Promise<LoadedStage> {
    return this.call(this.host.loadMs(), () => {
      const failure = this.host.loadFailure();
      if (failure !== null) throw failure;
      const { start, end } = stageContent(options.stageFile);
      this.stage = new FakeStage({ role: options.role, range: { start, end }, slots: options.slots, contextTokens: options.contextTokens, canRollBack: this.host.canRollBack });
      const vocabularySize = options.role === 'whole' || options.role === 'tail' ? VOCABULARY_SIZE : 0;
      return { hiddenSize: HIDDEN_SIZE, layers: end - start, vocabularySize, canRollBack: this.host.canRollBack, residentBytes: RESIDENT_BYTES };
    });
  }

  loadVocabulary(): Promise<VocabularyTable> {
    return this.call(VOCABULARY_MS, () => ({
      pieces: Array.from({ length: VOCABULARY_SIZE }, (_, token) => new TextEncoder().encode(pieceOf(token))),
      endOfGeneration: new Set([END_TOKEN]),
      controlTexts: new Map<number, string>(),
      bos: null,
      eos: END_TOKEN,
      addsBos: false,
    }));
  }

  tokenize(text: string): Promise<readonly number[]> {
    return this.call(1, () => Array.from(text, (letter) => letter.charCodeAt(0) - 64));
  }

  checkGrammar(): Promise<void> {
    return this.call(1, () => undefined);
  }

  probeDevices(): Promise<never> {
    return Promise.reject(new RingError('internal', 'nobody probes here'));
  }

  convert(): Promise<never> {
    return Promise.reject(new RingError('internal', 'nobody converts here'));
  }

  measure(): Promise<never> {
    return Promise.reject(new RingError('internal', 'nobody measures here'));
  }

  reset(): Promise<void> {
    return this.call(1, () => {
      this.stage?.reset();
      this.planId = null;
    });
  }

  step(body: Uint8Array): boolean {
    if (this.ended) return true;
    const frame = decodeActivation(body.slice());
    this.queuedSteps += 1;
    this.enqueue(this.host.stepMs(frame.slices.reduce((sum, slice) => sum + slice.tokens, 0)), () => {
      this.queuedSteps -= 1;
      if (this.queuedSteps < PIPE_FRAMES) for (const drained of this.drains.splice(0)) this.host.process.enter(drained);
      this.compute(frame);
    });
    return this.queuedSteps < PIPE_FRAMES;
  }

  async drained(): Promise<void> {
    if (this.ended || this.queuedSteps < PIPE_FRAMES) return;
    await new Promise<void>((resolve) => {
      this.drains.push(resolve);
    });
  }

  async end(): Promise<void> {
    if (this.ended) return;
    await new Promise<void>((resolve) => {
      this.host.at(2, () => {
        this.finish(null);
        this.host.process.enter(resolve);
      });
    });
  }

  /** Killed from outside, or by the kernel. */
  die(): void {
    this.finish(new RingError('runner_died', `${this.what} was ended by SIGKILL`));
  }

  /** It takes nothing and gives nothing for a while, and then goes on. */
  hang(forMs: number): void {
    this.hanging = true;
    this.host.at(forMs, () => {
      this.hanging = false;
      this.next();
    });
  }

  private compute(frame: ReturnType<typeof decodeActivation>): void {
    try {
      if (this.stage === null) throw new RingError('not_ready', 'a step arrived before a stage was loaded');
      this.planId ??= frame.planId;
      if (this.planId !== frame.planId) throw new RingError('wrong_plan', `a frame of plan ${frame.planId} came to a stage of plan ${this.planId}`);
      this.stage.apply(frame.operations);
      const result = frame.slices.length === 0 ? { hidden: null, sampled: [] } : this.stage.step(frame);
      const body = encodeActivation({
        planId: frame.planId,
        step: frame.step,
        operations: frame.operations,
        slices: frame.slices,
        tokens: null,
        hidden: result.hidden,
        hiddenSize: result.hidden === null ? 0 : HIDDEN_SIZE,
        sampled: result.sampled,
        computeMicros: frame.computeMicros + 1_000,
        stageMicros: [...frame.stageMicros, 1_000],
      });
      this.say(() => this.events.activation(body));
    } catch (error) {
      this.host.violation(`${this.what} refuses step ${frame.step} of plan ${frame.planId}: ${errorMessageOf(error)}`);
      this.say(() => this.events.stepFailed(frame.step, new RingError(errorCodeOf(error), errorMessageOf(error))));
    }
  }

  private call<T>(delayMs: number, answer: () => T): Promise<T> {
    if (this.ended) return Promise.reject(new RingError('runner_died', `${this.what} has ended`));
    return new Promise<T>((resolve, reject) => {
      const waiter: Waiter = { reject };
      this.waiters.add(waiter);
      this.enqueue(delayMs, () => {
        this.waiters.delete(waiter);
        try {
          const value = answer();
          this.say(() => resolve(value));
        } catch (error) {
          this.say(() => reject(error));
        }
      });
    });
  }

  /** A word to the agent; the pipe keeps order, and what was said before an end is heard before it. */
  private say(word: () => void): void {
    this.host.process.enter(word);
  }

  private enqueue(delayMs: number, run: () => void): void {
    this.work.push(() => {
      this.host.at(delayMs, () => {
        if (this.ended) return;
        run();
        this.busy = false;
        this.next();
      });
    });
    this.next();
  }

  private next(): void {
    if (this.busy || this.ended || this.hanging) return;
    const work = this.work.shift();
    if (work === undefined) return;
    this.busy = true;
    work();
  }

  private finish(error: RingError | null): void {
    if (this.ended) return;
    this.ended = true;
    this.work.length = 0;
    this.gone();
    this.host.process.enter(() => {
      for (const { reject } of this.waiters) reject(error ?? new RingError('cancelled', `${this.what} was ended`));
      this.waiters.clear();
      for (const drained of this.drains.splice(0)) drained();
      this.events.ended(error);
    });
  }
}
