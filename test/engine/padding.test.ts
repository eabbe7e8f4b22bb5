/** Batches with padding lanes before, between and behind them, whole and in stages: no answer changes by it. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SampledToken } from '../../src/core/step-types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import type { StageEngine } from '../../src/ports.js';
import { GREEDY, openRing } from '../support/ring-in-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { MODEL_FILE, syntheticPrompt } from './engine-support.js';

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

/** The first steps of a size go without padding, the next with it, whatever is better then. */
const STEPS = 10;

/** Sequences decode together in these slots of six. */
async function decode(slots: readonly number[], cuts: readonly number[]): Promise<number[][]> {
  const stages = await openRing(header, 5, cuts, directory, { slots: 6 });
  opened.push(...stages);
  const run = (slices: readonly { slot: number; position: number; tokens: number; sample: boolean }[], tokens: Int32Array): readonly SampledToken[] => {
    let hidden: Float32Array | null = null;
    let sampled: readonly SampledToken[] = [];
    stages.forEach((stage, rank) => {
      const output = stage.step({ slices, tokens: rank === 0 ? tokens : null, hidden });
      hidden = output.hidden?.slice() ?? null;
      sampled = output.sampled;
    });
    return sampled;
  };
  const answers = slots.map((slot) => {
    const prompt = syntheticPrompt(8 + slot, slot);
    for (const stage of stages) {
      stage.apply([{ kind: 'open', slot, sequenceId: `s${slot}`, sampling: GREEDY, origin: 'test', promptLength: prompt.length, promptTokens: [], emittedTokens: [] }]);
    }
    return [run([{ slot, position: 0, tokens: prompt.length, sample: true }], prompt)[0]?.token ?? -1];
  });
  for (let step = 0; step < STEPS; step += 1) {
    const sampled = run(slots.map((slot) => ({ slot, position: 8 + slot + step, tokens: 1, sample: true })), Int32Array.from(answers.map((answer) => answer.at(-1) ?? 0)));
    slots.forEach((slot, index) => answers[index]?.push(sampled.find((token) => token.slot === slot)?.token ?? -1));
  }
  return answers;
}

describe('padding', () => {
  it.each([
    ['behind', [0, 1, 2]], ['before', [3, 4, 5]], ['on both sides', [1, 2]], ['between and behind', [0, 2]],
  ])('%s a batch leaves every answer as it was', async (_name, slots) => {
    const alone = (await Promise.all(slots.map((slot) => decode([slot], [])))).flat();
    expect(alone.every((answer) => answer.length === STEPS + 1 && !answer.includes(-1))).toBe(true);
    expect(await decode(slots, [])).toEqual(alone);
    expect(await decode(slots, [2, 4])).toEqual(alone);
  });
});
