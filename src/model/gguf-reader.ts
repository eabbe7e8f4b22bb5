/**
 * Reads the header of a model: one GGUF file or a set of shards (`name-00001-of-00003.gguf`), from disk or from
 * header bytes that a peer sent. Shards are one model: the first file's metadata, everybody's tensors.
 *
 * Only headers are read, through a growing window; tensors stay where they are. It must not know architectures.
 */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RingError } from '../core/errors.js';
import type { ModelIdentity } from '../core/types.js';
import type { ParsedFile } from './gguf-parser.js';
import { alignUp, badGguf, MAX_HEADER_BYTES, parseGgufFile } from './gguf-parser.js';
import type { GgufMetadata } from './gguf-values.js';
import { metadataNumber } from './gguf-values.js';
import { fileError } from './file-errors.js';

const FIRST_WINDOW_BYTES = 256 * 1024;
const WINDOW_GROWTH = 4;
export const MAX_SHARDS = 1024;
const SHARD_NAME = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/;

export interface GgufTensor {
  readonly name: string;
  /** Innermost first. */
  readonly dims: readonly number[];
  readonly ggmlType: number;
  /** Index into `GgufHeader.files`. */
  readonly fileIndex: number;
  /** From the start of that file, in bytes. */
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface GgufFile {
  /** Empty when the header came from a peer. */
  readonly path: string;
  readonly sizeBytes: number;
  /** The header itself, without the padding before the tensors; what the digest is made of. */
  readonly header: Uint8Array;
}

export interface GgufHeader {
  readonly version: number;
  readonly metadata: GgufMetadata;
  readonly tensors: readonly GgufTensor[];
  readonly byName: ReadonlyMap<string, GgufTensor>;
  readonly alignment: number;
  readonly files: readonly GgufFile[];
  readonly identity: ModelIdentity;
}

/** Is this the name of one shard of several? Returns its number (from 1) and their count. */
export function shardName(path: string): { readonly prefix: string; readonly number: number; readonly count: number } | null {
  const match = SHARD_NAME.exec(basename(path));
  if (match === null) return null;
  return { prefix: match[1] ?? '', number: Number(match[2]), count: Number(match[3]) };
}

/** All files of the model that `path` belongs to, in order. */
export function modelFiles(path: string): string[] {
  const shard = shardName(path);
  if (shard === null) return [path];
  if (shard.count < 1 || shard.count > MAX_SHARDS || shard.number > shard.count || shard.number < 1) {
    throw badGguf(path, `a model of ${shard.count} shards is not supported (1 to ${MAX_SHARDS} are)`);
  }
  const pad = (value: number): string => String(value).padStart(5, '0');
  return Array.from({ length: shard.count }, (_, index) =>
    join(dirname(path), `${shard.prefix}-${pad(index + 1)}-of-${pad(shard.count)}.gguf`));
}

/** @param path A GGUF file, or any shard of a sharded model. Throws RingError (`bad_gguf`, `io_failed`, …). */
export async function readGgufHeader(path: string): Promise<GgufHeader> {
  const files: GgufFile[] = [];
  const parsed: ParsedFile[] = [];
  for (const file of modelFiles(path)) {
    const one = await readOneFile(file);
    files.push(one.file);
    parsed.push(one.parsed);
  }
  return assemble(files, parsed, files.reduce((total, file) => total + file.sizeBytes, 0));
}

/**
 * The same header from what a peer sent: each file's header bytes and the model's total size. The caller compares
 * `identity.digest` with what it asked for.
 */
export function parseGgufHeader(headers: readonly Uint8Array[], sizeBytes: number, where = 'header from a peer'): GgufHeader {
  if (headers.length < 1 || headers.length > MAX_SHARDS) throw badGguf(where, `it has ${headers.length} files`);
  const parsed = headers.map((bytes, index) => {
    const result = parseGgufFile(bytes, sizeBytes, `${where}, file ${index + 1}`);
    if ('needBytes' in result) throw badGguf(where, `file ${index + 1} is cut short`);
    return result;
  });
  const files = headers.map((header, index) => ({
    path: '', sizeBytes: headers.length === 1 ? sizeBytes : 0, header: header.subarray(0, parsed[index]?.headerBytes ?? 0),
  }));
  return assemble(files, parsed, sizeBytes);
}

function assemble(files: readonly GgufFile[], parsed: readonly ParsedFile[], sizeBytes: number): GgufHeader {
  const first = parsed[0];
  const firstFile = files[0];
  if (first === undefined || firstFile === undefined) throw badGguf('model', 'it has no file');
  const expected = metadataNumber(first.metadata, 'split.count');
  if (expected !== null && expected > 1 && expected !== files.length) {
    throw badGguf(firstFile.path, `it says that the model has ${expected} shards, but ${files.length} are here. Keep all shards in one directory under their original names`);
  }
  const byName = new Map<string, GgufTensor>();
  parsed.forEach((file, fileIndex) => {
    for (const tensor of file.tensors) {
      if (byName.has(tensor.name)) throw badGguf(firstFile.path, `tensor ${JSON.stringify(tensor.name)} is in two shards`);
      byName.set(tensor.name, { ...tensor, fileIndex });
    }
  });
  const hash = createHash('sha256');
  for (const file of files) hash.update(file.header);
  return {
    version: first.version, metadata: first.metadata, tensors: [...byName.values()], byName, alignment: first.alignment,
    files, identity: { digest: hash.digest('hex'), sizeBytes },
  };
}

/** Where a file's tensors begin. */
export function dataOffset(headerBytes: number, alignment: number): number {
  return alignUp(headerBytes, alignment);
}

async function readOneFile(path: string): Promise<{ file: GgufFile; parsed: ParsedFile }> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (error) {
    throw fileError(error, path, 'read');
  }
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw badGguf(path, 'it is not a file');
    return await readGrowing(handle, path, stat.size);
  } catch (error) {
    throw error instanceof RingError ? error : fileError(error, path, 'read');
  } finally {
    await handle.close();
  }
}

/** Reads more and more of the file until the header is whole: at most log4(MAX_HEADER_BYTES) rounds. */
async function readGrowing(handle: FileHandle, path: string, fileBytes: number): Promise<{ file: GgufFile; parsed: ParsedFile }> {
  let window = Math.min(FIRST_WINDOW_BYTES, fileBytes);
  for (;;) {
    const bytes = new Uint8Array(window);
    await readFully(handle, bytes, path);
    const result = parseGgufFile(bytes, fileBytes, path);
    if (!('needBytes' in result)) {
      return { file: { path, sizeBytes: fileBytes, header: bytes.subarray(0, result.headerBytes) }, parsed: result };
    }
    if (window >= Math.min(fileBytes, MAX_HEADER_BYTES)) throw badGguf(path, 'the header does not end');
    window = Math.min(Math.max(window * WINDOW_GROWTH, result.needBytes), fileBytes, MAX_HEADER_BYTES);
  }
}

async function readFully(handle: FileHandle, bytes: Uint8Array, path: string): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, done);
    if (bytesRead === 0) throw badGguf(path, 'it became shorter while it was read');
    done += bytesRead;
  }
}
