/**
 * Directories of a test process. It must not know what is in them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OWNER_TAG } from './owner.js';

const directories: string[] = [];
process.once('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** An empty one, removed when the test process ends. */
export function temporaryDirectory(what = 'files'): string {
  const directory = mkdtempSync(join(tmpdir(), `ringtest-${OWNER_TAG}-${what}-`));
  directories.push(directory);
  return directory;
}
