/**
 * How large a chunk of a prompt may be while other sequences decode: whatever it may cost a stage, it costs.
 *
 * What a chunk costs is no straight line (kernels take rows by fours, attention counts what stands before), so each size
 * is known by its own measurements, and a size that was never seen by what smaller steps would cost instead of it. Pure;
 * how much a chunk may cost is said by core/decode-groups.ts.
 */
import { KERNEL_ROWS } from './step-size.js';

/** Smallest chunk in tokens: a prompt goes on no slower than an answer, whatever a token of it costs. */
export const MIN_PREFILL_CHUNK = 1;
/** Larger chunks are multiples of it. */
export const CHUNK_STEP = KERNEL_ROWS;
/** Weight of the newest sample of a size. */
const SMOOTHING = 0.25;
/** A step that the system interrupted says little of the next: samples count up to this many times what was expected. */
const OUTLIER = 1.3;
/** A size that cost a little too much is believed less with each chunk, until it is tried again. */
const FORGIVEN_PER_CHUNK = 0.002;
const MOST_FORGIVEN = 0.1;
/** A size that was not seen for so many chunks is not known to the next prompt. */
const FORGOTTEN_AFTER_CHUNKS = 512;
/** Between two positions that tell what a token costs for each one before it. */
const TELLING_DISTANCE = 512;

/** Microseconds of a stage. */
export interface ChunkBudget {
  readonly micros: number;
  /** What a size may cost at worst that was never seen. */
  readonly triedMicros: number;
}

interface SizeCost {
  micros: number;
  /** Where `micros` was measured. */
  position: number;
  seenAtChunk: number;
  /** Far enough from `position` to tell what lies between. */
  anchor: { readonly micros: number; readonly position: number };
}

export class PrefillPace {
  private readonly costs = new Map<number, SizeCost>();
  /** Of a stage: a token of a chunk, for each token before it. */
  private positionMicros = 0;
  private chunks = 0;
  /** The last decode step. */
  private decode: { readonly rows: number; readonly micros: number } | null = null;
  private latest = CHUNK_STEP;
  private latestPosition = 0;
  /** The size that may cost too much and is on its way: one at a time. */
  private trying: number | null = null;

  /** Tokens of the chunk that was last chosen. */
  get latestTokens(): number {
    return this.latest;
  }

  /** A decode step of `rows` tokens cost the slowest stage `micros`. */
  decodeMeasured(rows: number, micros: number): void {
    if (rows < 1 || micros <= 0) return;
    this.decode = { rows, micros: this.decode?.rows === rows ? blended(this.decode.micros, micros) : micros };
  }

  /** A chunk of `tokens` from `position` of its prompt on cost the slowest stage `micros`. */
  chunkMeasured(tokens: number, position: number, micros: number): void {
    if (tokens < 1 || micros <= 0) return;
    this.chunks += 1;
    if (tokens === this.trying) this.trying = null;
    const known = this.costs.get(tokens);
    if (known === undefined) {
      this.costs.set(tokens, { micros, position, seenAtChunk: this.chunks, anchor: { micros, position } });
      return;
    }
    known.micros = blended(this.at(known, tokens, position), micros);
    known.position = position;
    known.seenAtChunk = this.chunks;
    const distance = position - known.anchor.position;
    if (Math.abs(distance) < TELLING_DISTANCE) return;
    const slope = Math.max(0, (known.micros - known.anchor.micros) / (tokens * distance));
    this.positionMicros = this.positionMicros === 0 ? slope : this.positionMicros + (slope - this.positionMicros) * SMOOTHING;
    known.anchor = { micros: known.micros, position };
  }

  /** Tokens of the next chunk, from `position` of its prompt on; null = nothing is known of what it may cost. */
  tokens(position: number, batchTokens: number, budget: ChunkBudget | null): number {
    if (position <= this.latestPosition) this.anotherPrompt();
    this.latestPosition = position;
    this.latest = budget === null ? MIN_PREFILL_CHUNK : this.largest(position, batchTokens, budget);
    return this.latest;
  }

  private largest(position: number, batchTokens: number, budget: ChunkBudget): number {
    let best = MIN_PREFILL_CHUNK;
    let bestMicros = this.expected(best, position) ?? this.asDecode(best, position);
    for (let size = 2; size <= batchTokens; size += size < CHUNK_STEP ? size : CHUNK_STEP) {
      const expected = this.expected(size, position);
      const micros = Math.min(expected ?? this.asDecode(size, position), inParts(size, best, bestMicros));
      if (micros > budget.micros) {
        const isTried = micros <= budget.triedMicros && (expected === null || micros * (1 - this.forgiven(size)) <= budget.micros);
        if (!isTried || this.trying !== null) return best;
        this.trying = size;
        return size;
      }
      best = size;
      bestMicros = micros;
    }
    return best;
  }

  /** What decode steps say of a size that was never seen: as many rows, and attention to what stands before. */
  private asDecode(tokens: number, position: number): number {
    const { decode } = this;
    return decode === null ? Number.POSITIVE_INFINITY : Math.ceil(tokens / decode.rows) * decode.micros + tokens * this.positionMicros * position;
  }

  private expected(tokens: number, position: number): number | null {
    const known = this.costs.get(tokens);
    return known === undefined ? null : this.at(known, tokens, position);
  }

  private at({ micros, position: measuredAt }: SizeCost, tokens: number, position: number): number {
    return Math.max(1, micros + tokens * this.positionMicros * (position - measuredAt));
  }

  private forgiven(tokens: number): number {
    const age = this.chunks - (this.costs.get(tokens)?.seenAtChunk ?? this.chunks);
    return Math.min(MOST_FORGIVEN, age * FORGIVEN_PER_CHUNK);
  }

  private anotherPrompt(): void {
    this.trying = null;
    for (const [tokens, { seenAtChunk }] of this.costs) if (this.chunks - seenAtChunk > FORGOTTEN_AFTER_CHUNKS) this.costs.delete(tokens);
  }
}

/** No more than chunks of a smaller size that carry as much: a larger one reads the weights less often. */
function inParts(tokens: number, smaller: number, micros: number): number {
  const times = tokens / smaller;
  return (smaller < CHUNK_STEP ? Math.ceil(times) : times) * micros;
}

function blended(average: number, sample: number): number {
  return average + (Math.min(sample, average * OUTLIER) - average) * SMOOTHING;
}
