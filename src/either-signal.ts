/**
 * One abort signal for several, that is let go of when its work is done.
 *
 * `AbortSignal.any` would do, but on Node 20 it keeps every derived signal alive as long as its longest-lived source: with
 * an agent's life as a source that is a leak per request. It must not know what is aborted.
 */
export class EitherSignal {
  private readonly controller = new AbortController();
  private readonly stops: (() => void)[] = [];

  /** `reason` stands for whatever the sources give. */
  constructor(sources: readonly AbortSignal[], reason?: () => unknown) {
    for (const source of sources) {
      const onAbort = (): void => this.abort(reason === undefined ? source.reason : reason());
      if (source.aborted) onAbort();
      else source.addEventListener('abort', onAbort, { once: true });
      this.stops.push(() => source.removeEventListener('abort', onAbort));
    }
  }

  /** Aborts with the reason of the first source that does. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** As if a source did. */
  abort(reason: unknown): void {
    this.controller.abort(reason);
    this.dispose();
  }

  /** The work is over: nothing aborts any more, and the sources forget it. */
  dispose(): void {
    for (const stop of this.stops.splice(0)) stop();
  }
}

/** Runs `work` under either signal. */
export async function underEither<T>(sources: readonly AbortSignal[], work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const either = new EitherSignal(sources);
  try {
    return await work(either.signal);
  } finally {
    either.dispose();
  }
}

/** The same of a stream. */
export async function* streamUnderEither<T>(sources: readonly AbortSignal[], work: (signal: AbortSignal) => AsyncIterable<T>): AsyncGenerator<T> {
  const either = new EitherSignal(sources);
  try {
    yield* work(either.signal);
  } finally {
    either.dispose();
  }
}
