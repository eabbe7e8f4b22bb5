/**
 * The one long-lived stream of a pair of peers, for control messages. Sending never blocks and never queues without bound:
 * a peer that does not take its messages is dropped, because a late heartbeat is worth nothing.
 *
 * It must not know what the messages mean.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { ControlMessage } from '../core/messages.js';
import type { Clock } from '../ports.js';
import { decodeControl, encodeControl } from '../wire/control-codec.js';
import { FramedStream } from './framed-stream.js';
import type { Stream } from '@libp2p/interface';

export const CONTROL_PROTOCOL = '/ring-agent/control/1';
export const MAX_CONTROL_FRAME_BYTES = 4 * 1024 * 1024;
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
const MAX_QUEUED_MESSAGES = 4096;
const HIGH_WATER_BYTES = 1024 * 1024;

export interface ControlChannelEvents {
  message(message: ControlMessage): void;
  /** Once. `bad_frame` and `frame_too_large` mean that the peer broke the protocol. */
  closed(reason: RingError): void;
}

export class ControlChannel {
  private readonly framed: FramedStream;
  private queuedMessages = 0;
  private isClosed = false;

  constructor(stream: Stream, peer: string, clock: Clock, private readonly events: ControlChannelEvents) {
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
    this.framed.close();
  }

  private async read(): Promise<void> {
    for await (const frame of this.framed.frames()) {
      const message = decodeControl(frame);
      if (this.isClosed) return;
      this.events.message(message);
    }
    this.end(new RingError('peer_lost', 'the other side closed the control channel'));
  }

  private end(reason: RingError): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.framed.close(reason);
    this.events.closed(reason);
  }
}
