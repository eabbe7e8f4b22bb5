/**
 * `npm run fuzz -- --minutes 10 --seed 7`: every decoder, fed with bytes that nobody meant, until the time is over. Prints
 * each failure with what repeats it (`--seed N --target NAME`), and a line for every decoder at the end; exits 1 on failures.
 */
import { downloadTargets } from '../test/fuzz/download-targets.js';
import { fileTargets } from '../test/fuzz/file-targets.js';
import { fuzz, MAX_REQUESTED_BYTES } from '../test/fuzz/fuzz.js';
import { httpTargets } from '../test/fuzz/http-targets.js';
import { WIRE_TARGETS } from '../test/fuzz/wire-targets.js';
import { refuse, positiveNumber, scriptOptions } from './script-options.js';

const DEFAULT_MINUTES = 1;
const MILLISECONDS_PER_MINUTE = 60_000;
const ROUND_INPUTS = 2_000;
const MAX_FAILURES = 20;
const SLOW_MS = 1_000;

const USAGE = `
npm run fuzz -- [--minutes N] [--seed N] [--target NAME]

  --minutes N    how long inputs are made (default: ${DEFAULT_MINUTES})
  --seed N       the first seed; each has ${ROUND_INPUTS} inputs for every decoder (default: 1)
  --target NAME  one decoder only; a wrong name shows all of them
`;

const values = scriptOptions(USAGE, { minutes: { type: 'string' }, seed: { type: 'string' }, target: { type: 'string' } });
const untilMs = performance.now() + positiveNumber(values.minutes ?? String(DEFAULT_MINUTES), 'minutes') * MILLISECONDS_PER_MINUTE;
const firstSeed = Math.trunc(positiveNumber(values.seed ?? '1', 'seed'));
const files = await fileTargets();
const downloads = await downloadTargets();
const all = [...WIRE_TARGETS, ...files.targets, ...downloads.targets, ...httpTargets()];
const targets = values.target === undefined ? all : all.filter(({ name }) => name === values.target);
if (targets.length === 0) refuse(`--target is one of: ${all.map(({ name }) => `"${name}"`).join(', ')}\n`);
const totals = new Map(targets.map(({ name }) => [name, { inputs: 0, refused: 0, largestBytes: 0, slowestMs: 0 }]));
let failures = 0;
for (let seed = firstSeed; performance.now() < untilMs && failures < MAX_FAILURES; seed += 1) {
  for (const target of targets) {
    const result = await fuzz(target, { seed, inputs: ROUND_INPUTS });
    const total = totals.get(target.name);
    if (total === undefined) continue;
    total.inputs += result.inputs;
    total.refused += result.refused;
    total.largestBytes = Math.max(total.largestBytes, result.largestBytes);
    total.slowestMs = Math.max(total.slowestMs, result.slowestMs);
    const problems = [
      ...result.failures.map(({ input, hex, error }) => `input ${input} (${hex}): ${error}`),
      ...(result.largestBytes > MAX_REQUESTED_BYTES ? [`a buffer of ${result.largestBytes} bytes was asked for`] : []),
      ...(result.slowestMs > SLOW_MS ? [`an input took ${Math.round(result.slowestMs)} ms`] : []),
    ];
    failures += problems.length;
    for (const problem of problems) process.stdout.write(`FAILURE ${target.name}, seed ${seed}: ${problem}\n  replay: npm run fuzz -- --seed ${seed} --target "${target.name}"\n`);
  }
}
await files.close();
await downloads.close();
for (const [name, { inputs, refused, largestBytes, slowestMs }] of totals) {
  process.stdout.write(`${name.padEnd(34)} ${String(inputs).padStart(9)} inputs ${String(refused).padStart(9)} refused ${String(Math.round(largestBytes / 1024)).padStart(6)} KiB ${slowestMs.toFixed(0).padStart(5)} ms\n`);
}
process.stdout.write(`${failures === 0 ? 'all hold' : `${failures} failures`}; ${Math.round(process.resourceUsage().maxRSS / 1024)} MB resident at most\n`);
process.exit(failures === 0 ? 0 : 1);
