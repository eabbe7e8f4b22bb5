/**
 * `npm run bench -- --serving`: many answers at once on one core and on two, each agent and its runner on a core of their
 * own; how busy the stages are; what a known beginning saves; what a long prompt does to running answers. Times are a
 * client's. Prints a table; judges nothing that the machine's other work may have disturbed.
 */
import { answerTimes, freshPrompts } from './answers.js';
import type { Question, Stream } from './answers.js';
import type { Agent } from './agents.js';
import { measureCores } from './cores.js';
import type { CoresSample } from './cores.js';
import { GUEST_TOKENS, HOSTS, measureGuest, TOLERATED } from './guest.js';
import type { GuestSample } from './guest.js';
import { watchOtherWork } from './other-work.js';
import { align } from './report.js';
import { withRing } from './ring.js';
import type { RingOptions } from './ring.js';
import { spreadOf } from './statistics.js';

const SLOTS = 16;
/** Each answer's first tokens, while others still begin, are not counted. */
const UNCOUNTED_TOKENS = 24;
/** Before anything is measured: an agent is started once and answers for days, and V8 compiles for the first minutes. */
const WARM_UP = { answers: SLOTS, tokens: 192 } as const;
const CONTEXT_TOKENS = 2_304;
const ANSWER_TOKENS = 144;
const SEQUENCE_COUNTS = [1, 2, 4, 8, 16] as const;
const PREFIX_TOKENS = 1_000;
const PROMPT_TOKENS = 8;
const PREFILL_TOKENS = 2_048;

export interface RateSample {
  readonly sequences: number;
  readonly tokensPerSecond: number;
  /** Of each stage, 0..1. */
  readonly busyShares: readonly number[];
}

/** One ring in one round. What was left out is null, or not in `rates`. */
export interface ServingSample {
  readonly agents: number;
  readonly rates: readonly RateSample[];
  readonly prefillTokensPerSecond: number | null;
  readonly prefix: { readonly firstTokenMs: number; readonly againMs: number } | null;
  readonly guest: GuestSample | null;
  /** Of as many cores as the ring has, right before; null for one. */
  readonly cores: CoresSample | null;
  /** Share of all cores that went to others meanwhile, 0..1; null where it cannot be seen. */
  readonly otherWork: number | null;
}

/** What else `--only` names is measured in the first round, once: it takes long, and repeats itself well. */
export async function measureServing(options: Omit<RingOptions, 'slots' | 'pinned'>, round: number): Promise<ServingSample> {
  const { only } = options.settings;
  const wants = (part: string): boolean => only === null || only.has(part);
  const wantsOnce = (part: string): boolean => round === 0 && wants(part);
  const counts = SEQUENCE_COUNTS.filter((sequences) => wants(String(sequences)));
  const settings = { ...options.settings, contextTokens: CONTEXT_TOKENS };
  const cores = options.agents === 1 ? null : await measureCores(options.modelFile, options.agents);
  const sample = counts.length === 0 && !wantsOnce('prefill') && !wantsOnce('prefix') ? null : await withRing({ ...options, settings, slots: SLOTS, pinned: true }, async (first, { agents }) => {
    const ask = (question: Question): Promise<Stream> => answerTimes(first, options.model, question);
    const fresh = freshPrompts();
    const firstTokenMs = async (prompt: readonly number[]): Promise<number> => (await ask({ prompt, tokens: 1, temperature: 1, seed: 1 })).times[0] ?? Number.NaN;
    await Promise.all(Array.from({ length: WARM_UP.answers }, (_, seed) => ask({ prompt: fresh(PROMPT_TOKENS), tokens: WARM_UP.tokens, temperature: 1, seed })));
    const otherWork = watchOtherWork(agents.map(({ pid }) => pid));
    const rates: RateSample[] = [];
    for (const sequences of counts) {
      rates.push(await rateOf(agents, options.model, sequences, (seed) => ask({ prompt: fresh(PROMPT_TOKENS), tokens: ANSWER_TOKENS, temperature: 1, seed })));
    }
    const prefillTokensPerSecond = wantsOnce('prefill') ? PREFILL_TOKENS * 1000 / await firstTokenMs(fresh(PREFILL_TOKENS)) : null;
    const shared = fresh(PREFIX_TOKENS);
    const prefix = wantsOnce('prefix')
      ? { firstTokenMs: await firstTokenMs([...shared, ...fresh(PROMPT_TOKENS)]), againMs: await firstTokenMs([...shared, ...fresh(PROMPT_TOKENS)]) }
      : null;
    return { rates, prefillTokensPerSecond, prefix, otherWork: otherWork() };
  });
  const guest = wantsOnce('guest') ? await measureGuest(options) : null;
  return { agents: options.agents, ...(sample ?? { rates: [], prefillTokensPerSecond: null, prefix: null, otherWork: null }), guest, cores };
}

type Rounds = readonly (readonly ServingSample[])[];
type Figure = (sample: ServingSample) => number | null | undefined;

/** `rounds`: each with a sample of every ring, the smallest first. Medians, and medians of the rounds' ratios. */
export function servingLines(rounds: Rounds): readonly string[] {
  const rings = rounds[0] ?? [];
  const counts = rings[0]?.rates.map(({ sequences }) => sequences) ?? [];
  const last = counts.at(-1);
  const rate = (sequences: number): Figure => ({ rates }) => rates.find((sample) => sample.sequences === sequences)?.tokensPerSecond;
  const row = (name: string, figure: Figure, hasRatio = true): readonly string[] => [
    name,
    ...rings.map((_, ring) => shown(rounds.map((samples) => figureOf(samples[ring], figure)))),
    hasRatio && rings.length > 1 ? shown(rounds.map((samples) => quotient(figureOf(samples.at(-1), figure), figureOf(samples[0], figure)))) : '',
  ];
  const across = (name: string, ratio: (first: ServingSample, last: ServingSample) => number | null): readonly (readonly string[])[] => {
    const values = rounds.map((samples) => (samples[0] === undefined || samples.length < 2 ? null : ratio(samples[0], samples[samples.length - 1] ?? samples[0])));
    return values.every((value) => value === null) ? [] : [[name, ...rings.map(() => ''), shown(values)]];
  };
  return align([
    ['', ...rings.map(({ agents }) => `${agents} node(s)`), 'ratio'],
    ...counts.map((sequences) => row(`${sequences} sequence(s), tok/s`, rate(sequences))),
    ...(last === undefined ? [] : [[`busy stages at ${last}, %`, ...rings.map((_, ring) => busyText(rounds.map((samples) => samples[ring]?.rates.at(-1)?.busyShares ?? []))), '']]),
    ...across('16 on the last against 8 on the first', (first, other) => quotient(figureOf(other, rate(16)), figureOf(first, rate(8)))),
    ...across('8 on the last, share of a group of 4 on each', (first, other) => {
      const four = figureOf(first, rate(4));
      return quotient(figureOf(other, rate(8)), four === null ? null : other.agents * four);
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
    row('these cores at once, of what each gives alone: decode', ({ cores }) => cores?.decodeShare, false),
    row('  prefill', ({ cores }) => cores?.prefillShare, false),
    row('the machine\'s other work, % of its cores', ({ otherWork }) => (otherWork === null ? null : 100 * otherWork), false),
  ]);
}

function figureOf(sample: ServingSample | undefined, figure: Figure): number | null {
  return sample === undefined ? null : figure(sample) ?? null;
}

function quotient(value: number | null, by: number | null): number | null {
  return value === null || by === null ? null : value / by;
}

/** The median of what was measured. */
function shown(values: readonly (number | null)[]): string {
  const measured = values.filter((value) => value !== null);
  return measured.length === 0 ? '-' : spreadOf(measured).median.toFixed(2);
}

function busyText(rounds: readonly (readonly number[])[]): string {
  return (rounds[0] ?? []).map((_, stage) => (100 * spreadOf(rounds.map((shares) => shares[stage] ?? 0)).median).toFixed(0)).join(' ');
}

/** The median of each rate over the rounds, for the picture. */
export function medianRates(rounds: Rounds): readonly Pick<ServingSample, 'agents' | 'rates'>[] {
  return (rounds[0] ?? []).map(({ agents, rates }, ring) => ({
    agents,
    rates: rates.map((rate, index) => ({ ...rate, tokensPerSecond: spreadOf(rounds.map((samples) => samples[ring]?.rates[index]?.tokensPerSecond ?? 0)).median })),
  }));
}

/** While all of them answer: from the last one's first tokens to the first one's last. */
async function rateOf(agents: readonly Agent[], model: string, sequences: number, ask: (seed: number) => Promise<Stream>): Promise<RateSample> {
  let busyShares: readonly number[] | null = null;
  const streams = await Promise.all(Array.from({ length: sequences }, async (_, index) => {
    const stream = await ask(index + 1);
    busyShares ??= await busy(agents, model);
    return stream;
  }));
  const from = Math.max(...streams.map(({ times }) => times[UNCOUNTED_TOKENS] ?? 0));
  const to = Math.min(...streams.map(({ times }) => times.at(-1) ?? 0));
  const tokens = streams.flatMap(({ times }) => times).filter((time) => time > from && time <= to).length;
  return { sequences, tokensPerSecond: tokens * 1000 / (to - from), busyShares: busyShares ?? [] };
}

/** Known where the head is. */
async function busy(agents: readonly Agent[], model: string): Promise<readonly number[]> {
  for (const agent of agents) {
    const view = (await agent.status()).instances.find((instance) => instance.model === model);
    const shares = (view?.stages ?? []).flatMap(({ busyShare }) => (typeof busyShare === 'number' ? [busyShare] : []));
    if (shares.length > 0) return shares;
  }
  return [];
}
