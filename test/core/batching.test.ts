import { describe, expect, it } from 'vitest';
import { HeadScheduler } from '../../src/core/batching.js';
import type { HeadStep } from '../../src/core/head-types.js';
import type { SequenceRequest } from '../../src/core/sequence.js';
import type { SampledToken } from '../../src/core/step-types.js';
import { MAX_WAITING, MAX_WAITING_OF_CLIENT } from '../../src/core/waiting-line.js';

const sampling = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

function request(requestId: string, promptLength: number, maxTokens = 4): SequenceRequest {
  return { requestId, origin: 'origin', promptTokens: Array.from({ length: promptLength }, (_, i) => i), emittedTokens: [], sampling, maxTokens };
}

function scheduler(overrides: Partial<ConstructorParameters<typeof HeadScheduler>[0]> = {}): HeadScheduler {
  return new HeadScheduler({ slots: 4, contextTokens: 1024, batchTokens: 64, stages: 1, canRollBack: false, ...overrides });
}

/** The ring's answer to a step: one token for each slice that samples. Slots are followed as a tail does it. */
class Tail {
  readonly sequences = new Map<number, string>();

  answer(step: HeadStep, token = 7, endOfGeneration = false): SampledToken[] {
    for (const operation of step.operations) {
      if (operation.kind === 'open') this.sequences.set(operation.slot, operation.sequenceId);
      else {
        const moved = this.sequences.get(operation.slot);
        this.sequences.delete(operation.slot);
        if (operation.kind === 'move' && moved !== undefined) this.sequences.set(operation.to, moved);
      }
    }
    return step.slices.filter((slice) => slice.sample).map((slice) => ({
      slot: slice.slot, sequenceId: this.sequences.get(slice.slot) ?? '?', position: slice.position + slice.tokens, token, endOfGeneration,
    }));
  }
}

function drain(head: HeadScheduler): HeadStep[] {
  const steps: HeadStep[] = [];
  for (let step = head.next(); step !== null; step = head.next()) steps.push(step);
  return steps;
}

/** Runs to the end; answers each step as soon as it was sent. */
function runAll(head: HeadScheduler, tail = new Tail()): { steps: HeadStep[]; finished: string[] } {
  const steps: HeadStep[] = [];
  const finished: string[] = [];
  const flying: HeadStep[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    for (const step of drain(head)) {
      steps.push(step);
      flying.push(step);
    }
    const returned = flying.shift();
    if (returned === undefined) return { steps, finished };
    for (const done of head.complete(returned.step, tail.answer(returned), [round]).finished) finished.push(done.requestId);
  }
  throw new Error('the scheduler did not come to rest');
}

describe('the head\'s scheduler', () => {
  it('sends a prompt in chunks of at most a batch, samples after the last one only, then decodes token by token', () => {
    const head = scheduler();
    expect(head.admit(request('a', 100, 3)).kind).toBe('admitted');
    const { steps, finished } = runAll(head);
    expect(steps[0]?.operations).toMatchObject([{ kind: 'open', slot: 0, sequenceId: 'a', promptLength: 100 }]);
    expect(steps.slice(0, 4).map((step) => step.slices)).toEqual([
      [{ slot: 0, position: 0, tokens: 64, sample: false }],
      [{ slot: 0, position: 64, tokens: 36, sample: true }],
      [{ slot: 0, position: 100, tokens: 1, sample: true }],
      [{ slot: 0, position: 101, tokens: 1, sample: true }],
    ]);
    expect(Array.from(steps[2]?.tokens ?? [])).toEqual([7]);
    expect(finished).toEqual(['a']);
    expect(steps.at(-1)?.operations).toEqual([{ kind: 'close', slot: 0 }]);
  });

  it('never mixes a prefill chunk with decode tokens, and alternates them', () => {
    const head = scheduler();
    const tail = new Tail();
    head.admit(request('a', 2, 50));
    const [first] = drain(head);
    if (first === undefined) throw new Error('no step');
    head.complete(first.step, tail.answer(first), [1]);
    head.admit(request('b', 200, 2));
    const kinds: string[] = [];
    const flying: HeadStep[] = [];
    for (let round = 0; round < 8; round += 1) {
      for (const step of drain(head)) {
        const single = step.slices.every((slice) => slice.tokens === 1);
        const prefill = step.slices.length === 1 && step.slices[0]?.slot === 1;
        expect(single || prefill).toBe(true);
        kinds.push(prefill ? 'prefill' : 'decode');
        flying.push(step);
      }
      const returned = flying.shift();
      if (returned !== undefined) head.complete(returned.step, tail.answer(returned), [round]);
    }
    expect(kinds.slice(0, 4)).toEqual(['decode', 'prefill', 'decode', 'prefill']);
  });

  it('spreads decoding sequences over as many micro-batches as there are stages', () => {
    const head = scheduler({ stages: 2, slots: 4 });
    const tail = new Tail();
    for (const name of ['a', 'b', 'c', 'd']) head.admit(request(name, 1, 50));
    const flying = drain(head);
    for (let round = 0; round < 40; round += 1) {
      const returned = flying.shift();
      if (returned === undefined) break;
      const micros = 100 * returned.slices.length;
      head.complete(returned.step, tail.answer(returned), [micros, micros]);
      flying.push(...drain(head));
    }
    expect(flying.map((step) => step.slices.length)).toEqual([2, 2]);
    expect(new Set(flying.flatMap((step) => step.slices.map((slice) => slice.slot))).size).toBe(4);
  });

  it('fills the lowest free slot first and reuses a slot that closed', () => {
    const head = scheduler({ slots: 2 });
    for (const name of ['a', 'b', 'c']) head.admit(request(name, 1, 1));
    const opened = runAll(head).steps.flatMap((step) => step.operations).filter((operation) => operation.kind === 'open');
    expect(opened).toMatchObject([{ slot: 0, sequenceId: 'a' }, { slot: 1, sequenceId: 'b' }, { slot: 0, sequenceId: 'c' }]);
  });

  it('drops results of a sequence that was cancelled while its step was under way, also when the slot was taken again', () => {
    const head = scheduler({ slots: 1 });
    const tail = new Tail();
    head.admit(request('a', 1, 9));
    const [first] = drain(head);
    if (first === undefined) throw new Error('no step');
    expect(head.cancel('a')).toBe(true);
    head.admit(request('b', 1, 1));
    const [second] = drain(head);
    expect(second?.operations).toMatchObject([{ kind: 'close', slot: 0 }, { kind: 'open', slot: 0, sequenceId: 'b' }]);
    expect(head.complete(first.step, tail.answer(first), [1]).finished).toEqual([]);
    if (second === undefined) throw new Error('no step');
    expect(head.complete(second.step, tail.answer(second), [2]).finished).toMatchObject([{ requestId: 'b', reason: 'length', tokens: 1 }]);
  });

  it('sends a cancellation into the ring even when nothing else is to be sent', () => {
    const head = scheduler();
    const tail = new Tail();
    head.admit(request('a', 1, 9));
    const [first] = drain(head);
    if (first === undefined) throw new Error('no step');
    head.complete(first.step, tail.answer(first), [1]);
    drain(head);
    head.cancel('a');
    expect(drain(head)).toMatchObject([{ operations: [{ kind: 'close', slot: 0 }], slices: [] }]);
  });

  it('ends at an end-of-generation token with reason stop, at max_tokens and at the context with reason length', () => {
    const stop = scheduler();
    const tail = new Tail();
    stop.admit(request('a', 1, 9));
    const [first] = drain(stop);
    if (first === undefined) throw new Error('no step');
    expect(stop.complete(first.step, tail.answer(first, 0, true), [1]).finished).toMatchObject([{ reason: 'stop', tokens: 1 }]);

    const context = scheduler({ contextTokens: 12 });
    context.admit(request('b', 10, 1_000));
    const { steps } = runAll(context);
    expect(steps.flatMap((step) => step.slices).filter((slice) => slice.sample)).toHaveLength(2);
  });

  it('says which tokens came, each once and in order, for sequences whose tokens the head hands on, and for no others', () => {
    const head = scheduler({ canRollBack: true });
    const tail = new Tail();
    head.admit({ ...request('own', 20, 3), emittedTokens: [50], headDelivers: true });
    head.admit(request('other', 2, 3));
    const drawn: unknown[] = [];
    for (let steps = drain(head); steps.length > 0; steps = drain(head)) {
      for (const step of steps) {
        const opened = step.operations.filter((operation) => operation.kind === 'open');
        for (const { sequenceId, headDelivers } of opened) expect(headDelivers).toBe(sequenceId === 'own' ? true : undefined);
        drawn.push(...head.complete(step.step, tail.answer(step, 7 + step.step), [1]).drawn);
      }
    }
    const own = { requestId: 'own', origin: 'origin', endOfGeneration: false, reusedTokens: 0 };
    expect(drawn).toMatchObject([{ ...own, index: 1 }, { ...own, index: 2 }]);
    head.admit({ ...request('again', 20, 1), headDelivers: true });
    const [step] = drain(head);
    expect(step === undefined ? null : head.complete(step.step, tail.answer(step), [1]).drawn).toMatchObject([{ requestId: 'again', index: 0, reusedTokens: 19 }]);
  });

  it('continues a replayed sequence at the position where it was', () => {
    const head = scheduler();
    head.admit({ ...request('a', 4, 5), emittedTokens: [50, 51, 52] });
    const { steps, finished } = runAll(head);
    expect(steps[0]?.slices).toEqual([{ slot: 0, position: 0, tokens: 7, sample: true }]);
    expect(steps[0]?.operations).toMatchObject([{ emittedTokens: [50, 51, 52], promptLength: 4 }]);
    expect(finished).toEqual(['a']);
    expect(steps.flatMap((step) => step.slices).filter((slice) => slice.sample)).toHaveLength(2);
  });

  it('answers a prompt of which a slot holds all but the last token', () => {
    const head = scheduler({ canRollBack: true });
    const tail = new Tail();
    for (const id of ['a', 'b', 'c']) {
      head.admit(request(id, 40));
      expect(runAll(head, tail).finished).toEqual([id]);
    }
    expect(head.counters()).toMatchObject({ reusedTokens: 78, running: 0 });
  });

  it('computes all of a prompt whose hidden states are all wanted, and no more than it must of others', () => {
    const head = scheduler({ canRollBack: true });
    const tail = new Tail();
    head.admit(request('first', 40, 1));
    runAll(head, tail);
    const computed = ['mean', 'last'].map((pooling) => {
      head.admit({ ...request(pooling, 40, 1), sampling: { ...sampling, pooling: pooling === 'mean' ? 'mean' : 'last' } });
      return runAll(head, tail).steps.flatMap((step) => step.slices).reduce((sum, slice) => sum + slice.tokens, 0);
    });
    expect(computed).toEqual([40, 1]);
  });

  it('refuses what cannot be served: empty, too long, twice, too many', () => {
    const head = scheduler({ contextTokens: 8 });
    expect(head.admit(request('a', 0))).toMatchObject({ kind: 'refused', code: 'bad_request' });
    expect(head.admit(request('a', 8))).toMatchObject({ kind: 'refused', code: 'context_too_long' });
    expect(head.admit({ ...request('a', 5), emittedTokens: [1, 2, 3] })).toMatchObject({ kind: 'refused', code: 'context_too_long', message: expect.stringContaining('it cannot go on') as string });
    expect(head.admit(request('a', 2)).kind).toBe('admitted');
    expect(head.admit(request('a', 2))).toMatchObject({ kind: 'refused', code: 'bad_request' });
    for (let i = 1; i < MAX_WAITING_OF_CLIENT; i += 1) expect(head.admit(request(`r${i}`, 2)).kind).toBe('admitted');
    expect(head.admit(request('more', 2))).toMatchObject({ kind: 'refused', code: 'queue_full', message: expect.stringContaining('of this client') as string });
    for (let i = MAX_WAITING_OF_CLIENT; i < MAX_WAITING; i += 1) expect(head.admit({ ...request(`r${i}`, 2), client: 'other' }).kind).toBe('admitted');
    expect(head.admit({ ...request('last', 2), client: 'third' })).toMatchObject({ kind: 'refused', code: 'queue_full' });
    // What is under way already has places of its own.
    expect(head.admit({ ...request('under way', 2), client: 'third', emittedTokens: [1] }).kind).toBe('admitted');
    expect(head.counters().queued).toBe(MAX_WAITING + 1);
  });

  it('lets clients take turns: one request does not wait for fifty of somebody else', () => {
    const head = scheduler({ slots: 2 });
    for (let i = 0; i < 50; i += 1) head.admit({ ...request(`many${i}`, 2), client: 'many' });
    head.admit({ ...request('one', 2), client: 'one' });
    const { finished } = runAll(head);
    expect(finished).toHaveLength(51);
    // Two had the slots when it came.
    expect(finished.indexOf('one')).toBeLessThan(4);
  });
});
