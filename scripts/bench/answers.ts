/**
 * Questions to an agent of the bench, and when each token of the answers came: a client's times. It must not know what is
 * measured with them.
 */
import { tokensOf } from './agents.js';
import type { Agent } from './agents.js';

export interface Stream {
  /** Milliseconds since the request, of each token. */
  readonly times: readonly number[];
  readonly tokens: readonly number[];
}

export interface Question {
  readonly prompt: readonly number[];
  readonly tokens: number;
  readonly temperature: number;
  readonly seed: number;
  /** False = no more of this answer is wanted. */
  readonly onToken?: (count: number) => boolean;
  /** Absent = guess as much as pays. */
  readonly guesses?: 0;
  /** This token and no other is the answer. */
  readonly only?: number;
}

export async function answerTimes(agent: Agent, model: string, { prompt, tokens, temperature, seed, onToken, guesses, only }: Question): Promise<Stream> {
  const start = performance.now();
  const times: number[] = [];
  const answer: number[] = [];
  for await (const chunk of agent.stream('/v1/completions', {
    model, prompt, max_tokens: tokens, temperature, seed, ignore_eos: true, stream: true, return_tokens: true,
    ...(guesses === undefined ? {} : { 'speculative.n_max': guesses }),
    ...(only === undefined ? {} : { logit_bias: { [only]: 100 } }),
  })) {
    const drawn = tokensOf(chunk);
    answer.push(...drawn);
    for (let index = 0; index < drawn.length; index += 1) times.push(performance.now() - start);
    if (drawn.length > 0 && onToken?.(times.length) === false) return { times, tokens: answer };
  }
  if (times.length !== tokens) throw new Error(`asked for ${tokens} tokens, ${times.length} came`);
  return { times, tokens: answer };
}

export function tokensPerSecond({ times }: Stream): number {
  return ((times.length - 1) * 1000) / ((times.at(-1) ?? 0) - (times[0] ?? 0));
}

/** Gives prompts that begin differently each time: a known beginning would not be computed again. */
export function freshPrompts(): (tokens: number) => readonly number[] {
  let salt = 0;
  return (tokens) => {
    salt += 1;
    return Array.from({ length: tokens }, (_, index) => 3 + ((salt * 7_919 + index * 104_729 + index * index) % 2_000));
  };
}
