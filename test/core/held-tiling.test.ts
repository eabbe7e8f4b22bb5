import { describe, expect, it } from 'vitest';
import { placeModel } from '../../src/core/placement.js';
import type { HeldShard, Plan } from '../../src/core/types.js';
import { GB, inputOf, nodeOf, shapeOf } from './placement-cases.js';

const shape = shapeOf({ layers: 10, layerBytes: GB });

function shard(start: number, end: number, digest = shape.identity.digest): HeldShard {
  return { modelDigest: digest, range: { start, end }, head: start === 0, tail: end === 10 };
}

function planOf(ramGb: readonly number[], shards: readonly (readonly HeldShard[])[]): Plan {
  const nodes = ramGb.map((gb, index) => nodeOf(`n${index}`, gb * GB, { capabilities: { shards: shards[index] ?? [] } }));
  const result = placeModel(inputOf(shape, nodes));
  if (result.kind !== 'plan') throw new Error(result.message);
  return result.plan;
}

const cuts = (plan: Plan): string => plan.stages.map((stage) => `${stage.nodeId} ${stage.range.start}-${stage.range.end}`).join(', ');

describe('shards on disk', () => {
  it('keep their cuts when free memory changed a little', () => {
    expect(cuts(planOf([20, 20, 20], []))).toBe('n0 0-3, n1 3-6, n2 6-10');
    const held = [[shard(0, 4)], [shard(4, 7)], [shard(7, 10)]];
    expect(cuts(planOf([20, 20, 20], held))).toBe('n0 0-4, n1 4-7, n2 7-10');
    expect(planOf([20, 20, 20], held).explanation.map((note) => note.text)).toContain('cut where the nodes already hold their layers on disk');
  });

  it('are chosen nearest to the policy\'s wish when several sets tile', () => {
    const held = [[shard(0, 1), shard(0, 4)], [shard(1, 2), shard(4, 7)], [shard(2, 10), shard(7, 10)]];
    expect(cuts(planOf([20, 20, 20], held))).toBe('n0 0-4, n1 4-7, n2 7-10');
  });

  it('do not count when they do not tile, do not fit, are of another model, or a node has none', () => {
    const even = 'n0 0-3, n1 3-6, n2 6-10';
    expect(cuts(planOf([20, 20, 20], [[shard(0, 4)], [shard(5, 7)], [shard(7, 10)]]))).toBe(even);
    expect(cuts(planOf([20, 20, 20], [[shard(0, 4)], [shard(4, 7)], []]))).toBe(even);
    expect(cuts(planOf([20, 20, 20], [[shard(0, 4, 'cd'.repeat(32))], [shard(4, 7)], [shard(7, 10)]]))).toBe(even);
    // 8 GB has no room for seven layers of a gigabyte.
    expect(cuts(planOf([8, 20, 20], [[shard(0, 7)], [shard(7, 8)], [shard(8, 10)]]))).not.toContain('0-7');
    expect(cuts(planOf([20, 20, 20], [[{ ...shard(0, 4), head: false }], [shard(4, 7)], [shard(7, 10)]]))).toBe(even);
  });

  it('do not bind a ring that another node joined', () => {
    const held = [[shard(0, 5)], [shard(5, 10)], []];
    expect(planOf([20, 20, 20], held).stages).toHaveLength(3);
  });
});
