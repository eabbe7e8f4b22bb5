/**
 * What ends the work of one request: its client leaves, or the agent stops. It must not know what is asked.
 */
import type { Context } from 'hono';
import { RingError } from '../core/errors.js';
import { EitherSignal } from '../either-signal.js';
import type { ApiEnv, ApiOptions } from './api-options.js';

/** Of a request whose answer goes on after its handler has returned: whoever asks disposes of it. */
export function requestSignal(context: Context<ApiEnv>, options: Pick<ApiOptions, 'shutdown'>): EitherSignal {
  return new EitherSignal([context.req.raw.signal, options.shutdown], givenUp);
}

/** Runs `work` until the request ends. */
export async function underRequest<T>(context: Context<ApiEnv>, options: Pick<ApiOptions, 'shutdown'>, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const request = requestSignal(context, options);
  try {
    return await work(request.signal);
  } finally {
    request.dispose();
  }
}

/** A reason of ours: whoever it reaches must not take a client that has left for a fault of the agent. */
export function givenUp(): RingError {
  return new RingError('cancelled', 'the request was given up: its client has left, or the agent stops');
}
