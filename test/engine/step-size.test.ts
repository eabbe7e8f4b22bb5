/** A ring's smaller steps and calls give what a lone node's give, to the bit, also where a window's cells begin again. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateModel } from '../../scripts/generate-model.js';
import { callTokens, MAX_STEP_TOKENS, stepTokens } from '../../src/core/step-size.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { answer, largestDifference, openRing } from '../support/ring-in-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const WINDOW = 96;
const LAYERS = 12;
/** More than a window and a call have cells for, padded. */
const PROMPT = Array.from({ length: 900 }, (_, index) => ((7919 * (index + 1)) % 2000) + 3);

describe('steps of a ring', () => {
  it.each(['llama', 'gemma3', 'gpt-oss'])('in a model of architecture %s give the same logits as a lone node\'s', async (architecture) => {
    const directory = temporaryDirectory('step-size');
    const path = join(directory, 'model.gguf');
    await generateModel(path, { architecture, layers: LAYERS, weights: 'f16', window: WINDOW });
    const header = await readGgufHeader(path);
    const run = async (cuts: readonly number[], batchTokens: number, chunk: number): Promise<ReturnType<typeof answer>> => {
      const stages = await openRing(header, LAYERS, cuts, directory, { contextTokens: 1024, batchTokens });
      const result = answer(stages, PROMPT, 6, chunk);
      for (const stage of stages) stage.close();
      return result;
    };
    const alone = await run([], callTokens({ stages: 1, backend: 'cpu' }), stepTokens(1));
    const ring = await run([6], callTokens({ stages: 2, backend: 'cpu' }), stepTokens(2));
    expect(ring.tokens).toEqual(alone.tokens);
    expect(largestDifference(ring.logits, alone.logits)).toBe(0);
    // As a head of a build without the smaller bound sends them.
    const older = await run([6], callTokens({ stages: 2, backend: 'cpu' }), MAX_STEP_TOKENS);
    expect(largestDifference(older.logits, alone.logits)).toBe(0);
  });
});
