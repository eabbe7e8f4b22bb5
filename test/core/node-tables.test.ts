/** B6 and B7 in plans: what a cluster file says of a node's weights and cache travels with its stage, and counts. */
import { describe, expect, it } from 'vitest';
import { placeModel } from '../../src/core/placement.js';
import type { NodeSettings } from '../../src/core/placement-types.js';
import type { Plan } from '../../src/core/types.js';
import { GB, inputOf, nodeOf, notesFor, planIn, refusalIn, shapeOf } from './placement-cases.js';

const LAYERS = 8;
const bytes = (perLayer: number): number[] => Array.from({ length: LAYERS }, () => perLayer);
const shape = shapeOf({
  layers: LAYERS, layerBytes: GB,
  overrides: { layerBytesAs: { f32: bytes(8 * GB), f16: bytes(4 * GB), bf16: bytes(4 * GB), mxfp4: bytes(GB / 2), nvfp4: bytes(GB / 2) } },
});

function planWith(settings: NodeSettings, ramGb = 200): Plan {
  const pinned = { ...settings, layers: { start: 0, end: 4 } };
  return planIn(placeModel(inputOf(shape, [nodeOf('a', ramGb * GB, { settings: pinned }), nodeOf('b', 200 * GB)], { ordered: true })));
}

describe('a node with a precision of its own', () => {
  it('has the bytes of its converted layers in the plan, and the other node the stored ones', () => {
    const [stored, converted] = [planWith({}), planWith({ precision: 'f16' })];
    const [before, after] = [stored.stages[0]?.predictedBytes ?? 0, converted.stages[0]?.predictedBytes ?? 0];
    // Beside the weights the buffer that tensors are read into grows with them, up to its own limit.
    expect(after - before).toBe(4 * 3 * GB);
    expect(converted.stages.map(({ precision }) => precision)).toEqual(['f16', undefined]);
    expect(converted.stages[1]).toEqual(stored.stages[1]);
    expect(notesFor(converted, 'a').join()).toContain('converted to f16');
  });

  it('stores a grid as bf16 and says so; mixed is as stored', () => {
    const plan = planWith({ precision: 'f4e3m0' });
    expect(notesFor(plan, 'a').join()).toContain('converted to f4e3m0, rounded to its grid and stored as bf16');
    expect(plan.stages[0]?.predictedBytes).toBe(planWith({ precision: 'bf16' }).stages[0]?.predictedBytes);
    expect(planWith({ precision: 'mixed' }).stages[0]).toEqual(planWith({}).stages[0]);
  });

  it('fits with fewer bytes where it does not with more', () => {
    const small = (precision: string) => placeModel(inputOf(shape, [nodeOf('a', 12 * GB, { settings: { precision } })], { ordered: true }));
    expect(planIn(small('mxfp4')).stages).toHaveLength(1);
    expect(refusalIn(small('f16')).message).toContain('does not fit the cluster');
  });
});

describe('a node without a cache', () => {
  it('takes less, and its plan says so; host and device take the same', () => {
    const [device, none, host] = (['device', 'none', 'host'] as const).map((keyValueCache) => planWith({ keyValueCache }));
    expect(none?.stages[0]?.predictedBytes).toBeLessThan(device?.stages[0]?.predictedBytes ?? 0);
    expect(host?.stages[0]?.predictedBytes).toBe(device?.stages[0]?.predictedBytes);
    expect([device, none, host].map((plan) => plan?.stages[0]?.keyValueCache)).toEqual(['device', 'none', 'host']);
    expect(planWith({}).stages[0]).not.toHaveProperty('keyValueCache');
  });
});
