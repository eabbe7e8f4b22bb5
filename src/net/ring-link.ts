/**
 * One edge of the ring as a stream of whole frames, `/ring-agent/activation/1`.
 *
 * The dialler says which edge it is; the acceptor's agent may refuse it at once with a typed error. Back-pressure goes all
 * the way: `send` resolves when the connection took the frame, and a reader that is behind pauses the sender. It must not
 * know what a frame holds.
 */
import type { Connection, Stream } from '@libp2p/interface';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { Clock, FrameLink, RingEdge } from '../ports.js';
import { decodeEdge, decodeOpened, encodeEdge, encodeOpened } from '../wire/edge-codec.js';
import { acknowledgeLate } from './fewer-acknowledgements.js';
import { FramedStream } from './framed-stream.js';

export const ACTIVATION_PROTOCOL = '/ring-agent/activation/1';
export const MAX_ACTIVATION_FRAME_BYTES = 64 * 1024 * 1024;
/** A reader this far behind pauses the sender. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024;
/** Sends that were not awaited; the ring keeps a few micro-batches in flight. */
const MAX_PENDING_SENDS = 64;
const OPEN_TIMEOUT_MS = 5000;
/** A stage may be busy; one that takes nothing for this long is stuck. */
const STALL_TIMEOUT_MS = 120_000;

class RingLink implements FrameLink {
  readonly frames: AsyncIterable<Uint8Array>;
  private pendingSends = 0;
  private closeReason: Error | null = null;
  private closed = false;
  private offered = true;
  /** Until the opening was answered nothing else may be on the stream. */
  private opening: Promise<void> = Promise.resolve();

  constructor(private readonly framed: FramedStream) {
    this.frames = framed.frames();
  }

  async send(frame: Uint8Array): Promise<void> {
    if (frame.byteLength > MAX_ACTIVATION_FRAME_BYTES) {
      throw new RingError('frame_too_large', `an activation frame of ${frame.byteLength} bytes is over the limit of ${MAX_ACTIVATION_FRAME_BYTES}: use smaller prefill chunks`);
    }
    if (this.pendingSends >= MAX_PENDING_SENDS) {
      throw new RingError('queue_full', `${this.pendingSends} frames already wait on this edge of the ring`);
    }
    this.pendingSends++;
    try {
      await this.opening;
      if (this.closed) throw new RingError('peer_lost', 'the edge of the ring was closed on this side');
      this.framed.send([frame]);
      await this.framed.flushed(STALL_TIMEOUT_MS);
    } finally {
      this.pendingSends--;
    }
  }

  close(reason?: Error): void {
    if (this.closed) return;
    this.closed = true;
    this.closeReason = reason ?? null;
    // While the edge is being offered to the agent, closing it is an answer: `acceptRingLink` sends it.
    if (this.offered) this.framed.close(reason);
  }

  /** Offers the link to the agent; what it says at once is the answer. */
  async offer(accept: (link: FrameLink) => void): Promise<void> {
    this.offered = false;
    let answer = (): void => undefined;
    this.opening = new Promise((resolve) => {
      answer = resolve;
    });
    let refusal: RingError | null = null;
    try {
      accept(this);
      if (this.closed) refusal = asRingError(this.closeReason ?? new RingError('not_ready', 'the edge of the ring is not wanted here'));
    } catch (error) {
      refusal = asRingError(error);
    }
    this.framed.send([encodeOpened(refusal)]);
    this.offered = true;
    answer();
    if (refusal !== null) {
      this.closed = true;
      await this.framed.flushed(OPEN_TIMEOUT_MS);
      this.framed.close();
    }
  }
}

function asRingError(error: unknown): RingError {
  return error instanceof RingError ? error : new RingError('internal', errorMessageOf(error), {}, { cause: error });
}

export interface RingLinkContext {
  readonly clock: Clock;
  /** The peer broke the framing. */
  readonly onMalformed: (error: RingError) => void;
}

/** Dials the edge. Rejects with the acceptor's typed refusal, `timeout` or `peer_lost`. */
export async function openRingLink(connection: Connection, edge: RingEdge, context: RingLinkContext): Promise<FrameLink> {
  const framed = frame(await connection.newStream(ACTIVATION_PROTOCOL, { signal: AbortSignal.timeout(OPEN_TIMEOUT_MS) }), edge, context);
  try {
    framed.send([encodeEdge(edge)]);
    const answer = await framed.next(OPEN_TIMEOUT_MS);
    if (answer === null) throw new RingError('peer_lost', 'the other side ended the edge of the ring before it was open');
    const refusal = decodeOpened(answer);
    if (refusal !== null) throw refusal;
    return new RingLink(framed);
  } catch (error) {
    framed.close(asRingError(error));
    throw error;
  }
}

/** Reads the opening and offers the edge to `accept`, which refuses it by closing the link or throwing. */
export async function acceptRingLink(stream: Stream, context: RingLinkContext, accept: (edge: RingEdge, link: FrameLink) => void): Promise<void> {
  const framed = frame(stream, null, context);
  try {
    const opening = await framed.next(OPEN_TIMEOUT_MS);
    if (opening === null) throw new RingError('peer_lost', 'the other side ended the edge of the ring before it was open');
    const edge = decodeEdge(opening);
    await new RingLink(framed).offer((link) => accept(edge, link));
  } catch (error) {
    framed.close(asRingError(error));
    throw error;
  }
}

function frame(stream: Stream, edge: RingEdge | null, context: RingLinkContext): FramedStream {
  const what = edge === null ? 'an incoming edge of the ring' : `the edge into stage ${edge.rank} of plan ${edge.planId}`;
  acknowledgeLate(stream);
  return new FramedStream(stream, {
    clock: context.clock, maxFrameBytes: MAX_ACTIVATION_FRAME_BYTES, highWaterBytes: HIGH_WATER_BYTES, what, onMalformed: context.onMalformed,
  });
}
