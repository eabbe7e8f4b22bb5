/**
 * The head's scheduler with a draft: strict stages for the ring and for the draft, a clock of their own, and chance. Every answer
 * must be the one that its prompt alone gives, whatever the draft guesses, however late it is, and whenever it goes.
 */
import { describe, expect, it } from 'vitest';
import { HeadScheduler } from '../../src/core/batching.js';
import { DraftRun } from '../../src/core/draft-run.js';
import { DraftSlots } from '../../src/core/draft-slots.js';
import type { DraftWish } from '../../src/core/model-drafts.js';
import { Speculation } from '../../src/core/speculation.js';
import type { SampledToken } from '../../src/core/step-types.js';
import { Random, StrictStages } from './strict-stages.js';

const sampling = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};
const BATCH = 32;

/** Text that hardly repeats itself. */
function follower(tokens: readonly number[]): number {
  return (tokens.slice(-3).reduce((hash, token) => Math.imul(hash ^ token, 0x9e37_79b1) >>> 3, tokens.length) >>> 0) % 10_000;
}

/** The same, but for some texts. `goodness`: in tenths. */
const guesser = (goodness: number) => (tokens: readonly number[]): number => follower(tokens) + (follower(tokens.slice(-2)) % 10 < goodness ? 0 : 1);

function answerOf(prompt: readonly number[], count: number): number[] {
  const tokens = [...prompt];
  while (tokens.length < prompt.length + count) tokens.push(follower(tokens));
  return tokens.slice(prompt.length);
}

interface Costs {
  readonly plainMs: number;
  readonly rowMs: number;
  readonly draftMs: number;
}

/** One ring with one draft, at virtual times. */
class Ring {
  readonly head: HeadScheduler;
  readonly answers = new Map<string, number[]>();
  readonly slots: DraftSlots;
  nowMs = 0;
  steps = 0;
  private readonly ring: StrictStages;
  private readonly draft: StrictStages;
  private readonly flying: { readonly step: number; readonly sampled: readonly SampledToken[]; readonly sentMs: number; readonly backMs: number }[] = [];
  private drafting: { readonly atMs: number; readonly done: () => void } | null = null;

  constructor(slots: number, goodness: number, private readonly costs: Costs) {
    this.head = new HeadScheduler({ slots, contextTokens: 1024, batchTokens: BATCH, stages: 2, canRollBack: true });
    this.ring = new StrictStages(slots, follower);
    this.draft = new StrictStages(slots, guesser(goodness));
    this.slots = new DraftSlots(slots);
  }

  ask(requestId: string, prompt: readonly number[], count: number, draftTokens?: number): void {
    this.answers.set(requestId, []);
    const settings = draftTokens === undefined ? sampling : { ...sampling, draftTokens };
    expect(this.head.admit({ requestId, origin: 'o', promptTokens: prompt, emittedTokens: [], sampling: settings, maxTokens: count }).kind).toBe('admitted');
  }

  /** One event; false when nothing is under way. */
  turn(): boolean {
    for (let step = this.head.next(); step !== null; step = this.head.next()) {
      const sampled = this.ring.run(step);
      this.steps += 1;
      const beginMs = Math.max(this.nowMs, this.flying.at(-1)?.backMs ?? 0);
      this.flying.push({ step: step.step, sampled, sentMs: this.nowMs, backMs: beginMs + this.costs.plainMs + step.tokens.length * this.costs.rowMs });
    }
    const wish = this.drafting === null ? this.head.takeDraftWish() : null;
    if (wish !== null) this.drafting = this.carryOut(wish);
    const [returned] = this.flying;
    if (this.drafting !== null && (returned === undefined || this.drafting.atMs <= returned.backMs)) {
      const { atMs, done } = this.drafting;
      this.nowMs = Math.max(this.nowMs, atMs);
      this.drafting = null;
      done();
      return true;
    }
    if (returned === undefined) return false;
    this.flying.shift();
    this.nowMs = Math.max(this.nowMs, returned.backMs);
    for (const token of returned.sampled) this.answers.get(token.sequenceId)?.push(token.token);
    this.head.complete(returned.step, returned.sampled, [1_000, 1_000], this.nowMs - returned.sentMs);
    return true;
  }

  runToEnd(): void {
    for (let turns = 0; turns < 100_000; turns += 1) if (!this.turn()) return;
    throw new Error('it never ends');
  }

  /** As the edge does: what does not come in time is dropped. */
  private carryOut(wish: DraftWish): { atMs: number; done: () => void } {
    const run = new DraftRun(this.slots, wish, BATCH);
    let elapsedMs = 0;
    let drawn: SampledToken | null = null;
    for (let step = run.next(null); step !== null && (wish.limit === 0 || elapsedMs <= wish.withinMs); step = run.next(drawn)) {
      const [token] = this.draft.run(step);
      drawn = token ?? null;
      elapsedMs += this.costs.draftMs;
      const [slice] = step.slices;
      // What the slot holds is what the sequence says, as far as it is read.
      if (slice !== undefined) expect(this.draft.held(slice.slot).slice(0, wish.tokens.length)).toEqual(wish.tokens.slice(0, this.draft.held(slice.slot).length));
    }
    const guesses = wish.limit === 0 || elapsedMs <= wish.withinMs ? run.guesses : [];
    return { atMs: this.nowMs + elapsedMs, done: () => this.head.draftAnswered({ sequenceId: wish.sequenceId, read: run.read, guesses, elapsedMs }) };
  }
}

const CHEAP: Costs = { plainMs: 20, rowMs: 0.1, draftMs: 1 };
const PROMPT = Array.from({ length: 300 }, (_, index) => (index * 7919) % 9_973);

describe('a draft for the only sequence in a ring', () => {
  it('saves steps where it guesses well, and the answer is the same', () => {
    const ring = new Ring(4, 9, CHEAP);
    ring.head.draftIs('idle');
    ring.ask('a', PROMPT, 200);
    ring.runToEnd();
    expect(ring.answers.get('a')).toEqual(answerOf(PROMPT, 200));
    const { model } = ring.head.counters().guesses;
    expect(model.accepted).toBeGreaterThan(100);
    expect(model.accepted).toBeLessThan(model.drafted);
    expect(ring.steps).toBeLessThan(120);
  });

  it('rests where it guesses badly, and costs little', () => {
    const timed = (idle: boolean): number => {
      const ring = new Ring(4, 0, CHEAP);
      if (idle) ring.head.draftIs('idle');
      ring.ask('a', PROMPT, 400);
      ring.runToEnd();
      expect(ring.answers.get('a')).toEqual(answerOf(PROMPT, 400));
      return ring.nowMs;
    };
    expect(timed(true)).toBeLessThan(timed(false) * 1.05);
  });

  it('rests where it is dear, however well it guesses', () => {
    const ring = new Ring(4, 10, { plainMs: 5, rowMs: 1, draftMs: 30 });
    ring.head.draftIs('idle');
    ring.ask('a', PROMPT, 400);
    ring.runToEnd();
    expect(ring.answers.get('a')).toEqual(answerOf(PROMPT, 400));
    expect(ring.head.counters().guesses.model.drafted).toBeLessThan(80);
  });

  it('is not asked where a request wants no guesses, nor without a draft', () => {
    for (const [state, draftTokens] of [['idle', 0], ['none', undefined], ['busy', undefined]] as const) {
      const ring = new Ring(4, 10, CHEAP);
      ring.head.draftIs(state);
      ring.ask('a', PROMPT, 60, draftTokens);
      ring.runToEnd();
      expect(ring.head.counters().guesses.model.drafted).toBe(0);
      expect(ring.answers.get('a')).toEqual(answerOf(PROMPT, 60));
    }
  });

  it('reads a long prompt beside plain steps: the ring never waits for that', () => {
    const ring = new Ring(4, 10, { ...CHEAP, draftMs: 100 });
    ring.head.draftIs('idle');
    ring.ask('a', Array.from({ length: 900 }, (_, index) => index), 30);
    ring.runToEnd();
    expect(ring.answers.get('a')).toEqual(answerOf(Array.from({ length: 900 }, (_, index) => index), 30));
    // 29 chunks of the draft would be 2.9 s.
    expect(ring.nowMs).toBeLessThan(1_500);
  });

  it('gives every answer that its prompt alone gives, whatever else comes, ends or fails', () => {
    let accepted = 0;
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = new Random(seed);
      const ring = new Ring(1 + random.below(4), random.below(11), { plainMs: 1 + random.below(30), rowMs: random.below(10) / 10, draftMs: random.below(40) });
      const prompts = new Map<string, readonly number[]>();
      const cancelled = new Set<string>();
      const shared = PROMPT.slice(0, random.below(200));
      ring.head.draftIs('idle');
      for (let turn = 0; turn < 2_000; turn += 1) {
        if (prompts.size < 12 && random.below(25) === 0) {
          const requestId = `s${prompts.size}`;
          prompts.set(requestId, [...shared, ...Array.from({ length: 1 + random.below(40) }, () => random.below(10_000))]);
          ring.ask(requestId, prompts.get(requestId) ?? [], 50);
        }
        if (random.below(200) === 0) {
          const requestId = `s${random.below(12)}`;
          if (ring.head.cancel(requestId)) cancelled.add(requestId);
        }
        if (random.below(40) === 0) ring.head.draftIs((['none', 'idle', 'idle', 'busy'] as const)[random.below(4)] ?? 'idle');
        ring.turn();
      }
      ring.runToEnd();
      for (const [requestId, prompt] of prompts) {
        const answer = ring.answers.get(requestId) ?? [];
        expect(answer.slice(0, 50), `seed ${seed}, ${requestId}`).toEqual(answerOf(prompt, cancelled.has(requestId) ? Math.min(50, answer.length) : 50));
      }
      accepted += ring.head.counters().guesses.model.accepted;
    }
    // Otherwise this has tried nothing.
    expect(accepted).toBeGreaterThan(250);
  });
});

describe('the slots of a draft', () => {
  it('begin with what another sequence has in common, and go on where they were', () => {
    const slots = new DraftSlots(2);
    const first = slots.begin('a', [1, 2, 3, 4]);
    expect(first).toMatchObject({ slot: 0, held: 0, operations: [{ kind: 'open', slot: 0 }] });
    slots.read(0, [1, 2, 3, 4, 5]);
    expect(slots.begin('a', [1, 2, 3, 4, 5, 6])).toEqual({ slot: 0, held: 5, operations: [] });
    slots.read(0, [6, 7, 8]);
    expect(slots.begin('a', [1, 2, 3, 4, 5, 6, 9, 9])).toMatchObject({ slot: 0, held: 6, operations: [{ kind: 'close', retain: true }, { kind: 'open', reuse: { slot: 0, tokens: 6 } }] });
    expect(slots.begin('b', [1, 2, 9])).toMatchObject({ slot: 1, held: 2, operations: [{ kind: 'open', slot: 1, reuse: { slot: 0, tokens: 2 } }] });
    expect(slots.begin('c', [7, 7])).toMatchObject({ slot: 0, held: 0, operations: [{ kind: 'close', slot: 0 }, { kind: 'open', slot: 0 }] });
  });
});

describe('what a model may be asked', () => {
  it('is known apart from what the text gives', () => {
    const speculation = new Speculation();
    expect(speculation.wantedOfModel(15)).toBe(0);
    for (let step = 0; step < 4; step += 1) speculation.plainMeasured(10);
    expect(speculation.wantedOfModel(15)).toBe(3);
    expect(speculation.wantedOfModel(-1)).toBe(0);
    speculation.draftMeasured(3, 4, 12, 'model');
    expect(speculation.wantedOfModel(15)).toBe(7);
    speculation.draftMeasured(7, 1, 200, 'model');
    expect(speculation.wantedOfModel(15)).toBe(0);
    expect(speculation.mayAskModel).toBe(false);
    expect(speculation.propose([1, 2, 3, 4, 1, 2, 3], 3)).toEqual([4, 1, 2]);
    for (let step = 0; step < 16; step += 1) speculation.plainPassed();
    expect(speculation.wantedOfModel(15)).toBe(3);
    // It was waited for in vain.
    speculation.draftMeasured(0, 1, 300, 'model');
    expect(speculation.wantedOfModel(15)).toBe(1);
  });
});
