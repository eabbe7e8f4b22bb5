/**
 * Traces of requests as protobuf (proto/control.proto), and back with everything checked. Numbers and names, no text of anybody.
 */
import { MAX_TRACED_STEPS } from '../core/step-traces.js';
import type { RingTrace, TracedStep } from '../core/step-traces.js';
import { readList, readName, readText, readUnsigned } from './fields.js';
import type { ringagent } from './gen/messages.js';

/** In one reply. */
export const MAX_TOLD_TRACES = 64;
const MAX_STAGES = 1024;
const MAX_U32 = 0xffff_ffff;

export function toTraceMessage(trace: RingTrace): ringagent.control.Trace.$Properties {
  return {
    requestId: trace.requestId,
    agoMs: Math.round(trace.agoMs),
    model: trace.model,
    nodeIds: [...trace.nodeIds],
    wireMicros: trace.wireMicros,
    steps: trace.steps.map((step) => ({ ...step, stageMicros: [...step.stageMicros] })),
  };
}

export function fromTraceMessages(traces: readonly ringagent.control.Trace.$Properties[] | null | undefined): RingTrace[] {
  return readList(traces, 'trace.traces', MAX_TOLD_TRACES, (trace) => ({
    requestId: readName(trace.requestId, 'trace.request_id'),
    agoMs: readUnsigned(trace.agoMs, 'trace.ago_ms'),
    model: readText(trace.model, 'trace.model'),
    nodeIds: readList(trace.nodeIds, 'trace.node_ids', MAX_STAGES, (nodeId) => readName(nodeId, 'trace.node_ids')),
    wireMicros: readUnsigned(trace.wireMicros, 'trace.wire_micros', MAX_U32),
    steps: readList(trace.steps, 'trace.steps', MAX_TRACED_STEPS, fromStepMessage),
  }));
}

function fromStepMessage(step: ringagent.control.TracedStep.$Properties): TracedStep {
  return {
    sentAfterMicros: readUnsigned(step.sentAfterMicros, 'step.sent_after_micros'),
    tokens: readUnsigned(step.tokens, 'step.tokens', MAX_U32),
    otherTokens: readUnsigned(step.otherTokens, 'step.other_tokens', MAX_U32),
    ahead: readUnsigned(step.ahead, 'step.ahead', MAX_U32),
    stageMicros: readList(step.stageMicros, 'step.stage_micros', MAX_STAGES, (micros) => readUnsigned(micros, 'step.stage_micros', MAX_U32)),
    restMicros: readUnsigned(step.restMicros, 'step.rest_micros'),
  };
}
