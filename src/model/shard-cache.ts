/**
 * Stage files that this node has made: `shards/<digest>/<start>-<end>[-head][-tail].gguf` in the state directory.
 *
 * A file under its final name is whole (stage-writer.ts). It also says where a shard's tensors are under the names they
 * have in the model, so that a node that holds a shard can serve it. It must not know the network.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HeldShard } from '../core/types.js';
import type { GgufHeader } from './gguf-reader.js';
import { isDigest } from './header-cache.js';
import type { StageFileLayout, StageSpec } from './stage-file.js';
import { planStageFile } from './stage-file.js';
import { embeddingFileOf, isStageComplete } from './stage-writer.js';
import type { TensorPlace } from './tensor-source.js';

const SHARD_FILE = /^(\d{1,4})-(\d{1,4})(-head)?(-tail)?\.gguf$/;
const MAX_SHARDS_LISTED = 1000;

export class ShardCache {
  constructor(private readonly directory: string) {}

  pathOf(digest: string, spec: StageSpec): string {
    return join(this.directory, digest, `${spec.range.start}-${spec.range.end}${spec.head ? '-head' : ''}${spec.tail ? '-tail' : ''}.gguf`);
  }


  /** What is there by name, sorted. */
  list(): HeldShard[] {
    const shards: HeldShard[] = [];
    for (const digest of names(this.directory).filter(isDigest).sort()) {
      for (const name of names(join(this.directory, digest)).sort()) {
        const match = SHARD_FILE.exec(name);
        if (match === null || shards.length >= MAX_SHARDS_LISTED) continue;
        shards.push({
          modelDigest: digest, range: { start: Number(match[1]), end: Number(match[2]) }, head: match[3] !== undefined, tail: match[4] !== undefined,
        });
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
        const layout = planned(header, shard, copyEmbedding);
        if (layout !== null && await isStageComplete(layout, path)) {
          found.push({ spec: shard, path, layout });
          break;
        }
      }
    }
    return found;
  }

  /** Every tensor of the model that some shard here holds, under its name in the model. */
  async places(header: GgufHeader): Promise<Map<string, TensorPlace>> {
    const places = new Map<string, TensorPlace>();
    for (const { path, layout } of await this.usable(header)) {
      for (const tensor of layout.tensors) places.set(tensor.sourceTensor, { path, offset: tensor.targetOffset, sizeBytes: tensor.sizeBytes });
      const rows = layout.embedding;
      if (rows !== null) places.set(rows.sourceTensor, { path: embeddingFileOf(path), offset: 0, sizeBytes: rows.sizeBytes });
    }
    return places;
  }
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
