/** The head's scheduler in a simulated ring: stages that compute one step at a time, in order, with hops between them. */
import { describe, expect, it } from 'vitest';
import { HeadScheduler } from '../../src/core/batching.js';
import type { HeadStep } from '../../src/core/head-types.js';
import { stepTokens } from '../../src/core/step-size.js';
import { StageLoad } from '../../src/core/stage-load.js';

interface Ring {
  readonly stages: number;
  readonly hopMicros: number;
  /** What one stage needs for a step. */
  readonly costMicros: (tokens: number, position: number) => number;
}

/** As measured on a core with 1.1 B parameters, a half of it: weights are read once, then arithmetic. */
const HALF_OF_1B: Ring = { stages: 2, hopMicros: 900, costMicros: (tokens) => 20_000 + 4_500 * tokens };

/** The same with attention, which is most of the work far into a long prompt. */
const HALF_OF_1B_ATTENDING: Ring = { ...HALF_OF_1B, costMicros: (tokens, position) => 20_000 + (4_500 + 3.6 * position) * tokens };

/** As measured on a faster core: four rows cost hardly more than two. */
const HALF_OF_1B_BY_FOURS: Ring = {
  stages: 2, hopMicros: 2_500,
  costMicros: (tokens, position) => 37_000 * Math.floor(tokens / 4) + 19_000 * Math.min(2, tokens % 4) + 3.4 * position * tokens,
};

const sampling = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

class SimulatedRing {
  readonly head: HeadScheduler;
  readonly load: StageLoad;
  /** Sequence -> when its tokens came, in microseconds. */
  readonly tokenTimes = new Map<string, number[]>();
  private nowMicros = 0;
  private readonly stageFreeAt: number[];
  private readonly returns: { readonly atMicros: number; readonly step: HeadStep; readonly costs: readonly number[] }[] = [];
  private readonly names = new Map<number, string>();

  constructor(private readonly ring: Ring, slots: number) {
    this.head = new HeadScheduler({ slots, contextTokens: 8_192, batchTokens: stepTokens(ring.stages), stages: ring.stages, canRollBack: false });
    this.load = new StageLoad(ring.stages, 0);
    this.stageFreeAt = new Array<number>(ring.stages).fill(0);
  }

  get nowMs(): number {
    return this.nowMicros / 1000;
  }

  admit(requestId: string, promptTokens: number, maxTokens: number): void {
    this.tokenTimes.set(requestId, []);
    this.head.admit({ requestId, origin: 'o', promptTokens: new Array<number>(promptTokens).fill(1), emittedTokens: [], sampling, maxTokens });
  }

  /** Until `ms` have passed or nothing is left to do. */
  run(ms: number): void {
    const end = this.nowMicros + ms * 1000;
    for (;;) {
      this.send();
      const next = this.returns.shift();
      if (next === undefined || next.atMicros > end) {
        if (next !== undefined) this.returns.unshift(next);
        return;
      }
      this.nowMicros = next.atMicros;
      this.load.stepReturned(next.costs, this.nowMs);
      const sampled = next.step.slices.filter((slice) => slice.sample).map((slice) => ({
        slot: slice.slot, sequenceId: this.names.get(slice.slot) ?? '?', position: slice.position + slice.tokens, token: 9, endOfGeneration: false,
      }));
      for (const token of sampled) this.tokenTimes.get(token.sequenceId)?.push(this.nowMicros);
      this.head.complete(next.step.step, sampled, next.costs);
    }
  }

  private send(): void {
    for (let step = this.head.next(); step !== null; step = this.head.next()) {
      for (const operation of step.operations) if (operation.kind === 'open') this.names.set(operation.slot, operation.sequenceId);
      const costs = this.stageFreeAt.map(() => this.ring.costMicros(step.tokens.length, Math.max(0, ...step.slices.map((slice) => slice.position))));
      let at = this.nowMicros;
      costs.forEach((cost, stage) => {
        at = Math.max(at, this.stageFreeAt[stage] ?? 0) + cost;
        this.stageFreeAt[stage] = at;
        at += this.ring.hopMicros;
      });
      this.returns.push({ atMicros: at, step, costs });
    }
  }
}

function longestGap(times: readonly number[]): number {
  return times.slice(1).reduce((longest, time, index) => Math.max(longest, time - (times[index] ?? 0)), 0);
}

describe('the head in a simulated ring', () => {
  it.each([2, 3, 4])('keeps each of %i stages busy with 16 sequences', (stages) => {
    const ring = new SimulatedRing({ ...HALF_OF_1B, stages }, 16);
    for (let index = 0; index < 16; index += 1) ring.admit(`s${index}`, 4, 1_000);
    ring.run(20_000);
    for (const share of ring.load.busyShares(ring.nowMs)) expect(share).toBeGreaterThan(0.9);
  });

  it('keeps two stages busy with a lone long prompt', () => {
    const ring = new SimulatedRing(HALF_OF_1B, 4);
    ring.admit('long', 8_000, 1);
    ring.run(20_000);
    for (const share of ring.load.busyShares(ring.nowMs)) expect(share).toBeGreaterThan(0.8);
  });

  it.each([
    [1, 'that is little of the work', HALF_OF_1B], [2, 'that is little of the work', HALF_OF_1B], [3, 'that is little of the work', HALF_OF_1B],
    [1, 'that is most of it', HALF_OF_1B_ATTENDING], [2, 'that is most of it', HALF_OF_1B_ATTENDING],
    [1, 'that is little at first, and rows by fours', HALF_OF_1B_BY_FOURS], [2, 'that is little at first, and rows by fours', HALF_OF_1B_BY_FOURS],
    [3, 'that is little at first, and rows by fours', HALF_OF_1B_BY_FOURS],
  ])('lets a prompt of 4,000 tokens in beside four answers on %i stages, with attention %s: no gap near three times the normal one', (stages, _attention, engine) => {
    const ring = new SimulatedRing({ ...engine, stages }, 8);
    for (let index = 0; index < 4; index += 1) ring.admit(`s${index}`, 4, 8_000);
    ring.run(5_000);
    const counts = (): readonly number[] => [...ring.tokenTimes.values()].slice(0, 4).map((times) => times.length);
    const before = counts();
    ring.admit('long', 4_000, 1);
    while (ring.tokenTimes.get('long')?.length === 0 && ring.nowMs < 600_000) ring.run(5_000);
    expect(ring.tokenTimes.get('long')).toHaveLength(1);
    const after = counts();
    // The answers themselves get longer, and slower.
    ring.run(5_000);
    [...ring.tokenTimes.values()].slice(0, 4).forEach((times, index) => {
      const [from, to] = [before[index] ?? 1, after[index] ?? 1];
      const normal = Math.max(longestGap(times.slice(4, from)), longestGap(times.slice(to + 8)));
      // Engines of this ring are never slower than they say; real ones are, and the rest is for that.
      expect(longestGap(times.slice(from - 1, to)) / normal).toBeLessThanOrEqual(2.3);
    });
  });

  it('sizes the chunks of a prompt whose slot lies between those of the answers', () => {
    const ring = new SimulatedRing(HALF_OF_1B, 3);
    ring.admit('a', 4, 10_000);
    ring.admit('b', 4, 2);
    ring.admit('c', 4, 10_000);
    ring.run(3_000);
    ring.admit('long', 4_000, 1);
    // A token a chunk would take minutes.
    ring.run(120_000);
    expect(ring.tokenTimes.get('long')).toHaveLength(1);
  });

  it('gives every sequence its turn while a prompt takes turns with them', () => {
    const ring = new SimulatedRing(HALF_OF_1B, 8);
    for (let index = 0; index < 5; index += 1) ring.admit(`s${index}`, 4, 10_000);
    ring.run(2_000);
    ring.admit('long', 6_000, 1);
    ring.run(20_000);
    const counts = [...ring.tokenTimes.values()].slice(0, 5).map((times) => times.length);
    expect(Math.min(...counts) / Math.max(...counts)).toBeGreaterThan(0.9);
  });
});

describe('the load of stages', () => {
  it('is compute time over wall time of the last seconds, and forgets what was before', () => {
    const load = new StageLoad(2, 0);
    for (let now = 100; now <= 10_000; now += 100) load.stepReturned([80_000, 20_000], now);
    const [first, second] = load.busyShares(10_000);
    expect(first).toBeCloseTo(0.8, 1);
    expect(second).toBeCloseTo(0.2, 1);
    expect(load.busyShares(30_000)).toEqual([0, 0]);
  });
});
