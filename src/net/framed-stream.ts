/**
 * Frames over one libp2p stream, with back-pressure both ways and every end accounted for.
 *
 * libp2p's own helpers either never pause the peer or reset the stream when it is paused (see the notes at each step), so
 * this file does its own pausing, draining and closing. What it promises: frames arrive whole and in order; a slow reader
 * holds at most `highWaterBytes` and one frame; a slow peer is felt through `flushed`; an end that the other side did not
 * announce is a `peer_lost`. It must not know what the frames mean.
 */
import type { Stream, StreamMessageEvent } from '@libp2p/interface';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { Clock } from '../ports.js';
import { encodeFrame, FrameDecoder } from '../wire/framing.js';
import { withDeadline } from './deadline.js';
import { promiseWithResolvers } from './polyfill.js';
import type { Resolvers } from './polyfill.js';

/** Below this, header and payload are copied into one buffer: one encrypted record instead of two. */
const COALESCE_BYTES = 64 * 1024;
/** Frames that wait to be read before the peer is paused, however small they are. */
const MAX_WAITING_FRAMES = 1024;
/** How long an orderly close may take before the stream is cut. */
const CLOSE_GRACE_MS = 2000;

export interface FramedStreamOptions {
  readonly clock: Clock;
  readonly maxFrameBytes: number;
  /** The peer is paused while more than this waits to be read. */
  readonly highWaterBytes: number;
  /** For messages, e.g. `the control channel to 12D3…`. */
  readonly what: string;
  /** The peer broke the framing; the stream is already cut. */
  readonly onMalformed: (error: RingError) => void;
}

export class FramedStream {
  private readonly decoder: FrameDecoder;
  private readonly queue: Uint8Array[] = [];
  private queuedBytes = 0;
  private resuming = false;
  private waiter: Resolvers<Uint8Array | null> | null = null;
  /** The other side said that it has no more; what is buffered is still delivered. */
  private remoteEnded = false;
  private ended = false;
  private failure: RingError | null = null;
  private closedHere = false;
  private readonly closeListeners: ((failure: RingError | null) => void)[] = [];

  constructor(private readonly stream: Stream, private readonly options: FramedStreamOptions) {
    this.decoder = new FrameDecoder(options.maxFrameBytes);
    // An idle ring is healthy: the connection monitor, not silence on a stream, says that a peer is gone.
    stream.inactivityTimeout = Number.MAX_SAFE_INTEGER;
    stream.addEventListener('remoteCloseWrite', () => {
      this.remoteEnded = true;
    });
    stream.addEventListener('end', () => {
      if (this.remoteEnded) this.endReading();
    });
    stream.addEventListener('close', (event) => {
      // After kill -9 this event carries no error: whatever was not announced is a loss.
      if (!this.remoteEnded) this.fail(new RingError('peer_lost', `${options.what} broke off`, {}, { cause: event.error }));
      const listeners = this.closeListeners.splice(0);
      for (const listener of listeners) listener(this.closedHere ? null : this.failure);
    });
    stream.addEventListener('message', (event) => this.onMessage(event));
  }

  /** Bytes handed over but not yet taken by the connection. */
  get unsentBytes(): number {
    return this.stream.writeBufferLength;
  }

  get writable(): boolean {
    return this.failure === null && !this.closedHere && this.stream.writeStatus === 'writable';
  }

  /** Calls once, when the stream is closed both ways. Null = this side closed it, or both ended it in order. */
  onClose(listener: (failure: RingError | null) => void): void {
    if (this.stream.status === 'open' || this.stream.status === 'closing') this.closeListeners.push(listener);
    else listener(this.closedHere ? null : this.failure);
  }

  /** Calls whenever everything handed over was taken by the connection. */
  onIdle(listener: () => void): void {
    this.stream.addEventListener('idle', listener);
  }

  /** Queues one frame made of `payloads`. Throws `peer_lost` when the stream is closed. Follow with `flushed`. */
  send(payloads: readonly Uint8Array[]): void {
    if (!this.writable) throw this.failure ?? new RingError('peer_lost', `${this.options.what} is closed`);
    const pieces = encodeFrame(payloads);
    const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    try {
      if (bytes <= COALESCE_BYTES) this.stream.send(concatenate(pieces, bytes));
      else for (const piece of pieces) if (piece.byteLength > 0) this.stream.send(piece);
    } catch (error) {
      throw this.fail(new RingError('peer_lost', `${this.options.what} broke off: ${errorMessageOf(error)}`, {}, { cause: error }));
    }
  }

  /** Resolves when the connection took everything; rejects with `timeout` after `stallMs` without any progress. */
  async flushed(stallMs: number): Promise<void> {
    // `stream.onDrain()` waits only the first time: hence the loop over the events themselves.
    for (;;) {
      if (this.failure !== null) throw this.failure;
      if (this.closedHere) throw new RingError('peer_lost', `${this.options.what} was closed here`);
      if (!this.stream.writableNeedsDrain && this.stream.writeBufferLength === 0) return;
      await withDeadline(this.nextWriteEvent(), {
        clock: this.options.clock, timeoutMs: stallMs, what: `the peer takes no more bytes on ${this.options.what}`,
      });
    }
  }

  /** The next frame; null after an orderly end. Rejects with `peer_lost`, `bad_frame`, `frame_too_large` or `timeout`. */
  async next(timeoutMs: number | null): Promise<Uint8Array | null> {
    const frame = this.queue.shift();
    if (frame !== undefined) {
      this.queuedBytes -= frame.byteLength;
      this.maybeResume();
      return frame;
    }
    if (this.failure !== null) throw this.failure;
    if (this.ended) return null;
    if (this.waiter !== null) throw new RingError('internal', `${this.options.what} has two readers`);
    const waiter = promiseWithResolvers<Uint8Array | null>();
    this.waiter = waiter;
    try {
      if (timeoutMs === null) return await waiter.promise;
      return await withDeadline(waiter.promise, { clock: this.options.clock, timeoutMs, what: `nothing arrives on ${this.options.what}` });
    } finally {
      this.waiter = null;
    }
  }

  /** Frames until the orderly end. No deadline: for links whose silence is normal. */
  async *frames(): AsyncGenerator<Uint8Array> {
    for (let frame = await this.next(null); frame !== null; frame = await this.next(null)) yield frame;
  }

  /** Without a reason: sends what is queued, then ends. With a reason: cuts the stream; the other side sees `peer_lost`. */
  close(reason?: Error): void {
    if (this.closedHere) return;
    this.closedHere = true;
    this.endReading();
    this.dropQueue();
    if (reason !== undefined) {
      this.stream.abort(reason);
      return;
    }
    const cancel = this.options.clock.after(CLOSE_GRACE_MS, () => this.stream.abort(new Error('the orderly close took too long')));
    this.stream.addEventListener('close', cancel);
    // What still arrives is dropped, so that the other side can finish.
    if (this.stream.readStatus === 'paused') this.resume();
    this.stream.close().catch(() => {
      cancel();
      this.stream.abort(new Error('the orderly close failed'));
    });
  }

  private onMessage(event: StreamMessageEvent): void {
    if (this.closedHere || this.failure !== null) return;
    const { data } = event;
    const chunks = data instanceof Uint8Array ? [data] : data;
    try {
      for (const chunk of chunks) for (const frame of this.decoder.push(chunk)) this.deliver(frame);
    } catch (error) {
      const failure = error instanceof RingError ? error : new RingError('internal', errorMessageOf(error), {}, { cause: error });
      this.fail(failure);
      this.stream.abort(failure);
      this.options.onMalformed(failure);
      return;
    }
    // Pausing in the middle of libp2p's own resume() would leave it half paused: it sends window updates all the same
    // and then resets the stream for overflowing its buffer. `maybeResume` pauses again afterwards.
    if (this.isBehind() && !this.resuming) this.pause();
  }

  private deliver(frame: Uint8Array): void {
    if (this.waiter !== null && this.queue.length === 0) {
      this.waiter.resolve(frame);
      this.waiter = null;
      return;
    }
    this.queue.push(frame);
    this.queuedBytes += frame.byteLength;
  }

  private maybeResume(): void {
    const caughtUp = this.queuedBytes <= this.options.highWaterBytes / 2 && this.queue.length <= MAX_WAITING_FRAMES / 2;
    if (caughtUp && this.stream.readStatus === 'paused') this.resume();
  }

  private resume(): void {
    this.resuming = true;
    try {
      this.stream.resume();
    } catch (error) {
      this.fail(new RingError('peer_lost', `${this.options.what} broke off: ${errorMessageOf(error)}`, {}, { cause: error }));
    } finally {
      this.resuming = false;
    }
    if (this.isBehind() && !this.closedHere) this.pause();
  }

  private isBehind(): boolean {
    return this.queuedBytes > this.options.highWaterBytes || this.queue.length > MAX_WAITING_FRAMES;
  }

  private pause(): void {
    if (this.stream.readStatus === 'readable') this.stream.pause();
  }

  private endReading(): void {
    if (this.ended) return;
    this.ended = true;
    if (this.decoder.midFrame && !this.closedHere) {
      this.fail(new RingError('peer_lost', `${this.options.what} ended in the middle of a frame`));
      return;
    }
    this.waiter?.resolve(null);
    this.waiter = null;
  }

  private fail(error: RingError): RingError {
    if (this.failure === null && !this.closedHere) {
      this.failure = error;
      this.waiter?.reject(error);
      this.waiter = null;
    }
    return this.failure ?? error;
  }

  private dropQueue(): void {
    this.queue.length = 0;
    this.queuedBytes = 0;
  }

  private async nextWriteEvent(): Promise<void> {
    const { promise, resolve } = promiseWithResolvers<void>();
    const done = (): void => resolve();
    const names = ['drain', 'idle', 'close'] as const;
    for (const name of names) this.stream.addEventListener(name, done);
    try {
      await promise;
    } finally {
      for (const name of names) this.stream.removeEventListener(name, done);
    }
  }
}

function concatenate(pieces: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
