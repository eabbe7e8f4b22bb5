/**
 * Which sequence has which slot, and what the stages must be told of it: opened, closed, moved.
 *
 * A new sequence begins with what a slot holds already, where stages can roll back; a closed slot's KV stays for that as
 * long as there is room. Frames keep their order, so whoever takes a slot finds what was sent for the one before computed.
 * It must not know steps or queues.
 */
import { PrefixCache } from './prefix-cache.js';
import type { Placement, SlotHistory } from './prefix-cache.js';
import type { Sequence } from './sequence.js';
import { SlotMoves } from './slot-moves.js';
import type { SequenceOperation } from './step-types.js';

export class HeadSlots {
  /** Index = slot; null = free. */
  private readonly slots: (Sequence | null)[];
  private operations: SequenceOperation[] = [];
  private readonly prefixes: PrefixCache;
  private readonly moves = new SlotMoves();

  /** `canRollBack`: every stage can forget the last tokens of a slot, and copy it. */
  constructor(readonly size: number, private readonly canRollBack: boolean) {
    this.slots = new Array<Sequence | null>(size).fill(null);
    this.prefixes = new PrefixCache(size);
  }

  at(slot: number): Sequence | null {
    return this.slots[slot] ?? null;
  }

  /** By slot. */
  running(): readonly Sequence[] {
    return this.slots.filter((sequence): sequence is Sequence => sequence !== null);
  }

  /** Gives the sequence a slot. The number of its tokens that are there already; null when no slot is free. */
  open(sequence: Sequence): number | null {
    const placement = this.place(sequence);
    if (placement === null) return null;
    const { slot, reuse } = placement;
    sequence.slot = slot;
    sequence.sent = reuse?.tokens ?? 0;
    this.slots[slot] = sequence;
    const { request } = sequence;
    this.operations.push({
      kind: 'open',
      slot,
      sequenceId: request.requestId,
      sampling: request.sampling,
      origin: request.origin,
      promptLength: request.promptTokens.length,
      promptTokens: request.sampling.repeatPenalty === 1 ? [] : request.promptTokens,
      emittedTokens: request.emittedTokens,
      ...(request.headDelivers === undefined ? {} : { headDelivers: true }),
      ...(reuse === undefined ? {} : { reuse }),
    });
    this.dropSurplus();
    return sequence.sent;
  }

  close(sequence: Sequence): void {
    const { slot } = sequence;
    this.slots[slot] = null;
    const retain = this.canRollBack && this.prefixes.retain(heldBy(sequence));
    this.operations.push(retain ? { kind: 'close', slot, retain } : { kind: 'close', slot });
    this.dropSurplus();
  }

  /** Before a decode step of these: whoever runs far apart is brought together now and then. */
  moveTogether(sequences: readonly Sequence[]): void {
    if (!this.canRollBack) return;
    const uses = this.slots.map((sequence, slot) => (sequence !== null ? 'running' : this.prefixes.holds(slot) ? 'retained' : 'empty'));
    for (const { slot, to } of this.moves.beforeDecode(sequences.map((sequence) => sequence.slot), uses)) {
      const sequence = this.at(slot);
      if (sequence === null) this.prefixes.move(slot, to);
      else sequence.slot = to;
      this.slots[to] = sequence;
      this.slots[slot] = null;
      this.operations.push({ kind: 'move', slot, to });
    }
  }

  hasOperations(): boolean {
    return this.operations.length > 0;
  }

  /** What the stages have not been told yet, in order. */
  takeOperations(): readonly SequenceOperation[] {
    const taken = this.operations;
    this.operations = [];
    return taken;
  }

  /** On what the sequence begins with, or the lowest free slot, so that the slots of a batch stay neighbours. */
  private place(sequence: Sequence): Placement | null {
    const free = this.slots.indexOf(null);
    if (free < 0) return null;
    if (!this.canRollBack) return { slot: free };
    // Where all of its hidden states are wanted, all of it is computed.
    const { pooling } = sequence.request.sampling;
    const known = pooling === undefined || pooling === 'last' ? sequence.tokens : [];
    return this.prefixes.place(known, this.running().map(heldBy));
  }

  private dropSurplus(): void {
    const surplus = this.prefixes.surplus(this.running().length);
    if (surplus !== null) this.operations.push({ kind: 'close', slot: surplus });
  }
}

function heldBy({ slot, tokens, sent }: Sequence): SlotHistory {
  return { slot, tokens: tokens.slice(0, sent) };
}
