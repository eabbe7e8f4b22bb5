/**
 * `npm run bench -- --serving`: many answers at once on one core and on two, each agent and its runner on a core of their
 * own; how busy the stages are; what a known beginning saves; what a long prompt does to running answers; what guessed
 * tokens give. Times are a client's. Prints a table; judges nothing that the machine's other work may have disturbed.
 */
import { align } from './report.js';
import { withRing } from './ring.js';
import type { RingOptions } from './ring.js';
import { tokensOf } from './agents.js';
import type { Agent } from './agents.js';
import { watchOtherWork } from './other-work.js';
import { spreadOf } from './statistics.js';

const SLOTS = 16;
/** Each answer's first tokens, while others still begin, are not counted. */
const UNCOUNTED_TOKENS = 8;
const CONTEXT_TOKENS = 2_304;
const ANSWER_TOKENS = 72;
const SEQUENCE_COUNTS = [1, 2, 4, 8, 16] as const;
const PREFIX_TOKENS = 1_000;
const PROMPT_TOKENS = 8;
const PREFILL_TOKENS = 2_048;
const GUEST_TOKENS = 1_000;
const HOSTS = 4;
const LONG_ANSWER_TOKENS = 240;
const DELAY_CONTEXT_TOKENS = 256;
const DELAY_TOKENS = 40;

interface Stream {
  /** Milliseconds since the request, of each token. */
  readonly times: readonly number[];
  readonly tokens: readonly number[];
}

interface Question {
  readonly prompt: readonly number[];
  readonly tokens: number;
  readonly temperature: number;
  readonly seed: number;
  readonly onToken?: (count: number) => void;
  /** Absent = guess as much as pays. */
  readonly guesses?: 0;
  /** This token and no other is the answer. */
  readonly only?: number;
}

export interface ServingSample {
  readonly agents: number;
  readonly rates: readonly { readonly sequences: number; readonly tokensPerSecond: number; readonly busyShares: readonly number[] }[];
  /** What was left out is null, from here on. */
  readonly prefillTokensPerSecond: number | null;
  readonly prefix: { readonly firstTokenMs: number; readonly againMs: number } | null;
  readonly guest: GuestSample | null;
  /** Share of all cores that went to others meanwhile, 0..1; null where it cannot be seen. */
  readonly otherWork: number | null;
}

interface GuestSample {
  readonly normalGapMs: number;
  readonly longestGapMs: number;
  readonly tokensPerSecond: number;
}

/** One answer on two nodes with a slow link between them, with and without guessed tokens. */
export interface DelaySample {
  readonly delayMs: number;
  readonly tokensPerSecond: number;
  /** Guessing over not guessing, in neighbouring runs. Text that repeats itself; text that does not. */
  readonly repetitiveRatios: readonly number[];
  readonly randomRatios: readonly number[];
  /** Answers that were the same with and without. */
  readonly sameAnswers: number;
}

/** Every stage on a core of its own. */
export async function measureServing(options: Omit<RingOptions, 'slots' | 'pinned'>): Promise<ServingSample> {
  const settings = { ...options.settings, contextTokens: CONTEXT_TOKENS };
  return withRing({ ...options, settings, slots: SLOTS, pinned: true }, async (first, { agents }) => {
    const ask = (question: Question): Promise<Stream> => answerTimes(first, options.model, question);
    let salt = 0;
    const fresh = (tokens: number): readonly number[] => {
      salt += 1;
      return Array.from({ length: tokens }, (_, index) => 3 + ((salt * 7_919 + index * 104_729 + index * index) % 2_000));
    };
    await ask({ prompt: fresh(PROMPT_TOKENS), tokens: 4, temperature: 1, seed: 1 });
    const otherWork = watchOtherWork(agents.map(({ pid }) => pid));
    const { only } = options.settings;
    const wants = (part: string): boolean => only === null || only.has(part);
    const rates = [];
    for (const sequences of SEQUENCE_COUNTS) {
      if (!wants(String(sequences))) continue;
      rates.push(await rateOf(agents, options.model, sequences, () => ask({ prompt: fresh(PROMPT_TOKENS), tokens: ANSWER_TOKENS, temperature: 1, seed: salt })));
    }
    const firstTokenMs = async (prompt: readonly number[]): Promise<number> => (await ask({ prompt, tokens: 1, temperature: 1, seed: 1 })).times[0] ?? Number.NaN;
    const prefillTokensPerSecond = wants('prefill') ? PREFILL_TOKENS * 1000 / await firstTokenMs(fresh(PREFILL_TOKENS)) : null;
    const shared = fresh(PREFIX_TOKENS);
    const prefix = wants('prefix')
      ? { firstTokenMs: await firstTokenMs([...shared, ...fresh(PROMPT_TOKENS)]), againMs: await firstTokenMs([...shared, ...fresh(PROMPT_TOKENS)]) }
      : null;
    const guest = wants('guest') ? await withGuest(ask, fresh) : null;
    return { agents: options.agents, rates, prefillTokensPerSecond, prefix, guest, otherWork: otherWork() };
  });
}

export function servingLines(samples: readonly ServingSample[]): readonly string[] {
  const [one] = samples;
  const counts = one?.rates.map(({ sequences }) => sequences) ?? [];
  const last = counts.at(-1);
  return align([
    ['', ...samples.map(({ agents }) => `${agents} node(s)`), 'ratio'],
    ...counts.map((sequences, index) => row(`${sequences} sequence(s), tok/s`, samples, one, (sample) => sample.rates[index]?.tokensPerSecond)),
    ...(last === undefined ? [] : [[`busy stages at ${last}, %`, ...samples.map((sample) => (sample.rates.at(-1)?.busyShares ?? []).map((share) => (100 * share).toFixed(0)).join(' ')), '']]),
    row(`prefill of ${PREFILL_TOKENS}, tok/s`, samples, one, (sample) => sample.prefillTokensPerSecond),
    row(`first token behind ${PREFIX_TOKENS}, ms`, samples, one, ({ prefix }) => prefix?.firstTokenMs),
    row('  the same beginning again, share of it', samples, null, ({ prefix }) => (prefix === null ? null : prefix.againMs / prefix.firstTokenMs)),
    row(`gap of ${HOSTS} answers, ms`, samples, one, ({ guest }) => guest?.normalGapMs),
    row(`  longest beside a prompt of ${GUEST_TOKENS}, times that`, samples, null, ({ guest }) => (guest === null ? null : guest.longestGapMs / guest.normalGapMs)),
    row('  that prompt, tok/s', samples, one, ({ guest }) => guest?.tokensPerSecond),
    row('the machine\'s other work, % of its cores', samples, null, ({ otherWork }) => (otherWork === null ? null : 100 * otherWork)),
  ]);
}

function row(name: string, samples: readonly ServingSample[], one: ServingSample | null | undefined, figure: (sample: ServingSample) => number | null | undefined): readonly string[] {
  const last = samples.at(-1);
  const [from, to] = [one, last].map((sample) => (sample === null || sample === undefined ? null : figure(sample) ?? null));
  const ratio = from === null || from === undefined || to === null || to === undefined || last === one ? '' : (to / from).toFixed(2);
  return [name, ...samples.map((sample) => figure(sample)?.toFixed(2) ?? '-'), ratio];
}

/** Two nodes, a core each, `delayMs` apart. */
export async function measureDelay(options: Omit<RingOptions, 'slots' | 'pinned' | 'agents'>, delayMs: number, runs: number): Promise<DelaySample> {
  const settings = { ...options.settings, contextTokens: DELAY_CONTEXT_TOKENS };
  return withRing({ ...options, settings, agents: 2, slots: 1, pinned: true, delayMs }, async (first) => {
    const ask = (question: Omit<Question, 'prompt' | 'tokens'>): Promise<Stream> =>
      answerTimes(first, options.model, { prompt: Array.from({ length: PROMPT_TOKENS }, (_, index) => 11 + index), tokens: DELAY_TOKENS, ...question });
    const speeds: number[] = [];
    const ratios = { repetitive: new Array<number>(), random: new Array<number>() };
    let sameAnswers = 0;
    for (let run = 0; run < runs; run += 1) {
      for (const [kind, question] of [['repetitive', { temperature: 0, seed: run, only: 40 + run }], ['random', { temperature: 1, seed: run }]] as const) {
        const pair = run % 2 === 0
          ? [await ask({ ...question, guesses: 0 }), await ask(question)] as const
          : [await ask(question), await ask({ ...question, guesses: 0 })].reverse();
        const [plain, guessed] = pair;
        if (plain === undefined || guessed === undefined) throw new Error('a pair has two');
        if (plain.tokens.join() === guessed.tokens.join()) sameAnswers += 1;
        if (kind === 'random') speeds.push(rate(plain));
        ratios[kind].push(rate(guessed) / rate(plain));
      }
    }
    return { delayMs, tokensPerSecond: spreadOf(speeds).median, repetitiveRatios: ratios.repetitive, randomRatios: ratios.random, sameAnswers };
  });
}

export function delayLines(samples: readonly DelaySample[]): readonly string[] {
  return align([
    ['two nodes, one answer; delay one way, ms', 'tok/s', 'guessing: repeats itself', 'is new', 'same answers'],
    ...samples.map(({ delayMs, tokensPerSecond, repetitiveRatios, randomRatios, sameAnswers }) => [
      String(delayMs), tokensPerSecond.toFixed(2), `${spreadOf(repetitiveRatios).median.toFixed(2)} x`, `${spreadOf(randomRatios).median.toFixed(2)} x`,
      `${sameAnswers} of ${repetitiveRatios.length + randomRatios.length}`,
    ]),
  ]);
}

function rate({ times }: Stream): number {
  return ((times.length - 1) * 1000) / ((times.at(-1) ?? 0) - (times[0] ?? 0));
}

/** While all of them answer: from the last one's first tokens to the first one's last. */
async function rateOf(agents: readonly Agent[], model: string, sequences: number, ask: () => Promise<Stream>): Promise<ServingSample['rates'][number]> {
  let busyShares: readonly number[] | null = null;
  const streams = await Promise.all(Array.from({ length: sequences }, async () => {
    const stream = await ask();
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

async function withGuest(ask: (question: Question) => Promise<Stream>, fresh: (tokens: number) => readonly number[]): Promise<GuestSample> {
  let started = 0;
  let settled: (() => void) | null = null;
  const allRun = new Promise<void>((resolve) => {
    settled = resolve;
  });
  const begin = performance.now();
  const hosts = Array.from({ length: HOSTS }, (_, index) => ask({
    prompt: fresh(PROMPT_TOKENS), tokens: LONG_ANSWER_TOKENS, temperature: 1, seed: index,
    onToken: (count) => {
      if (count === 20) started += 1;
      if (started === HOSTS) settled?.();
    },
  }));
  await allRun;
  const guestFrom = performance.now() - begin;
  const guest = await ask({ prompt: fresh(GUEST_TOKENS), tokens: 1, temperature: 1, seed: 9 });
  const guestTo = performance.now() - begin;
  const gaps = (await Promise.all(hosts)).flatMap(({ times }) => times.slice(1).map((time, index) => ({ time, gap: time - (times[index] ?? 0) })));
  const before = gaps.filter(({ time }) => time < guestFrom).map(({ gap }) => gap).sort((a, b) => a - b);
  const during = gaps.filter(({ time }) => time >= guestFrom && time <= guestTo).map(({ gap }) => gap);
  return {
    normalGapMs: before[Math.floor(before.length / 2)] ?? Number.NaN,
    longestGapMs: Math.max(...during),
    tokensPerSecond: GUEST_TOKENS * 1000 / (guest.times[0] ?? 0),
  };
}

async function answerTimes(agent: Agent, model: string, { prompt, tokens, temperature, seed, onToken, guesses, only }: Question): Promise<Stream> {
  const start = performance.now();
  const times: number[] = [];
  const answer: number[] = [];
  for await (const chunk of agent.stream('/v1/completions', {
    model, prompt, max_tokens: tokens, temperature, seed, ignore_eos: true, stream: true, return_tokens: true,
    ...(guesses === undefined ? {} : { 'speculative.n_max': guesses }),
    ...(only === undefined ? {} : { logit_bias: { [only]: 100 } }),
  })) {
    const drawn = tokensOf(chunk);
    answer.push(...drawn);
    for (let index = 0; index < drawn.length; index += 1) times.push(performance.now() - start);
    if (drawn.length > 0) onToken?.(times.length);
  }
  if (times.length !== tokens) throw new Error(`asked for ${tokens} tokens, ${times.length} came`);
  return { times, tokens: answer };
}
