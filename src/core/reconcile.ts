/**
 * The coordinator's side of reconciliation: moves every instance from what it is towards what people asked for, by the
 * rules of reconcile-rules.ts.
 *
 * It looks at a table, statuses and shapes, and answers with a new desired state; who carries plans out is each node
 * (reconcile-worker.ts). What it remembers (attempts, faults, since when) is the coordinator's own and is lost at a
 * handover: everything in it only bounds retries or delays them. Time is an argument.
 */
import { InstanceUses } from './instance-life.js';
import { withoutInstances } from './instances.js';
import type { Place } from './planning.js';
import { newMemory, watchStages } from './reconcile-context.js';
import type { Context, Memory, ReconcileView, RuleHost } from './reconcile-context.js';
import { firstOutcome, SHAPE_RETRY_MS } from './reconcile-rules.js';
import type { DesiredState, Instance, Millis, NodeId } from './types.js';

/** Rules that may apply to one instance in one step, one after the other. */
const MAX_RULES_A_STEP = 4;

export interface ReconcileResult {
  /** The same object when nothing changed. */
  readonly desired: DesiredState;
  /** Digests of models whose shape is needed. */
  readonly needShapes: readonly string[];
  /** One sentence per change, for people. */
  readonly events: readonly string[];
}

export class Reconciler implements RuleHost {
  private readonly memories = new Map<string, Memory>();
  private readonly shapesAskedMs = new Map<string, Millis>();
  private readonly uses = new InstanceUses();
  private needShapes: string[] = [];
  /** By the instance that needs their room. */
  private unloaded: readonly string[] = [];

  /** `serial` must be at or above every serial that an earlier process of this node used. */
  constructor(readonly place: Place, private serial: number) {}

  step(desired: DesiredState, view: ReconcileView): ReconcileResult {
    this.needShapes = [];
    const events: string[] = [];
    let current = desired;
    for (const { instanceId } of desired.instances) {
      const before = current.instances.find((instance) => instance.instanceId === instanceId);
      if (before === undefined) continue;
      const after = this.reconcile(before, current, view);
      if (sameInstance(before, after)) continue;
      events.push(describe(after));
      current = { ...current, instances: current.instances.map((instance) => (instance === before ? after : instance)) };
      for (const gone of this.unloaded) events.push(`${gone}: unloaded, ${instanceId} needs its room`);
      current = withoutInstances(current, this.unloaded);
      this.unloaded = [];
    }
    for (const instanceId of this.memories.keys()) {
      if (!desired.instances.some((instance) => instance.instanceId === instanceId)) this.memories.delete(instanceId);
    }
    return { desired: current, needShapes: this.needShapes, events };
  }

  /** Without the instances that nobody used for as long as they were to be kept. */
  endIdle(desired: DesiredState, statuses: ReconcileView['statuses'], nowMs: Millis): { readonly desired: DesiredState; readonly events: readonly string[] } {
    this.uses.watch(desired, statuses, nowMs);
    const over = this.uses.over(desired, statuses, nowMs);
    return { desired: withoutInstances(desired, over), events: over.map((instanceId) => `${instanceId}: unloaded, nobody has asked it for a while`) };
  }

  /** Somebody asks for it now: idle models that stay otherwise make room for it. */
  asked(instanceId: string): void {
    const memory = this.memoryOf(instanceId);
    memory.asked = true;
    memory.returnedAtMs = null;
  }

  /** They were served before a restart: the nodes that did so may still be about to come. */
  returned(instanceIds: readonly string[], nowMs: Millis): void {
    for (const instanceId of instanceIds) this.memoryOf(instanceId).returnedAtMs = nowMs;
  }

  yielding(context: Context): readonly Instance[] {
    return this.uses.yielding(context.desired, context.view.statuses, context.instance.instanceId, context.memory.asked);
  }

  unload(instanceIds: readonly string[]): void {
    this.unloaded = instanceIds;
  }

  /** Forgets everything of an earlier reign. */
  reset(): void {
    this.uses.reset();
    this.memories.clear();
    this.shapesAskedMs.clear();
  }

  /** These came from another coordinator, whose nodes may not all be connected to us yet. */
  adopted(instances: readonly Instance[], nowMs: Millis): void {
    for (const { instanceId } of instances) this.memoryOf(instanceId).adoptedAtMs = nowMs;
    this.planned(instances);
  }

  /** An earlier reign's: whatever their state is now, they may have served, and answers may wait for them. */
  planned(instances: readonly Instance[]): void {
    for (const { instanceId, plan } of instances) if (plan !== null) this.memoryOf(instanceId).served = true;
  }

  /** The node is another process now: its stages are gone, whatever their plan's state says. */
  nodeRestarted(nodeId: NodeId, hostname: string, desired: DesiredState): void {
    for (const instance of desired.instances) {
      if (instance.plan?.stages.some((stage) => stage.nodeId === nodeId)) {
        this.memoryOf(instance.instanceId).lost = `${hostname} was started anew`;
      }
    }
  }

  /** Somebody asks for it again: earlier failures count no more. */
  retry(instanceId: string): void {
    const memory = this.memoryOf(instanceId);
    memory.sinceMs = null;
    memory.attempts = 0;
    memory.retries = 0;
    memory.faults.clear();
    memory.failure = null;
    this.shapesAskedMs.clear();
  }

  /** Serial of the next plan or instance; the same again until it is used. */
  nextSerial(): number {
    return this.serial + 1;
  }

  useSerial(): number {
    this.serial += 1;
    return this.serial;
  }

  askShape(digest: string, nowMs: Millis): void {
    const askedMs = this.shapesAskedMs.get(digest);
    if (askedMs !== undefined && nowMs - askedMs < SHAPE_RETRY_MS) return;
    this.shapesAskedMs.set(digest, nowMs);
    this.needShapes.push(digest);
  }

  private reconcile(before: Instance, desired: DesiredState, view: ReconcileView): Instance {
    const memory = this.memoryOf(before.instanceId);
    memory.sinceMs ??= view.nowMs;
    // Also what a predecessor had active, should its first news be a loss.
    if (before.state === 'active') memory.served = true;
    watchStages(before, memory, view);
    let instance = before;
    for (let count = 0; count < MAX_RULES_A_STEP; count += 1) {
      const context: Context = { instance, memory, view, desired, host: this };
      const outcome = firstOutcome(context);
      if (outcome === null) break;
      instance = outcome.instance;
      if (!outcome.again) break;
    }
    return instance;
  }

  private memoryOf(instanceId: string): Memory {
    let memory = this.memories.get(instanceId);
    if (memory === undefined) {
      memory = newMemory();
      this.memories.set(instanceId, memory);
    }
    return memory;
  }
}

function describe({ instanceId, state, plan, reason }: Instance): string {
  const where = plan === null ? '' : ` on ${new Set(plan.stages.map((stage) => stage.nodeId)).size} node(s)`;
  switch (state) {
    case 'planning': return `${instanceId}: ${reason}`;
    case 'preparing': return `${instanceId}: plan ${plan?.planId ?? ''}${where} is being prepared`;
    case 'active': return `${instanceId}: plan ${plan?.planId ?? ''}${where} is active`;
    case 'failed': return `${instanceId} cannot be served: ${reason}`;
  }
}

function sameInstance(a: Instance, b: Instance): boolean {
  return a === b || (a.state === b.state && a.plan === b.plan && a.reason === b.reason && a.serial === b.serial);
}
