import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStage } from '../../src/engine/stage.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { embeddingInModel, planStageFile } from '../../src/model/stage-file.js';
import { writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource } from '../../src/model/tensor-source.js';
import type { StageEngine, StageInput, StageOptions, StageOutput } from '../../src/ports.js';
import { differences, MODEL_FILE, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const CUTS = [[0, 2], [2, 4], [4, 5]] as const;
let directory = '';
let whole: StageEngine;
let ring: StageEngine[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ring-engine-'));
  const header = await readGgufHeader(MODEL_FILE);
  const source = modelTensorSource(header, new DigestCache(null));
  const shape: Partial<StageOptions> = { slots: 8, batchTokens: 512 };
  whole = openStage(wholeOptions(shape));
  for (const [start, end] of CUTS) {
    const head = start === 0;
    const tail = end === 5;
    const stageFile = join(directory, `${start}-${end}.gguf`);
    await writeStageFile(planStageFile(header, { range: { start, end }, head, tail }, { copyEmbedding: false }), source, stageFile);
    ring.push(openStage(wholeOptions({ ...shape, role: head ? 'head' : tail ? 'tail' : 'middle', stageFile, embedding: head ? embeddingInModel(header) : null })));
  }
});

afterAll(async () => {
  for (const stage of [whole, ...ring]) stage.close();
  await rm(directory, { recursive: true, force: true });
});

function through(input: StageInput): StageOutput[] {
  const outputs: StageOutput[] = [];
  let next = input;
  for (const stage of ring) {
    const output = stage.step(next);
    outputs.push(output);
    next = { slices: input.slices, tokens: null, hidden: output.hidden };
  }
  return outputs;
}

function restart(slots: readonly number[]): void {
  for (const stage of [whole, ...ring]) {
    stage.reset();
    for (const slot of slots) open(stage, slot);
  }
}

describe('a model in three stages', () => {
  it('gives the whole model\'s logits bit for bit, past 300 tokens', () => {
    restart([0]);
    const prompt = syntheticPrompt(320, 4);
    for (const [from, to] of [[0, 200], [200, 320]] as const) {
      const input = { slices: [{ slot: 0, position: from, tokens: to - from, sample: true }], tokens: prompt.slice(from, to), hidden: null };
      const expected = whole.step(input);
      expect(through(input).at(-1)?.sampled).toEqual(expected.sampled);
      expect(differences(ring[2]?.logits(0) ?? new Float32Array(1), whole.logits(0))).toBe(0);
    }
    for (let position = 320; position < 326; position += 1) {
      const input = { slices: [{ slot: 0, position, tokens: 1, sample: true }], tokens: Int32Array.of(position), hidden: null };
      whole.step(input);
      through(input);
      expect(differences(ring[2]?.logits(0) ?? new Float32Array(1), whole.logits(0))).toBe(0);
    }
  });

  it('keeps slice order and exactness when slots have holes and token counts differ', () => {
    const slots = [6, 0, 3, 1];
    restart(slots);
    const prompts = slots.map((slot) => syntheticPrompt(20 + slot, slot));
    const prefill: StageInput = {
      slices: slots.map((slot, index) => ({ slot, position: 0, tokens: prompts[index]?.length ?? 0, sample: true })),
      tokens: Int32Array.from(prompts.flatMap((prompt) => [...prompt])),
      hidden: null,
    };
    const expected = whole.step(prefill);
    const outputs = through(prefill);
    expect(outputs.at(-1)?.sampled).toEqual(expected.sampled);
    expect(outputs.at(-1)?.sampled.map((token) => token.slot)).toEqual(slots);
    const decode: StageInput = {
      slices: slots.map((slot, index) => ({ slot, position: prompts[index]?.length ?? 0, tokens: 1, sample: true })),
      tokens: Int32Array.of(31, 32, 33, 34),
      hidden: null,
    };
    whole.step(decode);
    expect(through(decode).map((output) => output.engineCalls)).toEqual([1, 1, 1]);
    slots.forEach((slot, index) => {
      expect(differences(ring[2]?.logits(index) ?? new Float32Array(1), whole.logits(index)), `slot ${slot}`).toBe(0);
    });
  });

  it('a head and a middle have no vocabulary, a tail has the model\'s', () => {
    expect(ring.map((stage) => [stage.layers, stage.vocabularySize])).toEqual([[2, 0], [2, 0], [1, 2048]]);
  });
});
