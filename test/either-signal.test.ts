import { describe, expect, it } from 'vitest';
import { EitherSignal, streamUnderEither, underEither } from '../src/either-signal.js';

describe('one signal for several', () => {
  it('aborts with the reason of the first, also when that has aborted already', () => {
    const [life, request] = [new AbortController(), new AbortController()];
    const either = new EitherSignal([request.signal, life.signal]);
    expect(either.signal.aborted).toBe(false);
    life.abort(new Error('the end'));
    request.abort(new Error('too late'));
    expect(either.signal.reason).toMatchObject({ message: 'the end' });
    expect(new EitherSignal([life.signal]).signal.reason).toMatchObject({ message: 'the end' });
  });

  it('gives a reason of its own where it was told one, and aborts when it is told to', () => {
    const request = new AbortController();
    const named = new EitherSignal([request.signal], () => new Error('ours'));
    request.abort(new Error('theirs'));
    expect(named.signal.reason).toMatchObject({ message: 'ours' });
    const told = new EitherSignal([new AbortController().signal]);
    told.abort(new Error('told'));
    expect(told.signal.reason).toMatchObject({ message: 'told' });
  });

  it('is let go of when the work is done: nothing is left on a long life', async () => {
    const life = new AbortController();
    const signals: AbortSignal[] = [];
    const work = async (signal: AbortSignal): Promise<number> => signals.push(signal);
    await underEither([new AbortController().signal, life.signal], work);
    await expect(underEither([life.signal], async (signal) => {
      signals.push(signal);
      throw new Error('failed');
    })).rejects.toThrow('failed');
    for await (const item of streamUnderEither([life.signal], async function* (signal) {
      signals.push(signal);
      yield 1;
      yield 2;
    })) if (item === 1) break;
    life.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });
});
