/** Waiting with an end: nothing in net/ waits for a peer without one of these. */
import { RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';
import type { Clock } from '../ports.js';

export interface Deadline {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Completes "timed out after 5000 ms: …". */
  readonly what: string;
  readonly code?: ErrorCode;
}

/** The promise's outcome, or a RingError (`timeout` unless said otherwise) when the deadline comes first. */
export async function withDeadline<T>(promise: Promise<T>, deadline: Deadline): Promise<T> {
  let cancel = (): void => undefined;
  const expired = new Promise<never>((_, reject) => {
    cancel = deadline.clock.after(deadline.timeoutMs, () => {
      reject(new RingError(deadline.code ?? 'timeout', `timed out after ${deadline.timeoutMs} ms: ${deadline.what}`, { timeoutMs: deadline.timeoutMs }));
    });
  });
  try {
    return await Promise.race([promise, expired]);
  } finally {
    cancel();
  }
}
