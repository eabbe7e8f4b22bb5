/**
 * How large a chunk of a prompt may be: while other sequences decode, and of a prompt that has the ring for itself.
 *
 * Chunks and decode steps take turns, so the time between two tokens of a sequence grows by chunk / decode step. Both are
 * measured as the runners' compute time, and the chunk follows: whatever an engine's cost is made of, the next chunk
 * is scaled by how far the last one was off.
 *
 * A lone prompt goes through the stages in chunks, one behind the other. Small chunks keep more stages busy at its two
 * ends; large ones read the weights less often. Both follow from what a step costs with few tokens and what a token more
 * costs. Pure.
 */

/** A chunk may cost this many decode steps: two would make a token's gap three times the normal one; the rest is margin. */
export const CHUNK_IN_DECODE_STEPS = 1.5;
/**
 * Smallest chunk in tokens: a prompt goes on no slower than an answer. Far into a long one, attention alone makes a few
 * tokens cost more than they may.
 */
export const MIN_PREFILL_CHUNK = 1;
/** Chunks of a prompt that has the ring for itself: at least so many tokens, in multiples of so many. */
export const LONE_CHUNK_STEP = 32;
/** Smaller chunks do not show what a token more costs. */
const TELLING_TOKENS = 8;
/** A token more is tried where it cannot make a chunk cost more than this. */
const MOST_IN_DECODE_STEPS = 2;
/** A chunk grows or shrinks by no more than this factor from one to the next. */
const LARGEST_CHANGE = 2;
/** Weight of the newest decode step. */
const SMOOTHING = 0.3;

export class PrefillPace {
  private decodeMicros = 0;
  /** Tokens of the last decode step. */
  private decodeRows = 1;
  /** The last that was not too small to tell what a token more costs. */
  private telling: { readonly tokens: number; readonly micros: number } | null = null;
  /** Null while none was measured beside running answers. */
  private chunk: number | null = null;
  /** The last one, and what a token more cost in this prompt; null = not seen yet. */
  private last: { readonly tokens: number; readonly micros: number; readonly position: number } | null = null;
  private oneMoreMicros: number | null = null;

  /** A decode step of `rows` tokens took `computeMicros`. */
  decodeMeasured(rows: number, computeMicros: number): void {
    if (computeMicros <= 0) return;
    this.decodeRows = rows;
    // A step that the system interrupted says nothing of what the next one costs.
    const sample = this.decodeMicros === 0 ? computeMicros : Math.min(computeMicros, this.decodeMicros * LARGEST_CHANGE);
    this.decodeMicros = this.decodeMicros === 0 ? sample : this.decodeMicros * (1 - SMOOTHING) + sample * SMOOTHING;
  }

  /**
   * A chunk of `tokens` from `position` of its prompt on took `computeMicros`. Chunks of another size than asked for (a
   * prompt's rest) count by share.
   */
  chunkMeasured(tokens: number, computeMicros: number, position: number): void {
    if (computeMicros <= 0 || tokens <= 0) return;
    if (tokens >= TELLING_TOKENS) this.telling = { tokens, micros: computeMicros };
    const { last } = this;
    if (last !== null && position < last.position) this.oneMoreMicros = null;
    else if (last !== null && tokens !== last.tokens) this.oneMoreMicros = Math.max(0, (computeMicros - last.micros) / (tokens - last.tokens));
    this.last = { tokens, micros: computeMicros, position };
    if (this.decodeMicros === 0) return;
    const before = this.chunk ?? this.firstChunk();
    this.chunk = Math.min(before * LARGEST_CHANGE, Math.max(before / LARGEST_CHANGE, this.affordable(tokens, computeMicros)));
  }

  /** Tokens that the next chunk may have, at most `batchTokens`. */
  tokens(batchTokens: number): number {
    return Math.min(batchTokens, Math.max(MIN_PREFILL_CHUNK, Math.floor(this.chunk ?? this.firstChunk())));
  }

  /**
   * Tokens in each chunk of a lone prompt of `promptTokens`, at most `batchTokens`. With `c` tokens in a chunk the ring takes
   * (promptTokens / c + stages - 1) * (weights + c * token) / stages, which is least where c is the root below.
   */
  loneTokens(promptTokens: number, stages: number, batchTokens: number): number {
    if (stages === 1) return batchTokens;
    const { telling, decodeRows, decodeMicros } = this;
    if (telling === null || decodeMicros === 0 || telling.tokens <= decodeRows || telling.micros <= decodeMicros) return batchTokens;
    const tokenMicros = (telling.micros - decodeMicros) / (telling.tokens - decodeRows);
    const weightsMicros = Math.max(0, decodeMicros - decodeRows * tokenMicros);
    const best = Math.sqrt(promptTokens * weightsMicros / ((stages - 1) * tokenMicros));
    return Math.min(batchTokens, LONE_CHUNK_STEP * Math.max(1, Math.round(best / LONE_CHUNK_STEP)));
  }

  private affordable(tokens: number, micros: number): number {
    const budget = CHUNK_IN_DECODE_STEPS * this.decodeMicros;
    const byShare = tokens * budget / micros;
    // Where little of the cost is in the tokens, a share of a token never becomes a whole one.
    const hasRoom = this.oneMoreMicros === null
      ? micros * (tokens + 1) / tokens <= MOST_IN_DECODE_STEPS * this.decodeMicros
      : micros + this.oneMoreMicros <= budget;
    return hasRoom ? Math.max(tokens + 1, byShare) : byShare;
  }

  /** A token of a chunk costs no more than one of a decode step, which reads the same weights for fewer of them. */
  private firstChunk(): number {
    return CHUNK_IN_DECODE_STEPS * this.decodeRows;
  }
}
