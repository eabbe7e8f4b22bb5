/** When the head says that a step goes on: the runner computes the next one without being asked, and in vain if anything else comes. */
import { describe, expect, it } from 'vitest';
import { HeadScheduler } from '../../src/core/batching.js';
import type { HeadStep } from '../../src/core/head-types.js';
import type { SequenceRequest } from '../../src/core/sequence.js';
import type { SampledToken } from '../../src/core/step-types.js';

const sampling = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

function request(requestId: string, promptLength: number, maxTokens: number): SequenceRequest {
  return { requestId, origin: 'origin', promptTokens: Array.from({ length: promptLength }, (_, index) => 500 + index), emittedTokens: [], sampling, maxTokens };
}

function scheduler(changes: Partial<ConstructorParameters<typeof HeadScheduler>[0]> = {}): HeadScheduler {
  return new HeadScheduler({ slots: 4, contextTokens: 64, batchTokens: 16, stages: 1, canRollBack: true, ...changes });
}

/** Answers each step at once; `tokenAt` says what is drawn at a position. Ends with the last step or after `limit`. */
class Ring {
  readonly steps: HeadStep[] = [];
  private readonly names = new Map<number, string>();

  constructor(private readonly head: HeadScheduler, private readonly tokenAt: (position: number) => number = (position) => position) {}

  run(limit = 1_000): readonly HeadStep[] {
    for (let count = 0; count < limit; count += 1) {
      const step = this.head.next();
      if (step === null) break;
      this.steps.push(step);
      for (const operation of step.operations) if (operation.kind === 'open') this.names.set(operation.slot, operation.sequenceId);
      this.head.complete(step.step, step.slices.flatMap((slice) => this.drawn(slice)), [1_000]);
    }
    return this.steps;
  }

  private drawn({ slot, position, tokens, sample, draft = [] }: HeadStep['slices'][number]): SampledToken[] {
    const drawn: SampledToken[] = [];
    for (let at = position + tokens - draft.length; sample && at <= position + tokens; at += 1) {
      const token = this.tokenAt(at);
      drawn.push({ slot, sequenceId: this.names.get(slot) ?? '', position: at, token, endOfGeneration: false });
      if (draft[drawn.length - 1] !== token) break;
    }
    return drawn;
  }
}

/** Of steps that decode. */
function flags(steps: readonly HeadStep[]): readonly boolean[] {
  return steps.filter(({ slices }) => slices.length > 0 && slices.every(({ sample, position }) => sample && position >= 3)).map(({ goesOn }) => goesOn);
}

describe('a step goes on', () => {
  it('while an answer is alone in the only stage, until its last token', () => {
    const head = scheduler();
    head.admit(request('a', 3, 6));
    const ring = new Ring(head);
    expect(flags(ring.run())).toEqual([true, true, true, true, false]);
    expect(ring.steps[0]?.goesOn).toBe(false);
  });

  it('until the context is full', () => {
    const head = scheduler({ contextTokens: 8 });
    head.admit(request('a', 3, 100));
    expect(flags(new Ring(head).run())).toEqual([true, true, true, false]);
  });

  it('not where tokens have further to go, or cannot be taken back', () => {
    for (const settings of [{ stages: 2 }, { canRollBack: false }]) {
      const head = scheduler(settings);
      head.admit(request('a', 3, 6));
      expect(flags(new Ring(head).run()).some((goesOn) => goesOn)).toBe(false);
    }
  });

  it('for all answers together, and not while a prompt or a request waits', () => {
    const head = scheduler({ slots: 2 });
    head.admit(request('a', 3, 30));
    head.admit(request('b', 3, 30));
    const ring = new Ring(head);
    ring.run(8);
    expect(ring.steps.at(-1)).toMatchObject({ goesOn: true, slices: [{ slot: 0 }, { slot: 1 }] });
    head.admit(request('c', 40, 2));
    ring.run(1);
    expect(ring.steps.at(-1)?.goesOn).toBe(false);
    head.cancel('b');
    const from = ring.steps.length;
    ring.run(6);
    expect(ring.steps.slice(from).map(({ goesOn }) => goesOn)).toEqual(new Array(6).fill(false));
  });

  it('not while the plan has a draft, for one answer', () => {
    const head = scheduler();
    head.draftIs('busy');
    head.admit(request('a', 3, 6));
    expect(flags(new Ring(head).run()).some((goesOn) => goesOn)).toBe(false);
  });

  it('and then has no guesses, which come one step after their occasion', () => {
    const head = scheduler();
    head.admit(request('a', 3, 40));
    // From position 12 on the text is what it was from position 4 on.
    const ring = new Ring(head, (position) => (position < 12 ? position : 4 + (position - 12) % 8));
    ring.run();
    const drafted = ring.steps.findIndex(({ slices: [slice] }) => (slice?.draft?.length ?? 0) > 0);
    expect(drafted).toBeGreaterThan(0);
    expect(ring.steps.slice(drafted - 2, drafted + 1).map(({ goesOn }) => goesOn)).toEqual([true, false, false]);
    for (const [index, step] of ring.steps.entries()) if ((step.slices[0]?.draft?.length ?? 0) > 0) expect(ring.steps[index - 1]?.goesOn).toBe(false);
  });
});
