/**
 * Runs the simulation of whole agents over many seeds: `npm run simulate -- --seeds 10000`, or one with its log: `--seed 42`.
 * `--core` runs the cluster core alone (test/sim/random-run.ts). Prints how far it is, every failing seed with the command
 * that replays it, and a closing line; exits 1 if a seed failed.
 */
import { simulateAgents } from '../test/sim/agent-run.js';
import { simulate } from '../test/sim/random-run.js';
import { scriptOptions, wholeNumber } from './script-options.js';

const DEFAULT_SEEDS = 10_000;
const DEFAULT_CORE_SEEDS = 1_000;
/** After so many failures the rest would tell nothing new. */
const MAX_FAILURES = 20;
const PROGRESS_MS = 15_000;

interface Outcome {
  readonly problems: readonly string[];
  readonly log: readonly string[];
  /** What was done, for the closing line. */
  readonly figures: Readonly<Record<string, number>>;
}

const USAGE = `
npm run simulate -- [--seeds N] [--from N] [--core]
npm run simulate -- --seed N [--core]

  --seeds N  how many (default: ${DEFAULT_SEEDS}; with --core ${DEFAULT_CORE_SEEDS})
  --from N   the first of them (default: 1)
  --seed N   this one alone, with its log
  --core     the cluster core alone instead of whole agents
`;

const values = scriptOptions(USAGE, { seeds: { type: 'string' }, seed: { type: 'string' }, from: { type: 'string' }, core: { type: 'boolean', default: false } });
const suffix = values.core ? ' --core' : '';
/** Of the seed that runs now. A promise that nobody waits for is a bug of the agents like any other. */
const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(`a rejection that nobody handles: ${reason instanceof Error ? reason.stack ?? reason.message : String(reason)}`));

async function run(seed: number, keepsLog: boolean): Promise<Outcome> {
  if (values.core) return { ...simulate(seed, keepsLog), figures: {} };
  const { problems, log, figures } = await simulateAgents(seed, keepsLog);
  return { problems: [...problems, ...unhandled.splice(0)], log, figures };
}

async function runMany(from: number, count: number): Promise<number> {
  const sums = new Map<string, number>();
  const startedMs = performance.now();
  let shownMs = startedMs;
  let failures = 0;
  let done = 0;
  for (let seed = from; seed < from + count && failures < MAX_FAILURES; seed += 1) {
    const { problems, figures } = await run(seed, false);
    done += 1;
    for (const [name, value] of Object.entries(figures)) sums.set(name, (sums.get(name) ?? 0) + value);
    if (problems.length > 0) {
      failures += 1;
      process.stdout.write(`seed ${seed}: ${problems[0] ?? ''}\n  replay: npm run simulate -- --seed ${seed}${suffix}\n`);
    }
    if (performance.now() - shownMs < PROGRESS_MS) continue;
    shownMs = performance.now();
    process.stdout.write(`${done} of ${count} seeds, ${failures} failed, ${Math.round((shownMs - startedMs) / 1000)} s\n`);
  }
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const what = [...sums].map(([name, value]) => `${value} ${name}`).join(', ');
  process.stdout.write(`${done} seeds from ${from} in ${seconds} s: ${failures === 0 ? 'all hold' : `${failures} failed`}${what === '' ? '' : ` (${what})`}\n`);
  return failures;
}

if (values.seed !== undefined) {
  const { log, problems } = await run(wholeNumber(values.seed, 'seed'), true);
  process.stdout.write(`${[...log, ...problems.map((problem) => `PROBLEM ${problem}`)].join('\n')}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} else {
  const count = wholeNumber(values.seeds ?? String(values.core ? DEFAULT_CORE_SEEDS : DEFAULT_SEEDS), 'seeds');
  process.exitCode = await runMany(wholeNumber(values.from ?? '1', 'from'), count) === 0 ? 0 : 1;
}
