/**
 * Makes nodes known to each other that this node knows both, also where no multicast reaches. It must not know how a node is
 * dialled.
 */
import type { ClusterNode } from '../core/cluster.js';
import type { NodeId } from '../core/types.js';
import type { Network } from '../ports.js';

/** Nodes that one introduction names, and addresses of each. */
const MAX_INTRODUCED = 256;
const MAX_INTRODUCED_ADDRESSES = 24;

export class Introductions {
  private readonly introduced = new Set<NodeId>();

  constructor(private readonly network: Pick<Network, 'nodeId' | 'peers' | 'send'>, private readonly cluster: Pick<ClusterNode, 'records'>) {}

  /** A node said who it is: it and the others hear of each other. Once per connection. */
  introduce(newcomer: NodeId): void {
    const peers = this.network.peers();
    if (this.introduced.has(newcomer) || !peers.includes(newcomer)) return;
    this.introduced.add(newcomer);
    const known = this.cluster.records().map(({ nodeId, addresses }) => ({ nodeId, addresses: addresses.slice(0, MAX_INTRODUCED_ADDRESSES) }));
    const self = known.find(({ nodeId }) => nodeId === newcomer);
    const others = known.filter(({ nodeId }) => nodeId !== newcomer && nodeId !== this.network.nodeId && peers.includes(nodeId)).slice(0, MAX_INTRODUCED);
    if (others.length > 0) this.network.send(newcomer, { kind: 'introduction', peers: others });
    if (self !== undefined) for (const { nodeId } of others) this.network.send(nodeId, { kind: 'introduction', peers: [self] });
  }

  nodeLost(nodeId: NodeId): void {
    this.introduced.delete(nodeId);
  }
}
