/**
 * Runners by what they hold: a re-plan that keeps a shard keeps its runner, reset, instead of loading it again.
 *
 * A shard's key is its content and the way it was loaded; a plan's id is no part of it. A released runner waits a short
 * time for the next plan and is ended after that.
 */
import { RingError } from '../core/errors.js';
import type { Plan, StagePlan } from '../core/types.js';
import type { Clock, ConvertOptions, LoadedStage, Log, Runner, RunnerEvents, RunnerLauncher, StageOptions } from '../ports.js';

/** How long a loaded runner waits for a plan that wants it. */
const KEEP_RELEASED_MS = 10_000;

interface Entry {
  readonly key: string;
  readonly modelDigest: string;
  readonly runner: Runner;
  readonly loaded: LoadedStage;
  /** Whoever holds the runner now; null = released. */
  holder: RunnerEvents | null;
  cancelEnd: (() => void) | null;
  ended: boolean;
  residentBytes: number;
}

const NO_EVENTS: RunnerEvents = {
  activation: () => undefined,
  resident: () => undefined,
  stepFailed: () => undefined,
  ended: () => undefined,
};

export class RunnerPool {
  private readonly entries = new Set<Entry>();
  /** Loads under way, so that stopping reaches them too. */
  private readonly loading = new Set<Runner>();
  private stopped = false;

  constructor(private readonly launcher: RunnerLauncher, private readonly clock: Clock, private readonly log: Log) {}

  /** A loaded runner for this shard: a released one that holds it, or a new one. */
  async acquire(plan: Plan, stage: StagePlan, options: StageOptions, stageBytes: number, events: RunnerEvents): Promise<{ runner: Runner; loaded: LoadedStage }> {
    const key = shardKey(plan, stage, options);
    const kept = [...this.entries].find((entry) => entry.key === key && entry.holder === null && !entry.ended);
    if (kept !== undefined) {
      kept.cancelEnd?.();
      kept.cancelEnd = null;
      kept.holder = NO_EVENTS;
      // Results of the old plan that are still in the pipe come before the answer to the reset, and go nowhere.
      await kept.runner.reset();
      if (kept.ended) throw new RingError('runner_died', 'the kept runner ended while it was reset');
      kept.holder = events;
      this.log.info('a running shard is kept for the new plan', { plan: plan.planId, rank: stage.rank });
      return { runner: kept.runner, loaded: { ...kept.loaded, residentBytes: kept.residentBytes } };
    }
    // What another model left behind would be in this one's way.
    await this.endReleased((other) => other.modelDigest !== plan.model.digest && other.modelDigest !== plan.draft?.model.digest);
    const what = `the runner of layers ${stage.range.start}-${stage.range.end - 1} of ${plan.model.name}`;
    let entry: Entry | null = null;
    const runner = this.launcher.launch(what, {
      activation: (body) => entry?.holder?.activation(body),
      resident: (bytes) => {
        if (entry !== null) entry.residentBytes = bytes;
        entry?.holder?.resident(bytes);
      },
      stepFailed: (step, error) => entry?.holder?.stepFailed(step, error),
      ended: (error) => {
        if (entry === null) return;
        entry.ended = true;
        this.entries.delete(entry);
        entry.cancelEnd?.();
        entry.holder?.ended(error);
      },
    });
    this.loading.add(runner);
    try {
      const loaded = await runner.loadStage(options, stageBytes);
      if (this.stopped) throw new RingError('cancelled', 'the agent stops');
      entry = { key, modelDigest: plan.model.digest, runner, loaded, holder: events, cancelEnd: null, ended: false, residentBytes: loaded.residentBytes };
      this.entries.add(entry);
      return { runner, loaded };
    } catch (error) {
      await runner.end();
      throw error;
    } finally {
      this.loading.delete(runner);
    }
  }

  /** In a child process of its own, because the arithmetic is the engine's. Resolves with the bytes written. */
  async convert(what: string, options: ConvertOptions, sourceBytes: number): Promise<number> {
    const runner = this.launcher.launch(`the conversion of ${what} to ${options.precision}`, NO_EVENTS);
    this.loading.add(runner);
    try {
      return await runner.convert(options, sourceBytes);
    } finally {
      this.loading.delete(runner);
      await runner.end();
    }
  }

  /** Whoever acquired it with these events no longer needs it; a stage of the same plan that came after it may have one too. */
  release(plan: Plan, stage: StagePlan, events: RunnerEvents): void {
    const held = [...this.entries].filter((entry) => entry.holder === events);
    for (const entry of held) {
      entry.holder = null;
      entry.cancelEnd?.();
      entry.cancelEnd = this.clock.after(KEEP_RELEASED_MS, () => {
        this.log.info('a shard is no longer needed', { model: plan.model.name, layers: `${stage.range.start}-${stage.range.end - 1}` });
        void entry.runner.end();
      });
    }
  }

  private async endReleased(takes: (entry: Entry) => boolean): Promise<void> {
    const released = [...this.entries].filter((entry) => entry.holder === null && !entry.ended && takes(entry));
    await Promise.all(released.map((entry) => {
      entry.cancelEnd?.();
      return entry.runner.end();
    }));
  }

  /** Memory that the runners hold, in bytes. */
  residentBytes(): number {
    let sum = 0;
    for (const entry of this.entries) sum += entry.residentBytes;
    return sum;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const entry of this.entries) entry.cancelEnd?.();
    await Promise.all([...[...this.entries].map((entry) => entry.runner), ...this.loading].map((runner) => runner.end()));
  }
}

function shardKey(plan: Plan, stage: StagePlan, options: StageOptions): string {
  return JSON.stringify([plan.model.digest, stage.range.start, stage.range.end, options]);
}
