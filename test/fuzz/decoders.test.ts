/**
 * Everything that decodes what others wrote, fed with bytes that nobody meant: fixed seeds here, `npm run fuzz` for long.
 * An input that once broke something is kept as a case of its own in that decoder's tests.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { downloadTargets } from './download-targets.js';
import { fileTargets } from './file-targets.js';
import type { FileTargets } from './file-targets.js';
import { fuzz, MAX_REQUESTED_BYTES } from './fuzz.js';
import type { FuzzTarget } from './fuzz.js';
import { httpTargets } from './http-targets.js';
import { WIRE_TARGETS } from './wire-targets.js';

const SEED = 1;
const INPUTS = 2_000;

async function check(targets: readonly FuzzTarget[]): Promise<void> {
  const lines: string[] = [];
  for (const target of targets) {
    const result = await fuzz(target, { seed: SEED, inputs: INPUTS });
    lines.push(`${target.name.padEnd(36)} ${String(result.inputs).padStart(6)} inputs, ${String(result.refused).padStart(6)} refused, largest buffer ${Math.round(result.largestBytes / 1024)} KiB`);
    expect(result.failures, target.name).toEqual([]);
    expect(result.largestBytes, target.name).toBeLessThanOrEqual(MAX_REQUESTED_BYTES);
    // Seeds are understood: what is refused is refused for its changes.
    expect(result.refused, target.name).toBeLessThan(result.inputs);
  }
  console.log(lines.join('\n'));
}

describe('bytes that nobody meant are taken or refused, and cost little', () => {
  let files: FileTargets;

  beforeAll(async () => {
    files = await fileTargets();
  });

  afterAll(() => files.close());

  it('on every wire', () => check(WIRE_TARGETS));
  it('in every file', () => check(files.targets));
  it('in every checkpoint and schema', async () => {
    const downloads = await downloadTargets();
    await check(downloads.targets).finally(() => downloads.close());
  });
  it('in every body', () => check(httpTargets()));
});
