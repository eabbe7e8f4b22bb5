/** A ring of stages in one process, without agents: what the stages compute, and nothing else. */
import { join } from 'node:path';
import type { SamplingSettings } from '../../src/core/step-types.js';
import { openStage } from '../../src/engine/stage.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { embeddingInModel, planStageFile } from '../../src/model/stage-file.js';
import { embeddingFileOf, writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource } from '../../src/model/tensor-source.js';
import type { StageEngine, StageOptions } from '../../src/ports.js';

export const GREEDY: SamplingSettings = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: true, logitBias: [],
};

export interface Answer {
  readonly tokens: readonly number[];
  /** One row per sampled token, `[vocabularySize]`. */
  readonly logits: readonly Float32Array[];
}

const COMMON = { backend: 'cpu', threads: 1, contextTokens: 512, slots: 1, keyType: 'q8_0', valueType: 'f16', batchTokens: 128 } as const;

export type StageSettings = Partial<Pick<StageOptions, 'backend' | 'keyValueCache' | 'deviceLayers' | 'threads' | 'contextTokens' | 'keyType' | 'valueType' | 'batchTokens' | 'slots'>>;

/** @param cuts Layers where stages begin, without 0; empty = the model's own file as one stage. */
export async function openRing(header: GgufHeader, layers: number, cuts: readonly number[], directory: string, settings: StageSettings = {}): Promise<StageEngine[]> {
  if (cuts.length === 0) return [openStage({ ...COMMON, ...settings, role: 'whole', stageFile: header.files[0]?.path ?? '', embedding: null })];
  const source = modelTensorSource(header, new DigestCache(null));
  const bounds = [0, ...cuts, layers];
  const stages: StageEngine[] = [];
  for (let rank = 0; rank + 1 < bounds.length; rank++) {
    const range = { start: bounds[rank] ?? 0, end: bounds[rank + 1] ?? layers };
    const head = rank === 0;
    const tail = range.end === layers;
    const target = join(directory, `${header.identity.digest.slice(0, 8)}-${range.start}-${range.end}.gguf`);
    const layout = planStageFile(header, { range, head, tail });
    await writeStageFile(layout, source, target);
    // The rows come from the copy beside the stage file, as on a node without the model; both places are equal.
    const embedding = head ? { ...embeddingInModel(header), file: embeddingFileOf(target), offset: 0 } : null;
    stages.push(openStage({ ...COMMON, ...settings, role: head ? 'head' : tail ? 'tail' : 'middle', stageFile: target, embedding }));
  }
  return stages;
}

/** Feeds the prompt in chunks, then samples `count` tokens, all on slot 0. */
export function answer(stages: readonly StageEngine[], prompt: readonly number[], count: number, chunk: number, sampling: SamplingSettings = GREEDY): Answer {
  for (const stage of stages) {
    stage.apply([{ kind: 'open', slot: 0, sequenceId: 's', sampling, origin: 'test', promptTokens: prompt, emittedTokens: [], promptLength: prompt.length }]);
  }
  const tokens: number[] = [];
  const logits: Float32Array[] = [];
  for (let position = 0; position < prompt.length; position += chunk) {
    const part = prompt.slice(position, position + chunk);
    const sample = position + part.length === prompt.length;
    const sampled = pass(stages, part, position, sample, logits);
    if (sampled !== null) tokens.push(sampled);
  }
  while (tokens.length < count) {
    const sampled = pass(stages, tokens.slice(-1), prompt.length + tokens.length - 1, true, logits);
    if (sampled !== null) tokens.push(sampled);
  }
  for (const stage of stages) stage.apply([{ kind: 'close', slot: 0 }]);
  return { tokens, logits };
}

function pass(stages: readonly StageEngine[], tokens: readonly number[], position: number, sample: boolean, logits: Float32Array[]): number | null {
  const slices = [{ slot: 0, position, tokens: tokens.length, sample }];
  let hidden: Float32Array | null = null;
  let sampled: number | null = null;
  stages.forEach((stage, rank) => {
    const output = stage.step({ slices, tokens: rank === 0 ? Int32Array.from(tokens) : null, hidden });
    hidden = output.hidden === null ? null : output.hidden.slice();
    sampled = output.sampled[0]?.token ?? null;
  });
  const tail = stages[stages.length - 1];
  if (sample && tail !== undefined) logits.push(tail.logits(0).slice());
  return sampled;
}

/** Largest difference between two runs' logits; 0 = equal to the bit (no NaN hides: it makes the result NaN). */
export function largestDifference(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  if (a.length !== b.length) return Number.NaN;
  let largest = 0;
  a.forEach((row, index) => {
    const other = b[index];
    row.forEach((value, at) => {
      const difference = Math.abs(value - (other?.[at] ?? Number.NaN));
      if (!(difference <= largest)) largest = difference;
    });
  });
  return largest;
}
