/**
 * Cuts a step into engine calls so that each runs as one micro-batch.
 *
 * libllama joins only sequences with consecutive, increasing ids and equal token counts. So slices are ordered by slot,
 * grouped by token count, and small holes of free slots are closed with padding lanes. Pure: it must not know the engine.
 */
import { assert } from '../core/errors.js';
import type { SequenceSlice } from '../core/step-types.js';
import { paddedLanes } from './padding-choice.js';

/** Largest hole that is closed with padding: a padded lane costs less than another pass over the weights. */
const MAX_PADDING_GAP = 3;
/** Lanes longer than this are not padded: prefill is bound by arithmetic, and padding is arithmetic. */
export const MAX_PADDED_LANE_TOKENS = 4;

export interface Lane {
  /** Index into the step's slices; -1 = padding. */
  readonly slice: number;
  /** First token of the lane within its slice. */
  readonly offset: number;
}

/** Lane `i` is slot `firstSlot + i`; every lane has `tokensPerLane` tokens. */
export interface EngineCall {
  readonly firstSlot: number;
  readonly tokensPerLane: number;
  readonly lanes: readonly Lane[];
}

export interface PackingLimits {
  /** Tokens in one call, padding included. */
  readonly maxTokens: number;
  /** True when there is such a slot, no sequence runs in it and a lane's worth of cells is free, so that padding may use it. */
  readonly isFree: (slot: number) => boolean;
  /** Whether a call of so many lanes with a token each is faster as one of `padded`. */
  readonly paysToPad: (lanes: number, padded: number) => boolean;
}

interface Piece extends Lane {
  readonly slot: number;
  readonly tokens: number;
}

/**
 * Calls in the order in which they must run: a slice longer than a call goes in pieces, in order. Slots of the slices
 * are distinct.
 */
export function packCalls(slices: readonly SequenceSlice[], limits: PackingLimits): readonly EngineCall[] {
  assert(limits.maxTokens >= 1, 'a call holds at least a token');
  const calls: EngineCall[] = [];
  const longest = slices.reduce((most, slice) => Math.max(most, slice.tokens), 0);
  for (let offset = 0; offset < longest; offset += limits.maxTokens) {
    const pieces: Piece[] = [];
    slices.forEach((entry, slice) => {
      const tokens = Math.min(entry.tokens - offset, limits.maxTokens);
      if (tokens > 0) pieces.push({ slice, offset, slot: entry.slot, tokens });
    });
    pieces.sort((a, b) => a.tokens - b.tokens || a.slot - b.slot);
    packRound(pieces, limits, calls);
  }
  return calls;
}

function packRound(pieces: readonly Piece[], limits: PackingLimits, calls: EngineCall[]): void {
  let lanes: Lane[] = [];
  let first: Piece | null = null;
  let lastSlot = 0;
  const flush = (): void => {
    if (first !== null) calls.push(widened({ firstSlot: first.slot, tokensPerLane: first.tokens, lanes }, limits));
  };
  for (const piece of pieces) {
    const gap = piece.slot - lastSlot - 1;
    const joins = first !== null && piece.tokens === first.tokens
      && (lanes.length + gap + 1) * piece.tokens <= limits.maxTokens
      && isBridgeable(gap, lastSlot, piece.tokens, limits);
    if (joins) {
      for (let padding = 0; padding < gap; padding += 1) lanes.push({ slice: -1, offset: 0 });
    } else {
      flush();
      first = piece;
      lanes = [];
    }
    lanes.push({ slice: piece.slice, offset: piece.offset });
    lastSlot = piece.slot;
  }
  flush();
}

/** With padding lanes behind it, or before it, where that is faster and slots are free. */
function widened(call: EngineCall, limits: PackingLimits): EngineCall {
  const padded = paddedLanes(call.lanes.length);
  const missing = padded - call.lanes.length;
  if (call.tokensPerLane !== 1 || missing === 0 || padded > limits.maxTokens) return call;
  let { firstSlot } = call;
  let before = 0;
  let after = 0;
  while (before + after < missing && limits.isFree(firstSlot + call.lanes.length + after)) after += 1;
  while (before + after < missing && limits.isFree(firstSlot - 1)) {
    firstSlot -= 1;
    before += 1;
  }
  if (before + after < missing || !limits.paysToPad(call.lanes.length, padded)) return call;
  const padding = (count: number): Lane[] => Array.from({ length: count }, () => ({ slice: -1, offset: 0 }));
  return { ...call, firstSlot, lanes: [...padding(before), ...call.lanes, ...padding(after)] };
}

function isBridgeable(gap: number, lastSlot: number, tokens: number, limits: PackingLimits): boolean {
  if (gap === 0) return true;
  if (gap > MAX_PADDING_GAP || tokens > MAX_PADDED_LANE_TOKENS) return false;
  for (let slot = lastSlot + 1; slot <= lastSlot + gap; slot += 1) if (!limits.isFree(slot)) return false;
  return true;
}
