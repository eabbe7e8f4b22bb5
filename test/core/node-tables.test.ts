/** B6 and B7 in plans: what a cluster file says of a node's weights and cache travels with its stage, and counts. */
import { describe, expect, it } from 'vitest';
import { placeModel } from '../../src/core/placement.js';
import type { NodeSettings } from '../../src/core/placement-types.js';
import type { Plan } from '../../src/core/types.js';
import { deviceOf, GB, inputOf, nodeOf, notesFor, planIn, refusalIn, shapeOf } from './placement-cases.js';

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
    const refusal = refusalIn(small('f16')).message;
    expect(refusal).toMatch(/^model \(8 layers, 32\.\d GB\) does not fit the cluster \(capacity 2 layers\)/);
    expect(refusal).toContain('needs 32.0 GB for weights');
  });

  it('says what each would take where precisions differ', () => {
    const nodes = [nodeOf('a', 12 * GB, { settings: { precision: 'f16' } }), nodeOf('b', 4 * GB, { settings: { precision: 'mxfp4' } })];
    expect(refusalIn(placeModel(inputOf(shape, nodes, { ordered: true }))).message).toContain('needs 4.0 GB to 32.0 GB for weights');
  });
});

describe('B7: a host cache beside a device of its own', () => {
  /** 8 layers of 1 GB, and 10 GB of keys and values: a card of 10 GB takes no both. */
  const wide = shapeOf({ layers: LAYERS, layerBytes: GB, overrides: { keyElementsPerToken: bytes(32_768), valueElementsPerToken: bytes(32_768), trainedContext: 0 } });
  const request = { contextTokens: 4096, slots: 3 };
  const card = (settings: NodeSettings, options: { ramGb?: number; unified?: boolean } = {}) => nodeOf('a', (options.ramGb ?? 64) * GB, {
    settings: { reserveBytes: GB, devices: ['vulkan'], ...settings },
    capabilities: { backends: ['vulkan', 'cpu'], devices: [deviceOf('vulkan', 12 * GB, options.unified ?? false), deviceOf('cpu', (options.ramGb ?? 64) * GB)] },
  });
  const place = (node: ReturnType<typeof card>) => placeModel(inputOf(wide, [node], { ordered: true, request }));

  it('is counted against the machine, and the device holds weights that it could not hold beside a cache', () => {
    expect(refusalIn(place(card({}))).code).toBe('no_placement');
    expect(refusalIn(place(card({ keyValueCache: 'device' }))).code).toBe('no_placement');
    const plan = planIn(place(card({ keyValueCache: 'host' })));
    expect(plan.stages[0]).toMatchObject({ backend: 'vulkan', keyValueCache: 'host' });
    expect(plan.stages[0]?.predictedBytes).toBeGreaterThan(17 * GB);
    expect(notesFor(plan, 'a')).toContain('keeps keys and values in host memory: 9.9 GB');
  });

  it('is more than a small host has', () => {
    const result = place(card({ keyValueCache: 'host' }, { ramGb: 10.8 }));
    expect(refusalIn(result).message).toContain('capacity 7 layers');
    const pinned = placeModel(inputOf(wide, [card({ keyValueCache: 'host', layers: { start: 0, end: LAYERS } }, { ramGb: 10.8 })], { ordered: true, request }));
    expect(refusalIn(pinned).message).toContain("need 9.9 GB of host memory for the KV cache, above the node's budget of 9.8 GB there");
  });

  it('with spilling shares the host with the layers that spill', () => {
    const spilling = (ramGb: number) => place(card({ keyValueCache: 'host', devices: ['vulkan', 'cpu'] }, { ramGb }));
    expect(planIn(spilling(14)).stages[0]?.spill).toBeUndefined();
    expect(refusalIn(spilling(8)).code).toBe('no_placement');
  });

  it('is the device\'s own memory where that is the host\'s', () => {
    expect(refusalIn(place(card({ keyValueCache: 'host' }, { unified: true }))).code).toBe('no_placement');
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
