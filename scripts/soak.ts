/**
 * `npm run soak -- --minutes 10 --seed 7`: four hosts on a LAN of this machine (root, Linux), constant requests, and a
 * random fault every few seconds. Prints the figures; exits 1 when anything was lost, wrong or left.
 */
import { lanAvailable } from '../test/lan/harness.js';
import { soakText } from '../test/lan/soak/report.js';
import { runSoak } from '../test/lan/soak/soak.js';
import { refuse, positiveNumber, scriptOptions } from './script-options.js';

const DEFAULT_MINUTES = 10;
const SECONDS_PER_MINUTE = 60;
const MAX_SEED = 1_000_000;

const USAGE = `
npm run soak -- [--minutes N] [--seed N]

  --minutes N   how long requests and faults go on (default: ${DEFAULT_MINUTES})
  --seed N      which faults, and when (default: another one each time)

Needs root and Linux: the hosts of its LAN are network namespaces.
`;

const values = scriptOptions(USAGE, { minutes: { type: 'string' }, seed: { type: 'string' } });
const minutes = positiveNumber(values.minutes ?? String(DEFAULT_MINUTES), 'minutes');
const seed = Math.trunc(positiveNumber(values.seed ?? String(1 + (Date.now() % MAX_SEED)), 'seed'));
const available = lanAvailable();
if (!available.ok) refuse(`no soak here: ${available.reason}\n`);
process.stdout.write(`soak of ${minutes} minutes, seed ${seed}\n`);
const report = await runSoak({ seconds: minutes * SECONDS_PER_MINUTE, seed, say: (line) => process.stdout.write(`${line}\n`) });
process.stdout.write(`${soakText(report)}\n${report.logs}`);
process.exit(report.problems.length === 0 ? 0 : 1);
