/** `agent uninstall`: ends the agent and removes everything that it keeps on this machine, but for the program itself. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { RingError } from '../core/errors.js';
import { removeService } from './command-service.js';
import { stopCommand } from './command-stop.js';
import { unpackedDirectory } from './own-command.js';

/** A directory without it is no agent's. */
const IDENTITY_FILE = 'identity.key';

export async function uninstallCommand(options: { readonly stateDir: string; readonly yes?: boolean }): Promise<void> {
  const stateDirectory = resolve(options.stateDir);
  const unpacked = unpackedDirectory();
  const directories = [...existsSync(stateDirectory) ? [stateDirectory] : [], ...unpacked === null ? [] : [unpacked]];
  if (existsSync(stateDirectory)) refuseOthers(stateDirectory);
  if (options.yes !== true) await ask(directories);
  // The service first: it would start the agent again.
  const hadService = await removeService();
  await stopCommand(options);
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
  process.stdout.write(`${hadService ? 'the service is removed\n' : ''}${directories.map((directory) => `removed ${directory}\n`).join('')}`);
  process.stdout.write(unpacked === null ? 'the program itself: npm uninstall -g ring-agent\n' : `the program itself: remove ${process.execPath}\n`);
}

/** Whatever was typed for --state-dir, only an agent's own directory is removed. */
function refuseOthers(directory: string): void {
  const inside = relative(directory, homedir());
  const holdsHome = !inside.startsWith('..') && !isAbsolute(inside);
  if (holdsHome || !existsSync(join(directory, IDENTITY_FILE))) throw new RingError('bad_config', `${directory} is not an agent's state directory: name the right one with --state-dir`);
}

async function ask(directories: readonly string[]): Promise<void> {
  const what = `the agent's service, and ${directories.length === 0 ? 'no directory: there is none' : `${directories.join(' and ')} with identity, log and fetched models`}`;
  if (!process.stdin.isTTY) throw new RingError('bad_config', `this removes ${what}: say --yes`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`This ends the agent and removes ${what}. Type yes: `);
    if (answer.trim() !== 'yes') throw new RingError('cancelled', 'nothing was removed');
  } finally {
    terminal.close();
  }
}
