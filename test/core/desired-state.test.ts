import { describe, expect, it } from 'vitest';
import { adopt, covers } from '../../src/core/desired-state.js';
import type { Meeting } from '../../src/core/desired-state.js';
import { comparePlanIds } from '../../src/core/terms.js';
import type { DesiredState, Instance, InstanceState } from '../../src/core/types.js';

function instance(instanceId: string, state: InstanceState, planId: string | null, nodes: readonly string[] = ['a'], model = instanceId): Instance {
  return {
    instanceId, state, reason: '', serial: 1,
    request: { model, policy: 'ram_balanced', nodes: null, contextTokens: null, slots: null },
    plan: planId === null ? null : {
      planId, instanceId, contextTokens: 512, slots: 1, keyType: 'q8_0', valueType: 'f16', explanation: [],
      model: { digest: model, sizeBytes: 1, name: model, architecture: 'llama', layers: nodes.length },
      stages: nodes.map((nodeId, rank) => ({ rank, nodeId, range: { start: rank, end: rank + 1 }, predictedBytes: 1 })),
    },
  };
}

function desired(instances: readonly Instance[], removed: readonly string[] = []): DesiredState {
  return { version: 1, instances, removed };
}

function meeting(mine: DesiredState, theirs: DesiredState): Meeting {
  const runs = ({ state }: Instance): boolean => state === 'active';
  return { mine, theirs, mineRuns: runs, theirsRuns: runs };
}

function plansAfter(mine: DesiredState, theirs: DesiredState): (string | undefined)[] {
  return adopt(meeting(mine, theirs)).instances.map(({ plan }) => plan?.planId);
}

describe('two desired states that meet', () => {
  it('are united by instance id', () => {
    const [left, right] = [desired([instance('x', 'active', '1.a.1')]), desired([instance('y', 'preparing', '1.b.1')])];
    expect(plansAfter(left, right)).toEqual(['1.a.1', '1.b.1']);
    expect(covers(meeting(left, right))).toBe(false);
  });

  it('keep the plan that runs, whoever made it and when', () => {
    const [runs, newer] = [desired([instance('x', 'active', '1.a.1')]), desired([instance('x', 'preparing', '9.b.9', ['a', 'b'])])];
    expect(plansAfter(runs, newer)).toEqual(['1.a.1']);
    expect(plansAfter(newer, runs)).toEqual(['1.a.1']);
    expect(covers(meeting(runs, newer))).toBe(false);
    expect(covers(meeting(newer, runs))).toBe(true);
  });

  it('of two plans that run keep the one on more nodes, then the older one', () => {
    const [one, two] = [desired([instance('x', 'active', '1.a.1', ['a'])]), desired([instance('x', 'active', '2.b.1', ['b', 'c'])])];
    expect(plansAfter(one, two)).toEqual(['2.b.1']);
    const [old, young] = [desired([instance('x', 'active', '2.a.9')]), desired([instance('x', 'active', '10.b.1', ['b'])])];
    expect(plansAfter(old, young)).toEqual(['2.a.9']);
    expect(plansAfter(young, old)).toEqual(['2.a.9']);
  });

  it('of two plans that do not run keep the newer one', () => {
    expect(plansAfter(desired([instance('x', 'preparing', '2.a.9')]), desired([instance('x', 'failed', '2.a.10')]))).toEqual(['2.a.10']);
  });

  it('do not bring back what either side unloaded', () => {
    const [left, right] = [desired([], ['x']), desired([instance('x', 'active', '1.a.1')])];
    expect(plansAfter(left, right)).toEqual([]);
    expect(plansAfter(right, left)).toEqual([]);
    expect(covers(meeting(right, left))).toBe(true);
  });

  it('keep two instances of a model while both run, else the one that runs, else one', () => {
    const both = (left: InstanceState, right: InstanceState): (string | undefined)[] =>
      plansAfter(desired([instance('x', left, '1.a.1', ['a'], 'm')]), desired([instance('y', right, '1.b.1', ['b'], 'm')]));
    expect(both('active', 'active')).toEqual(['1.a.1', '1.b.1']);
    expect(both('preparing', 'active')).toEqual(['1.b.1']);
    expect(both('active', 'failed')).toEqual(['1.a.1']);
    expect(both('preparing', 'preparing')).toEqual(['1.a.1']);
  });

  it('are the same object when the other side has nothing new', () => {
    const mine = desired([instance('x', 'active', '1.a.1')]);
    expect(adopt(meeting(mine, mine))).toBe(mine);
    expect(adopt(meeting(mine, desired([])))).toBe(mine);
  });

  it('order plans by term, then serial, as numbers', () => {
    expect(comparePlanIds('2.z.1', '10.a.1')).toBeLessThan(0);
    expect(comparePlanIds('2.a.9', '2.a.10')).toBeLessThan(0);
    expect(comparePlanIds('nonsense', '1.a.1')).toBeLessThan(0);
  });
});
