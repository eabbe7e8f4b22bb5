/**
 * What `npm run bench -- --serving` measured, as a table and as rates for the picture. Pure; judges nothing that the machine's other
 * work may have disturbed.
 */
import { GUEST_TOKENS, HOSTS, TOLERATED } from './guest.js';
import type { PlottedRates } from './plot.js';
import { align } from './report.js';
import { CORES, PREFILL_TOKENS, PREFIX_TOKENS } from './serving.js';
import type { ServingRound, ServingSample } from './serving.js';
import { spreadOf } from './statistics.js';

const NOT_MEASURED = '-';

type Figure = (sample: ServingSample) => number | null | undefined;

const rate = (sequences: number): Figure => ({ rates }) => rates.find((sample) => sample.sequences === sequences)?.tokensPerSecond;

/** Medians over the rounds, and medians of the rounds' ratios: the last ring against the mean of those with one node. */
export function servingLines(rounds: readonly ServingRound[]): readonly string[] {
  const rings = rounds[0]?.rings ?? [];
  const counts = rings[0]?.rates.map(({ sequences }) => sequences) ?? [];
  const most = counts.at(-1);
  const last = ({ rings: samples }: ServingRound, figure: Figure): number | null => figureOf(samples.at(-1), figure);
  const row = (name: string, figure: Figure, hasRatio = true): readonly string[] => [
    name,
    ...rings.map((_, ring) => shown(rounds.map((round) => figureOf(round.rings[ring], figure)))),
    hasRatio ? shown(rounds.map((round) => quotient(last(round, figure), meanOfOne(round, figure)))) : '',
  ];
  const across = (name: string, ratio: (round: ServingRound) => number | null): readonly string[] => [name, ...rings.map(() => ''), shown(rounds.map(ratio))];
  return align([
    ['', ...rings.map(({ cores }) => nodesText(cores)), 'ratio'],
    ...counts.map((sequences) => row(`${sequences} sequence(s), tok/s`, rate(sequences))),
    ...(most === undefined ? [] : [[`busy stages at ${most}, %`, ...rings.map((_, ring) => busyText(rounds.map((round) => round.rings[ring]?.rates.at(-1)?.busyShares ?? []))), '']]),
    across('16 on two nodes against 8 on one', (round) => quotient(last(round, rate(16)), meanOfOne(round, rate(8)))),
    across('8 on two nodes, share of a group of 4 on each', (round) => {
      const four = meanOfOne(round, rate(4));
      return quotient(last(round, rate(8)), four === null ? null : CORES * four);
    }),
    row(`prefill of ${PREFILL_TOKENS}, tok/s`, (sample) => sample.prefillTokensPerSecond),
    row(`first token behind ${PREFIX_TOKENS}, ms`, ({ prefix }) => prefix?.firstTokenMs),
    row('  the same beginning again, share of it', ({ prefix }) => (prefix === null ? null : prefix.againMs / prefix.firstTokenMs), false),
    row(`gap between tokens of ${HOSTS} answers, ms`, ({ guest }) => guest?.normalGapMs),
    row('  when they are longer, ms', ({ guest }) => guest?.laterGapMs),
    row('  the longest before anything comes, times that', ({ guest }) => guest?.longestAloneTimes, false),
    row(`  beside a prompt of ${GUEST_TOKENS}, times that`, ({ guest }) => guest?.medianTimes, false),
    row('  the longest, times that', ({ guest }) => guest?.longestTimes, false),
    row(`  above ${TOLERATED} times that, % of gaps`, ({ guest }) => (guest === null ? null : 100 * guest.longShare), false),
    row('  that prompt, tok/s', ({ guest }) => guest?.tokensPerSecond),
    across('the engine alone, the slower core of the faster: decode', ({ together }) => together?.slowestDecodeShare ?? null),
    across('  both at once, of what each gives alone: decode', ({ together }) => together?.decodeShare ?? null),
    across('  prefill', ({ together }) => together?.prefillShare ?? null),
    across('the machine\'s other work, % of its cores', ({ otherWork }) => (otherWork === null ? null : 100 * otherWork)),
  ].filter(([, ...cells]) => cells.some((cell) => cell !== '' && cell !== NOT_MEASURED)));
}

function nodesText(cores: readonly number[]): string {
  return cores.length === 1 ? `1 node, core ${cores.join()}` : `${cores.length} nodes`;
}

function figureOf(sample: ServingSample | undefined, figure: Figure): number | null {
  return sample === undefined ? null : figure(sample) ?? null;
}

/** Of the rings with one node, each on another core, that were measured; null where none was. */
function meanOfOne({ rings }: ServingRound, figure: Figure): number | null {
  const values = rings.filter(({ cores }) => cores.length === 1).map((sample) => figureOf(sample, figure));
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

function quotient(value: number | null, by: number | null): number | null {
  return value === null || by === null ? null : value / by;
}

/** The median of what was measured. */
function shown(values: readonly (number | null)[]): string {
  const measured = values.filter((value) => value !== null);
  return measured.length === 0 ? NOT_MEASURED : spreadOf(measured).median.toFixed(2);
}

function busyText(rounds: readonly (readonly number[])[]): string {
  return (rounds[0] ?? []).map((_, stage) => (100 * spreadOf(rounds.map((shares) => shares[stage] ?? 0)).median).toFixed(0)).join(' ');
}

/** The median of each rate over the rounds, one node as the mean over the cores, for the picture. */
export function medianRates(rounds: readonly ServingRound[]): readonly PlottedRates[] {
  const counts = rounds[0]?.rings[0]?.rates.map(({ sequences }) => sequences) ?? [];
  const rates = (of: (round: ServingRound, figure: Figure) => number | null): PlottedRates['rates'] => counts.map((sequences) => ({
    sequences,
    tokensPerSecond: spreadOf(rounds.map((round) => of(round, rate(sequences)) ?? 0)).median,
  }));
  return [{ agents: 1, rates: rates(meanOfOne) }, { agents: CORES, rates: rates(({ rings }, figure) => figureOf(rings.at(-1), figure)) }];
}
