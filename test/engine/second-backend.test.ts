import { afterAll, describe, expect, it } from 'vitest';
import type { Backend } from '../../src/core/types.js';
import { inventory } from '../../src/engine/devices.js';
import { listPackages } from '../../src/engine/packages.js';
import { openStage } from '../../src/engine/stage.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import type { StageEngine } from '../../src/ports.js';
import { generate, MODEL_FILE, open, wholeOptions } from './engine-support.js';

/** Logits of the built-in model reach 13; kernels of two backends round differently (seen: 0.17 on a software Vulkan device). */
const LOGIT_TOLERANCE = 0.4;
const opened: StageEngine[] = [];
/** A process loads one package; the GPU one has the cpu too, so both can be compared here. */
const gpu: Backend = listPackages().find((entry) => entry.backend !== 'cpu')?.backend ?? 'vulkan';
const installed = listPackages().some((entry) => entry.backend === gpu);
const present = installed && inventory(gpu).devices.some((device) => device.backend === gpu);

afterAll(() => {
  for (const stage of opened) stage.close();
});

function answer(backend: Backend): { readonly tokens: readonly number[]; readonly logits: Float32Array } {
  const vocabulary = openVocabulary(MODEL_FILE);
  const prompt = vocabulary.tokenize('And it came to pass, when the king heard the words of the book of the law,', { addSpecial: true, parseSpecial: false });
  vocabulary.close();
  const stage = openStage(wholeOptions({ backend }));
  opened.push(stage);
  open(stage, 0);
  const first = generate(stage, 0, prompt, 1);
  const logits = stage.logits(0);
  stage.reset();
  open(stage, 0);
  const tokens = generate(stage, 0, prompt, 32);
  expect(tokens[0]).toBe(first[0]);
  return { tokens, logits };
}

describe(`the ${gpu} backend beside the cpu`, () => {
  it('answers as the cpu does where its device is, and says what is missing where it is not', () => {
    if (!present) {
      expect(() => openStage(wholeOptions({ backend: gpu }))).toThrow(new RegExp(`backend ${gpu} was asked for`));
      return;
    }
    const here = answer(gpu);
    const cpu = answer('cpu');
    expect(here.tokens).toEqual(cpu.tokens);
    cpu.logits.forEach((value, token) => expect(Math.abs(value - (here.logits[token] ?? Number.NaN))).toBeLessThan(LOGIT_TOLERANCE));
  });
});
