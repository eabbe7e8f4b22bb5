/**
 * What the cluster is to serve, and how its coordinator changes that: as people ask, as nodes come and go, with what another
 * coordinator had, with what was served before a restart. Who follows takes over what its coordinator says.
 *
 * Each change of our own has a version of its own and is due to be claimed. It must not know connections, messages or elections.
 */
import type { Call, CallAnswer } from './calls.js';
import { adopt, NOTHING_DESIRED } from './desired-state.js';
import { loadInstance, unloadInstance } from './instances.js';
import type { ClusterMember, Place } from './planning.js';
import type { ReconcileView, ShapeAnswer } from './reconcile-context.js';
import { Reconciler } from './reconcile.js';
import { unite } from './remembered.js';
import { meetingOf } from './serving.js';
import type { Evidence } from './serving.js';
import type { DesiredState, Millis, ModelShape, NodeId } from './types.js';

/** Serials of one incarnation: a node that starts anew never uses a plan id again. */
const SERIALS_PER_INCARNATION = 10_000;
/** Shapes kept; each is some kilobytes. */
const MAX_SHAPES = 64;

export interface CoordinationPorts {
  readonly self: NodeId;
  readonly incarnation: number;
  readonly place: Place;
  readonly evidence: Evidence;
  members(): readonly ClusterMember[];
  /** The desired state has changed: followers are to hear it. */
  claimIsDue(): void;
  /** Answered by `learnShape`. */
  askShape(modelDigest: string): void;
  /** For people. */
  tell(text: string): void;
}

export class Coordination {
  private readonly reconciler: Reconciler;
  private readonly shapes = new Map<string, ShapeAnswer>();
  private state: DesiredState = NOTHING_DESIRED;
  /** Of what we published as coordinator. */
  private highestVersion = 0;

  constructor(private readonly ports: CoordinationPorts) {
    this.reconciler = new Reconciler(ports.place, ports.incarnation * SERIALS_PER_INCARNATION);
  }

  desired(): DesiredState {
    return this.state;
  }

  /** Our coordinator says so. */
  follow(desired: DesiredState): void {
    const before = summary(this.state);
    this.state = desired;
    const after = summary(desired);
    if (before !== after) this.ports.tell(after === '' ? 'nothing is served' : `to be served: ${after}`);
  }

  /** We coordinate from now on. */
  begin(): void {
    this.reconciler.reset();
    this.reconciler.planned(this.state.instances);
    // A node alone keeps its term, so an earlier reign may have had the same one: (term, version) is used once.
    this.state = { ...this.state, version: Math.max(this.highestVersion, this.state.version) + 1 };
    this.highestVersion = this.state.version;
  }

  /** Another coordinator follows us now: what only it served goes on. */
  adopt(from: NodeId, desired: DesiredState, nowMs: Millis): void {
    const adopted = adopt(meetingOf(this.state, desired, this.ports.evidence));
    if (adopted === this.state) return;
    const taken = adopted.instances.filter((instance) => !this.state.instances.includes(instance));
    this.reconciler.adopted(taken, nowMs);
    this.change(adopted);
    this.ports.tell(`adopted from ${from}: ${taken.map(({ instanceId }) => instanceId).join(', ') || 'nothing new'}`);
  }

  /** What a node remembers from before its start is wanted again. */
  bringBack(remembered: DesiredState, nowMs: Millis): void {
    const { state, returned, dropped } = unite(this.state, remembered);
    if (state === this.state) return;
    this.reconciler.returned(returned, nowMs);
    this.change(state);
    for (const instanceId of returned) this.ports.tell(`${instanceId}: was served before, and returns`);
    for (const instanceId of dropped) this.ports.tell(`${instanceId}: was unloaded before`);
  }

  /** Moves every instance towards what people asked for. */
  reconcile(table: Omit<ReconcileView, 'members' | 'statuses' | 'shapes'>): void {
    if (this.state.instances.length === 0) return;
    const { evidence } = this.ports;
    const { desired: left, events } = this.reconciler.endIdle(this.state, evidence.statuses, table.nowMs);
    if (left !== this.state) this.change(left);
    for (const text of events) this.ports.tell(text);
    // A second instance of a model that stopped running, where the first one runs, has lost its reason to live.
    const united = adopt(meetingOf(this.state, NOTHING_DESIRED, evidence));
    if (united !== this.state) {
      this.change(united);
      this.ports.tell('a second instance of a model that is served ended');
    }
    const result = this.reconciler.step(this.state, { ...table, members: this.ports.members(), statuses: evidence.statuses, shapes: this.shapes });
    for (const modelDigest of result.needShapes) this.ports.askShape(modelDigest);
    if (result.desired !== this.state) this.change(result.desired);
    for (const text of result.events) this.ports.tell(text);
  }

  /** The answer to a load or unload. */
  carryOut(call: Call): CallAnswer {
    const result = call.kind === 'load'
      ? loadInstance(this.state, call, this.ports.members(), (model) => `${model.name}-${this.ports.self.slice(-6)}-${this.reconciler.useSerial()}`)
      : unloadInstance(this.state, call);
    if (result.retried !== null) {
      this.reconciler.retry(result.retried);
      // What could not be read then may be readable now.
      for (const [digest, { kind }] of [...this.shapes]) if (kind === 'error') this.shapes.delete(digest);
    }
    if (call.kind === 'load' && result.answer.error === null) this.reconciler.asked(result.answer.instanceId);
    if (result.desired !== this.state) this.change(result.desired);
    if (result.event !== '') this.ports.tell(result.event);
    return result.answer;
  }

  learnShape(modelDigest: string, shape: ModelShape | null, problem: { readonly code: string; readonly message: string }, nowMs: Millis): void {
    if (this.shapes.size >= MAX_SHAPES && !this.shapes.has(modelDigest)) this.shapes.clear();
    this.shapes.set(modelDigest, shape === null ? { kind: 'error', code: problem.code, message: problem.message, atMs: nowMs } : { kind: 'shape', shape });
  }

  /** The node is another process now. */
  nodeRestarted(nodeId: NodeId, hostname: string): void {
    this.reconciler.nodeRestarted(nodeId, hostname, this.state);
  }

  private change(desired: DesiredState): void {
    this.highestVersion = this.state.version + 1;
    this.state = { ...desired, version: this.highestVersion };
    this.ports.claimIsDue();
  }
}

/** Changes exactly when something that people or workers care about does. */
function summary(desired: DesiredState): string {
  return desired.instances
    .map(({ instanceId, state, plan, reason }) => `${instanceId} ${state}${plan === null ? '' : ` (plan ${plan.planId})`}${reason === '' ? '' : `: ${reason}`}`)
    .join('; ');
}
