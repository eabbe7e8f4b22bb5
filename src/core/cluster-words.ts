/**
 * What this node tells the others of itself, and when: that it lives, its record, its stages and, while it reigns, its
 * claim. Pure.
 *
 * It must not know what anybody answers: cluster.ts decides, this only says it.
 */
import { ALIVE_INTERVAL_MS } from './failure-detector.js';
import type { ClusterMessage } from './messages.js';
import type { DesiredState, Millis, NodeId, NodeRecord, StageStatus, Term } from './types.js';

/** Stage statuses are repeated this often, in case a word was lost. */
const STAGES_INTERVAL_MS = 1_000;

export interface WordSources {
  readonly self: NodeId;
  readonly incarnation: number;
  /** Who is connected now. */
  others(): readonly NodeId[];
  ownRecord(): NodeRecord | null;
  term(): Term | null;
  ownStages(): readonly StageStatus[];
  /** Stages that run on our side. */
  serving(): number;
  desired(): DesiredState;
  /** From before our start, and not yet known to the coordinator. */
  remembered(): DesiredState | undefined;
  send(to: NodeId, message: ClusterMessage): void;
}

export class Words {
  private aliveSentMs: Millis = Number.NEGATIVE_INFINITY;
  private stagesSentMs: Millis = Number.NEGATIVE_INFINITY;
  private claimSentMs: Millis = Number.NEGATIVE_INFINITY;
  private claimDue = false;

  constructor(private readonly sources: WordSources) {}

  /** What we want changed, or we began to reign: everyone hears it with the next words. */
  claimIsDue(due: boolean): void {
    this.claimDue = due;
  }

  sayWhatIsDue(nowMs: Millis, isCoordinator: boolean): void {
    if (nowMs - this.aliveSentMs >= ALIVE_INTERVAL_MS) {
      this.aliveSentMs = nowMs;
      this.alive(this.sources.others());
    }
    if (nowMs - this.stagesSentMs >= STAGES_INTERVAL_MS) {
      this.stagesSentMs = nowMs;
      this.stages(this.sources.others());
    }
    if (!isCoordinator) return;
    if (!this.claimDue && nowMs - this.claimSentMs < ALIVE_INTERVAL_MS) return;
    this.claimDue = false;
    this.claimSentMs = nowMs;
    this.claim(this.sources.others());
  }

  alive(others: readonly NodeId[]): void {
    const { incarnation } = this.sources;
    this.toAll(others, { kind: 'alive', incarnation, counter: this.sources.ownRecord()?.counter ?? 0, term: this.sources.term() });
  }

  record(others: readonly NodeId[]): void {
    const record = this.sources.ownRecord();
    if (record !== null) this.toAll(others, { kind: 'record', record });
  }

  stages(others: readonly NodeId[]): void {
    const term = this.sources.term() ?? { counter: 0, node: this.sources.self };
    const remembered = this.sources.remembered();
    this.toAll(others, { kind: 'stages', term, statuses: this.sources.ownStages(), ...(remembered === undefined ? {} : { remembered }) });
  }

  claim(others: readonly NodeId[]): void {
    const term = this.sources.term();
    if (term !== null) this.toAll(others, { kind: 'coordinator', term, serving: this.sources.serving(), desired: this.sources.desired() });
  }

  private toAll(others: readonly NodeId[], message: ClusterMessage): void {
    for (const to of others) this.sources.send(to, message);
  }
}
