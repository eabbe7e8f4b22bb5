/**
 * Downloads of whole models that were broken off: how much of each is there, and how to be rid of what nobody goes on with.
 * It must not know what they were to be.
 */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError } from './file-errors.js';
import { PARTIALS } from './whole-download.js';

const MAX_ENTRIES = 10_000;

export interface BrokenOff {
  readonly path: string;
  readonly bytes: number;
}

/** Everything that is half there among the models of `directory`. */
export async function brokenOff(directory: string): Promise<readonly BrokenOff[]> {
  const partials = join(directory, PARTIALS);
  const names = (await namesIn(partials)).slice(0, MAX_ENTRIES);
  return Promise.all(names.map(async (name) => ({ path: join(partials, name), bytes: await bytesOf(join(partials, name)) })));
}

/** Of files and directories, as many of them as are there. */
export async function bytesOfAll(paths: readonly string[]): Promise<number> {
  return (await Promise.all(paths.map(bytesOf))).reduce((sum, bytes) => sum + bytes, 0);
}

/** Throws `permission_denied` … */
export async function removeBrokenOff(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    throw fileError(error, path, 'write');
  }
}

async function bytesOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() !== true) return found?.size ?? 0;
  return bytesOfAll((await namesIn(path)).map((name) => join(path, name)));
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch {
    // Nothing was ever begun here.
    return [];
  }
}
