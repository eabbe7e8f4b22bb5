/**
 * How many bytes of request bodies this agent holds at a time: many large ones at once must not take its memory. Beyond
 * it a request is refused before its body is read. Counted until its answer has ended: by what the request announces, then
 * by what was read.
 */
import type { MiddlewareHandler } from 'hono';
import { ApiError } from './api-error.js';
import type { ApiEnv } from './api-options.js';
import { BODY_BYTES_MAX, onBodyRead } from './guards.js';

/** Sixteen of the largest, or a quarter of a million ordinary ones. */
const HELD_BODY_BYTES_MAX = 16 * BODY_BYTES_MAX;
const RETRY_AFTER_SECONDS = '2';

/** A request's part of the budget. */
export interface BodyLease {
  /** No more than so many bytes are held after all. */
  shrink(bytes: number): void;
  /** May be called again. */
  giveBack(): void;
}

export class BodyBudget {
  private heldBytes = 0;

  constructor(private readonly maxBytes = HELD_BODY_BYTES_MAX) {}

  get held(): number {
    return this.heldBytes;
  }

  /** Throws a 429. */
  take(bytes: number): BodyLease {
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
    const shrink = (left: number): void => {
      this.heldBytes -= Math.max(0, taken - left);
      taken = Math.min(taken, left);
    };
    return { shrink, giveBack: () => shrink(0) };
  }

  readonly middleware: MiddlewareHandler<ApiEnv> = async (context, next) => {
    if (context.req.raw.body === null) return next();
    const announced = Number(context.req.header('content-length') ?? BODY_BYTES_MAX);
    // One that is too large or no number is refused by whoever reads it.
    const { shrink, giveBack } = this.take(announced <= BODY_BYTES_MAX ? announced : 0);
    onBodyRead(context.req.raw, shrink);
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
