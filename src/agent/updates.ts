/**
 * What changes in the cluster, as a stream for whoever watches: events in words, and the status when it differs.
 *
 * A watcher is asked for nothing in advance: what it has not read yet is one status and the kept events, whatever its
 * speed. It must not know HTTP or the network; times are this process's own clock.
 */
import type { ClusterOutput } from '../core/cluster-io.js';
import type { Clock } from '../ports.js';
import type { ClusterEventKind, ClusterUpdate, InstanceView, WatchedStatus } from './service.js';

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

export type WatchedInstance = Pick<InstanceView, 'instanceId' | 'model' | 'state' | 'reason'> & { readonly stages: readonly unknown[] };

interface KeptInstance {
  readonly state: InstanceView['state'];
  readonly name: string;
  /** What people were told of it last. */
  readonly text: string;
  /** Since when one that was active is not; null = it is, or never was. */
  readonly brokenSinceMs: number | null;
}

/** How often each kind of thing happened since this agent started. */
export type EventCounts = Readonly<Record<ClusterEventKind, number>>;

export class Updates {
  private readonly events: KeptEvent[] = [];
  private readonly waiting = new Set<() => void>();
  private readonly instances = new Map<string, KeptInstance>();
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

  /** What the core says. Of models people hear what became of them (`instancesAre`), not each step of ours. */
  changed(what: Extract<ClusterOutput, { readonly kind: 'changed' }>['what'], text: string): void {
    if (what === 'membership' || what === 'coordinator') this.push(what, text);
  }

  /** Says what became of each, and for how long one that was active was not. */
  instancesAre(instances: readonly WatchedInstance[]): void {
    const before = new Map(this.instances);
    this.instances.clear();
    for (const instance of instances) {
      const { instanceId, state } = instance;
      const earlier = before.get(instanceId);
      before.delete(instanceId);
      const brokenSinceMs = state === 'active' ? null : earlier?.brokenSinceMs ?? (earlier?.state === 'active' ? this.clock.now() : null);
      const text = textOf(instance);
      this.instances.set(instanceId, { state, text, name: instance.model, brokenSinceMs });
      if (state === 'active' && earlier !== undefined && earlier.brokenSinceMs !== null) {
        this.push('healed', `${instance.model} serves again, re-planned in ${((this.clock.now() - earlier.brokenSinceMs) / 1000).toFixed(1)} s`);
      } else if (text !== earlier?.text) {
        this.push('desired', text);
      }
    }
    for (const { name } of before.values()) this.push('desired', `${name} is unloaded`);
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

function textOf({ model, state, reason, stages }: WatchedInstance): string {
  const where = stages.length === 1 ? 'one node' : `${stages.length} nodes`;
  switch (state) {
    case 'planning': return reason === '' ? `${model} is planned` : `${model}: ${reason}`;
    case 'preparing': return `${model} is being loaded on ${where}`;
    case 'active': return `${model} is ready on ${where}`;
    case 'failed': return `${model} cannot be served: ${reason}`;
  }
}
