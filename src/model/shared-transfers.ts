/**
 * One transfer for all who want the same thing at the same time: it ends when it is done, or when the last of them gave up.
 * It must not know what is transferred.
 */
import { RingError } from '../core/errors.js';

interface Transfer<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

export class SharedTransfers<T> {
  private readonly running = new Map<string, Transfer<T>>();

  /** `start` is called for the first who wants `key`; its signal aborts when nobody waits any more. */
  async run(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) throw givenUp(key, signal);
    const transfer = this.running.get(key) ?? this.begin(key, start);
    transfer.waiting += 1;
    let leave: () => void = () => undefined;
    try {
      const left = new Promise<never>((_, reject) => {
        leave = () => reject(givenUp(key, signal));
        signal.addEventListener('abort', leave);
      });
      return await Promise.race([transfer.result, left]);
    } finally {
      signal.removeEventListener('abort', leave);
      transfer.waiting -= 1;
      if (transfer.waiting === 0) {
        transfer.abort.abort();
        // Who comes now begins anew, from where this one was.
        if (this.running.get(key) === transfer) this.running.delete(key);
        await transfer.result.catch(() => undefined);
      }
    }
  }

  private begin(key: string, start: (signal: AbortSignal) => Promise<T>): Transfer<T> {
    const abort = new AbortController();
    const result = start(abort.signal);
    result.catch(() => undefined);
    const transfer = { result, abort, waiting: 0 };
    this.running.set(key, transfer);
    return transfer;
  }
}

function givenUp(key: string, signal: AbortSignal): RingError {
  const reason: unknown = signal.reason;
  return reason instanceof RingError ? reason : new RingError('cancelled', `fetching ${key} was cancelled`, {}, { cause: reason });
}
