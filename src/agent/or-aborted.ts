/**
 * Waiting for a value that nobody can call off, under a signal that somebody can. It must not know what is waited for.
 */

/** The value, or the signal's reason as soon as it aborts. */
export async function orAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stop = () => signal.removeEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    stop();
  }
}
