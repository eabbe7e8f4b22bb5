/** Stages that hold whoever sends them steps to its word: what each slot holds follows from the operations alone. */
import type { SampledToken, SequenceOperation, SequenceSlice } from '../../src/core/step-types.js';

export class Random {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state = (Math.imul(this.state, 1_103_515_245) + 12_345) >>> 0;
    return (this.state >>> 8) % limit;
  }
}

interface Held {
  readonly sequenceId: string;
  readonly retained: boolean;
  readonly tokens: number[];
}

interface Step {
  readonly operations: readonly SequenceOperation[];
  readonly slices: readonly SequenceSlice[];
  readonly tokens: Int32Array;
}

export class StrictStages {
  private readonly slots: (Held | null)[];

  /** `follower`: the token after these. */
  constructor(slots: number, private readonly follower: (tokens: readonly number[]) => number) {
    this.slots = new Array<Held | null>(slots).fill(null);
  }

  run(step: Step): SampledToken[] {
    step.operations.forEach((operation) => this.apply(operation));
    const sampled: SampledToken[] = [];
    let row = 0;
    for (const slice of step.slices) {
      const held = this.slots[slice.slot];
      if (held === null || held === undefined || held.retained) throw new Error(`slot ${slice.slot} was used before it was opened`);
      if (slice.position > held.tokens.length) throw new Error(`slot ${slice.slot} goes on at ${slice.position}, but holds ${held.tokens.length}`);
      held.tokens.splice(slice.position, Infinity, ...step.tokens.subarray(row, row + slice.tokens));
      row += slice.tokens;
      if (slice.sample) sampled.push(...this.draw(slice.slot, held, slice.draft ?? []));
    }
    return sampled;
  }

  /** What a slot holds. */
  held(slot: number): readonly number[] {
    return this.slots[slot]?.tokens ?? [];
  }

  private draw(slot: number, held: Held, draft: readonly number[]): SampledToken[] {
    const drawn: SampledToken[] = [];
    for (let right = 0; right <= draft.length; right += 1) {
      const seen = held.tokens.slice(0, held.tokens.length - draft.length + right);
      const token = this.follower(seen);
      drawn.push({ slot, sequenceId: held.sequenceId, position: seen.length, token, endOfGeneration: false });
      if (token !== draft[right]) break;
    }
    return drawn;
  }

  private apply(operation: SequenceOperation): void {
    const held = this.slots[operation.slot] ?? null;
    if (operation.kind === 'move') {
      if (held === null || this.slots[operation.to] !== null) throw new Error(`slot ${operation.slot} cannot move to ${operation.to}`);
      this.slots[operation.to] = held;
      this.slots[operation.slot] = null;
      return;
    }
    if (operation.kind === 'close') {
      this.slots[operation.slot] = held !== null && operation.retain === true ? { ...held, retained: true } : null;
      return;
    }
    if (held !== null && !held.retained) throw new Error(`slot ${operation.slot} was opened while ${held.sequenceId} is open in it`);
    const source = operation.reuse === undefined ? null : this.slots[operation.reuse.slot] ?? null;
    if (operation.reuse !== undefined && (source === null || source.tokens.length < operation.reuse.tokens)) throw new Error(`slot ${operation.slot} begins with more than there is`);
    this.slots[operation.slot] = { sequenceId: operation.sequenceId, retained: false, tokens: source?.tokens.slice(0, operation.reuse?.tokens ?? 0) ?? [] };
  }
}
