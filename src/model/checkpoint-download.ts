/**
 * A whole checkpoint from the internet: a directory of its own among this node's models, file by file, resumed where it broke
 * off, and there under its name only when all of it is. A note in it says which files came; those alone are removed again.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { RingError } from '../core/errors.js';
import { CONFIG, SMALL_FILES } from './checkpoint/checkpoint.js';
import { weightFiles } from './checkpoint/safetensors.js';
import { fileError } from './file-errors.js';
import { syncDirectory } from './file-io.js';
import type { HubClient } from './hub-client.js';
import type { HubFile } from './hub-files.js';
import type { RepositoryFiles, RepositoryPlace } from './repository-files.js';
import type { DownloadOptions } from './whole-download.js';
import { downloadFile, PARTIALS } from './whole-download.js';

const NOTE = '.fetched.json';
const MAX_FILES = 2048;
const DIRECTORY_NAME = /^[A-Za-z0-9][\w.-]{0,95}$/;
const DIGEST_CHARACTERS = 8;

const noteSchema = z.object({ repository: z.string(), revision: z.string(), files: z.array(z.string().refine((name) => basename(name) === name && name !== '..')).max(MAX_FILES) });

/** What a download will bring in all. */
export async function checkpointBytes(files: RepositoryFiles): Promise<number> {
  return (await wantedFiles(files)).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

/** Resolves with the checkpoint's directory, in `directory`. `digest` tells it from another one of its name. Throws RingError. */
export async function downloadCheckpoint(client: HubClient, files: RepositoryFiles, { directory, digest }: { readonly directory: string; readonly digest: string }, options: DownloadOptions): Promise<string> {
  const wanted = await wantedFiles(files);
  const partial = partialCheckpoint(files.place, directory);
  const target = freeName(join(directory, nameOf(files.place)), digest);
  let before = 0;
  try {
    await mkdir(partial, { recursive: true });
    for (const file of wanted) {
      const base = before;
      await fetchFile(client, files, { file, path: join(partial, file.path) }, { signal: options.signal, onProgress: (done) => options.onProgress(base + done) });
      before += file.sizeBytes;
      options.onProgress(before);
    }
    await writeFile(join(partial, NOTE), JSON.stringify({ ...files.place, files: wanted.map(({ path }) => path) }), { flush: true });
    await syncDirectory(partial);
    await rename(partial, target);
    await syncDirectory(directory);
  } catch (error) {
    throw fileError(error, target, 'write', wanted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  }
  return target;
}

/** The files of a checkpoint that came with `downloadCheckpoint`; null = somebody else put it there. */
export async function fetchedFiles(directory: string): Promise<readonly string[] | null> {
  try {
    const { files } = noteSchema.parse(JSON.parse(await readFile(join(directory, NOTE), 'utf8')));
    return files.map((name) => join(directory, name));
  } catch {
    // No note of ours, or one that somebody changed: nothing here is ours to remove.
    return null;
  }
}

/** The configuration goes first: without it nobody takes the rest for a model. What else lies there stays. */
export async function removeFetched(directory: string): Promise<void> {
  const files = await fetchedFiles(directory) ?? [];
  try {
    for (const path of [...files].sort((a, b) => Number(basename(b) === CONFIG) - Number(basename(a) === CONFIG))) await rm(path, { force: true });
    await rm(join(directory, NOTE), { force: true });
    if ((await readdir(directory)).length === 0) await rmdir(directory);
  } catch (error) {
    throw fileError(error, directory, 'write');
  }
}

/** The small files first: what is wrong with them shows before the weights have come. */
async function wantedFiles(files: RepositoryFiles): Promise<readonly HubFile[]> {
  const names = await files.names();
  const { weights } = await weightFiles(files);
  return Promise.all([...SMALL_FILES.filter((name) => names.includes(name)), ...weights].map((name) => files.file(name)));
}

async function fetchFile(client: HubClient, files: RepositoryFiles, { file, path }: { readonly file: HubFile; readonly path: string }, options: DownloadOptions): Promise<void> {
  const { sizeBytes, sha256 } = file;
  const url = files.urlOf(file.path);
  if (sha256 !== null) {
    const read = (start: number): AsyncIterable<Uint8Array> => client.read(url, { start, end: sizeBytes, sizeBytes }, options.signal);
    await downloadFile({ origin: { name: url, read }, sizeBytes, sha256, partial: path }, options);
    return;
  }
  if ((await stat(path).catch(() => null))?.size === sizeBytes) return;
  await writeFile(path, await client.small(url, sizeBytes, options.signal), { flush: true });
}

function nameOf({ repository }: RepositoryPlace): string {
  const name = repository.split('/')[1] ?? '';
  if (!DIRECTORY_NAME.test(name)) throw new RingError('bad_config', `${JSON.stringify(name.slice(0, 100))} is no name for a directory here`);
  return name;
}

/** Where an attempt leaves what it brings, until all of it is there. */
export function partialCheckpoint(place: RepositoryPlace, directory: string): string {
  return join(directory, PARTIALS, `${place.revision.slice(0, 12)}-${nameOf(place)}`);
}

function freeName(path: string, digest: string): string {
  return existsSync(path) ? `${path}-${digest.slice(0, DIGEST_CHARACTERS)}` : path;
}
