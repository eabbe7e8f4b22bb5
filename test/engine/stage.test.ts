import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { generateModel } from '../../scripts/generate-model.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import type { GgmlCacheType } from '../../src/core/types.js';
import { openStage } from '../../src/engine/stage.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import type { StageEngine, StageOptions } from '../../src/ports.js';
import { codeOf } from '../support/thrown.js';
import { close, differences, feed, generate, GREEDY, MODEL_FILE, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const opened: StageEngine[] = [];

function stageOf(changes: Partial<StageOptions> = {}): StageEngine {
  const stage = openStage(wholeOptions(changes));
  opened.push(stage);
  return stage;
}

afterEach(() => {
  for (const stage of opened.splice(0)) stage.close();
});

/** Logits after every one of `tokens` single steps behind a prompt, all in one vector. */
function logitsAfter(stage: StageEngine, slot: number, prompt: Int32Array, chunk: number, steps: Int32Array): Float32Array {
  open(stage, slot);
  feed(stage, slot, prompt, 0, chunk);
  const all = new Float32Array(stage.vocabularySize * (steps.length + 1));
  all.set(stage.logits(0));
  steps.forEach((token, index) => {
    feed(stage, slot, Int32Array.of(token), prompt.length + index, 1);
    all.set(stage.logits(0), stage.vocabularySize * (index + 1));
  });
  close(stage, slot);
  return all;
}

describe('a whole model as one stage', () => {
  it('continues a known text', () => {
    const vocabulary = openVocabulary(MODEL_FILE);
    const stage = stageOf();
    open(stage, 0);
    const prompt = vocabulary.tokenize('And it came to pass', { addSpecial: true, parseSpecial: false });
    const answer = generate(stage, 0, prompt, 24);
    const text = Buffer.concat(answer.map((token) => vocabulary.piece(token))).toString('utf8');
    vocabulary.close();
    expect(text).toMatch(/^, that the LORD said unto Moses, I will give thee a possession/);
  });

  it('says what it is made of', () => {
    const stage = stageOf();
    expect([stage.hiddenSize, stage.layers, stage.vocabularySize]).toEqual([256, 5, 2048]);
  });

  it('closes twice without harm, and refuses work afterwards', () => {
    const stage = stageOf();
    stage.close();
    stage.close();
    expect(codeOf(() => stage.reset())).toBe('not_ready');
  });
});

describe('exactness', () => {
  const prompt = syntheticPrompt(330, 1);
  const steps = syntheticPrompt(6, 2);
  const cases: readonly (readonly [key: GgmlCacheType, value: GgmlCacheType])[] = [['q8_0', 'f16'], ['f16', 'bf16']];
  const directory = mkdtempSync(join(tmpdir(), 'ring-exact-'));
  /** Large enough that two threads really compute. */
  const large = join(directory, 'large.gguf');

  beforeAll(async () => {
    await generateModel(large, { architecture: 'llama', layers: 6, weights: 'q8_0', hidden: 512, heads: 8, kvHeads: 4, headSize: 64, feedForward: 1_536 });
    expect(statSync(large).size).toBeGreaterThan(2 * 8 * 2 ** 20);
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each(cases)('key %s, value %s: chunking and threads change no bit past 300 tokens', (keyType, valueType) => {
    for (const stageFile of [MODEL_FILE, large]) {
      const reference = logitsAfter(stageOf({ stageFile, keyType, valueType }), 0, prompt, 200, steps);
      expect(new Set(reference).size).toBeGreaterThan(1_000);
      for (const [threads, chunk] of [[1, 60], [1, 7], [2, 60], [2, 200]] as const) {
        const other = logitsAfter(stageOf({ stageFile, keyType, valueType, threads }), 0, prompt, chunk, steps);
        expect(differences(reference, other), `${threads} threads, chunks of ${chunk}`).toBe(0);
      }
    }
  });

  it('a slice longer than the batch equals the same slice in pieces', () => {
    const stage = stageOf({ batchTokens: 64 });
    open(stage, 0);
    const output = stage.step({ slices: [{ slot: 0, position: 0, tokens: prompt.length, sample: true }], tokens: prompt, hidden: null });
    expect(output.engineCalls).toBe(Math.ceil(prompt.length / 64));
    const logits = stage.logits(0);
    expect(differences(logits, logitsAfter(stageOf(), 0, prompt, 200, new Int32Array(0)))).toBe(0);
  });

  it('eight sequences in a batch equal each alone, prefill and decode', () => {
    const prompts = Array.from({ length: 8 }, (_, slot) => syntheticPrompt(300, 10 + slot));
    const together = stageOf({ slots: 8, batchTokens: 512, threads: 2 });
    for (let slot = 0; slot < 8; slot += 1) open(together, slot);
    for (let offset = 0; offset < 300; offset += 60) {
      const output = together.step({
        slices: prompts.map((_, slot) => ({ slot, position: offset, tokens: 60, sample: offset === 240 })),
        tokens: Int32Array.from(prompts.flatMap((entry) => [...entry.slice(offset, offset + 60)])),
        hidden: null,
      });
      expect(output.engineCalls).toBe(1);
    }
    const afterPrefill = prompts.map((_, slot) => together.logits(slot));
    const decoded = together.step({
      slices: prompts.map((_, slot) => ({ slot, position: 300, tokens: 1, sample: true })),
      tokens: Int32Array.from(prompts, (_, slot) => 100 + slot),
      hidden: null,
    });
    expect([decoded.engineCalls, decoded.sampled.map((token) => token.slot)]).toEqual([1, [0, 1, 2, 3, 4, 5, 6, 7]]);
    const alone = stageOf();
    prompts.forEach((entry, slot) => {
      const expected = logitsAfter(alone, 0, entry, 200, Int32Array.of(100 + slot));
      expect(differences(afterPrefill[slot] ?? expected, expected.slice(0, 2048)), `prefill of ${slot}`).toBe(0);
      expect(differences(together.logits(slot), expected.slice(2048)), `decode of ${slot}`).toBe(0);
    });
  });

  it('a slot gives the same bits whatever was in it before', () => {
    const stage = stageOf({ slots: 2 });
    const first = logitsAfter(stage, 1, prompt, 200, steps);
    logitsAfter(stage, 1, syntheticPrompt(400, 9), 200, steps);
    expect(differences(first, logitsAfter(stage, 1, prompt, 200, steps))).toBe(0);
    stage.reset();
    expect(differences(first, logitsAfter(stage, 0, prompt, 200, steps))).toBe(0);
  });
});

describe('slot packing', () => {
  it('holes between slots cost no further engine call and change no bit', () => {
    const stage = stageOf({ slots: 8 });
    const slots = [6, 0, 4, 2];
    for (const slot of slots) {
      open(stage, slot);
      feed(stage, slot, syntheticPrompt(40, slot), 0, 40);
    }
    const output = stage.step({
      slices: slots.map((slot) => ({ slot, position: 40, tokens: 1, sample: true })), tokens: Int32Array.of(11, 12, 13, 14), hidden: null,
    });
    expect([output.engineCalls, output.sampled.map((token) => token.slot)]).toEqual([1, slots]);
    const alone = stageOf();
    slots.forEach((slot, index) => {
      const expected = logitsAfter(alone, 0, syntheticPrompt(40, slot), 40, Int32Array.of(11 + index));
      expect(differences(stage.logits(index), expected.slice(2048)), `slot ${slot}`).toBe(0);
    });
    // The padded slots are free again: they start at position 0.
    open(stage, 1);
    expect(differences(logitsAfter(alone, 0, syntheticPrompt(40, 1), 40, new Int32Array(0)), (feed(stage, 1, syntheticPrompt(40, 1), 0, 40), stage.logits(0)))).toBe(0);
  });

  it('sequences that others left behind in holes move together and keep every bit', () => {
    const stage = stageOf({ slots: 8 });
    for (let slot = 0; slot < 8; slot += 1) {
      open(stage, slot);
      feed(stage, slot, syntheticPrompt(300, slot), 0, 100);
    }
    for (const slot of [1, 3, 5]) stage.apply([{ kind: 'close', slot }]);
    const slots = [0, 2, 4, 6, 7];
    const fed = slots.map((slot) => Array.from({ length: 8 }, (_, step) => 20 + slot * 10 + step));
    for (let step = 0; step < 8; step += 1) {
      const output = stage.step({
        slices: slots.map((slot) => ({ slot, position: 300 + step, tokens: 1, sample: true })), tokens: Int32Array.from(fed, (tokens) => tokens[step] ?? 0), hidden: null,
      });
      expect([output.engineCalls, output.sampled.map((token) => token.slot)]).toEqual([1, slots]);
    }
    const alone = stageOf();
    slots.forEach((slot, index) => {
      const expected = logitsAfter(alone, 0, syntheticPrompt(300, slot), 100, Int32Array.from(fed[index] ?? []));
      expect(differences(stage.logits(index), expected.slice(-2048)), `slot ${slot}`).toBe(0);
    });
    // A slot that is opened again starts anew, wherever its sequence lies now.
    open(stage, 3);
    feed(stage, 3, syntheticPrompt(40, 3), 0, 40);
    expect(differences(stage.logits(0), logitsAfter(alone, 0, syntheticPrompt(40, 3), 40, new Int32Array(0)))).toBe(0);
  });

  it('keeps logits of every call of a step that mixes prefill and decode', () => {
    const stage = stageOf({ slots: 2 });
    open(stage, 0);
    open(stage, 1);
    feed(stage, 0, syntheticPrompt(50, 1), 0, 50);
    const output = stage.step({
      slices: [{ slot: 1, position: 0, tokens: 30, sample: true }, { slot: 0, position: 50, tokens: 1, sample: true }],
      tokens: Int32Array.from([...syntheticPrompt(30, 2), 77]),
      hidden: null,
    });
    expect([output.engineCalls, output.sampled.map((token) => [token.slot, token.position])]).toEqual([2, [[1, 30], [0, 51]]]);
    const alone = stageOf();
    expect(differences(stage.logits(0), logitsAfter(alone, 0, syntheticPrompt(30, 2), 30, new Int32Array(0)))).toBe(0);
    expect(differences(stage.logits(1), logitsAfter(alone, 0, syntheticPrompt(50, 1), 50, Int32Array.of(77)).slice(2048))).toBe(0);
  });
});

describe('input that the engine would die of', () => {
  it('is refused with a typed error, and the stage works on', () => {
    const stage = stageOf({ slots: 2, contextTokens: 256 });
    const slice = { slot: 0, position: 0, tokens: 1, sample: true };
    const step = (change: object, tokens = Int32Array.of(5)): string => codeOf(() => stage.step({ slices: [{ ...slice, ...change }], tokens, hidden: null }));
    expect(step({})).toBe('bad_frame');
    open(stage, 0);
    expect(codeOf(() => open(stage, 0))).toBe('bad_frame');
    expect(codeOf(() => open(stage, 2))).toBe('bad_frame');
    expect(step({ slot: -1 })).toBe('bad_frame');
    expect(step({ position: 1 })).toBe('bad_frame');
    expect(step({ tokens: 0 })).toBe('bad_frame');
    expect(step({ tokens: 2 })).toBe('bad_frame');
    expect(step({}, Int32Array.of(2048))).toBe('bad_request');
    expect(step({}, Int32Array.of(-1))).toBe('bad_request');
    expect(step({ tokens: 257 }, new Int32Array(257))).toBe('context_too_long');
    expect(codeOf(() => stage.step({ slices: [slice, slice], tokens: new Int32Array(2), hidden: null }))).toBe('bad_frame');
    expect(codeOf(() => stage.step({ slices: [slice], tokens: null, hidden: new Float32Array(256) }))).toBe('bad_frame');
    expect(codeOf(() => stage.logits(0))).toBe('not_ready');
    expect(step({})).toBe('nothing thrown');
  });

  it('fills the context to its last token', () => {
    const stage = stageOf({ contextTokens: 256 });
    open(stage, 0);
    expect(generate(stage, 0, syntheticPrompt(250, 3), 7)).toHaveLength(7);
    expect(codeOf(() => feed(stage, 0, Int32Array.of(5), 256, 1))).toBe('context_too_long');
  });

  it('names the file that does not load, and why', () => {
    expect(codeOf(() => stageOf({ stageFile: '/nonexistent.gguf' }))).toBe('io_failed');
    expect(codeOf(() => stageOf({ stageFile: new URL(import.meta.url).pathname }))).toBe('bad_gguf');
    expect(codeOf(() => stageOf({ slots: 0 }))).toBe('bad_config');
    expect(codeOf(() => stageOf({ slots: 257 }))).toBe('bad_config');
    expect(codeOf(() => stageOf({ contextTokens: 2 ** 31 }))).toBe('bad_config');
    expect(codeOf(() => stageOf({ role: 'head' }))).toBe('bad_config');
  });
});

describe('files that are not what they say', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ring-bad-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  function written(name: string, bytes: Uint8Array): string {
    const file = join(directory, name);
    writeFileSync(file, bytes);
    return file;
  }

  it('a truncated model, an unknown architecture, a model without its last layer', () => {
    const whole = readFileSync(MODEL_FILE);
    for (const length of [10, 5_000, whole.length >> 1, whole.length - 1]) {
      expect(codeOf(() => stageOf({ stageFile: written('short.gguf', whole.subarray(0, length)) })), `${length} bytes`).toBe('bad_gguf');
    }
    const unknown = Buffer.from(whole);
    unknown.write('xlama', unknown.indexOf('llama', unknown.indexOf('general.architecture')));
    expect(() => stageOf({ stageFile: written('unknown.gguf', unknown) })).toThrow(/does not know the kind of model.*xlama/s);
    const renamed = Buffer.from(whole);
    renamed.write('blk.4.attn_k.weighX', renamed.indexOf('blk.4.attn_k.weight'));
    expect(codeOf(() => stageOf({ stageFile: written('renamed.gguf', renamed) }))).toBe('bad_gguf');
  });
});

describe('sampling', () => {
  const prompt = syntheticPrompt(20, 5);
  const warm = (changes: Partial<SamplingSettings>): SamplingSettings => ({ ...GREEDY, temperature: 1, ...changes });

  function answer(stage: StageEngine, sampling: SamplingSettings, history: { readonly prompt?: Int32Array; readonly emitted?: readonly number[] } = {}, count = 24): number[] {
    const fed = history.prompt ?? prompt;
    open(stage, 0, { sampling, promptTokens: [...prompt], emittedTokens: history.emitted ?? [] });
    const tokens = generate(stage, 0, fed, count);
    close(stage, 0);
    return tokens;
  }

  it('B8: repeats with the same seed, differs with another', () => {
    const stage = stageOf();
    const once = answer(stage, warm({ seed: 7 }));
    expect(answer(stage, warm({ seed: 7 }))).toEqual(once);
    expect(answer(stage, warm({ seed: 8 }))).not.toEqual(once);
    expect(new Set(once).size).toBeGreaterThan(4);
  });

  it('a replay continues as if undisturbed, penalties included', () => {
    const stage = stageOf();
    const sampling = warm({ seed: 3, topK: 40, topP: 0.95, minP: 0.01, temperature: 0.9, repeatPenalty: 1.2, frequencyPenalty: 0.5, presencePenalty: 0.4 });
    const undisturbed = answer(stage, sampling);
    const emitted = undisturbed.slice(0, 9);
    const replayed = answer(stage, sampling, { prompt: Int32Array.from([...prompt, ...emitted]), emitted }, 15);
    expect(replayed).toEqual(undisturbed.slice(9));
  });

  it('repeat penalty looks at prompt and answer, frequency and presence at the answer only', () => {
    const stage = stageOf();
    const plain = answer(stage, GREEDY, {}, 1)[0] ?? -1;
    const biased: SamplingSettings = { ...GREEDY, logitBias: [[prompt[0] ?? 0, 100]] };
    expect(answer(stage, biased, {}, 3)).toEqual([prompt[0], prompt[0], prompt[0]]);
    // 100 above the rest is a factor that a penalty of 1000 undoes at once, because the prompt holds the token …
    expect(answer(stage, { ...biased, repeatPenalty: 1_000 }, {}, 1)).not.toEqual([prompt[0]]);
    // … while the answer's penalties let it pass once.
    expect(answer(stage, { ...biased, frequencyPenalty: 1_000 }, {}, 2)[0]).toBe(prompt[0]);
    expect(answer(stage, { ...biased, frequencyPenalty: 1_000 }, {}, 2)[1]).not.toBe(prompt[0]);
    expect(answer(stage, { ...biased, presencePenalty: 1_000 }, {}, 2)[1]).not.toBe(prompt[0]);
    expect(answer(stage, { ...GREEDY, logitBias: [[plain, -100]] }, {}, 1)).not.toEqual([plain]);
  });

  it('top-k 1 is greedy at any temperature', () => {
    const stage = stageOf();
    expect(answer(stage, warm({ topK: 1, temperature: 2, seed: 1 }))).toEqual(answer(stage, GREEDY));
  });

  it('ends a generation with the token that means it, unless told to go on', () => {
    const stage = stageOf();
    const biased: SamplingSettings = { ...GREEDY, logitBias: [[0, 100]] };
    open(stage, 0, { sampling: biased });
    const output = stage.step({ slices: [{ slot: 0, position: 0, tokens: prompt.length, sample: true }], tokens: prompt, hidden: null });
    expect(output.sampled).toEqual([{ slot: 0, sequenceId: 's0', position: prompt.length, token: 0, endOfGeneration: true }]);
    close(stage, 0);
    open(stage, 0, { sampling: { ...biased, ignoreEos: true } });
    expect(generate(stage, 0, prompt, 5)).not.toContain(0);
  });

  it('refuses settings that the engine would take amiss', () => {
    const stage = stageOf();
    expect(codeOf(() => open(stage, 0, { sampling: { ...GREEDY, repeatPenalty: 0 } }))).toBe('bad_request');
    expect(codeOf(() => open(stage, 0, { sampling: { ...GREEDY, temperature: Number.NaN } }))).toBe('bad_request');
    expect(codeOf(() => open(stage, 0, { sampling: { ...GREEDY, logitBias: [[2048, 1]] } }))).toBe('bad_request');
    expect(codeOf(() => open(stage, 0, { promptTokens: [-3] }))).toBe('bad_request');
    open(stage, 0);
  });
});
