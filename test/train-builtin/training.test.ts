/**
 * A small training, from text to an answer of the engine: that the loss falls, that what is written computes what was
 * trained, and that a stopped training goes on as if it had not been.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { GgmlTrainer } from '../../scripts/train-builtin/ggml-trainer.js';
import { readCheckpoint, readTokenizer, writeCheckpoint, writeModel } from '../../scripts/train-builtin/model-file.js';
import { cutText, measuringBatches, tokenize, TrainingOrder } from '../../scripts/train-builtin/text.js';
import { TorchTrainer } from '../../scripts/train-builtin/torch-trainer.js';
import { initialState, readState, writeState } from '../../scripts/train-builtin/trainer.js';
import type { Batch, Trainer, TrainingState } from '../../scripts/train-builtin/trainer.js';
import { bitsPerByte, train } from '../../scripts/train-builtin/training.js';
import type { Measured, TrainingPlan, TrainingTexts } from '../../scripts/train-builtin/training.js';
import { errorCodeOf } from '../../src/core/errors.js';
import { openStage } from '../../src/engine/stage.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { close, feed, generate, MODEL_FILE, open, wholeOptions } from '../engine/engine-support.js';

const PYTHON = '/usr/bin/python3';
const directory = mkdtempSync(join(tmpdir(), 'training-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const shape = { vocabulary: 2048, layers: 2, hidden: 64, heads: 2, feedForward: 96 };
const text = Array.from({ length: 400 }, (_, day) => `And the evening and the morning were the day ${day % 7}, and the number of the herd was ${day % 12} oxen.\n`).join('');

function textsOf(): TrainingTexts {
  const vocabulary = openVocabulary(MODEL_FILE);
  const parts = cutText(text);
  const tokenized = (part: string) => ({ tokens: tokenize(vocabulary, part), bytes: Buffer.byteLength(part) });
  const texts = { bos: vocabulary.bos ?? 0, train: tokenize(vocabulary, parts.train), validation: tokenized(parts.validation), heldOut: tokenized(parts.heldOut) };
  vocabulary.close();
  return texts;
}

const STEP_TOKENS = 128;
const planOf = (steps: number): TrainingPlan => ({
  shape, seed: 'test', batchTokens: STEP_TOKENS, shortLength: 32, longLength: 64, totalTokens: STEP_TOKENS * steps, matrixRate: 0.02, otherRate: 0.01, decay: 0.1,
  measureEverySteps: 25, deadlineMs: Number.POSITIVE_INFINITY,
});

interface Outcome {
  readonly measured: readonly Omit<Measured, 'trainer'>[];
  readonly state: TrainingState;
}

async function trained(
  plan: TrainingPlan, from: { readonly state: TrainingState; readonly steps: number; readonly tokens: number }, stopAfter = Number.POSITIVE_INFINITY,
): Promise<Outcome> {
  const measured: Omit<Measured, 'trainer'>[] = [];
  let state = from.state;
  let steps = 0;
  await train({
    plan, texts: textsOf(), openTrainer: (batch) => Promise.resolve(new GgmlTrainer(shape, batch, { threads: 1 })), start: from, state: from.state,
    onStep: () => { steps += 1; },
    onMeasured: async ({ trainer, ...figures }) => {
      measured.push(figures);
      state = await readState(trainer, shape);
    },
    stopped: () => steps >= stopAfter,
  });
  return { measured, state };
}

const fresh = () => ({ state: initialState(shape, 'test'), steps: 0, tokens: 0 });

describe('a training on ggml', () => {
  it('lowers the loss, and the model that it writes computes what was trained', async () => {
    const { measured, state } = await trained(planOf(100), fresh());
    expect(measured.map((figures) => figures.steps)).toEqual([25, 50, 75, 80, 100]);
    expect(measured.at(-1)?.windowLength).toBe(64);
    expect(measured[0]?.heldOut).toBeLessThan(3);
    expect(measured.at(-1)?.heldOut).toBeLessThan(0.5 * (measured[0]?.heldOut ?? 0));

    const facts = { name: 'small', shape, contextLength: 256, tokenizer: await readTokenizer(MODEL_FILE) };
    for (const precision of ['f16', 'q8_0'] as const) {
      const file = join(directory, `small-${precision}.gguf`);
      await writeModel(file, precision, facts, state);
      // The engine's own loss on a window, one token at a time, beside the training graph's.
      const { bos, heldOut } = textsOf();
      const window = heldOut.tokens.slice(0, 64);
      const stage = openStage(wholeOptions({ stageFile: file, contextTokens: 128 }));
      open(stage, 0);
      let nats = 0;
      [bos, ...window.slice(0, -1)].forEach((token, position) => {
        feed(stage, 0, Int32Array.of(token), position, 1);
        nats += crossEntropy(stage.logits(0), window[position] ?? 0);
      });
      close(stage, 0);
      const trainer = new GgmlTrainer(shape, { sequences: 1, length: 64 }, { threads: 1 });
      await writeState(trainer, state);
      const bits = await bitsPerByte(trainer, { tokens: window, bytes: 1 }, { sequences: 1, length: 64 }, { bos, nothing: shape.vocabulary });
      await trainer.close();
      expect(nats / Math.LN2 / bits).toBeCloseTo(1, precision === 'f16' ? 2 : 1);

      const vocabulary = openVocabulary(file);
      open(stage, 0);
      const answer = generate(stage, 0, vocabulary.tokenize('And the evening and', { addSpecial: true, parseSpecial: false }), 4);
      expect(Buffer.concat(answer.map((token) => vocabulary.piece(token))).toString()).toMatch(/^ the morning were/);
      vocabulary.close();
      stage.close();
    }
  });

  it('goes on from a checkpoint as if it had not been stopped', async () => {
    const whole = await trained(planOf(30), fresh());
    const first = await trained(planOf(30), fresh(), 17);
    const file = join(directory, 'checkpoint.gguf');
    const at = first.measured.at(-1);
    expect(at?.steps).toBe(17);
    await writeCheckpoint(file, { setting: 'test', steps: 17, tokens: at?.tokens ?? 0, bestBitsPerByte: null }, shape, first.state);
    const { progress, state } = await readCheckpoint(file, shape);
    const rest = await trained(planOf(30), { state, steps: progress.steps, tokens: progress.tokens });
    expect(rest.measured.at(-1)?.heldOut).toBeCloseTo(whole.measured.at(-1)?.heldOut ?? 0, 5);
    await expect(readCheckpoint(file, { ...shape, hidden: 32 })).rejects.toThrow(/another shape/);
    await expect(readCheckpoint(MODEL_FILE, shape)).rejects.toThrow(/no checkpoint/);
  });
});

describe('the text of a training', () => {
  it('is cut at ends of lines, and every part is whole', () => {
    const parts = cutText(text);
    expect(parts.train + parts.validation + parts.heldOut).toBe(text);
    for (const part of [parts.train, parts.validation]) expect(part.endsWith('\n')).toBe(true);
    expect(Buffer.byteLength(parts.heldOut) / parts.bytes).toBeCloseTo(0.02, 2);
    expect(Buffer.byteLength(parts.validation) / parts.bytes).toBeCloseTo(0.02, 2);
  });

  it('asks for every token once when it is measured, each after those before it in its window', () => {
    const tokens = Int32Array.from({ length: 21 }, (_, index) => index + 100);
    const batches = [...measuringBatches(tokens, { sequences: 2, length: 4 }, { bos: 0, nothing: 9999 })];
    expect(batches.map((batch) => [...batch.targets].filter((target) => target !== 9999)).flat()).toEqual([...tokens]);
    expect([...(batches[0]?.tokens ?? [])]).toEqual([0, 100, 101, 102, 0, 104, 105, 106]);
    expect([...(batches[2]?.tokens ?? [])]).toEqual([0, 116, 117, 118, 0, 120, 0, 0]);

    const overlapping = [...measuringBatches(tokens, { sequences: 2, length: 4 }, { bos: 0, nothing: 9999 }, 2)];
    expect(overlapping.map((batch) => [...batch.targets].filter((target) => target !== 9999)).flat()).toEqual([...tokens]);
    expect([...(overlapping[0]?.tokens ?? [])]).toEqual([0, 100, 101, 102, 0, 102, 103, 104]);
    expect([...(overlapping[0]?.targets ?? [])]).toEqual([100, 101, 102, 103, 9999, 9999, 104, 105]);
  });

  it('is seen in another order in every pass, each window once, the same for the same seed', () => {
    const tokens = Int32Array.from({ length: 1000 }, (_, index) => index + 1);
    const pass = (seed: string, number: number): number[] => {
      const order = new TrainingOrder(tokens, { sequences: 1, length: 10 }, 0, seed);
      return Array.from({ length: 99 }, (_, index) => order.batch(number * 99 + index).targets[0] ?? -1);
    };
    const [first, second] = [pass('a', 0), pass('a', 1)];
    expect(new Set(first).size).toBe(99);
    expect(pass('a', 0)).toEqual(first);
    expect(second).not.toEqual(first);
    expect(pass('b', 0)).not.toEqual(first);
    const batch = new TrainingOrder(tokens, { sequences: 1, length: 10 }, 0, 'a').batch(5);
    expect([...batch.tokens]).toEqual([0, ...batch.targets.slice(0, -1)]);
  });
});

describe('a training on PyTorch', () => {
  const batch = { sequences: 2, length: 16 };

  it('says what to do where there is none', async () => {
    const python = join(directory, 'no-python');
    await expect(TorchTrainer.open(shape, batch, { threads: 1, python })).rejects.toMatchObject({ code: 'engine_missing', message: expect.stringContaining('python3-torch') });
  });

  it('takes the same steps as one on ggml, where there is PyTorch', async () => {
    const torch = await TorchTrainer.open(shape, batch, { threads: 1, python: PYTHON }).catch((error: unknown) => errorCodeOf(error));
    if (typeof torch === 'string') {
      // A developer's machine need not have it: nothing else of this project does.
      expect(torch).toBe('engine_missing');
      return;
    }
    const tokens = Int32Array.from({ length: 32 }, (_, index) => (index * 7919) % 97);
    const example: Batch = { tokens, targets: tokens.map((token) => (token + 1) % 97) };
    const losses = async (trainer: Trainer): Promise<number[]> => {
      await writeState(trainer, initialState(shape, 'same'));
      const all: number[] = [];
      for (let step = 1; step <= 6; step++) all.push(await trainer.step(example, { matrix: 0.02, other: 0.004, decay: 0.1, step }));
      all.push(await trainer.measure({ tokens, targets: example.targets.with(3, shape.vocabulary) }));
      await trainer.close();
      return all;
    };
    const expected = await losses(new GgmlTrainer(shape, batch, { threads: 1 }));
    (await losses(torch)).forEach((loss, index) => expect(loss).toBeCloseTo(expected[index] ?? 0, 3));
  });
});

function crossEntropy(logits: Float32Array, target: number): number {
  const largest = logits.reduce((a, b) => Math.max(a, b));
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  return Math.log(sum) + largest - (logits[target] ?? 0);
}
