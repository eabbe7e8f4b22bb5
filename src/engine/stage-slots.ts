/**
 * The slots of a stage: what is open in each (slot-table.ts), and what the engine remembers of it, kept alike.
 *
 * The engine's memory of a sequence is cut, copied and moved here only. It must not know steps or batches.
 */
import { RingError } from '../core/errors.js';
import type { SequenceOperation, SequenceSlice } from '../core/step-types.js';
import type { Llama } from './llama.js';
import type { PooledStates } from './pooled-states.js';
import type { SequenceSampler } from './sampler.js';
import { SlotTable } from './slot-table.js';
import type { OpenSequence, SlotRules } from './slot-table.js';

type Opening = Extract<SequenceOperation, { kind: 'open' }>;

/** What the tail needs of a sequence; both null on other stages. */
export interface SequenceEnd {
  readonly sampler: SequenceSampler | null;
  readonly pooled: PooledStates | null;
}

export class StageSlots {
  private readonly table: SlotTable;

  /** `memory`: the context's, as the engine knows it. `endOf` makes what the tail needs; its owner never closes it. */
  constructor(private readonly llama: Llama, private readonly memory: bigint, private readonly rules: SlotRules, private readonly endOf: (opening: Opening) => SequenceEnd) {
    this.table = new SlotTable(rules);
  }

  /** Throws `bad_frame` when there is no such slot. */
  at(slot: number): OpenSequence | null {
    return this.table.at(slot);
  }

  /** Throws `bad_frame` when nothing runs in the slot. */
  running(slot: number): OpenSequence {
    return this.table.running(slot);
  }

  isPaddable(slot: number): boolean {
    return this.table.isPaddable(slot);
  }

  /** Throws RingError for a step that these slots cannot take. */
  checkSlices(slices: readonly SequenceSlice[]): void {
    this.table.checkSlices(slices);
  }

  /** In order. Throws `bad_frame` for what cannot be. */
  apply(operations: readonly SequenceOperation[]): void {
    for (const operation of operations) {
      if (operation.kind === 'close') this.close(operation.slot, operation.retain === true);
      else if (operation.kind === 'move') this.move(operation.slot, operation.to);
      else this.open(operation);
    }
  }

  /** A slice that begins before the slot's end says which of the last guesses were wrong. */
  takeBackGuesses(slices: readonly SequenceSlice[]): void {
    for (const slice of slices) {
      const open = this.table.running(slice.slot);
      if (slice.position === open.next) continue;
      this.dropFrom(slice.slot, slice.position);
      open.next = slice.position;
    }
  }

  /** Whatever padding left behind a slot's own tokens. */
  dropPadding(slot: number): void {
    this.dropFrom(slot, this.table.at(slot)?.next ?? 0);
  }

  /** A step failed half-way in these. */
  break(slices: readonly SequenceSlice[]): void {
    for (const { slot } of slices) this.table.running(slot).broken = true;
  }

  /** Forgets every sequence. */
  clear(): void {
    this.closeSamplers();
    this.table.clear();
    this.llama.c.llama_memory_clear(this.memory, false);
  }

  closeSamplers(): void {
    for (const open of this.table.all()) open?.sampler?.close();
  }

  private open(opening: Opening): void {
    const { slot, sequenceId, reuse } = opening;
    this.table.checkOpen(slot, sequenceId);
    if (reuse !== undefined) this.table.checkReuse(slot, reuse);
    const end = this.endOf(opening);
    const holdsSomething = this.table.at(slot) !== null;
    const next = reuse?.tokens ?? 0;
    if (reuse !== undefined && reuse.slot !== slot) {
      if (holdsSomething) this.dropFrom(slot, 0);
      this.copy(reuse.slot, slot);
    }
    if (holdsSomething || reuse !== undefined) this.dropFrom(slot, next);
    this.table.set(slot, { sequenceId, ...end, retained: false, next, drafted: 0, broken: false });
  }

  private close(slot: number, retain: boolean): void {
    const open = this.table.at(slot);
    if (open === null) return;
    open.sampler?.close();
    if (retain && this.rules.canRollBack && !open.broken) {
      this.table.set(slot, { ...open, sampler: null, pooled: null, retained: true });
      return;
    }
    this.table.set(slot, null);
    this.dropFrom(slot, 0);
  }

  /** The copied KV is the same to the bit. */
  private move(from: number, to: number): void {
    const open = this.table.checkMove(from, to);
    this.copy(from, to);
    this.dropFrom(from, 0);
    this.table.set(to, open);
    this.table.set(from, null);
  }

  /** The engine copies a whole KV stream, at its next call; copies keep their order. */
  private copy(from: number, to: number): void {
    this.llama.c.llama_memory_seq_cp(this.memory, from, to, -1, -1);
  }

  /** Forgets what a slot holds from `position` on. */
  private dropFrom(slot: number, position: number): void {
    const dropped = this.llama.c.llama_memory_seq_rm(this.memory, slot, position === 0 ? -1 : position, -1);
    if (!dropped) throw new RingError('engine_failed', `the engine cannot forget a sequence's tokens from position ${position} on`, { position });
  }
}
