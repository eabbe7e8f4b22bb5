/**
 * The one long-lived stream of a pair of peers, for control messages. Sending never blocks and never queues without bound:
 * a peer that does not take its messages is dropped, because a late heartbeat is worth nothing.
 *
 * The channel also watches that the peer lives: a cable that was pulled closes no connection. libp2p's own monitor is not
 * used: it opens a stream for every ping, takes a stall of our own thread for the peer's death, and when the connection
 * closes at the same moment its failure is thrown where nobody can catch it.
 *
 * It must not know what the messages mean.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { ControlMessage } from '../core/messages.js';
import type { Clock } from '../ports.js';
import { decodeControl, encodeControl, encodeSignal } from '../wire/control-codec.js';
import { acknowledgeLate } from './fewer-acknowledgements.js';
import { FramedStream } from './framed-stream.js';
import { MAX_FULL_WINDOWS, MessagePace, WINDOW_MS } from './message-pace.js';
import type { Stream } from '@libp2p/interface';

export const CONTROL_PROTOCOL = '/ring-agent/control/1';
export const MAX_CONTROL_FRAME_BYTES = 4 * 1024 * 1024;
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
const MAX_QUEUED_MESSAGES = 4096;
const HIGH_WATER_BYTES = 1024 * 1024;
const WATCH_INTERVAL_MS = 250;
/** Silence after which the peer is asked whether it lives. Any frame counts as an answer. */
const PING_AFTER_MS = 400;
/** A peer that is not silent is asked too, this often: the answer's time is the way's length. */
const MEASURE_INTERVAL_MS = 10_000;
/** And at once until so many were answered: two agents that have just started are slow to answer, and the shortest way counts. */
const FIRST_MEASUREMENTS = 6;
/** Silence after which it does not. */
const DEAD_AFTER_MS = 1250;
/** Our own thread was this late: what it did not hear in the meantime says nothing about the peer. */
const OWN_STALL_MS = 250;

export interface ControlChannelEvents {
  message(message: ControlMessage): void;
  /** A ping was answered. */
  roundTrip(ms: number): void;
  /** Once. `bad_frame` and `frame_too_large` mean that the peer broke the protocol. */
  closed(reason: RingError): void;
}

export class ControlChannel {
  private readonly framed: FramedStream;
  private queuedMessages = 0;
  private isClosed = false;
  private readonly pace = new MessagePace();
  private lastHeardAt: number;
  /** Of the ping that is not answered yet. */
  private pingedAt: number | null = null;
  private measuredAt = Number.NEGATIVE_INFINITY;
  private measurements = 0;
  private cancelWatch: (() => void) | null = null;

  constructor(stream: Stream, peer: string, private readonly clock: Clock, private readonly events: ControlChannelEvents) {
    this.lastHeardAt = clock.now();
    acknowledgeLate(stream);
    this.framed = new FramedStream(stream, {
      clock, maxFrameBytes: MAX_CONTROL_FRAME_BYTES, highWaterBytes: HIGH_WATER_BYTES, what: `the control channel to ${peer}`,
      onMalformed: (error) => this.end(error),
    });
    this.framed.onIdle(() => {
      this.queuedMessages = 0;
    });
    this.framed.onClose((failure) => this.end(failure ?? new RingError('peer_lost', 'the control channel was closed')));
  }

  /** Starts to deliver messages. */
  start(): void {
    this.watch();
    this.read().catch((error: unknown) => {
      this.end(error instanceof RingError ? error : new RingError('internal', errorMessageOf(error), {}, { cause: error }));
    });
  }

  /** False when the channel is closed, or full: then it is closed now. */
  send(message: ControlMessage): boolean {
    if (this.isClosed || !this.framed.writable) return false;
    const bytes = encodeControl(message);
    if (bytes.byteLength > MAX_CONTROL_FRAME_BYTES) {
      throw new RingError('frame_too_large', `a ${message.kind} message of ${bytes.byteLength} bytes does not fit the control channel (${MAX_CONTROL_FRAME_BYTES})`);
    }
    return this.sendBytes(bytes);
  }

  private sendBytes(bytes: Uint8Array): boolean {
    const queued = this.framed.unsentBytes;
    if (queued > 0 && (queued + bytes.byteLength > MAX_QUEUED_BYTES || this.queuedMessages >= MAX_QUEUED_MESSAGES)) {
      this.end(new RingError('queue_full', `the peer does not take its messages: ${this.queuedMessages} of them (${queued} bytes) are waiting`));
      return false;
    }
    try {
      this.queuedMessages++;
      this.framed.send([bytes]);
      if (this.framed.unsentBytes === 0) this.queuedMessages = 0;
      return true;
    } catch (error) {
      this.end(error instanceof RingError ? error : new RingError('peer_lost', errorMessageOf(error), {}, { cause: error }));
      return false;
    }
  }

  close(): void {
    this.isClosed = true;
    this.cancelWatch?.();
    this.framed.close();
  }

  private async read(): Promise<void> {
    for await (const frame of this.framed.frames()) {
      this.lastHeardAt = this.clock.now();
      await this.keepPace(frame.byteLength);
      const message = decodeControl(frame);
      if (this.isClosed) return;
      if (message.kind === 'ping') this.sendBytes(encodeSignal({ kind: 'pong' }));
      else if (message.kind === 'pong') this.answered();
      else this.events.message(message);
    }
    this.end(new RingError('peer_lost', 'the other side closed the control channel'));
  }

  /** What is not read meanwhile holds up the peer. Throws `bad_frame` when it floods us. */
  private async keepPace(bytes: number): Promise<void> {
    const verdict = this.pace.count(bytes, this.clock.now());
    switch (verdict.kind) {
      case 'go_on':
        return;
      case 'yield':
        return this.pause(0);
      case 'wait':
        await this.pause(verdict.waitMs);
        this.lastHeardAt = this.clock.now();
        return;
      case 'flood':
        throw new RingError('bad_frame', `the peer floods us with messages, for ${MAX_FULL_WINDOWS * WINDOW_MS} ms without a break`);
    }
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(delayMs, resolve));
  }

  private watch(): void {
    const expectedAt = this.clock.now() + WATCH_INTERVAL_MS;
    this.cancelWatch = this.clock.after(WATCH_INTERVAL_MS, () => {
      const now = this.clock.now();
      if (now - expectedAt > OWN_STALL_MS) this.lastHeardAt = Math.max(this.lastHeardAt, now - PING_AFTER_MS);
      const silentMs = now - this.lastHeardAt;
      if (silentMs >= DEAD_AFTER_MS) {
        this.end(new RingError('peer_lost', `nothing was heard for ${Math.round(silentMs)} ms`));
        return;
      }
      const isYoung = this.measurements < FIRST_MEASUREMENTS && this.pingedAt === null;
      const isDue = silentMs >= PING_AFTER_MS || isYoung || now - this.measuredAt >= MEASURE_INTERVAL_MS;
      if (isDue && this.framed.writable) this.ping(now);
      if (!this.isClosed) this.watch();
    });
  }

  private ping(now: number): void {
    this.pingedAt ??= now;
    this.measuredAt = now;
    this.sendBytes(encodeSignal({ kind: 'ping' }));
  }

  private answered(): void {
    if (this.pingedAt === null) return;
    this.events.roundTrip(this.clock.now() - this.pingedAt);
    this.measurements += 1;
    this.pingedAt = null;
  }

  private end(reason: RingError): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.cancelWatch?.();
    this.framed.close(reason);
    this.events.closed(reason);
  }
}
