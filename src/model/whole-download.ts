/**
 * A whole model into one directory: file by file, resumed where it broke off, and taken for whole only when its size and
 * (where the hub says it) its SHA-256 are right. It must not know GGUF, nor where the bytes come from.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RingError } from '../core/errors.js';
import type { ModelSource } from '../core/types.js';
import { fileError } from './file-errors.js';
import { readChunks, syncDirectory, writeFully } from './file-io.js';

/** Below the directory of the models; nothing in it is taken for one. */
export const PARTIALS = '.partial';

export interface DownloadOptions {
  readonly signal: AbortSignal;
  onProgress(doneBytes: number): void;
}

/** A file of the model, for people, and its bytes from `start` on. */
export interface FileOrigin {
  readonly name: string;
  read(start: number): AsyncIterable<Uint8Array>;
}

/** Files of `source` end up in `directory` under their own names, the first one last. Throws RingError. */
export async function downloadWhole(
  source: ModelSource, originOf: (fileIndex: number) => FileOrigin, fileDigests: readonly (string | null)[], directory: string, options: DownloadOptions,
): Promise<string> {
  const partials = join(directory, PARTIALS);
  const targets = source.files.map((file) => join(directory, fileName(file.location)));
  let before = 0;
  try {
    await mkdir(partials, { recursive: true });
    for (const [index, file] of source.files.entries()) {
      const base = before;
      const partial = partialPath(source, file.location, directory);
      await downloadFile({ origin: originOf(index), sizeBytes: file.sizeBytes, sha256: fileDigests[index] ?? null, partial },
        { signal: options.signal, onProgress: (done) => options.onProgress(base + done) });
      before += file.sizeBytes;
    }
    // A set of shards is found by its first one: that one comes last.
    for (const index of [...source.files.keys()].reverse()) {
      const file = source.files[index];
      const target = targets[index];
      if (file !== undefined && target !== undefined) await rename(partialPath(source, file.location, directory), target);
    }
    await syncDirectory(directory);
  } catch (error) {
    throw fileError(error, directory, 'write', source.files.reduce((sum, file) => sum + file.sizeBytes, 0));
  }
  return targets[0] ?? directory;
}

/** Where an attempt leaves what it brings, until all of it is there. */
export function partialPaths(source: ModelSource, directory: string): readonly string[] {
  return source.files.map((file) => partialPath(source, file.location, directory));
}

function partialPath(source: ModelSource, location: string, directory: string): string {
  return join(directory, PARTIALS, `${source.revision.slice(0, 12)}${fileName(location)}`);
}

export interface WholeFile {
  readonly origin: FileOrigin;
  readonly sizeBytes: number;
  readonly sha256: string | null;
  readonly partial: string;
}

/** Into `partial`, going on with what is there. Its name is for the caller to change. */
export async function downloadFile(file: WholeFile, options: DownloadOptions): Promise<void> {
  const handle = await open(file.partial, 'a+', 0o644).then(async (created) => {
    await created.close();
    return open(file.partial, 'r+');
  });
  try {
    const hash = createHash('sha256');
    const there = Math.min((await handle.stat()).size, file.sizeBytes);
    let done = 0;
    for await (const chunk of readChunks(handle, 0, there)) {
      options.signal.throwIfAborted();
      hash.update(chunk);
      done += chunk.length;
    }
    options.onProgress(done);
    for await (const chunk of done < file.sizeBytes ? file.origin.read(done) : []) {
      await writeFully(handle, chunk, done);
      hash.update(chunk);
      done += chunk.length;
      options.onProgress(done);
    }
    await handle.truncate(file.sizeBytes);
    await handle.sync();
    const actual = hash.digest('hex');
    if (file.sha256 !== null && actual !== file.sha256) {
      await rm(file.partial, { force: true });
      throw new RingError('digest_mismatch', `${file.origin.name} arrived damaged: its SHA-256 is ${actual}, the hub says ${file.sha256}. It was thrown away: try again`, { file: file.origin.name, actual, expected: file.sha256 });
    }
  } finally {
    await handle.close();
  }
}

function fileName(location: string): string {
  const name = basename(decodeURIComponent(location.split(/[?#]/)[0] ?? ''));
  if (!/^[\w][\w.+ -]{0,200}\.gguf$/i.test(name)) throw new RingError('bad_config', `${JSON.stringify(name.slice(0, 100))} is no name for a model file here`);
  return name;
}
