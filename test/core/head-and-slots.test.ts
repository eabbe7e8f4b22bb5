/**
 * The head's scheduler against stages that hold it to its word: what each slot holds follows from the operations alone, and
 * every answer must be the one that its prompt alone gives, whatever else runs, moves, is reused or cancelled.
 */
import { describe, expect, it } from 'vitest';
import { HeadScheduler } from '../../src/core/batching.js';
import type { SampledToken } from '../../src/core/step-types.js';
import { Random, StrictStages } from './strict-stages.js';

const sampling = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

/** The token after `tokens`: few different ones, so that text repeats itself and guesses are made. */
function follower(tokens: readonly number[]): number {
  return (tokens.slice(-2).reduce((hash, token) => Math.imul(hash, 31) + token, 7) >>> 0) % 5;
}

function answerOf(prompt: readonly number[], count: number): number[] {
  const tokens = [...prompt];
  while (tokens.length < prompt.length + count) tokens.push(follower(tokens));
  return tokens.slice(prompt.length);
}

function play(seed: number): { readonly answered: number; readonly steps: number; readonly moves: number; readonly guessed: number } {
  const random = new Random(seed);
  const stages = 1 + random.below(4);
  const slots = 1 + random.below(16);
  const head = new HeadScheduler({ slots, contextTokens: 256, batchTokens: 32, stages, canRollBack: true });
  const ring = new StrictStages(slots, follower);
  const flying: { readonly step: number; readonly sampled: readonly SampledToken[]; readonly rows: number }[] = [];
  const open = new Map<string, { readonly prompt: readonly number[]; readonly count: number; readonly tokens: number[] }>();
  const beginning = Array.from({ length: 40 }, () => random.below(5));
  let admitted = 0;
  let answered = 0;
  let moves = 0;
  const total = 40;
  for (let turn = 0; turn < 20_000 && answered < total; turn += 1) {
    if (admitted < total && open.size < 20 && random.below(3) === 0) {
      const prompt = [...beginning.slice(0, random.below(2) * random.below(40)), ...Array.from({ length: 1 + random.below(30) }, () => random.below(5))];
      const requestId = `s${admitted}`;
      const count = 1 + random.below(60);
      admitted += 1;
      open.set(requestId, { prompt, count, tokens: [] });
      expect(head.admit({ requestId, origin: 'o', promptTokens: prompt, emittedTokens: [], sampling, maxTokens: count }).kind).toBe('admitted');
    }
    const [someone] = open.keys();
    if (someone !== undefined && random.below(60) === 0) {
      head.cancel(someone);
      open.delete(someone);
      answered += 1;
    }
    for (let step = head.next(); step !== null; step = head.next()) {
      moves += step.operations.filter((operation) => operation.kind === 'move').length;
      flying.push({ step: step.step, sampled: ring.run(step), rows: step.tokens.length });
    }
    const returned = flying.shift();
    if (returned === undefined) {
      if (open.size > 0) throw new Error(`seed ${seed}: ${open.size} sequences wait and nothing is under way`);
      continue;
    }
    for (const token of returned.sampled) open.get(token.sequenceId)?.tokens.push(token.token);
    const micros = 1_000 + returned.rows * (50 + random.below(100));
    for (const done of head.complete(returned.step, returned.sampled, new Array<number>(stages).fill(micros)).finished) {
      const sequence = open.get(done.requestId);
      if (sequence === undefined) throw new Error(`seed ${seed}: ${done.requestId} ended twice`);
      expect(sequence.tokens.slice(0, sequence.count), `seed ${seed}, ${done.requestId}`).toEqual(answerOf(sequence.prompt, sequence.count));
      open.delete(done.requestId);
      answered += 1;
    }
  }
  const { steps, guesses } = head.counters();
  expect([seed, answered]).toEqual([seed, total]);
  return { answered, steps, moves, guessed: guesses.text.drafted };
}

describe('the head and the slots', () => {
  it('give every sequence the answer that its prompt alone gives, and come to an end', () => {
    let moves = 0;
    let guessed = 0;
    for (let seed = 1; seed <= 150; seed += 1) {
      const played = play(seed);
      moves += played.moves;
      guessed += played.guessed;
    }
    // Otherwise this has tried nothing.
    expect(moves).toBeGreaterThan(50);
    expect(guessed).toBeGreaterThan(500);
  });
});
