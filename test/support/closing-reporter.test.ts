/** The closing line, as a whole run of vitest prints it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_TAG } from './owner.js';
import { runToEnd } from './processes.js';
import type { Finished } from './processes.js';

const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const REPORTER = fileURLToPath(new URL('./closing-reporter.ts', import.meta.url));

describe('the closing line of a test run', () => {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), `ringreporter-${OWNER_TAG}-`));
    await writeFile(join(directory, 'good.test.ts'), 'it("a", () => undefined); it("b", () => undefined);');
    await writeFile(join(directory, 'skips.test.ts'), 'it("a", () => undefined); it.skip("b", () => undefined); it.todo("c");');
    await writeFile(join(directory, 'bad.test.ts'), 'it("a", () => undefined); it("b", () => { throw new Error("no"); });');
    await writeFile(join(directory, 'broken.test.ts'), 'throw new Error("cannot load");');
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  function vitest(ci: string, ...files: readonly string[]): Promise<Finished> {
    const args = [VITEST, 'run', '--root', directory, '--globals', '--reporter', 'default', '--reporter', REPORTER, ...files];
    return runToEnd(process.execPath, args, { env: { CI: ci }, timeoutMs: 50_000 });
  }

  it('counts what passed', async () => {
    const run = await vitest('true', 'good');
    expect(run.stdout).toMatch(/\n2 passed, 0 failed\n$/);
    expect(run.code).toBe(0);
  });

  it('counts failed tests and files that cannot be loaded', async () => {
    const run = await vitest('', 'bad', 'broken');
    expect(run.stdout).toMatch(/\n1 passed, 2 failed\n$/);
    expect(run.code).toBe(1);
  });

  it('lets skipped tests pass where a person runs them', async () => {
    const run = await vitest('', 'skips');
    expect(run.stdout).toMatch(/\n1 passed, 0 failed, 2 skipped\n$/);
    expect(run.code).toBe(0);
  });

  it('fails a run with skipped tests in CI', async () => {
    const run = await vitest('true', 'skips');
    expect(run.stdout).toMatch(/\n1 passed, 0 failed, 2 skipped\n$/);
    expect(run.code).toBe(1);
  });
});
