/**
 * How many tokens go through a stage at a time: in one step of its ring, and in one call of its engine. In one place,
 * because the head cuts prompts by it, stages make room by it, and the memory model counts that room.
 *
 * A lone node gets its largest steps at once. In a ring smaller ones keep more stages busy. Pure; it must not know
 * sequences, frames or bytes.
 */
import type { Backend } from './types.js';

/** Kernels for repacked weights take so many rows at once, and the rest one by one. */
export const KERNEL_ROWS = 4;
/** In any step of any ring. Nodes of builds that knew no smaller bound send as many, so every stage takes them. */
export const MAX_STEP_TOKENS = 512;
/** Where a step goes through several stages. */
const RING_STEP_TOKENS = 256;
/** A processor computes as fast with fewer (one core: from 32 on), and the engine's buffers follow the largest call. */
const PROCESSOR_CALL_TOKENS = 64;
/**
 * What the engine is told of any model that has windows: a windowed layer has cells for its window and one call, and
 * attention sums over them in their order. The same number everywhere keeps a ring's answers equal to a lone node's.
 */
export const WINDOWED_CALL_TOKENS = MAX_STEP_TOKENS;

/** Most tokens of a step in a ring of `stages`. */
export function stepTokens(stages: number): number {
  return stages === 1 ? MAX_STEP_TOKENS : RING_STEP_TOKENS;
}

export interface CallQuestion {
  readonly stages: number;
  /** Absent = the engine's own default. */
  readonly backend?: Backend | undefined;
}

/** Most tokens of one engine call: a stage takes a larger step in several. Any cut gives the same numbers. */
export function callTokens({ stages, backend }: CallQuestion): number {
  return stages > 1 && backend === 'cpu' ? PROCESSOR_CALL_TOKENS : stepTokens(stages);
}

/** What the engine is told (n_ubatch) where a stage's calls have at most `callTokens`. */
export function engineCallTokens({ callTokens: most, windowed }: { readonly callTokens: number; readonly windowed: boolean }): number {
  return windowed ? Math.max(WINDOWED_CALL_TOKENS, most) : most;
}
