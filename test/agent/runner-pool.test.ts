/** Who has a runner: a stage that ends gives back its own, and no other's. */
import { describe, expect, it } from 'vitest';
import { RunnerPool } from '../../src/agent/runner-pool.js';
import type { Plan, StagePlan } from '../../src/core/types.js';
import type { Clock, RunnerEvents, StageOptions } from '../../src/ports.js';
import { EventQueue } from '../sim/event-queue.js';
import { FakeProcess } from '../sim/fake-process.js';
import { FakeLauncher } from '../sim/fake-runner.js';
import { SILENT } from '../support/silent-log.js';

const KEPT_MS = 10_000;

const STAGE: StagePlan = { rank: 0, nodeId: 'n0', range: { start: 0, end: 2 }, predictedBytes: 1 };
const PLAN: Plan = {
  planId: '1.n0.1', instanceId: 'i', model: { digest: 'ab', sizeBytes: 1, name: 'm', architecture: 'llama', layers: 2 }, stages: [STAGE],
  contextTokens: 64, slots: 1, keyType: 'f16', valueType: 'f16', explanation: [],
};
const OPTIONS: StageOptions = {
  role: 'whole', stageFile: 'ab/0/2', embedding: null, threads: 1, contextTokens: 64, slots: 1, keyType: 'f16', valueType: 'f16', batchTokens: 64,
};

class Bench {
  private nowMs = 0;
  private readonly queue = new EventQueue();
  private readonly process = new FakeProcess('n0', { queue: this.queue, now: () => this.nowMs, soon: (run) => this.queue.at(this.nowMs, run) });
  readonly launcher = new FakeLauncher({
    process: this.process,
    canRollBack: true,
    at: (delayMs, run) => this.queue.at(this.nowMs + delayMs, run),
    loadMs: () => 100,
    stepMs: () => 1,
    loadFailure: () => null,
    violation: (text) => {
      throw new Error(text);
    },
  });
  readonly pool = new RunnerPool(this.launcher, this.clock, SILENT);

  get clock(): Clock {
    return this.process.clock;
  }

  async run(forMs: number): Promise<void> {
    const untilMs = this.nowMs + forMs;
    await everythingSaid();
    for (let event = this.queue.next(untilMs); event !== null; event = this.queue.next(untilMs)) {
      this.nowMs = event.atMs;
      event.run();
      await everythingSaid();
    }
    this.nowMs = untilMs;
  }
}

async function everythingSaid(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function events(ended: () => void = () => undefined): RunnerEvents {
  return { activation: () => undefined, resident: () => undefined, stepFailed: () => undefined, ended };
}

describe('the pool of runners', () => {
  it('leaves its runner to a stage whose plan another stage had before it', async () => {
    const bench = new Bench();
    const [first, second] = [events(), events()];
    const acquired = [first, second].map((taker) => bench.pool.acquire(PLAN, STAGE, OPTIONS, 1, taker));
    await bench.run(200);
    await Promise.all(acquired);
    bench.pool.release(PLAN, STAGE, first);
    await bench.run(KEPT_MS + 100);
    expect(bench.launcher.stages()).toHaveLength(1);
    bench.pool.release(PLAN, STAGE, second);
    await bench.run(KEPT_MS + 100);
    expect(bench.launcher.stages()).toHaveLength(0);
  });

  it('keeps a draft for the plan that names it while that plan\'s stage loads', async () => {
    const bench = new Bench();
    const draft = { ...PLAN.model, digest: 'cd' };
    const [first, second] = [events(), events()];
    const guesser = bench.pool.acquire({ ...PLAN, model: draft }, STAGE, OPTIONS, 1, first);
    await bench.run(200);
    const { runner } = await guesser;
    bench.pool.release(PLAN, STAGE, first);
    const named = { ...PLAN, draft: { model: draft, predictedBytes: 1 } };
    const loaded = bench.pool.acquire(named, STAGE, OPTIONS, 1, second);
    await bench.run(200);
    await loaded;
    const again = bench.pool.acquire({ ...named, model: draft }, STAGE, OPTIONS, 1, first);
    await bench.run(200);
    expect((await again).runner).toBe(runner);
  });

  it('gives a released runner to the next plan that wants its shard, and ends it when nobody does', async () => {
    const bench = new Bench();
    const [first, second] = [events(), events()];
    const loaded = bench.pool.acquire(PLAN, STAGE, OPTIONS, 1, first);
    await bench.run(200);
    const { runner } = await loaded;
    bench.pool.release(PLAN, STAGE, first);
    const next = { ...PLAN, planId: '1.n0.2' };
    const kept = bench.pool.acquire(next, STAGE, OPTIONS, 1, second);
    await bench.run(KEPT_MS + 100);
    expect((await kept).runner).toBe(runner);
    expect(bench.launcher.stages()).toHaveLength(1);
    bench.pool.release(next, STAGE, second);
    await bench.run(KEPT_MS + 100);
    expect(bench.launcher.stages()).toHaveLength(0);
  });
});
