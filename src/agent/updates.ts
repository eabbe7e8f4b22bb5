/**
 * What changes in the cluster, as a stream for whoever watches: events in words, and the status when it differs.
 *
 * A watcher is asked for nothing in advance: what it has not read yet is one status and the kept events, whatever its
 * speed. It must not know HTTP or the network; times are this process's own clock.
 */
import type { Instance } from '../core/types.js';
import type { Clock } from '../ports.js';
import type { ClusterEventKind, ClusterUpdate, WatchedStatus } from './service.js';

/** Status snapshots are at least this far apart. */
const STATUS_INTERVAL_MS = 500;
/** Older events are forgotten; a watcher that was slower misses them. */
const EVENTS_KEPT = 200;

interface KeptEvent {
  readonly serial: number;
  readonly what: ClusterEventKind;
  readonly text: string;
  readonly atMs: number;
}

/** How often each kind of thing happened since this agent started. */
export type EventCounts = Readonly<Record<ClusterEventKind, number>>;

export class Updates {
  private readonly events: KeptEvent[] = [];
  private readonly waiting = new Set<() => void>();
  /** When an instance that was active stopped being so. */
  private readonly brokenSinceMs = new Map<string, number>();
  private readonly activeIds = new Set<string>();
  private readonly happened: Record<ClusterEventKind, number> = { membership: 0, coordinator: 0, desired: 0, healed: 0, offence: 0 };
  private serial = 0;

  constructor(private readonly clock: Clock) {}

  push(what: ClusterEventKind, text: string): void {
    this.serial += 1;
    this.happened[what] += 1;
    this.events.push({ serial: this.serial, what, text, atMs: this.clock.now() });
    if (this.events.length > EVENTS_KEPT) this.events.shift();
    for (const wake of [...this.waiting]) wake();
  }

  counts(): EventCounts {
    return { ...this.happened };
  }

  /** Notices interruptions: an instance that was active, is not, and is again was re-planned. */
  instancesAre(instances: readonly Instance[]): void {
    const present = new Set(instances.map((instance) => instance.instanceId));
    for (const id of [...this.activeIds, ...this.brokenSinceMs.keys()]) {
      if (present.has(id)) continue;
      this.activeIds.delete(id);
      this.brokenSinceMs.delete(id);
    }
    for (const { instanceId, state, plan, request } of instances) {
      if (state !== 'active') {
        if (this.activeIds.delete(instanceId)) this.brokenSinceMs.set(instanceId, this.clock.now());
        continue;
      }
      this.activeIds.add(instanceId);
      const since = this.brokenSinceMs.get(instanceId);
      if (since === undefined) continue;
      this.brokenSinceMs.delete(instanceId);
      const seconds = ((this.clock.now() - since) / 1000).toFixed(1);
      this.push('healed', `${plan?.model.name ?? request.model} serves again, re-planned in ${seconds} s`);
    }
  }

  /** The kept events, the status, and from then on what is new of both. Ends when the signal aborts. */
  async *watch(signal: AbortSignal, snapshot: () => WatchedStatus): AsyncGenerator<ClusterUpdate> {
    let seenSerial = 0;
    let shown = '';
    let shownAtMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      const event = this.events.find((kept) => kept.serial > seenSerial);
      if (event !== undefined) {
        seenSerial = event.serial;
        yield { kind: 'event', what: event.what, text: event.text, serial: event.serial, agoMs: Math.round(this.clock.now() - event.atMs) };
        continue;
      }
      const dueInMs = shownAtMs + STATUS_INTERVAL_MS - this.clock.now();
      if (dueInMs > 0) {
        await this.newsWithin(dueInMs, signal);
        continue;
      }
      shownAtMs = this.clock.now();
      const next = snapshot();
      const text = JSON.stringify(next);
      if (text === shown) continue;
      shown = text;
      yield { kind: 'status', ...next };
    }
  }

  /** Resolves at the next event, after the time, or at the abort. */
  private async newsWithin(waitMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        cancel();
        this.waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.clock.after(waitMs, done);
      this.waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
