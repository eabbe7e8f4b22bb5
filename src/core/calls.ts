/**
 * Requests of this node to the coordinator (load, unload) until they are answered: sent again when the coordinator
 * changes or a word is lost, given up at a deadline. Both kinds may arrive twice without harm.
 */
import type { ErrorCode } from './errors.js';
import type { LoadMessage, ReplyMessage, UnloadMessage } from './messages.js';
import type { Millis, NodeId } from './types.js';

const MAX_PENDING_CALLS = 256;
/** From the request to its refusal when no coordinator answers. */
const CALL_TIMEOUT_MS = 10_000;
/** An unanswered call is sent again after this. */
const CALL_RESEND_MS = 1_000;

export type Call = LoadMessage | UnloadMessage;

/** What becomes of a call. */
export type CallAnswer = Pick<ReplyMessage, 'callId' | 'instanceId' | 'error'>;

interface PendingCall {
  readonly call: Call;
  readonly deadlineMs: Millis;
  sentTo: NodeId | null;
  sentMs: Millis;
}

export class Calls {
  private readonly pending = new Map<string, PendingCall>();

  /** A refusal when there are too many. */
  add(call: Call, nowMs: Millis): CallAnswer | null {
    if (this.pending.size >= MAX_PENDING_CALLS) return refusal(call.callId, 'queue_full', `${MAX_PENDING_CALLS} requests wait for the coordinator: try again later`);
    this.pending.set(call.callId, { call, deadlineMs: nowMs + CALL_TIMEOUT_MS, sentTo: null, sentMs: nowMs });
    return null;
  }

  get size(): number {
    return this.pending.size;
  }

  /** True when the answer was waited for. */
  answered(callId: string): boolean {
    return this.pending.delete(callId);
  }

  /** Calls to hand to the coordinator now. */
  due(coordinator: NodeId, nowMs: Millis): Call[] {
    const due: Call[] = [];
    for (const entry of this.pending.values()) {
      if (entry.sentTo === coordinator && nowMs - entry.sentMs < CALL_RESEND_MS) continue;
      entry.sentTo = coordinator;
      entry.sentMs = nowMs;
      due.push(entry.call);
    }
    return due;
  }

  /** Calls that have waited too long; `why` is for people. */
  expired(nowMs: Millis, why: string): CallAnswer[] {
    const answers: CallAnswer[] = [];
    for (const [callId, { deadlineMs }] of this.pending) {
      if (nowMs < deadlineMs) continue;
      this.pending.delete(callId);
      answers.push(refusal(callId, 'not_ready', why));
    }
    return answers;
  }
}

export function refusal(callId: string, code: ErrorCode, message: string): CallAnswer {
  return { callId, instanceId: '', error: { code, message } };
}
