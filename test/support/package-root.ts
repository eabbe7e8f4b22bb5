/** Where the package lies, whether a file of test/ runs from its source or compiled in dist/. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAX_DEPTH = 8;

export const PACKAGE_ROOT = findRoot();

function findRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    if (existsSync(join(directory, 'package.json'))) return directory;
    directory = dirname(directory);
  }
  throw new Error(`no package.json above ${fileURLToPath(import.meta.url)}`);
}
