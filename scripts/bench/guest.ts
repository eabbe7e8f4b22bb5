/**
 * A long prompt that arrives while others are being answered: how long their tokens wait for it, and what it takes itself.
 */
import { answerTimes, freshPrompts } from './answers.js';
import { withRing } from './ring.js';
import type { RingOptions } from './ring.js';

const PROMPT_TOKENS = 8;
/** Of the long prompt. */
export const GUEST_TOKENS = 4_000;
/** Answers that are under way. */
export const HOSTS = 4;
/** Right before the guest comes and after it was served, so much of each answer is there to compare with. */
const TOKENS_AROUND = 24;
/** Until then nobody disturbs the answers: the longest gap among so many tokens of each is the machine's own. */
const TOKENS_ALONE = 400;
/** The first ones, of an agent that has just started, say nothing. */
const TOKENS_WARMING_UP = 48;
const CONTEXT_TOKENS = 4_352;
/** After the guest's last step, until no gap began beside it. */
const SETTLING_MS = 1_000;

export interface GuestSample {
  /** Between two tokens of an answer, the median, before the guest came and after it was served: the answers get longer, and slower. */
  readonly normalGapMs: number;
  readonly laterGapMs: number;
  /** The longest before the guest came, in normal ones: the machine alone. */
  readonly longestAloneTimes: number;
  /** While the guest's prompt was computed: gaps in what would have been normal by then. */
  readonly medianTimes: number;
  readonly longestTimes: number;
  /** Share of the gaps that were more than `TOLERATED`, 0..1. */
  readonly longShare: number;
  /** Of the guest's prompt. */
  readonly tokensPerSecond: number;
}

/** What a gap may be, in normal ones. */
export const TOLERATED = 3;

/** A node on each of these cores. */
export async function measureGuest(options: Omit<RingOptions, 'slots' | 'cores' | 'agents'>, cores: readonly number[]): Promise<GuestSample> {
  const settings = { ...options.settings, contextTokens: CONTEXT_TOKENS };
  return withRing({ ...options, settings, agents: cores.length, slots: HOSTS + 1, cores }, async (first) => {
    const fresh = freshPrompts();
    let started = 0;
    let left = HOSTS;
    /** Of every answer, when the guest was served. */
    const served = new Map<number, number>();
    const counts = new Array<number>(HOSTS).fill(0);
    let begin: () => void = () => undefined;
    const allRun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const from = performance.now();
    const hosts = Array.from({ length: HOSTS }, (_, index) => answerTimes(first, options.model, {
      prompt: fresh(PROMPT_TOKENS), tokens: CONTEXT_TOKENS - PROMPT_TOKENS, temperature: 1, seed: index,
      onToken: (count) => {
        counts[index] = count;
        if (count === TOKENS_ALONE) started += 1;
        if (started === HOSTS) begin();
        if (count === (served.get(index) ?? Number.POSITIVE_INFINITY) + TOKENS_AROUND) left -= 1;
        return left > 0;
      },
    }));
    await Promise.race([allRun, Promise.all(hosts)]);
    const guestFrom = performance.now() - from;
    const guest = await answerTimes(first, options.model, { prompt: fresh(GUEST_TOKENS), tokens: 1, temperature: 1, seed: HOSTS });
    const guestTo = performance.now() - from;
    counts.forEach((count, index) => served.set(index, count));
    const gaps = (await Promise.all(hosts)).flatMap(({ times }) => times.slice(1).map((time, index) => ({ time, index, gap: time - (times[index] ?? 0) })));
    const gapsOf = (takes: (time: number, index: number) => boolean): readonly number[] => gaps.filter(({ time, index }) => takes(time, index)).map(({ gap }) => gap);
    const normalGapMs = median(gapsOf((time, index) => time < guestFrom && index >= TOKENS_ALONE - TOKENS_AROUND));
    const aloneMs = gapsOf((time, index) => time < guestFrom && index >= TOKENS_WARMING_UP);
    const laterGapMs = median(gapsOf((time) => time > guestTo + SETTLING_MS));
    const normalAt = (time: number): number => normalGapMs + (laterGapMs - normalGapMs) * (time - guestFrom) / (guestTo - guestFrom);
    const times = gaps.filter(({ time }) => time >= guestFrom && time <= guestTo).map(({ time, gap }) => gap / normalAt(time));
    return {
      normalGapMs,
      laterGapMs,
      longestAloneTimes: Math.max(...aloneMs) / median(aloneMs),
      medianTimes: median(times),
      longestTimes: Math.max(...times),
      longShare: times.filter((one) => one > TOLERATED).length / times.length,
      tokensPerSecond: GUEST_TOKENS * 1000 / (guest.times[0] ?? 0),
    };
  });
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
