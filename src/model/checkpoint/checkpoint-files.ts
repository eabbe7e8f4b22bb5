/**
 * The files of a checkpoint, wherever they are: a directory of this disk (here) or a repository on the internet
 * (repository-files.ts). Names, small files whole, parts of large ones. It must not know what is in them.
 */
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError } from '../file-errors.js';
import { readFully } from '../file-io.js';
import { badCheckpoint } from './bad-checkpoint.js';

export interface CheckpointFiles {
  /** For people: the directory or the repository. */
  readonly where: string;
  names(): Promise<readonly string[]>;
  /** Of a file, for people, and the `path` of what is in it. */
  pathOf(name: string): string;
  sizeOf(name: string): Promise<number>;
  /** A whole file. Throws `bad_checkpoint` for one of more than `maxBytes`. */
  whole(name: string, maxBytes: number): Promise<Uint8Array>;
  /** From `offset` on, `length` bytes or as many as there are. */
  part(name: string, offset: number, length: number): Promise<Uint8Array>;
}

/** Errors are RingErrors that name the file. */
export function directoryFiles(directory: string): CheckpointFiles {
  const tell = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw fileError(error, path, 'read');
    }
  };
  const pathOf = (name: string): string => join(directory, name);
  return {
    where: directory,
    pathOf,
    names: () => tell(directory, () => readdir(directory)),
    sizeOf: (name) => tell(pathOf(name), async () => (await stat(pathOf(name))).size),
    whole: (name, maxBytes) => tell(pathOf(name), async () => {
      const { size } = await stat(pathOf(name));
      if (size > maxBytes) throw badCheckpoint(pathOf(name), tooLarge(size, maxBytes));
      return readFile(pathOf(name));
    }),
    part: (name, offset, length) => tell(pathOf(name), async () => {
      const handle = await open(pathOf(name), 'r');
      try {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, await readFully(handle, bytes, offset));
      } finally {
        await handle.close();
      }
    }),
  };
}

export function tooLarge(sizeBytes: number, maxBytes: number): string {
  return `it has ${sizeBytes} bytes, more than the ${maxBytes} that are read`;
}

/** A JSON file of at most `maxBytes`. Throws `bad_checkpoint`, `io_failed` … */
export async function readJson(files: CheckpointFiles, name: string, maxBytes: number): Promise<unknown> {
  return parseJson(await files.whole(name, maxBytes), files.pathOf(name));
}

export function parseJson(bytes: Uint8Array, path: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw badCheckpoint(path, 'it is no JSON');
  }
}
