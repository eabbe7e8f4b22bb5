/**
 * Builds a stage file from a tensor source: resumable, verified, never half.
 *
 * Bytes go to `<target>.partial` (embedding rows to `<target>.embd.partial`) with a journal beside them; only after every
 * tensor's SHA-256 is right and all is synced are the files renamed, the stage file last. Whoever sees `<target>` may
 * trust it. A restart skips finished tensors and goes on inside an unfinished one. It must not know GGUF or peers.
 */
import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { constants, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { RingError } from '../core/errors.js';
import { fileError } from './file-errors.js';
import { readChunks, readFully, syncDirectory, writeFully } from './file-io.js';
import type { GgufHeader } from './gguf-reader.js';
import { shardName } from './gguf-reader.js';
import type { StageFileLayout } from './stage-file.js';
import { headerOnlyBytes } from './stage-file.js';
import { StageJournal } from './stage-journal.js';

/** Unfinished tensors are synced and noted every so many bytes, and on a slow line after so long: what a crash can lose. */
const CHECKPOINT_BYTES = 64 * 1024 * 1024;
const CHECKPOINT_MS = 1_000;
/** A tensor that arrives damaged is fetched again, so often in all. */
const MAX_DAMAGED_ATTEMPTS = 3;

/** Where tensors come from: this node's disk (tensor-source.ts) or a peer. */
export interface TensorSource {
  /** The tensor's bytes from `offset` to its end, in chunks. */
  read(tensorName: string, offset: number): AsyncIterable<Uint8Array>;
  /** SHA-256 of the whole tensor, hex. Null = nobody has it yet: whoever writes it first finds it out. */
  digest(tensorName: string): Promise<string | null>;
  /** Tensors of a lower number are written first. Absent = in the order of the file. */
  order?(tensorName: string): number;
  /** What was read of this tensor is not what its digest says. True = another source may do better. */
  rejected?(tensorName: string): boolean;
  /** What will be asked for, in this order, before any of it is. */
  expect?(tensorNames: readonly string[]): void;
  /** Nothing more will be asked for. */
  close?(): Promise<void>;
}

export interface StageProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: StageProgress) => void;
}

/** What one call moved; 0 when the file was there already. */
export interface WriteResult {
  readonly readBytes: number;
}

/** One tensor's place in one of the two files. */
interface Item {
  /** Key in the journal. */
  readonly key: string;
  readonly sourceTensor: string;
  readonly handle: FileHandle;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** Key of the embedding rows in the journal. */
export const EMBEDDING_KEY = 'embedding rows';

export function journalOf(target: string): string {
  return `${target}.journal`;
}

/** What a file is called until it is whole. */
export function partialOf(file: string): string {
  return `${file}.partial`;
}

export function embeddingFileOf(target: string): string {
  return `${target}.embd`;
}

/** True when the file (and its embedding rows) is there, whole and of this layout. */
export async function isStageComplete(layout: StageFileLayout, target: string): Promise<boolean> {
  try {
    const handle = await open(target, 'r');
    try {
      const { size } = await handle.stat();
      if (size !== layout.fileBytes) return false;
      const found = new Uint8Array(layout.headerBytes.length);
      await readFully(handle, found, 0);
      if (Buffer.compare(found, layout.headerBytes) !== 0) return false;
    } finally {
      await handle.close();
    }
    return layout.embedding === null || (await stat(embeddingFileOf(target))).size === layout.embedding.sizeBytes;
  } catch {
    // Not there or not readable: it has to be written, and writing reports what is wrong.
    return false;
  }
}

/**
 * Throws RingError: `cancelled`, `disk_full`, `permission_denied`, `io_failed`, `digest_mismatch`, or what the source
 * throws. Never run two writers on one target: a state directory has one agent, and its library one writer a target.
 */
export async function writeStageFile(
  layout: StageFileLayout, source: TensorSource, target: string, options: WriteOptions = {},
): Promise<WriteResult> {
  if (shardName(target) !== null) {
    throw new RingError('bad_config', `a stage file may not be named like a shard of a model: ${target}`, { path: target });
  }
  if (await isStageComplete(layout, target)) return { readBytes: 0 };
  const neededBytes = layout.fileBytes + (layout.embedding?.sizeBytes ?? 0);
  try {
    return await new StageWriter(layout, source, target, options, neededBytes).run();
  } catch (error) {
    throw fileError(error, target, 'write', neededBytes);
  }
}

/** Writes the header-only GGUF (metadata and tokenizer, no tensors) in one durable step. */
export async function writeHeaderOnly(header: GgufHeader, target: string): Promise<void> {
  const bytes = headerOnlyBytes(header);
  try {
    await mkdir(dirname(target), { recursive: true });
    const partial = `${target}.partial`;
    const handle = await open(partial, 'w');
    try {
      await writeFully(handle, bytes, 0);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, target);
    await syncDirectory(dirname(target));
  } catch (error) {
    throw fileError(error, target, 'write', bytes.length);
  }
}

class StageWriter {
  private doneBytes = 0;
  private readBytes = 0;
  private readonly partial: string;
  private readonly embeddingPartial: string;

  constructor(
    private readonly layout: StageFileLayout, private readonly source: TensorSource, private readonly target: string,
    private readonly options: WriteOptions, private readonly totalBytes: number,
  ) {
    this.partial = partialOf(target);
    this.embeddingPartial = partialOf(embeddingFileOf(target));
  }

  async run(): Promise<WriteResult> {
    await mkdir(dirname(this.target), { recursive: true });
    const journal = await StageJournal.open(journalOf(this.target), this.layout.fingerprint);
    const opened: FileHandle[] = [];
    try {
      if (journal.isNew) await this.removePartials();
      const file = await this.openPartial(this.partial, this.layout.fileBytes);
      opened.push(file);
      await writeFully(file, this.layout.headerBytes, 0);
      const items = this.layout.tensors.map((tensor): Item => ({
        key: tensor.targetName, sourceTensor: tensor.sourceTensor, handle: file, offset: tensor.targetOffset, sizeBytes: tensor.sizeBytes,
      }));
      const embedding = this.layout.embedding;
      if (embedding !== null) {
        const rows = await this.openPartial(this.embeddingPartial, embedding.sizeBytes);
        opened.push(rows);
        items.push({ key: EMBEDDING_KEY, sourceTensor: embedding.sourceTensor, handle: rows, offset: 0, sizeBytes: embedding.sizeBytes });
      }
      const order = (item: Item): number => this.source.order?.(item.sourceTensor) ?? 0;
      const ordered = items.toSorted((a, b) => order(a) - order(b));
      this.source.expect?.(ordered.filter((item) => journal.digestOf(item.key) === null).map((item) => item.sourceTensor));
      for (const item of ordered) await this.writeItem(item, journal);
      for (const handle of opened) await handle.sync();
    } finally {
      await this.source.close?.();
      for (const handle of opened) await handle.close();
      await journal.close();
    }
    await this.publish();
    return { readBytes: this.readBytes };
  }

  private async removePartials(): Promise<void> {
    await rm(this.partial, { force: true });
    await rm(this.embeddingPartial, { force: true });
  }

  /** A sparse file of its final size; what is there already stays. */
  private async openPartial(path: string, bytes: number): Promise<FileHandle> {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o644);
    try {
      await handle.truncate(bytes);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Again from another source while there is one, when what came is damaged. */
  private async writeItem(item: Item, journal: StageJournal): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const before = this.doneBytes;
      try {
        await this.writeOnce(item, journal);
        return;
      } catch (error) {
        const damaged = error instanceof RingError && error.code === 'digest_mismatch';
        if (!damaged || this.source.rejected?.(item.sourceTensor) !== true || attempt >= MAX_DAMAGED_ATTEMPTS) throw error;
        this.advance(before - this.doneBytes);
      }
    }
  }

  private async writeOnce(item: Item, journal: StageJournal): Promise<void> {
    this.throwIfCancelled();
    const expected = await this.source.digest(item.sourceTensor);
    const finished = journal.digestOf(item.key);
    if (finished !== null && (finished === expected || expected === null)) {
      this.advance(item.sizeBytes);
      return;
    }
    const hash = createHash('sha256');
    const resumed = await this.rehash(item, journal.offsetOf(item.key), hash);
    this.advance(resumed);
    await this.copy(item, resumed, hash, journal);
    const actual = hash.digest('hex');
    if (expected !== null && actual !== expected) {
      await journal.checkpoint(item.key, 0);
      throw new RingError('digest_mismatch', `tensor ${item.sourceTensor} for ${this.target} arrived damaged: its SHA-256 is ${actual}, expected ${expected}. It will be fetched again`, {
        tensor: item.sourceTensor, expected, actual,
      });
    }
    await item.handle.datasync();
    await journal.finish(item.key, actual);
  }

  /** Feeds what an earlier run left on disk into the hash; returns how much that is. */
  private async rehash(item: Item, upTo: number, hash: Hash): Promise<number> {
    const length = Math.min(upTo, item.sizeBytes);
    let done = 0;
    for await (const chunk of readChunks(item.handle, item.offset, length)) {
      this.throwIfCancelled();
      hash.update(chunk);
      done += chunk.length;
    }
    return done;
  }

  private async copy(item: Item, from: number, hash: Hash, journal: StageJournal): Promise<void> {
    let done = from;
    let noted = from;
    let notedAtMs = performance.now();
    if (done === item.sizeBytes) return;
    for await (const chunk of this.source.read(item.sourceTensor, from)) {
      this.throwIfCancelled();
      if (done + chunk.length > item.sizeBytes) {
        throw new RingError('digest_mismatch', `the source of tensor ${item.sourceTensor} sent more than its ${item.sizeBytes} bytes`, { tensor: item.sourceTensor });
      }
      await writeFully(item.handle, chunk, item.offset + done);
      hash.update(chunk);
      done += chunk.length;
      this.readBytes += chunk.length;
      this.advance(chunk.length);
      if (done - noted >= CHECKPOINT_BYTES || performance.now() - notedAtMs >= CHECKPOINT_MS) {
        await item.handle.datasync();
        await journal.checkpoint(item.key, done);
        noted = done;
        notedAtMs = performance.now();
      }
    }
    if (done !== item.sizeBytes) {
      await item.handle.datasync();
      await journal.checkpoint(item.key, done);
      throw new RingError('io_failed', `the source of tensor ${item.sourceTensor} ended after ${done} of ${item.sizeBytes} bytes`, { tensor: item.sourceTensor, done });
    }
  }

  /** The embedding rows first: the stage file's own name appears only when everything else is there. */
  private async publish(): Promise<void> {
    if (this.layout.embedding !== null) await rename(this.embeddingPartial, embeddingFileOf(this.target));
    await syncDirectory(dirname(this.target));
    await rename(this.partial, this.target);
    await syncDirectory(dirname(this.target));
    await rm(journalOf(this.target), { force: true });
  }

  private advance(bytes: number): void {
    this.doneBytes += bytes;
    this.options.onProgress?.({ doneBytes: this.doneBytes, totalBytes: this.totalBytes });
  }

  private throwIfCancelled(): void {
    if (this.options.signal?.aborted === true) throw new RingError('cancelled', `writing ${this.target} was cancelled`, { path: this.target });
  }
}
