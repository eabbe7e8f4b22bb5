import { describe, expect, it } from 'vitest';
import { libllamaMemory, stageBytes } from '../../src/core/memory-model.js';
import { placeModel } from '../../src/core/placement.js';
import { spillOf } from '../../src/core/spill.js';
import { deviceOf, GB, inputOf, nodeOf, planIn, shapeOf, weightsOnly } from './placement-cases.js';

const OPTIONS = { contextTokens: 1024, slots: 2, keyType: 'f16', valueType: 'f16' } as const;
const SHAPE = shapeOf({ layers: 10, layerBytes: GB, tailBytes: 0.5 * GB });

describe('B5: what a device has no room for', () => {
  const table = weightsOnly(SHAPE, OPTIONS);
  const spill = (start: number, end: number, deviceBytes: number) => spillOf(table, { start, end }, deviceBytes);

  it('is nothing when all of the stage fits', () => {
    expect(spill(0, 5, 5 * GB)).toBeNull();
    expect(spill(5, 10, 5.5 * GB)).toBeNull();
  });

  it('is the first layers, counted in whole layers', () => {
    expect(spill(0, 5, 5 * GB - 1)).toEqual({ hostLayers: 1, hostBytes: GB });
    expect(spill(2, 8, 2.5 * GB)).toEqual({ hostLayers: 4, hostBytes: 4 * GB });
  });

  it('leaves the output matrix on the device', () => {
    expect(spill(5, 10, 3 * GB)).toEqual({ hostLayers: 3, hostBytes: 3 * GB });
    expect(spill(5, 10, 0.1 * GB)).toEqual({ hostLayers: 5, hostBytes: 5 * GB });
  });

  it('counts the cache of the layers that spill', () => {
    const real = libllamaMemory(SHAPE, OPTIONS);
    const whole = stageBytes(real, { start: 0, end: 10 });
    const found = spillOf(real, { start: 0, end: 10 }, whole.total - 1);
    expect(found).toEqual({ hostLayers: 1, hostBytes: GB + whole.cache / 10 + real.bufferBytesPerLayer });
  });

  it('has a host cache on none of the device\'s bytes, and all of it in the host\'s', () => {
    const table = libllamaMemory(SHAPE, OPTIONS);
    const beside = { ...table, cacheBefore: table.cacheBefore.map(() => 0), hostCacheBefore: table.cacheBefore };
    const whole = stageBytes(table, { start: 0, end: 10 });
    expect(stageBytes(beside, { start: 0, end: 10 })).toEqual(whole);
    expect(spillOf(beside, { start: 0, end: 10 }, whole.total - whole.cache)).toBeNull();
    expect(spillOf(beside, { start: 0, end: 10 }, whole.total - whole.cache - 1)).toEqual({ hostLayers: 1, hostBytes: GB + whole.cache + table.bufferBytesPerLayer });
  });
});

describe('B5: the budget of a device that may spill', () => {
  const gpu = (options: Parameters<typeof nodeOf>[2]) => nodeOf('a', 64 * GB, {
    ...options, capabilities: { backends: ['vulkan', 'cpu'], devices: [deviceOf('vulkan', 10 * GB), deviceOf('cpu', 64 * GB)], ...options?.capabilities },
  });

  it('is the device and the host remainder, whoever asked: a cluster file or --device', () => {
    const large = shapeOf({ layers: 60, layerBytes: GB });
    const plan = planIn(placeModel(inputOf(large, [gpu({ settings: { devices: ['vulkan', 'cpu'] } })]), weightsOnly));
    expect(plan.stages).toMatchObject([{ backend: 'vulkan', spill: { hostLayers: 52, hostBytes: 52 * GB } }]);
    expect(placeModel(inputOf(shapeOf({ layers: 67, layerBytes: GB }), [gpu({ settings: { devices: ['vulkan', 'cpu'] } })]), weightsOnly).kind).toBe('impossible');
  });

  it('without spilling is what the device takes; the host\'s reserve is not taken off a card\'s own memory', () => {
    const eight = shapeOf({ layers: 8, layerBytes: GB });
    expect(planIn(placeModel(inputOf(eight, [gpu({})]), weightsOnly)).stages[0]?.spill).toBeUndefined();
    expect(placeModel(inputOf(shapeOf({ layers: 9, layerBytes: GB }), [gpu({})]), weightsOnly).kind).toBe('impossible');
  });

  it('is cut by --max-device-ram', () => {
    const limited = gpu({ settings: { devices: ['vulkan', 'cpu'] }, capabilities: { deviceLimitBytes: 2 * GB } });
    const plan = planIn(placeModel(inputOf(SHAPE, [limited]), weightsOnly));
    expect(plan.stages[0]?.spill).toEqual({ hostLayers: 9, hostBytes: 9 * GB });
    expect(placeModel(inputOf(SHAPE, [gpu({ capabilities: { deviceLimitBytes: 2 * GB } })]), weightsOnly).kind).toBe('impossible');
  });
});
