import { describe, expect, it } from 'vitest';
import { apportion, layerCapacity } from '../../src/core/apportion.js';
import { nodeBudgets } from '../../src/core/budget.js';
import { placeModel } from '../../src/core/placement.js';
import type { NodeSettings, PlacementNode } from '../../src/core/placement-types.js';
import type { Backend, LayerRange } from '../../src/core/types.js';
import { countsIn, deviceOf, GB, inputOf, nodeOf, notesFor, planIn, refusalIn, shapeOf, weightsOnly } from './placement-cases.js';

const noReserve: NodeSettings = { reserveBytes: 0 };
const fiveReserved: NodeSettings = { reserveBytes: 5 * GB };

function equalNodes(count: number, ramBytes = 100 * GB): PlacementNode[] {
  return Array.from({ length: count }, (_value, index) => nodeOf(String.fromCharCode(97 + index), ramBytes, { settings: noReserve }));
}

function budgetsOf(nodes: readonly PlacementNode[]): number[] {
  const result = nodeBudgets(nodes, ['metal', 'cuda', 'vulkan', 'cpu'], new Map());
  return result.kind === 'budgets' ? result.budgets.map((budget) => budget.budgetBytes) : [];
}

describe('B9: budgets', () => {
  it('is what is available less the reserve, never below zero', () => {
    expect(budgetsOf([nodeOf('a', 60 * GB, { settings: fiveReserved }), nodeOf('b', 3 * GB, { settings: fiveReserved })])).toEqual([55 * GB, 0]);
  });

  it('is max_ram_gb, cut to the machine, less the reserve', () => {
    const settings = (maxRamBytes: number): NodeSettings => ({ maxRamBytes, reserveBytes: 6 * GB });
    expect(budgetsOf([nodeOf('a', 64 * GB, { settings: settings(12 * GB) }), nodeOf('b', 64 * GB, { settings: settings(900 * GB) })])).toEqual([6 * GB, 58 * GB]);
  });

  it('is capped by 85 % of the largest device when that is smaller than the host', () => {
    const gpu = (memory: number): PlacementNode => nodeOf('a', 64 * GB, {
      settings: { reserveBytes: 6 * GB, devices: ['vulkan'] },
      capabilities: { backends: ['vulkan', 'cpu'], devices: [deviceOf('vulkan', memory), deviceOf('vulkan', 1 * GB), deviceOf('cpu', 64 * GB)] },
    });
    expect(budgetsOf([gpu(16 * GB)])).toEqual([7.6 * GB]);
    expect(budgetsOf([gpu(80 * GB)])).toEqual([58 * GB]);
  });

  it('caps cuda by its memory too, and adds the host when it may spill', () => {
    const node = (settings: NodeSettings): PlacementNode => nodeOf('a', 64 * GB, {
      settings, capabilities: { backends: ['cuda', 'cpu'], devices: [deviceOf('cuda', 20 * GB), deviceOf('cpu', 64 * GB)] },
    });
    expect(budgetsOf([node({ reserveBytes: 6 * GB, devices: ['cuda'] })])).toEqual([11 * GB]);
    expect(budgetsOf([node({ reserveBytes: 6 * GB, devices: ['cuda', 'cpu'] })])).toEqual([75 * GB]);
  });

  it('B5: a unified device that may spill has the whole host, not twice the same memory', () => {
    const mac = (settings: NodeSettings): PlacementNode => nodeOf('a', 16 * GB, {
      settings, capabilities: { backends: ['metal', 'cpu'], devices: [deviceOf('metal', 12 * GB, true), deviceOf('cpu', 16 * GB)] },
    });
    expect(budgetsOf([mac({ reserveBytes: 1 * GB, devices: ['metal'] })])).toEqual([9.2 * GB]);
    expect(budgetsOf([mac({ reserveBytes: 1 * GB, devices: ['metal', 'cpu'] })])).toEqual([15 * GB]);
  });

  it('lets 8 GB machines take part when nobody set a reserve', () => {
    expect(budgetsOf([nodeOf('a', 8 * GB), nodeOf('b', 64 * GB)])).toEqual([7 * GB, 57.6 * GB]);
  });

  it('takes a limit from --max-ram as it is while the machine keeps its reserve', () => {
    const limited = { ramLimitBytes: 2 * GB, ramAvailableBytes: 2 * GB };
    expect(budgetsOf([nodeOf('a', 64 * GB, { capabilities: limited })])).toEqual([2 * GB]);
  });

  it('divides a machine that several agents share', () => {
    const shared = { machineId: 'one' };
    const nodes = [nodeOf('a', 30 * GB, { capabilities: shared }), nodeOf('b', 30 * GB, { capabilities: shared }), nodeOf('c', 30 * GB, { capabilities: shared })];
    expect(budgetsOf(nodes)).toEqual([9 * GB, 9 * GB, 9 * GB]);
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 6, layerBytes: 1 * GB }), nodes)));
    expect(notesFor(plan, 'a')).toContain("3 agents share this machine's memory; each gets one part");
  });
});

describe('B10 and B11: capacities and counts', () => {
  it('counts whole layers beside the embedding', () => {
    expect(layerCapacity({ budgetBytes: 39 * GB, extraBytes: 0.2 * GB, totalLayerBytes: 129 * GB, layers: 43 })).toBe(12);
    expect(layerCapacity({ budgetBytes: 1, extraBytes: 2, totalLayerBytes: 129 * GB, layers: 43 })).toBe(0);
  });

  it('adds where most room is left, takes from the largest, and ties go to the last', () => {
    expect(apportion(10, [1, 1, 1], [10, 10, 10])).toEqual([3, 3, 4]);
    expect(apportion(10, [1, 1, 1, 1], [10, 10, 10, 10])).toEqual([3, 3, 2, 2]);
    expect(apportion(3, [1, 1], [1, 1])).toBeNull();
  });
});

describe('B12: golden values', () => {
  const big = shapeOf({ layers: 43, layerBytes: 3 * GB, headBytes: 0.2 * GB, tailBytes: 0.2 * GB });
  const speeds = [100, 90, 60];
  const three = [60, 55, 44].map((ram, index) => nodeOf('abc'[index] ?? '', ram * GB, { settings: fiveReserved, capabilities: { gflops: speeds[index] ?? null } }));

  it('B11: 43 layers of 3 GB over 60/55/44 GB: 16, 15, 12', () => {
    expect(countsIn(planIn(placeModel(inputOf(big, three), weightsOnly)), three)).toEqual([16, 15, 12]);
  });

  it('the same with caches and buffers', () => {
    expect(countsIn(planIn(placeModel(inputOf(big, three))), three)).toEqual([16, 15, 12]);
  });

  it('B14: the same by throughput 100/90/60: 17, 15, 11, and the speeds are shown', () => {
    const plan = planIn(placeModel(inputOf(big, three, { request: { policy: 'throughput' } }), weightsOnly));
    expect(countsIn(plan, three)).toEqual([17, 15, 11]);
    expect(notesFor(plan, 'b')).toEqual(['speed 90.0 GFLOP/s']);
  });

  it.each([
    [10, 4, [3, 3, 2, 2]], [10, 3, [3, 3, 4]], [5, 2, [3, 2]], [2, 4, [1, 1, 0, 0]],
  ])('%i layers over %i equal nodes: %j', (layers, count, expected) => {
    const nodes = equalNodes(count);
    expect(countsIn(planIn(placeModel(inputOf(shapeOf({ layers, layerBytes: GB }), nodes))), nodes)).toEqual(expected);
  });

  it('B10: 100 layers of 5 GB on one 40 GB node: an error with capacity 7', () => {
    const result = placeModel(inputOf(shapeOf({ layers: 100, layerBytes: 5 * GB }), [nodeOf('a', 40 * GB, { settings: fiveReserved })]), weightsOnly);
    expect(refusalIn(result).code).toBe('no_placement');
    expect(refusalIn(result).message).toContain(
      'model (100 layers, 500.0 GB) does not fit the cluster (capacity 7 layers). Lower precision, add a node, raise max_ram, or reduce reserve.');
    expect(refusalIn(result).message).toContain('budgets: host-a 35.0 GB');
  });

  it('vulkan 16 GB in a 64 GB host and a 64 GB cpu: 5, 35', () => {
    const nodes = [
      nodeOf('a', 64 * GB, {
        settings: { reserveBytes: 6 * GB, devices: ['vulkan'] },
        capabilities: { backends: ['vulkan', 'cpu'], devices: [deviceOf('vulkan', 16 * GB)] },
      }),
      nodeOf('b', 64 * GB, { settings: { reserveBytes: 6 * GB } }),
    ];
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 40, layerBytes: GB }), nodes)));
    expect(countsIn(plan, nodes)).toEqual([5, 35]);
    expect(plan.stages.map((stage) => stage.backend)).toEqual(['vulkan', 'cpu']);
  });

  it('max_ram_gb 12 and a 64 GB node: 4, 36', () => {
    const nodes = [
      nodeOf('a', 64 * GB, { settings: { maxRamBytes: 12 * GB, reserveBytes: 6 * GB } }),
      nodeOf('b', 64 * GB, { settings: { reserveBytes: 6 * GB } }),
    ];
    expect(countsIn(planIn(placeModel(inputOf(shapeOf({ layers: 40, layerBytes: GB }), nodes))), nodes)).toEqual([4, 36]);
  });
});

describe('B13: manual layers and pins', () => {
  const shape = shapeOf({ layers: 10, layerBytes: GB });
  const manual = (ranges: readonly (LayerRange | null)[], ramBytes = 100 * GB): ReturnType<typeof placeModel> => {
    const nodes = ranges.map((layers, index) => nodeOf('abcd'[index] ?? '', ramBytes, { settings: layers === null ? noReserve : { ...noReserve, layers } }));
    return placeModel(inputOf(shape, nodes, { ordered: true, request: { policy: 'manual' } }));
  };
  const range = (start: number, end: number): LayerRange => ({ start, end });

  it('is exactly what was written', () => {
    const plan = planIn(manual([range(0, 2), range(2, 9), null, range(9, 10)]));
    expect(plan.stages.map((stage) => [stage.nodeId, stage.range.start, stage.range.end])).toEqual([['a', 0, 2], ['b', 2, 9], ['d', 9, 10]]);
    expect(notesFor(plan, 'c')).toEqual(['left out: policy manual, and it has no layers']);
  });

  it.each([
    ['overlap', [range(0, 5), range(4, 10)], 'layers overlap: node host-b has 4:10, but node host-a before it ends at 5'],
    ['gap', [range(0, 4), range(5, 10)], 'layers 4:5 are on no node: node host-b starts at 5, node host-a before it ends at 4'],
    ['gap at the start', [range(1, 10)], 'layers 0:1 are on no node: node host-a starts at 1, no node comes before it'],
    ['gap at the end', [range(0, 9)], 'layers 9:10 are on no node: node host-a, the last one, ends at 9'],
    ['empty', [range(0, 0), range(0, 10)], 'node host-a: layers 0:0 are empty'],
    ['backwards', [range(5, 2)], 'node host-a: layers 5:2 are empty'],
    ['out of bounds', [range(0, 11)], 'node host-a: layers 0:11 are out of bounds; the model has layers 0:10'],
    ['none', [null, null], 'no node has layers'],
  ])('%s is its own error', (_name, ranges, message) => {
    expect(refusalIn(manual(ranges)).message).toContain(message);
    expect(refusalIn(manual(ranges)).code).toBe('bad_config');
  });

  it('over budget is its own error', () => {
    const refusal = refusalIn(manual([range(0, 5), range(5, 10)], 4 * GB));
    expect(refusal.code).toBe('no_placement');
    expect(refusal.message).toMatch(/node host-a: layers 0:5 need 5\.\d GB, above the node's budget of 4\.0 GB/);
  });

  it('a pin holds its node and the rest is planned around it', () => {
    const nodes = [
      nodeOf('a', 100 * GB, { settings: noReserve }), nodeOf('b', 100 * GB, { settings: { ...noReserve, layers: range(3, 5) } }),
      nodeOf('c', 100 * GB, { settings: noReserve }), nodeOf('d', 100 * GB, { settings: noReserve }),
    ];
    const plan = planIn(placeModel(inputOf(shape, nodes, { ordered: true })));
    expect(countsIn(plan, nodes)).toEqual([3, 2, 3, 2]);
  });

  it('an impossible pin is an error', () => {
    const pinned = (layers: LayerRange): ReturnType<typeof placeModel> =>
      placeModel(inputOf(shape, [nodeOf('a', 100 * GB, { settings: { ...noReserve, layers } }), nodeOf('b', 100 * GB, { settings: noReserve })], { ordered: true }));
    expect(refusalIn(pinned(range(2, 4))).message).toBe('layers 0:2 are on no node: the pins around them leave no node for them');
    expect(refusalIn(pinned(range(2, 40))).message).toContain('out of bounds');
    expect(countsIn(planIn(pinned(range(0, 4))), [nodeOf('a', 1), nodeOf('b', 1)])).toEqual([4, 6]);
  });
});

describe('what a model insists on', () => {
  it('is cut only at multiples of its period', () => {
    const nodes = equalNodes(3);
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 26, layerBytes: GB, overrides: { cutPeriod: 6 } }), nodes)));
    expect(plan.stages.map((stage) => stage.range.end)).toEqual([6, 18, 26]);
  });

  it('never gets a stage size that is refused', () => {
    const nodes = equalNodes(2);
    const refusedStageLayers = [{ layers: 5, reason: 'another attention scale' }];
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 10, layerBytes: GB, overrides: { refusedStageLayers } }), nodes)));
    expect(countsIn(plan, nodes)).toEqual([4, 6]);
  });

  it('stays whole, on the largest node, when it cannot be split', () => {
    const shape = shapeOf({ layers: 10, layerBytes: GB, overrides: { unsplittableReason: 'state is shared by all layers' } });
    const nodes = [nodeOf('a', 40 * GB), nodeOf('b', 50 * GB), nodeOf('c', 50 * GB)];
    const plan = planIn(placeModel(inputOf(shape, nodes)));
    expect(countsIn(plan, nodes)).toEqual([0, 10, 0]);
    expect(notesFor(plan, null)).toEqual(['the model runs on one node: state is shared by all layers']);
    expect(notesFor(plan, 'a')).toEqual(['left out: the model must run on one node']);
    const refusal = refusalIn(placeModel(inputOf(shape, [nodeOf('a', 8 * GB)])));
    expect(refusal.message).toMatch(/must run on one node \(state is shared by all layers\) and fits on none: it needs 1\d\.\d GB, the largest budget is 7\.0 GB on node host-a/);
    expect(refusalIn(placeModel(inputOf(shape, nodes, { request: { nodes: 2 } }))).code).toBe('unsplittable_model');
  });

  it('is refused with the reason when the engine cannot run it', () => {
    const refusal = refusalIn(placeModel(inputOf(shapeOf({ layers: 2, layerBytes: 1, overrides: { unsupportedReason: 'architecture "foo" is unknown' } }), equalNodes(1))));
    expect(refusal).toMatchObject({ code: 'unsupported_architecture', message: 'model test-model cannot run here: architecture "foo" is unknown' });
  });
});

describe('exactly N nodes', () => {
  const shape = shapeOf({ layers: 10, layerBytes: GB });
  it('takes the largest, and gives each a part', () => {
    const nodes = [nodeOf('a', 20 * GB), nodeOf('b', 4 * GB), nodeOf('c', 90 * GB)];
    const plan = planIn(placeModel(inputOf(shape, nodes, { request: { nodes: 2 } })));
    expect(plan.stages.map((stage) => stage.nodeId)).toEqual(['a', 'c']);
    expect(notesFor(plan, 'b')).toEqual(['left out: exactly 2 nodes were asked for, and others are larger']);
    expect(planIn(placeModel(inputOf(shape, nodes, { request: { nodes: 1 } }))).stages.map((stage) => stage.nodeId)).toEqual(['c']);
    expect(planIn(placeModel(inputOf(shape, nodes, { request: { nodes: 3 } }))).stages).toHaveLength(3);
  });

  it('gives a node whose share rounds to nothing one layer all the same', () => {
    const nodes = [nodeOf('a', 3 * GB), nodeOf('b', 900 * GB)];
    expect(countsIn(planIn(placeModel(inputOf(shape, nodes))), nodes)).toEqual([0, 10]);
    expect(countsIn(planIn(placeModel(inputOf(shape, nodes, { request: { nodes: 2 } }))), nodes)).toEqual([1, 9]);
  });

  it('is an error when impossible', () => {
    expect(refusalIn(placeModel(inputOf(shape, equalNodes(2), { request: { nodes: 3 } }))).message).toBe('exactly 3 nodes were asked for, but only 2 can take part');
    expect(refusalIn(placeModel(inputOf(shapeOf({ layers: 2, layerBytes: GB }), equalNodes(3), { request: { nodes: 3 } }))).message).toContain('at most 2 stages');
  });

  it('takes the fastest by throughput, the largest when those are too small', () => {
    const fast = [nodeOf('a', 50 * GB, { capabilities: { gflops: 10 } }), nodeOf('b', 20 * GB, { capabilities: { gflops: 90 } }), nodeOf('c', 6 * GB, { capabilities: { gflops: 100 } })];
    const stages = (nodes: number, of = shape): string[] => planIn(placeModel(inputOf(of, fast, { request: { nodes, policy: 'throughput' } }))).stages.map((stage) => stage.nodeId);
    expect(stages(2)).toEqual(['b', 'c']);
    expect(stages(2, shapeOf({ layers: 10, layerBytes: 4 * GB }))).toEqual(['a', 'b']);
  });
});

describe('context and slots', () => {
  it('are at most what the model was trained for', () => {
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 2, layerBytes: GB, overrides: { trainedContext: 1024 } }), equalNodes(1))));
    expect([plan.contextTokens, plan.slots]).toEqual([1024, 8]);
  });

  it('shrink, context first, with a note', () => {
    const shape = shapeOf({ layers: 10, layerBytes: 0.1 * GB, overrides: { keyElementsPerToken: Array(10).fill(4096), valueElementsPerToken: Array(10).fill(4096) } });
    const plan = planIn(placeModel(inputOf(shape, [nodeOf('a', 3 * GB, { settings: noReserve })])));
    expect([plan.contextTokens, plan.slots]).toEqual([1024, 8]);
    expect(notesFor(plan, null)).toEqual(['context shrunk from 4096 to 1024 tokens per slot: more does not fit']);
    const small = planIn(placeModel(inputOf(shape, [nodeOf('a', 1.6 * GB, { settings: noReserve })])));
    expect([small.contextTokens, small.slots]).toEqual([512, 4]);
    expect(notesFor(small, null)).toHaveLength(2);
  });

  it('B7: the cache is part of every stage\'s bytes', () => {
    const shape = shapeOf({ layers: 4, layerBytes: GB });
    const bytes = (slots: number): number => planIn(placeModel(inputOf(shape, equalNodes(1), { request: { contextTokens: 1024, slots } }))).stages[0]?.predictedBytes ?? 0;
    const cachePerSlot = 4 * 1024 * (272 + 512);
    expect(bytes(9) - bytes(8)).toBeGreaterThanOrEqual(cachePerSlot);
  });

  it('beyond the training are obeyed with a note, and nonsense is refused', () => {
    const shape = shapeOf({ layers: 2, layerBytes: GB });
    const place = (request: { contextTokens?: number; slots?: number }): ReturnType<typeof placeModel> => placeModel(inputOf(shape, equalNodes(1), { request }));
    expect(notesFor(planIn(place({ contextTokens: 8192 })), null)).toEqual(['context of 8192 tokens is beyond the 4096 that the model was trained for']);
    for (const request of [{ contextTokens: 0 }, { contextTokens: 1.5 }, { slots: -1 }, { slots: NaN }, { slots: 257 }]) {
      expect(refusalIn(place(request)).code).toBe('bad_request');
    }
  });

  it('stay when they were asked for', () => {
    const shape = shapeOf({ layers: 10, layerBytes: 0.1 * GB, overrides: { keyElementsPerToken: Array(10).fill(4096), valueElementsPerToken: Array(10).fill(4096) } });
    const result = placeModel(inputOf(shape, [nodeOf('a', 3 * GB, { settings: noReserve })], { request: { contextTokens: 4096, slots: 8 } }));
    expect(refusalIn(result).code).toBe('no_placement');
  });
});

describe('records that are wrong', () => {
  it('never throw: fractions, impossible speeds and sizes', () => {
    const shape = shapeOf({ layers: 10, layerBytes: GB });
    const nodes = [
      nodeOf('a', 20 * GB, { capabilities: { gflops: Infinity, ramLimitBytes: 2.3 * GB, ramAvailableBytes: 2.3 * GB + 0.5 } }),
      nodeOf('b', 1e300, { capabilities: { gflops: NaN } }), nodeOf('c', 20 * GB, { capabilities: { gflops: -5 } }),
    ];
    for (const policy of ['ram_balanced', 'throughput'] as const) planIn(placeModel(inputOf(shape, nodes, { request: { policy } })));
  });
});

describe('A3 and A5: backends come with every plan, each node its own', () => {
  it.each(['auto', 'ram_balanced', 'throughput', 'manual'] as const)('%s', (policy) => {
    const on = (id: string, backends: Backend[], layers: LayerRange): PlacementNode => nodeOf(id, 20 * GB, { settings: { ...noReserve, layers }, capabilities: { backends } });
    const nodes = [
      on('a', ['cpu', 'metal'], { start: 0, end: 4 }), on('b', ['cpu', 'cuda', 'vulkan'], { start: 4, end: 8 }), on('c', ['cpu'], { start: 8, end: 10 }),
    ];
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 10, layerBytes: GB }), nodes, { ordered: true, request: { policy } })));
    expect(plan.stages.map((stage) => stage.backend)).toEqual(['metal', 'cuda', 'cpu']);
  });
});

describe('explanations', () => {
  it('say why each node is left out', () => {
    const nodes = [nodeOf('a', 1 * GB), nodeOf('b', 2 * GB), nodeOf('c', 5 * GB), nodeOf('d', 100 * GB)];
    const excluded = [{ nodeId: 'z', text: 'speaks protocol 3, we speak 1' }, { nodeId: 'y', text: 'unreachable' }];
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 10, layerBytes: 3 * GB }), nodes, { excluded })));
    expect(countsIn(plan, nodes)).toEqual([0, 0, 0, 10]);
    expect(plan.explanation).toEqual([
      { nodeId: 'y', text: 'unreachable' },
      { nodeId: 'z', text: 'speaks protocol 3, we speak 1' },
      { nodeId: 'a', text: 'left out: it has no memory to spare after the reserve' },
      { nodeId: 'b', text: 'left out: its budget of 1.0 GB is below the smallest stage of this model' },
      { nodeId: 'c', text: 'left out: its share of the 10 layers is less than the smallest stage' },
    ]);
  });

  it('B4: a device that a node lacks is an error that names both', () => {
    const nodes = [nodeOf('a', 9 * GB, { settings: { devices: ['cuda'] } })];
    expect(refusalIn(placeModel(inputOf(shapeOf({ layers: 2, layerBytes: 1 }), nodes)))).toMatchObject({
      code: 'backend_missing', message: 'node host-a has no device "cuda" (it has: cpu); install the CUDA engine package there, or use "vulkan"',
    });
  });

  it('B5: spilled bytes are in the plan', () => {
    const nodes = [nodeOf('a', 64 * GB, {
      settings: { ...noReserve, devices: ['vulkan', 'cpu'] }, capabilities: { backends: ['vulkan', 'cpu'], devices: [deviceOf('vulkan', 10 * GB)] },
    })];
    const plan = planIn(placeModel(inputOf(shapeOf({ layers: 20, layerBytes: GB }), nodes), weightsOnly));
    expect(plan.stages[0]).toMatchObject({ backend: 'vulkan', spill: { hostLayers: 12, hostBytes: 12 * GB } });
    expect(notesFor(plan, 'a')).toEqual(['spills 12 of 20 layers to host memory, 12.0 GB of 20.0 GB: the device takes no more']);
  });

  it('B11: an end of the model above a budget is an error in a person\'s order, else another node takes it', () => {
    const shape = shapeOf({ layers: 4, layerBytes: GB, tailBytes: 6 * GB });
    const nodes = [nodeOf('a', 50 * GB, { settings: noReserve }), nodeOf('b', 5 * GB, { settings: noReserve })];
    expect(refusalIn(placeModel(inputOf(shape, nodes, { ordered: true }))).message).toContain('node host-b cannot hold the output matrix alone: 6.0 GB, above its budget of 5.0 GB');
    expect(countsIn(planIn(placeModel(inputOf(shape, nodes))), nodes)).toEqual([4, 0]);
  });

  it('names the end of the ids of nodes with one hostname', () => {
    const nodes = ['node-000001', 'node-000002'].map((id) => nodeOf(id, 3 * GB, { capabilities: { hostname: 'pi' } }));
    expect(refusalIn(placeModel(inputOf(shapeOf({ layers: 10, layerBytes: GB }), nodes))).message).toContain('pi (…000001) 2.0 GB, pi (…000002) 2.0 GB');
  });
});
