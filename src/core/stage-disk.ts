/**
 * What a stage's files take on a node's disk, beside what is there already: a node that cannot hold them is not given the
 * stage.
 *
 * A model that the node has whole is used in place when it runs alone; its embedding is read from there too. A checkpoint is
 * not: each of its stages is made into a file. A stage that was made before takes nothing. Pure arithmetic; it must not know memory.
 */
import { convertedShape } from './node-tables.js';
import type { PlacementNode } from './placement-types.js';
import type { HeldShard, LayerRange, ModelShape } from './types.js';

export interface NodeDisk {
  /** What new stage files may take. */
  readonly roomBytes: number;
  /** The model's own files are there, and the engine can read them as they are. */
  readonly holdsModel: boolean;
  /** Stages of it that are there. */
  readonly held: readonly HeldShard[];
  /** `[layers + 1]`: bytes of layers `[0, i)` on disk, converted ones included. */
  readonly bytesBefore: readonly number[];
  readonly headBytes: number;
  readonly tailBytes: number;
}

export function nodeDisk({ capabilities, settings }: PlacementNode, shape: ModelShape): NodeDisk {
  const { digest } = shape.identity;
  const converted = convertedShape(shape, settings?.precision);
  const bytesBefore = [0];
  for (const [layer, bytes] of shape.layerBytes.entries()) {
    bytesBefore.push((bytesBefore.at(-1) ?? 0) + bytes + (converted === shape ? 0 : converted.layerBytes[layer] ?? 0));
  }
  const holdsModel = capabilities.models.some((model) => model.digest === digest && model.source === undefined && model.checkpoint !== true);
  const beyondLayers = Math.max(0, shape.wholeBytes - shape.layerBytes.reduce((sum, bytes) => sum + bytes, 0));
  // Without an output matrix of its own the model's embedding is both: head and tail each have it.
  const embeddingBytes = Math.max(beyondLayers - shape.tailBytes, Math.min(beyondLayers, shape.tailBytes));
  return {
    roomBytes: capabilities.storeRoomBytes ?? capabilities.diskFreeBytes,
    holdsModel,
    held: capabilities.shards.filter((shard) => shard.modelDigest === digest),
    bytesBefore,
    headBytes: holdsModel ? 0 : embeddingBytes,
    tailBytes: shape.tailBytes,
  };
}

/** Bytes that the files of layers `[start, end)` would add. */
export function stageDiskBytes(disk: NodeDisk, start: number, end: number): number {
  const layers = disk.bytesBefore.length - 1;
  const [head, tail] = [start === 0, end === layers];
  if (head && tail && disk.holdsModel) return 0;
  if (disk.held.some((shard) => shard.range.start === start && shard.range.end === end && shard.head === head && shard.tail === tail)) return 0;
  return (disk.bytesBefore[end] ?? 0) - (disk.bytesBefore[start] ?? 0) + (head ? disk.headBytes : 0) + (tail ? disk.tailBytes : 0);
}

/** Whether more layers may fit where fewer do not: something is there already. */
export function isUneven(disk: NodeDisk): boolean {
  return disk.holdsModel || disk.held.length > 0;
}

/** Layers, by the average one, that a new stage may have. */
export function diskCapacity(disk: NodeDisk, { start, end }: LayerRange): number {
  const layers = disk.bytesBefore.length - 1;
  if (isUneven(disk)) return layers;
  const room = disk.roomBytes - (start === 0 ? disk.headBytes : 0) - (end === layers ? disk.tailBytes : 0);
  const total = disk.bytesBefore[layers] ?? 0;
  return total === 0 ? layers : Math.max(0, Math.floor((room * layers) / total));
}
