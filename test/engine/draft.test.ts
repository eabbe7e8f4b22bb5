/** A draft's slots in the engine: whatever was read, guessed wrong, taken over or copied before, it guesses as one that reads all anew. */
import { afterAll, expect, it } from 'vitest';
import { DraftRun } from '../../src/core/draft-run.js';
import { DraftSlots } from '../../src/core/draft-slots.js';
import type { SampledToken } from '../../src/core/step-types.js';
import { openStage } from '../../src/engine/stage.js';
import type { StageEngine } from '../../src/ports.js';
import { Random } from '../core/strict-stages.js';
import { syntheticPrompt, wholeOptions } from './engine-support.js';

const SLOTS = 3;
const SEQUENCES = 5;
const GUESSES = 6;
const BATCH = 64;

const [kept, fresh] = [stageOf(), stageOf()];
afterAll(() => {
  for (const stage of [kept, fresh]) stage.close();
});

/** With these types it does not matter in which steps tokens came. */
function stageOf(): StageEngine {
  return openStage(wholeOptions({ slots: SLOTS, batchTokens: BATCH, keyType: 'q8_0', valueType: 'f16' }));
}

/** Wishes until all is read; the guesses of the last one. */
function guesses(stage: StageEngine, slots: DraftSlots, sequenceId: string, tokens: readonly number[]): readonly number[] {
  for (;;) {
    const run = new DraftRun(slots, { sequenceId, tokens, ignoreEos: true, limit: GUESSES, withinMs: 0 }, BATCH);
    let drawn: SampledToken | null = null;
    for (let step = run.next(null); step !== null; step = run.next(drawn)) {
      stage.apply(step.operations);
      drawn = stage.step({ slices: step.slices, tokens: step.tokens, hidden: null }).sampled[0] ?? null;
    }
    if (run.read === tokens.length) return run.guesses;
  }
}

it('guesses the same with any past', () => {
  const random = new Random(3);
  const slots = new DraftSlots(SLOTS);
  const beginning = [...syntheticPrompt(70, 5)];
  const texts = Array.from({ length: SEQUENCES }, (_, index) => [...beginning.slice(0, 70 - index * 12), ...syntheticPrompt(10 + index * 20, index + 9)]);
  for (let turn = 0; turn < 40; turn += 1) {
    const index = random.below(SEQUENCES);
    const text = texts[index] ?? [];
    const found = guesses(kept, slots, `s${index}`, text);
    fresh.reset();
    expect(found, `turn ${turn}, sequence ${index}`).toEqual(guesses(fresh, new DraftSlots(1), 'anew', text));
    expect(found).toHaveLength(GUESSES);
    // Some of the guesses were right, and the text goes on otherwise.
    text.push(...found.slice(0, random.below(GUESSES)), 50 + random.below(1_000));
  }
});
