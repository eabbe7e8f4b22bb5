/** What drawing a token takes, by the size of the vocabulary: from the logits alone (core/draw.ts), and by libllama's chain of samplers. */
import { performance } from 'node:perf_hooks';
import { drawToken, likeliestToken } from '../../src/core/draw.js';
import { Candidates } from '../../src/engine/candidates.js';
import { loadLlama } from '../../src/engine/llama.js';
import type { Llama } from '../../src/engine/llama.js';
import { align } from './report.js';
import { spreadOf } from './statistics.js';

/** Of models with Llama 2's, Llama 3's, Qwen's and Gemma's tokenizers. */
export const VOCABULARIES: readonly number[] = [32_000, 128_256, 151_936, 262_144];
const RUNS = 60;
/** The first ones are compiled. */
const UNCOUNTED = 20;
/** Logits as a model's: far below the likeliest, most of them. */
const SPREAD = 2.5;
const LIKELIEST = 19;

export interface DrawTime {
  readonly vocabulary: number;
  readonly how: string;
  /** Microseconds, medians. */
  readonly alone: number;
  /** Filling in an entry for each token, which comes first, is not in it. */
  readonly byChain: number;
}

interface Way {
  readonly how: string;
  alone(logits: Float32Array, seed: number): number;
  samplers(llama: Llama): readonly (bigint | null)[];
}

const WAYS: readonly Way[] = [
  { how: 'greedy', alone: (logits) => likeliestToken(logits), samplers: ({ c }) => [c.llama_sampler_init_greedy()] },
  { how: 'temperature 1', alone: (logits, seed) => drawToken(logits, { temperature: 1, topP: 1, minP: 0 }, seed), samplers: ({ c }) => [c.llama_sampler_init_dist(1)] },
  {
    how: 'temperature 0.7, top_p 0.9', alone: (logits, seed) => drawToken(logits, { temperature: 0.7, topP: 0.9, minP: 0 }, seed),
    samplers: ({ c }) => [c.llama_sampler_init_top_p(0.9, 1), c.llama_sampler_init_temp(0.7), c.llama_sampler_init_dist(1)],
  },
];

export function measureDraws(vocabularies: readonly number[]): readonly DrawTime[] {
  const llama = loadLlama('cpu');
  return vocabularies.flatMap((vocabulary) => {
    const logits = someLogits(vocabulary);
    const candidates = new Candidates(llama, vocabulary);
    return WAYS.map(({ how, alone, samplers }) => {
      const chain = chainOf(llama, samplers(llama));
      const byChain = microseconds(() => candidates.load(logits), () => candidates.apply(chain));
      llama.c.llama_sampler_free(chain);
      return { vocabulary, how, alone: microseconds(() => undefined, (run) => alone(logits, run)), byChain };
    });
  });
}

export function drawLines(times: readonly DrawTime[]): readonly string[] {
  const rows = times.map(({ vocabulary, how, alone, byChain }) => [String(vocabulary), how, alone.toFixed(0), byChain.toFixed(0), (byChain / alone).toFixed(1)]);
  return align([['tokens', 'draw', 'alone, us', 'chain, us', 'ratio'], ...rows]);
}

function microseconds(before: () => void, act: (run: number) => void): number {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    before();
    const startedAt = performance.now();
    act(run);
    times.push((performance.now() - startedAt) * 1000);
  }
  return spreadOf(times.slice(UNCOUNTED)).median;
}

function chainOf(llama: Llama, samplers: readonly (bigint | null)[]): bigint {
  const { c } = llama;
  const chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params());
  if (chain === null) throw new Error('the engine could not make a chain of samplers');
  for (const sampler of samplers) if (sampler !== null) c.llama_sampler_chain_add(chain, sampler);
  return chain;
}

function someLogits(size: number): Float32Array {
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const logits = Float32Array.from({ length: size }, () => SPREAD * normal());
  for (let token = 0; token < 50; token += 1) logits[7 * token] = LIKELIEST - 9 + 6 * Math.random();
  logits[5] = LIKELIEST;
  return logits;
}
