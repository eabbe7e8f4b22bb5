/**
 * Keeps trying to reach every peer that is known and not connected: the discovery sources tell it who is where, the
 * network tells it who is connected, and it dials, one address after the other, with a bounded backoff.
 *
 * Both sides of a pair hear of each other at the same time; the one with the smaller id dials at once, the other waits a
 * little. It must not know streams or protocols: what a connection is worth is decided by the hello.
 */
import { networkInterfaces } from 'node:os';
import { multiaddr } from '@multiformats/multiaddr';
import type { Multiaddr } from '@multiformats/multiaddr';
import { errorMessageOf } from '../core/errors.js';
import type { NodeId } from '../core/types.js';
import { underEither } from '../either-signal.js';
import type { Clock, Log } from '../ports.js';
import { dialable, dialRank, resolvePeerAddress } from './addresses.js';
import type { PeerAddress } from './addresses.js';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5000;
/** How long the larger id leaves the dialling to the smaller one. */
const LARGER_ID_PATIENCE_MS = 1000;
/** One address that swallows packets must not hold up the others. */
const ADDRESS_TIMEOUT_MS = 1500;
const MAX_PARALLEL_DIALS = 16;
const MAX_CANDIDATES = 512;
const MAX_ADDRESSES = 24;
/** A peer that was only ever announced is dropped when the announcements stop this long. */
const FORGET_ANNOUNCED_MS = 120_000;

export interface DialerOptions {
  readonly self: NodeId;
  readonly clock: Clock;
  readonly log: Log;
  /** Connects to exactly this address and says who answered. Aborts with the signal. */
  readonly dial: (address: Multiaddr, signal: AbortSignal) => Promise<NodeId>;
  readonly isConnected: (nodeId: NodeId) => boolean;
  /** A dial failed; `nodeId` is who was expected there, or empty. What that says of the address. */
  readonly failed: (nodeId: NodeId, address: string, error: unknown) => DialFailure;
}

/** `ours`: it is ourselves, and forgotten. `refused`: somebody is there and not of this cluster; people were told. `silent`: anything else. */
export type DialFailure = 'ours' | 'refused' | 'silent';

interface Candidate {
  readonly key: string;
  /** Who is expected, or who answered last; null until an address given by a person was answered. */
  nodeId: NodeId | null;
  /** Given by a person: resolved at each attempt, and never forgotten. */
  readonly given: PeerAddress | null;
  addresses: readonly string[];
  /** Remembered from earlier or connected once: kept although no announcement comes. */
  lasting: boolean;
  heardAt: number;
  backoffMs: number;
  nextAt: number;
  dialing: boolean;
  /** A person was told that the address they gave does not answer. */
  warned: boolean;
}

export class Dialer {
  private readonly candidates = new Map<string, Candidate>();
  private readonly life = new AbortController();
  private cancelTimer: (() => void) | null = null;
  private dials = 0;

  constructor(private readonly options: DialerOptions) {}

  /** An address that a person gave (`--peer`). Dialled at once, whoever has the smaller id. */
  addGiven(address: PeerAddress): void {
    this.add({ key: `given ${address.text}`, nodeId: address.nodeId, given: address, addresses: [], lasting: true, patienceMs: 0 });
  }

  /** From the file of remembered peers. */
  addRemembered(nodeId: NodeId, addresses: readonly string[]): void {
    if (nodeId !== this.options.self) this.add({ key: nodeId, nodeId, given: null, addresses: dialable(addresses), lasting: true, patienceMs: this.patience(nodeId) });
  }

  /** An announcement: the addresses replace those announced before. */
  heard(nodeId: NodeId, announced: readonly string[]): void {
    const addresses = dialable(announced).slice(0, MAX_ADDRESSES);
    if (nodeId === this.options.self || addresses.length === 0) return;
    const known = this.candidates.get(nodeId);
    const now = this.options.clock.now();
    if (known === undefined) {
      this.add({ key: nodeId, nodeId, given: null, addresses, lasting: false, patienceMs: this.patience(nodeId) });
      return;
    }
    known.heardAt = now;
    // It moved: what was learned about the old addresses is worth nothing.
    if (addresses.some((address) => !known.addresses.includes(address))) {
      known.backoffMs = FIRST_BACKOFF_MS;
      known.nextAt = Math.min(known.nextAt, now + this.patience(nodeId));
    }
    known.addresses = addresses;
    this.schedule();
  }

  /** The hello was exchanged: from now on this peer is worth waiting for. */
  connected(nodeId: NodeId, announced: readonly string[]): void {
    const addresses = dialable(announced).slice(0, MAX_ADDRESSES);
    const known = this.candidates.get(nodeId);
    if (known === undefined) {
      if (addresses.length > 0) this.add({ key: nodeId, nodeId, given: null, addresses, lasting: true, patienceMs: this.patience(nodeId) });
      return;
    }
    known.lasting = true;
    known.backoffMs = FIRST_BACKOFF_MS;
    if (addresses.length > 0) known.addresses = addresses;
  }

  /** The connection is gone: try again soon. */
  disconnected(nodeId: NodeId): void {
    const soon = this.options.clock.now() + FIRST_BACKOFF_MS;
    for (const candidate of this.candidates.values()) {
      if (candidate.nodeId !== nodeId) continue;
      candidate.backoffMs = FIRST_BACKOFF_MS;
      candidate.nextAt = soon + (candidate.given === null ? this.patience(nodeId) : 0);
    }
    this.schedule();
  }

  stop(): void {
    this.life.abort();
    this.cancelTimer?.();
    this.candidates.clear();
  }

  private patience(nodeId: NodeId): number {
    return this.options.self < nodeId ? 0 : LARGER_ID_PATIENCE_MS;
  }

  private add(init: Pick<Candidate, 'key' | 'nodeId' | 'given' | 'addresses' | 'lasting'> & { readonly patienceMs: number }): void {
    if (this.life.signal.aborted || this.candidates.has(init.key)) return;
    if (this.candidates.size >= MAX_CANDIDATES) {
      this.options.log.warn('too many peers are known; a new one is ignored', { peer: init.key, limit: MAX_CANDIDATES });
      return;
    }
    const now = this.options.clock.now();
    const { patienceMs, ...fields } = init;
    this.candidates.set(init.key, {
      ...fields, addresses: init.addresses.slice(0, MAX_ADDRESSES), heardAt: now, backoffMs: FIRST_BACKOFF_MS, nextAt: now + patienceMs,
      dialing: false, warned: false,
    });
    this.schedule();
  }

  private schedule(): void {
    if (this.life.signal.aborted) return;
    this.cancelTimer?.();
    this.cancelTimer = null;
    const now = this.options.clock.now();
    let earliest = Infinity;
    for (const candidate of this.candidates.values()) {
      if (candidate.dialing) continue;
      if (candidate.nodeId !== null && this.options.isConnected(candidate.nodeId)) continue;
      if (!candidate.lasting && now - candidate.heardAt > FORGET_ANNOUNCED_MS) {
        this.candidates.delete(candidate.key);
      } else if (candidate.nextAt <= now && this.dials < MAX_PARALLEL_DIALS) {
        this.attempt(candidate);
      } else if (candidate.nextAt > now) {
        earliest = Math.min(earliest, candidate.nextAt);
      }
    }
    if (earliest !== Infinity) this.cancelTimer = this.options.clock.after(Math.max(1, earliest - now), () => this.schedule());
  }

  private attempt(candidate: Candidate): void {
    candidate.dialing = true;
    this.dials++;
    this.reach(candidate)
      .catch((error: unknown) => {
        if (candidate.given === null || candidate.warned || this.life.signal.aborted) {
          this.options.log.debug('a peer cannot be reached', { peer: candidate.key, error: errorMessageOf(error) });
          return;
        }
        candidate.warned = true;
        this.options.log.warn(`the peer ${candidate.given.text} does not answer; it is tried again and again`, { error: errorMessageOf(error) });
      })
      .finally(() => {
        candidate.dialing = false;
        this.dials--;
        // Also after a success: should the hello refuse the peer, it is tried again at this pace.
        candidate.nextAt = this.options.clock.now() + candidate.backoffMs;
        candidate.backoffMs = Math.min(MAX_BACKOFF_MS, candidate.backoffMs * 2);
        this.schedule();
      });
  }

  private async reach(candidate: Candidate): Promise<void> {
    const interfaces = networkInterfaces();
    const addresses = candidate.given === null
      ? candidate.addresses.map((address) => multiaddr(address)).sort((a, b) => dialRank(a, interfaces) - dialRank(b, interfaces))
      : await resolvePeerAddress(candidate.given);
    let failure: unknown = null;
    let answered = false;
    for (const address of addresses) {
      if (this.life.signal.aborted || (candidate.nodeId !== null && this.options.isConnected(candidate.nodeId))) return;
      try {
        const nodeId = await underEither([this.life.signal, AbortSignal.timeout(ADDRESS_TIMEOUT_MS)], (either) => this.options.dial(address, either));
        // Another agent may have taken over the address: then the peer's next address is tried.
        if (candidate.given === null && nodeId !== candidate.nodeId) continue;
        candidate.nodeId = nodeId;
        return;
      } catch (error) {
        failure = error;
        const verdict = this.life.signal.aborted ? 'silent' : this.options.failed(candidate.nodeId ?? '', address.toString(), error);
        if (verdict === 'ours') {
          if (candidate.given !== null) this.candidates.delete(candidate.key);
          return;
        }
        if (verdict === 'refused') answered = true;
      }
    }
    if (failure !== null && !answered) throw failure;
  }
}
