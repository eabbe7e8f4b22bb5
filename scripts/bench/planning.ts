/** How long a plan takes for large clusters: the coordinator's own thread must not be held up. Best of a few, in ms. */
import { performance } from 'node:perf_hooks';
import { placeModel } from '../../src/core/placement.js';
import type { PlacementInput, PlacementNode } from '../../src/core/placement-types.js';
import type { Capabilities, ModelShape } from '../../src/core/types.js';

const GB = 1e9;
const LAYERS = 126;
const ROUNDS = 5;

export interface PlanningTime {
  readonly nodes: number;
  readonly layers: number;
  readonly ms: number;
  /** Issue's aim. */
  readonly limitMs: number;
}

export function measurePlanning(): readonly PlanningTime[] {
  return [{ nodes: 64, limitMs: 50 }, { nodes: 1000, limitMs: 1000 }].map(({ nodes, limitMs }) => {
    const input = inputOf(nodes);
    let ms = Infinity;
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now();
      placeModel(input);
      ms = Math.min(ms, performance.now() - start);
    }
    return { nodes, layers: LAYERS, ms, limitMs };
  });
}

/** Layers of different size and a refused stage size, so that the planner has to search. */
function inputOf(count: number): PlacementInput {
  return {
    shape: shape(),
    nodes: Array.from({ length: count }, (_, index) => node(index)),
    ordered: false,
    request: { model: 'bench', policy: 'ram_balanced', nodes: null, contextTokens: null, slots: null },
    planId: '1.bench.1',
    instanceId: 'bench',
    keyType: 'q8_0',
    valueType: 'f16',
    excluded: [],
  };
}

function shape(): ModelShape {
  const perLayer = (value: number): number[] => new Array<number>(LAYERS).fill(value);
  const layerBytes = Array.from({ length: LAYERS }, (_, layer) => 3 * GB + (layer % 7) * 3e8);
  const wholeBytes = layerBytes.reduce((sum, bytes) => sum + bytes, 2 * GB);
  return {
    identity: { digest: 'ab'.repeat(32), sizeBytes: wholeBytes }, name: 'bench', architecture: 'llama', layers: LAYERS, hiddenSize: 16_384, vocabularySize: 128_000,
    trainedContext: 8192, layerBytes, headBytes: 0, tailBytes: 2 * GB, wholeBytes, keyElementsPerToken: perLayer(1024), valueElementsPerToken: perLayer(1024),
    stateBytesPerSlot: perLayer(0), windowTokens: perLayer(0), feedForwardSize: 53_248, attentionHeads: 128, expertCount: 0, expertUsed: 0, cutPeriod: 1,
    unsplittableReason: null, refusedStageLayers: [{ layers: 2, reason: 'a guard' }], unsupportedReason: null, supportedBackends: ['metal', 'cuda', 'vulkan', 'cpu'],
  };
}

function node(index: number): PlacementNode {
  const ramBytes = (8 + (index % 5) * 2) * GB;
  const capabilities: Capabilities = {
    agentVersion: '0', protocolMin: 1, protocolMax: 1, hostname: `host-${index}`, os: 'linux', arch: 'x64', cores: 8, ramTotalBytes: ramBytes, ramAvailableBytes: ramBytes,
    ramLimitBytes: null, machineId: `machine-${index}`, diskFreeBytes: 1e12, backends: ['cpu'], gflops: null, memoryBandwidthBytesPerSecond: null, models: [], shards: [], apiAddress: '',
    devices: [{ name: 'CPU', description: 'cpu', backend: 'cpu', memoryTotalBytes: ramBytes, memoryFreeBytes: ramBytes, unified: true }],
  };
  return { nodeId: `node-${String(index).padStart(4, '0')}`, capabilities };
}
