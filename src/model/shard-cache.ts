/**
 * Stage files that this node has made: `shards/<digest>/<start>-<end>[-head][-tail].gguf` in the state directory.
 *
 * A file under its final name is whole (stage-writer.ts). It also says where a shard's tensors are under the names they
 * have in the model, so that a node that holds a shard can serve it. It must not know the network.
 */
import { existsSync, readdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { HeldShard } from '../core/types.js';
import type { GgufHeader } from './gguf-reader.js';
import { isDigest } from './header-cache.js';
import type { StageFileLayout, StageSpec } from './stage-file.js';
import { planStageFile } from './stage-file.js';
import { StageJournal } from './stage-journal.js';
import { EMBEDDING_KEY, embeddingFileOf, isStageComplete, journalOf, partialOf } from './stage-writer.js';
import type { TensorPlace } from './tensor-source.js';

const SHARD_FILE = /^(\d{1,4})-(\d{1,4})(-head)?(-tail)?\.gguf$/;
const JOURNAL_SUFFIX = '.journal';
const MAX_SHARDS_LISTED = 1000;
const MAX_PLANNED = 64;

export class ShardCache {
  /** Layouts by path, so that a peer's every question does not plan the file anew. */
  private readonly layouts = new Map<string, StageFileLayout | null>();
  /** By fingerprint: the file that was seen to be whole. */
  private readonly complete = new Map<string, string>();

  constructor(private readonly directory: string) {}

  pathOf(digest: string, spec: StageSpec): string {
    return join(this.directory, digest, `${spec.range.start}-${spec.range.end}${spec.head ? '-head' : ''}${spec.tail ? '-tail' : ''}.gguf`);
  }


  /** Beside the shard; no shard itself: peers are given stored weights only. */
  convertedPathOf(digest: string, spec: StageSpec, precision: string): string {
    return this.pathOf(digest, spec).replace(/\.gguf$/, `.${precision}.gguf`);
  }

  /** What is there by name, sorted. */
  list(): HeldShard[] {
    const shards: HeldShard[] = [];
    for (const digest of names(this.directory).filter(isDigest).sort()) {
      for (const name of names(join(this.directory, digest)).sort()) {
        const spec = specOf(name);
        if (spec !== null && shards.length < MAX_SHARDS_LISTED) shards.push({ modelDigest: digest, ...spec });
      }
    }
    return shards;
  }

  /** Shards of one model whose files are of the layout that this version would write. */
  async usable(header: GgufHeader): Promise<{ spec: StageSpec; path: string; layout: StageFileLayout }[]> {
    const found: { spec: StageSpec; path: string; layout: StageFileLayout }[] = [];
    for (const shard of this.list().filter((entry) => entry.modelDigest === header.identity.digest)) {
      const path = this.pathOf(shard.modelDigest, shard);
      for (const copyEmbedding of [true, false]) {
        const layout = this.layout(header, shard, copyEmbedding);
        if (layout !== null && await this.isComplete(layout, path)) {
          found.push({ spec: shard, path, layout });
          break;
        }
      }
    }
    return found;
  }

  /** Every tensor of the model that some shard here holds, also a half-written one, under its name in the model. */
  async places(header: GgufHeader): Promise<Map<string, TensorPlace>> {
    const places = await this.unfinishedPlaces(header);
    for (const { path, layout } of await this.usable(header)) {
      for (const tensor of layout.tensors) places.set(tensor.sourceTensor, { path, offset: tensor.targetOffset, sizeBytes: tensor.sizeBytes });
      const rows = layout.embedding;
      if (rows !== null) places.set(rows.sourceTensor, { path: embeddingFileOf(path), offset: 0, sizeBytes: rows.sizeBytes });
    }
    return places;
  }

  /** Tensors that are whole in files that are not. */
  private async unfinishedPlaces(header: GgufHeader): Promise<Map<string, TensorPlace>> {
    const places = new Map<string, TensorPlace>();
    const digest = header.identity.digest;
    for (const name of names(join(this.directory, digest)).filter((file) => file.endsWith(JOURNAL_SUFFIX)).slice(0, MAX_SHARDS_LISTED)) {
      const spec = specOf(name.slice(0, -JOURNAL_SUFFIX.length));
      const layout = spec === null ? null : this.layout(header, spec, true);
      if (spec === null || layout === null) continue;
      const target = this.pathOf(digest, spec);
      const finished = await StageJournal.finished(journalOf(target), layout.fingerprint);
      if (finished === null) continue;
      for (const tensor of layout.tensors) {
        const sha256 = finished.get(tensor.targetName);
        if (sha256 !== undefined) places.set(tensor.sourceTensor, { path: partialOf(target), offset: tensor.targetOffset, sizeBytes: tensor.sizeBytes, digest: sha256 });
      }
      const rows = finished.get(EMBEDDING_KEY);
      if (layout.embedding !== null && rows !== undefined) {
        // They get their own name a moment before the stage file does (stage-writer.ts).
        const final = embeddingFileOf(target);
        const path = existsSync(final) ? final : partialOf(final);
        places.set(layout.embedding.sourceTensor, { path, offset: 0, sizeBytes: layout.embedding.sizeBytes, digest: rows });
      }
    }
    return places;
  }

  /** Compared once for each state of the file, so that a peer's every question does not read the whole header again. */
  private async isComplete(layout: StageFileLayout, path: string): Promise<boolean> {
    const stats = await stat(path).catch(() => null);
    const stamp = stats === null ? '' : `${stats.ino}-${stats.size}-${stats.mtimeMs}`;
    if (stamp !== '' && this.complete.get(layout.fingerprint) === `${path} ${stamp}`) return true;
    if (!await isStageComplete(layout, path)) return false;
    if (this.complete.size >= MAX_PLANNED) this.complete.clear();
    this.complete.set(layout.fingerprint, `${path} ${stamp}`);
    return true;
  }

  private layout(header: GgufHeader, spec: StageSpec, copyEmbedding: boolean): StageFileLayout | null {
    const key = `${this.pathOf(header.identity.digest, spec)} ${copyEmbedding}`;
    const known = this.layouts.get(key);
    if (known !== undefined) return known;
    const layout = planned(header, spec, copyEmbedding);
    if (this.layouts.size >= MAX_PLANNED) this.layouts.clear();
    this.layouts.set(key, layout);
    return layout;
  }
}

function specOf(fileName: string): StageSpec | null {
  const match = SHARD_FILE.exec(fileName);
  return match === null ? null : { range: { start: Number(match[1]), end: Number(match[2]) }, head: match[3] !== undefined, tail: match[4] !== undefined };
}

function planned(header: GgufHeader, spec: StageSpec, copyEmbedding: boolean): StageFileLayout | null {
  try {
    return planStageFile(header, spec, { copyEmbedding });
  } catch {
    // A shard of an older version whose rules differ, or a file that somebody put there: it is not used.
    return null;
  }
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // No directory, no shards.
    return [];
  }
}
