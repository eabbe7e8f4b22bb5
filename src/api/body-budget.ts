/**
 * How many bytes of request bodies this agent holds at a time: many large ones at once must not take its memory. Beyond
 * it a request is refused before its body is read. Counted by what the request announces, until its answer has ended.
 */
import type { MiddlewareHandler } from 'hono';
import { ApiError } from './api-error.js';
import type { ApiEnv } from './api-options.js';
import { BODY_BYTES_MAX } from './guards.js';

/** Sixteen of the largest, or a quarter of a million ordinary ones. */
export const HELD_BODY_BYTES_MAX = 16 * BODY_BYTES_MAX;
const RETRY_AFTER_SECONDS = '2';

export class BodyBudget {
  private heldBytes = 0;

  constructor(private readonly maxBytes = HELD_BODY_BYTES_MAX) {}

  get held(): number {
    return this.heldBytes;
  }

  /** Returns what gives the bytes back, once. Throws a 429. */
  take(bytes: number): () => void {
    if (this.heldBytes + bytes > this.maxBytes) {
      throw new ApiError({
        status: 429,
        code: 'too_many_bytes',
        message: `This agent holds ${Math.round(this.heldBytes / 1024 / 1024)} MiB of other requests already: try again in a moment.`,
        // The body is not read: the connection cannot be used again.
        headers: { 'Retry-After': RETRY_AFTER_SECONDS, Connection: 'close' },
      });
    }
    this.heldBytes += bytes;
    let taken = bytes;
    return () => {
      this.heldBytes -= taken;
      taken = 0;
    };
  }

  readonly middleware: MiddlewareHandler<ApiEnv> = async (context, next) => {
    if (context.req.raw.body === null) return next();
    const announced = Number(context.req.header('content-length') ?? BODY_BYTES_MAX);
    // One that is too large or no number is refused by whoever reads it.
    const giveBack = this.take(announced <= BODY_BYTES_MAX ? announced : 0);
    const { outgoing } = context.env ?? {};
    if (outgoing === undefined) {
      try {
        return await next();
      } finally {
        giveBack();
      }
    }
    if (outgoing.closed) giveBack();
    else outgoing.once('close', giveBack);
    return next();
  };
}
