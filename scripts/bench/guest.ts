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
/** Before the guest comes, so much of each answer is there to compare with. */
const TOKENS_BEFORE = 24;
const CONTEXT_TOKENS = 4_352;

export interface GuestSample {
  /** Between two tokens of an answer before the guest: the median. */
  readonly normalGapMs: number;
  /** While the guest's prompt was computed. */
  readonly medianGapMs: number;
  readonly longestGapMs: number;
  /** Gaps longer than `TOLERATED` normal ones, and all of them. */
  readonly longGaps: number;
  readonly gaps: number;
  /** Of the guest's prompt. */
  readonly tokensPerSecond: number;
}

/** What a gap may be, in normal ones. */
export const TOLERATED = 3;

/** Every stage on a core of its own. */
export async function measureGuest(options: Omit<RingOptions, 'slots' | 'pinned'>): Promise<GuestSample> {
  const settings = { ...options.settings, contextTokens: CONTEXT_TOKENS };
  return withRing({ ...options, settings, slots: HOSTS + 1, pinned: true }, async (first) => {
    const fresh = freshPrompts();
    let started = 0;
    let isGuestServed = false;
    let begin: () => void = () => undefined;
    const allRun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const from = performance.now();
    const hosts = Array.from({ length: HOSTS }, (_, index) => answerTimes(first, options.model, {
      prompt: fresh(PROMPT_TOKENS), tokens: CONTEXT_TOKENS - PROMPT_TOKENS, temperature: 1, seed: index,
      onToken: (count) => {
        if (count === TOKENS_BEFORE) started += 1;
        if (started === HOSTS) begin();
        return !isGuestServed;
      },
    }));
    await Promise.race([allRun, Promise.all(hosts)]);
    const guestFrom = performance.now() - from;
    const guest = await answerTimes(first, options.model, { prompt: fresh(GUEST_TOKENS), tokens: 1, temperature: 1, seed: HOSTS });
    const guestTo = performance.now() - from;
    isGuestServed = true;
    const gaps = (await Promise.all(hosts)).flatMap(({ times }) => times.slice(1).map((time, index) => ({ time, gap: time - (times[index] ?? 0) })));
    const normalGapMs = median(gaps.filter(({ time }) => time < guestFrom).map(({ gap }) => gap));
    const during = gaps.filter(({ time }) => time >= guestFrom && time <= guestTo).map(({ gap }) => gap);
    return {
      normalGapMs,
      medianGapMs: median(during),
      longestGapMs: Math.max(...during),
      longGaps: during.filter((gap) => gap > TOLERATED * normalGapMs).length,
      gaps: during.length,
      tokensPerSecond: GUEST_TOKENS * 1000 / (guest.times[0] ?? 0),
    };
  });
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
