/**
 * `npm run bench -- --serving`: many answers at once on one core and on two, each agent and its runner on a core of their
 * own; how busy the stages are; what a known beginning saves; what a long prompt does to running answers. Times are a
 * client's; serving-table.ts shows them.
 */
import { answerTimes, freshPrompts } from './answers.js';
import type { Stream } from './answers.js';
import type { Agent } from './agents.js';
import { measureCores } from './cores.js';
import type { CoresSample } from './cores.js';
import { measureGuest } from './guest.js';
import type { GuestSample } from './guest.js';
import { watchOtherWork } from './other-work.js';
import { withRing } from './ring.js';
import type { RingOptions } from './ring.js';

const SLOTS = 16;
/** Each answer's first tokens, while others still begin, are not counted. */
const UNCOUNTED_TOKENS = 24;
/** Before anything is measured: an agent is started once and answers for days, and V8 compiles for the first minutes. */
const WARM_UP = { answers: SLOTS, tokens: 96 } as const;
const CONTEXT_TOKENS = 2_304;
const ANSWER_TOKENS = 144;
const SEQUENCE_COUNTS = [1, 2, 4, 8, 16] as const;
export const PREFIX_TOKENS = 1_000;
const PROMPT_TOKENS = 8;
export const PREFILL_TOKENS = 2_048;
export const CORES = 2;
/** The cores of each ring's nodes. One node is measured on each of the cores that two nodes have together. */
const ONE_NODE = [0];
const TWO_NODES = [0, 1];
const SERVING_RINGS: readonly (readonly number[])[] = [ONE_NODE, [1], TWO_NODES];
/** What becomes faster or slower meanwhile does so for one node as for two. */
const IN_TURN = [0, 2, 1] as const;
/** It takes minutes on one node. */
const GUEST_RINGS: ReadonlySet<readonly number[]> = new Set([ONE_NODE, TWO_NODES]);

export interface RateSample {
  readonly sequences: number;
  readonly tokensPerSecond: number;
  /** Of each stage, 0..1. */
  readonly busyShares: readonly number[];
}

/** One ring in one round. What was left out is null, or not in `rates`. */
export interface ServingSample {
  /** A node on each. */
  readonly cores: readonly number[];
  readonly rates: readonly RateSample[];
  readonly prefillTokensPerSecond: number | null;
  readonly prefix: { readonly firstTokenMs: number; readonly againMs: number } | null;
  readonly guest: GuestSample | null;
}

export interface ServingRound {
  /** Of `SERVING_RINGS`. */
  readonly rings: readonly ServingSample[];
  /** Right before; null where it cannot be measured. */
  readonly together: CoresSample | null;
  /** Share of all cores that went to others meanwhile, 0..1; null where it cannot be seen. */
  readonly otherWork: number | null;
}

type ServingOptions = Omit<RingOptions, 'agents' | 'slots' | 'cores'>;

interface OpenRing {
  readonly cores: readonly number[];
  readonly head: Agent;
  readonly agents: readonly Agent[];
}

/**
 * All rings are there from the beginning, and one at a time works: each row has its three figures within a minute, as the cores of a
 * virtual machine are not equally fast, nor for long. A known beginning and a guest are measured in the first round, once: they repeat
 * themselves well, or take long.
 */
export async function measureServing(options: ServingOptions, round: number, say: (what: string) => void): Promise<ServingRound> {
  const { only } = options.settings;
  const wants = (part: string): boolean => only === null || only.has(part);
  const wantsOnce = (part: string): boolean => round === 0 && wants(part);
  const counts = SEQUENCE_COUNTS.filter((sequences) => wants(String(sequences)));
  const settings = { ...options.settings, contextTokens: CONTEXT_TOKENS };
  say('each core alone, and all at once');
  const together = await measureCores(options.modelFile, CORES);
  const prompts = { prefill: wants('prefill'), prefix: wantsOnce('prefix') };
  const none = { rings: SERVING_RINGS.map((cores) => ({ cores, rates: [], prefillTokensPerSecond: null, prefix: null })), otherWork: null };
  const measured = counts.length === 0 && !prompts.prefill && !prompts.prefix ? none : await withRings({ ...options, settings }, SERVING_RINGS, async (rings) => {
    for (const ring of rings) await warmUp(ring, options.model);
    const otherWork = watchOtherWork(rings.flatMap(({ agents }) => agents.map(({ pid }) => pid)));
    const rows = await measureRows(rings, { model: options.model, counts, ...prompts, say });
    return { rings: rows, otherWork: otherWork() };
  });
  const rings: ServingSample[] = [];
  for (const ring of measured.rings) {
    const wantsGuest = wantsOnce('guest') && GUEST_RINGS.has(ring.cores);
    if (wantsGuest) say(`a long prompt beside answers, ${ring.cores.length} node(s)`);
    rings.push({ ...ring, guest: wantsGuest ? await measureGuest(options, ring.cores) : null });
  }
  return { rings, together, otherWork: measured.otherWork };
}

/** In the order that `all` has. */
async function withRings<Result>(options: ServingOptions, all: readonly (readonly number[])[], use: (rings: readonly OpenRing[]) => Promise<Result>): Promise<Result> {
  const [cores, ...others] = all;
  if (cores === undefined) return use([]);
  return withRing({ ...options, agents: cores.length, slots: SLOTS, cores }, (head, { agents }) =>
    withRings(options, others, (rings) => use([{ cores, head, agents }, ...rings])));
}

const fresh = freshPrompts();

async function warmUp({ head }: OpenRing, model: string): Promise<void> {
  await Promise.all(Array.from({ length: WARM_UP.answers }, (_, seed) => answerTimes(head, model, { prompt: fresh(PROMPT_TOKENS), tokens: WARM_UP.tokens, temperature: 1, seed })));
}

interface Parts {
  readonly model: string;
  readonly counts: readonly number[];
  readonly prefill: boolean;
  readonly prefix: boolean;
  readonly say: (what: string) => void;
}

async function measureRows(rings: readonly OpenRing[], { model, counts, prefill, prefix, say }: Parts): Promise<readonly Omit<ServingSample, 'guest'>[]> {
  const inTurn = async <Figure>(what: string, figure: (ring: OpenRing) => Promise<Figure>): Promise<readonly Figure[]> => {
    say(what);
    const figures = new Map<number, Figure>();
    for (const index of IN_TURN) {
      const ring = rings[index];
      if (ring !== undefined) figures.set(index, await figure(ring));
    }
    return rings.flatMap((_, index) => figures.get(index) ?? []);
  };
  const firstTokenMs = async ({ head }: OpenRing, prompt: readonly number[]): Promise<number> =>
    (await answerTimes(head, model, { prompt, tokens: 1, temperature: 1, seed: 1 })).times[0] ?? Number.NaN;
  const rates: (readonly RateSample[])[] = [];
  for (const sequences of counts) {
    rates.push(await inTurn(`${sequences} answer(s)`, ({ head, agents }) =>
      rateOf(agents, model, sequences, (seed) => answerTimes(head, model, { prompt: fresh(PROMPT_TOKENS), tokens: ANSWER_TOKENS, temperature: 1, seed }))));
  }
  const prefills = prefill ? await inTurn(`a prompt of ${PREFILL_TOKENS}`, async (ring) => PREFILL_TOKENS * 1000 / await firstTokenMs(ring, fresh(PREFILL_TOKENS))) : [];
  const shared = fresh(PREFIX_TOKENS);
  const prefixes = prefix
    ? await inTurn(`a prompt of ${PREFIX_TOKENS}, and its beginning again`, async (ring) => ({
      firstTokenMs: await firstTokenMs(ring, [...shared, ...fresh(PROMPT_TOKENS)]), againMs: await firstTokenMs(ring, [...shared, ...fresh(PROMPT_TOKENS)]),
    }))
    : [];
  return rings.map(({ cores }, ring) => ({
    cores,
    rates: rates.flatMap((row) => row[ring] ?? []),
    prefillTokensPerSecond: prefills[ring] ?? null,
    prefix: prefixes[ring] ?? null,
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
