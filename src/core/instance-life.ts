/**
 * How long instances stay: what is used, what was idle for too long, and what makes room for another model.
 *
 * Three ways to come to be: a request needs the model (it goes when it was idle for its keep-alive), a person or a command
 * line loads it (it stays until its room is needed), a person pins it (it stays). The coordinator alone ends them, by its
 * own clock: what it remembers here is lost at a handover, which only makes instances stay longer. Pure.
 */
import type { DesiredState, Instance, InstanceLife, Millis, NodeId, StageStatus } from './types.js';

/** Of a request's model when nobody says otherwise. */
export const DEFAULT_KEEP_ALIVE_MS = 5 * 60_000;
/** An instance that nobody used yet waits at least this long for the request that it was loaded for. */
export const FIRST_USE_MS = 30_000;
/** One that failed waits at least this long for what it lacks: answers under way may be waiting with it. */
const FAILED_KEPT_MS = 150_000;

/** Loaded by hand. */
export const LOADED_LIFE: InstanceLife = { pinned: false, keepAliveMs: null, returns: true };
/** Named by a command line or a cluster file, which will name it again. */
export const NAMED_LIFE: InstanceLife = { pinned: false, keepAliveMs: null, returns: false };
export const PINNED_LIFE: InstanceLife = { pinned: true, keepAliveMs: null, returns: true };

/** For ever, of a request: unlike what was loaded by hand, the next request may say otherwise. */
export const FOR_EVER_MS = 10 * 365 * 24 * 3_600_000;

/** Needed by a request; null = for ever. */
export function requestLife(keepAliveMs: Millis | null): InstanceLife {
  return { pinned: false, keepAliveMs: keepAliveMs ?? FOR_EVER_MS, returns: false };
}

/** What becomes of an instance's life when somebody asks for its model again. A request never shortens what is to stay. */
export function lifeAfter(before: InstanceLife, asked: InstanceLife | undefined): InstanceLife {
  if (asked === undefined || (asked.keepAliveMs !== null && before.keepAliveMs === null)) return before;
  if (asked.keepAliveMs !== null) return asked;
  return { ...asked, returns: asked.returns || (before.returns && before.keepAliveMs === null) };
}

export function lifeText({ pinned, keepAliveMs }: InstanceLife): string {
  if (pinned) return 'is pinned: it stays, and returns after a restart of the cluster';
  if (keepAliveMs === null) return 'stays until its room is needed';
  if (keepAliveMs >= FOR_EVER_MS) return 'stays after requests';
  return `is unloaded ${durationText(keepAliveMs)} after its last request`;
}

export function lifeOf({ request }: Instance): InstanceLife {
  return request.life ?? NAMED_LIFE;
}

/** `5 min`, `2 h`, `90 s`. */
export function durationText(ms: number): string {
  if (ms % 3_600_000 === 0 && ms > 0) return `${ms / 3_600_000} h`;
  return ms % 60_000 === 0 && ms > 0 ? `${ms / 60_000} min` : `${Math.round(ms / 1000)} s`;
}

type Statuses = ReadonlyMap<NodeId, readonly StageStatus[]>;

interface Use {
  planId: string;
  taken: number;
  used: boolean;
  lastMs: Millis;
}

/** When each instance was last in use, as its head's node says. */
export class InstanceUses {
  private readonly uses = new Map<string, Use>();

  /** Call with every look at the cluster. */
  watch(desired: DesiredState, statuses: Statuses, nowMs: Millis): void {
    for (const instanceId of this.uses.keys()) {
      if (!desired.instances.some((instance) => instance.instanceId === instanceId)) this.uses.delete(instanceId);
    }
    for (const instance of desired.instances) this.look(instance, statuses, nowMs);
  }

  /** Instances whose time is over. */
  over(desired: DesiredState, statuses: Statuses, nowMs: Millis): string[] {
    return desired.instances.filter((instance) => {
      const { pinned, keepAliveMs } = lifeOf(instance);
      const use = this.uses.get(instance.instanceId);
      if (pinned || keepAliveMs === null || use === undefined) return false;
      if (instance.state === 'failed') return nowMs - use.lastMs >= Math.max(keepAliveMs, FAILED_KEPT_MS);
      if (!isIdle(instance, statuses)) return false;
      return nowMs - use.lastMs >= (use.used ? keepAliveMs : Math.max(keepAliveMs, FIRST_USE_MS));
    }).map(({ instanceId }) => instanceId);
  }

  /** What may be unloaded for another model, the longest unused first. `forAsked`: somebody has asked for that model just now. */
  yielding(desired: DesiredState, statuses: Statuses, other: string, forAsked: boolean): Instance[] {
    const lastMs = (instance: Instance): Millis => this.uses.get(instance.instanceId)?.lastMs ?? Number.NEGATIVE_INFINITY;
    return desired.instances
      .filter((instance) => instance.instanceId !== other && isIdle(instance, statuses))
      .filter((instance) => !lifeOf(instance).pinned && (forAsked || lifeOf(instance).keepAliveMs !== null))
      .sort((a, b) => lastMs(a) - lastMs(b) || (a.instanceId < b.instanceId ? -1 : 1));
  }

  /** Forgets everything of an earlier reign. */
  reset(): void {
    this.uses.clear();
  }

  private look(instance: Instance, statuses: Statuses, nowMs: Millis): void {
    const { instanceId, state, plan } = instance;
    let use = this.uses.get(instanceId);
    if (use === undefined) {
      use = { planId: '', taken: 0, used: false, lastMs: nowMs };
      this.uses.set(instanceId, use);
    }
    if (state === 'failed') return;
    // Until its plan is active nobody can use it.
    const requests = headOf(instance, statuses)?.requests;
    if (state !== 'active' || requests === undefined) {
      use.lastMs = nowMs;
      return;
    }
    if (requests.taken === 0 && use.planId !== plan?.planId) use.lastMs = nowMs;
    else if (requests.open > 0 || requests.taken !== use.taken) {
      use.lastMs = nowMs;
      use.used = true;
    }
    use.planId = plan?.planId ?? '';
    use.taken = requests.taken;
  }
}

/** Active, and its head says that nobody waits for an answer. A head that says nothing may be busy. */
function isIdle(instance: Instance, statuses: Statuses): boolean {
  return instance.state === 'active' && headOf(instance, statuses)?.requests?.open === 0;
}

function headOf({ plan }: Instance, statuses: Statuses): StageStatus | null {
  const head = plan?.stages[0];
  if (plan === null || head === undefined) return null;
  return statuses.get(head.nodeId)?.find((status) => status.planId === plan.planId && status.rank === head.rank) ?? null;
}
