/**
 * One vector for a whole prompt: the hidden states of its tokens, as the final norm leaves them, pooled as they come.
 *
 * It is fed call by call and keeps a sum or one row, so a prompt of any length costs one row of memory. It must not know
 * slots, stages or what the vector is for; the caller has told the engine to keep hidden states (`llama_set_embeddings`).
 */
import { RingError } from '../core/errors.js';
import type { Pooling, SequenceSlice } from '../core/step-types.js';
import { viewMemory } from './llama.js';
import type { Llama } from './llama.js';
import type { EngineCall } from './slot-packing.js';

export class PooledStates {
  /** `[hiddenSize]`; double, so that a long prompt loses nothing. */
  private readonly sum: Float64Array;
  private count = 0;

  constructor(private readonly llama: Llama, private readonly pooling: Pooling, private readonly hiddenSize: number) {
    this.sum = new Float64Array(hiddenSize);
  }

  /**
   * The calls of a slice that has a step for itself. The engine keeps the states of all rows of a call or of none, and of
   * few: rows that are wanted go in small calls, all others in large ones.
   */
  calls(slice: SequenceSlice, { maxRows, maxWantedRows }: { readonly maxRows: number; readonly maxWantedRows: number }): readonly EngineCall[] {
    const calls: EngineCall[] = [];
    const wanted = (offset: number): boolean => this.wants(slice.position + offset, slice.sample && offset === slice.tokens - 1);
    for (let offset = 0; offset < slice.tokens;) {
      const kind = wanted(offset);
      const most = Math.min(kind ? maxWantedRows : maxRows, slice.tokens - offset);
      let tokensPerLane = 1;
      while (tokensPerLane < most && wanted(offset + tokensPerLane) === kind) tokensPerLane += 1;
      calls.push({ firstSlot: slice.slot, tokensPerLane, lanes: [{ slice: 0, offset }] });
      offset += tokensPerLane;
    }
    return calls;
  }

  /** Whether the rows of one of those calls are wanted. */
  wantsCall(call: EngineCall, slice: SequenceSlice | undefined): boolean {
    const offset = call.lanes[0]?.offset ?? 0;
    return slice !== undefined && this.wants(slice.position + offset, slice.sample && offset === slice.tokens - 1);
  }

  /** Whether the row of the token at `position` is needed; `last` = it ends the prompt. */
  wants(position: number, last: boolean): boolean {
    switch (this.pooling) {
      case 'mean': return true;
      case 'first': return position === 0;
      case 'last': return last;
    }
  }

  /** Takes batch row `row` of the context's last call. */
  add(context: bigint, row: number): void {
    const pointer = this.llama.c.llama_get_embeddings_ith(context, row);
    if (pointer === null) throw new RingError('engine_failed', `the engine has no hidden state for row ${row}`);
    const state = new Float32Array(viewMemory(pointer, this.hiddenSize * 4));
    for (let index = 0; index < this.hiddenSize; index += 1) this.sum[index] = (this.sum[index] ?? 0) + (state[index] ?? 0);
    this.count += 1;
  }

  /** `[hiddenSize]` f32, not normalised. */
  vector(): Float32Array {
    const { count } = this;
    if (count === 0) throw new RingError('engine_failed', 'no hidden state came for a prompt that was to be embedded');
    return Float32Array.from(this.sum, (value) => value / count);
  }
}
