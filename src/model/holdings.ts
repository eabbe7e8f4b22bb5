/**
 * What this node's state directory keeps of models, how large it is, when it was last used, and how to be rid of it.
 *
 * Only files under the state directory are ever removed: a GGUF that lies elsewhere is used in place and stays. What a plan
 * uses is never touched. Every removal takes the file first that makes the rest usable, so that a crash leaves nothing half.
 * It must not know plans: callers say which shards are in use.
 */
import { mkdir, readdir, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RingError } from '../core/errors.js';
import type { HeldShard, LayerRange } from '../core/types.js';
import { fileError } from './file-errors.js';
import { isDigest } from './header-cache.js';

/** The stage file, the same in another precision, and what belongs to either. */
const STEM = /^((\d{1,4})-(\d{1,4})(-head)?(-tail)?)(?:\.[\w-]+)?\.gguf(\..+)?$/;
/** Beside the shards' directory, one empty file for each stage file: its time is that of the last use. */
const USES = 'uses';
const MAX_FILES = 10_000;

/** One stage's files: the stage file, its embedding rows, a journal, parts. */
export interface KeptShard {
  readonly modelDigest: string;
  readonly range: LayerRange;
  readonly head: boolean;
  readonly tail: boolean;
  /** On disk, all files together. */
  readonly bytes: number;
  /** False: its making was broken off; it goes on when it is needed. */
  readonly complete: boolean;
  /** Milliseconds since 1970. */
  readonly lastUsed: number;
  readonly files: readonly string[];
}

export interface RoomRequest {
  readonly neededBytes: number;
  /** Most that all shards may take; null = as much as the disk has. */
  readonly quotaBytes: number | null;
  readonly inUse: readonly HeldShard[];
}

/** Every shard under `directory` (`<digest>/<start>-<end>….gguf`), the longest unused first. */
export async function keptShards(directory: string): Promise<KeptShard[]> {
  const shards: KeptShard[] = [];
  for (const digest of (await names(directory)).filter(isDigest).sort()) shards.push(...await shardsOf(directory, digest));
  return shards.sort((a, b) => a.lastUsed - b.lastUsed);
}

/** Notes that a stage file was used now, in a file of its own: the stage file's times are what its digests are known by. */
export async function noteUse(stageFile: string): Promise<void> {
  const path = useOf(stageFile);
  const now = new Date();
  try {
    await utimes(path, now, now).catch(async () => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '');
    });
  } catch {
    // A read-only store is still a store; its order of use is then that of making.
  }
}

/** Removes the longest unused shards until `neededBytes` more fit. Throws `disk_full` with the numbers. */
export async function makeRoom(directory: string, request: RoomRequest): Promise<readonly KeptShard[]> {
  const removed: KeptShard[] = [];
  const shards = await keptShards(directory);
  let kept = shards.reduce((sum, shard) => sum + shard.bytes, 0);
  const limit = request.quotaBytes ?? Infinity;
  const idle = shards.filter((shard) => !isInUse(shard, request.inUse));
  for (;;) {
    const free = await freeBytes(directory);
    if (free >= request.neededBytes && kept + request.neededBytes <= limit) return removed;
    const oldest = idle.shift();
    if (oldest === undefined) {
      const quota = request.quotaBytes === null || kept + request.neededBytes <= limit ? '' : `; the store may take ${request.quotaBytes} bytes and ${kept} are in use`;
      throw new RingError('disk_full', `${request.neededBytes} bytes are needed in ${directory}, ${free} are free${quota}. Nothing there is unused: free some space, raise --max-disk or choose another --state-dir`, {
        path: directory, neededBytes: request.neededBytes, freeBytes: free, keptBytes: kept,
      });
    }
    await removeShard(oldest);
    kept -= oldest.bytes;
    removed.push(oldest);
  }
}

/** What may be written when everything unused has made room. */
export async function roomFor(directory: string, { quotaBytes, inUse }: Omit<RoomRequest, 'neededBytes'>): Promise<number> {
  const shards = await keptShards(directory);
  const bytesOf = (some: readonly KeptShard[]): number => some.reduce((sum, shard) => sum + shard.bytes, 0);
  const idle = shards.filter((shard) => !isInUse(shard, inUse));
  const room = await freeBytes(directory) + bytesOf(idle);
  return quotaBytes === null ? room : Math.max(0, Math.min(room, quotaBytes - bytesOf(shards) + bytesOf(idle)));
}

/** The stage file goes first: without it nobody takes the rest for whole. */
export async function removeShard(shard: KeptShard): Promise<void> {
  for (const path of [...shard.files, ...shard.files.map(useOf)].sort((a, b) => Number(b.endsWith('.gguf')) - Number(a.endsWith('.gguf')))) {
    try {
      await rm(path, { force: true });
    } catch (error) {
      throw fileError(error, path, 'write');
    }
  }
}

function useOf(stageFile: string): string {
  const digest = dirname(stageFile);
  // No GGUF by its name: it holds nothing.
  return join(dirname(dirname(digest)), USES, basename(digest), `${basename(stageFile)}.used`);
}

export function isInUse(shard: Pick<HeldShard, 'modelDigest' | 'range'>, inUse: readonly HeldShard[]): boolean {
  return inUse.some((used) => used.modelDigest === shard.modelDigest && used.range.start === shard.range.start && used.range.end === shard.range.end);
}

async function shardsOf(directory: string, digest: string): Promise<KeptShard[]> {
  const byStem = new Map<string, { match: RegExpExecArray; files: string[]; bytes: number; used: number; complete: boolean }>();
  for (const name of (await names(join(directory, digest))).slice(0, MAX_FILES)) {
    const match = STEM.exec(name);
    const path = join(directory, digest, name);
    const stats = match === null ? null : await stat(path).catch(() => null);
    if (match === null || stats === null) continue;
    const stem = byStem.get(match[1] ?? '') ?? { match, files: [], bytes: 0, used: 0, complete: false };
    stem.files.push(path);
    // Half-written files have their final length from the start: what counts is what is on disk.
    stem.bytes += Math.min(stats.size, stats.blocks * 512);
    const use = await stat(useOf(path)).catch(() => null);
    stem.used = Math.max(stem.used, stats.mtimeMs, use?.mtimeMs ?? 0);
    stem.complete ||= match[6] === undefined;
    byStem.set(match[1] ?? '', stem);
  }
  return [...byStem.values()].map(({ match, files, bytes, used, complete }) => ({
    modelDigest: digest, range: { start: Number(match[2]), end: Number(match[3]) }, head: match[4] !== undefined, tail: match[5] !== undefined,
    bytes, complete, lastUsed: Math.round(used), files,
  }));
}

async function freeBytes(directory: string): Promise<number> {
  try {
    await mkdir(directory, { recursive: true });
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch (error) {
    throw fileError(error, dirname(directory), 'write');
  }
}

async function names(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    // No directory, nothing kept.
    return [];
  }
}
