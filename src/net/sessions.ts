/**
 * Connected peers: a peer is one once the hellos were exchanged and the control channel is open, and stops being one when
 * any of that ends. Decides between two connections to one peer, and between a restart and a clone.
 *
 * It must not dial or discover (net/dialer.ts) and must not know what messages mean.
 */
import type { Connection, Stream } from '@libp2p/interface';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { ControlMessage } from '../core/messages.js';
import type { LinkFigures, NodeId } from '../core/types.js';
import type { Clock, Log } from '../ports.js';
import type { Hello } from '../wire/record-codec.js';
import { dialable, withoutPeerId } from './addresses.js';
import { CONTROL_PROTOCOL, ControlChannel } from './control-channel.js';
import { answerHello, HELLO_TIMEOUT_MS, judgeHello, sayHello } from './hello.js';
import { LinkMeter } from './link-meter.js';
import type { Refusals } from './refusals.js';

/** A caller that has not said hello by then is cut off. */
const ACCEPT_TIMEOUT_MS = 2 * HELLO_TIMEOUT_MS;
/** Lets a refusal's hello reach the other side before the connection ends. */
const REFUSAL_GRACE_MS = 500;
/** Protocol violations of one peer before it is shut out. */
const MAX_OFFENCES = 5;
const SHUT_OUT_MS = 600_000;
const MAX_OFFENDERS = 256;
const MAX_BULK_ADDRESSES = 4;
/** One that we dialled, one that the peer dialled, and room for a change. */
const MAX_FURTHER_CONNECTIONS = 4;

interface Session {
  readonly nodeId: NodeId;
  readonly hello: Hello;
  readonly connection: Connection;
  readonly channel: ControlChannel;
  readonly meter: LinkMeter;
  /** The connection for weights that we dialled: under way, or there. */
  bulk: Promise<Connection> | null;
  /** All further connections of this peer, whoever dialled them; they end with the session. */
  readonly further: Set<Connection>;
}

interface Offender {
  count: number;
  lastAt: number;
}

export interface SessionsOptions {
  readonly self: NodeId;
  readonly clock: Clock;
  readonly log: Log;
  readonly refusals: Refusals;
  /** Our hello; the addresses in it change with the machine's networks. */
  readonly hello: () => Hello;
  readonly connected: (nodeId: NodeId, address: string, hello: Hello) => void;
  readonly disconnected: (nodeId: NodeId, reason: string) => void;
  readonly message: (from: NodeId, message: ControlMessage) => void;
  /** A peer broke the protocol; `count` is of its offences so far. */
  readonly offence: (nodeId: NodeId, reason: string, count: number) => void;
  /** Dials one address of a peer, whether or not there is a connection to it. */
  readonly dial: (address: string) => Promise<Connection>;
}

export class Sessions {
  private readonly sessions = new Map<NodeId, Session>();
  /** Peers whose hello is under way on a connection that we dialled. */
  private readonly introducing = new Set<NodeId>();
  /** Peers to which a connection for weights is being dialled. */
  private readonly dialingBulk = new Set<NodeId>();
  /** Hellos that were accepted, by connection id. */
  private readonly accepted = new Map<string, Hello>();
  private readonly offenders = new Map<NodeId, Offender>();
  private stopped = false;

  constructor(private readonly options: SessionsOptions) {}

  peers(): readonly NodeId[] {
    return [...this.sessions.keys()];
  }

  /** Ways that were measured since the peer connected. */
  links(): readonly LinkFigures[] {
    return [...this.sessions.values()].flatMap(({ nodeId, meter }) => {
      const figures = meter.figures();
      return figures === null ? [] : [{ nodeId, ...figures }];
    });
  }

  /** Bytes that came from the peer, and how long they were waited for. */
  transferred(nodeId: NodeId, bytes: number, ms: number): void {
    this.sessions.get(nodeId)?.meter.transfer(bytes, ms);
  }

  connection(nodeId: NodeId): Connection | null {
    return this.sessions.get(nodeId)?.connection ?? null;
  }

  /**
   * A connection of its own for weights, so that no message and no activation waits behind them. Falls back to the main
   * one when it cannot be made. Rejects with `peer_unreachable`.
   */
  async bulkConnection(nodeId: NodeId): Promise<Connection> {
    const session = this.sessions.get(nodeId);
    if (session === undefined) throw new RingError('peer_unreachable', `the node ${nodeId} is not connected`, { nodeId });
    // One attempt a session: behind a firewall every further one would cost its timeout.
    session.bulk ??= this.openBulk(session).catch((error: unknown) => {
      this.options.log.debug('no second connection for weights; the first is used', { nodeId, error: errorMessageOf(error) });
      return session.connection;
    });
    return session.bulk;
  }

  /** Connected, or about to be on a connection that we dialled: not to be dialled again. */
  isReached(nodeId: NodeId): boolean {
    return this.sessions.has(nodeId) || this.introducing.has(nodeId);
  }

  /** True when the peer at the other end was accepted by its hello: the condition for every other protocol. */
  isAccepted(connection: Connection): boolean {
    return this.accepted.has(connection.id);
  }

  send(to: NodeId, message: ControlMessage): boolean {
    return this.sessions.get(to)?.channel.send(message) ?? false;
  }

  /** For libp2p's `connection:open`. */
  opened(connection: Connection): void {
    if (this.stopped) {
      this.hangUp(connection, 'the agent stops');
      return;
    }
    const nodeId = connection.remotePeer.toString();
    if (connection.direction === 'outbound') {
      if (this.dialingBulk.has(nodeId)) return;
      if (this.isReached(nodeId)) this.hangUp(connection, 'there is a connection to this peer already');
      else this.introduce(connection, nodeId);
      return;
    }
    const cancel = this.options.clock.after(ACCEPT_TIMEOUT_MS, () => {
      if (!this.isAccepted(connection)) this.hangUp(connection, 'no hello came');
    });
    connection.addEventListener('close', cancel);
  }

  /** For libp2p's `connection:close`. */
  closed(connection: Connection): void {
    this.accepted.delete(connection.id);
    const nodeId = connection.remotePeer.toString();
    const session = this.sessions.get(nodeId);
    if (session?.connection.id === connection.id) this.end(session, 'the connection was lost');
    else if (session?.further.delete(connection) === true) session.bulk = null;
  }

  /** Handler of the hello protocol. */
  async onHello(stream: Stream, connection: Connection): Promise<void> {
    const nodeId = connection.remotePeer.toString();
    const own = this.options.hello();
    // Both dialled at once: the connection of the smaller id stays, and its dialler does not even answer on the other.
    if (this.options.self < nodeId && this.introducing.has(nodeId)) {
      this.hangUp(connection, 'both sides dialled; the other connection stays');
      return;
    }
    try {
      const theirs = await answerHello(stream, own, this.options.clock);
      if (!this.judge(theirs, connection, nodeId)) return;
      const session = this.sessions.get(nodeId);
      if (!theirs.bulk) this.accepted.set(connection.id, theirs);
      else if (session?.hello.nonce === theirs.nonce) this.addFurther(session, connection, theirs);
      else this.hangUp(connection, 'a connection for weights without a main one');
    } catch (error) {
      this.offended(nodeId, connection, error);
    }
  }

  /** Handler of the control protocol: the dialler opens it when it has accepted our hello. */
  onControl(stream: Stream, connection: Connection): void {
    const hello = this.accepted.get(connection.id);
    if (hello === undefined || hello.bulk) {
      stream.abort(new Error('a hello comes first'));
      return;
    }
    this.establish(stream, connection, hello);
  }

  /** A peer broke the protocol (`bad_frame`, `frame_too_large`): counted, and its connection ended. Other errors are not its fault. */
  offended(nodeId: NodeId, connection: Connection, error: unknown): void {
    const reason = errorMessageOf(error);
    if (error instanceof RingError && (error.code === 'bad_frame' || error.code === 'frame_too_large')) {
      const count = this.countOffence(nodeId);
      this.options.log.warn('a peer broke the protocol and is dropped', { nodeId, offences: count, error: reason });
      this.options.offence(nodeId, reason, count);
      if (count >= MAX_OFFENCES) this.refuseOffender(nodeId, addressOf(connection), reason);
    }
    const session = this.sessions.get(nodeId);
    if (session?.connection.id === connection.id) this.end(session, reason);
    else this.hangUp(connection, reason);
  }

  /**
   * Something else is wrong with what a connected peer sent, or claims: counted as an offence. `atOnce` ends its connection
   * now; otherwise the last of many does.
   */
  accuse(nodeId: NodeId, reason: string, atOnce: boolean): void {
    const session = this.sessions.get(nodeId);
    if (session === undefined) return;
    const error = new RingError('bad_frame', reason);
    if (atOnce || (this.offenders.get(nodeId)?.count ?? 0) >= MAX_OFFENCES - 1) {
      this.offended(nodeId, session.connection, error);
      return;
    }
    const count = this.countOffence(nodeId);
    this.options.log.warn('a peer is not what it says', { nodeId, offences: count, error: reason });
    this.options.offence(nodeId, reason, count);
  }

  stop(): void {
    this.stopped = true;
    for (const session of this.sessions.values()) session.channel.close();
    this.sessions.clear();
  }

  private introduce(connection: Connection, nodeId: NodeId): void {
    this.introducing.add(nodeId);
    this.greet(connection, nodeId)
      .catch((error: unknown) => {
        this.options.log.debug('a peer was reached but did not say hello', { nodeId, address: addressOf(connection), error: errorMessageOf(error) });
        this.offended(nodeId, connection, error);
      })
      .finally(() => this.introducing.delete(nodeId));
  }

  private async greet(connection: Connection, nodeId: NodeId): Promise<void> {
    const theirs = await sayHello(connection, this.options.hello(), this.options.clock);
    if (!this.judge(theirs, connection, nodeId)) return;
    this.accepted.set(connection.id, theirs);
    const stream = await connection.newStream(CONTROL_PROTOCOL, { signal: AbortSignal.timeout(HELLO_TIMEOUT_MS) });
    this.establish(stream, connection, theirs);
  }

  private async openBulk(session: Session): Promise<Connection> {
    const { nodeId } = session;
    // Where we dialled it is where it answers; a peer that called us says where it listens.
    const addresses = session.connection.direction === 'outbound' ? [addressOf(session.connection)] : dialable(session.hello.addresses);
    let failure: unknown = new Error('the peer listens nowhere');
    this.dialingBulk.add(nodeId);
    try {
      for (const address of addresses.slice(0, MAX_BULK_ADDRESSES)) {
        try {
          return await this.greetBulk(session, await this.options.dial(address));
        } catch (error) {
          failure = error;
        }
      }
      throw failure;
    } finally {
      this.dialingBulk.delete(nodeId);
    }
  }

  private async greetBulk(session: Session, connection: Connection): Promise<Connection> {
    try {
      const theirs = await sayHello(connection, { ...this.options.hello(), bulk: true }, this.options.clock);
      if (this.sessions.get(session.nodeId) !== session || connection.remotePeer.toString() !== session.nodeId || theirs.nonce !== session.hello.nonce) {
        throw new Error('somebody else answers there now');
      }
      this.addFurther(session, connection, theirs);
      return connection;
    } catch (error) {
      this.hangUp(connection, errorMessageOf(error));
      throw error;
    }
  }

  private addFurther(session: Session, connection: Connection, hello: Hello): void {
    if (session.further.size >= MAX_FURTHER_CONNECTIONS) {
      this.hangUp(connection, 'too many connections of one peer');
      return;
    }
    this.accepted.set(connection.id, hello);
    session.further.add(connection);
  }

  /** True when the peer may go on. Otherwise its refusal is recorded and the connection will end. */
  private judge(theirs: Hello, connection: Connection, nodeId: NodeId): boolean {
    const address = addressOf(connection);
    const offender = this.offenders.get(nodeId);
    if (offender !== undefined && offender.count >= MAX_OFFENCES) {
      if (this.options.clock.now() - offender.lastAt < SHUT_OUT_MS) {
        this.refuseOffender(nodeId, address, 'it broke the protocol again and again');
        this.hangUp(connection, 'the peer is shut out');
        return false;
      }
      this.offenders.delete(nodeId);
    }
    const refused = judgeHello(this.options.hello(), theirs, { nodeId, address }) ?? this.cloneOf(theirs, address);
    if (refused === null) return true;
    this.options.refusals.add(refused);
    const { direction } = connection;
    if (direction === 'outbound') this.hangUp(connection, refused.message);
    else this.options.clock.after(REFUSAL_GRACE_MS, () => this.hangUp(connection, refused.message));
    return false;
  }

  /** Two processes with one key: the same id as a live session, another nonce, and no later start. */
  private cloneOf(theirs: Hello, address: string): Parameters<Refusals['add']>[0] | null {
    const session = this.sessions.get(theirs.nodeId);
    if (session === undefined || session.hello.nonce === theirs.nonce || theirs.incarnation > session.hello.incarnation) return null;
    return {
      nodeId: theirs.nodeId,
      address,
      code: 'cloned_identity',
      message: `two agents use the identity of node ${theirs.nodeId}: one at ${addressOf(session.connection)}, one at ${address}. Was the state directory copied? Delete identity.key in one of them and start that agent again`,
    };
  }

  private establish(stream: Stream, connection: Connection, hello: Hello): void {
    const nodeId = connection.remotePeer.toString();
    const existing = this.sessions.get(nodeId);
    if (this.stopped) {
      this.hangUp(connection, 'the agent stops');
      return;
    }
    if (existing !== undefined) {
      if (existing.hello.nonce === hello.nonce && this.prefers(existing.connection, connection)) {
        this.hangUp(connection, 'there is a better connection to this peer');
        return;
      }
      this.end(existing, existing.hello.nonce === hello.nonce ? 'it connected anew' : 'it restarted');
    }
    const meter = new LinkMeter();
    const channel = new ControlChannel(stream, nodeId, this.options.clock, {
      roundTrip: (ms) => meter.roundTrip(ms),
      message: (message) => this.options.message(nodeId, message),
      closed: (reason) => this.offended(nodeId, connection, reason),
    });
    this.sessions.set(nodeId, { nodeId, hello, connection, channel, meter, bulk: null, further: new Set() });
    this.options.refusals.clear(nodeId);
    this.options.connected(nodeId, addressOf(connection), hello);
    channel.start();
  }

  /** Of two live connections both sides must keep the same: the one that the smaller id dialled; of two such, the newer. */
  private prefers(old: Connection, fresh: Connection): boolean {
    return this.dialledBySmaller(old) && !this.dialledBySmaller(fresh);
  }

  private dialledBySmaller(connection: Connection): boolean {
    return (connection.direction === 'outbound') === (this.options.self < connection.remotePeer.toString());
  }

  private end(session: Session, reason: string): void {
    if (this.sessions.get(session.nodeId) !== session) return;
    this.sessions.delete(session.nodeId);
    session.channel.close();
    this.hangUp(session.connection, reason);
    for (const connection of session.further) this.hangUp(connection, reason);
    this.options.disconnected(session.nodeId, reason);
  }

  private hangUp(connection: Connection, reason: string): void {
    this.accepted.delete(connection.id);
    if (connection.status !== 'open') return;
    try {
      connection.abort(new Error(reason));
    } catch (error) {
      // The goodbye could not be sent because the other side closed first: the connection is gone either way.
      this.options.log.debug('a connection closed before it was cut', { reason, error: errorMessageOf(error) });
    }
  }

  private countOffence(nodeId: NodeId): number {
    const now = this.options.clock.now();
    const offender = this.offenders.get(nodeId) ?? { count: 0, lastAt: now };
    offender.count++;
    offender.lastAt = now;
    this.offenders.set(nodeId, offender);
    const [oldest] = this.offenders.keys();
    if (this.offenders.size > MAX_OFFENDERS && oldest !== undefined) this.offenders.delete(oldest);
    return offender.count;
  }

  private refuseOffender(nodeId: NodeId, address: string, why: string): void {
    this.options.refusals.add({
      nodeId, address, code: 'misbehaved',
      message: `the node ${nodeId} at ${address} sent what no agent of this version sends (${why}) ${MAX_OFFENCES} times and is shut out for ${SHUT_OUT_MS / 60_000} minutes: check which program runs there`,
    });
  }
}

function addressOf(connection: Connection): string {
  return withoutPeerId(connection.remoteAddr);
}
