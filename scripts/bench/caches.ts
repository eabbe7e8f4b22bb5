/**
 * Where keys and values are kept, measured on the whole model in one process: what a token takes, what the process holds
 * beside what a plan would count for it, and whether the tokens are the same. On the cpu `host` and `device` are one memory.
 */
import { libllamaMemory, stageBytes } from '../../src/core/memory-model.js';
import { nodeTable } from '../../src/core/node-tables.js';
import type { KeyValueCachePolicy, ModelShape, Plan } from '../../src/core/types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { modelShape } from '../../src/model/model-shape.js';
import { Floor } from './floor.js';

const POLICIES: readonly KeyValueCachePolicy[] = ['none', 'host', 'device'];
/** Enough slots that a cache for each of them is seen, and few tokens, because `none` computes all of them for each one. */
const SLOTS = 8;
const CONTEXT_TOKENS = 1024;
const PROMPT_TOKENS = 64;
const DECODE_TOKENS = 12;

export interface CacheSample {
  readonly policy: KeyValueCachePolicy;
  /** With the prompt before it. */
  readonly tokenMs: number;
  readonly predictedBytes: number;
  readonly residentBytes: number;
  readonly tokens: readonly number[];
}

export interface CacheSetup extends Pick<Plan, 'keyType' | 'valueType'> {
  readonly modelFile: string;
  readonly threads: number;
}

export async function measureCaches({ modelFile, threads, keyType, valueType }: CacheSetup): Promise<readonly CacheSample[]> {
  const shape = modelShape(await readGgufHeader(modelFile), 'bench');
  const samples: CacheSample[] = [];
  for (const keyValueCache of POLICIES) {
    const { floor, opened } = await Floor.open({ modelFile, threads, contextTokens: CONTEXT_TOKENS, slots: SLOTS, keyType, valueType, keyValueCache });
    try {
      const prompt = Array.from({ length: PROMPT_TOKENS }, (_, index) => 1 + ((7919 * (index + 1)) % Math.max(2, opened.vocabularySize - 1)));
      const { decodeMs, tokens } = await floor.sequence(prompt, DECODE_TOKENS);
      samples.push({
        policy: keyValueCache, tokenMs: decodeMs / (DECODE_TOKENS - 1), predictedBytes: predictedBytes(shape, keyValueCache, { keyType, valueType }),
        // After the work: buffers are touched when they are first used.
        residentBytes: (await floor.memory()).residentBytes, tokens,
      });
    } finally {
      await floor.close();
    }
  }
  return samples;
}

function predictedBytes(shape: ModelShape, keyValueCache: KeyValueCachePolicy, types: Pick<Plan, 'keyType' | 'valueType'>): number {
  const options = { contextTokens: CONTEXT_TOKENS, slots: SLOTS, ...types };
  const table = nodeTable({ shape, settings: { keyValueCache }, ownMemory: false, options }, libllamaMemory) ?? libllamaMemory(shape, options);
  return stageBytes(table, { start: 0, end: shape.layers }).total;
}
