/**
 * Policy `auto`: of all rings that fit, the one with the best predicted decode speed, so that a model that fits one machine
 * is not split for nothing and a node that would only slow the ring stays out.
 *
 * No enumeration: the fastest node alone is a scan; the fastest ring of several is one dynamic programme over nodes in
 * order of speed and places to cut, in which every node may stay empty. Pure and deterministic; ties go to fewer stages,
 * then to node ids.
 */
import { activePart, stageSeconds } from './decode-speed.js';
import type { NodeSpeed, StageTimeQuestion } from './decode-speed.js';
import { cutsWithin, isEmpty, noDiskText, verdictOn } from './layer-problem.js';
import type { Candidate, LayerProblem, LayerResult, Placed } from './layer-problem.js';
import { bytesText, countText } from './quantities.js';
import type { PlanNote, RingOption } from './types.js';

/** More machines must be worth their trouble: a ring of several is chosen from this much faster on. */
const MIN_GAIN = 1.05;
/**
 * Where several rings are as fast for one answer, stages of equal length serve many: long stages count this much more, per
 * second. Far too little to choose a slower ring.
 */
const BALANCE_PER_SECOND = 1e-3;
/** A ring of all nodes is shown for comparison up to this many. */
const MAX_ALL = 32;
/** Names in one comparison. */
const MAX_NAMES = 8;

interface Racer {
  readonly candidate: Candidate;
  readonly speed: NodeSpeed;
}

interface Ring {
  readonly placed: readonly Placed[];
  readonly seconds: number;
}

/** Null when no ring of this problem fits, or not every candidate has a speed: other policies say why. */
export function layFastest(problem: LayerProblem): LayerResult | null {
  const racers = problem.candidates.flatMap((candidate): Racer[] => (candidate.speed === undefined ? [] : [{ candidate, speed: candidate.speed }]));
  if (racers.length < problem.candidates.length) return null;
  // The fastest is the tail: it reads the output matrix too.
  racers.sort((a, b) => a.speed.deviceBytesPerSecond - b.speed.deviceBytesPerSecond || (a.candidate.budget.nodeId < b.candidate.budget.nodeId ? -1 : 1));
  const race = raceOf(problem);
  const alone = fastestAlone(race, racers);
  if (problem.nodes === 1) {
    return alone === null ? null : { kind: 'laid', placed: alone.placed, notes: notUsed(problem, racers, alone, () => 'left out: one node was asked for, and this one is no faster') };
  }
  const several = problem.shape.unsplittableReason === null && racers.length > 1 ? fastestOfSeveral(race, racers, false) : null;
  const best = alone === null || (several !== null && several.seconds * MIN_GAIN < alone.seconds) ? several : alone;
  if (best === null) return null;
  const rings = compared(race, racers, { alone, several, best });
  return { kind: 'laid', placed: best.placed, notes: [comparison(racers, rings), ...leftOut(problem, racers, best)], options: rings.map(optionOf) };
}

/** The problem with what every question needs. */
interface Race {
  readonly problem: LayerProblem;
  readonly active: number;
  readonly cuts: readonly number[];
}

function raceOf(problem: LayerProblem): Race {
  const { shape } = problem;
  return { problem, active: activePart(shape), cuts: cutsWithin(shape, { start: 0, end: shape.layers }) };
}

function questionOf({ problem: { shape, table }, active }: Race, { candidate, speed }: Racer): StageTimeQuestion {
  return { shape, table, active, budget: candidate.budget, speed };
}

function fastestAlone(race: Race, racers: readonly Racer[]): Ring | null {
  const { layers } = race.problem.shape;
  let best: Ring | null = null;
  for (const racer of racers) {
    if (verdictOn(race.problem, racer.candidate, 0, layers) !== 'fits') continue;
    const seconds = stageSeconds(questionOf(race, racer), 0, layers);
    if (best === null || seconds < best.seconds) best = { placed: [{ candidate: racer.candidate, range: { start: 0, end: layers } }], seconds };
  }
  return best;
}

/** At least two stages. `useAll`: every node has a part. */
function fastestOfSeveral(race: Race, racers: readonly Racer[], useAll: boolean): Ring | null {
  const { problem, cuts } = race;
  const units = cuts.length - 1;
  if (useAll && racers.length > units) return null;
  const atBest = secondsAtBest(race, racers);
  // best[u]: least seconds for units [u, units) on the racers from the current one on.
  let best = new Float64Array(units + 1).fill(Infinity);
  best[units] = 0;
  const choices: Int32Array[] = [];
  for (let index = racers.length - 1; index >= 0; index -= 1) {
    const racer = racers[index];
    if (racer === undefined) return null;
    const question = questionOf(race, racer);
    const next = useAll ? new Float64Array(units + 1).fill(Infinity) : best.slice();
    const choice = new Int32Array(units + 1);
    for (let from = 0; from <= units; from += 1) choice[from] = from;
    for (let from = 0; from < units; from += 1) {
      const start = cuts[from] ?? 0;
      for (let to = from + 1; to <= units; to += 1) {
        const end = cuts[to] ?? 0;
        const stage = stageSeconds(question, start, end);
        const own = stage + BALANCE_PER_SECOND * stage * stage + racer.speed.hopSeconds;
        // Whatever else takes the rest is no faster than the fastest, and more layers here only add: this is what keeps
        // 1,000 nodes cheap.
        if (own + (atBest[to] ?? 0) >= (next[from] ?? Infinity)) break;
        const verdict = verdictOn(problem, racer.candidate, start, end);
        if (verdict === 'exceeds') break;
        if (verdict === 'refused' || (from === 0 && to === units)) continue;
        const seconds = own + (best[to] ?? Infinity);
        if (seconds < (next[from] ?? Infinity)) {
          next[from] = seconds;
          choice[from] = to;
        }
      }
    }
    best = next;
    choices[index] = choice;
  }
  if (best[0] === Infinity) return null;
  const placed: Placed[] = [];
  let seconds = 0;
  let at = 0;
  for (const [index, racer] of racers.entries()) {
    const to = choices[index]?.[at] ?? at;
    const range = { start: cuts[at] ?? 0, end: cuts[to] ?? 0 };
    at = to;
    if (isEmpty(range)) continue;
    placed.push({ candidate: racer.candidate, range });
    seconds += stageSeconds(questionOf(race, racer), range.start, range.end) + racer.speed.hopSeconds;
  }
  return { placed, seconds };
}

/** `[units + 1]`: a lower bound of the seconds that units `[u, units)` take, hops left out. */
function secondsAtBest({ problem: { table }, active, cuts }: Race, racers: readonly Racer[]): Float64Array {
  const secondsPerByte = racers.reduce((least, { speed }) => Math.min(least, 1 / speed.deviceBytesPerSecond), Infinity);
  const total = table.weightsBefore[table.layers] ?? 0;
  return Float64Array.from(cuts, (cut) => (total - (table.weightsBefore[cut] ?? 0)) * active * secondsPerByte);
}

interface Rings {
  readonly alone: Ring | null;
  readonly several: Ring | null;
  readonly best: Ring;
}

interface ComparedRing {
  readonly what: RingOption['what'];
  /** Null = none fits. */
  readonly ring: Ring | null;
  readonly chosen: boolean;
}

/** What people want to see side by side: one node, the fastest ring of several, all of them. */
function compared(race: Race, racers: readonly Racer[], { alone, several, best }: Rings): readonly ComparedRing[] {
  const rings: ComparedRing[] = [{ what: 'alone', ring: alone, chosen: alone === best }];
  if (several === null) return rings;
  rings.push({ what: 'several', ring: several, chosen: several === best });
  const all = several.placed.length === racers.length || racers.length > MAX_ALL ? null : fastestOfSeveral(race, racers, true);
  if (all !== null) rings.push({ what: 'all', ring: all, chosen: false });
  return rings;
}

function optionOf({ what, ring, chosen }: ComparedRing): RingOption {
  return {
    what,
    nodeIds: ring === null ? [] : ring.placed.map(({ candidate }) => candidate.budget.nodeId),
    tokensPerSecond: ring === null ? null : tokensPerSecond(ring),
    measured: ring === null || ring.placed.every(({ candidate }) => candidate.speed?.measured === true),
    chosen,
  };
}

/** `predicted decode speed: alone on mac 12.3 tok/s; mac + pc 14.1 tok/s (chosen); all 3: 9.0 tok/s`. */
function comparison(racers: readonly Racer[], rings: readonly ComparedRing[]): PlanNote {
  const parts = rings.map(({ what, ring, chosen }) => {
    if (ring === null) return 'alone: fits on no node';
    const title = { alone: `alone on ${namesOf(ring)}`, several: `these ${ring.placed.length} (${namesOf(ring)})`, all: `all ${ring.placed.length}` }[what];
    return `${title}: ${speedText(ring)}${chosen ? ' (chosen)' : ''}`;
  });
  const unmeasured = racers.filter(({ speed }) => !speed.measured).length;
  const guess = unmeasured === 0 ? '' : `; ${countText(unmeasured, 'node')} not measured yet, counted as the slowest`;
  return { nodeId: null, text: `predicted decode speed of one answer: ${parts.join('; ')}${guess}` };
}

function speedText(ring: Ring): string {
  const speed = tokensPerSecond(ring);
  return `${speed >= 100 ? speed.toFixed(0) : speed.toFixed(1)} tok/s`;
}

function tokensPerSecond({ seconds }: Ring): number {
  return 1 / Math.max(seconds, 1e-9);
}

function namesOf({ placed }: Ring): string {
  const names = placed.slice(0, MAX_NAMES).map(({ candidate }) => candidate.label).join(' + ');
  return placed.length > MAX_NAMES ? `${names} and ${placed.length - MAX_NAMES} more` : names;
}

function leftOut(problem: LayerProblem, racers: readonly Racer[], best: Ring): readonly PlanNote[] {
  return notUsed(problem, racers, best, ({ candidate: { budget }, speed }) =>
    `left out: the ring is faster without it (it reads ${bytesText(speed.deviceBytesPerSecond)}/s${speed.measured ? '' : ', not measured yet'}, ${bytesText(budget.budgetBytes)} budget)`);
}

function notUsed({ shape }: LayerProblem, racers: readonly Racer[], { placed }: Ring, textOf: (racer: Racer) => string): readonly PlanNote[] {
  const used = new Set(placed.map(({ candidate }) => candidate.budget.nodeId));
  return racers
    .filter(({ candidate }) => !used.has(candidate.budget.nodeId))
    .sort((a, b) => (a.candidate.budget.nodeId < b.candidate.budget.nodeId ? -1 : 1))
    .map((racer): PlanNote => ({
      nodeId: racer.candidate.budget.nodeId,
      text: racer.candidate.budget.budgetBytes === 0
        ? 'left out: it has no memory to spare after the reserve'
        : noDiskText(racer.candidate, shape) ?? textOf(racer),
    }));
}
