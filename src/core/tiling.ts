/**
 * Lays contiguous layer ranges over nodes so that every stage really fits, as near as possible to wanted sizes.
 *
 * Apportioning works with an average layer; layers differ, cuts fall only on certain boundaries and some stage sizes are
 * refused. This finds, among all tilings that respect those, the one nearest to what was wanted (least sum of squared
 * differences; ties to fewer layers on earlier nodes), or says that none exists. Exact, by dynamic programming.
 */
import { assert } from './errors.js';
import type { LayerRange } from './types.js';

export type StageVerdict = 'fits' | 'refused' | 'exceeds';

export interface TilingProblem {
  /** Boundaries where a cut may fall, ascending, the first and last layer included: units lie between them. */
  readonly cuts: readonly number[];
  /** Layers wanted on each node; its length is the number of nodes. */
  readonly wanted: readonly number[];
  /** True: no node may stay empty. */
  readonly useAll: boolean;
  /**
   * On layers `[start, end)`. `exceeds` must hold for every wider range that contains one that exceeds; `refused` may
   * come and go.
   */
  verdict(node: number, start: number, end: number): StageVerdict;
}

/** One range per node, empty (`start === end`) for a node that is left out; null when no tiling exists. */
export function tile(problem: TilingProblem): readonly LayerRange[] | null {
  const units = problem.cuts.length - 1;
  assert(units >= 1, 'a tiling has at least one unit');
  return asWanted(problem) ?? (reachesEnd(problem) ? nearest(problem, units) : null);
}

/** The common case: what is wanted fits as it is. */
function asWanted(problem: TilingProblem): readonly LayerRange[] | null {
  const cuts = new Set(problem.cuts);
  const ranges: LayerRange[] = [];
  let start = problem.cuts[0] ?? 0;
  for (const [node, count] of problem.wanted.entries()) {
    const end = start + count;
    if (!cuts.has(end) || (count === 0 && problem.useAll)) return null;
    if (count > 0 && problem.verdict(node, start, end) !== 'fits') return null;
    ranges.push({ start, end });
    start = end;
  }
  return start === problem.cuts.at(-1) ? ranges : null;
}

/** A quick, necessary condition: each node taking as much as its memory allows gets to the end. */
function reachesEnd(problem: TilingProblem): boolean {
  const units = problem.cuts.length - 1;
  let at = 0;
  for (let node = 0; node < problem.wanted.length && at < units; node += 1) {
    const start = problem.cuts[at] ?? 0;
    while (at < units && problem.verdict(node, start, problem.cuts[at + 1] ?? 0) !== 'exceeds') at += 1;
  }
  return at === units;
}

function nearest(problem: TilingProblem, units: number): readonly LayerRange[] | null {
  const nodes = problem.wanted.length;
  // best[b]: least cost of covering units [b, units) with the nodes from the current one on.
  let best = new Float64Array(units + 1).fill(Infinity);
  best[units] = 0;
  const choice: Int32Array[] = [];
  for (let node = nodes - 1; node >= 0; node -= 1) {
    const wanted = problem.wanted[node] ?? 0;
    const next = new Float64Array(units + 1).fill(Infinity);
    const chosen = new Int32Array(units + 1).fill(-1);
    for (let from = 0; from <= units; from += 1) {
      const start = problem.cuts[from] ?? 0;
      for (let to = problem.useAll ? from + 1 : from; to <= units; to += 1) {
        const end = problem.cuts[to] ?? 0;
        if (to > from) {
          const verdict = problem.verdict(node, start, end);
          if (verdict === 'exceeds') break;
          if (verdict === 'refused') continue;
        }
        const cost = (end - start - wanted) ** 2 + (best[to] ?? Infinity);
        if (cost < (next[from] ?? Infinity)) {
          next[from] = cost;
          chosen[from] = to;
        }
      }
    }
    best = next;
    choice[node] = chosen;
  }
  if (best[0] === Infinity) return null;
  const ranges: LayerRange[] = [];
  let at = 0;
  for (let node = 0; node < nodes; node += 1) {
    const to = choice[node]?.[at] ?? at;
    ranges.push({ start: problem.cuts[at] ?? 0, end: problem.cuts[to] ?? 0 });
    at = to;
  }
  return ranges;
}
