/**
 * The network between simulated agents (ports.ts, `Network`), with the manners of net/: sessions that each end notices by
 * itself, one ordered stream of control messages, a stream for each edge of the ring, requests for weights.
 *
 * A cut holds back what is under way, as TCP does; when it heals in time, late words arrive. Streams of one connection may
 * overtake each other. Delays are drawn from the world's generator.
 */
import { RingError } from '../../src/core/errors.js';
import type { ControlMessage } from '../../src/core/messages.js';
import type { NodeId } from '../../src/core/types.js';
import type { FrameLink, ModelLibrary, Network, PeerEvents, RingEdge, TensorContent, WeightsHeader } from '../../src/ports.js';
import { FakeLink, Pipe } from './fake-link.js';
import type { Air, LinkEnd } from './fake-link.js';
import type { FakeProcess } from './fake-process.js';

/** As net/control-channel.ts. */
const WATCH_INTERVAL_MS = 250;
const PING_AFTER_MS = 400;
const DEAD_AFTER_MS = 1_250;
const OWN_STALL_MS = 250;
const OPEN_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const CHUNK_BYTES = 1_000;

/** One side of a connection. */
interface End extends LinkEnd {
  readonly peer: NodeId;
  readonly network: FakeNetwork;
  open: boolean;
  established: boolean;
  lastHeardMs: number;
  other: End | null;
  control: Pipe | null;
  readonly requests: Set<(error: RingError) => void>;
}

export class FakeNetwork implements Network {
  private readonly sessions = new Map<NodeId, End>();
  private stopped = false;
  private received = 0;

  constructor(
    readonly nodeId: NodeId,
    private readonly address: string,
    private readonly process: FakeProcess,
    private readonly air: Air,
    private readonly events: PeerEvents,
    private readonly library: ModelLibrary,
  ) {
    this.watch();
  }

  get isStopped(): boolean {
    return this.stopped;
  }

  addresses(): readonly string[] {
    return [this.address];
  }

  peers(): readonly NodeId[] {
    return [...this.sessions.keys()];
  }

  refused(): readonly never[] {
    return [];
  }

  introduce(): void {
    // Everybody finds everybody (agent-world.ts).
  }

  links(): readonly never[] {
    return [];
  }

  weightBytesReceived(): number {
    return this.received;
  }

  send(to: NodeId, message: ControlMessage): boolean {
    const end = this.sessions.get(to);
    if (end === undefined || !end.open || end.other === null || this.process.isDead) return false;
    this.air.sent(this.nodeId, message);
    const { other } = end;
    end.control?.push(() => other.network.hear(other, message));
    return true;
  }

  async openRingLink(to: NodeId, edge: RingEdge): Promise<FrameLink> {
    const end = this.sessions.get(to);
    if (end?.other === null || end === undefined) throw new RingError('peer_unreachable', `the node ${to} is not connected`);
    const { other } = end;
    const link = new FakeLink(this.air, edge, end, other);
    const open = new Pipe(this.air, this.nodeId, other);
    end.pipes.add(open);
    try {
      await this.answered<undefined>(end, OPEN_TIMEOUT_MS, (resolve, reject) => {
        open.push(() => other.network.offer(other, end, link, (refusal) => (refusal === null ? resolve(undefined) : reject(refusal))));
      });
      return link;
    } catch (error) {
      link.close(new Error('it was not opened'));
      throw error;
    } finally {
      end.pipes.delete(open);
    }
  }

  async fetchHeader(from: NodeId, modelDigest: string, signal: AbortSignal): Promise<WeightsHeader> {
    const header = await this.ask(from, signal, (library) => library.header(modelDigest));
    if (header === null) throw new RingError('unknown_model', `node ${from} does not hold it`);
    return header;
  }

  async fetchTensor(from: NodeId, modelDigest: string, tensorName: string, signal: AbortSignal): Promise<TensorContent> {
    const content = await this.ask(from, signal, (library) => library.tensor(modelDigest, tensorName));
    if (content === null) throw new RingError('unknown_model', `node ${from} does not hold ${tensorName}`);
    const { ask } = this;
    const count = (bytes: number): void => {
      this.received += bytes;
    };
    return {
      sizeBytes: content.sizeBytes,
      digest: content.digest,
      read: async function* read(this: void) {
        await ask(from, signal, async () => null);
        count(CHUNK_BYTES);
        yield new Uint8Array(CHUNK_BYTES);
      },
    };
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const end of [...this.sessions.values()]) this.closeEnd(end, 'this agent stops', true);
  }

  // What the world does to it.

  /** Two agents found each other: whoever dialled is there first. */
  static connect(air: Air, dialler: FakeNetwork, acceptor: FakeNetwork): void {
    const left = dialler.newEnd(acceptor.nodeId);
    const right = acceptor.newEnd(dialler.nodeId);
    left.other = right;
    right.other = left;
    left.control = dialler.newPipe(air, left, right);
    right.control = acceptor.newPipe(air, right, left);
    left.control.push(() => acceptor.establish(right, dialler.address));
    dialler.process.enter(() => dialler.establish(left, acceptor.address));
  }

  /** Whether it has an open session whose other side is open too. */
  isJoinedTo(other: FakeNetwork): boolean {
    const end = this.sessions.get(other.nodeId);
    return end?.open === true && end.other?.open === true && end.other.network === other;
  }

  /** The process is gone. `loudly`: its kernel tells the peers. */
  vanish(loudly: boolean): void {
    for (const end of [...this.sessions.values()]) {
      end.open = false;
      if (loudly) this.tellClosed(end);
    }
  }

  /** The connection to a peer is reset on both sides. */
  reset(peer: NodeId): void {
    const end = this.sessions.get(peer);
    if (end === undefined) return;
    this.process.enter(() => this.closeEnd(end, 'the connection was reset', true));
  }

  openLinks(): readonly FakeLink[] {
    return [...this.sessions.values()].flatMap(({ links }) => [...links]);
  }

  /** One stream breaks, its connection stays. */
  static breakLink(link: FakeLink): void {
    const { other } = link;
    link.fail(new RingError('peer_lost', 'the stream was lost'));
    other?.fail(new RingError('peer_lost', 'the stream was lost'));
  }

  /** The way to a peer may be free again. */
  retry(peer: NodeId, atMs: number): void {
    const end = this.sessions.get(peer);
    if (end === undefined) return;
    for (const pipe of end.pipes) pipe.pumpAt(atMs);
  }

  // Sessions.

  private newEnd(peer: NodeId): End {
    return {
      nodeId: this.nodeId, peer, network: this, process: this.process, open: true, established: false, lastHeardMs: 0, other: null,
      pipes: new Set(), control: null, links: new Set(), requests: new Set(),
    };
  }

  private newPipe(air: Air, from: End, to: End): Pipe {
    const pipe = new Pipe(air, from.nodeId, to);
    from.pipes.add(pipe);
    return pipe;
  }

  private establish(end: End, address: string): void {
    if (this.stopped || !end.open) {
      end.open = false;
      this.tellClosed(end);
      return;
    }
    const existing = this.sessions.get(end.peer);
    if (existing !== undefined) this.closeEnd(existing, existing.other?.process === end.other?.process ? 'it connected anew' : 'it restarted', true);
    end.established = true;
    end.lastHeardMs = this.process.clock.now();
    this.sessions.set(end.peer, end);
    this.air.note(`${this.nodeId} is connected to ${end.peer}`);
    this.events.connected(end.peer, address);
  }

  private hear(end: End, message: ControlMessage | 'ping' | 'pong'): void {
    if (!end.open || !end.established) return;
    end.lastHeardMs = this.process.clock.now();
    if (message === 'ping') {
      const { other } = end;
      if (other !== null) end.control?.push(() => other.network.hear(other, 'pong'));
    } else if (message !== 'pong') {
      this.events.message(end.peer, message);
    }
  }

  private watch(): void {
    const expectedMs = this.process.clock.now() + WATCH_INTERVAL_MS;
    this.process.clock.after(WATCH_INTERVAL_MS, () => {
      if (this.stopped) return;
      const nowMs = this.process.clock.now();
      for (const end of [...this.sessions.values()]) {
        if (nowMs - expectedMs > OWN_STALL_MS) end.lastHeardMs = Math.max(end.lastHeardMs, nowMs - PING_AFTER_MS);
        const silentMs = nowMs - end.lastHeardMs;
        if (silentMs >= DEAD_AFTER_MS) this.closeEnd(end, `nothing was heard for ${silentMs} ms`, true);
        else if (silentMs >= PING_AFTER_MS) {
          const { other } = end;
          if (other !== null) end.control?.push(() => other.network.hear(other, 'ping'));
        }
      }
      this.watch();
    });
  }

  private closeEnd(end: End, reason: string, tell: boolean): void {
    if (!end.open) return;
    end.open = false;
    for (const link of [...end.links]) link.fail(new RingError('peer_lost', `the connection was lost: ${reason}`));
    for (const reject of [...end.requests]) reject(new RingError('peer_lost', `the connection to ${end.peer} was lost`));
    if (tell) this.tellClosed(end);
    if (this.sessions.get(end.peer) !== end) return;
    this.sessions.delete(end.peer);
    this.air.note(`${this.nodeId} is no longer connected to ${end.peer}: ${reason}`);
    this.events.disconnected(end.peer, reason);
  }

  /** The other side hears of it, unless the way is cut: then it finds out by itself. */
  private tellClosed(end: End): void {
    const { other } = end;
    for (const pipe of end.pipes) pipe.close();
    if (other === null) return;
    const closing = new Pipe(this.air, end.nodeId, other);
    closing.push(() => other.network.closeEnd(other, 'the connection was lost', false));
    other.pipes.add(closing);
  }

  // Streams.

  private offer(end: End, from: End, theirs: FakeLink, answer: (refusal: RingError | null) => void): void {
    if (!end.open || !end.established) return;
    const link = new FakeLink(this.air, theirs.edge, end, from);
    link.other = theirs;
    theirs.other = link;
    link.offered = false;
    let refusal: RingError | null = null;
    try {
      this.events.ringLink(from.nodeId, theirs.edge, link);
      if (link.closed) refusal = link.closeReason instanceof RingError ? link.closeReason : new RingError('not_ready', 'the edge of the ring is not wanted here');
    } catch (error) {
      refusal = error instanceof RingError ? error : new RingError('internal', String(error));
    }
    link.offered = true;
    if (refusal !== null) end.links.delete(link);
    const back = this.newPipe(this.air, end, from);
    back.push(() => answer(refusal));
  }

  /** Asks a peer's library; the answer comes back through its own network. */
  private readonly ask = async <T>(from: NodeId, signal: AbortSignal, question: (library: ModelLibrary) => Promise<T>): Promise<T> => {
    const end = this.sessions.get(from);
    if (end?.other === null || end === undefined) throw new RingError('peer_unreachable', `the node ${from} is not connected`);
    signal.throwIfAborted();
    const { other } = end;
    const there = this.newPipe(this.air, end, other);
    const back = other.network.newPipe(this.air, other, end);
    let stop: () => void = () => undefined;
    try {
      return await this.answered<T>(end, REQUEST_TIMEOUT_MS, (resolve, reject) => {
        const onAbort = (): void => reject(new RingError('cancelled', 'it is no longer wanted'));
        signal.addEventListener('abort', onAbort, { once: true });
        stop = () => signal.removeEventListener('abort', onAbort);
        there.push(() => {
          question(other.network.library).then(
            (answer) => back.push(() => resolve(answer)),
            () => back.push(() => reject(new RingError('peer_lost', 'the peer could not answer'))),
          );
        });
      });
    } finally {
      stop();
      there.close();
      back.close();
      end.pipes.delete(there);
      other.pipes.delete(back);
    }
  };

  /** An answer on this connection, or its end, or the deadline. */
  private async answered<T>(end: End, timeoutMs: number, start: (resolve: (value: T) => void, reject: (error: RingError) => void) => void): Promise<T> {
    let fail: (error: RingError) => void = () => undefined;
    let cancel: () => void = () => undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        fail = reject;
        end.requests.add(fail);
        cancel = this.process.clock.after(timeoutMs, () => reject(new RingError('timeout', `node ${end.peer} does not answer`)));
        start(resolve, reject);
      });
    } finally {
      cancel();
      end.requests.delete(fail);
    }
  }
}
