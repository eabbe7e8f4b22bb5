/** What a slot holds may be gone on with or copied, and no bit of any answer changes. */
import { afterEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { SequenceOperation } from '../../src/core/step-types.js';
import { openStage } from '../../src/engine/stage.js';
import type { StageEngine, StageOptions } from '../../src/ports.js';
import { differences, feed, generate, GREEDY, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const opened: StageEngine[] = [];
afterEach(() => {
  for (const stage of opened.splice(0)) stage.close();
});

function stageOf(changes: Partial<StageOptions> = {}): StageEngine {
  const stage = openStage(wholeOptions({ threads: 2, ...changes }));
  opened.push(stage);
  return stage;
}

function openOn(stage: StageEngine, slot: number, from: number, tokens: number): void {
  const operation: SequenceOperation = {
    kind: 'open', slot, sequenceId: `s${slot}`, sampling: GREEDY, origin: 'test', promptLength: 0, promptTokens: [], emittedTokens: [], reuse: { slot: from, tokens },
  };
  stage.apply([operation]);
}

const retain = (stage: StageEngine, slot: number): void => stage.apply([{ kind: 'close', slot, retain: true }]);

const first = syntheticPrompt(330, 1);
const second = Int32Array.from([...first.subarray(0, 300), ...syntheticPrompt(40, 2)]);

function aloneLogits(): Float32Array {
  const stage = stageOf();
  open(stage, 0);
  feed(stage, 0, second, 0, 200);
  return stage.logits(0).slice();
}

describe('slots that begin with what a slot holds', () => {
  it('goes on with a retained slot, exactly as if all had been computed', () => {
    const stage = stageOf({ slots: 2 });
    expect(stage.canRollBack).toBe(true);
    open(stage, 1);
    generate(stage, 1, first, 10);
    retain(stage, 1);
    openOn(stage, 1, 1, 300);
    feed(stage, 1, second.slice(300), 300, 200);
    expect(differences(stage.logits(0), aloneLogits())).toBe(0);
  });

  it('copies from a running and from a retained slot; the source goes on undisturbed', () => {
    const stage = stageOf({ slots: 3 });
    open(stage, 0);
    const next = feed(stage, 0, first, 0, 200);
    openOn(stage, 1, 0, 300);
    feed(stage, 1, second.slice(300), 300, 200);
    expect(differences(stage.logits(0), aloneLogits())).toBe(0);
    retain(stage, 1);
    openOn(stage, 2, 1, 320);
    feed(stage, 2, second.slice(320), 320, 200);
    expect(differences(stage.logits(0), aloneLogits())).toBe(0);
    const reference = stageOf();
    open(reference, 0);
    const [expected, after] = generate(reference, 0, first, 2);
    expect(next).toBe(expected);
    expect(feed(stage, 0, Int32Array.of(next), first.length, 1)).toBe(after);
  });

  it('decodes across retained slots in one call, moves them out of the way, and neither side changes', () => {
    const stage = stageOf({ slots: 8, contextTokens: 512 });
    const reference = stageOf();
    const prompts = Array.from({ length: 7 }, (_, slot) => syntheticPrompt(20 + slot, 50 + slot));
    prompts.forEach((prompt, slot) => {
      open(stage, slot);
      feed(stage, slot, prompt, 0, 200);
    });
    for (const slot of [1, 2, 3, 4, 5]) retain(stage, slot);
    const calls: number[] = [];
    const texts = [0, 6].map((slot) => {
      open(reference, 0);
      const tokens = generate(reference, 0, prompts[slot] ?? new Int32Array(0), 12);
      reference.apply([{ kind: 'close', slot: 0 }]);
      return tokens;
    });
    for (let index = 0; index + 1 < 12; index += 1) {
      if (index === 6) stage.apply([{ kind: 'move', slot: 1, to: 7 }, { kind: 'move', slot: 6, to: 1 }]);
      const output = stage.step({
        slices: [0, 6].map((slot) => ({ slot: slot === 6 && index >= 6 ? 1 : slot, position: (prompts[slot]?.length ?? 0) + index, tokens: 1, sample: true })),
        tokens: Int32Array.from(texts.map((text) => text[index] ?? 0)), hidden: null,
      });
      calls.push(output.engineCalls);
      expect(output.sampled.map((sampled) => sampled.token)).toEqual(texts.map((text) => text[index + 1]));
    }
    // Five retained slots between them are too many to pad.
    expect(calls).toEqual([2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]);
    expect(() => stage.apply([{ kind: 'move', slot: 6, to: 5 }])).toThrow(/cannot move/);
    expect(() => stage.apply([{ kind: 'move', slot: 0, to: 1 }])).toThrow(/cannot move/);
    openOn(stage, 6, 7, (prompts[1]?.length ?? 0) - 1);
    open(reference, 0);
    const moved = prompts[1] ?? new Int32Array(0);
    expect(feed(stage, 6, moved.slice(-1), moved.length - 1, 1)).toBe(feed(reference, 0, moved, 0, 200));
    reference.apply([{ kind: 'close', slot: 0 }]);
    const prompt = prompts[3] ?? new Int32Array(0);
    openOn(stage, 3, 3, prompt.length - 1);
    feed(stage, 3, prompt.slice(-1), prompt.length - 1, 1);
    const logits = stage.logits(0).slice();
    open(reference, 0);
    feed(reference, 0, prompt, 0, 200);
    expect(differences(logits, reference.logits(0))).toBe(0);
  });

  it('pads a retained slot behind what it holds', () => {
    const stage = stageOf({ slots: 3 });
    const prompts = [0, 1, 2].map((slot) => syntheticPrompt(30, 70 + slot));
    const next = prompts.map((prompt, slot) => {
      open(stage, slot);
      return feed(stage, slot, prompt, 0, 200);
    });
    retain(stage, 1);
    const output = stage.step({ slices: [0, 2].map((slot) => ({ slot, position: 30, tokens: 1, sample: true })), tokens: Int32Array.of(next[0] ?? 0, next[2] ?? 0), hidden: null });
    expect(output.engineCalls).toBe(1);
    openOn(stage, 1, 1, 29);
    expect(feed(stage, 1, (prompts[1] ?? new Int32Array(0)).slice(29), 29, 1)).toBe(next[1]);
  });

  it('refuses more than a slot holds, a slot that runs, and a slot that is empty', () => {
    const stage = stageOf({ slots: 3 });
    open(stage, 0);
    feed(stage, 0, first.slice(0, 20), 0, 200);
    for (const [slot, from, tokens] of [[1, 0, 21], [0, 0, 10], [1, 2, 1], [1, 0, 0]] as const) {
      expect(() => openOn(stage, slot, from, tokens)).toThrow(RingError);
    }
    openOn(stage, 1, 0, 20);
  });
});
