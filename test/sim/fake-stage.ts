/**
 * A stage of the arithmetic model, with the slots and the strictness of the real one (engine/stage.ts): what a head may
 * not send is an error here too, and the simulation takes every such error for a bug of the agents.
 */
import { RingError } from '../../src/core/errors.js';
import { MAX_DRAFT_TOKENS } from '../../src/core/speculation.js';
import type { SampledToken, SamplingSettings, SequenceOperation, SequenceSlice } from '../../src/core/step-types.js';
import type { LayerRange } from '../../src/core/types.js';
import type { StageInput, StageRole } from '../../src/ports.js';
import { draw, embed, END_TOKEN, handOn, heard, HIDDEN_SIZE, history, remember } from './fake-model.js';
import type { Hidden } from './fake-model.js';

interface Slot {
  readonly sequenceId: string;
  readonly sampling: SamplingSettings;
  /** What the sampler has heard. */
  past: number;
  readonly retained: boolean;
  next: number;
  drafted: number;
  /** `[layer][position]` */
  readonly memory: number[][];
}

export interface FakeStageOptions {
  readonly role: StageRole;
  readonly range: LayerRange;
  readonly slots: number;
  readonly contextTokens: number;
  readonly canRollBack: boolean;
}

export class FakeStage {
  private readonly slots: (Slot | null)[];

  constructor(private readonly options: FakeStageOptions) {
    this.slots = new Array<Slot | null>(options.slots).fill(null);
  }

  private get samples(): boolean {
    return this.options.role === 'whole' || this.options.role === 'tail';
  }

  apply(operations: readonly SequenceOperation[]): void {
    for (const operation of operations) {
      const current = this.slotAt(operation.slot);
      switch (operation.kind) {
        case 'close':
          if (current !== null) this.slots[operation.slot] = operation.retain === true && this.options.canRollBack ? { ...current, retained: true } : null;
          break;
        case 'open':
          this.open(operation, current);
          break;
        case 'move':
          if (current === null || this.slotAt(operation.to) !== null) throw bad(`slot ${operation.slot} cannot move to ${operation.to}`);
          this.slots[operation.to] = current;
          this.slots[operation.slot] = null;
          break;
      }
    }
  }

  step(input: StageInput): { readonly hidden: Float32Array | null; readonly sampled: readonly SampledToken[] } {
    const total = input.slices.reduce((sum, slice) => sum + slice.tokens, 0);
    const takesTokens = this.options.role === 'whole' || this.options.role === 'head';
    const payload = takesTokens ? input.tokens : input.hidden;
    if (payload === null || payload.length !== (takesTokens ? total : total * HIDDEN_SIZE)) throw bad(`a step of ${total} tokens has ${payload?.length ?? 'no'} values`);
    const seen = new Set<number>();
    const hidden = this.samples ? null : new Float32Array(total * HIDDEN_SIZE);
    const sampled: SampledToken[] = [];
    let row = 0;
    for (const slice of input.slices) {
      const slot = this.usable(slice, seen);
      const rows: Hidden[] = [];
      for (let index = 0; index < slice.tokens; index += 1, row += 1) {
        const entered: Hidden = takesTokens ? embed(input.tokens?.[row] ?? 0) : [input.hidden?.[row * HIDDEN_SIZE] ?? 0, input.hidden?.[row * HIDDEN_SIZE + 1] ?? 0];
        const left = this.compute(slot, slice.position + index, entered);
        rows.push(left);
        hidden?.set(left, row * HIDDEN_SIZE);
      }
      slot.next = slice.position + slice.tokens;
      slot.drafted = slice.draft?.length ?? 0;
      if (slice.sample && this.samples) sampled.push(...this.draw(slot, slice, rows));
    }
    return { hidden, sampled };
  }

  reset(): void {
    this.slots.fill(null);
  }

  private open(operation: Extract<SequenceOperation, { kind: 'open' }>, current: Slot | null): void {
    const { slot, reuse, sequenceId, sampling } = operation;
    if (current !== null && !current.retained) throw bad(`slot ${slot} was opened for ${sequenceId} while ${current.sequenceId} is open in it`);
    let memory: number[][] = [];
    if (reuse !== undefined) {
      const source = this.slotAt(reuse.slot);
      if (!this.options.canRollBack || source === null || !(source.retained || reuse.slot !== slot) || reuse.tokens < 1 || reuse.tokens > source.next) {
        throw bad(`slot ${slot} cannot begin with ${reuse.tokens} tokens of slot ${reuse.slot}`);
      }
      memory = source.memory.map((positions) => positions.slice(0, reuse.tokens));
    }
    this.slots[slot] = { sequenceId, sampling, past: history(operation.promptTokens, operation.emittedTokens), retained: false, next: reuse?.tokens ?? 0, drafted: 0, memory };
  }

  private compute(slot: Slot, position: number, entered: Hidden): Hidden {
    let hidden = entered;
    for (let layer = this.options.range.start; layer < this.options.range.end; layer += 1) {
      const positions = slot.memory[layer - this.options.range.start] ??= [];
      const memory = remember(layer, position === 0 ? 0 : positions[position - 1] ?? -1, hidden);
      positions.length = Math.min(positions.length, position);
      positions.push(memory);
      hidden = handOn(memory);
    }
    return hidden;
  }

  /** One token, or as many as the guesses before it were right, and the one after them. */
  private draw(slot: Slot, slice: SequenceSlice, rows: readonly Hidden[]): SampledToken[] {
    const { draft = [] } = slice;
    const drawn: SampledToken[] = [];
    for (let row = rows.length - 1 - draft.length; row < rows.length; row += 1) {
      const position = slice.position + row + 1;
      const token = draw(rows[row] ?? [0, 0], slot.sampling, position, slot.past);
      slot.past = heard(slot.past, token);
      drawn.push({ slot: slice.slot, sequenceId: slot.sequenceId, position, token, endOfGeneration: token === END_TOKEN });
      if (token === END_TOKEN || token !== draft[drawn.length - 1]) break;
    }
    return drawn;
  }

  private usable(slice: SequenceSlice, seen: Set<number>): Slot {
    const slot = this.slotAt(slice.slot);
    if (slot === null || slot.retained) throw bad(`slot ${slice.slot} was used before it was opened`);
    if (seen.has(slice.slot)) throw bad(`slot ${slice.slot} occurs twice in one step`);
    seen.add(slice.slot);
    const { draft = [] } = slice;
    if (draft.length > 0 && (!this.options.canRollBack || !slice.sample || draft.length > MAX_DRAFT_TOKENS || slice.tokens <= draft.length)) throw bad(`a slice of ${slice.tokens} tokens cannot have ${draft.length} guesses`);
    if (slice.position > slot.next || slice.position < slot.next - slot.drafted) throw bad(`slot ${slice.slot} continues at ${slice.position}, but holds ${slot.next} tokens`);
    if (slice.position + slice.tokens > this.options.contextTokens) throw bad(`slot ${slice.slot} goes beyond its context`);
    return slot;
  }

  private slotAt(slot: number): Slot | null {
    const found = this.slots[slot];
    if (found === undefined) throw bad(`slot ${slot} does not exist`);
    return found;
  }
}

function bad(what: string): RingError {
  return new RingError('bad_frame', what);
}
