import { describe, expect, it } from 'vitest';
import type { PlacementInput } from '../../src/core/placement-types.js';
import { findModel, planOn, replanOn, weightsAreThere } from '../../src/core/planning.js';
import type { ClusterMember } from '../../src/core/planning.js';
import type { Backend, Capabilities, DesiredState, HeldModel, Plan, RequestedNode } from '../../src/core/types.js';
import { deviceOf, nodeOf, shapeOf } from './placement-cases.js';

const MODEL: HeldModel = { digest: 'c3'.repeat(32), sizeBytes: 1, name: 'm', architecture: 'llama', layers: 4 };

function member(nodeId: string, capabilities: Partial<Capabilities> = {}, rest: Partial<ClusterMember> = {}): ClusterMember {
  const record = { nodeId, incarnation: 1, counter: 1, nonce: nodeId, addresses: [], capabilities: nodeOf(nodeId, 10e9, { capabilities }).capabilities };
  return { record, liveness: 'alive', sinceMs: 0, follows: true, problem: null, ...rest };
}

function asked(
  members: readonly ClusterMember[], desired: DesiredState = { version: 1, instances: [] }, avoid = new Map<string, string>(), nodeSettings?: readonly RequestedNode[],
  missing: ReadonlyMap<string, ReadonlySet<Backend>> = new Map(),
): PlacementInput[] {
  const inputs: PlacementInput[] = [];
  const request = {
    model: 'm', policy: 'ram_balanced' as const, nodes: null, contextTokens: null, slots: null, ...(nodeSettings === undefined ? {} : { nodeSettings }),
  };
  planOn({ shape: shapeOf({ layers: 4, layerBytes: 1e9 }), request, planId: '1.a.1', instanceId: 'i', members, desired, avoid, missing }, (input) => {
    inputs.push(input);
    return { kind: 'impossible', code: 'no_placement', message: '', notes: [] };
  });
  return inputs;
}

function instanceOn(instanceId: string, nodeId: string, predictedBytes: number): DesiredState['instances'][number] {
  return {
    instanceId, state: 'active', reason: '', serial: 1, request: { model: 'other', policy: 'ram_balanced', nodes: null, contextTokens: null, slots: null },
    plan: {
      planId: `1.a.${instanceId}`, instanceId, model: MODEL, contextTokens: 1, slots: 1, keyType: 'q8_0', valueType: 'f16', explanation: [],
      stages: [{ rank: 0, nodeId, range: { start: 0, end: 4 }, predictedBytes }],
    },
  };
}

describe('a plan after one that is over', () => {
  const request = { model: 'm', policy: 'ram_balanced' as const, nodes: null, contextTokens: null, slots: null };
  const planOf = (contextTokens: number): Plan => ({ planId: '1.a.1', instanceId: 'i', model: MODEL, stages: [], contextTokens, slots: 1, keyType: 'q8_0', valueType: 'f16', explanation: [] });
  const before = planOf(4096);

  /** The context that the new plan has, where the planner would choose `chosen` and has room for `room`; null = none. */
  function contextAfter(chosen: number | null, room: number, contextTokens: number | null = null): number | null {
    const result = replanOn({ shape: shapeOf({ layers: 4, layerBytes: 1e9 }), request: { ...request, contextTokens }, planId: '1.a.2', instanceId: 'i', members: [member('a')], desired: { version: 1, instances: [] }, avoid: new Map() }, before, (input) => {
      const wanted = input.request.contextTokens ?? chosen;
      return wanted === null || wanted > room ? { kind: 'impossible', code: 'no_placement', message: '', notes: [] } : { kind: 'plan', plan: planOf(wanted) };
    });
    return result.kind === 'plan' ? result.plan.contextTokens : null;
  }

  it('keeps the context that running answers may need, where it fits', () => {
    expect(contextAfter(2048, 4096)).toBe(4096);
    expect(contextAfter(8192, 8192)).toBe(8192);
    expect(contextAfter(null, 4096)).toBe(4096);
  });

  it('takes less where it does not fit, and what was asked for where somebody asked', () => {
    expect(contextAfter(2048, 3000)).toBe(2048);
    expect(contextAfter(null, 3000)).toBeNull();
    expect(contextAfter(2048, 4096, 1024)).toBe(1024);
  });
});

describe('a question for placement', () => {
  it('takes off what other instances hold on the machine, but not what this one holds', () => {
    const members = [member('a', { machineId: 'shared' }), member('b', { machineId: 'shared' }), member('c')];
    const [input] = asked(members, { version: 1, instances: [instanceOn('other', 'a', 3e9), instanceOn('i', 'c', 5e9)] });
    expect(input?.nodes.map(({ capabilities }) => capabilities.ramAvailableBytes)).toEqual([7e9, 7e9, 10e9]);
  });

  it('A5: does without a backend that a node said it has and had not', () => {
    const devices = [deviceOf('vulkan', 8e9), deviceOf('cpu', 10e9)];
    const both: Partial<Capabilities> = { backends: ['vulkan', 'cpu'], devices };
    const members = [member('a', both), member('b', both), member('c', { ...both, devicePreference: ['vulkan'] }), member('d', { ...both, devicePreference: ['vulkan', 'cpu'] })];
    const missing = new Map(['a', 'c', 'd'].map((nodeId) => [nodeId, new Set<Backend>(['vulkan'])] as const));
    const [input] = asked(members, { version: 1, instances: [] }, new Map(), undefined, missing);
    expect(input?.nodes.map(({ nodeId, capabilities, settings }) => [nodeId, capabilities.backends, capabilities.devices.length, settings?.devices])).toEqual([
      ['a', ['cpu'], 1, undefined], ['b', ['vulkan', 'cpu'], 2, undefined], ['d', ['cpu'], 1, ['cpu']],
    ]);
    expect(input?.excluded).toEqual([{ nodeId: 'c', text: 'host-c is left out: its device vulkan is not there' }]);
  });

  it('gives each node the devices that its owner asked for', () => {
    const [input] = asked([member('a', { backends: ['vulkan', 'cpu'], devicePreference: ['cpu'] }), member('b')]);
    expect(input?.nodes.map(({ settings }) => settings?.devices)).toEqual([['cpu'], undefined]);
  });

  it('leaves out who may not take part and says why', () => {
    const members = [
      member('a'), member('b', {}, { problem: 'it speaks protocol 2-2' }), member('c', {}, { follows: false }),
      member('d', {}, { liveness: 'dead' }), member('e', {}, { liveness: 'suspect' }),
    ];
    const [input] = asked(members);
    expect(input?.nodes.map(({ nodeId }) => nodeId)).toEqual(['a']);
    expect(input?.excluded.map(({ nodeId, text }) => [nodeId, text])).toEqual([
      ['b', 'host-b is left out: it speaks protocol 2-2'],
      ['c', 'host-c is left out: it does not follow this coordinator'],
      ['d', 'host-d is left out: it does not answer'],
      ['e', 'host-e is left out: it has not answered for a moment'],
    ]);
    // What holds until the node is heard again.
    expect(input?.excluded.map(({ passing }) => passing)).toEqual([undefined, true, true, true]);
  });

  it('with a cluster file: its nodes, its order and its settings, and nobody else', () => {
    const named = [{ nodeId: 'c', settings: { devices: ['cpu' as const], reserveBytes: 0 } }, { nodeId: 'a', settings: { layers: { start: 1, end: 2 } } }];
    const [input] = asked([member('a'), member('b'), member('c')], undefined, undefined, named);
    expect(input?.ordered).toBe(true);
    expect(input?.nodes.map(({ nodeId, settings }) => ({ nodeId, settings }))).toEqual(named);
    expect(input?.excluded).toEqual([{ nodeId: 'b', text: 'host-b is left out: the cluster file does not name it' }]);
  });

  it('with a cluster file: waits for a node of it that is here and follows nobody yet', () => {
    const named = [{ nodeId: 'a', settings: {} }, { nodeId: 'b', settings: {} }];
    expect(asked([member('a'), member('b', {}, { follows: false })], undefined, undefined, named)).toEqual([]);
    expect(asked([member('a'), member('b', {}, { liveness: 'dead', follows: false })], undefined, undefined, named)).toHaveLength(1);
  });

  it('does without a faulty node if it can, else with it', () => {
    const inputs = asked([member('a'), member('b')], undefined, new Map([['b', 'its stage failed']]));
    expect(inputs.map(({ nodes }) => nodes.map(({ nodeId }) => nodeId))).toEqual([['a'], ['a', 'b']]);
  });

  it('knows a model by name, file name, digest and a prefix that names one', () => {
    const members = [member('a', { models: [MODEL] }), member('d', { models: [{ ...MODEL, name: 'gone', digest: 'd4'.repeat(32) }] }, { liveness: 'dead' })];
    for (const reference of ['m', 'm.gguf', MODEL.digest, MODEL.digest.slice(0, 8)]) expect(findModel(reference, members)).toEqual(MODEL);
    for (const reference of ['c3c3', 'gone', '']) expect(findModel(reference, members)).toBeNull();
  });

  it('counts weights as there when shards of the living tile the model', () => {
    const shard = (start: number, end: number, head: boolean, tail: boolean) => ({ shards: [{ modelDigest: MODEL.digest, range: { start, end }, head, tail }] });
    const [first, last] = [member('a', shard(0, 2, true, false)), member('b', shard(2, 4, false, true))];
    expect(weightsAreThere(MODEL, [first, last])).toBe(true);
    expect(weightsAreThere(MODEL, [first])).toBe(false);
    expect(weightsAreThere(MODEL, [first, { ...last, liveness: 'dead' }])).toBe(false);
    expect(weightsAreThere(MODEL, [first, member('b', shard(3, 4, false, true))])).toBe(false);
  });
});
