/**
 * Who is still there: alive, suspect or dead, from the time of each node's last word and the state of its connection.
 *
 * Two things end a node: silence (a black hole, a frozen agent) and a closed connection (a killed agent). Slow is not
 * dead, and above all *we* being slow is not others being dead: when our own clock of ticks stood still (the machine
 * slept, the event loop was blocked), the words of the others are still unread, so everyone gets a fresh period.
 * Time is an argument. It must not know what a node is, only its id.
 */
import type { Millis, NodeId } from './types.js';

/** Every node says that it is alive this often. */
export const ALIVE_INTERVAL_MS = 400;
/** Two words missed: shown, but nothing is done about it. */
export const SUSPECT_AFTER_MS = 900;
/** Silence that ends a node on an open connection; with one interval of travel it stays below 2 s after the last word. */
export const DEAD_AFTER_MS = 1_500;
/** A closed connection ends a node after this, unless it is back by then. */
export const CLOSED_GRACE_MS = 300;
/** A tick later than this after the one before says that we stood still ourselves. */
export const STALL_MS = 700;

export type Liveness = 'alive' | 'suspect' | 'dead';

export interface LivenessChange {
  readonly nodeId: NodeId;
  readonly from: Liveness | null;
  readonly to: Liveness;
}

interface Watch {
  liveness: Liveness;
  sinceMs: Millis;
  lastWordMs: Millis;
  /** Null while connected. */
  closedAtMs: Millis | null;
}

export class FailureDetector {
  private readonly watches = new Map<NodeId, Watch>();
  private changes: LivenessChange[] = [];
  private lastTickMs: Millis | null = null;
  /** Asked for with every step of the core, and changed seldom; null = to be made again. */
  private connectedIds: readonly NodeId[] | null = null;
  private livingIds: readonly NodeId[] | null = null;

  connected(nodeId: NodeId, nowMs: Millis): void {
    const watch = this.watches.get(nodeId);
    if (watch === undefined) {
      this.watches.set(nodeId, { liveness: 'alive', sinceMs: nowMs, lastWordMs: nowMs, closedAtMs: null });
      this.forgetLists();
      this.changes.push({ nodeId, from: null, to: 'alive' });
      return;
    }
    if (watch.closedAtMs !== null) this.forgetLists();
    watch.closedAtMs = null;
    watch.lastWordMs = nowMs;
    this.turn(nodeId, watch, 'alive', nowMs);
  }

  closed(nodeId: NodeId, nowMs: Millis): void {
    const watch = this.watches.get(nodeId);
    if (watch === undefined || watch.closedAtMs !== null) return;
    watch.closedAtMs = nowMs;
    this.forgetLists();
    if (watch.liveness === 'alive') this.turn(nodeId, watch, 'suspect', nowMs);
  }

  /** A word on an open connection. Words of a closed one are late and prove nothing. */
  heard(nodeId: NodeId, nowMs: Millis): void {
    const watch = this.watches.get(nodeId);
    if (watch === undefined || watch.closedAtMs !== null) return;
    watch.lastWordMs = nowMs;
    this.turn(nodeId, watch, 'alive', nowMs);
  }

  /** It said goodbye: nothing to wait for. */
  left(nodeId: NodeId, nowMs: Millis): void {
    const watch = this.watches.get(nodeId);
    if (watch !== undefined) this.turn(nodeId, watch, 'dead', nowMs);
  }

  forget(nodeId: NodeId): void {
    this.watches.delete(nodeId);
    this.forgetLists();
  }

  /** True when we stood still since the last tick: what we know of the others is old. */
  tick(nowMs: Millis): boolean {
    const stalled = this.lastTickMs !== null && nowMs - this.lastTickMs > STALL_MS;
    this.lastTickMs = nowMs;
    for (const [nodeId, watch] of this.watches) {
      if (watch.liveness === 'dead') continue;
      if (stalled) {
        watch.lastWordMs = nowMs;
        if (watch.closedAtMs !== null) watch.closedAtMs = nowMs;
      }
      const silentMs = nowMs - watch.lastWordMs;
      if (silentMs >= DEAD_AFTER_MS || (watch.closedAtMs !== null && nowMs - watch.closedAtMs >= CLOSED_GRACE_MS)) {
        this.turn(nodeId, watch, 'dead', nowMs);
      } else if (silentMs >= SUSPECT_AFTER_MS) {
        this.turn(nodeId, watch, 'suspect', nowMs);
      }
    }
    return stalled;
  }

  /** Null for a node that was never connected. */
  liveness(nodeId: NodeId): Liveness | null {
    return this.watches.get(nodeId)?.liveness ?? null;
  }

  isConnected(nodeId: NodeId): boolean {
    return this.watches.get(nodeId)?.closedAtMs === null;
  }

  /** When it came into its present state; null for a node that was never connected. */
  sinceMs(nodeId: NodeId): Millis | null {
    return this.watches.get(nodeId)?.sinceMs ?? null;
  }

  /** Nodes that can be sent to, by id. */
  connectedNodes(): readonly NodeId[] {
    this.connectedIds ??= [...this.watches].filter(([, watch]) => watch.closedAtMs === null).map(([nodeId]) => nodeId).sort();
    return this.connectedIds;
  }

  /** Nodes that are not dead, by id. */
  living(): readonly NodeId[] {
    this.livingIds ??= [...this.watches].filter(([, watch]) => watch.liveness !== 'dead').map(([nodeId]) => nodeId).sort();
    return this.livingIds;
  }

  /** Everything that changed since the last call. */
  takeChanges(): LivenessChange[] {
    const taken = this.changes;
    this.changes = [];
    return taken;
  }

  private forgetLists(): void {
    this.connectedIds = null;
    this.livingIds = null;
  }

  private turn(nodeId: NodeId, watch: Watch, to: Liveness, nowMs: Millis): void {
    if (watch.liveness === to) return;
    this.changes.push({ nodeId, from: watch.liveness, to });
    if (watch.liveness === 'dead' || to === 'dead') this.forgetLists();
    watch.liveness = to;
    watch.sinceMs = nowMs;
  }
}
