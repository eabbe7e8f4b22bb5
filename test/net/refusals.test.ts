import { describe, expect, it } from 'vitest';
import { Refusals } from '../../src/net/refusals.js';
import { systemClock } from '../../src/cli/clock.js';
import { SILENT } from '../support/silent-log.js';

const at = (nodeId: string, address: string): { nodeId: string; address: string; code: 'wrong_cluster'; message: string } => ({ nodeId, address, code: 'wrong_cluster', message: 'another cluster' });

describe('refused peers', () => {
  it('are one for each address: who was there before with another identity is gone', () => {
    const refusals = new Refusals(systemClock, SILENT);
    refusals.add(at('old', '/ip4/10.0.0.2/tcp/11501'));
    refusals.add(at('beside it', '/ip4/10.0.0.2/tcp/11502'));
    refusals.add(at('new', '/ip4/10.0.0.2/tcp/11501/p2p/new'));
    expect(refusals.list().map(({ nodeId }) => nodeId)).toEqual(['beside it', 'new']);
  });
});
