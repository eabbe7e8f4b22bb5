/**
 * The tokens that a sampler chooses from, as libllama has them: one entry for each token of the vocabulary.
 *
 * Needed where something stands between the chain and its choice (a grammar). One for a stage: it is filled anew for
 * every draw. It must not know what the samplers do.
 */
import { addressOf } from './llama.js';
import type { Llama } from './llama.js';

/** `struct llama_token_data { int32 id; float logit; float p; }` */
const WORDS = 3;
const LOGIT = 1;
/** `struct llama_token_data_array { llama_token_data * data; size_t size; int64 selected; bool sorted; }` */
const HEADER_BYTES = 32;
const SIZE = 8;
const SELECTED = 16;
const SORTED = 24;

export class Candidates {
  private readonly ids: Int32Array;
  private readonly floats: Float32Array;
  private readonly bytes: Uint8Array;
  private readonly header = new DataView(new ArrayBuffer(HEADER_BYTES));
  private readonly headerBytes: Uint8Array;

  /** For vocabularies of `size` tokens. */
  constructor(private readonly llama: Llama, private readonly size: number) {
    const memory = new ArrayBuffer(size * WORDS * 4);
    this.ids = new Int32Array(memory);
    this.floats = new Float32Array(memory);
    this.bytes = new Uint8Array(memory);
    this.headerBytes = new Uint8Array(this.header.buffer);
  }

  /** All tokens, with these logits. */
  load(logits: Float32Array): void {
    for (let token = 0, at = 0; token < this.size; token += 1, at += WORDS) {
      this.ids[at] = token;
      this.floats[at + LOGIT] = logits[token] ?? -Infinity;
    }
    this.begin(this.size);
  }

  /** One token alone. */
  loadOne(token: number): void {
    this.ids[0] = token;
    this.floats[LOGIT] = 1;
    this.begin(1);
  }

  /** Only right after `load`: later the samplers have changed the order. */
  forbid(token: number): void {
    this.floats[token * WORDS + LOGIT] = -Infinity;
  }

  /** What a sampler makes of them; a chain ends with one that selects. */
  apply(sampler: bigint): void {
    this.llama.c.llama_sampler_apply(sampler, this.headerBytes);
  }

  /** The token that the chain selected; null = none. */
  selected(): number | null {
    const index = Number(this.header.getBigInt64(SELECTED, true));
    return index < 0 || index >= this.size ? null : this.ids[index * WORDS] ?? null;
  }

  firstIsPossible(): boolean {
    return (this.floats[LOGIT] ?? -Infinity) > -Infinity;
  }

  noneIsPossible(): boolean {
    for (let at = LOGIT; at < this.floats.length; at += WORDS) if ((this.floats[at] ?? -Infinity) > -Infinity) return false;
    return true;
  }

  private begin(count: number): void {
    this.header.setBigUint64(0, addressOf(this.bytes), true);
    this.header.setBigUint64(SIZE, BigInt(count), true);
    this.header.setBigInt64(SELECTED, -1n, true);
    this.header.setUint8(SORTED, 0);
  }
}
