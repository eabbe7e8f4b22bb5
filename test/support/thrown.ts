/** What a call, or a promise, ended with. Errors that are no `RingError` are the test's own and go on. */
import { RingError } from '../../src/core/errors.js';

export function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof RingError) return error.code;
    throw error;
  }
  return 'nothing thrown';
}

export async function failureOf(work: Promise<unknown>): Promise<RingError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RingError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
