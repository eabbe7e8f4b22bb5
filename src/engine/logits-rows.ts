/**
 * Rows of logits where the engine has them. Each row's view is made once: a view of the engine's memory counts as garbage of its
 * size, and one for each draw would have the collector at work all the time. It must not know who looks at them.
 */
import { RingError } from '../core/errors.js';
import { viewMemory } from './llama.js';
import type { Llama } from './llama.js';

const FLOAT_BYTES = 4;
/** The engine moves its logits when a call has more rows than any before: views of the old place are forgotten some time. */
const MAX_VIEWS = 256;

export class LogitsRows {
  private readonly views = new Map<bigint, Float32Array>();

  constructor(private readonly llama: Llama, private readonly vocabularySize: number) {}

  /** Of row `row` of the context's last call; its own until the next. Throws `engine_failed` where there are none. */
  row(context: bigint, row: number): Float32Array {
    const pointer = this.llama.c.llama_get_logits_ith(context, row);
    if (pointer === null) throw new RingError('engine_failed', `the engine has no logits for row ${row}`);
    const known = this.views.get(pointer);
    if (known !== undefined) return known;
    if (this.views.size >= MAX_VIEWS) this.views.clear();
    const view = new Float32Array(viewMemory(pointer, this.vocabularySize * FLOAT_BYTES));
    this.views.set(pointer, view);
    return view;
  }
}
