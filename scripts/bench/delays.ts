/**
 * `npm run bench -- --delays`: one answer on two nodes with a slow link between them, with and without guessed tokens, in
 * turns. Both answers must be the same.
 */
import { answerTimes, tokensPerSecond } from './answers.js';
import type { Question, Stream } from './answers.js';
import { align } from './report.js';
import { withRing } from './ring.js';
import type { RingOptions } from './ring.js';
import { spreadOf } from './statistics.js';

const CONTEXT_TOKENS = 256;
const PROMPT_TOKENS = 8;
const ANSWER_TOKENS = 40;

export interface DelaySample {
  readonly delayMs: number;
  readonly tokensPerSecond: number;
  /** Guessing over not guessing, in neighbouring runs. Text that repeats itself; text that does not. */
  readonly repetitiveRatios: readonly number[];
  readonly randomRatios: readonly number[];
  /** Answers that were the same with and without. */
  readonly sameAnswers: number;
}

/** Two nodes, a core each, `delayMs` apart. */
export async function measureDelay(options: Omit<RingOptions, 'slots' | 'cores' | 'agents'>, delayMs: number, runs: number): Promise<DelaySample> {
  const settings = { ...options.settings, contextTokens: CONTEXT_TOKENS };
  return withRing({ ...options, settings, agents: 2, slots: 1, cores: [0, 1], delayMs }, async (first) => {
    const ask = (question: Omit<Question, 'prompt' | 'tokens'>): Promise<Stream> =>
      answerTimes(first, options.model, { prompt: Array.from({ length: PROMPT_TOKENS }, (_, index) => 11 + index), tokens: ANSWER_TOKENS, ...question });
    const speeds: number[] = [];
    const ratios = { repetitive: new Array<number>(), random: new Array<number>() };
    let sameAnswers = 0;
    for (let run = 0; run < runs; run += 1) {
      for (const [kind, question] of [['repetitive', { temperature: 0, seed: run, only: 40 + run }], ['random', { temperature: 1, seed: run }]] as const) {
        const pair = run % 2 === 0
          ? [await ask({ ...question, guesses: 0 }), await ask(question)] as const
          : [await ask(question), await ask({ ...question, guesses: 0 })].reverse();
        const [plain, guessed] = pair;
        if (plain === undefined || guessed === undefined) throw new Error('a pair has two');
        if (plain.tokens.join() === guessed.tokens.join()) sameAnswers += 1;
        if (kind === 'random') speeds.push(tokensPerSecond(plain));
        ratios[kind].push(tokensPerSecond(guessed) / tokensPerSecond(plain));
      }
    }
    return { delayMs, tokensPerSecond: spreadOf(speeds).median, repetitiveRatios: ratios.repetitive, randomRatios: ratios.random, sameAnswers };
  });
}

export function delayLines(samples: readonly DelaySample[]): readonly string[] {
  return align([
    ['two nodes, one answer; delay one way, ms', 'tok/s', 'guessing: repeats itself', 'is new', 'same answers'],
    ...samples.map(({ delayMs, tokensPerSecond, repetitiveRatios, randomRatios, sameAnswers }) => [
      String(delayMs), tokensPerSecond.toFixed(2), `${spreadOf(repetitiveRatios).median.toFixed(2)} x`, `${spreadOf(randomRatios).median.toFixed(2)} x`,
      `${sameAnswers} of ${repetitiveRatios.length + randomRatios.length}`,
    ]),
  ]);
}
