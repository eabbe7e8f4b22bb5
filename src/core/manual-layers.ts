/**
 * Layers as a person laid them: the manual policy, and pins under the other policies. Every mistake is
 * its own error and names the nodes.
 */
import { cutsWithin, excessText, isEmpty, rangeText, refuse, refusedReason } from './layer-problem.js';
import type { Candidate, LayerProblem, LayerResult, Placed } from './layer-problem.js';
import type { LayerRange } from './types.js';

/** Every node runs exactly its `layers`; together they are exactly `0:n`, in node order. */
export function layManually(problem: LayerProblem): LayerResult {
  const { shape } = problem;
  const pinned = problem.candidates.filter((candidate) => candidate.pin !== null);
  if (pinned.length === 0) return refuse('bad_config', 'policy manual: no node has layers; give every node in use `layers = "a:b"`');
  if (problem.nodes !== null && problem.nodes !== pinned.length) {
    return refuse('bad_config', `policy manual: ${problem.nodes} nodes were asked for, but ${pinned.length} have layers`);
  }
  // Without a person's order the layers themselves are the order.
  const sorted = problem.ordered ? pinned : [...pinned].sort((a, b) => (a.pin?.start ?? 0) - (b.pin?.start ?? 0));
  const placed: Placed[] = [];
  let at = 0;
  let previous = '';
  for (const candidate of sorted) {
    const range = candidate.pin ?? { start: at, end: at };
    const wrong = pinProblem(problem, candidate, range);
    if (wrong !== null) return wrong;
    if (range.start < at) {
      return refuse('bad_config', `layers overlap: node ${candidate.label} has ${rangeText(range)}, but node ${previous} before it ends at ${at}`);
    }
    if (range.start > at) {
      const before = previous === '' ? 'no node comes before it' : `node ${previous} before it ends at ${at}`;
      return refuse('bad_config', `layers ${at}:${range.start} are on no node: node ${candidate.label} starts at ${range.start}, ${before}`);
    }
    placed.push({ candidate, range });
    at = range.end;
    previous = candidate.label;
  }
  if (at < shape.layers) {
    return refuse('bad_config', `layers ${at}:${shape.layers} are on no node: node ${previous}, the last one, ends at ${at}`);
  }
  const unused = problem.candidates.filter((candidate) => candidate.pin === null);
  return {
    kind: 'laid',
    placed,
    notes: unused.map(({ budget }) => ({ nodeId: budget.nodeId, text: 'left out: policy manual, and it has no layers' })),
  };
}

/** What is wrong with one node's own range, whatever the others have; null = nothing. */
export function pinProblem(problem: LayerProblem, candidate: Candidate, range: LayerRange): LayerResult | null {
  const { shape } = problem;
  const who = `node ${candidate.label}: layers ${rangeText(range)}`;
  if (range.start > range.end || isEmpty(range)) return refuse('bad_config', `${who} are empty; the first number must be below the second`);
  if (range.start < 0 || range.end > shape.layers) {
    return refuse('bad_config', `${who} are out of bounds; the model has layers 0:${shape.layers}`);
  }
  const isWhole = range.start === 0 && range.end === shape.layers;
  if (!isWhole && shape.unsplittableReason !== null) {
    return refuse('unsplittable_model', `${who} would split the model, which cannot be split: ${shape.unsplittableReason}`);
  }
  const cuts = cutsWithin(shape, { start: 0, end: shape.layers });
  for (const cut of [range.start, range.end]) {
    if (!cuts.includes(cut)) return refuse('bad_config', `${who} cut the model at layer ${cut}; it can be cut only at multiples of ${shape.cutPeriod}`);
  }
  const reason = refusedReason(shape, range);
  if (reason !== null) return refuse('bad_config', `${who} are a stage size that is refused: ${reason}`);
  const excess = excessText(problem, candidate, range);
  return excess === null ? null : refuse('no_placement', `${who} ${excess}`, true);
}
