import { describe, expect, it } from 'vitest';
import { assignShardBackends, backendOfDevice, parseDevices } from '../../src/core/backends.js';
import type { Backend, StagePlan } from '../../src/core/types.js';

const ALL: readonly Backend[] = ['metal', 'cuda', 'vulkan', 'cpu'];

function stageOn(nodeId: string, rank = 0): StagePlan {
  return { rank, nodeId, range: { start: rank, end: rank + 1 }, predictedBytes: 1 };
}

describe('A1: an absent backend is the engine\'s own default', () => {
  it('leaves a stage without the field as it was', () => {
    const stage = stageOn('a');
    const { stages } = assignShardBackends([stage], new Map([['a', []]]), ALL);
    expect(stages).toEqual([stage]);
    expect('backend' in (stages[0] ?? {})).toBe(false);
    expect(JSON.stringify(stages[0])).toBe(JSON.stringify(stage));
  });
});

describe('A2: the first preferred backend that model and node both support', () => {
  it('prefers metal, then cuda, then vulkan, then cpu, whatever the order of the lists', () => {
    const nodes = new Map<string, readonly Backend[]>([
      ['a', ['cpu', 'vulkan', 'cuda', 'metal']], ['b', ['cpu', 'vulkan', 'cuda']], ['c', ['cpu', 'vulkan']], ['d', ['cpu']],
    ]);
    const { stages, notes } = assignShardBackends([...nodes.keys()].map((id, rank) => stageOn(id, rank)), nodes, ['cpu', 'vulkan', 'cuda', 'metal']);
    expect(stages.map((stage) => stage.backend)).toEqual(['metal', 'cuda', 'vulkan', 'cpu']);
    expect(notes).toEqual([]);
  });

  it('is restricted to the model\'s backends', () => {
    const { stages } = assignShardBackends([stageOn('a')], new Map([['a', ALL]]), ['cpu', 'vulkan']);
    expect(stages[0]?.backend).toBe('vulkan');
  });

  it('gives a node without a match none, and says so', () => {
    const { stages, notes } = assignShardBackends([stageOn('a')], new Map<string, readonly Backend[]>([['a', ['cpu']]]), ['metal']);
    expect(stages[0]?.backend).toBeUndefined();
    expect(notes).toEqual([{ nodeId: 'a', text: "no backend assigned: the node has cpu, the model supports metal; the engine's default is used" }]);
  });

  it('does not change its input', () => {
    const stage = Object.freeze(stageOn('a'));
    assignShardBackends([stage], new Map([['a', ALL]]), ALL);
    expect(stage.backend).toBeUndefined();
  });
});

describe('B4: device strings', () => {
  it.each([
    ['cpu', ['cpu']], ['METAL', ['metal']], [' mtl ', ['metal']], ['mlx', ['mlx']], ['neural-engine', ['ane']], ['ane', ['ane']],
    ['nvidia', ['cuda']], ['hip', ['rocm']], ['amd', ['rocm']], ['vk', ['vulkan']], ['webgpu', ['gpu']], ['wgpu', ['gpu']],
    ['metal+cpu', ['metal', 'cpu']], ['vk + vulkan + cpu', ['vulkan', 'cpu']], ['cpu+mtl+metal', ['cpu', 'metal']],
  ])('%s', (text, devices) => {
    expect(parseDevices(text)).toEqual({ kind: 'devices', devices });
  });

  it.each([['tpu', '"tpu" is unknown'], ['', 'empty part'], ['metal+', 'empty part'], ['cpu,metal', '"cpu,metal" is unknown']])(
    'refuses "%s" and never falls back to cpu', (text, message) => {
      const result = parseDevices(text);
      expect(result.kind === 'bad' ? result.message : '').toContain(message);
    });

  it('finds what a node computes on, and null for what it lacks', () => {
    expect(backendOfDevice('gpu', ['cpu', 'vulkan'])).toBe('vulkan');
    expect(backendOfDevice('gpu', ['cpu'])).toBeNull();
    expect(backendOfDevice('rocm', ['cpu', 'vulkan'])).toBeNull();
    expect(backendOfDevice('cpu', ['vulkan', 'cpu'])).toBe('cpu');
  });
});
