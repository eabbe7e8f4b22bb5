/**
 * The promise of docs/how-it-works.md: logits through 2 and 3 stages equal the whole model's to the bit on cpu.
 *
 * Random models of every splittable architecture with real layer counts at a tiny width, prompts longer than every
 * window. An architecture is in architectures.ts as splittable because it is here. No tolerance is used: all are 0.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { generateModel } from '../../scripts/generate-model.js';
import type { ModelRecipe } from '../../scripts/generate-model.js';
import { SPLITTABLE_ARCHITECTURES, splitRules } from '../../src/model/architectures.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { architectureFacts } from '../../src/model/model-facts.js';
import type { StageEngine } from '../../src/ports.js';
import type { Answer, StageSettings } from '../support/ring-in-process.js';
import { answer, GREEDY, largestDifference, openRing } from '../support/ring-in-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const WINDOW = 64;
const PROMPT_TOKENS = 150;
const CHUNK = 60;
const ANSWER_TOKENS = 6;
const ANSWER_OF_KJV = 40;

interface Case extends ModelRecipe {
  readonly cuts: readonly (readonly number[])[];
  readonly settings?: StageSettings;
}

const RECIPES: readonly Case[] = [
  { architecture: 'llama', layers: 16, weights: 'q8_0', cuts: [[8], [5, 11]] },
  { architecture: 'llama', layers: 22, weights: 'q4_0', ownOutput: false, cuts: [[1], [7, 21]] },
  { architecture: 'qwen2', layers: 24, weights: 'f16', cuts: [[12], [8, 16]] },
  { architecture: 'qwen2', layers: 28, weights: 'q4_0', ownOutput: true, cuts: [[13], [1, 27]] },
  { architecture: 'qwen3', layers: 28, weights: 'q8_0', cuts: [[14], [9, 19]] },
  { architecture: 'qwen3', layers: 36, weights: 'q4_0', cuts: [[28], [12, 24]] },
  { architecture: 'qwen3moe', layers: 48, weights: 'q8_0', cuts: [[24], [15, 31]] },
  { architecture: 'gpt-oss', layers: 24, weights: 'q8_0', cuts: [[12], [8, 16], [2, 22]] },
  { architecture: 'gemma2', layers: 26, weights: 'q8_0', cuts: [[12], [8, 18]] },
  { architecture: 'gemma3', layers: 26, weights: 'f16', cuts: [[12], [6, 18]] },
  { architecture: 'gemma3', layers: 34, weights: 'q8_0', cuts: [[18], [12, 24]] },
  { architecture: 'phi3', layers: 32, weights: 'q4_0', cuts: [[16], [11, 21]] },
  { architecture: 'llama', layers: 32, weights: 'q8_0', experts: true, cuts: [[16], [10, 21]] },
  { architecture: 'gemma', layers: 18, weights: 'q8_0', cuts: [[9], [5, 13]] },
  { architecture: 'qwen2moe', layers: 24, weights: 'q8_0', cuts: [[12], [7, 17]] },
  { architecture: 'mistral3', layers: 26, weights: 'q4_0', cuts: [[13], [9, 17]] },
  { architecture: 'smollm3', layers: 36, weights: 'q8_0', cuts: [[16], [12, 24]] },
  { architecture: 'seed_oss', layers: 64, weights: 'q8_0', cuts: [[32], [21, 43]] },
  { architecture: 'olmo2', layers: 16, weights: 'f16', window: 0, cuts: [[8], [5, 11]] },
  { architecture: 'olmo2', layers: 32, weights: 'q8_0', cuts: [[16], [12, 24]] },
  // Latent attention keeps no values of its own: the value cache has the keys' type (architectures.ts).
  { architecture: 'deepseek2', layers: 27, weights: 'q8_0', cuts: [[13], [1, 14]] },
];

function promptOf(seed: number): number[] {
  let state = seed >>> 0;
  return Array.from({ length: PROMPT_TOKENS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 3 + (state >>> 8) % 2000;
  });
}

async function runRing(
  header: GgufHeader, layers: number, cuts: readonly number[], directory: string, settings: StageSettings = {}, count = ANSWER_TOKENS, sampling = GREEDY,
): Promise<Answer> {
  let stages: StageEngine[] = [];
  try {
    stages = await openRing(header, layers, cuts, directory, settings);
    return answer(stages, promptOf(layers), count, CHUNK, sampling);
  } finally {
    for (const stage of stages) stage.close();
  }
}

describe.each(RECIPES)('$architecture of $layers layers in $weights', (recipe) => {
  let directory = '';
  let header: GgufHeader;
  let whole: Answer;

  beforeAll(async () => {
    directory = temporaryDirectory();
    const path = join(directory, 'model.gguf');
    await generateModel(path, { window: WINDOW, ...recipe });
    header = await readGgufHeader(path);
    whole = await runRing(header, recipe.layers, [], directory, recipe.settings);
  });

  it('gives sane logits', () => {
    for (const row of whole.logits) {
      expect(row.every((value) => Number.isFinite(value))).toBe(true);
      expect(Math.max(...row)).toBeGreaterThan(0.1);
    }
  });

  it.each(recipe.cuts.map((cuts) => ({ cuts })))('cut at $cuts equals the whole to the bit', async ({ cuts }) => {
    const split = await runRing(header, recipe.layers, cuts, directory, recipe.settings);
    expect(largestDifference(split.logits, whole.logits)).toBe(0);
    expect(split.tokens).toEqual(whole.tokens);
  });

  it('has windows shorter than the prompt, where it has any', () => {
    const windows = splitRules(architectureFacts(header)).windowTokens.filter((tokens) => tokens > 0);
    for (const tokens of windows) expect(tokens).toBeLessThan(PROMPT_TOKENS);
  });
});

describe('the built-in model', () => {
  let header: GgufHeader;
  let directory = '';
  beforeAll(async () => {
    header = await readGgufHeader('models/kjv-q8_0.gguf');
    directory = temporaryDirectory();
  });

  it('B8: answers the same through 1, 2, 3 and 5 stages, greedy and seeded', async () => {
    for (const sampling of [GREEDY, { ...GREEDY, temperature: 1, topP: 0.95, seed: 7 }]) {
      const whole = await runRing(header, 5, [], directory, {}, ANSWER_OF_KJV, sampling);
      for (const cuts of [[2], [1, 3], [1, 2, 3, 4]]) {
        const split = await runRing(header, 5, cuts, directory, {}, ANSWER_OF_KJV, sampling);
        expect(largestDifference(split.logits, whole.logits)).toBe(0);
        expect(split.tokens).toEqual(whole.tokens);
      }
    }
  });
});

describe('the table of rules', () => {
  it('calls splittable what is shown here, and nothing else', () => {
    const shown = new Set(RECIPES.map((recipe) => recipe.architecture));
    expect([...SPLITTABLE_ARCHITECTURES].sort()).toEqual([...shown].sort());
  });
});
