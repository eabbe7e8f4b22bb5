/**
 * What became of the first steps of the latest requests: how long each stage computed, and what the ring took besides.
 *
 * Pure; the head tells it what it sends and what comes around. Bounded: some requests, some steps of each, numbers only. It
 * must not see a token.
 */
import type { SequenceOperation, SequenceSlice } from './step-types.js';
import type { Millis, NodeId } from './types.js';

/** More than a ring has slots: who asks for the trace of an answer that has just ended finds it. */
export const MAX_TRACED_REQUESTS = 64;
/** From a request's beginning on. */
export const MAX_TRACED_STEPS = 32;

export interface TracedStep {
  /** Since the request's first step was sent. */
  readonly sentAfterMicros: number;
  /** Tokens of the request in this step. */
  readonly tokens: number;
  /** Tokens of other requests in it. */
  readonly otherTokens: number;
  /** Steps that were in the ring when it was sent: it may have waited for them. */
  readonly ahead: number;
  /** Compute of each stage, in rank order. */
  readonly stageMicros: readonly number[];
  /** What the way around took besides: links, pipes, and waiting for the steps ahead. */
  readonly restMicros: number;
}

export interface RequestTrace {
  readonly requestId: string;
  /** By this agent's clock. */
  readonly beganMs: Millis;
  readonly steps: readonly TracedStep[];
}

/** With the ring that it ran in, as nodes tell each other. */
export interface RingTrace {
  readonly requestId: string;
  /** Since its first step was sent. */
  readonly agoMs: Millis;
  /** The model's name. */
  readonly model: string;
  /** In rank order. */
  readonly nodeIds: readonly NodeId[];
  /** Links and pipes of a whole way around, as measured on steps that waited for none. */
  readonly wireMicros: number;
  readonly steps: readonly TracedStep[];
}

interface Recorded {
  readonly beganMs: Millis;
  readonly steps: TracedStep[];
}

interface SentStep {
  readonly atMs: Millis;
  readonly ahead: number;
  readonly shares: readonly { readonly trace: Recorded; readonly tokens: number }[];
  readonly tokens: number;
}

export class StepTraces {
  /** Of running sequences. */
  private readonly requests = new Map<number, Recorded>();
  private readonly sentSteps = new Map<number, SentStep>();
  /** The latest last. */
  private readonly traces = new Map<string, Recorded>();

  sent(step: { readonly step: number; readonly operations: readonly SequenceOperation[]; readonly slices: readonly SequenceSlice[] }, nowMs: Millis): void {
    for (const operation of step.operations) this.apply(operation, nowMs);
    const shares: { trace: Recorded; tokens: number }[] = [];
    let all = 0;
    for (const { slot, tokens } of step.slices) {
      all += tokens;
      const trace = this.requests.get(slot);
      // Of most steps nothing is kept: their requests have all of theirs.
      if (trace !== undefined && trace.steps.length < MAX_TRACED_STEPS) shares.push({ trace, tokens });
    }
    this.sentSteps.set(step.step, { atMs: nowMs, ahead: this.sentSteps.size, shares, tokens: all });
  }

  returned(step: number, stageMicros: readonly number[], nowMs: Millis): void {
    const sent = this.sentSteps.get(step);
    this.sentSteps.delete(step);
    if (sent === undefined || sent.shares.length === 0) return;
    const computeMicros = stageMicros.reduce((sum, micros) => sum + micros, 0);
    const restMicros = Math.max(0, Math.round((nowMs - sent.atMs) * 1000) - computeMicros);
    for (const { trace, tokens } of sent.shares) {
      if (trace.steps.length >= MAX_TRACED_STEPS) continue;
      trace.steps.push({ sentAfterMicros: Math.round((sent.atMs - trace.beganMs) * 1000), tokens, otherTokens: sent.tokens - tokens, ahead: sent.ahead, stageMicros, restMicros });
    }
  }

  /** The latest first; of steps that came around. */
  latest(): readonly RequestTrace[] {
    return [...this.traces].reverse().map(([requestId, { beganMs, steps }]) => ({ requestId, beganMs, steps: [...steps] }));
  }

  private apply(operation: SequenceOperation, nowMs: Millis): void {
    switch (operation.kind) {
      case 'open': {
        const trace: Recorded = { beganMs: nowMs, steps: [] };
        this.requests.set(operation.slot, trace);
        this.traces.delete(operation.sequenceId);
        this.traces.set(operation.sequenceId, trace);
        const [oldest] = this.traces.keys();
        if (this.traces.size > MAX_TRACED_REQUESTS && oldest !== undefined) this.traces.delete(oldest);
        break;
      }
      case 'close':
        this.requests.delete(operation.slot);
        break;
      case 'move': {
        const trace = this.requests.get(operation.slot);
        this.requests.delete(operation.slot);
        if (trace !== undefined) this.requests.set(operation.to, trace);
        break;
      }
    }
  }
}
