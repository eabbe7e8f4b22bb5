/**
 * What travels between two simulated agents: ordered pipes that a cut holds up, the two ends of a connection, and an edge of
 * the ring as a stream of frames (ports.ts, `FrameLink`) with the manners of net/ring-link.ts.
 *
 * It must not know sessions: who is connected to whom, and since when, is fake-network.ts.
 */
import { RingError } from '../../src/core/errors.js';
import type { ControlMessage } from '../../src/core/messages.js';
import type { NodeId } from '../../src/core/types.js';
import type { FrameLink, RingEdge } from '../../src/ports.js';
import type { FakeProcess } from './fake-process.js';

const MAX_PENDING_SENDS = 64;
/** Frames under way on one edge before its sender has to wait. */
const WINDOW_FRAMES = 8;

/** What the network asks of the world. */
export interface Air {
  now(): number;
  at(atMs: number, run: () => void): void;
  /** Of one word on the way between the two. */
  delay(from: NodeId, to: NodeId): number;
  isCut(from: NodeId, to: NodeId): boolean;
  sent(from: NodeId, message: ControlMessage): void;
  note(text: string): void;
}

/** Ordered delivery one way. */
export class Pipe {
  private readonly waiting: { readonly atMs: number; readonly deliver: () => void }[] = [];
  private lastMs = 0;
  private closed = false;
  private pumping = false;

  constructor(private readonly air: Air, private readonly from: NodeId, private readonly to: LinkEnd, private readonly onDelivered: () => void = () => undefined) {}

  get underWay(): number {
    return this.waiting.length;
  }

  push(deliver: () => void, extraMs = 0): void {
    if (this.closed) return;
    this.lastMs = Math.max(this.lastMs, this.air.now() + this.air.delay(this.from, this.to.nodeId) + extraMs);
    this.waiting.push({ atMs: this.lastMs, deliver });
    this.pumpAt(this.lastMs);
  }

  close(): void {
    this.closed = true;
    this.waiting.length = 0;
  }

  /** The cut between the two may have healed. */
  pumpAt(atMs: number): void {
    if (this.pumping) return;
    this.pumping = true;
    this.air.at(atMs, () => {
      this.pumping = false;
      this.pump();
    });
  }

  private pump(): void {
    if (this.air.isCut(this.from, this.to.nodeId)) return;
    const first = this.waiting[0];
    if (first === undefined) return;
    if (first.atMs <= this.air.now()) {
      this.waiting.shift();
      this.to.process.enter(first.deliver);
      this.onDelivered();
    }
    const next = this.waiting[0];
    if (next !== undefined) this.pumpAt(Math.max(next.atMs, this.air.now()));
  }
}

/** One side of a connection, as far as pipes and links know it. */
export interface LinkEnd {
  readonly nodeId: NodeId;
  readonly process: FakeProcess;
  readonly pipes: Set<Pipe>;
  readonly links: Set<FakeLink>;
}

export class FakeLink implements FrameLink {
  readonly frames: AsyncIterable<Uint8Array>;
  other: FakeLink | null = null;
  private readonly received: Uint8Array[] = [];
  private wake: () => void = () => undefined;
  private ended = false;
  private failure: RingError | null = null;
  private readonly senders: { readonly resolve: () => void; readonly reject: (error: RingError) => void }[] = [];
  private pendingSends = 0;
  private readonly pipe: Pipe;
  closed = false;
  closeReason: Error | null = null;
  /** False while the acceptor's agent is being asked. */
  offered = true;

  constructor(air: Air, readonly edge: RingEdge, private readonly end: LinkEnd, to: LinkEnd) {
    this.pipe = new Pipe(air, end.nodeId, to, () => this.drain());
    end.pipes.add(this.pipe);
    end.links.add(this);
    this.frames = this.read();
  }

  async send(frame: Uint8Array): Promise<void> {
    if (this.pendingSends >= MAX_PENDING_SENDS) throw new RingError('queue_full', 'frames already wait on this edge of the ring');
    if (this.closed || this.failure !== null) throw this.failure ?? new RingError('peer_lost', 'the edge of the ring was closed on this side');
    this.pendingSends += 1;
    try {
      const copy = frame.slice();
      this.pipe.push(() => this.other?.arrive(copy));
      if (this.pipe.underWay > WINDOW_FRAMES) {
        await new Promise<void>((resolve, reject) => {
          this.senders.push({ resolve, reject });
        });
      }
    } finally {
      this.pendingSends -= 1;
    }
  }

  close(reason?: Error): void {
    if (this.closed) return;
    this.closed = true;
    this.closeReason = reason ?? null;
    this.received.length = 0;
    this.ended = true;
    this.wake();
    this.rejectSenders(new RingError('peer_lost', 'the edge was closed here'));
    if (!this.offered) return;
    if (reason === undefined) this.pipe.push(() => this.other?.endOfFrames());
    else this.pipe.push(() => this.other?.fail(new RingError('peer_lost', `the edge broke off: ${reason.message}`)));
    this.end.links.delete(this);
  }

  arrive(frame: Uint8Array): void {
    if (this.closed || this.failure !== null || this.ended) return;
    this.received.push(frame);
    this.wake();
  }

  fail(error: RingError): void {
    if (this.closed || this.failure !== null) return;
    this.failure = error;
    this.pipe.close();
    this.end.links.delete(this);
    this.rejectSenders(error);
    this.wake();
  }

  private endOfFrames(): void {
    if (this.closed) return;
    this.ended = true;
    this.wake();
  }

  private drain(): void {
    if (this.pipe.underWay <= WINDOW_FRAMES / 2) for (const sender of this.senders.splice(0)) this.end.process.enter(sender.resolve);
  }

  private rejectSenders(error: RingError): void {
    for (const sender of this.senders.splice(0)) sender.reject(error);
  }

  private async *read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const frame = this.received.shift();
      if (frame !== undefined) {
        yield frame;
        continue;
      }
      if (this.failure !== null) throw this.failure;
      if (this.ended) return;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}
