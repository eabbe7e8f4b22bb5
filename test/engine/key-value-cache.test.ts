/** B7: keys and values nowhere, in host memory or on the device: the same tokens, other memory. */
import { describe, expect, it } from 'vitest';
import { stageBytes, libllamaMemory } from '../../src/core/memory-model.js';
import { nodeTable } from '../../src/core/node-tables.js';
import type { SamplingSettings, SequenceOperation } from '../../src/core/step-types.js';
import type { KeyValueCachePolicy } from '../../src/core/types.js';
import { openStage } from '../../src/engine/stage.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { modelShape } from '../../src/model/model-shape.js';
import type { StageEngine } from '../../src/ports.js';
import { answer, openRing } from '../support/ring-in-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { close, generate, GREEDY, MODEL_FILE, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const SEEDED: SamplingSettings = { ...GREEDY, temperature: 1, seed: 9, topP: 0.9, repeatPenalty: 1.2 };

function stageWith(keyValueCache: KeyValueCachePolicy | undefined, slots = 1): StageEngine {
  return openStage(wholeOptions({ slots, ...(keyValueCache === undefined ? {} : { keyValueCache }) }));
}

function tokensOf(stage: StageEngine, sampling: SamplingSettings, prompt: Int32Array): number[] {
  open(stage, 0, { sampling, promptTokens: [...prompt] });
  const tokens = generate(stage, 0, prompt, 12, 64);
  close(stage, 0);
  return tokens;
}

describe('B7: kv_cache', () => {
  it.each([['greedy', GREEDY], ['seeded, with penalties', SEEDED]] as const)('none, host and device give the same tokens, %s', (_name, sampling) => {
    const prompt = syntheticPrompt(270, 3);
    const answers = ([undefined, 'none', 'host', 'device'] as const).map((policy) => {
      const stage = stageWith(policy);
      const tokens = tokensOf(stage, sampling, prompt);
      stage.close();
      return tokens;
    });
    for (const tokens of answers) expect(tokens).toEqual(answers[0]);
  });

  it('none: sequences of several slots do not see each other', () => {
    const prompts = [syntheticPrompt(30, 1), syntheticPrompt(17, 2)];
    const alone = prompts.map((prompt) => {
      const stage = stageWith('device');
      const tokens = tokensOf(stage, GREEDY, prompt);
      stage.close();
      return tokens;
    });
    const stage = stageWith('none', 2);
    const last = prompts.map((prompt, slot) => {
      open(stage, slot);
      return [generate(stage, slot, prompt, 1)[0] ?? -1];
    });
    for (let count = 1; count < 12; count += 1) {
      const { sampled } = stage.step({
        slices: last.map((tokens, slot) => ({ slot, position: (prompts[slot]?.length ?? 0) + tokens.length - 1, tokens: 1, sample: true })),
        tokens: Int32Array.from(last, (tokens) => tokens.at(-1) ?? 0), hidden: null,
      });
      for (const token of sampled) last[token.slot]?.push(token.token);
    }
    expect(last).toEqual(alone);
    stage.close();
  });

  it('none: a stage in the middle of a ring computes alone what it had', async () => {
    const header = await readGgufHeader(MODEL_FILE);
    const directory = temporaryDirectory('kv');
    const prompt = [...syntheticPrompt(40, 5)];
    const answers = [];
    for (const policy of ['device', 'none'] as const) {
      const stages = await openRing(header, 5, [2, 4], directory, { keyValueCache: policy });
      answers.push(answer(stages, prompt, 8, 16));
      for (const stage of stages) stage.close();
    }
    expect(answers[1]?.tokens).toEqual(answers[0]?.tokens);
    expect(answers[1]?.logits).toEqual(answers[0]?.logits);
  });

  it('none: guesses are taken back and kept input is used again', () => {
    const prompt = syntheticPrompt(20, 8);
    const expected = ((): number[] => {
      const stage = stageWith('device');
      const tokens = tokensOf(stage, GREEDY, prompt);
      stage.close();
      return tokens;
    })();
    const stage = stageWith('none', 2);
    open(stage, 0);
    const first = generate(stage, 0, prompt, 1)[0] ?? -1;
    const wrong = (expected[1] ?? 0) + 1;
    const guessed = stage.step({ slices: [{ slot: 0, position: prompt.length, tokens: 2, sample: true, draft: [wrong] }], tokens: Int32Array.of(first, wrong), hidden: null });
    expect([first, ...guessed.sampled.map(({ token }) => token)]).toEqual(expected.slice(0, 2));
    const next = stage.step({ slices: [{ slot: 0, position: prompt.length + 1, tokens: 1, sample: true }], tokens: Int32Array.of(expected[1] ?? 0), hidden: null });
    expect(next.sampled[0]?.token).toBe(expected[2]);
    const again: SequenceOperation = {
      kind: 'open', slot: 1, sequenceId: 'again', sampling: GREEDY, origin: 'test', promptLength: 0, promptTokens: [], emittedTokens: [],
      reuse: { slot: 0, tokens: prompt.length - 1 },
    };
    stage.apply([{ kind: 'close', slot: 0, retain: true }, again]);
    const reused = stage.step({ slices: [{ slot: 1, position: prompt.length - 1, tokens: 1, sample: true }], tokens: prompt.slice(-1), hidden: null });
    expect(reused.sampled[0]?.token).toBe(expected[0]);
    stage.close();
  });

  it('none: the plan counts one sequence\'s cells and everybody\'s input', async () => {
    const shape = modelShape(await readGgufHeader(MODEL_FILE), 'kjv');
    const options = { contextTokens: 512, slots: 8, keyType: 'q8_0', valueType: 'f16' } as const;
    const table = libllamaMemory(shape, options);
    const without = nodeTable({ shape, settings: { keyValueCache: 'none' }, ownMemory: false, options }, libllamaMemory);
    if (without === undefined) throw new Error('a table of its own');
    const middle = { start: 1, end: 4 };
    expect(stageBytes(without, middle).cache).toBe(stageBytes(table, middle).cache / 8);
    expect(stageBytes(without, middle).buffers - stageBytes(table, middle).buffers).toBe(8 * 512 * shape.hiddenSize * 4);
    expect(nodeTable({ shape, settings: { keyValueCache: 'host' }, ownMemory: false, options }, libllamaMemory)).toBeUndefined();
  });
});
