import { describe, expect, it } from 'vitest';
import { HeadScheduler } from '../../src/core/batching.js';
import type { HeadStep } from '../../src/core/head-types.js';
import type { SequenceRequest } from '../../src/core/sequence.js';
import { MIN_REUSED_TOKENS, PrefixCache } from '../../src/core/prefix-cache.js';

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

describe('the prefix cache', () => {
  it('goes on in the slot that holds the earlier turn of a chat', () => {
    const cache = new PrefixCache(4);
    cache.retain({ slot: 2, tokens: range(0, 50) });
    expect(cache.place(range(0, 60), [])).toEqual({ slot: 2, reuse: { slot: 2, tokens: 50 } });
    expect(cache.holds(2)).toBe(false);
  });

  it('copies a beginning that many share, and keeps the original', () => {
    const cache = new PrefixCache(4);
    cache.retain({ slot: 0, tokens: range(0, 100) });
    expect(cache.place([...range(0, 40), 7, 7, 7], [])).toEqual({ slot: 1, reuse: { slot: 0, tokens: 40 } });
    expect(cache.holds(0)).toBe(true);
    const running = [{ slot: 1, tokens: range(200, 240) }];
    expect(cache.place([...range(200, 230), 1], running)).toEqual({ slot: 2, reuse: { slot: 1, tokens: 30 } });
  });

  it('always leaves the last token of a prompt to compute', () => {
    const cache = new PrefixCache(1);
    cache.retain({ slot: 0, tokens: range(0, 50) });
    expect(cache.place(range(0, 50), [])).toEqual({ slot: 0, reuse: { slot: 0, tokens: 49 } });
  });

  it('evicts what was used longest ago, only when no slot is empty', () => {
    const cache = new PrefixCache(3);
    cache.retain({ slot: 1, tokens: range(0, 20) });
    cache.retain({ slot: 0, tokens: range(100, 120) });
    expect(cache.place(range(500, 520), [])).toEqual({ slot: 2 });
    expect(cache.place(range(500, 520), [{ slot: 2, tokens: [] }])).toEqual({ slot: 1 });
    expect(cache.place(range(600, 620), [{ slot: 1, tokens: [] }, { slot: 2, tokens: [] }])).toEqual({ slot: 0 });
    expect(cache.place(range(600, 620), [0, 1, 2].map((slot) => ({ slot, tokens: [] })))).toBeNull();
  });

  it('keeps no short histories, and leaves a free slot where holes may be wide', () => {
    const cache = new PrefixCache(8);
    expect(cache.retain({ slot: 0, tokens: range(0, MIN_REUSED_TOKENS - 1) })).toBe(false);
    for (const slot of range(0, 7)) expect(cache.retain({ slot, tokens: range(slot * 100, slot * 100 + 20) })).toBe(true);
    expect(cache.surplus(0)).toBeNull();
    expect(cache.surplus(1)).toBe(0);
    expect(cache.surplus(1)).toBeNull();
  });
});

describe('the scheduler with a prefix cache', () => {
  const sampling = {
    temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
  };
  const request = (requestId: string, promptTokens: readonly number[]): SequenceRequest => ({ requestId, origin: 'o', promptTokens, emittedTokens: [], sampling, maxTokens: 2 });

  function run(head: HeadScheduler): HeadStep[] {
    const steps: HeadStep[] = [];
    const names = new Map<number, string>();
    for (let now = 0; now < 1_000; now += 1) {
      const step = head.next();
      if (step === null) return steps;
      steps.push(step);
      for (const operation of step.operations) if (operation.kind === 'open') names.set(operation.slot, operation.sequenceId);
      head.complete(step.step, step.slices.filter((slice) => slice.sample).map((slice) => ({
        slot: slice.slot, sequenceId: names.get(slice.slot) ?? '?', position: slice.position + slice.tokens, token: 9, endOfGeneration: false,
      })), [now]);
    }
    throw new Error('the scheduler did not come to rest');
  }

  it('computes only what the earlier turn did not', () => {
    const head = new HeadScheduler({ slots: 2, contextTokens: 1_024, batchTokens: 64, stages: 1, canRollBack: true });
    head.admit(request('a', range(0, 100)));
    expect(run(head).at(-1)?.operations).toEqual([{ kind: 'close', slot: 0, retain: true }]);
    head.admit(request('b', [...range(0, 100), 9, ...range(300, 310)]));
    const [first] = run(head);
    // The answer's first token was sent, its last one was not.
    expect(first?.operations).toMatchObject([{ kind: 'open', slot: 0, reuse: { slot: 0, tokens: 101 } }]);
    expect(first?.slices).toEqual([{ slot: 0, position: 101, tokens: 10, sample: true }]);
    expect(head.counters().reusedTokens).toBe(101);
  });

  it('reuses nothing where stages cannot forget', () => {
    const head = new HeadScheduler({ slots: 2, contextTokens: 1_024, batchTokens: 64, stages: 1, canRollBack: false });
    head.admit(request('a', range(0, 100)));
    expect(run(head).at(-1)?.operations).toEqual([{ kind: 'close', slot: 0 }]);
    head.admit(request('b', range(0, 100)));
    expect(run(head)[0]?.slices[0]).toMatchObject({ position: 0 });
  });
});
