import { describe, expect, it } from 'vitest';
import { activePart, nodeSpeeds, stageSeconds, STEP_OVERHEAD_SECONDS } from '../../src/core/decode-speed.js';
import { nodeBudgets } from '../../src/core/budget.js';
import { placeModel } from '../../src/core/placement.js';
import type { PlacementNode } from '../../src/core/placement-types.js';
import type { Backend, ModelShape, Plan, PlanNote } from '../../src/core/types.js';
import { countsIn, deviceOf, GB, inputOf, nodeOf, notesFor, planIn, shapeOf, weightsOnly } from './placement-cases.js';

/** A node whose device reads `gbPerSecond`; null = not measured. */
function fastNode(id: string, ramBytes: number, gbPerSecond: number | null, options: { readonly backend?: Backend; readonly roundTripMicros?: readonly (readonly [string, number])[] } = {}): PlacementNode {
  const backend = options.backend ?? 'cpu';
  const device = { ...deviceOf(backend, ramBytes, true), ...(gbPerSecond === null ? {} : { memoryBandwidthBytesPerSecond: gbPerSecond * GB, gflops: 1 }) };
  return nodeOf(id, ramBytes, {
    settings: { reserveBytes: 0 },
    capabilities: {
      devices: [device], backends: [backend],
      ...(options.roundTripMicros === undefined ? {} : { links: options.roundTripMicros.map(([nodeId, roundTripMicros]) => ({ nodeId, roundTripMicros, bytesPerSecond: null })) }),
    },
  });
}

function autoPlan(shape: ModelShape, nodes: readonly PlacementNode[], request: { readonly nodes?: number } = {}): Plan {
  return planIn(placeModel(inputOf(shape, nodes, { request: { policy: 'auto', ...request } }), weightsOnly));
}

function comparisonIn(plan: Plan): string {
  return plan.explanation.filter((note: PlanNote) => note.nodeId === null).map((note) => note.text).join('\n');
}

const TEN = shapeOf({ layers: 10, layerBytes: 0.1 * GB });

describe('policy auto', () => {
  it('does not split a model for nothing when one machine holds it', () => {
    const nodes = [fastNode('a', 8 * GB, 10), fastNode('b', 8 * GB, 20), fastNode('c', 8 * GB, 10)];
    const plan = autoPlan(TEN, nodes);
    expect(countsIn(plan, nodes)).toEqual([0, 10, 0]);
    expect(comparisonIn(plan)).toMatch(/alone on host-b: 19\.8 tok\/s \(chosen\); these 2 \(host-[ac] \+ host-b\): \d+\.\d tok\/s; all 3: \d+\.\d tok\/s$/);
    expect(notesFor(plan, 'a')).toEqual(['left out: the ring is faster without it (it reads 10.0 GB/s, 8.0 GB budget)']);
  });

  it('gives what it compared as data, in the words of the note', () => {
    const nodes = [fastNode('a', 8 * GB, 10), fastNode('b', 8 * GB, 20), fastNode('c', 8 * GB, 10)];
    const result = placeModel(inputOf(TEN, nodes, { request: { policy: 'auto' } }), weightsOnly);
    const options = result.kind === 'plan' ? result.options ?? [] : [];
    expect(options.map(({ what, nodeIds, chosen }) => [what, nodeIds.length, chosen])).toEqual([['alone', 1, true], ['several', 2, false], ['all', 3, false]]);
    expect(options[0]).toMatchObject({ nodeIds: ['b'], measured: true, tokensPerSecond: expect.closeTo(19.8, 1) });
    expect(planIn(result)).not.toHaveProperty('options');
    const byNumber = placeModel(inputOf(TEN, nodes, { request: { policy: 'auto', nodes: 2 } }), weightsOnly);
    expect(byNumber).not.toHaveProperty('options');
    const small = [fastNode('a', 0.6 * GB, 10), fastNode('b', 0.6 * GB, 20)];
    expect(placeModel(inputOf(TEN, small, { request: { policy: 'auto' } }), weightsOnly)).toMatchObject({
      options: [{ what: 'alone', nodeIds: [], tokensPerSecond: null, chosen: false }, { what: 'several', nodeIds: ['a', 'b'], chosen: true }],
    });
  });

  it('splits when no machine holds it, and says so', () => {
    const nodes = [fastNode('a', 0.6 * GB, 10), fastNode('b', 0.6 * GB, 20)];
    const plan = autoPlan(TEN, nodes);
    expect(countsIn(plan, nodes)).toEqual([4, 6]);
    expect(comparisonIn(plan)).toMatch(/alone: fits on no node; these 2 \(host-a \+ host-b\): 13\.\d tok\/s \(chosen\)$/);
  });

  it('splits a model that fits a slow machine when fast ones are faster together', () => {
    const nodes = [fastNode('slow', 64 * GB, 2), fastNode('x', 0.6 * GB, 100), fastNode('y', 0.6 * GB, 100)];
    const plan = autoPlan(TEN, nodes);
    expect(countsIn(plan, nodes)).toEqual([0, 5, 5]);
    expect(notesFor(plan, 'slow')).toEqual(['left out: the ring is faster without it (it reads 2.0 GB/s, 64.0 GB budget)']);
  });

  it('keeps a slow node out until its memory is needed', () => {
    const fast = [fastNode('x', 0.6 * GB, 100), fastNode('y', 0.6 * GB, 100)];
    const slow = fastNode('slow', 64 * GB, 1);
    expect(countsIn(autoPlan(TEN, [...fast, slow]), [slow])).toEqual([0]);
    const larger = shapeOf({ layers: 13, layerBytes: 0.1 * GB });
    expect(countsIn(autoPlan(larger, [...fast, slow]), [...fast, slow])).toEqual([6, 6, 1]);
  });

  it('weighs the way between the nodes', () => {
    const far = [['a', 40_000], ['b', 40_000]] as const;
    const near = [['a', 200], ['b', 200]] as const;
    const nodes = (links: typeof far | typeof near): PlacementNode[] => [
      fastNode('a', 64 * GB, 10, { roundTripMicros: links }), fastNode('b', 0.6 * GB, 40, { roundTripMicros: links }),
    ];
    expect(autoPlan(TEN, nodes(near)).stages).toHaveLength(2);
    expect(autoPlan(TEN, nodes(far)).stages.map((stage) => stage.nodeId)).toEqual(['a']);
    // One of them was busy when it measured.
    const mixed = [fastNode('a', 64 * GB, 10, { roundTripMicros: far }), fastNode('b', 0.6 * GB, 40, { roundTripMicros: near })];
    expect(autoPlan(TEN, mixed).stages).toHaveLength(2);
  });

  it('counts a node that was not measured as the slowest that was, and says so', () => {
    const nodes = [fastNode('a', 8 * GB, 10), fastNode('b', 8 * GB, null)];
    const plan = autoPlan(TEN, nodes);
    expect(plan.stages.map((stage) => stage.nodeId)).toEqual(['a']);
    expect(comparisonIn(plan)).toContain('1 node not measured yet, counted as the slowest');
  });

  it('is ram_balanced while nothing was measured', () => {
    const unmeasured = [fastNode('a', 8 * GB, null), fastNode('b', 8 * GB, null)];
    const plan = autoPlan(TEN, unmeasured);
    expect(countsIn(plan, unmeasured)).toEqual([5, 5]);
    expect(comparisonIn(plan)).toBe('no speed was measured yet: layers are shared out by memory');
    expect(countsIn(autoPlan(TEN, unmeasured, { nodes: 2 }), unmeasured)).toEqual([5, 5]);
  });

  it('is the fastest node that holds the model when one is asked for, not the largest', () => {
    const nodes = [fastNode('a', 64 * GB, 10), fastNode('b', 8 * GB, 20), fastNode('c', 0.1 * GB, 90)];
    const plan = autoPlan(TEN, nodes, { nodes: 1 });
    expect(countsIn(plan, nodes)).toEqual([0, 10, 0]);
    expect(notesFor(plan, 'a')).toEqual(['left out: one node was asked for, and this one is no faster']);
  });

  it('honours cut periods, refused sizes and models that must stay whole', () => {
    const nodes = [fastNode('a', 0.65 * GB, 10), fastNode('b', 0.65 * GB, 20)];
    const cut = shapeOf({ layers: 10, layerBytes: 0.1 * GB, overrides: { cutPeriod: 5 } });
    expect(countsIn(autoPlan(cut, nodes), nodes)).toEqual([5, 5]);
    const refused = shapeOf({ layers: 10, layerBytes: 0.1 * GB, overrides: { refusedStageLayers: [{ layers: 6, reason: 'r' }] } });
    expect(countsIn(autoPlan(refused, nodes), nodes)).toEqual([5, 5]);
    const whole = shapeOf({ layers: 10, layerBytes: 0.1 * GB, overrides: { unsplittableReason: 'it is one' } });
    const three = [fastNode('a', 8 * GB, 5), fastNode('b', 4 * GB, 50), fastNode('c', 0.5 * GB, 99)];
    expect(countsIn(autoPlan(whole, three), three)).toEqual([0, 10, 0]);
  });

  it('gives the same plan for every order of the table', () => {
    const nodes = [fastNode('c', 0.5 * GB, 10), fastNode('a', 0.5 * GB, 10), fastNode('b', 0.5 * GB, 10), fastNode('d', 0.3 * GB, 40)];
    const plans = [nodes, [...nodes].reverse(), [nodes[2], nodes[0], nodes[3], nodes[1]].flatMap((node) => node ?? [])].map((order) => JSON.stringify(autoPlan(TEN, order)));
    expect(new Set(plans).size).toBe(1);
  });

  it('is as fast as the best of all ways to place it (500 small cases)', () => {
    let state = 7;
    const random = (count: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state >>> 8) % count;
    };
    for (let round = 0; round < 500; round += 1) {
      const shape = shapeOf({ layers: 2 + random(4), layerBytes: 0.1 * GB, tailBytes: random(2) * 0.05 * GB });
      const nodes = Array.from({ length: 1 + random(4) }, (_, index) => fastNode(`n${index}`, (1 + random(6)) * 0.11 * GB, 1 + random(40)));
      const best = bruteForce(shape, nodes);
      const result = placeModel(inputOf(shape, nodes, { request: { policy: 'auto' } }), weightsOnly);
      if (best === Infinity) {
        // Perhaps in another order of nodes: that is the other policies' search.
        continue;
      }
      const seconds = secondsOf(shape, nodes, planIn(result).stages.map((stage) => [stage.nodeId, stage.range.start, stage.range.end] as const));
      // A ring of several must win by 5 %, and nodes stand in order of speed.
      expect(seconds, `round ${round}`).toBeLessThanOrEqual(best * 1.0500001);
    }
  });

  it('plans 64 nodes and 126 layers in under 50 ms and 1,000 nodes in under 1 s', () => {
    const large = shapeOf({ layers: 126, layerBytes: 0.5 * GB, tailBytes: GB });
    for (const [count, limitMs] of [[64, 50], [1000, 1000]] as const) {
      for (const ram of [4 * GB, 64 * GB]) {
        const nodes = Array.from({ length: count }, (_, index) => fastNode(`n${String(index).padStart(4, '0')}`, ram, 10 + (index * 7) % 50));
        // Of the processor: what else the machine does is not the planner's.
        const times = Array.from({ length: 3 }, () => {
          const before = process.cpuUsage();
          autoPlan(large, nodes);
          const { user, system } = process.cpuUsage(before);
          return (user + system) / 1000;
        });
        expect(Math.min(...times), `${count} nodes of ${ram / GB} GB`).toBeLessThan(limitMs);
      }
    }
  });
});

describe('B19: the predicted speed of a plan', () => {
  const pair = [fastNode('a', 0.6 * GB, 10), fastNode('b', 0.6 * GB, 20)];
  const place = (nodes: readonly PlacementNode[], policy: 'auto' | 'ram_balanced'): Plan =>
    planIn(placeModel(inputOf(TEN, nodes, { ordered: policy !== 'auto', request: { policy } }), weightsOnly));

  it('is what the comparison says of the ring that was chosen', () => {
    const plan = place(pair, 'auto');
    expect(comparisonIn(plan)).toContain(`: ${(plan.predictedTokensPerSecond ?? 0).toFixed(1)} tok/s (chosen)`);
    const alone = place([fastNode('b', 8 * GB, 20)], 'auto');
    expect(alone.predictedTokensPerSecond).toBeCloseTo(1 / (1 * GB / (20 * GB) + STEP_OVERHEAD_SECONDS), 6);
  });

  it('is there under every policy, by the bytes that each node really reads', () => {
    expect(place(pair, 'ram_balanced').predictedTokensPerSecond).toBeGreaterThan(5);
    const half = shapeOf({ layers: 10, layerBytes: 0.1 * GB, overrides: { layerBytesAs: { f32: [], f16: [], bf16: [], nvfp4: [], mxfp4: Array.from({ length: 10 }, () => 0.05 * GB) } } });
    const node = fastNode('b', 8 * GB, 20);
    const plan = planIn(placeModel(inputOf(half, [{ ...node, settings: { ...node.settings, precision: 'mxfp4' } }], { ordered: true }), weightsOnly));
    expect(plan.predictedTokensPerSecond).toBeCloseTo(1 / (0.5 * GB / (20 * GB) + STEP_OVERHEAD_SECONDS), 6);
  });

  it('is not guessed: not without measurements of all of its nodes, nor without a cache', () => {
    expect(place([fastNode('a', 0.6 * GB, null), fastNode('b', 0.6 * GB, 20)], 'ram_balanced')).not.toHaveProperty('predictedTokensPerSecond');
    expect(place([fastNode('a', 8 * GB, null)], 'auto')).not.toHaveProperty('predictedTokensPerSecond');
    const node = fastNode('b', 8 * GB, 20);
    expect(place([{ ...node, settings: { ...node.settings, keyValueCache: 'none' } }], 'ram_balanced')).not.toHaveProperty('predictedTokensPerSecond');
  });
});

describe('the predicted time of a stage', () => {
  const shape = shapeOf({ layers: 10, layerBytes: 0.1 * GB, tailBytes: 0.2 * GB });

  function question(node: PlacementNode): Parameters<typeof stageSeconds>[0] {
    const budgets = nodeBudgets([node], shape.supportedBackends, new Map());
    const speeds = budgets.kind === 'budgets' ? nodeSpeeds([node], budgets.budgets, shape) : null;
    const [budget] = budgets.kind === 'budgets' ? budgets.budgets : [];
    const [speed] = speeds ?? [];
    if (budget === undefined || speed === undefined) throw new Error('no budget or speed');
    return { shape, table: weightsOnly(shape, { contextTokens: 1, slots: 1, keyType: 'f16', valueType: 'f16' }), active: activePart(shape), budget, speed };
  }

  it('waits less for hidden states in fewer bytes', () => {
    const node = fastNode('a', 8 * GB, 10);
    const budgets = nodeBudgets([node], shape.supportedBackends, new Map());
    const hop = (activations?: 'f16' | 'q8_0'): number => (budgets.kind === 'budgets' ? nodeSpeeds([node], budgets.budgets, shape, activations) : null)?.[0]?.hopSeconds ?? Number.NaN;
    expect(hop('f16')).toBeLessThan(hop());
    expect(hop('q8_0')).toBeLessThan(hop('f16'));
  });

  it('is the bytes read over the bandwidth; the tail reads the output matrix too', () => {
    const asked = question(fastNode('a', 8 * GB, 10));
    expect(stageSeconds(asked, 0, 5)).toBeCloseTo(0.05 + STEP_OVERHEAD_SECONDS, 9);
    expect(stageSeconds(asked, 5, 10)).toBeCloseTo(0.07 + STEP_OVERHEAD_SECONDS, 9);
  });

  it('reads what spilled from host memory', () => {
    const node = nodeOf('a', 64 * GB, {
      settings: { reserveBytes: 0, devices: ['vulkan', 'cpu'] },
      capabilities: {
        backends: ['vulkan', 'cpu'],
        devices: [{ ...deviceOf('vulkan', GB), memoryBandwidthBytesPerSecond: 100 * GB }, { ...deviceOf('cpu', 64 * GB), memoryBandwidthBytesPerSecond: 10 * GB }],
      },
    });
    const asked = question(node);
    expect(stageSeconds(asked, 0, 5)).toBeCloseTo(0.005 + STEP_OVERHEAD_SECONDS, 9);
    // 1.2 GB of which the device takes 0.85.
    expect(stageSeconds(asked, 0, 10)).toBeCloseTo(0.85 / 100 + 0.35 / 10 + STEP_OVERHEAD_SECONDS, 9);
  });

  it('of a mixture of experts counts the experts that are used', () => {
    expect(activePart(shape)).toBe(1);
    const experts = shapeOf({ layers: 1, layerBytes: 1, overrides: { hiddenSize: 1024, feedForwardSize: 1024, expertCount: 8, expertUsed: 2 } });
    expect(activePart(experts)).toBeCloseTo((4 + 6) / (4 + 24), 9);
  });
});

type Stage = readonly [nodeId: string, start: number, end: number];

function secondsOf(shape: ModelShape, nodes: readonly PlacementNode[], stages: readonly Stage[]): number {
  const hop = 0.0003 + (shape.hiddenSize * 4) / 1e8;
  return stages.reduce((sum, [nodeId, start, end]) => {
    const device = nodes.find((node) => node.nodeId === nodeId)?.capabilities.devices[0];
    const read = (shape.layerBytes[0] ?? 0) * (end - start) + (end === shape.layers ? shape.tailBytes : 0);
    return sum + read / (device?.memoryBandwidthBytesPerSecond ?? 1) + STEP_OVERHEAD_SECONDS + (stages.length > 1 ? hop : 0);
  }, 0);
}

/** Over every assignment of contiguous ranges to nodes in order of speed. */
function bruteForce(shape: ModelShape, nodes: readonly PlacementNode[]): number {
  const speed = (node: PlacementNode): number => node.capabilities.devices[0]?.memoryBandwidthBytesPerSecond ?? 0;
  const order = [...nodes].sort((a, b) => speed(a) - speed(b) || (a.nodeId < b.nodeId ? -1 : 1));
  let best = Infinity;
  const extend = (index: number, at: number, stages: readonly Stage[]): void => {
    if (at === shape.layers) best = Math.min(best, secondsOf(shape, nodes, stages));
    const node = order[index];
    if (node === undefined || at === shape.layers) return;
    extend(index + 1, at, stages);
    for (let end = at + 1; end <= shape.layers; end += 1) {
      const bytes = (shape.layerBytes[0] ?? 0) * (end - at) + (end === shape.layers ? shape.tailBytes : 0);
      if (bytes <= node.capabilities.ramAvailableBytes) extend(index + 1, end, [...stages, [node.nodeId, at, end]]);
    }
  };
  extend(0, 0, []);
  return best;
}
