/**
 * The same nodes, cut where their disks already are: a restart moves no weight byte because free memory changed a little.
 *
 * When the nodes that a policy chose hold shards that tile the model in the same order, and each of those fits its node,
 * that tiling is used instead, the nearest one to what the policy wanted. A node that comes or goes changes the chosen
 * nodes, and the policy decides anew. Pure. It must not know policies.
 */
import { isEmpty, verdictOn } from './layer-problem.js';
import type { LayerProblem, Placed } from './layer-problem.js';
import type { HeldShard, LayerRange, NodeId } from './types.js';

/** Shards of one model that one node is believed to hold; each is some hundred megabytes, so this is plenty. */
const MAX_SHARDS_PER_NODE = 64;

/** `placed` itself when the held shards do not tile. `shards` is by node, of this model. */
export function preferHeld(problem: LayerProblem, placed: readonly Placed[], shards: ReadonlyMap<NodeId, readonly HeldShard[]>): readonly Placed[] {
  const { layers } = problem.shape;
  if (problem.candidates.some((candidate) => candidate.pin !== null)) return placed;
  const used = placed.filter(({ range }) => !isEmpty(range));
  if (used.length < 2) return placed;
  /** Boundary -> the cheapest way to reach it with the nodes so far. */
  let reached = new Map<number, { readonly cost: number; readonly ranges: readonly LayerRange[] }>([[0, { cost: 0, ranges: [] }]]);
  for (const [rank, { candidate, range: wanted }] of used.entries()) {
    const next: typeof reached = new Map();
    for (const shard of usable(shards.get(candidate.budget.nodeId) ?? [], layers)) {
      const from = reached.get(shard.start);
      if (from === undefined || verdictOn(problem, candidate, shard.start, shard.end) !== 'fits') continue;
      if ((shard.end === layers) !== (rank === used.length - 1)) continue;
      const cost = from.cost + Math.abs(shard.end - wanted.end);
      const known = next.get(shard.end);
      if (known === undefined || cost < known.cost) next.set(shard.end, { cost, ranges: [...from.ranges, shard] });
    }
    reached = next;
  }
  const whole = reached.get(layers);
  if (whole === undefined) return placed;
  let rank = 0;
  return placed.map((entry) => {
    if (isEmpty(entry.range)) return entry;
    const range = whole.ranges[rank];
    rank += 1;
    return range === undefined ? entry : { ...entry, range };
  });
}

/** Ranges whose extras (embedding, output matrix) are what a stage there needs, in a fixed order. */
function usable(shards: readonly HeldShard[], layers: number): readonly LayerRange[] {
  return shards
    .filter(({ range, head, tail }) => range.start < range.end && range.end <= layers && head === (range.start === 0) && tail === (range.end === layers))
    .map(({ range }) => ({ start: range.start, end: range.end }))
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .slice(0, MAX_SHARDS_PER_NODE);
}
