/**
 * The table of nodes: each node's own record, newest by (incarnation, counter), believed from its owner only.
 *
 * It knows records and nothing of time or connections (failure-detector.ts). Two nonces for one (id, incarnation) are
 * two processes with one identity: that id is flagged until a higher incarnation is seen.
 */
import { compareIds } from './terms.js';
import type { Capabilities, NodeId, NodeRecord } from './types.js';

/** Records in the table, ours included; far above a LAN. */
const MAX_NODES = 1_024;

export type AcceptResult =
  | { readonly kind: 'new' | 'restarted' | 'updated'; readonly record: NodeRecord }
  /** Older than what we have, or the same. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'clone'; readonly text: string }
  | { readonly kind: 'refused'; readonly text: string };

export interface OwnNode {
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly nonce: string;
}

export class Membership {
  private readonly table = new Map<NodeId, NodeRecord>();
  private readonly clones = new Map<NodeId, string>();
  /** Incarnation that said goodbye. */
  private readonly departed = new Map<NodeId, number>();
  private own: NodeRecord | null = null;
  private ownCounter = 0;

  constructor(private readonly self: OwnNode) {}

  /** Publishes this node anew; null addresses = as before. */
  updateOwn(capabilities: Capabilities, addresses: readonly string[] | null): NodeRecord {
    this.ownCounter += 1;
    this.own = { ...this.self, counter: this.ownCounter, addresses: addresses ?? this.own?.addresses ?? [], capabilities };
    return this.own;
  }

  ownRecord(): NodeRecord | null {
    return this.own;
  }

  accept(from: NodeId, record: NodeRecord): AcceptResult {
    if (record.nodeId !== from) return { kind: 'refused', text: `${from} sent a record of ${record.nodeId}: only the owner's word counts` };
    if (from === this.self.nodeId) return { kind: 'clone', text: cloneText(record) };
    const known = this.table.get(from);
    if (known === undefined) {
      if (this.table.size >= MAX_NODES - 1) return { kind: 'refused', text: `the table of nodes is full (${MAX_NODES}): ${from} is left out` };
      this.table.set(from, record);
      const goneIncarnation = this.departed.get(from);
      if (goneIncarnation !== undefined && goneIncarnation < record.incarnation) this.departed.delete(from);
      return { kind: 'new', record };
    }
    if (record.incarnation === known.incarnation && record.nonce !== known.nonce) {
      const text = cloneText(record);
      const news = !this.clones.has(from);
      this.clones.set(from, text);
      return news ? { kind: 'clone', text } : { kind: 'stale' };
    }
    const newer = record.incarnation - known.incarnation || record.counter - known.counter;
    if (newer <= 0) return { kind: 'stale' };
    this.table.set(from, record);
    if (record.incarnation === known.incarnation) return { kind: 'updated', record };
    this.clones.delete(from);
    this.departed.delete(from);
    return { kind: 'restarted', record };
  }

  /** True when (incarnation, counter) is newer than the record that we have: ask for it. */
  isNews(nodeId: NodeId, incarnation: number, counter: number): boolean {
    const known = this.table.get(nodeId);
    return known === undefined || incarnation > known.incarnation || (incarnation === known.incarnation && counter > known.counter);
  }

  /** The node goes on purpose; it is back with a higher incarnation only. */
  leave(nodeId: NodeId): void {
    // Who never said what it is has no place to come back to.
    const known = this.table.get(nodeId);
    if (known !== undefined) this.departed.set(nodeId, known.incarnation);
  }

  hasLeft(nodeId: NodeId): boolean {
    return this.departed.has(nodeId);
  }

  /** Why this id cannot be trusted; null when it can. */
  cloneProblem(nodeId: NodeId): string | null {
    return this.clones.get(nodeId) ?? null;
  }

  forget(nodeId: NodeId): void {
    this.table.delete(nodeId);
    this.clones.delete(nodeId);
    this.departed.delete(nodeId);
  }

  record(nodeId: NodeId): NodeRecord | null {
    return nodeId === this.self.nodeId ? this.own : this.table.get(nodeId) ?? null;
  }

  /** All records, ours included, by node id. */
  records(): NodeRecord[] {
    const own = this.own === null ? [] : [this.own];
    return [...own, ...this.table.values()].sort((a, b) => compareIds(a.nodeId, b.nodeId));
  }
}

function cloneText(record: NodeRecord): string {
  return `two processes use the identity ${record.nodeId} (one is on ${record.capabilities.hostname}): `
    + 'give one of them a new one by removing the key from its state directory';
}
