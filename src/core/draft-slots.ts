/**
 * Which sequence the draft reads in which of its slots, and what a slot holds already.
 *
 * A sequence keeps its slot as long as nobody who came later needs it; where it goes on otherwise than the draft guessed,
 * what is wrong is forgotten, and a new one begins with whatever slot begins as it does. Pure; it must not know runners.
 */
import { assert } from './errors.js';
import type { SamplingSettings, SequenceOperation } from './step-types.js';

/** A draft says what it holds for likeliest: the tail's own draw decides. */
const GREEDY: SamplingSettings = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

interface DraftSlot {
  /** Null = it was never opened. */
  sequenceId: string | null;
  tokens: number[];
  /** Grows with every use. */
  used: number;
}

export interface DraftStart {
  readonly slot: number;
  /** Tokens that are read already: at least one less than all, so that there is something to guess from. */
  readonly held: number;
  /** To travel with the next step. */
  readonly operations: readonly SequenceOperation[];
}

export class DraftSlots {
  private readonly slots: readonly DraftSlot[];
  private uses = 0;

  constructor(size: number) {
    assert(size >= 1, 'a draft has slots');
    this.slots = Array.from({ length: size }, () => ({ sequenceId: null, tokens: [], used: 0 }));
  }

  /** `tokens` is not empty. The slot holds the first `held` of them from now on. */
  begin(sequenceId: string, tokens: readonly number[], ignoreEos = false): DraftStart {
    const own = this.slots.findIndex((slot) => slot.sequenceId === sequenceId);
    const slot = own >= 0 ? own : this.leastUsed();
    const source = own >= 0 ? own : this.mostAlike(tokens);
    const target = this.slots[slot];
    const held = Math.min(commonLength(this.slots[source]?.tokens ?? [], tokens), tokens.length - 1);
    assert(target !== undefined, 'a slot is one of ours');
    this.uses += 1;
    target.used = this.uses;
    if (own >= 0 && held === target.tokens.length) return { slot, held, operations: [] };
    const operations: SequenceOperation[] = [];
    if (target.sequenceId !== null) operations.push(held > 0 && source === slot ? { kind: 'close', slot, retain: true } : { kind: 'close', slot });
    operations.push({
      kind: 'open', slot, sequenceId, sampling: { ...GREEDY, ignoreEos }, origin: '', promptLength: tokens.length, promptTokens: [], emittedTokens: [],
      ...(held > 0 ? { reuse: { slot: source, tokens: held } } : {}),
    });
    target.sequenceId = sequenceId;
    target.tokens = tokens.slice(0, held);
    return { slot, held, operations };
  }

  /** The slot holds these too. */
  read(slot: number, tokens: readonly number[]): void {
    this.slots[slot]?.tokens.push(...tokens);
  }

  private leastUsed(): number {
    const least = Math.min(...this.slots.map(({ used }) => used));
    return this.slots.findIndex(({ used }) => used === least);
  }

  private mostAlike(tokens: readonly number[]): number {
    const lengths = this.slots.map((slot) => commonLength(slot.tokens, tokens));
    return lengths.indexOf(Math.max(...lengths));
  }
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length += 1;
  return length;
}
