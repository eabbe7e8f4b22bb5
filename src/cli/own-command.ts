/** How this very program is started again: as the single executable, or by Node.js with the package's file. */
import { resolve } from 'node:path';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

export function ownCommand(): readonly string[] {
  return isSea() ? [process.execPath] : [process.execPath, fileURLToPath(new URL('../cli/main.js', import.meta.url))];
}

/** The single executable's directory of unpacked files, this version's and others'; null when this is not the executable. */
export function unpackedDirectory(): string | null {
  const program = process.argv[1];
  // scripts/binary/bootstrap.ts: <directory>/<version>/src/cli/main.js
  return isSea() && program !== undefined ? resolve(program, '..', '..', '..', '..') : null;
}
