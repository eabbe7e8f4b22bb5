import { describe, expect, it } from 'vitest';
import { Membership } from '../../src/core/membership.js';
import type { NodeRecord } from '../../src/core/types.js';
import { nodeOf } from './placement-cases.js';

function record(nodeId: string, incarnation: number, counter: number, nonce = `${nodeId}-${incarnation}`): NodeRecord {
  return { nodeId, incarnation, counter, nonce, addresses: [], capabilities: nodeOf(nodeId, 8e9).capabilities };
}

function table(): Membership {
  return new Membership({ nodeId: 'me', incarnation: 1, nonce: 'mine' });
}

describe('membership', () => {
  it('keeps the newest record by incarnation, then counter', () => {
    const members = table();
    expect(members.accept('a', record('a', 1, 5)).kind).toBe('new');
    expect(members.accept('a', record('a', 1, 4)).kind).toBe('stale');
    expect(members.accept('a', record('a', 1, 5)).kind).toBe('stale');
    expect(members.accept('a', record('a', 1, 6)).kind).toBe('updated');
    expect(members.accept('a', record('a', 2, 1)).kind).toBe('restarted');
    expect(members.accept('a', record('a', 1, 9)).kind).toBe('stale');
    expect(members.record('a')).toMatchObject({ incarnation: 2, counter: 1 });
  });

  it('believes a record from its owner only', () => {
    const members = table();
    expect(members.accept('a', record('b', 1, 1)).kind).toBe('refused');
    expect(members.records()).toEqual([]);
  });

  it('names two processes with one identity until a later start', () => {
    const members = table();
    members.accept('a', record('a', 3, 1, 'one'));
    expect(members.accept('a', record('a', 3, 7, 'two')).kind).toBe('clone');
    expect(members.accept('a', record('a', 3, 8, 'two')).kind).toBe('stale');
    expect(members.cloneProblem('a')).toContain('two processes use the identity a');
    members.accept('a', record('a', 4, 1, 'one'));
    expect(members.cloneProblem('a')).toBeNull();
  });

  it('brings a node that left back with a higher incarnation only', () => {
    const members = table();
    members.accept('a', record('a', 1, 1));
    members.leave('a');
    members.accept('a', record('a', 1, 2));
    expect(members.hasLeft('a')).toBe(true);
    members.accept('a', record('a', 2, 1));
    expect(members.hasLeft('a')).toBe(false);
  });

  it('publishes its own record with a counter that grows', () => {
    const members = table();
    const { capabilities } = nodeOf('me', 8e9);
    members.updateOwn(capabilities, ['/ip4/10.0.0.1/tcp/11501']);
    members.updateOwn(capabilities, null);
    expect(members.ownRecord()).toMatchObject({ nodeId: 'me', incarnation: 1, counter: 2, nonce: 'mine', addresses: ['/ip4/10.0.0.1/tcp/11501'] });
  });
});
