/** A prompt's hidden states in one, against libllama's own pooling over the whole model. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pooling } from '../../src/core/step-types.js';
import { DecodeBatch } from '../../src/engine/decode-batch.js';
import { viewMemory } from '../../src/engine/llama.js';
import { loadModel } from '../../src/engine/model-loader.js';
import { openStage } from '../../src/engine/stage.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { embeddingInModel, planStageFile } from '../../src/model/stage-file.js';
import { writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource } from '../../src/model/tensor-source.js';
import type { StageEngine } from '../../src/ports.js';
import { close, feed, GREEDY, MODEL_FILE, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const HIDDEN = 256;
const PROMPT = syntheticPrompt(300, 5);
/** `enum llama_pooling_type`. */
const POOLING: Readonly<Record<Pooling, number>> = { mean: 1, first: 2, last: 3 };
/** As stages keep them (`enum ggml_type`): q8_0 and f16. */
const CACHE = { type_k: 8, type_v: 1, flash_attn_type: 1 };
/** Of numbers up to 4: the engine sums a mean in another order. */
const TOLERANCE = 1e-5;
/** Against a cache of the engine's own types. */
const COSINE_OF_OTHER_CACHE = 0.999;
let directory = '';
const stages: StageEngine[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ring-embed-'));
});
afterAll(async () => {
  for (const stage of stages) stage.close();
  await rm(directory, { recursive: true, force: true });
});

function kept(stage: StageEngine): StageEngine {
  stages.push(stage);
  return stage;
}

/** libllama's own: all tokens in one call, pooled by the engine. */
function reference(pooling: Pooling, cache: Partial<typeof CACHE> = CACHE): Float32Array {
  const { llama: { c }, model } = loadModel(MODEL_FILE, { backend: 'cpu', vocabularyOnly: false });
  const params = { ...c.llama_context_default_params(), n_ctx: 512, n_batch: 512, n_ubatch: 512, n_seq_max: 1, embeddings: true, pooling_type: POOLING[pooling], n_threads: 1, n_threads_batch: 1, ...cache };
  const context = c.llama_init_from_model(model, params);
  const batch = new DecodeBatch({ maxTokens: PROMPT.length, inputSize: 0, positionsPerToken: 1 });
  batch.tokens.set(PROMPT);
  PROMPT.forEach((_, row) => batch.setRow(row, PROMPT.length, { slot: 0, position: row, output: true }));
  expect(c.llama_decode(context, batch.take(PROMPT.length))).toBe(0);
  const pointer = c.llama_get_embeddings_seq(context, 0);
  if (pointer === null || context === null) throw new Error('the engine pooled nothing');
  const vector = new Float32Array(viewMemory(pointer, HIDDEN * 4)).slice();
  c.llama_free(context);
  c.llama_model_free(model);
  return vector;
}

/** Through stages in a row, the tail last; slices of `chunk` tokens. */
function embed(ring: readonly StageEngine[], pooling: Pooling, chunk: number): Float32Array {
  for (const stage of ring) open(stage, 0, { sampling: { ...GREEDY, pooling } });
  let embedding: Float32Array | undefined;
  for (let from = 0; from < PROMPT.length; from += chunk) {
    const tokens = PROMPT.slice(from, from + chunk);
    const slices = [{ slot: 0, position: from, tokens: tokens.length, sample: from + chunk >= PROMPT.length }];
    let hidden: Float32Array | null = null;
    for (const [rank, stage] of ring.entries()) {
      const output = stage.step({ slices, tokens: rank === 0 ? tokens : null, hidden });
      ({ hidden } = output);
      if (rank < ring.length - 1) continue;
      expect(output.sampled.length).toBe(slices[0]?.sample === true ? 1 : 0);
      embedding = output.sampled[0]?.embedding;
      if (embedding !== undefined) expect(output.sampled[0]).toMatchObject({ slot: 0, position: PROMPT.length, endOfGeneration: true });
    }
  }
  for (const stage of ring) close(stage, 0);
  return embedding ?? new Float32Array(0);
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((most, value, index) => Math.max(most, Math.abs(value - (b[index] ?? 0))), 0);
}

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array): number => x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

it.each(['mean', 'first', 'last'] as const)('pooled as %s: what libllama says of the whole model', (pooling) => {
  const expected = reference(pooling);
  const stage = kept(openStage(wholeOptions({ slots: 2 })));
  for (const chunk of [300, 64, 7]) {
    const vector = embed([stage], pooling, chunk);
    expect(largestDifference(vector, expected)).toBeLessThan(TOLERANCE);
  }
  expect(cosine(expected, reference(pooling, {}))).toBeGreaterThan(COSINE_OF_OTHER_CACHE);
});

it('through a ring of three stages: the same numbers to the bit', async () => {
  const header = await readGgufHeader(MODEL_FILE);
  const source = modelTensorSource(header, new DigestCache(null));
  const ring: StageEngine[] = [];
  for (const [start, end] of [[0, 2], [2, 4], [4, 5]] as const) {
    const [head, tail] = [start === 0, end === 5];
    const stageFile = join(directory, `${start}-${end}.gguf`);
    await writeStageFile(planStageFile(header, { range: { start, end }, head, tail }, { copyEmbedding: false }), source, stageFile);
    ring.push(kept(openStage(wholeOptions({ role: head ? 'head' : tail ? 'tail' : 'middle', stageFile, embedding: head ? embeddingInModel(header) : null }))));
  }
  const whole = kept(openStage(wholeOptions()));
  for (const pooling of ['mean', 'last'] as const) expect(embed(ring, pooling, 64)).toEqual(embed([whole], pooling, 64));
});

it('leaves the text of others as it is, and is the same without a KV cache', () => {
  const stage = kept(openStage(wholeOptions({ slots: 2 })));
  open(stage, 1);
  const before = feed(stage, 1, PROMPT.slice(0, 100), 0, 100);
  const vector = embed([stage], 'mean', 64);
  const after = stage.step({ slices: [{ slot: 1, position: 100, tokens: 1, sample: true }], tokens: Int32Array.of(before), hidden: null }).sampled;
  const alone = kept(openStage(wholeOptions()));
  open(alone, 0);
  feed(alone, 0, PROMPT.slice(0, 100), 0, 100);
  expect(after[0]?.token).toBe(alone.step({ slices: [{ slot: 0, position: 100, tokens: 1, sample: true }], tokens: Int32Array.of(before), hidden: null }).sampled[0]?.token);
  const recomputing = kept(openStage(wholeOptions({ keyValueCache: 'none' })));
  expect(embed([recomputing], 'mean', 150)).toEqual(vector);
});

it('does not mix prompts whose hidden states are wanted with others in a step', () => {
  const stage = kept(openStage(wholeOptions({ slots: 2 })));
  open(stage, 0, { sampling: { ...GREEDY, pooling: 'mean' } });
  open(stage, 1);
  expect(() => stage.step({
    slices: [0, 1].map((slot) => ({ slot, position: 0, tokens: 2, sample: true })), tokens: Int32Array.of(10, 11, 12, 13), hidden: null,
  })).toThrow('steps of its own');
});
