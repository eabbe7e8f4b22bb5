/** The opening frame of a ring edge and its answer (proto/weights.proto: Edge, Opened). */
import { RingError } from '../core/errors.js';
import { decodeBytes, fitText, MAX_TEXT_CHARACTERS, readErrorCode, readName, readText, readUnsigned } from './fields.js';
import { ringagent } from './gen/messages.js';

const MAX_RANK = 1024;

export function encodeEdge(edge: { readonly planId: string; readonly rank: number }): Uint8Array {
  return ringagent.weights.Edge.encode(edge).finish();
}

export function decodeEdge(bytes: Uint8Array): { planId: string; rank: number } {
  const message = decodeBytes(ringagent.weights.Edge, bytes, 'the opening of a ring edge');
  return { planId: readName(message.planId, 'edge.plan_id'), rank: readUnsigned(message.rank, 'edge.rank', MAX_RANK) };
}

/** Null accepts. */
export function encodeOpened(error: RingError | null): Uint8Array {
  // A frame is never empty: "accepted" is said, not implied.
  return ringagent.weights.Opened.encode(error === null ? { message: 'ok' } : { code: error.code, message: fitText(error.message) }).finish();
}

export function decodeOpened(bytes: Uint8Array): RingError | null {
  const message = decodeBytes(ringagent.weights.Opened, bytes, 'the answer to a ring edge');
  const code = readText(message.code, 'opened.code');
  if (code === '') return null;
  return new RingError(readErrorCode(code), readText(message.message, 'opened.message', MAX_TEXT_CHARACTERS));
}
