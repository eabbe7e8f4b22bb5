/**
 * This node's stages: makes what runs here match what the coordinator wants, and routes frames and requests to it.
 *
 * One `LocalStage` per plan that names this node, and a `Head` where that stage is the first.
 */
import { RingError } from '../core/errors.js';
import type { ControlMessage, GenerateMessage } from '../core/messages.js';
import type { RequestTrace } from '../core/step-traces.js';
import { wantedStages } from '../core/reconcile-worker.js';
import type { DesiredState, NodeId, Plan, StageStatus } from '../core/types.js';
import type { FrameLink, RingEdge } from '../ports.js';
import type { ActivationHeader } from '../wire/activation-codec.js';
import { DraftModel } from './draft-model.js';
import { Head } from './head.js';
import type { HeadFigures, HopFigures } from './head.js';
import { LocalStage } from './local-stage.js';
import type { LocalStagePorts, LocalStageSettings } from './local-stage.js';

export interface StageWorkerSettings extends LocalStageSettings {
  /** Steps without work that go around a ring of this node's before its first request (agent/head.ts). */
  readonly rehearsalSteps: number;
}

export interface StageWorkerPorts extends LocalStagePorts {
  send(to: NodeId, message: ControlMessage): void;
  /** The local stages' statuses changed. */
  changed(): void;
}

export interface HeadTraces {
  readonly plan: Plan;
  readonly hops: HopFigures;
  readonly traces: readonly RequestTrace[];
}

interface Entry {
  readonly stage: LocalStage;
  head: Head | null;
  /** Beside the head, where the plan has one. */
  draft: DraftModel | null;
  /** Slot -> who gets its tokens. Tail only; follows the operations in the frames. */
  readonly slots: Map<number, { readonly sequenceId: string; readonly origin: NodeId; readonly promptLength: number; readonly reusedTokens: number; readonly headDelivers: boolean }>;
}

export class StageWorker {
  private readonly entries = new Map<string, Entry>();
  private desired: DesiredState = { version: 0, instances: [] };

  constructor(private readonly settings: StageWorkerSettings, private readonly ports: StageWorkerPorts) {}

  /** Starts and stops stages until they are what is wanted. */
  apply(desired: DesiredState): void {
    this.desired = desired;
    const wanted = wantedStages(desired, this.ports.network.nodeId);
    const wantedPlans = new Set(wanted.map(({ plan }) => plan.planId));
    for (const [planId, entry] of this.entries) {
      if (wantedPlans.has(planId)) continue;
      this.entries.delete(planId);
      this.close(entry, `plan ${planId} is over`);
    }
    for (const { plan, stage } of wanted) {
      if (this.entries.has(plan.planId)) continue;
      const entry: Entry = {
        stage: new LocalStage(plan, stage, this.settings, this.ports, {
          statusChanged: () => this.ports.changed(),
          sampled: (header) => this.sampled(entry, header),
          stepReturned: (header) => entry.head?.stepReturned(header),
          passedOn: () => entry.head?.stagePassedOn(),
          becameReady: () => {
            entry.draft = this.draftOf(entry);
            entry.head = new Head(plan, entry.stage, {
              clock: this.ports.clock,
              log: this.ports.log,
              send: (to, message) => this.ports.send(to, message),
              enter: (body) => entry.stage.enter(body),
              requestsChanged: () => this.ports.changed(),
            }, entry.draft);
            void entry.draft?.start();
            this.rehearse();
            this.ports.changed();
          },
        }),
        head: null,
        draft: null,
        slots: new Map(),
      };
      this.entries.set(plan.planId, entry);
      this.ports.log.info('a stage starts here', {
        plan: plan.planId, model: plan.model.name, rank: stage.rank, layers: `${stage.range.start}-${stage.range.end - 1}`, backend: stage.backend ?? 'default',
      });
      void entry.stage.start();
    }
    this.rehearse();
  }

  statuses(): StageStatus[] {
    return [...this.entries.values()].map(({ stage, head, draft }) => {
      if (head === null) return stage.status();
      const pace = head.pace();
      return { ...stage.status(), requests: head.requests(), ...(pace === null ? {} : { pace }), ...(draft === null ? {} : { draft: draft.status() }) };
    });
  }

  /** A stage computes for somebody, or its ring rehearses. */
  isComputing(): boolean {
    return [...this.entries.values()].some(({ stage }) => stage.hasSteppedLately());
  }

  acceptLink(from: NodeId, edge: RingEdge, link: FrameLink): void {
    const entry = this.entries.get(edge.planId);
    if (entry === undefined || entry.stage.stage.rank !== edge.rank) {
      link.close(new RingError('wrong_plan', `this node has no stage ${edge.rank} of plan ${edge.planId} (yet)`));
      return;
    }
    entry.stage.acceptLink(from, link);
  }

  generate(from: NodeId, message: GenerateMessage): void {
    const entry = this.entries.get(message.planId);
    const refuse = (code: 'wrong_plan' | 'not_ready', text: string): void =>
      this.ports.send(from, { kind: 'refused', requestId: message.requestId, planId: message.planId, code, message: text });
    if (entry === undefined) return refuse('wrong_plan', `plan ${message.planId} does not run here`);
    if (!this.isActive(message.planId) || entry.head === null || !entry.stage.isReady) return refuse('not_ready', `plan ${message.planId} is not active yet`);
    entry.head.generate(from, message);
  }

  /** Only who asked may take it back. */
  cancel(from: NodeId, requestId: string): void {
    for (const entry of this.entries.values()) entry.head?.cancel(from, requestId);
  }

  /** Nobody is there to take the answers of this node's requests; should it come back, it asks again. */
  originLost(nodeId: NodeId): void {
    for (const entry of this.entries.values()) entry.head?.originLost(nodeId);
  }

  /** Running and waiting sequences and hop figures of the plan, if its head is here. */
  headFigures(planId: string): HeadFigures | null {
    const head = this.entries.get(planId)?.head;
    if (head === null || head === undefined) return null;
    return { ...head.counters(), hops: head.hops(), busyShares: head.busyShares() };
  }

  /** Of rings that begin on this node. */
  traces(): readonly HeadTraces[] {
    return [...this.entries.values()].flatMap(({ head }) => (head === null ? [] : [{ plan: head.plan, hops: head.hops(), traces: head.traces() }]));
  }

  async stop(): Promise<void> {
    const entries = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(entries.map((entry) => this.close(entry, 'the agent stops')));
  }

  private isActive(planId: string): boolean {
    return this.desired.instances.some(({ plan, state }) => plan?.planId === planId && state === 'active');
  }

  /** Before a plan is active, its other stages may not be ready for a step. */
  private rehearse(): void {
    for (const [planId, { stage, head }] of this.entries) if (stage.isReady && this.isActive(planId)) head?.rehearse(this.settings.rehearsalSteps);
  }

  private draftOf(entry: Entry): DraftModel | null {
    const { plan, stage, vocabularySize, canRollBack } = entry.stage;
    if (plan.draft === undefined) return null;
    return new DraftModel(plan, stage, plan.draft, { threads: this.settings.threads, vocabularySize, canRollBack }, this.ports, {
      stateChanged: () => entry.head?.draftChanged(),
      statusChanged: () => this.ports.changed(),
    });
  }

  private close(entry: Entry, reason: string): Promise<void> {
    entry.head?.close(reason);
    entry.draft?.stop();
    return entry.stage.stop(reason);
  }

  /** Tail: tells each sequence's origin its token. */
  private sampled(entry: Entry, header: ActivationHeader): void {
    for (const operation of header.operations) {
      if (operation.kind === 'move') {
        const moved = entry.slots.get(operation.slot);
        entry.slots.delete(operation.slot);
        if (moved !== undefined) entry.slots.set(operation.to, moved);
      } else if (operation.kind === 'close') entry.slots.delete(operation.slot);
      else entry.slots.set(operation.slot, { sequenceId: operation.sequenceId, origin: operation.origin, promptLength: operation.promptLength, reusedTokens: operation.reuse?.tokens ?? 0, headDelivers: operation.headDelivers ?? false });
    }
    for (const token of header.sampled) {
      const target = entry.slots.get(token.slot);
      if (target === undefined || target.sequenceId !== token.sequenceId || target.headDelivers) continue;
      const index = token.position - target.promptLength;
      this.ports.send(target.origin, {
        kind: 'token',
        requestId: token.sequenceId,
        planId: entry.stage.plan.planId,
        index,
        token: token.token,
        endOfGeneration: token.endOfGeneration,
        ...(token.probability === undefined ? {} : { probability: token.probability }),
        ...(index > 0 || target.reusedTokens === 0 ? {} : { reusedTokens: target.reusedTokens }),
        ...(token.embedding === undefined ? {} : { embedding: token.embedding }),
      });
    }
  }
}
