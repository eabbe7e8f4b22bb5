/**
 * `npm run soak -- --minutes 10 --seed 7`: four hosts on a LAN of this machine (root, Linux), constant requests, and a
 * random fault every few seconds. Prints the figures; exits 1 when anything was lost, wrong or left.
 */
import { parseArgs } from 'node:util';
import { lanAvailable } from '../test/lan/harness.js';
import { soakText } from '../test/lan/soak/report.js';
import { runSoak } from '../test/lan/soak/soak.js';

const DEFAULT_MINUTES = 10;
const SECONDS_PER_MINUTE = 60;
const MAX_SEED = 1_000_000;

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const minutes = positive(values.minutes ?? String(DEFAULT_MINUTES), 'minutes');
const seed = Math.trunc(positive(values.seed ?? String(1 + (Date.now() % MAX_SEED)), 'seed'));
const available = lanAvailable();
if (!available.ok) {
  process.stderr.write(`no soak here: ${available.reason}\n`);
  process.exit(2);
}
process.stdout.write(`soak of ${minutes} minutes, seed ${seed}\n`);
const report = await runSoak({ seconds: minutes * SECONDS_PER_MINUTE, seed, say: (line) => process.stdout.write(`${line}\n`) });
process.stdout.write(`${soakText(report)}\n${report.logs}`);
process.exit(report.problems.length === 0 ? 0 : 1);

function positive(text: string, option: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  process.stderr.write(`--${option} wants a number above 0, not "${text}"\n`);
  process.exit(2);
}
