import { describe, expect, it } from 'vitest';
import { parseClusterFile } from '../../src/cli/config-file.js';
import { findFileNodes } from '../../src/cli/file-nodes.js';
import type { ClusterFile } from '../../src/core/cluster-file.js';

function fileOf(...addresses: readonly string[]): ClusterFile {
  const nodes = addresses.map((address, index) => `[[node]]\naddr = "${address}"\nckpt_dir = "/c"\nrng_seed = ${index}\n`).join('');
  return parseClusterFile(`model = "m"\nreserve_ram_gb = 1\n${nodes}`, 'c.toml').file;
}

const node = (nodeId: string, ...addresses: readonly string[]) => ({ nodeId, addresses, state: 'alive' as const });

describe('the nodes that a cluster file means', () => {
  it('are found by address and port, in the order of the file', async () => {
    const nodes = [node('a', '/ip4/10.0.0.1/tcp/11501'), node('b', '/ip4/10.0.0.2/tcp/11501', '/ip6/fd00::2/tcp/11501'), node('c', '/ip4/10.0.0.2/tcp/11502')];
    const { requested, missing } = await findFileNodes(fileOf('[fd00::2]:11501', '10.0.0.1:11501'), nodes);
    expect(missing).toEqual([]);
    expect(requested.map(({ nodeId, settings }) => [nodeId, settings.seed, settings.reserveBytes])).toEqual([['b', 0, 1e9], ['a', 1, 1e9]]);
  });

  it('are missing by number, address and way, and one node is never two', async () => {
    const nodes = [node('a', '/ip4/10.0.0.1/tcp/11501', '/ip4/10.0.1.1/tcp/11501'), { ...node('b', '/ip4/10.0.0.2/tcp/11501'), state: 'suspect' as const }];
    const { requested, missing } = await findFileNodes(fileOf('10.0.0.1:11501', '10.0.1.1:11501', '10.0.0.2:11501'), nodes);
    expect(requested.map(({ nodeId }) => nodeId)).toEqual(['a']);
    expect(missing).toEqual(['node 2 (10.0.1.1:11501)', 'node 3 (10.0.0.2:11501)']);
  });

  it('on this machine are found by port, whatever address their agents announce', async () => {
    const { requested } = await findFileNodes(fileOf('localhost:7001', '127.0.0.1:7002'), [node('a', '/ip4/127.0.0.1/tcp/7002'), node('b', '/ip4/127.0.0.1/tcp/7001')]);
    expect(requested.map(({ nodeId }) => nodeId)).toEqual(['b', 'a']);
  });
});
