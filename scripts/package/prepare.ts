/**
 * What `npm pack` puts into the package besides what is kept in the repository: the third parties' notices, and the exact
 * versions of everything underneath: an override in package.json does not count in somebody else's installation.
 *
 * `node dist/scripts/package/prepare.js` before packing, with `--undo` after it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { NOTICES_FILE, thirdPartyNotices } from '../notices.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** npm follows it in a package that comes from a registry. In this directory it would go before our own lock file. */
const SHRINKWRAP_FILE = 'npm-shrinkwrap.json';

const lockSchema = z.looseObject({ packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })) });

function shrinkwrap(): string {
  const lock = lockSchema.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  const packages = Object.fromEntries(Object.entries(lock.packages)
    .filter(([, entry]) => entry.dev !== true)
    .map(([path, entry]) => [path, path === '' ? { ...entry, devDependencies: undefined } : entry]));
  return `${JSON.stringify({ ...lock, packages }, null, 2)}\n`;
}

if (process.argv.includes('--undo')) {
  for (const file of [SHRINKWRAP_FILE, NOTICES_FILE]) rmSync(join(ROOT, file), { force: true });
} else {
  writeFileSync(join(ROOT, NOTICES_FILE), thirdPartyNotices(ROOT));
  writeFileSync(join(ROOT, SHRINKWRAP_FILE), shrinkwrap());
}
