import { describe, expect, it } from 'vitest';
import { placeModel } from '../../src/core/placement.js';
import type { PlacementNode } from '../../src/core/placement-types.js';
import type { ModelShape, Plan } from '../../src/core/types.js';
import { countsIn, deviceOf, GB, inputOf, nodeOf, planIn, shapeOf, weightsOnly } from './placement-cases.js';

const TEN = shapeOf({ layers: 10, layerBytes: 0.1 * GB });
/** As in a model of 1 B parameters: an output matrix of about two layers. */
const WITH_OUTPUT: ModelShape = { ...shapeOf({ layers: 22, layerBytes: 25e6 }), tailBytes: 47e6 };

function node(id: string, ramBytes: number, gbPerSecond: number | null): PlacementNode {
  const device = { ...deviceOf('cpu', ramBytes, true), ...(gbPerSecond === null ? {} : { memoryBandwidthBytesPerSecond: gbPerSecond * GB, gflops: 1 }) };
  return nodeOf(id, ramBytes, { settings: { reserveBytes: 0 }, capabilities: { devices: [device], backends: ['cpu'] } });
}

function plan(shape: ModelShape, nodes: readonly PlacementNode[], count: number, policy: 'auto' | 'ram_balanced' = 'auto'): Plan {
  return planIn(placeModel(inputOf(shape, nodes, { request: { policy, nodes: count } }), weightsOnly));
}

describe('a ring of as many nodes as were asked for', () => {
  it('gives nodes of one speed the same number of layers', () => {
    const nodes = [node('a', 8 * GB, 10), node('b', 8 * GB, 10)];
    expect(countsIn(plan(TEN, nodes, 2), nodes)).toEqual([5, 5]);
  });

  it('counts the output matrix as work of the tail', () => {
    const nodes = [node('a', 8 * GB, 10), node('b', 8 * GB, 10)];
    expect(countsIn(plan(WITH_OUTPUT, nodes, 2), nodes)).toEqual([12, 10]);
    expect(countsIn(plan(WITH_OUTPUT, nodes, 2, 'ram_balanced'), nodes)).toEqual([11, 11]);
    const three = [...nodes, node('c', 8 * GB, 10)];
    expect(countsIn(plan(WITH_OUTPUT, three, 3), three)).toEqual([8, 8, 6]);
  });

  it('gives a slower node less, so that all take as long', () => {
    const nodes = [node('a', 8 * GB, 10), node('b', 8 * GB, 40)];
    const laid = plan(TEN, nodes, 2);
    expect(countsIn(laid, nodes)).toEqual([2, 8]);
    expect(laid.explanation.some(({ text }) => text.startsWith('cut so that no stage takes much longer'))).toBe(true);
  });

  it('has the shortest longest stage of all ways to cut', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const speeds = [seed * 7919 % 5, seed * 104_729 % 7, seed * 1299 % 11].map((speed) => 2 ** speed);
      const nodes = speeds.map((speed, index) => node(`n${index}`, 8 * GB, speed));
      const shape: ModelShape = { ...shapeOf({ layers: 4 + seed % 9, layerBytes: 0.1 * GB }), tailBytes: (seed % 4) * 0.1 * GB };
      const longest = (counts: readonly number[]): number =>
        Math.max(...counts.map((count, rank) => (count * 0.1 * GB + (rank === 2 ? shape.tailBytes : 0)) / ((speeds[rank] ?? 1) * GB)));
      const all: number[] = [];
      for (let first = 1; first < shape.layers - 1; first += 1) {
        for (let second = 1; first + second < shape.layers; second += 1) all.push(longest([first, second, shape.layers - first - second]));
      }
      expect(longest(countsIn(plan(shape, nodes, 3), nodes)), `seed ${seed}`).toBeCloseTo(Math.min(...all), 9);
    }
  });

  it('takes speeds that differ by no more than measurements do for the same', () => {
    const nodes = [node('a', 8 * GB, 18), node('b', 8 * GB, 20)];
    expect(countsIn(plan(TEN, nodes, 2), nodes)).toEqual([5, 5]);
  });

  it('stays within what each node holds', () => {
    const nodes = [node('a', 8 * GB, 10), node('b', 0.35 * GB, 90)];
    expect(countsIn(plan(TEN, nodes, 2), nodes)).toEqual([7, 3]);
  });

  it('keeps to the places where the model may be cut', () => {
    const nodes = [node('a', 8 * GB, 10), node('b', 8 * GB, 10)];
    const counts = countsIn(plan({ ...WITH_OUTPUT, layers: 22, cutPeriod: 11 }, nodes, 2), nodes);
    expect(counts).toEqual([11, 11]);
  });

  it('is shared out by memory while nothing was measured', () => {
    const nodes = [node('a', 6 * GB, null), node('b', 4 * GB, null)];
    expect(countsIn(plan(TEN, nodes, 2), nodes)).toEqual([6, 4]);
  });
});
