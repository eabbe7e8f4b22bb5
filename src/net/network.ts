/**
 * The network as the agent sees it (ports.ts), over libp2p: composition of discovery, dialling, sessions and the protocols.
 *
 * Who may be here at all is decided by the handshake (encryption.ts) and the hello (hello.ts); everything after that checks
 * `isAccepted` first. It must not know membership, plans or engines.
 */
import './polyfill.js';
import type { Connection, PeerInfo, Stream } from '@libp2p/interface';
import { multiaddr } from '@multiformats/multiaddr';
import type { Multiaddr } from '@multiformats/multiaddr';
import type { Libp2p } from 'libp2p';
import { networkInterfaces } from 'node:os';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { ControlMessage } from '../core/messages.js';
import type { LinkFigures, NodeId } from '../core/types.js';
import type { Clock, FrameLink, Log, Network, PeerEvents, RefusedPeer, RingEdge, TensorContent, WeightsHeader, WeightsProvider } from '../ports.js';
import { hostOfText, isLoopback, parsePeerAddress, withoutPeerId } from './addresses.js';
import { CONTROL_PROTOCOL } from './control-channel.js';
import { withDeadline } from './deadline.js';
import { Dialer } from './dialer.js';
import type { DialFailure } from './dialer.js';
import { isWrongPrologue } from './encryption.js';
import { HELLO_PROTOCOL } from './hello.js';
import type { Identity } from './identity.js';
import { MAX_STREAMS_PER_PEER, startLibp2pNode } from './libp2p-node.js';
import type { ListenAddress } from './libp2p-node.js';
import { plainAddress, Refusals } from './refusals.js';
import { RememberedPeers } from './remembered-peers.js';
import { ACTIVATION_PROTOCOL, acceptRingLink, openRingLink } from './ring-link.js';
import { clusterHash, noisePrologue } from './secret.js';
import { Sessions } from './sessions.js';
import { TransferSlots } from './transfer-slots.js';
import { describeTensor, fetchHeader, fetchTensorBytes, serveWeights, WEIGHTS_PROTOCOL } from './weights-exchange.js';

/** Callers that broke off the handshake this often probably have another secret. */
const SUSPICIOUS_BREAK_OFFS = 2;
const MAX_BREAK_OFF_HOSTS = 256;
const STOP_TIMEOUT_MS = 3000;
const BULK_DIAL_TIMEOUT_MS = 2000;

export interface NetworkOptions {
  readonly identity: Identity;
  readonly stateDir: string;
  readonly clusterName: string;
  /** From `readSecretFile`; null = an open cluster. */
  readonly secret: Uint8Array | null;
  readonly listen: ListenAddress;
  /** As people write them (`--peer`). */
  readonly peers: readonly string[];
  readonly noMdns: boolean;
  readonly agentVersion: string;
  readonly protocolMin: number;
  readonly protocolMax: number;
}

/** Starts to listen, discover and dial. Throws `port_in_use`, `bad_config` or `permission_denied`. */
export async function createNetwork(options: NetworkOptions, events: PeerEvents, weights: WeightsProvider, log: Log, clock: Clock): Promise<Network> {
  const given = options.peers.map(parsePeerAddress);
  const remembered = await RememberedPeers.load({ stateDir: options.stateDir, clock, log, wallClock: Date.now });
  const network = new Libp2pNetwork(options, events, weights, log, clock, remembered);
  await network.start();
  for (const peer of given) network.dialer.addGiven(peer);
  for (const peer of remembered.list()) network.dialer.addRemembered(peer.nodeId, peer.addresses);
  return network;
}

class Libp2pNetwork implements Network {
  readonly nodeId: NodeId;
  readonly dialer: Dialer;
  private readonly refusals: Refusals;
  private readonly sessions: Sessions;
  private readonly slots = new TransferSlots();
  private readonly breakOffs = new Map<string, number>();
  private readonly clusterHash: string;
  private node: Libp2p | null = null;
  private receivedBytes = 0;

  constructor(
    private readonly options: NetworkOptions,
    private readonly events: PeerEvents,
    private readonly weights: WeightsProvider,
    private readonly log: Log,
    private readonly clock: Clock,
    private readonly remembered: RememberedPeers,
  ) {
    this.nodeId = options.identity.nodeId;
    this.clusterHash = clusterHash(options.clusterName);
    this.refusals = new Refusals(clock, log);
    this.sessions = new Sessions({
      self: this.nodeId,
      clock,
      log,
      refusals: this.refusals,
      hello: () => this.hello(),
      connected: (nodeId, address, hello) => {
        // The address that works comes first: it is the one to try after a restart.
        const reachable = this.sessions.connection(nodeId)?.direction === 'outbound' ? [address, ...hello.addresses] : hello.addresses;
        this.dialer.connected(nodeId, reachable);
        this.remembered.remember(nodeId, reachable);
        this.events.connected(nodeId, address);
      },
      disconnected: (nodeId, reason) => {
        this.events.disconnected(nodeId, reason);
        this.dialer.disconnected(nodeId);
      },
      message: (from, message) => this.events.message(from, message),
      offence: (nodeId, reason, count) => this.events.offence?.(nodeId, reason, count),
      dial: (address) => this.connect(multiaddr(address), AbortSignal.timeout(BULK_DIAL_TIMEOUT_MS)),
    });
    this.dialer = new Dialer({
      self: this.nodeId,
      clock,
      log,
      dial: (address, signal) => this.dial(address, signal),
      isConnected: (nodeId) => this.sessions.isReached(nodeId),
      failed: (nodeId, address, error) => this.dialFailed(nodeId, address, error),
    });
  }

  async start(): Promise<void> {
    const { options } = this;
    const node = await startLibp2pNode({
      privateKey: options.identity.privateKey,
      listen: options.listen,
      prologue: noisePrologue(options.clusterName, options.secret),
      // Clusters of other names on this LAN are not even heard.
      mdnsServiceTag: options.noMdns ? null : `_ring-${this.clusterHash.slice(0, 12)}._tcp.local`,
      heard: (peer) => this.heard(peer),
      handshakeBrokenOff: (address) => this.handshakeBrokenOff(address),
    }, this.log);
    this.node = node;
    node.addEventListener('connection:open', (event) => this.sessions.opened(event.detail));
    node.addEventListener('connection:close', (event) => this.sessions.closed(event.detail));
    const limits = { maxInboundStreams: MAX_STREAMS_PER_PEER, maxOutboundStreams: MAX_STREAMS_PER_PEER };
    await node.handle(HELLO_PROTOCOL, (stream, connection) => void this.sessions.onHello(stream, connection), limits);
    await node.handle(CONTROL_PROTOCOL, (stream, connection) => this.sessions.onControl(stream, connection), limits);
    await node.handle(ACTIVATION_PROTOCOL, (stream, connection) => void this.onActivation(stream, connection), limits);
    await node.handle(WEIGHTS_PROTOCOL, (stream, connection) => void this.onWeights(stream, connection), limits);
    this.log.info('this agent listens for peers', { nodeId: this.nodeId, addresses: this.addresses(), mdns: !options.noMdns, secured: options.secret !== null });
  }

  addresses(): readonly string[] {
    return [...new Set((this.node?.getMultiaddrs() ?? []).map(withoutPeerId))];
  }

  peers(): readonly NodeId[] {
    return this.sessions.peers();
  }

  refused(): readonly RefusedPeer[] {
    return this.refusals.list();
  }

  send(to: NodeId, message: ControlMessage): boolean {
    return this.sessions.send(to, message);
  }

  async openRingLink(to: NodeId, edge: RingEdge): Promise<FrameLink> {
    const connection = this.connection(to);
    return this.named(to, openRingLink(connection, edge, this.context(connection)));
  }

  async fetchHeader(from: NodeId, modelDigest: string, signal: AbortSignal): Promise<WeightsHeader> {
    return this.slots.run(from, signal, async () => {
      const connection = await this.sessions.bulkConnection(from);
      return this.named(from, fetchHeader(connection, modelDigest, signal, this.context(connection)));
    });
  }

  async fetchTensor(from: NodeId, modelDigest: string, tensorName: string, signal: AbortSignal): Promise<TensorContent> {
    const tensor = { modelDigest, name: tensorName };
    const described = await this.slots.run(from, signal, async () => {
      const connection = await this.sessions.bulkConnection(from);
      return this.named(from, describeTensor(connection, tensor, signal, this.context(connection)));
    });
    const reject = (): void => this.sessions.accuse(from, `the bytes that it sent of tensor ${tensorName} are not those that it announced`, false);
    return { ...described, reject, read: (offset) => this.readTensor(from, { ...tensor, ...described, offset }, signal) };
  }

  introduce(nodeId: NodeId, addresses: readonly string[]): void {
    if (nodeId !== this.nodeId && !this.peers().includes(nodeId)) this.dialer.heard(nodeId, addresses);
  }

  accuse(nodeId: NodeId, reason: string): void {
    this.sessions.accuse(nodeId, reason, true);
  }

  links(): readonly LinkFigures[] {
    return this.sessions.links();
  }

  weightBytesReceived(): number {
    return this.receivedBytes;
  }

  async stop(): Promise<void> {
    this.dialer.stop();
    this.sessions.stop();
    await this.remembered.close();
    const { node } = this;
    if (node === null) return;
    this.node = null;
    // Orderly, but not for ever: a peer that does not answer must not hold up an agent that wants to leave.
    try {
      await withDeadline(Promise.resolve(node.stop()), { clock: this.clock, timeoutMs: STOP_TIMEOUT_MS, what: 'peers do not close their connections' });
    } catch (error) {
      this.log.warn('the network did not stop in order', { error: errorMessageOf(error) });
    }
  }

  private async *readTensor(from: NodeId, tensor: Parameters<typeof fetchTensorBytes>[1], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const release = await this.slots.take(from, signal);
    try {
      const connection = await this.sessions.bulkConnection(from);
      let bytes = 0;
      let waitedMs = 0;
      let askedAt = this.clock.now();
      for await (const part of fetchTensorBytes(connection, tensor, signal, this.context(connection))) {
        waitedMs += this.clock.now() - askedAt;
        bytes += part.byteLength;
        this.receivedBytes += part.byteLength;
        yield part;
        askedAt = this.clock.now();
      }
      this.sessions.transferred(from, bytes, waitedMs);
    } catch (error) {
      throw this.peerError(from, error);
    } finally {
      release();
    }
  }

  private connection(to: NodeId): Connection {
    const connection = this.sessions.connection(to);
    if (connection === null) throw new RingError('peer_unreachable', `the node ${to} is not connected`, { nodeId: to });
    return connection;
  }

  private context(connection: Connection): { clock: Clock; onMalformed: (error: RingError) => void } {
    return { clock: this.clock, onMalformed: (error) => this.sessions.offended(connection.remotePeer.toString(), connection, error) };
  }

  private async named<T>(peer: NodeId, promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (error) {
      throw this.peerError(peer, error);
    }
  }

  /** libp2p's errors are nothing that callers should tell apart. */
  private peerError(peer: NodeId, error: unknown): RingError {
    if (error instanceof RingError) return error;
    if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) {
      return new RingError('timeout', `the node ${peer} does not answer: ${error.message}`, { nodeId: peer }, { cause: error });
    }
    return new RingError('peer_lost', `the exchange with node ${peer} broke off: ${errorMessageOf(error)}`, { nodeId: peer }, { cause: error });
  }

  private async onActivation(stream: Stream, connection: Connection): Promise<void> {
    const from = connection.remotePeer.toString();
    if (!this.sessions.isAccepted(connection)) {
      stream.abort(new Error('a hello comes first'));
      return;
    }
    try {
      await acceptRingLink(stream, this.context(connection), (edge, link) => this.events.ringLink(from, edge, link));
    } catch (error) {
      this.streamFailed(from, connection, error);
    }
  }

  private async onWeights(stream: Stream, connection: Connection): Promise<void> {
    const from = connection.remotePeer.toString();
    if (!this.sessions.isAccepted(connection)) {
      stream.abort(new Error('a hello comes first'));
      return;
    }
    try {
      await serveWeights(stream, this.weights, this.context(connection));
    } catch (error) {
      this.streamFailed(from, connection, error);
    }
  }

  /** A broken stream costs the stream; a broken protocol costs the peer its connection. */
  private streamFailed(from: NodeId, connection: Connection, error: unknown): void {
    if (error instanceof RingError && error.code === 'bad_frame') this.sessions.offended(from, connection, error);
    else this.log.debug('a stream from a peer ended early', { nodeId: from, error: errorMessageOf(error) });
  }

  private hello(): ReturnType<ConstructorParameters<typeof Sessions>[0]['hello']> {
    const { options } = this;
    return {
      clusterHash: this.clusterHash,
      agentVersion: options.agentVersion,
      protocolMin: options.protocolMin,
      protocolMax: options.protocolMax,
      nodeId: this.nodeId,
      incarnation: options.identity.incarnation,
      nonce: options.identity.nonce,
      addresses: this.addresses(),
      bulk: false,
    };
  }

  private async dial(address: Multiaddr, signal: AbortSignal): Promise<NodeId> {
    return (await this.connect(address, signal)).remotePeer.toString();
  }

  private async connect(address: Multiaddr, signal: AbortSignal): Promise<Connection> {
    if (this.node === null) throw new RingError('cancelled', 'the network stops');
    return this.node.dial(address, { signal });
  }

  private dialFailed(nodeId: NodeId, address: string, error: unknown): DialFailure {
    if (isWrongPrologue(error)) {
      this.refusals.add({ nodeId, address, code: 'wrong_cluster', message: `the agent at ${address} has another cluster secret or name: give both the same --cluster and --secret-file` });
      return 'refused';
    }
    if (error instanceof Error && error.name === 'InvalidPeerIdError') {
      this.checkForClone(address);
      return 'ours';
    }
    return 'silent';
  }

  private heard(peer: PeerInfo): void {
    const nodeId = peer.id.toString();
    const addresses = peer.multiaddrs.map(withoutPeerId);
    // The service drops its own announcements: our id from elsewhere is another process.
    if (nodeId === this.nodeId) for (const address of addresses) this.checkForClone(address);
    else this.dialer.heard(nodeId, addresses);
  }

  /** Our own id answers or is announced at `address`: a clone, unless that is one of our own addresses. */
  private checkForClone(address: string): void {
    const plain = plainAddress(address);
    if (this.isOwnAddress(plain)) return;
    this.refusals.add({
      nodeId: this.nodeId, address: plain, code: 'cloned_identity',
      message: `another agent, at ${plain}, uses this node's identity. Was the state directory copied? Delete identity.key in one of them and start that agent again`,
    });
  }

  private isOwnAddress(plain: string): boolean {
    const own = this.addresses();
    if (own.includes(plain)) return true;
    const port = /\/tcp\/(\d+)$/.exec(plain)?.[1];
    const host = hostOfText(plain);
    const local = isLoopback(host) || Object.values(networkInterfaces()).some((infos) => infos?.some((info) => info.address === host) === true);
    return local && own.some((address) => address.endsWith(`/tcp/${port ?? ''}`));
  }

  /** All that the called side sees of a wrong secret is a caller that gives up; once may be chance. */
  private handshakeBrokenOff(address: string): void {
    const host = hostOfText(address);
    const count = (this.breakOffs.get(host) ?? 0) + 1;
    this.breakOffs.set(host, count);
    const [oldest] = this.breakOffs.keys();
    if (this.breakOffs.size > MAX_BREAK_OFF_HOSTS && oldest !== undefined) this.breakOffs.delete(oldest);
    if (count < SUSPICIOUS_BREAK_OFFS) return;
    this.refusals.add({
      nodeId: '', address: host, code: 'wrong_cluster',
      message: `an agent at ${host} called and broke off the handshake: it probably has another cluster secret or name`,
    });
  }
}
