/**
 * Tensors of a model that is on this node's disk, and their digests: computed when first asked for, chunk by chunk so
 * that the event loop never stalls, and kept on disk under (inode, size, mtime) of the file. What a checkpoint stores
 * otherwise than the engine wants it is changed while it is read. It must not know peers.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RingError } from '../core/errors.js';
import { fileError } from './file-errors.js';
import { readChunks } from './file-io.js';
import type { GgufHeader } from './gguf-reader.js';
import type { TensorSource } from './stage-writer.js';
import type { TensorTransform } from './tensor-transform.js';

/** Where a tensor's bytes are on this disk. */
export interface TensorPlace {
  readonly path: string;
  readonly offset: number;
  readonly sizeBytes: number;
  /** SHA-256, where it is noted already (a file that is still being written). */
  readonly digest?: string;
  /** How what is there becomes the tensor; absent = it is the tensor. */
  readonly transform?: TensorTransform;
}

/** A source whose tensors' sizes and digests are known. */
export interface SizedTensorSource extends TensorSource {
  digest(tensorName: string): Promise<string>;
  /** Null when it does not have the tensor. */
  sizeOf(tensorName: string): number | null;
}

const MAX_CACHED_DIGESTS = 65_536;
const HEX_DIGEST = /^[0-9a-f]{64}$/;

/** Digests by file identity and place, in one small JSON file per source file; losing it costs only time. */
export class DigestCache {
  private readonly loaded = new Map<string, Map<string, string>>();
  private readonly running = new Map<string, Promise<string>>();
  private writing: Promise<void> = Promise.resolve();

  /** @param directory Null = remember in memory only. */
  constructor(private readonly directory: string | null) {}

  async digest(place: TensorPlace): Promise<string> {
    const file = await fileIdentity(place.path);
    const key = `${place.offset}+${place.sizeBytes}${place.transform === undefined ? '' : `+${place.transform.name}`}`;
    const known = await this.load(file);
    const found = known.get(key);
    if (found !== undefined) return found;
    const job = `${file}/${key}`;
    const running = this.running.get(job) ?? this.compute(place, file, key, known).finally(() => this.running.delete(job));
    this.running.set(job, running);
    return running;
  }

  private async compute(place: TensorPlace, file: string, key: string, known: Map<string, string>): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of readPlace(place, 0)) hash.update(chunk);
    const digest = hash.digest('hex');
    if (known.size < MAX_CACHED_DIGESTS) known.set(key, digest);
    this.writing = this.writing.then(() => this.save(file, known));
    await this.writing;
    return digest;
  }

  private pathOf(directory: string, file: string): string {
    return join(directory, `${file}.json`);
  }

  private async load(file: string): Promise<Map<string, string>> {
    const cached = this.loaded.get(file);
    if (cached !== undefined) return cached;
    const known = this.directory === null ? new Map<string, string>() : await readDigests(this.pathOf(this.directory, file));
    const raced = this.loaded.get(file);
    if (raced !== undefined) return raced;
    this.loaded.set(file, known);
    return known;
  }

  private async save(file: string, known: ReadonlyMap<string, string>): Promise<void> {
    if (this.directory === null) return;
    const path = this.pathOf(this.directory, file);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(`${path}.partial`, JSON.stringify(Object.fromEntries(known)));
      await rename(`${path}.partial`, path);
    } catch {
      // The cache saves time only: without it digests are computed again after a restart.
    }
  }
}

async function fileIdentity(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino}-${size}-${Math.floor(mtimeMs)}`;
  } catch (error) {
    throw fileError(error, path, 'read');
  }
}

async function readDigests(path: string): Promise<Map<string, string>> {
  try {
    const parsed: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null) return new Map();
    const entries: [string, string][] = [];
    for (const [key, value] of Object.entries(parsed)) {
      if (typeof value === 'string' && HEX_DIGEST.test(value)) entries.push([key, value]);
    }
    return new Map(entries.slice(0, MAX_CACHED_DIGESTS));
  } catch {
    // No cache yet, or a damaged one: the digests are computed again.
    return new Map();
  }
}

/** The tensor's bytes from `from` on; RingError when the file is shorter than the header said. */
export async function* readPlace(place: TensorPlace, from: number): AsyncGenerator<Uint8Array> {
  const { transform } = place;
  yield* transform === undefined ? readStored(place, from, place.sizeBytes) : transform.read((at) => readStored(place, at, transform.storedBytes), from);
}

async function* readStored({ path, offset }: TensorPlace, from: number, storedBytes: number): AsyncGenerator<Uint8Array> {
  const length = Math.max(0, storedBytes - from);
  let done = 0;
  try {
    const handle = await open(path, 'r');
    try {
      for await (const chunk of readChunks(handle, offset + from, length)) {
        done += chunk.length;
        yield chunk;
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw fileError(error, path, 'read');
  }
  if (done < length) throw new RingError('io_failed', `${path} became shorter: ${length - done} bytes are missing`, { path });
}

/** Tensors by name, each somewhere in some file. */
export class PlacedTensorSource implements SizedTensorSource {
  constructor(private readonly places: ReadonlyMap<string, TensorPlace>, private readonly digests: DigestCache) {}

  private placeOf(tensorName: string): TensorPlace {
    const place = this.places.get(tensorName);
    if (place === undefined) throw new RingError('io_failed', `tensor ${JSON.stringify(tensorName)} is not on this node`, { tensor: tensorName });
    return place;
  }

  sizeOf(tensorName: string): number | null {
    return this.places.get(tensorName)?.sizeBytes ?? null;
  }

  read(tensorName: string, offset: number): AsyncIterable<Uint8Array> {
    return readPlace(this.placeOf(tensorName), offset);
  }

  async digest(tensorName: string): Promise<string> {
    const place = this.placeOf(tensorName);
    return place.digest ?? this.digests.digest(place);
  }
}

/** Where every tensor of a model is whose files are on this disk. */
export function modelPlaces(header: GgufHeader): ReadonlyMap<string, TensorPlace> {
  const places = new Map<string, TensorPlace>();
  for (const tensor of header.tensors) {
    const file = header.files[tensor.fileIndex];
    if (file !== undefined && file.path !== '') places.set(tensor.name, { path: file.path, offset: tensor.offset, sizeBytes: tensor.sizeBytes });
  }
  return places;
}

/** Every tensor of a model whose files are on this disk. */
export function modelTensorSource(header: GgufHeader, digests: DigestCache): PlacedTensorSource {
  return new PlacedTensorSource(modelPlaces(header), digests);
}
