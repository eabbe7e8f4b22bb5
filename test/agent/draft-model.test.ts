/** The draft beside a head: what it asks of its runner, and that nothing that happens to it keeps anybody waiting. */
import { describe, expect, it } from 'vitest';
import { DraftModel } from '../../src/agent/draft-model.js';
import { RunnerPool } from '../../src/agent/runner-pool.js';
import { RingError } from '../../src/core/errors.js';
import type { DraftAnswer } from '../../src/core/model-drafts.js';
import type { Plan, StagePlan } from '../../src/core/types.js';
import type { LoadedStage, ModelLibrary, RemoteWeights, Runner, RunnerEvents, StageOptions } from '../../src/ports.js';
import { decodeActivation, encodeActivation } from '../../src/wire/activation-codec.js';
import type { Activation } from '../../src/wire/activation-codec.js';
import { SILENT } from '../support/silent-log.js';

const STAGE: StagePlan = { rank: 0, nodeId: 'n0', range: { start: 0, end: 2 }, backend: 'cpu', predictedBytes: 1 };
const DRAFT = { model: { digest: 'cd', sizeBytes: 1, name: 'small', architecture: 'llama', layers: 1 }, predictedBytes: 7 };
const PLAN: Plan = {
  planId: '1.n0.1', instanceId: 'i', model: { digest: 'ab', sizeBytes: 1, name: 'm', architecture: 'llama', layers: 2 }, stages: [STAGE],
  contextTokens: 64, slots: 2, keyType: 'q8_0', valueType: 'f16', explanation: [], draft: DRAFT,
};
const WISH = { sequenceId: 's', tokens: [5, 6, 7], ignoreEos: false, limit: 2, withinMs: 100 };

const unused = (): Promise<never> => Promise.reject(new Error('not asked for here'));

class Bench {
  readonly loads: StageOptions[] = [];
  readonly steps: Activation[] = [];
  readonly answers: DraftAnswer[] = [];
  states: string[] = [];
  ended = 0;
  events: RunnerEvents | null = null;
  private nowMs = 0;
  private readonly timers = new Set<{ readonly atMs: number; readonly call: () => void }>();
  private readonly clock = {
    now: () => this.nowMs,
    after: (delayMs: number, call: () => void) => {
      const timer = { atMs: this.nowMs + delayMs, call };
      this.timers.add(timer);
      return () => void this.timers.delete(timer);
    },
  };
  readonly draft: DraftModel;

  constructor(loaded: Partial<LoadedStage> = {}, canRollBack = true) {
    const launch = (_what: string, events: RunnerEvents): Runner => {
      this.events = events;
      return {
        pid: 77,
        loadStage: async (options) => {
          this.loads.push(options);
          return { hiddenSize: 8, layers: 1, vocabularySize: 100, canRollBack: true, residentBytes: 9, ...loaded };
        },
        loadVocabulary: unused, tokenize: unused, checkGrammar: unused, probeDevices: unused, convert: unused, measure: unused,
        reset: () => Promise.resolve(),
        step: (body) => {
          this.steps.push(decodeActivation(body.slice()));
          return true;
        },
        drained: () => Promise.resolve(),
        end: async () => {
          this.ended += 1;
        },
      };
    };
    const library: Pick<ModelLibrary, 'stageFiles'> = { stageFiles: async ({ model, range, head, tail }) => ({ stageFile: `${model.name} ${range.start}-${range.end} ${head} ${tail}`, embedding: null, bytes: 1 }) };
    const remote: RemoteWeights = { header: unused, tensor: unused };
    this.draft = new DraftModel(PLAN, STAGE, DRAFT, { threads: 3, vocabularySize: 100, canRollBack }, {
      library, remote, runners: new RunnerPool({ launch }, this.clock, SILENT), clock: this.clock, log: SILENT,
    }, { stateChanged: () => this.states.push(this.draft.state()), statusChanged: () => undefined });
  }

  ask(wish = WISH): void {
    this.draft.ask(wish, (answer) => this.answers.push(answer));
  }

  /** The runner's answer to its latest step. */
  async draws(token: number, endOfGeneration = false): Promise<void> {
    const step = this.steps.at(-1);
    if (step === undefined) throw new Error('no step was sent');
    const [slice] = step.slices;
    const sampled = slice?.sample === true ? [{ slot: slice.slot, sequenceId: 's', position: slice.position + slice.tokens, token, endOfGeneration }] : [];
    this.events?.activation(encodeActivation({ ...step, tokens: null, sampled }));
    await said();
  }

  pass(ms: number): void {
    this.nowMs += ms;
    for (const timer of [...this.timers]) {
      if (timer.atMs > this.nowMs) continue;
      this.timers.delete(timer);
      timer.call();
    }
  }
}

const said = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('the draft of a plan', () => {
  it('loads whole where the head is, with the slots and context of the plan and a cache of its own type', async () => {
    const bench = new Bench();
    expect(bench.draft.state()).toBe('none');
    await bench.draft.start();
    expect(bench.draft.status()).toEqual({ state: 'ready', reason: '', residentBytes: 9 });
    expect(bench.states).toEqual(['idle']);
    expect(bench.loads).toEqual([{ role: 'whole', stageFile: 'small 0-1 true true', embedding: null, backend: 'cpu', threads: 3, contextTokens: 64, slots: 2, keyType: 'f16', valueType: 'f16', batchTokens: 512 }]);
  });

  it('reads, then draws one guess after the other, and stops where the model would end', async () => {
    const bench = new Bench();
    await bench.draft.start();
    bench.ask();
    expect(bench.draft.state()).toBe('busy');
    expect(bench.steps[0]).toMatchObject({ slices: [{ slot: 0, position: 0, tokens: 3, sample: true }], operations: [{ kind: 'open', slot: 0 }] });
    await bench.draws(8);
    expect(bench.steps[1]).toMatchObject({ slices: [{ position: 3, tokens: 1, sample: true }], operations: [] });
    await bench.draws(9);
    expect(bench.answers).toEqual([{ sequenceId: 's', read: 3, guesses: [8, 9], elapsedMs: 0 }]);
    expect(bench.draft.state()).toBe('idle');
    bench.ask({ ...WISH, tokens: [5, 6, 7, 8] });
    await bench.draws(2, true);
    expect(bench.answers[1]).toMatchObject({ guesses: [] });
    bench.ask({ ...WISH, tokens: [5, 6, 7, 8, 9], limit: 0 });
    expect(bench.steps.at(-1)?.slices[0]).toMatchObject({ sample: false });
    await bench.draws(0);
    expect(bench.answers[2]).toMatchObject({ read: 5, guesses: [] });
  });

  it('answers with what it has when time is over, and is busy until its runner is back', async () => {
    const bench = new Bench();
    await bench.draft.start();
    bench.ask();
    await bench.draws(8);
    bench.pass(100);
    expect(bench.answers).toEqual([{ sequenceId: 's', read: 3, guesses: [8], elapsedMs: 100 }]);
    expect(bench.draft.state()).toBe('busy');
    await bench.draws(9);
    expect(bench.steps).toHaveLength(2);
    expect(bench.states).toEqual(['idle', 'idle']);
    expect(bench.answers).toHaveLength(1);
  });

  it('is no more when its runner dies: whoever waits hears so at once', async () => {
    const bench = new Bench();
    await bench.draft.start();
    bench.ask();
    bench.events?.ended(new RingError('runner_died', 'killed'));
    await said();
    expect(bench.answers).toMatchObject([{ guesses: [] }]);
    expect(bench.draft.status()).toEqual({ state: 'failed', reason: 'killed', residentBytes: 0 });
    expect(bench.draft.state()).toBe('none');
  });

  it('is none where its model or the one that it is for cannot take guesses back, or has more tokens', async () => {
    for (const [bench, reason] of [
      [new Bench({ canRollBack: false }), /its memory cannot take wrong guesses back/],
      [new Bench({ vocabularySize: 101 }), /it has 101 tokens, and the model that it is for only 100/],
      [new Bench({}, false), /the memory of the model that it is for/],
    ] as const) {
      await bench.draft.start();
      expect(bench.draft.status()).toMatchObject({ state: 'failed', reason: expect.stringMatching(reason) as string });
      bench.pass(10_000);
      expect(bench.ended).toBe(bench.loads.length);
    }
  });

  it('gives its runner back with its plan, also one that was still loading', async () => {
    const loading = new Bench();
    const started = loading.draft.start();
    loading.draft.stop();
    await started;
    loading.pass(10_000);
    expect(loading.ended).toBe(loading.loads.length);
    const bench = new Bench();
    await bench.draft.start();
    bench.ask();
    bench.draft.stop();
    await said();
    expect(bench.answers).toHaveLength(1);
    bench.pass(10_000);
    expect(bench.ended).toBe(1);
    expect(bench.draft.status().state).toBe('ready');
  });
});
