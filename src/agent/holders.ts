/**
 * Weights from whichever peer holds them: nodes with the whole model first, then nodes whose shards contain the layer.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { NodeId, NodeRecord } from '../core/types.js';
import type { Network, RemoteWeights, TensorContent, WeightsHeader } from '../ports.js';

/** Peers that may have something of the model, best first, in the order of the records. */
export function holdersOf(modelDigest: string, records: readonly NodeRecord[], self: NodeId, connected: ReadonlySet<NodeId>): NodeId[] {
  const usable = records.filter((record) => record.nodeId !== self && connected.has(record.nodeId));
  const whole = usable.filter((record) => record.capabilities.models.some((model) => model.digest === modelDigest));
  const partial = usable.filter((record) => !whole.includes(record) && record.capabilities.shards.some((shard) => shard.modelDigest === modelDigest));
  return [...whole, ...partial].map((record) => record.nodeId);
}

export function createRemoteWeights(network: Network, records: () => readonly NodeRecord[]): RemoteWeights {
  async function fromFirst<T>(modelDigest: string, what: string, signal: AbortSignal, ask: (holder: NodeId) => Promise<T>): Promise<T> {
    const failures: string[] = [];
    for (const holder of holdersOf(modelDigest, records(), network.nodeId, new Set(network.peers()))) {
      signal.throwIfAborted();
      try {
        return await ask(holder);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        failures.push(`${holder}: ${errorMessageOf(error)}`);
      }
    }
    throw new RingError('peer_unreachable', failures.length === 0
      ? `no connected node holds model ${modelDigest.slice(0, 12)} (wanted: ${what})`
      : `no node could give ${what} of model ${modelDigest.slice(0, 12)}: ${failures.join('; ')}`);
  }
  return {
    header: (modelDigest, signal): Promise<WeightsHeader> =>
      fromFirst(modelDigest, 'the header', signal, (holder) => network.fetchHeader(holder, modelDigest, signal)),
    tensor: (modelDigest, tensorName, signal): Promise<TensorContent> =>
      fromFirst(modelDigest, `tensor ${tensorName}`, signal, (holder) => network.fetchTensor(holder, modelDigest, tensorName, signal)),
  };
}
