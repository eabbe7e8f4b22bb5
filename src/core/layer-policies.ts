/**
 * Which layers go to which node under ram_balanced and throughput, with pins, exact node counts, cut rules and models
 * that must stay whole. Pure and deterministic: ties break on node ids, no float is summed.
 *
 * It must not know how budgets came about, nor contexts and slots: core/placement.ts tries those.
 */
import { apportion } from './apportion.js';
import { bytesOn, capacityOn, cutsWithin, disksText, doesNotFit, isEmpty, rangeText, refuse, tableOn, verdictOn } from './layer-problem.js';
import type { Candidate, LayerProblem, LayerResult, Placed } from './layer-problem.js';
import { pinProblem } from './manual-layers.js';
import { bytesText, countText } from './quantities.js';
import { tile } from './tiling.js';
import type { LayerRange, PlanNote } from './types.js';

export function layByWeight(problem: LayerProblem): LayerResult {
  const pins = checkPins(problem);
  if (pins !== null) return pins;
  if (problem.shape.unsplittableReason !== null) return layWhole(problem, problem.shape.unsplittableReason);
  if (problem.nodes === null) return layInSomeOrder(problem, false);
  return layOnExactly(problem, problem.nodes);
}

/** The whole model on the node with the largest budget that holds it. */
function layWhole(problem: LayerProblem, reason: string): LayerResult {
  const { shape, nodes } = problem;
  if (nodes !== null && nodes !== 1) {
    return refuse('unsplittable_model', `model ${shape.name} cannot run on ${nodes} nodes: ${reason}`);
  }
  const whole = { start: 0, end: shape.layers };
  const pinned = problem.candidates.find((candidate) => candidate.pin !== null);
  const byBudget = best(pinned === undefined ? problem.candidates : [pinned], 'budgetBytes');
  const chosen = byBudget.find((candidate) => verdictOn(problem, candidate, 0, shape.layers) === 'fits');
  if (chosen === undefined) {
    const largest = byBudget[0];
    if (largest === undefined) return doesNotFit(problem, 0);
    return refuse(
      'no_placement',
      `model ${shape.name} must run on one node (${reason}) and fits on none: it needs ${bytesText(bytesOn(problem, largest, whole))}, `
      + `the largest budget is ${bytesText(largest.budget.budgetBytes)} on node ${largest.label}. Lower precision, raise max_ram, or reduce reserve.${disksText(problem)}`,
      true,
    );
  }
  const note: PlanNote = { nodeId: null, text: `the model runs on one node: ${reason}` };
  const others = problem.candidates.filter((candidate) => candidate !== chosen);
  const left = others.map(({ budget }): PlanNote => ({ nodeId: budget.nodeId, text: 'left out: the model must run on one node' }));
  return { kind: 'laid', placed: [{ candidate: chosen, range: whole }], notes: [note, ...left] };
}

/** The best `nodes` of the candidates; pinned ones always take part. */
function layOnExactly(problem: LayerProblem, nodes: number): LayerResult {
  const { candidates, shape } = problem;
  if (nodes < 1) return refuse('bad_request', `a ring has at least one node, not ${nodes}`);
  if (nodes > candidates.length) {
    return refuse('no_placement', `exactly ${countText(nodes, 'node')} were asked for, but only ${candidates.length} can take part`);
  }
  const places = cutsWithin(shape, { start: 0, end: shape.layers }).length - 1;
  if (nodes > places) {
    return refuse('no_placement', `exactly ${countText(nodes, 'node')} were asked for, but the model's ${shape.layers} layers can be cut into at most ${countText(places, 'stage')}`);
  }
  const pinned = candidates.filter((candidate) => candidate.pin !== null);
  if (pinned.length > nodes) return refuse('bad_config', `exactly ${countText(nodes, 'node')} were asked for, but ${pinned.length} have pinned layers`);
  const attempt = (by: 'weight' | 'budgetBytes'): LayerResult => {
    const free = best(candidates.filter((candidate) => candidate.pin === null), by).slice(0, nodes - pinned.length);
    const chosen = candidates.filter((candidate) => candidate.pin !== null || free.includes(candidate));
    const result = layInSomeOrder({ ...problem, candidates: chosen }, true);
    if (result.kind === 'failed') return result;
    const left = candidates.filter((candidate) => !chosen.includes(candidate));
    const text = `left out: exactly ${countText(nodes, 'node')} were asked for, and others are ${by === 'weight' && problem.policy === 'throughput' ? 'faster' : 'larger'}`;
    return { ...result, notes: [...result.notes, ...left.map(({ budget }): PlanNote => ({ nodeId: budget.nodeId, text }))] };
  };
  const byWeight = attempt('weight');
  if (byWeight.kind === 'laid' || problem.policy !== 'throughput') return byWeight;
  // The fastest may be too small together; the largest hold whatever any choice holds.
  return attempt('budgetBytes');
}

/** Largest first; ties by node id. */
function best(candidates: readonly Candidate[], by: 'weight' | 'budgetBytes'): readonly Candidate[] {
  const measure = (candidate: Candidate): number => (by === 'weight' ? candidate.weight : candidate.budget.budgetBytes);
  return [...candidates].sort((a, b) => measure(b) - measure(a) || (a.budget.nodeId < b.budget.nodeId ? -1 : 1));
}

/** In the given order; when that fails and nobody chose the order, with the largest node as the tail. */
function layInSomeOrder(problem: LayerProblem, useAll: boolean): LayerResult {
  const first = layInOrder(problem, useAll);
  const isPinned = problem.candidates.some((candidate) => candidate.pin !== null);
  const largest = best(problem.candidates, 'budgetBytes')[0];
  if (first.kind === 'laid' || problem.ordered || isPinned || largest === undefined) return first;
  const candidates = [...problem.candidates.filter((candidate) => candidate !== largest), largest];
  const second = layInOrder({ ...problem, candidates }, useAll);
  if (second.kind === 'failed') return first;
  const note: PlanNote = { nodeId: largest.budget.nodeId, text: 'moved to the end of the ring: only there its room for the output matrix counts' };
  return { ...second, notes: [...second.notes, note] };
}

function layInOrder(problem: LayerProblem, useAll: boolean): LayerResult {
  const tooSmall = endsTooSmall(problem);
  if (tooSmall !== null) return tooSmall;
  const placed: Placed[] = [];
  for (const segment of segmentsOf(problem)) {
    const result = laySegment(problem, segment, useAll);
    if (result.kind === 'failed') return result;
    placed.push(...result.placed);
    if (segment.pinned !== null) placed.push(segment.pinned);
  }
  return { kind: 'laid', placed, notes: [] };
}

/** In an order that a person chose, the ends of the model stay on the first and the last node. */
function endsTooSmall(problem: LayerProblem): LayerResult | null {
  const first = problem.candidates[0];
  const last = problem.candidates.at(-1);
  if (!problem.ordered || first === undefined || last === undefined) return null;
  const ends = [
    [first, tableOn(problem, first).extraWeights.head, 'token embedding'], [last, tableOn(problem, last).extraWeights.tail, 'output matrix'],
  ] as const;
  for (const [candidate, bytes, what] of ends) {
    if (bytes > candidate.budget.budgetBytes) {
      return refuse(
        'no_placement',
        `node ${candidate.label} cannot hold the ${what} alone: ${bytesText(bytes)}, above its budget of ${bytesText(candidate.budget.budgetBytes)}. `
        + 'Put a larger node there, raise max_ram, or reduce reserve.',
      );
    }
  }
  return null;
}

/** Layers between two pins, the nodes that stand there, and the pin that follows. */
interface Segment {
  readonly range: LayerRange;
  readonly candidates: readonly Candidate[];
  readonly pinned: Placed | null;
}

function segmentsOf(problem: LayerProblem): readonly Segment[] {
  const segments: Segment[] = [];
  let start = 0;
  let candidates: Candidate[] = [];
  for (const candidate of problem.candidates) {
    if (candidate.pin === null) {
      candidates.push(candidate);
      continue;
    }
    segments.push({ range: { start, end: candidate.pin.start }, candidates, pinned: { candidate, range: candidate.pin } });
    start = candidate.pin.end;
    candidates = [];
  }
  segments.push({ range: { start, end: problem.shape.layers }, candidates, pinned: null });
  return segments;
}

function laySegment(problem: LayerProblem, segment: Segment, useAll: boolean): LayerResult {
  const { range, candidates } = segment;
  if (isEmpty(range) && (!useAll || candidates.length === 0)) {
    return { kind: 'laid', placed: candidates.map((candidate) => ({ candidate, range })), notes: [] };
  }
  if (candidates.length === 0) return refuse('bad_config', `layers ${rangeText(range)} are on no node: the pins around them leave no node for them`);
  const cuts = cutsWithin(problem.shape, range);
  const units = cuts.length - 1;
  if (useAll && candidates.length > units) {
    return refuse('no_placement', `${countText(candidates.length, 'node')} cannot each have a part of layers ${rangeText(range)}`);
  }
  const capacities = candidates.map((candidate, index) => capacityOn(problem, candidate, {
    start: index === 0 ? range.start : range.start + 1,
    end: index === candidates.length - 1 ? range.end : range.end - 1,
  }));
  const length = range.end - range.start;
  const capped = capacities.map((layers) => Math.min(layers, length));
  const wanted = apportion(length, candidates.map((candidate) => candidate.weight), capped) ?? capped;
  const ranges = fitWanted(problem, { cuts, candidates, wanted, useAll });
  if (ranges !== null) {
    return { kind: 'laid', placed: candidates.map((candidate, index) => ({ candidate, range: ranges[index] ?? range })), notes: [] };
  }
  const capacity = capped.reduce((sum, layers) => sum + layers, 0);
  if (capacity < length) return segment.pinned === null && range.start === 0 ? doesNotFit(problem, capacity) : segmentTooLarge(segment, capacity);
  return noCut(problem, segment, useAll);
}

interface Wish {
  readonly cuts: readonly number[];
  readonly candidates: readonly Candidate[];
  readonly wanted: readonly number[];
  readonly useAll: boolean;
}

/** First among the nodes that got a share, then among all. */
function fitWanted(problem: LayerProblem, wish: Wish): readonly LayerRange[] | null {
  const used = wish.candidates.filter((_candidate, index) => (wish.wanted[index] ?? 0) > 0);
  const solve = (candidates: readonly Candidate[], wanted: readonly number[]): readonly LayerRange[] | null =>
    candidates.length === 0 ? null : tile({
      cuts: wish.cuts,
      wanted,
      useAll: wish.useAll,
      verdict: (node, start, end) => {
        const candidate = candidates[node];
        return candidate === undefined ? 'exceeds' : verdictOn(problem, candidate, start, end);
      },
    });
  if (!wish.useAll && used.length < wish.candidates.length) {
    const among = solve(used, wish.wanted.filter((count) => count > 0));
    if (among !== null) return withGaps(among, wish);
  }
  return solve(wish.candidates, wish.wanted);
}

/** Ranges of the used nodes, with an empty range for every node between them. */
function withGaps(among: readonly LayerRange[], wish: Wish): readonly LayerRange[] {
  let next = 0;
  let at = wish.cuts[0] ?? 0;
  return wish.wanted.map((count) => {
    const range = count > 0 ? among[next] ?? { start: at, end: at } : { start: at, end: at };
    if (count > 0) next += 1;
    at = range.end;
    return range;
  });
}

function segmentTooLarge(segment: Segment, capacity: number): LayerResult {
  const names = segment.candidates.map((candidate) => candidate.label).join(', ');
  return refuse('no_placement', `layers ${rangeText(segment.range)} do not fit the nodes between the pins (${names}: capacity ${capacity} layers). Move the pins, or reduce reserve.`, true);
}

/** Memory would do for average layers, but real layers, cut rules or refused sizes leave no tiling. */
function noCut(problem: LayerProblem, segment: Segment, useAll: boolean): LayerResult {
  const { shape } = problem;
  const rules: string[] = [];
  if (shape.cutPeriod > 1) rules.push(`cuts fall on multiples of ${shape.cutPeriod} layers`);
  for (const refused of shape.refusedStageLayers) rules.push(`a stage may not have ${refused.layers} layers (${refused.reason})`);
  if (useAll) rules.push(`all ${countText(segment.candidates.length, 'node')} must have a part`);
  const because = rules.length === 0 ? 'its layers differ in size' : rules.join('; ');
  const budgets = segment.candidates.slice(0, 12).map((candidate) => `${candidate.label} ${bytesText(candidate.budget.budgetBytes)}`).join(', ');
  return refuse('no_placement', `no way to cut layers ${rangeText(segment.range)} of model ${shape.name} fits the nodes (${budgets}): ${because}.`, true);
}

/** Pins are in node order, apart, and each is possible by itself. */
function checkPins(problem: LayerProblem): LayerResult | null {
  let previous: { readonly label: string; readonly end: number } | null = null;
  for (const candidate of problem.candidates) {
    if (candidate.pin === null) continue;
    const wrong = pinProblem(problem, candidate, candidate.pin);
    if (wrong !== null) return wrong;
    if (previous !== null && candidate.pin.start < previous.end) {
      return refuse('bad_config', `pinned layers overlap: node ${candidate.label} has ${rangeText(candidate.pin)}, but node ${previous.label} before it ends at ${previous.end}`);
    }
    previous = { label: candidate.label, end: candidate.pin.end };
  }
  return null;
}
