/**
 * What is open in which slot of a stage, and the checks on what wants to use a slot.
 *
 * A slot is the engine's sequence id. Everything that comes from outside is checked here before the engine sees it,
 * because the engine ends the process on what it dislikes. It must not know the engine.
 */
import { RingError } from '../core/errors.js';
import { MAX_DRAFT_TOKENS } from '../core/speculation.js';
import type { SequenceSlice } from '../core/step-types.js';
import type { PooledStates } from './pooled-states.js';
import type { SequenceSampler } from './sampler.js';
import { MAX_PADDED_LANE_TOKENS } from './slot-packing.js';

/** What is open in a slot. */
export interface OpenSequence {
  readonly sequenceId: string;
  /** Null where nothing is sampled. */
  readonly sampler: SequenceSampler | null;
  /** Non-null at the tail where the prompt's hidden states are wanted and nothing is drawn. */
  readonly pooled: PooledStates | null;
  /** Closed, but its KV is kept: the slot may be opened on it. */
  readonly retained: boolean;
  /** Position of the next token. */
  next: number;
  /** How many of the last tokens were guesses: the next slice may begin so much earlier. */
  drafted: number;
  /** Set when a step failed half-way: what the slot holds is unknown until it is closed. */
  broken: boolean;
}

export interface SlotRules {
  readonly slots: number;
  readonly contextTokens: number;
  readonly batchTokens: number;
  readonly canRollBack: boolean;
}

export class SlotTable {
  private readonly open: (OpenSequence | null)[];

  constructor(private readonly rules: SlotRules) {
    this.open = new Array<OpenSequence | null>(rules.slots).fill(null);
  }

  /** Throws `bad_frame` when there is no such slot. */
  at(slot: number): OpenSequence | null {
    const open = this.open[slot];
    if (open === undefined) throw new RingError('bad_frame', `slot ${slot} does not exist: this stage has ${this.open.length}`, { slot });
    return open;
  }

  /** Throws `bad_frame` when nothing runs in the slot. */
  running(slot: number): OpenSequence {
    const open = this.at(slot);
    if (open === null || open.retained) throw new RingError('bad_frame', `slot ${slot} was used before it was opened`, { slot });
    return open;
  }

  set(slot: number, open: OpenSequence | null): void {
    this.at(slot);
    this.open[slot] = open;
  }

  all(): readonly (OpenSequence | null)[] {
    return this.open;
  }

  clear(): void {
    this.open.fill(null);
  }

  /** Padding takes an empty slot, or goes behind what is retained and is taken back. */
  isPaddable(slot: number): boolean {
    const open = this.open[slot];
    return open === null || (open !== undefined && open.retained && open.next + MAX_PADDED_LANE_TOKENS <= this.rules.contextTokens);
  }

  checkOpen(slot: number, sequenceId: string): void {
    const current = this.at(slot);
    if (current !== null && !current.retained) {
      throw new RingError('bad_frame', `slot ${slot} was opened for sequence ${sequenceId} while ${current.sequenceId} is open in it`);
    }
  }

  checkMove(from: number, to: number): OpenSequence {
    const open = this.at(from);
    if (open === null || this.at(to) !== null || !this.rules.canRollBack) {
      throw new RingError('bad_frame', `slot ${from} cannot move to slot ${to}: it holds nothing, the other does, or this architecture's memory cannot move`, { from, to });
    }
    return open;
  }

  checkReuse(slot: number, reuse: { readonly slot: number; readonly tokens: number }): void {
    const source = this.at(reuse.slot);
    const usable = this.rules.canRollBack && source !== null && !source.broken && (source.retained || reuse.slot !== slot);
    if (!usable || !Number.isInteger(reuse.tokens) || reuse.tokens < 1 || reuse.tokens > source.next) {
      throw new RingError('bad_frame', `slot ${slot} cannot begin with ${reuse.tokens} tokens of slot ${reuse.slot}`, { slot });
    }
  }

  /** Throws RingError for a step that these slots cannot take. */
  checkSlices(slices: readonly SequenceSlice[]): void {
    const seen = new Set<number>();
    for (const slice of slices) {
      if (seen.has(slice.slot)) throw new RingError('bad_frame', `slot ${slice.slot} occurs twice in one step`, { slot: slice.slot });
      seen.add(slice.slot);
      this.checkSlice(slice);
    }
    if (slices.length > 1 && slices.some((slice) => this.running(slice.slot).pooled !== null)) throw new RingError('bad_frame', 'a prompt whose hidden states are wanted comes in steps of its own');
  }

  private checkSlice(slice: SequenceSlice): void {
    const open = this.running(slice.slot);
    if (open.broken) throw new RingError('bad_frame', `slot ${slice.slot} must be closed: a step failed in it`, { slot: slice.slot });
    if (!Number.isInteger(slice.tokens) || slice.tokens < 1) throw new RingError('bad_frame', `a slice of ${slice.tokens} tokens in slot ${slice.slot}`);
    const { contextTokens, batchTokens, canRollBack } = this.rules;
    const { draft = [] } = slice;
    if (draft.length > 0 && (!canRollBack || !slice.sample || draft.length > MAX_DRAFT_TOKENS || slice.tokens <= draft.length || slice.tokens > batchTokens)) {
      throw new RingError('bad_frame', `a slice of ${slice.tokens} tokens in slot ${slice.slot} cannot have ${draft.length} guesses`, { slot: slice.slot });
    }
    if (slice.position > open.next || slice.position < open.next - open.drafted) {
      throw new RingError('bad_frame', `slot ${slice.slot} continues at position ${slice.position}, but holds ${open.next} tokens`, { slot: slice.slot });
    }
    if (slice.position + slice.tokens > contextTokens) {
      throw new RingError(
        'context_too_long',
        `a sequence of ${slice.position + slice.tokens} tokens does not fit the context of ${contextTokens}; shorten it or ask for more context`,
        { contextTokens },
      );
    }
  }
}
