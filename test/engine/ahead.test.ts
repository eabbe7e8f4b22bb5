/** A stage that begins with the step that probably comes next: whatever comes, the results are those of a stage that waited. */
import { afterEach, describe, expect, it } from 'vitest';
import type { SamplingSettings, SequenceOperation, SequenceSlice } from '../../src/core/step-types.js';
import { openStage } from '../../src/engine/stage.js';
import type { StageEngine, StageInput } from '../../src/ports.js';
import { differences, feed, generate, GREEDY, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const opened: StageEngine[] = [];
afterEach(() => {
  for (const stage of opened.splice(0)) stage.close();
});

function stageOf(changes: Parameters<typeof wholeOptions>[0] = {}): StageEngine {
  const stage = openStage(wholeOptions({ slots: 4, ...changes }));
  opened.push(stage);
  return stage;
}

const SEEDED: SamplingSettings = { ...GREEDY, temperature: 1, seed: 9 };
const PROMPT = syntheticPrompt(20, 1);

function slice(slot: number, position: number, tokens = 1, draft: readonly number[] = []): SequenceSlice {
  return { slot, position, tokens, sample: true, ...(draft.length === 0 ? {} : { draft }) };
}

function one(slot: number, position: number, token: number): StageInput {
  return { slices: [slice(slot, position)], tokens: Int32Array.of(token), hidden: null };
}

/** Decodes `count` tokens after `first`, and begins with each step before it is asked for. */
function generateAhead(stage: StageEngine, slot: number, first: number, position: number, count: number): number[] {
  const tokens = [first];
  while (tokens.length < count) {
    const at = position + tokens.length - 1;
    const { sampled, aheadMicros } = stage.step(one(slot, at, tokens.at(-1) ?? 0));
    expect(aheadMicros === undefined, `token ${tokens.length}`).toBe(tokens.length === 1);
    tokens.push(sampled[0]?.token ?? -1);
    stage.ahead(one(slot, at + 1, tokens.at(-1) ?? 0));
  }
  return tokens;
}

/** In slots 0 and 1 a sequence each, whose next tokens are known. */
function twoSequences(stage: StageEngine): { readonly positions: readonly [number, number]; readonly next: readonly [number, number] } {
  open(stage, 0, { sampling: SEEDED });
  open(stage, 1, { sampling: { ...SEEDED, seed: 4 } });
  const next = [feed(stage, 0, PROMPT, 0, 200), feed(stage, 1, PROMPT.slice(0, 11), 0, 200)] as const;
  return { positions: [PROMPT.length, 11], next };
}

describe('a step that was begun with', () => {
  const settings: readonly (readonly [string, SamplingSettings])[] = [
    ['greedy', GREEDY],
    ['drawn', SEEDED],
    ['penalised', { ...SEEDED, repeatPenalty: 1.2, frequencyPenalty: 0.1 }],
    ['within a grammar', { ...SEEDED, grammar: { text: 'root ::= ([a-z]+ " ")+' } }],
    ['with probabilities', { ...SEEDED, probabilities: 2 }],
  ];
  for (const [what, sampling] of settings) {
    it(`gives the same tokens, ${what}`, () => {
      const plain = stageOf();
      open(plain, 0, { sampling });
      const wanted = generate(plain, 0, PROMPT, 40);
      const stage = stageOf();
      open(stage, 0, { sampling });
      const first = feed(stage, 0, PROMPT, 0, 200);
      expect(generateAhead(stage, 0, first, PROMPT.length, 40)).toEqual(wanted);
    });
  }

  it('gives the same to several sequences in one step', () => {
    const [plain, stage] = [stageOf(), stageOf()];
    const { positions: [a, b], next: [x, y] } = twoSequences(plain);
    twoSequences(stage);
    const input: StageInput = { slices: [slice(0, a), slice(1, b)], tokens: Int32Array.of(x, y), hidden: null };
    stage.ahead(input);
    const [wanted, begun] = [plain.step(input), stage.step({ ...input, tokens: Int32Array.of(x, y) })];
    expect(begun.aheadMicros).toBeGreaterThan(0);
    expect(begun.sampled).toEqual(wanted.sampled);
    for (const index of [0, 1]) expect(differences(stage.logits(index), plain.logits(index))).toBe(0);
  });
});

describe('a step that was begun with in vain', () => {
  const close: SequenceOperation = { kind: 'close', slot: 1 };
  const others: readonly (readonly [string, readonly SequenceOperation[], (known: ReturnType<typeof twoSequences>) => StageInput])[] = [
    ['another token', [], ({ positions: [a, b], next: [x, y] }) => ({ slices: [slice(0, a), slice(1, b)], tokens: Int32Array.of(x, y + 1), hidden: null })],
    ['one sequence alone', [], ({ positions: [a], next: [x] }) => one(0, a, x)],
    ['the other alone', [], ({ positions: [, b], next: [, y] }) => one(1, b, y)],
    ['one that is closed', [close], ({ positions: [a], next: [x] }) => one(0, a, x)],
    ['one that is closed and kept', [{ ...close, retain: true }], ({ positions: [a], next: [x] }) => one(0, a, x)],
    ['one that moves', [{ kind: 'move', slot: 1, to: 3 }], ({ positions: [, b], next: [, y] }) => one(3, b, y)],
    ['guesses', [], ({ positions: [a], next: [x] }) => ({ slices: [slice(0, a, 3, [7, 8])], tokens: Int32Array.of(x, 7, 8), hidden: null })],
    ['a new prompt', [{ kind: 'open', slot: 2, sequenceId: 'new', sampling: SEEDED, origin: 'test', promptLength: 5, promptTokens: [], emittedTokens: [] }], () => ({ slices: [slice(2, 0, 5)], tokens: PROMPT.slice(0, 5), hidden: null })],
    ['one that begins with its tokens', [{ kind: 'open', slot: 2, sequenceId: 'new', sampling: SEEDED, origin: 'test', promptLength: 21, promptTokens: [], emittedTokens: [], reuse: { slot: 0, tokens: 20 } }], () => one(2, 20, 5)],
  ];
  for (const [what, operations, inputOf] of others) {
    it(`leaves nothing behind: ${what}`, () => {
      const [plain, stage] = [stageOf(), stageOf()];
      const known = twoSequences(plain);
      twoSequences(stage);
      const { positions: [a, b], next: [x, y] } = known;
      stage.ahead({ slices: [slice(0, a), slice(1, b)], tokens: Int32Array.of(x, y), hidden: null });
      const results = [plain, stage].map((each) => {
        each.apply(operations);
        const { sampled, aheadMicros } = each.step(inputOf(known));
        return { sampled, aheadMicros, logits: each.logits(0) };
      });
      expect(results[1]?.sampled).toEqual(results[0]?.sampled);
      expect(results[1]?.aheadMicros).toBeUndefined();
      expect(differences(results[1]?.logits ?? new Float32Array(1), results[0]?.logits ?? new Float32Array(2))).toBe(0);
      // And so it goes on, in a slot that was begun with and not asked for.
      if (operations.length > 0 || what === 'one sequence alone') return;
      const after = [plain, stage].map((each) => {
        const next = what === 'the other alone' || what === 'guesses' ? null : one(1, b + 1, 33);
        return next === null ? each.step(what === 'guesses' ? one(1, b, y) : one(0, a, x)).sampled : each.step(next).sampled;
      });
      expect(after[1]).toEqual(after[0]);
    });
  }

  it('is forgotten with everything else', () => {
    const stage = stageOf();
    const { positions: [a], next: [x] } = twoSequences(stage);
    stage.ahead(one(0, a, x));
    stage.reset();
    const plain = stageOf();
    for (const each of [plain, stage]) open(each, 0, { sampling: SEEDED });
    expect(generate(stage, 0, PROMPT, 5)).toEqual(generate(plain, 0, PROMPT, 5));
  });
});

it('no step is begun with behind guesses that were wrong', () => {
  const [plain, stage] = [stageOf(), stageOf()];
  const { positions: [a], next: [x] } = twoSequences(plain);
  twoSequences(stage);
  const guessed: StageInput = { slices: [slice(0, a, 3, [7, 8])], tokens: Int32Array.of(x, 7, 8), hidden: null };
  const [token] = plain.step(guessed).sampled;
  expect(stage.step(guessed).sampled).toHaveLength(1);
  const next = one(0, a + 1, token?.token ?? 0);
  stage.ahead(next);
  const [wanted, got] = [plain.step(next), stage.step(next)];
  expect(got.aheadMicros).toBeUndefined();
  expect(got.sampled).toEqual(wanted.sampled);
});

it('no step is begun with at the end of the context, with holes between slots, or in a part of a model', () => {
  const stage = stageOf({ contextTokens: 32 });
  open(stage, 0, { sampling: SEEDED });
  open(stage, 2, { sampling: SEEDED });
  const next = feed(stage, 0, syntheticPrompt(32, 3), 0, 32);
  expect(() => stage.ahead(one(0, 32, next))).not.toThrow();
  const other = feed(stage, 2, PROMPT, 0, 32);
  stage.ahead({ slices: [slice(2, PROMPT.length, 2)], tokens: Int32Array.of(other, 5), hidden: null });
  expect(stage.step(one(2, PROMPT.length, other)).aheadMicros).toBeUndefined();
});
