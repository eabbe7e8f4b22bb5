/**
 * The chunks of a prompt that has the ring for itself. They go through the stages one behind the other: small ones keep
 * more stages busy at the prompt's two ends, large ones read the weights less often. Both follow from what a step costs
 * with few tokens and what a token more costs. Pure.
 */

/** At least so many tokens, in multiples of so many. */
export const LONE_CHUNK_STEP = 32;
/** Smaller chunks do not show what a token more costs. */
const TELLING_TOKENS = 8;
/** A step that the system interrupted says nothing of what the next one costs. */
const LARGEST_CHANGE = 2;
/** Weight of the newest decode step. */
const SMOOTHING = 0.3;

export class LonePrompt {
  private decodeMicros = 0;
  /** Tokens of the last decode step. */
  private decodeRows = 1;
  /** The last chunk that was not too small. */
  private telling: { readonly tokens: number; readonly micros: number } | null = null;

  /** A decode step of `rows` tokens took `computeMicros` on all stages together. */
  decodeMeasured(rows: number, computeMicros: number): void {
    if (computeMicros <= 0) return;
    this.decodeRows = rows;
    const sample = this.decodeMicros === 0 ? computeMicros : Math.min(computeMicros, this.decodeMicros * LARGEST_CHANGE);
    this.decodeMicros = this.decodeMicros === 0 ? sample : this.decodeMicros * (1 - SMOOTHING) + sample * SMOOTHING;
  }

  /** A chunk of `tokens` took `computeMicros` on all stages together. */
  chunkMeasured(tokens: number, computeMicros: number): void {
    if (computeMicros > 0 && tokens >= TELLING_TOKENS) this.telling = { tokens, micros: computeMicros };
  }

  /**
   * Tokens in each chunk of a prompt of `promptTokens`, at most `batchTokens`. With `c` tokens in a chunk the ring takes
   * (promptTokens / c + stages - 1) * (weights + c * token) / stages, which is least where c is the root below.
   */
  tokens(promptTokens: number, stages: number, batchTokens: number): number {
    if (stages === 1) return batchTokens;
    const { telling, decodeRows, decodeMicros } = this;
    if (telling === null || decodeMicros === 0 || telling.tokens <= decodeRows || telling.micros <= decodeMicros) return batchTokens;
    const tokenMicros = (telling.micros - decodeMicros) / (telling.tokens - decodeRows);
    const weightsMicros = Math.max(0, decodeMicros - decodeRows * tokenMicros);
    const best = Math.sqrt(promptTokens * weightsMicros / ((stages - 1) * tokenMicros));
    return Math.min(batchTokens, LONE_CHUNK_STEP * Math.max(1, Math.round(best / LONE_CHUNK_STEP)));
  }
}
