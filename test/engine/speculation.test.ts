/** Guesses change how many steps an answer takes, and nothing else: scheduler and engine together, whole and split. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { HeadScheduler } from '../../src/core/batching.js';
import type { BatchingCounters } from '../../src/core/head-types.js';
import { RingError } from '../../src/core/errors.js';
import type { SampledToken, SamplingSettings } from '../../src/core/step-types.js';
import { openStage } from '../../src/engine/stage.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import type { StageEngine } from '../../src/ports.js';
import { GREEDY, openRing } from '../support/ring-in-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { feed, MODEL_FILE, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const opened: StageEngine[] = [];
let header: GgufHeader;
let directory = '';

beforeAll(async () => {
  header = await readGgufHeader(MODEL_FILE);
  directory = temporaryDirectory();
});
afterEach(() => {
  for (const stage of opened.splice(0)) stage.close();
});

/** A passage three times over: what follows is easily guessed. */
const passage = [...syntheticPrompt(40, 3)];
const prompt = [...passage, ...passage, ...passage.slice(0, 20)];

function run(stages: readonly StageEngine[], sampling: SamplingSettings, canRollBack: boolean): { tokens: number[]; counters: BatchingCounters; steps: number } {
  const head = new HeadScheduler({ slots: 1, contextTokens: 512, batchTokens: 64, stages: stages.length, canRollBack });
  head.admit({ requestId: 'a', origin: 'o', promptTokens: prompt, emittedTokens: [], sampling, maxTokens: 120 });
  const tokens: number[] = [];
  let steps = 0;
  for (let step = head.next(); step !== null; step = head.next()) {
    steps += 1;
    let hidden: Float32Array | null = null;
    let sampled: readonly SampledToken[] = [];
    stages.forEach((stage, rank) => {
      stage.apply(step.operations);
      if (step.slices.length === 0) return;
      const output = stage.step({ slices: step.slices, tokens: rank === 0 ? step.tokens : null, hidden });
      hidden = output.hidden?.slice() ?? null;
      sampled = output.sampled;
    });
    tokens.push(...sampled.map((token) => token.token));
    // Every step takes as long as any other: then every right guess pays.
    head.complete(step.step, sampled, stages.map(() => 1_000));
  }
  return { tokens, counters: head.counters(), steps };
}

describe('guessed tokens', () => {
  it.each([
    ['greedy', GREEDY],
    ['seeded', { ...GREEDY, temperature: 0.7, topP: 0.95, seed: 11 }],
    ['penalised', { ...GREEDY, temperature: 1, seed: 5, repeatPenalty: 1.05, frequencyPenalty: 0.1 }],
  ])('leave every token as it was, %s, whole and in three stages', async (_name, sampling) => {
    const whole = await openRing(header, 5, [], directory);
    const split = await openRing(header, 5, [2, 4], directory);
    opened.push(...whole, ...split);
    const plain = run(whole, sampling, false);
    const guessed = run(whole, sampling, true);
    const guessedInThree = run(split, sampling, true);
    expect(plain.tokens).toHaveLength(120);
    expect(guessed.tokens).toEqual(plain.tokens);
    expect(guessedInThree.tokens).toEqual(plain.tokens);
    expect(plain.counters.guesses.text.drafted).toBe(0);
    if (sampling.temperature === 0) {
      expect(guessed.counters.guesses.text.accepted).toBeGreaterThan(5);
      expect(guessed.steps).toBeLessThan(plain.steps);
    }
  });

  it('are refused where they cannot be', () => {
    const stage = openStage(wholeOptions({ slots: 2 }));
    opened.push(stage);
    open(stage, 0);
    feed(stage, 0, syntheticPrompt(20, 1), 0, 64);
    const slice = { slot: 0, position: 20, tokens: 3, sample: true };
    const step = (changes: object): unknown => stage.step({ slices: [{ ...slice, ...changes }], tokens: new Int32Array(3), hidden: null });
    expect(() => step({ draft: [0, 0, 0] })).toThrow(RingError);
    expect(() => step({ draft: [0, 0], sample: false })).toThrow(RingError);
    expect(() => step({ position: 19 })).toThrow(RingError);
    expect(stage.step({ slices: [{ ...slice, draft: [0, 0] }], tokens: new Int32Array(3), hidden: null }).sampled.length).toBeGreaterThan(0);
    expect(() => step({ position: 20 })).toThrow(/holds 23/);
    // Back to before the guesses, and no further.
    step({ position: 21 });
  });
});
