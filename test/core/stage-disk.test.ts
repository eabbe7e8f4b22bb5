/** Free disk is part of placement: who cannot hold a stage's files is not given it, and is told so. */
import { describe, expect, it } from 'vitest';
import { placeModel } from '../../src/core/placement.js';
import { nodeDisk, stageDiskBytes } from '../../src/core/stage-disk.js';
import type { Capabilities, HeldModel, HeldShard } from '../../src/core/types.js';
import { countsIn, GB, inputOf, nodeOf, notesFor, planIn, refusalIn, shapeOf, weightsOnly } from './placement-cases.js';

const SHAPE = shapeOf({ layers: 10, layerBytes: GB, headBytes: 0, tailBytes: GB / 2 });
const MODEL: HeldModel = { ...SHAPE.identity, name: SHAPE.name, architecture: 'llama', layers: 10 };
const shard = (start: number, end: number): HeldShard => ({ modelDigest: SHAPE.identity.digest, range: { start, end }, head: start === 0, tail: end === 10 });

function node(nodeId: string, capabilities: Partial<Capabilities>) {
  return nodeOf(nodeId, 64 * GB, { capabilities });
}

describe('what a stage takes on disk', () => {
  it('is its layers, the embedding at the head, the output at the tail; nothing where it is there already', () => {
    const empty = nodeDisk(node('a', {}), SHAPE);
    expect([stageDiskBytes(empty, 1, 4), stageDiskBytes(empty, 7, 10), stageDiskBytes(empty, 0, 2)]).toEqual([3 * GB, 3.5 * GB, 2.5 * GB]);
    const shards = nodeDisk(node('a', { shards: [shard(1, 4), { ...shard(7, 10), modelDigest: 'cd'.repeat(32) }] }), SHAPE);
    expect([stageDiskBytes(shards, 1, 4), stageDiskBytes(shards, 1, 5), stageDiskBytes(shards, 7, 10)]).toEqual([0, 4 * GB, 3.5 * GB]);
    const owner = nodeDisk(node('a', { models: [MODEL] }), SHAPE);
    // In place when it runs alone; a stage of its own is a file of its own, whose embedding is read from the model.
    expect([stageDiskBytes(owner, 0, 10), stageDiskBytes(owner, 0, 2)]).toEqual([0, 2 * GB]);
    const known = nodeDisk(node('a', { models: [{ ...MODEL, source: { repository: 'o/r', revision: 'x', files: [] } }] }), SHAPE);
    expect(stageDiskBytes(known, 0, 10)).toBe(11 * GB);
    // The engine cannot read a checkpoint: also the whole model is made into a file, embedding included.
    const checkpoint = nodeDisk(node('a', { models: [{ ...MODEL, checkpoint: true }] }), SHAPE);
    expect([stageDiskBytes(checkpoint, 0, 10), stageDiskBytes(checkpoint, 0, 2)]).toEqual([11 * GB, 2.5 * GB]);
  });

  it('counts converted weights beside the stored ones', () => {
    const shape = { ...SHAPE, layerBytesAs: { f32: [], f16: Array.from({ length: 10 }, () => 2 * GB), bf16: [], mxfp4: [], nvfp4: [] } };
    expect(stageDiskBytes(nodeDisk(nodeOf('a', 64 * GB, { settings: { precision: 'f16' } }), shape), 1, 3)).toBe(6 * GB);
  });
});

describe('placement by disk', () => {
  it('gives a node no more than its disk takes, and the others the rest', () => {
    const nodes = [node('a', { storeRoomBytes: 2.2 * GB }), node('b', {}), node('c', {})];
    const counts = countsIn(planIn(placeModel(inputOf(SHAPE, nodes), weightsOnly)), nodes);
    expect(counts[0]).toBeLessThanOrEqual(1);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10);
  });

  it('leaves out a node whose disk takes nothing, and says so; what it reports as room counts, else its free disk', () => {
    for (const capabilities of [{ storeRoomBytes: GB / 2 }, { diskFreeBytes: GB / 2 }]) {
      const nodes = [node('a', capabilities), node('b', {})];
      const plan = planIn(placeModel(inputOf(SHAPE, nodes), weightsOnly));
      expect(countsIn(plan, nodes)).toEqual([0, 10]);
      expect(notesFor(plan, 'a')).toContainEqual('left out: its disk has room for 500.0 MB, less than the smallest stage of this model: free some, or raise --max-disk');
    }
  });

  it('keeps a full node in the ring with what it holds already', () => {
    const nodes = [node('a', { storeRoomBytes: 0, shards: [shard(0, 5)] }), node('b', { shards: [shard(5, 10)], storeRoomBytes: 0 })];
    expect(countsIn(planIn(placeModel(inputOf(SHAPE, nodes), weightsOnly)), nodes)).toEqual([5, 5]);
    const owner = [node('a', { storeRoomBytes: 0, models: [MODEL] })];
    expect(countsIn(planIn(placeModel(inputOf(SHAPE, owner), weightsOnly)), owner)).toEqual([10]);
  });

  it('says which disks are short when nothing fits, and of a pin too', () => {
    const nodes = [node('a', { storeRoomBytes: 3 * GB }), node('b', { storeRoomBytes: 2 * GB })];
    const refusal = refusalIn(placeModel(inputOf(SHAPE, nodes), weightsOnly));
    expect(refusal.code).toBe('no_placement');
    expect(refusal.message).toMatch(/Room on disks for its layers: host-a 3.0 GB, host-b 2.0 GB \(free some, or raise --max-disk\)/);
    const pinned = [nodeOf('a', 64 * GB, { settings: { layers: { start: 0, end: 10 } }, capabilities: { storeRoomBytes: GB } })];
    expect(refusalIn(placeModel(inputOf(SHAPE, pinned, { request: { policy: 'manual' }, ordered: true }), weightsOnly)).message)
      .toMatch(/need 11.0 GB on the node's disk, which has room for 1.0 GB: free some, or raise --max-disk there/);
  });
});
