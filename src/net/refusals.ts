/**
 * Peers that were seen and cannot be used, for `agent status`: why, and what to do. Bounded, and forgotten when they have
 * not been seen for a while, so that the table says what is wrong now.
 */
import type { NodeId } from '../core/types.js';
import type { Clock, Log, RefusedPeer } from '../ports.js';
import { hostOfText } from './addresses.js';

const MAX_REFUSALS = 256;
const FORGET_AFTER_MS = 60_000;

interface Entry {
  readonly refused: RefusedPeer;
  readonly seenAt: number;
}

export class Refusals {
  /** By node id, or by host where the node is unknown. */
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly clock: Clock, private readonly log: Log) {}

  list(): readonly RefusedPeer[] {
    const oldest = this.clock.now() - FORGET_AFTER_MS;
    for (const [key, entry] of this.entries) if (entry.seenAt < oldest) this.entries.delete(key);
    return [...this.entries.values()].map((entry) => entry.refused);
  }

  add(given: RefusedPeer): void {
    const refused = { ...given, address: plainAddress(given.address) };
    const key = keyOf(refused);
    // Of one trouble a named entry says more than one that knows only where a call came from. Two troubles of one host
    // are both shown: it may run several agents.
    const host = hostOfText(refused.address);
    if (refused.nodeId !== '') {
      // One agent listens at an address: who was there before it with another identity is gone.
      for (const [other, { refused: before }] of this.entries) {
        if (other !== key && before.code === refused.code && before.nodeId !== '' && before.address === refused.address) this.entries.delete(other);
      }
      if (this.entries.get(host)?.refused.code === refused.code) this.entries.delete(host);
    } else if ([...this.entries.values()].some(({ refused: other }) => other.nodeId !== '' && other.code === refused.code && hostOfText(other.address) === key)) {
      return;
    }
    const known = this.entries.get(key);
    // Logged once for as long as it stays true: the peer is tried again and again.
    if (known?.refused.code !== refused.code) {
      this.log.warn(refused.message, { nodeId: refused.nodeId, address: refused.address, code: refused.code });
    }
    this.entries.delete(key);
    this.entries.set(key, { refused, seenAt: this.clock.now() });
    if (this.entries.size > MAX_REFUSALS) {
      const [oldest] = this.entries.keys();
      if (oldest !== undefined) this.entries.delete(oldest);
    }
  }

  /** The peer was accepted after all. A clone stays in the table: one of the two is always accepted. */
  clear(nodeId: NodeId): void {
    if (this.entries.get(nodeId)?.refused.code !== 'cloned_identity') this.entries.delete(nodeId);
  }
}

/** Without the identity that is expected there. */
export function plainAddress(address: string): string {
  return address.replace(/\/p2p\/.*$/, '');
}

function keyOf(refused: RefusedPeer): string {
  return refused.nodeId === '' ? hostOfText(refused.address) : refused.nodeId;
}
