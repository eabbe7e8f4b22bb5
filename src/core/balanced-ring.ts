/**
 * Stages of equal time, for a ring of as many nodes as somebody asked for: many answers at once go at the pace of the
 * slowest stage, and shares of memory know neither how fast a node reads nor that the tail has the output matrix too.
 *
 * The nodes and their order stay; only the cuts move. Pure and deterministic. It must not know how nodes are chosen.
 */
import { activePart, stageSeconds } from './decode-speed.js';
import type { NodeSpeed } from './decode-speed.js';
import { cutsWithin, isEmpty, tableOn, verdictOn } from './layer-problem.js';
import type { Candidate, LayerProblem, Placed } from './layer-problem.js';

/** Two measurements of the same machine differ by so much: speeds this near to the fastest one's are counted as its own. */
const SAME_SPEED = 0.85;
/** Sums of the same stages in another order may differ in their last bits. */
const ROUNDING = 1 + 1e-9;

interface Racer {
  readonly candidate: Candidate;
  readonly speed: NodeSpeed;
}

/** `placed` itself where a node has no speed, or other cuts are no better. */
export function balanceTimes(problem: LayerProblem, placed: readonly Placed[]): readonly Placed[] {
  const used = placed.filter(({ range }) => !isEmpty(range));
  const racers = racersOf(used);
  if (used.length < 2 || racers === null) return placed;
  const seconds = secondsOf(problem, racers);
  const slowest = (places: readonly Placed[]): number => places.reduce((most, { range }, rank) => Math.max(most, seconds(rank, range.start, range.end)), 0);
  // First how short the longest stage can be; then, of all cuts with none longer, the ones that even out the others.
  const least = cut(problem, racers, seconds, { longest: Infinity, join: Math.max });
  if (least === null || slowest(used) <= slowest(least) * ROUNDING) return placed;
  const even = cut(problem, racers, seconds, { longest: slowest(least) * ROUNDING, join: (stage, rest) => stage * stage + rest }) ?? least;
  let rank = -1;
  return placed.map((entry) => {
    if (isEmpty(entry.range)) return entry;
    rank += 1;
    return even[rank] ?? entry;
  });
}

/** Null when somebody has no speed. */
function racersOf(used: readonly Placed[]): readonly Racer[] | null {
  const racers = used.flatMap(({ candidate }): Racer[] => (candidate.speed === undefined ? [] : [{ candidate, speed: candidate.speed }]));
  if (racers.length < used.length) return null;
  const fastest = Math.max(...racers.map(({ speed }) => speed.deviceBytesPerSecond));
  return racers.map(({ candidate, speed }) => ({
    candidate, speed: speed.deviceBytesPerSecond < fastest * SAME_SPEED ? speed : { ...speed, deviceBytesPerSecond: fastest },
  }));
}

type StageSeconds = (rank: number, start: number, end: number) => number;

function secondsOf(problem: LayerProblem, racers: readonly Racer[]): StageSeconds {
  const { shape } = problem;
  const active = activePart(shape);
  const questions = racers.map(({ candidate, speed }) => ({ shape, active, table: tableOn(problem, candidate), budget: candidate.budget, speed }));
  return (rank, start, end) => {
    const question = questions[rank];
    return question === undefined ? Infinity : stageSeconds(question, start, end);
  };
}

interface Aim {
  /** No stage may take longer. */
  readonly longest: number;
  /** What a stage and everything behind it cost together. */
  readonly join: (stageSeconds: number, rest: number) => number;
}

/** Every racer has a part. Null when no cuts fit. */
function cut(problem: LayerProblem, racers: readonly Racer[], seconds: StageSeconds, { longest, join }: Aim): readonly Placed[] | null {
  const cuts = cutsWithin(problem.shape, { start: 0, end: problem.shape.layers });
  const units = cuts.length - 1;
  // best[u]: least cost of units [u, units) on the racers from the current one on.
  let best = new Float64Array(units + 1).fill(Infinity);
  best[units] = 0;
  const choices: Int32Array[] = [];
  for (let rank = racers.length - 1; rank >= 0; rank -= 1) {
    const candidate = racers[rank]?.candidate;
    if (candidate === undefined) return null;
    const next = new Float64Array(units + 1).fill(Infinity);
    const choice = new Int32Array(units + 1).fill(-1);
    for (let from = 0; from < units; from += 1) {
      const start = cuts[from] ?? 0;
      for (let to = from + 1; to <= units; to += 1) {
        const end = cuts[to] ?? 0;
        const rest = best[to] ?? Infinity;
        if (rest === Infinity) continue;
        const stage = seconds(rank, start, end);
        if (stage > longest) break;
        const verdict = verdictOn(problem, candidate, start, end);
        if (verdict === 'exceeds') break;
        const cost = join(stage, rest);
        if (verdict === 'refused' || cost >= (next[from] ?? Infinity)) continue;
        next[from] = cost;
        choice[from] = to;
      }
    }
    best = next;
    choices[rank] = choice;
  }
  if (best[0] === Infinity) return null;
  let at = 0;
  return racers.map(({ candidate }, rank) => {
    const to = choices[rank]?.[at] ?? -1;
    const range = { start: cuts[at] ?? 0, end: cuts[to] ?? 0 };
    at = to;
    return { candidate, range };
  });
}
