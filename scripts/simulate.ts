/**
 * Runs the cluster simulation over many seeds: `npm run simulate -- --seeds 5000`, or one with its log: `--seed 42`.
 * Prints every failing seed with the command that replays it; exits 1 if there was one.
 */
import { parseArgs } from 'node:util';
import { simulate } from '../test/sim/random-run.js';

const DEFAULT_SEEDS = 1_000;
/** After so many failures the rest would tell nothing new. */
const MAX_FAILURES = 20;

const { values } = parseArgs({
  options: { seeds: { type: 'string' }, seed: { type: 'string' }, from: { type: 'string' } },
});

function wholeNumber(text: string, option: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  process.stderr.write(`--${option} wants a whole number, not "${text}"\n`);
  process.exit(2);
}

if (values.seed !== undefined) {
  const { log, problems } = simulate(wholeNumber(values.seed, 'seed'), true);
  process.stdout.write(`${[...log, ...problems.map((problem) => `PROBLEM ${problem}`)].join('\n')}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} else {
  const from = wholeNumber(values.from ?? '1', 'from');
  const count = wholeNumber(values.seeds ?? String(DEFAULT_SEEDS), 'seeds');
  let failures = 0;
  for (let seed = from; seed < from + count && failures < MAX_FAILURES; seed += 1) {
    const { problems } = simulate(seed);
    if (problems.length === 0) continue;
    failures += 1;
    process.stdout.write(`seed ${seed}: ${problems[0] ?? ''}\n  replay: npm run simulate -- --seed ${seed}\n`);
  }
  process.stdout.write(`${count} seeds from ${from}: ${failures === 0 ? 'all hold' : `${failures} failed`}\n`);
  process.exitCode = failures === 0 ? 0 : 1;
}
