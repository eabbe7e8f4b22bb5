/** Nodes and models for the placement tests: round numbers, nothing but what a test is about. */
import type { MemoryModel } from '../../src/core/memory-model.js';
import type { NodeSettings, PlacementInput, PlacementNode, PlacementResult } from '../../src/core/placement-types.js';
import type { Backend, Capabilities, Device, ModelShape, Plan } from '../../src/core/types.js';

export const GB = 1e9;

export function shapeOf(options: {
  layers: number; layerBytes: number; headBytes?: number; tailBytes?: number; overrides?: Partial<ModelShape>;
}): ModelShape {
  const { layers, layerBytes, headBytes = 0, tailBytes = 0 } = options;
  const perLayer = (value: number): number[] => Array.from({ length: layers }, () => value);
  return {
    identity: { digest: 'ab'.repeat(32), sizeBytes: layers * layerBytes + headBytes + tailBytes },
    name: 'test-model',
    architecture: 'llama',
    layers,
    hiddenSize: 2048,
    vocabularySize: 32000,
    trainedContext: 4096,
    layerBytes: perLayer(layerBytes),
    headBytes,
    tailBytes,
    wholeBytes: layers * layerBytes + headBytes + tailBytes,
    keyElementsPerToken: perLayer(256),
    valueElementsPerToken: perLayer(256),
    stateBytesPerSlot: perLayer(0),
    windowTokens: perLayer(0),
    feedForwardSize: 5632,
    attentionHeads: 32,
    expertCount: 0,
    expertUsed: 0,
    cutPeriod: 1,
    unsplittableReason: null,
    refusedStageLayers: [],
    unsupportedReason: null,
    supportedBackends: ['metal', 'cuda', 'vulkan', 'cpu'],
    ...options.overrides,
  };
}

export function deviceOf(backend: Backend, memoryBytes: number, unified = backend === 'cpu'): Device {
  return { name: `${backend}0`, description: backend, backend, memoryTotalBytes: memoryBytes, memoryFreeBytes: memoryBytes, unified };
}

export function nodeOf(nodeId: string, ramBytes: number, options: {
  settings?: NodeSettings; capabilities?: Partial<Capabilities>;
} = {}): PlacementNode {
  const capabilities: Capabilities = {
    agentVersion: '0.1.0',
    protocolMin: 1,
    protocolMax: 1,
    hostname: `host-${nodeId}`,
    os: 'linux',
    arch: 'x64',
    cores: 8,
    ramTotalBytes: ramBytes,
    ramAvailableBytes: ramBytes,
    ramLimitBytes: null,
    machineId: `machine-${nodeId}`,
    diskFreeBytes: 1e12,
    devices: [deviceOf('cpu', ramBytes)],
    backends: ['cpu'],
    gflops: null,
    memoryBandwidthBytesPerSecond: null,
    models: [],
    shards: [],
    apiAddress: '',
    ...options.capabilities,
  };
  return options.settings === undefined ? { nodeId, capabilities } : { nodeId, capabilities, settings: options.settings };
}

export function inputOf(shape: ModelShape, nodes: readonly PlacementNode[], overrides: Partial<Omit<PlacementInput, 'request'>> & {
  request?: Partial<PlacementInput['request']>;
} = {}): PlacementInput {
  const { request, ...rest } = overrides;
  return {
    shape,
    nodes,
    ordered: false,
    planId: '1.a.1',
    instanceId: 'instance-1',
    keyType: 'q8_0',
    valueType: 'f16',
    excluded: [],
    ...rest,
    request: { model: shape.name, policy: 'ram_balanced', nodes: null, contextTokens: null, slots: null, ...request },
  };
}

/** Weights only: no cache, no buffers. What placement adds up, and nothing else. */
export const weightsOnly: MemoryModel = (shape) => {
  const weightsBefore = [0];
  for (const bytes of shape.layerBytes) weightsBefore.push((weightsBefore.at(-1) ?? 0) + bytes);
  const none = { whole: 0, head: 0, middle: 0, tail: 0 };
  return {
    layers: shape.layers,
    weightsBefore,
    cacheBefore: weightsBefore.map(() => 0),
    extraWeights: { whole: shape.wholeBytes - (weightsBefore.at(-1) ?? 0), head: shape.headBytes, middle: 0, tail: shape.tailBytes },
    buffers: none,
    bufferBytesPerLayer: 0,
  };
};

export function planIn(result: PlacementResult): Plan {
  if (result.kind === 'plan') return result.plan;
  throw new Error(`no plan: ${result.message}`);
}

export function refusalIn(result: PlacementResult): { code: string; message: string } {
  if (result.kind === 'impossible') return result;
  throw new Error(`a plan came: ${JSON.stringify(result.plan.stages)}`);
}

/** Layers per node, in the order of `nodes`; 0 for those left out. */
export function countsIn(plan: Plan, nodes: readonly PlacementNode[]): number[] {
  return nodes.map(({ nodeId }) => {
    const stage = plan.stages.find((candidate) => candidate.nodeId === nodeId);
    return stage === undefined ? 0 : stage.range.end - stage.range.start;
  });
}

export function notesFor(plan: Plan, nodeId: string | null): string[] {
  return plan.explanation.filter((note) => note.nodeId === nodeId).map((note) => note.text);
}
