/**
 * Where the time of requests went, whichever node is asked: each head remembers its own requests' first steps, and every node
 * may ask it. Nothing is sent until somebody wants to know.
 *
 * A head that does not answer in time is named, and what the others know is told without it.
 */
import type { ClusterNode } from '../core/cluster.js';
import type { ControlMessage, TraceReplyMessage, TraceRequestMessage } from '../core/messages.js';
import type { RingTrace } from '../core/step-traces.js';
import type { NodeId } from '../core/types.js';
import type { Clock } from '../ports.js';
import { MAX_TOLD_TRACES } from '../wire/trace-codec.js';
import type { TracesView, TraceView } from './service.js';
import type { HeadTraces } from './stage-worker.js';
import { hostnameOf } from './status-view.js';

const ASK_DEADLINE_MS = 2_000;

export interface RingTracesPorts {
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly cluster: Pick<ClusterNode, 'desired' | 'records'>;
  /** Of the rings that begin on this node. */
  own(): readonly HeadTraces[];
  /** False = the node cannot be reached now. */
  send(to: NodeId, message: ControlMessage): boolean;
  randomId(): string;
}

interface Call {
  readonly head: NodeId;
  answered(traces: readonly RingTrace[]): void;
}

export class RingTraces {
  /** Each ends with its deadline. */
  private readonly calls = new Map<string, Call>();

  constructor(private readonly ports: RingTracesPorts) {}

  /** Of requests whose id begins so; empty = all that are remembered. */
  async find(request: string): Promise<TracesView> {
    const heads = [...new Set(this.ports.cluster.desired().instances.flatMap(({ plan }) => plan?.stages.slice(0, 1).map(({ nodeId }) => nodeId) ?? []))];
    const told = await Promise.all(heads.map(async (head) => ({ head, traces: head === this.ports.nodeId ? this.own(request) : await this.ask(head, request) })));
    return {
      traces: told.flatMap(({ traces }) => traces ?? []).sort((a, b) => a.agoMs - b.agoMs).map((trace) => this.viewOf(trace)),
      heads: told.map(({ head, traces }) => ({ nodeId: head, hostname: hostnameOf(head, this.ports.cluster), answered: traces !== null })),
    };
  }

  /** Another node wants to know. */
  answer(from: NodeId, { callId, request }: TraceRequestMessage): void {
    this.ports.send(from, { kind: 'trace_reply', callId, traces: this.own(request) });
  }

  answered(from: NodeId, { callId, traces }: TraceReplyMessage): void {
    const call = this.calls.get(callId);
    if (call?.head === from) call.answered(traces);
  }

  private own(request: string): readonly RingTrace[] {
    const nowMs = this.ports.clock.now();
    return this.ports.own().flatMap(({ plan, hops, traces }) => traces.filter(({ requestId }) => requestId.startsWith(request)).map(({ requestId, beganMs, steps }) => ({
      requestId,
      agoMs: Math.max(0, Math.round(nowMs - beganMs)),
      model: plan.model.name,
      nodeIds: plan.stages.map(({ nodeId }) => nodeId),
      wireMicros: hops.overheadMicros * plan.stages.length,
      steps,
    }))).sort((a, b) => a.agoMs - b.agoMs).slice(0, MAX_TOLD_TRACES);
  }

  /** Null = it did not answer in time. */
  private async ask(head: NodeId, request: string): Promise<readonly RingTrace[] | null> {
    const callId = this.ports.randomId();
    let cancel: () => void = () => undefined;
    try {
      return await new Promise((resolve) => {
        this.calls.set(callId, { head, answered: resolve });
        cancel = this.ports.clock.after(ASK_DEADLINE_MS, () => resolve(null));
        if (!this.ports.send(head, { kind: 'trace_request', callId, request })) resolve(null);
      });
    } finally {
      cancel();
      this.calls.delete(callId);
    }
  }

  private viewOf({ nodeIds, ...trace }: RingTrace): TraceView {
    return { ...trace, stages: nodeIds.map((nodeId) => ({ nodeId, hostname: hostnameOf(nodeId, this.ports.cluster) })) };
  }
}
