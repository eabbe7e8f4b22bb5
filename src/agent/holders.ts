/**
 * Weights from whichever node holds them: nodes with the whole model first, then nodes with shards of it, then the others,
 * who may be in the middle of fetching it. Who broke off a while ago, or stalled, comes last.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { NodeId, NodeRecord } from '../core/types.js';
import type { Network, RemoteWeights, TensorContent, WeightsHeader } from '../ports.js';

/** Nodes of unknown holdings that are asked. */
const MAX_OTHERS = 16;

/** Nodes that may have something of the model, best first, in the order of the records. */
function holdersOf(modelDigest: string, records: readonly NodeRecord[], self: NodeId, connected: ReadonlySet<NodeId>): NodeId[] {
  const usable = records.filter((record) => record.nodeId !== self && connected.has(record.nodeId));
  const holds = (record: NodeRecord) => record.capabilities.models.find((model) => model.digest === modelDigest);
  const whole = usable.filter((record) => holds(record) !== undefined && holds(record)?.source === undefined);
  const partial = usable.filter((record) => !whole.includes(record) && record.capabilities.shards.some((shard) => shard.modelDigest === modelDigest));
  const others = usable.filter((record) => !whole.includes(record) && !partial.includes(record))
    .toSorted((a, b) => Number(holds(b) !== undefined) - Number(holds(a) !== undefined)).slice(0, MAX_OTHERS);
  return [...whole, ...partial, ...others].map((record) => record.nodeId);
}

/** Remembered lies. */
const MAX_REJECTED = 1_024;

export function createRemoteWeights(network: Network, records: () => readonly NodeRecord[]): RemoteWeights {
  /** `<node> <model>` whose bytes were not what they were said to be: asked last. */
  const rejected = new Set<string>();
  /** Broke off or stalled in their last transfer: another source takes over, where there is one. */
  const broken = new Set<NodeId>();
  const doubt = (holder: NodeId, modelDigest: string): number => (rejected.has(`${holder} ${modelDigest}`) ? 2 : broken.has(holder) ? 1 : 0);
  const trustedFirst = (modelDigest: string): NodeId[] => holdersOf(modelDigest, records(), network.nodeId, new Set(network.peers()))
    .toSorted((a, b) => doubt(a, modelDigest) - doubt(b, modelDigest));
  async function fromFirst<T>(modelDigest: string, what: string, signal: AbortSignal, ask: (holder: NodeId) => Promise<T>): Promise<T> {
    const failures: string[] = [];
    for (const holder of trustedFirst(modelDigest)) {
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
      fromFirst(modelDigest, `tensor ${tensorName}`, signal, async (holder) => {
        const content = await network.fetchTensor(holder, modelDigest, tensorName, signal);
        const reject = (): void => {
          if (rejected.size < MAX_REJECTED) rejected.add(`${holder} ${modelDigest}`);
          content.reject?.();
        };
        return { ...content, reject, read: (offset) => watched(content.read(offset), (ended) => {
          if (ended) broken.delete(holder);
          else if (!signal.aborted) broken.add(holder);
        }) };
      }),
  };
}

/** Says whether the chunks came to their end, or broke off. Whoever wants no more of them says nothing of the source. */
async function* watched(chunks: AsyncIterable<Uint8Array>, over: (ended: boolean) => void): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    over(false);
    throw error;
  }
  over(true);
}
