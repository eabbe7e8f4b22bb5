/** A short soak; `npm run soak` runs a long one. `SOAK_SEED=<number>` repeats a run's choices; the seed is printed. */
import { describe, expect, it } from 'vitest';
import { lanAvailable } from './harness.js';
import { soakText } from './soak/report.js';
import { runSoak } from './soak/soak.js';

const available = lanAvailable();
const SECONDS = 35;
const seed = Number(process.env.SOAK_SEED ?? 1 + (Date.now() % 1_000_000));

describe.skipIf(!available.ok)(`a soak${available.ok ? '' : ` (skipped: ${available.reason})`}`, () => {
  it('loses nothing, answers nothing wrong and leaves nothing', async () => {
    const lines: string[] = [];
    const report = await runSoak({ seconds: SECONDS, seed, say: (line) => lines.push(line) });
    console.log(soakText(report));
    expect(report.problems, `${lines.join('\n')}\n${report.logs}`).toEqual([]);
    expect(report.outcomes.answered).toBeGreaterThan(0);
  }, 300_000);
});
