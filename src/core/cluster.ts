/**
 * One node's part in the cluster: membership, failure detection, election, desired state and reconciliation put
 * together as one pure step function, `step(input, nowMs) -> outputs`.
 *
 * The same inputs at the same times give the same outputs, so a whole cluster runs in a seeded simulation (test/sim).
 * It must not know sockets, timers, files, runners or tokens; the agent's loop carries its outputs out.
 */
import { Calls } from './calls.js';
import type { ClusterInput, ClusterOutput, ClusterSettings } from './cluster-io.js';
import { hostnameOf, isUnsettled, membersOf, whyNoCoordinator } from './cluster-table.js';
import type { TableSources } from './cluster-table.js';
import { Words } from './cluster-words.js';
import { Coordination } from './coordination.js';
import { covers } from './desired-state.js';
import type { DraftChoice } from './draft.js';
import { Election } from './election.js';
import { FailureDetector } from './failure-detector.js';
import type { Liveness } from './failure-detector.js';
import { Membership } from './membership.js';
import type { ClusterMessage, CoordinatorMessage } from './messages.js';
import type { PlacementResult } from './placement-types.js';
import { planOn } from './planning.js';
import type { ClusterMember } from './planning.js';
import { Remembered } from './remembered.js';
import { meetingOf, servingStages } from './serving.js';
import type { Evidence } from './serving.js';
import { compareTerms, sameTerm } from './terms.js';
import type { DesiredState, InstanceRequest, Millis, ModelShape, NodeId, NodeRecord, StageStatus, Term } from './types.js';

export type { ClusterInput, ClusterOutput, ClusterSettings } from './cluster-io.js';

/** A dead node stays in the table this long. */
const FORGET_DEAD_AFTER_MS = 3_600_000;

export class ClusterNode {
  private readonly detector = new FailureDetector();
  private readonly membership: Membership;
  private readonly calls = new Calls();
  private readonly statuses = new Map<NodeId, readonly StageStatus[]>();
  private readonly evidence: Evidence = { liveness: (nodeId) => this.liveness(nodeId), statuses: this.statuses };
  private readonly words: Words;
  private readonly coordination: Coordination;
  private readonly remembered: Remembered;
  private election: Election | null = null;
  private lastTerm: Term | null = null;
  private wasCoordinator = false;
  private coordinatorSinceMs: Millis = 0;
  private tableVersion = 0;
  private joins = 0;
  private gone = false;
  private outputs: ClusterOutput[] = [];
  private nowMs: Millis = 0;

  constructor(private readonly settings: ClusterSettings) {
    this.membership = new Membership({ nodeId: settings.nodeId, incarnation: settings.incarnation, nonce: settings.nonce });
    this.statuses.set(settings.nodeId, []);
    this.remembered = new Remembered(settings.remembered ?? null);
    this.words = new Words({
      self: settings.nodeId,
      incarnation: settings.incarnation,
      others: () => this.detector.connectedNodes(),
      ownRecord: () => this.membership.ownRecord(),
      term: () => this.term(),
      ownStages: () => this.statuses.get(settings.nodeId) ?? [],
      serving: () => this.serving(),
      desired: () => this.desired(),
      remembered: () => this.remembered.untold(),
      send: (to, message) => this.outputs.push({ kind: 'send', to, message }),
    });
    this.coordination = new Coordination({
      self: settings.nodeId,
      incarnation: settings.incarnation,
      place: settings.place,
      evidence: this.evidence,
      members: () => this.members(),
      claimIsDue: () => this.words.claimIsDue(true),
      askShape: (modelRef) => this.outputs.push({ kind: 'need_shape', modelRef }),
      tell: (text) => this.tell('desired', text),
    });
  }

  step(input: ClusterInput, nowMs: Millis): ClusterOutput[] {
    if (this.gone) return [];
    this.nowMs = nowMs;
    const election = this.electionNow();
    this.take(input, election);
    if (!this.gone) this.settle(election);
    const { outputs } = this;
    this.outputs = [];
    return outputs;
  }

  // What the agent may look at.

  /** Newest record of every known node, ours included, by id. */
  records(): NodeRecord[] {
    return this.membership.records();
  }

  /** Of ourselves always `alive`; of a node that was never connected `dead`. */
  liveness(nodeId: NodeId): Liveness {
    return nodeId === this.settings.nodeId ? 'alive' : this.detector.liveness(nodeId) ?? 'dead';
  }

  coordinator(): NodeId | null {
    return this.election?.term()?.node ?? null;
  }

  term(): Term | null {
    return this.election?.term() ?? null;
  }

  isCoordinator(): boolean {
    return this.election?.role() === 'coordinator';
  }

  desired(): DesiredState {
    return this.coordination.desired();
  }

  /** What is to outlive a restart of every node: for this node's disk, and its `remembered` when it starts again. */
  toKeep(): DesiredState {
    return this.remembered.toKeep(this.desired());
  }

  /** What every connected node last said of its stages, ours included. */
  stageStatuses(): ReadonlyMap<NodeId, readonly StageStatus[]> {
    return this.statuses;
  }

  /** The plan that `request` would get now; on any node, changes nothing. */
  preview(shape: ModelShape, request: InstanceRequest, draft?: DraftChoice): PlacementResult {
    const desired = this.desired();
    const loaded = desired.instances.find((instance) => instance.plan?.model.digest === shape.identity.digest);
    const instanceId = loaded?.instanceId ?? 'preview';
    return planOn({
      shape, request, instanceId, planId: 'preview', members: this.members(), desired, avoid: new Map(), ...(draft === undefined ? {} : { draft }),
    }, this.settings.place);
  }

  // Inputs.

  private take(input: ClusterInput, election: Election): void {
    switch (input.kind) {
      case 'tick':
        if (this.detector.tick(this.nowMs)) this.forgetStatuses();
        return;
      case 'node_connected':
        return this.connect(input.nodeId, election);
      case 'node_disconnected':
        this.detector.closed(input.nodeId, this.nowMs);
        this.statuses.delete(input.nodeId);
        return;
      case 'message':
        return this.receive(input.from, input.message, election);
      case 'capabilities':
        this.membership.updateOwn(input.capabilities, input.addresses ?? null);
        this.tableVersion += 1;
        return this.words.record(this.detector.connectedNodes());
      case 'local_stages':
        this.statuses.set(this.settings.nodeId, input.statuses);
        return this.words.stages(this.detector.connectedNodes());
      case 'load':
      case 'unload': {
        const refused = this.calls.add(input, this.nowMs);
        if (refused !== null) this.outputs.push({ kind: 'reply', ...refused });
        return;
      }
      case 'shape':
        return this.coordination.learnShape(input.modelRef, input.shape, input.error ?? { code: 'internal', message: 'the model could not be read' }, this.nowMs);
      case 'leave':
        for (const to of this.detector.connectedNodes()) this.outputs.push({ kind: 'send', to, message: { kind: 'leave' } });
        this.gone = true;
        return;
    }
  }

  private connect(nodeId: NodeId, election: Election): void {
    const aloneBefore = this.detector.living().length === 0;
    this.detector.connected(nodeId, this.nowMs);
    election.nodeConnected(aloneBefore, this.desired().instances.length > 0, this.nowMs);
    // Statuses before the claim: who weighs it against another must know what really runs here.
    this.words.record([nodeId]);
    this.words.alive([nodeId]);
    this.words.stages([nodeId]);
    if (election.role() === 'coordinator') this.words.claim([nodeId]);
  }

  private receive(from: NodeId, message: ClusterMessage, election: Election): void {
    if (!this.detector.isConnected(from)) return;
    if (message.kind === 'record') this.acceptRecord(from, message.record, election);
    if (message.kind === 'alive' && this.membership.isNews(from, message.incarnation, message.counter)) {
      this.outputs.push({ kind: 'send', to: from, message: { kind: 'record_request' } });
    }
    // It said goodbye; only the record of its next life brings it back.
    if (this.membership.hasLeft(from)) return;
    this.detector.heard(from, this.nowMs);
    switch (message.kind) {
      case 'record':
        return;
      case 'alive':
        return election.nodeFollows(from, message.term, this.nowMs);
      case 'record_request':
        return this.words.record([from]);
      case 'coordinator':
        return this.meetClaim(from, message, election);
      case 'stages':
        this.statuses.set(from, message.statuses);
        if (message.remembered !== undefined && election.role() === 'coordinator') this.coordination.bringBack(message.remembered, this.nowMs);
        return;
      case 'leave':
        this.membership.leave(from);
        this.detector.left(from, this.nowMs);
        return;
      case 'load':
      case 'unload': {
        if (election.role() !== 'coordinator') return;
        const before = this.desired();
        const answer = this.coordination.carryOut(message);
        // First what came of it: whoever asks again for what failed must not take the old failure for the answer.
        if (this.desired() !== before) this.words.claim([from]);
        this.outputs.push({ kind: 'send', to: from, message: { kind: 'reply', ...answer } });
        return;
      }
      case 'reply':
        if (this.calls.answered(message.callId)) {
          this.outputs.push({ kind: 'reply', callId: message.callId, instanceId: message.instanceId, error: message.error });
        }
        return;
    }
  }

  private acceptRecord(from: NodeId, record: NodeRecord, election: Election): void {
    const result = this.membership.accept(from, record);
    switch (result.kind) {
      case 'stale':
        return;
      case 'clone':
      case 'refused':
        return this.tell('membership', result.text);
      case 'restarted':
        election.nodeGone(from, this.nowMs);
        this.statuses.delete(from);
        this.coordination.nodeRestarted(from, record.capabilities.hostname);
        break;
      case 'new':
      case 'updated':
        break;
    }
    this.tableVersion += 1;
    if (result.kind !== 'updated') this.joins += 1;
    const what = { new: 'is here', restarted: 'was started anew', updated: 'has news of itself' }[result.kind];
    this.tell(result.kind === 'updated' ? 'figures' : 'membership', `${record.capabilities.hostname} (${from}) ${what}`);
  }

  private meetClaim(from: NodeId, claim: CoordinatorMessage, election: Election): void {
    const meeting = meetingOf(this.desired(), claim.desired, this.evidence);
    const followed = this.lastTerm;
    const verdict = election.onClaim(from, claim, { serving: this.serving(), covers: () => covers(meeting) }, this.nowMs);
    if (verdict === 'follow') {
      const known = followed !== null && followed.node === from && !this.wasCoordinator;
      const older = known && compareTerms(claim.term, followed) === 0 && claim.desired.version <= this.desired().version;
      if (!older) this.coordination.follow(claim.desired);
      this.remembered.following(this.desired(), this.nowMs);
    } else if (verdict === 'adopt') {
      this.noteCoordinator(election);
      this.coordination.adopt(from, claim.desired, this.nowMs);
    }
  }

  // What follows from it.

  private settle(election: Election): void {
    for (const { nodeId, from, to } of this.detector.takeChanges()) {
      this.tableVersion += 1;
      if (to === 'alive' && from !== 'suspect') this.joins += 1;
      if (to !== 'dead') continue;
      this.statuses.delete(nodeId);
      election.nodeGone(nodeId, this.nowMs);
      this.tell('membership', `${this.hostnameOf(nodeId)} ${this.membership.hasLeft(nodeId) ? 'left' : 'is gone'}`);
    }
    const living = this.detector.living();
    election.tick(living, this.nowMs);
    if (this.calls.size > 0 && living.length === 0 && election.role() === 'waiting') election.claimAlone();
    this.noteCoordinator(election);
    if (election.role() === 'coordinator') {
      this.dispatchCalls(this.settings.nodeId);
      this.reconcile(election);
    } else {
      const coordinator = election.term()?.node ?? null;
      if (coordinator !== null) this.dispatchCalls(coordinator);
    }
    for (const answer of this.calls.expired(this.nowMs, whyNoCoordinator(this.coordinator(), election.coordinatorOfOthers(), this.membership))) this.outputs.push({ kind: 'reply', ...answer });
    this.words.sayWhatIsDue(this.nowMs, election.role() === 'coordinator');
    this.forgetDead();
  }

  /** A reign that began, ended or changed. */
  private noteCoordinator(election: Election): void {
    const term = election.term();
    const isCoordinator = election.role() === 'coordinator';
    if (sameTerm(term, this.lastTerm) && isCoordinator === this.wasCoordinator) return;
    if (isCoordinator && !this.wasCoordinator) {
      this.coordinatorSinceMs = this.nowMs;
      this.coordination.begin();
      const remembered = this.remembered.take();
      if (remembered !== null) this.coordination.bringBack(remembered, this.nowMs);
    }
    this.words.claimIsDue(isCoordinator);
    const text = term === null ? 'there is no coordinator' : `${this.hostnameOf(term.node)} coordinates (term ${term.counter} of ${term.node})`;
    this.lastTerm = term;
    this.wasCoordinator = isCoordinator;
    this.tableVersion += 1;
    this.tell('coordinator', text);
    this.words.alive(this.detector.connectedNodes());
  }

  private reconcile(election: Election): void {
    const term = election.term();
    if (term === null) return;
    this.coordination.reconcile({
      nowMs: this.nowMs,
      term,
      unsettled: isUnsettled(this.tableSources(), this.coordinatorSinceMs, this.nowMs),
      tableVersion: this.tableVersion,
      joins: this.joins,
    });
  }

  private dispatchCalls(coordinator: NodeId): void {
    for (const call of this.calls.due(coordinator, this.nowMs)) {
      if (coordinator !== this.settings.nodeId) {
        this.outputs.push({ kind: 'send', to: coordinator, message: call });
        continue;
      }
      this.calls.answered(call.callId);
      this.outputs.push({ kind: 'reply', ...this.coordination.carryOut(call) });
    }
  }

  private tell(what: 'membership' | 'figures' | 'coordinator' | 'desired', text: string): void {
    this.outputs.push({ kind: 'changed', what, text });
  }

  // Views of the table.

  private members(): ClusterMember[] {
    return membersOf(this.tableSources());
  }

  private tableSources(): TableSources {
    const { membership, detector, settings } = this;
    return { membership, detector, self: settings.nodeId, coordinator: this.coordinator(), follows: (nodeId) => this.election?.follows(nodeId) ?? null };
  }

  private serving(): number {
    return servingStages(this.desired(), this.evidence);
  }

  private hostnameOf(nodeId: NodeId): string {
    return hostnameOf(nodeId, this.membership);
  }

  /** We stood still: what others said of their stages may be long over. */
  private forgetStatuses(): void {
    for (const nodeId of [...this.statuses.keys()]) if (nodeId !== this.settings.nodeId) this.statuses.delete(nodeId);
  }

  private forgetDead(): void {
    for (const { nodeId } of this.membership.records()) {
      if (this.detector.liveness(nodeId) !== 'dead' || this.nowMs - (this.detector.sinceMs(nodeId) ?? 0) < FORGET_DEAD_AFTER_MS) continue;
      this.membership.forget(nodeId);
      this.detector.forget(nodeId);
    }
  }

  private electionNow(): Election {
    this.election ??= new Election(this.settings.nodeId, this.nowMs);
    return this.election;
  }
}
