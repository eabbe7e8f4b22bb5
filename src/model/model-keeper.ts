/**
 * The upkeep of this node's models for people: what is kept and how large it is, getting a whole model, removing one, and
 * giving back what nothing uses. A model that a plan uses is refused to be removed; a file that is not ours is left alone.
 * It must not know plans: who asks says what is in use.
 */
import { rm, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { errorCodeOf, errorMessageOf, RingError } from '../core/errors.js';
import type { HeldModel, HeldShard, ModelSource } from '../core/types.js';
import type { KeptModel, Log, ModelTransfer, ModelUpkeep } from '../ports.js';
import { brokenOff, bytesOfAll, removeBrokenOff } from './broken-off.js';
import { checkpointBytes, downloadCheckpoint, fetchedFiles, partialCheckpoint, removeFetched } from './checkpoint-download.js';
import { isCheckpointSource } from './checkpoint-tensors.js';
import { fileError } from './file-errors.js';
import { modelFiles } from './gguf-reader.js';
import type { KeptShard } from './holdings.js';
import { isInUse, keptShards, makeRoom, removeShard, roomFor } from './holdings.js';
import type { InternetModels } from './internet-models.js';
import { isInternetReference } from './internet-reference.js';
import { unknownModel, findModel } from './model-names.js';
import type { ModelStore } from './model-store.js';
import { SharedTransfers } from './shared-transfers.js';
import type { DownloadOptions, FileOrigin } from './whole-download.js';
import { downloadWhole, partialPaths } from './whole-download.js';

/** Between two words in the log about one transfer. */
const PROGRESS_LOG_MS = 10_000;

export interface KeeperParts {
  readonly stateDirectory: string;
  readonly store: ModelStore;
  readonly internet: InternetModels;
  /** The models by the names that people see. */
  models(): readonly HeldModel[];
  /** The internet reference of a name of the catalogue; null = it has no such name. */
  catalogued(name: string): Promise<string | null>;
  catalogueNames(): Promise<readonly string[]>;
  /** The model of an internet reference; throws `licence_required` where its terms are not accepted. */
  fromInternet(reference: string, signal: AbortSignal): Promise<HeldModel>;
  /** Its files put together from tensors that this node's stages or other nodes have, and the rest from the internet. */
  assembled(model: HeldModel, signal: AbortSignal): Promise<AssembledFiles>;
  /** Called after something came or went. */
  changed(): Promise<void>;
  /** Most that shards may take; null = as much as the disk has. */
  readonly quotaBytes: number | null;
  readonly log: Log | null;
}

export interface AssembledFiles {
  /** Null = this file cannot be put together. */
  originOf(fileIndex: number): FileOrigin | null;
  close(): Promise<void>;
}

export class ModelKeeper implements ModelUpkeep {
  private readonly running = new Map<string, ModelTransfer>();
  private readonly pulls = new SharedTransfers<string>();

  constructor(private readonly parts: KeeperParts, private readonly inUse: () => readonly HeldShard[]) {}

  async list(): Promise<readonly KeptModel[]> {
    const shards = await keptShards(this.shardDirectory);
    const models = this.parts.models();
    const listed = await Promise.all(models.map((model) => this.kept(model, shards)));
    const strangers = [...new Set(shards.map((shard) => shard.modelDigest))].filter((digest) => !models.some((model) => model.digest === digest));
    return [...listed, ...await Promise.all(strangers.map((digest) => this.kept({ digest, name: digest.slice(0, 12), sizeBytes: 0, architecture: '', layers: 0 }, shards)))];
  }

  transfers(): readonly ModelTransfer[] {
    return [...this.running.values()];
  }

  async pull(reference: string, signal: AbortSignal): Promise<{ readonly model: string; readonly path: string; readonly bytes: number }> {
    const model = await this.found(reference, signal);
    const stored = this.parts.store.get(model.digest);
    if (stored !== null) return { model: stored.held.name, path: stored.path, bytes: stored.held.sizeBytes };
    const { source } = model;
    if (source === undefined) throw new RingError('bad_request', `${model.name} is on no disk of this node and has no place on the internet: name it as hf:owner/repo`);
    const path = await this.pulls.run(model.digest, signal, (shared) => this.download(model, source, shared));
    return { model: model.name, path, bytes: model.sizeBytes };
  }

  private async download(model: HeldModel, source: ModelSource, signal: AbortSignal): Promise<string> {
    const startedMs = performance.now();
    let saidMs = startedMs;
    const update = (doneBytes: number): void => {
      this.running.set(model.digest, { model: model.name, doneBytes, totalBytes: model.sizeBytes });
      if (performance.now() - saidMs < PROGRESS_LOG_MS) return;
      saidMs = performance.now();
      this.parts.log?.info('a model is being fetched', { model: model.name, doneBytes, totalBytes: model.sizeBytes });
    };
    update(0);
    try {
      const path = isCheckpointSource(source) ? await this.downloadCheckpoint(model, source, { signal, onProgress: update }) : await this.downloadFiles(model, source, { signal, onProgress: update });
      await this.parts.changed();
      this.parts.log?.info('a model was fetched', { model: model.name, bytes: model.sizeBytes, seconds: Math.round((performance.now() - startedMs) / 1000) });
      return path;
    } finally {
      this.running.delete(model.digest);
    }
  }

  private async downloadFiles(model: HeldModel, source: ModelSource, options: DownloadOptions): Promise<string> {
    const there = await bytesOfAll(this.partialsOf(source));
    await makeRoom(this.shardDirectory, { neededBytes: Math.max(0, model.sizeBytes - there), quotaBytes: null, inUse: this.inUse() });
    const digests = await this.parts.internet.lookUpFileDigests(model, options.signal);
    const { client } = this.parts.internet;
    const fromInternet = (index: number): FileOrigin => {
      const [name, sizeBytes] = [client.urlOf(source, index), source.files[index]?.sizeBytes ?? 0];
      return { name, read: (start) => client.read(name, { start, end: sizeBytes, sizeBytes }, options.signal) };
    };
    // What nobody can compare with the hub's word is not put together from pieces.
    const nearest = digests.length === 0 || digests.includes(null) ? null : await this.parts.assembled(model, options.signal);
    try {
      return await downloadWhole(source, (index) => nearest?.originOf(index) ?? fromInternet(index), digests, this.modelDirectory, options);
    } catch (error) {
      if (nearest === null || errorCodeOf(error) !== 'digest_mismatch') throw error;
      this.parts.log?.warn('a model that was put together from other nodes\' tensors is not what the hub says: it is fetched from there', { model: model.name, error: errorMessageOf(error) });
      return await downloadWhole(source, fromInternet, digests, this.modelDirectory, options);
    } finally {
      await nearest?.close();
    }
  }

  private async downloadCheckpoint({ digest, sizeBytes }: HeldModel, source: ModelSource, options: DownloadOptions): Promise<string> {
    const files = this.parts.internet.filesOf(source, options.signal);
    const [totalBytes, there] = [await checkpointBytes(files), await bytesOfAll(this.partialsOf(source))];
    await makeRoom(this.shardDirectory, { neededBytes: Math.max(0, totalBytes - there), quotaBytes: null, inUse: this.inUse() });
    return downloadCheckpoint(this.parts.internet.client, files, { directory: this.modelDirectory, digest }, {
      // Its files have other bytes than the model that they become: tokenizer and weights.
      ...options, onProgress: (done) => options.onProgress(Math.min(sizeBytes, Math.round((done * sizeBytes) / totalBytes))),
    });
  }

  async remove(reference: string): Promise<{ readonly model: string; readonly freedBytes: number; readonly leftInPlace: string | null }> {
    const kept = (await this.list()).find((model) => model.digest === this.digestOf(reference));
    if (kept === undefined) throw unknownModel(reference, this.parts.models());
    if (kept.inUse) throw new RingError('bad_request', `${kept.name} is being served: "agent models unload ${kept.name}" comes first`, { model: kept.name });
    if (this.running.has(kept.digest)) throw new RingError('bad_request', `${kept.name} is being fetched: interrupt "agent models pull" first`, { model: kept.name });
    for (const shard of await keptShards(this.shardDirectory)) if (shard.modelDigest === kept.digest) await removeShard(shard);
    const source = this.parts.internet.sourceOf(kept.digest);
    if (source !== null) for (const path of this.partialsOf(source)) await removeBrokenOff(path);
    if (kept.path !== null && kept.ours) await this.removeModel(kept.path, kept.digest);
    for (const [room, ending] of [['headers', 'header'], ['vocabularies', 'gguf']] as const) await this.removeFile(join(this.parts.stateDirectory, room, `${kept.digest}.${ending}`));
    await this.parts.internet.forget(kept.digest);
    await this.parts.changed();
    return { model: kept.name, freedBytes: kept.freesBytes, leftInPlace: kept.ours ? null : kept.path };
  }

  async prune(keepBytes: number): Promise<{ readonly removed: number; readonly brokenOff: number; readonly freedBytes: number }> {
    const shards = await keptShards(this.shardDirectory);
    const halves = await brokenOff(this.modelDirectory);
    const wanted = new Set([...this.running.keys()].flatMap((digest) => this.partialsOf(this.parts.internet.sourceOf(digest))));
    let total = [...shards, ...halves].reduce((sum, { bytes }) => sum + bytes, 0);
    let removed = 0;
    let freedBytes = 0;
    let halvesRemoved = 0;
    // Nothing can be served of these.
    for (const { path, bytes } of halves) {
      if (total <= keepBytes || wanted.has(path)) continue;
      await removeBrokenOff(path);
      total -= bytes;
      freedBytes += bytes;
      halvesRemoved += 1;
    }
    for (const shard of shards) {
      if (total <= keepBytes || isInUse(shard, this.inUse())) continue;
      await removeShard(shard);
      total -= shard.bytes;
      freedBytes += shard.bytes;
      removed += 1;
    }
    await this.parts.changed();
    return { removed, brokenOff: halvesRemoved, freedBytes };
  }

  /** Before `shard`, of so many bytes when whole, is written. */
  async makeRoom(wholeBytes: number, shard: HeldShard): Promise<void> {
    const there = (await keptShards(this.shardDirectory)).filter((kept) => isInUse(kept, [shard])).reduce((sum, kept) => sum + kept.bytes, 0);
    const neededBytes = Math.max(0, wholeBytes - there);
    const removed = await makeRoom(this.shardDirectory, { neededBytes, quotaBytes: this.parts.quotaBytes, inUse: [...this.inUse(), shard] });
    if (removed.length > 0) await this.parts.changed();
  }

  /** What new stages may take, with what unused ones would give back. */
  async roomBytes(): Promise<number> {
    return roomFor(this.shardDirectory, { quotaBytes: this.parts.quotaBytes, inUse: this.inUse() });
  }

  private get shardDirectory(): string {
    return join(this.parts.stateDirectory, 'shards');
  }

  private get modelDirectory(): string {
    return join(this.parts.stateDirectory, 'models');
  }

  private partialsOf(source: ModelSource | null): readonly string[] {
    if (source === null) return [];
    try {
      return isCheckpointSource(source) ? [partialCheckpoint(source, this.modelDirectory)] : partialPaths(source, this.modelDirectory);
    } catch {
      // What has no name that is one here was never fetched.
      return [];
    }
  }

  private digestOf(reference: string): string {
    return findModel(reference, this.parts.models())?.digest ?? reference;
  }

  private async found(reference: string, signal: AbortSignal): Promise<HeldModel> {
    const known = isInternetReference(reference) ? null : findModel(reference, this.parts.models());
    if (known !== null) return known;
    const internet = isInternetReference(reference) ? reference : await this.parts.catalogued(reference);
    if (internet === null) throw unknownModel(reference, this.parts.models(), await this.parts.catalogueNames());
    return this.parts.fromInternet(internet, signal);
  }

  private async kept(model: HeldModel, all: readonly KeptShard[]): Promise<KeptModel> {
    const stored = this.parts.store.get(model.digest);
    const used = this.inUse();
    const shards = all.filter((shard) => shard.modelDigest === model.digest);
    const path = stored?.path ?? null;
    const files = stored === null || !`${dirname(stored.path)}${sep}`.startsWith(`${this.modelDirectory}${sep}`) ? null
      // A checkpoint's directory may have other files too: whoever put it there removes it.
      : stored.loadable ? modelFiles(stored.path) : await fetchedFiles(stored.path);
    const ours = files !== null;
    const fileBytes = await sizeOnDisk(files ?? []);
    const internet = model.source ?? this.parts.internet.sourceOf(model.digest);
    const partialBytes = await bytesOfAll(this.partialsOf(internet));
    return {
      name: model.name, digest: model.digest, sizeBytes: model.sizeBytes, layers: model.layers, path, ours,
      internet: internet === null ? null : referenceOf(internet),
      inUse: used.some((shard) => shard.modelDigest === model.digest),
      partialBytes,
      freesBytes: fileBytes + partialBytes + shards.reduce((sum, shard) => sum + shard.bytes, 0),
      shards: shards.map((shard) => ({
        range: shard.range, head: shard.head, tail: shard.tail, bytes: shard.bytes, complete: shard.complete, lastUsed: shard.lastUsed, inUse: isInUse(shard, used),
      })),
    };
  }

  private async removeModel(path: string, digest: string): Promise<void> {
    if (this.parts.store.get(digest)?.loadable === false) return removeFetched(path);
    for (const file of modelFiles(path)) await this.removeFile(file);
  }

  private async removeFile(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (error) {
      throw fileError(error, path, 'write');
    }
  }
}

/** As people would name it. */
function referenceOf(source: ModelSource): string {
  const location = source.files[0]?.location ?? '';
  if (source.repository === '') return location;
  return isCheckpointSource(source) ? `hf:${source.repository}` : `hf:${source.repository}/${location}`;
}

async function sizeOnDisk(files: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const file of files) bytes += (await stat(file).catch(() => ({ size: 0 }))).size;
  return bytes;
}
