/** `agent notices`: this program's own licence, and those of everything that ships with it. */
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RingError } from '../core/errors.js';

const NOTICES_FILE = 'THIRD-PARTY-NOTICES';
const LICENCE_FILE = 'LICENSE';

export async function noticesCommand(): Promise<void> {
  const directory = packageDirectory();
  const notices = join(directory, NOTICES_FILE);
  if (!existsSync(notices)) throw new RingError('io_failed', `${notices} is only in the npm package and the single executable, not in a checkout: npm pack makes it`);
  process.stdout.write(`${await readFile(join(directory, LICENCE_FILE), 'utf8')}\n${await readFile(notices, 'utf8')}`);
}

/** Where this program's package.json is. */
function packageDirectory(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json')) && dirname(directory) !== directory) directory = dirname(directory);
  return directory;
}
