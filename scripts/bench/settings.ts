/**
 * What the bench does, in one place: its model, its loads, its repetitions, and the figures that the project promises.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export interface BenchSettings {
  /** Engine threads of every runner and of the floor. */
  readonly threads: number;
  /** Rounds; each measures every configuration once, in another order. */
  readonly rounds: number;
  /** Length of the long prompt (prefill) in tokens. */
  readonly prefillTokens: number;
  /** Length of the short prompt (decode, time to first token) in tokens. */
  readonly promptTokens: number;
  /** Tokens drawn in one decode measurement. */
  readonly decodeTokens: number;
  /** Sizes of the rings, in agents. */
  readonly rings: readonly number[];
  readonly contextTokens: number;
  /** Measures many answers at once on one core and two instead of the table of rings. */
  readonly serving: boolean;
  /** Measures one answer on two nodes with delays between them instead. */
  readonly delays: boolean;
  /** Parts of those two that are measured: numbers of answers, `prefill`, `prefix`, `guest`; or milliseconds. Null = all. */
  readonly only: ReadonlySet<string> | null;
  /** Measures what every precision and cache type costs in perplexity instead of the table of rings. */
  readonly perplexity: boolean;
  /** Measures what drawing a token takes instead of the table of rings. */
  readonly draws: boolean;
  /** Of cached keys and values, as `agent start --kv-type` takes it. Null = the planner's choice. */
  readonly kvType: string | null;
  /** Absent = the generated 1.1 B model. */
  readonly model: string | null;
  /** With `delays`: a small model of the same vocabulary that guesses. Null = only the text does. */
  readonly draft: string | null;
}

/** Share of the floor's decode speed that a ring of this many agents must reach, on one machine. */
export const DECODE_PROMISES: ReadonlyMap<number, number> = new Map([[1, 0.95], [3, 0.85]]);
/** How far a stage's predicted memory may be from what it really holds. */
export const MEMORY_PROMISE = 0.1;

const MAX_ROUNDS = 100;
const MAX_RING = 8;
const MAX_TOKENS = 65_536;

export const USAGE = `npm run bench -- [--rounds N] [--threads N] [--rings 1,2,3] [--prefill TOKENS] [--decode TOKENS] [--model FILE] [--kv-type TYPE] [--serving | --delays [--draft FILE] | --perplexity | --draws] [--only 1,8,prefill,prefix,guest | --only 0,5]`;

/** Throws with the usage when an argument makes no sense. */
export function readSettings(args: readonly string[]): BenchSettings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '3' },
      threads: { type: 'string', default: '1' },
      rings: { type: 'string', default: '1,2,3' },
      prefill: { type: 'string', default: '512' },
      decode: { type: 'string', default: '64' },
      model: { type: 'string' },
      'kv-type': { type: 'string' },
      draft: { type: 'string' },
      serving: { type: 'boolean', default: false },
      delays: { type: 'boolean', default: false },
      perplexity: { type: 'boolean', default: false },
      draws: { type: 'boolean', default: false },
      only: { type: 'string' },
    },
  });
  const prefillTokens = integer('--prefill', values.prefill, MAX_TOKENS);
  const decodeTokens = integer('--decode', values.decode, MAX_TOKENS);
  if (decodeTokens < 2) throw new Error(`--decode must be at least 2: a speed needs two tokens\n${USAGE}`);
  if (values.only !== undefined && !values.serving && !values.delays) throw new Error(`--only is for --serving and --delays\n${USAGE}`);
  const promptTokens = 16;
  return {
    threads: integer('--threads', values.threads, 1024),
    rounds: integer('--rounds', values.rounds, MAX_ROUNDS),
    rings: values.rings.split(',').map((text) => integer('--rings', text, MAX_RING)),
    prefillTokens, promptTokens, decodeTokens,
    contextTokens: roundUp(Math.max(prefillTokens, promptTokens + decodeTokens) + 1, 256),
    serving: values.serving,
    delays: values.delays,
    only: values.only === undefined ? null : new Set(values.only.split(',')),
    perplexity: values.perplexity,
    draws: values.draws,
    kvType: values['kv-type'] ?? null,
    model: values.model ?? null,
    draft: values.draft === undefined ? null : resolve(values.draft),
  };
}

function integer(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max) throw new Error(`${name} must be a whole number from 1 to ${max}, not "${text}"\n${USAGE}`);
  return value;
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

/** The package's own directory, whether this file is compiled or not. */
export function packageDirectory(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('no package.json above the bench');
    directory = parent;
  }
  return directory;
}
