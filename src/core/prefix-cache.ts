/**
 * Which closed slots still hold a sequence's KV on every stage, and which of them, or of the running ones, a new prompt
 * can begin with.
 *
 * The head alone knows every token that was sent into the ring, so it alone decides; stages are told with the slot
 * operations. Pure: it must not know the engine. Bounded by the plan's slots, and each history by its context.
 */

/** Shorter common beginnings are computed again: not worth a copy of a slot. */
export const MIN_REUSED_TOKENS = 16;
/** Widest hole between running slots that stages close with padding; wider ones need a free slot to move things through. */
const MAX_RETAINED_WITHOUT_FREE_SLOT = 3;

/** Tokens whose KV a slot holds, in order from position 0. */
export interface SlotHistory {
  readonly slot: number;
  readonly tokens: readonly number[];
}

export interface Placement {
  readonly slot: number;
  readonly reuse?: { readonly slot: number; readonly tokens: number };
}

export class PrefixCache {
  /** Slot -> its tokens; the oldest first. */
  private readonly retained = new Map<number, readonly number[]>();

  constructor(private readonly slots: number) {}

  holds(slot: number): boolean {
    return this.retained.has(slot);
  }

  /** Remembers a slot that closed. False: too little to keep, close it for good. */
  retain({ slot, tokens }: SlotHistory): boolean {
    if (tokens.length < MIN_REUSED_TOKENS) return false;
    this.retained.delete(slot);
    this.retained.set(slot, tokens);
    return true;
  }

  /** Where a new sequence goes: `running` are the slots in use. Null when all are. What it takes is no longer retained. */
  place(prompt: readonly number[], running: readonly SlotHistory[]): Placement | null {
    const used = new Set(running.map(({ slot }) => slot));
    let empty = -1;
    for (let slot = this.slots - 1; slot >= 0; slot -= 1) if (!used.has(slot) && !this.retained.has(slot)) empty = slot;
    if (empty < 0 && this.retained.size === 0) return null;
    const source = this.longest(prompt, running);
    if (source === null) return this.take({ slot: empty >= 0 ? empty : this.oldestBut(-1) });
    const { slot: from, tokens, held } = source;
    const other = empty >= 0 ? empty : this.oldestBut(from);
    // The next turn of a chat goes on where the last one stopped. What shares only its beginning gets a copy.
    const continues = !used.has(from) && (tokens * 2 >= held || other < 0);
    if (!continues) this.touch(from);
    return this.take({ slot: continues ? from : other, reuse: { slot: from, tokens } });
  }

  /** A retained slot to close for good, so that one stays free where stages may need it; null when there is no need. */
  surplus(runningCount: number): number | null {
    if (this.retained.size <= MAX_RETAINED_WITHOUT_FREE_SLOT || this.retained.size + runningCount < this.slots) return null;
    const oldest = this.oldestBut(-1);
    this.retained.delete(oldest);
    return oldest;
  }

  /** What a retained slot holds is in another one from now on; as old as before. */
  move(from: number, to: number): void {
    const entries = [...this.retained];
    this.retained.clear();
    for (const [slot, tokens] of entries) this.retained.set(slot === from ? to : slot, tokens);
  }

  private take(placement: Placement): Placement {
    this.retained.delete(placement.slot);
    return placement;
  }

  private touch(slot: number): void {
    const tokens = this.retained.get(slot);
    if (tokens === undefined) return;
    this.retained.delete(slot);
    this.retained.set(slot, tokens);
  }

  private oldestBut(excluded: number): number {
    for (const slot of this.retained.keys()) if (slot !== excluded) return slot;
    return -1;
  }

  private longest(prompt: readonly number[], running: readonly SlotHistory[]): { slot: number; tokens: number; held: number } | null {
    // The last token of a prompt is always computed: its logits give the first one of the answer.
    const limit = prompt.length - 1;
    let best: { slot: number; tokens: number; held: number } | null = null;
    const consider = (slot: number, history: readonly number[]): void => {
      const tokens = commonLength(prompt, history, limit);
      if (tokens >= MIN_REUSED_TOKENS && tokens > (best?.tokens ?? 0)) best = { slot, tokens, held: history.length };
    };
    for (const [slot, tokens] of this.retained) consider(slot, tokens);
    for (const { slot, tokens } of running) consider(slot, tokens);
    return best;
  }
}

function commonLength(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(limit, a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length += 1;
  return length;
}
