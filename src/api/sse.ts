/**
 * Server-sent events over a web stream: one event at a time, only as fast as the client reads.
 *
 * The stream asks its source for the next event when the client has taken the last one, so a slow client holds one
 * event here and the socket's own buffer, no more. While the source has nothing, a comment line keeps proxies and
 * clients from giving up. A client that goes away, or takes nothing for `stallMs`, ends the source. It must not know
 * what the events say.
 */

/** A comment: clients skip it. */
const HEARTBEAT = ': waiting\n\n';
export const HEARTBEAT_MS = 10_000;
/** A client that has taken nothing for so long is gone, whatever its TCP says. */
export const CLIENT_STALL_MS = 120_000;

export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  // Some proxies buffer streams unless told not to.
  'X-Accel-Buffering': 'no',
};

/** One event whose data is one line of JSON (or `[DONE]`). */
export function sseEvent(data: string): string {
  return `data: ${data}\n\n`;
}

export interface EventStreamOptions {
  readonly heartbeatMs: number;
  readonly stallMs: number;
  /** Sent while the source has nothing. Absent = a comment of server-sent events. */
  readonly heartbeat?: string;
  /**
   * Called once when no more is wanted or possible. At a stall the caller drops the connection: what the client has
   * not read still fills its buffers.
   */
  ended(reason: 'done' | 'client_gone' | 'client_stalled'): void;
}

/** `source` yields whole events (`sseEvent`) and does not throw: errors are events too. */
export function eventStream(source: AsyncGenerator<string>, options: EventStreamOptions): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let pending: Promise<IteratorResult<string>> | null = null;
  let stallTimer: NodeJS.Timeout | undefined;
  let over = false;

  const end = (reason: 'done' | 'client_gone' | 'client_stalled'): void => {
    if (over) return;
    over = true;
    clearTimeout(stallTimer);
    options.ended(reason);
    // Not awaited: the source may be waiting for something that `ended` has just aborted.
    if (reason !== 'done') source.return(undefined).catch(() => undefined);
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stallTimer);
        pending ??= source.next();
        const next = await within(pending, options.heartbeatMs);
        if (over) return;
        if (next === 'late') {
          controller.enqueue(encoder.encode(options.heartbeat ?? HEARTBEAT));
        } else {
          pending = null;
          if (next.done === true) {
            end('done');
            controller.close();
            return;
          }
          controller.enqueue(encoder.encode(next.value));
        }
        stallTimer = setTimeout(() => {
          end('client_stalled');
          controller.close();
        }, options.stallMs);
        stallTimer.unref();
      },
      cancel() {
        end('client_gone');
      },
    },
    // Nothing is made in advance: an event is asked for when somebody wants to write it.
    { highWaterMark: 0 },
  );
}

/** The promise's value, or `late` after `waitMs`. Rejects as the promise does. */
export async function within<T>(promise: Promise<T>, waitMs: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), waitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
