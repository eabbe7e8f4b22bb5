/**
 * A stage without a KV cache (`kv_cache = "none"`): it keeps what went into each slot and computes it
 * again with every step, one sequence after the other, in the cells of a single one.
 *
 * Any chunking gives the same numbers (docs/how-it-works.md, "What is exact"), so the tokens are the same as with a cache; only memory and
 * time differ. It must not know the engine's calls: it drives an ordinary stage of one slot.
 */
import { RingError } from '../core/errors.js';
import type { SampledToken, SequenceOperation, SequenceSlice } from '../core/step-types.js';
import type { StageEngine, StageInput, StageOptions, StageOutput } from '../ports.js';

type OpenOperation = Extract<SequenceOperation, { kind: 'open' }>;

interface Slot {
  /** Null = closed, its input kept. */
  operation: OpenOperation | null;
  /** Drawn under this operation: what a sampler that starts anew must have seen. */
  readonly emitted: number[];
  /** Inputs of positions `[0, length)`: ids, or rows of `hiddenSize`. */
  history: History;
  length: number;
  /** How many of the last tokens were guesses. */
  drafted: number;
  broken: boolean;
}

type History = Int32Array | Float32Array;

/** The slot of the one sequence that computes. */
const INNER_SLOT = 0;

export class RecomputingStage implements StageEngine {
  private readonly slots: (Slot | null)[];
  private readonly takesTokens: boolean;
  private output = new Float32Array(0);
  private logitsOf = new Map<number, Float32Array>();

  /** `inner` is the same stage with one slot; it is closed with this one. */
  constructor(private readonly options: StageOptions, private readonly inner: StageEngine) {
    this.takesTokens = options.role === 'whole' || options.role === 'head';
    this.slots = new Array<Slot | null>(options.slots).fill(null);
  }

  get hiddenSize(): number {
    return this.inner.hiddenSize;
  }

  get layers(): number {
    return this.inner.layers;
  }

  get vocabularySize(): number {
    return this.inner.vocabularySize;
  }

  get canRollBack(): boolean {
    return this.inner.canRollBack;
  }

  apply(operations: readonly SequenceOperation[]): void {
    for (const operation of operations) {
      if (operation.kind === 'close') this.closeSlot(operation.slot, operation.retain === true);
      else if (operation.kind === 'move') this.moveSlot(operation.slot, operation.to);
      else this.openSlot(operation);
    }
  }

  /** Nothing is kept, so there is nothing to begin with. */
  ahead(_input: StageInput): void {
    return;
  }

  step(input: StageInput): StageOutput {
    const open = input.slices.map((slice) => ({ slice, slot: this.checkSlice(slice) }));
    const width = this.takesTokens ? 1 : this.hiddenSize;
    const rows = input.slices.reduce((sum, slice) => sum + slice.tokens, 0);
    const payload = this.takesTokens ? input.tokens : input.hidden;
    if (payload === null || payload.length !== rows * width) throw new RingError('bad_frame', `a step of ${rows} tokens needs ${rows * width} values, got ${payload?.length ?? 'none'}`);
    const gives = this.options.role === 'head' || this.options.role === 'middle';
    if (gives && this.output.length < rows * this.hiddenSize) this.output = new Float32Array(new ArrayBuffer(rows * this.hiddenSize * 4));
    this.logitsOf = new Map();
    const sampled: SampledToken[] = [];
    let engineCalls = 0;
    let row = 0;
    open.forEach(({ slice, slot }, index) => {
      this.remember(slot, slice, payload.subarray(row * width, (row + slice.tokens) * width), width);
      const result = this.compute(slot, slice, width);
      engineCalls += result.engineCalls;
      for (const token of result.sampled) {
        slot.emitted.push(token.token);
        sampled.push({ ...token, slot: slice.slot });
      }
      if (result.sampled.some((token) => token.embedding === undefined)) this.logitsOf.set(index, this.inner.logits(0).slice());
      if (gives && result.hidden !== null) this.output.set(result.hidden, row * this.hiddenSize);
      row += slice.tokens;
    });
    return { hidden: gives ? this.output.subarray(0, rows * this.hiddenSize) : null, sampled, engineCalls };
  }

  logits(sliceIndex: number): Float32Array {
    const logits = this.logitsOf.get(sliceIndex);
    if (logits === undefined) throw new RingError('not_ready', `slice ${sliceIndex} of the last step has no logits: it did not sample`);
    return logits;
  }

  reset(): void {
    this.slots.fill(null);
    this.logitsOf = new Map();
    this.inner.reset();
  }

  close(): void {
    this.inner.close();
  }

  /** Everything that came before, then the slice itself; nothing stays in the cells. */
  private compute(slot: Slot, slice: SequenceSlice, width: number): StageOutput {
    const { operation, history } = slot;
    if (operation === null) throw new RingError('internal', `slot ${slice.slot} is closed`);
    const { reuse: _reuse, ...opening } = operation;
    slot.broken = true;
    this.inner.apply([{ ...opening, slot: INNER_SLOT, emittedTokens: [...operation.emittedTokens, ...slot.emitted] }]);
    try {
      let engineCalls = 0;
      for (let position = 0; position < slice.position; position += this.options.batchTokens) {
        const tokens = Math.min(this.options.batchTokens, slice.position - position);
        engineCalls += this.inner.step(this.inputOf({ slot: INNER_SLOT, position, tokens, sample: false }, history, width)).engineCalls;
      }
      const result = this.inner.step(this.inputOf({ ...slice, slot: INNER_SLOT }, history, width));
      slot.broken = false;
      return { ...result, engineCalls: engineCalls + result.engineCalls };
    } finally {
      this.inner.apply([{ kind: 'close', slot: INNER_SLOT }]);
    }
  }

  private inputOf(slice: SequenceSlice, history: History, width: number): StageInput {
    const part = history.subarray(slice.position * width, (slice.position + slice.tokens) * width);
    return { slices: [slice], tokens: part instanceof Int32Array ? part : null, hidden: part instanceof Float32Array ? part : null };
  }

  private remember(slot: Slot, slice: SequenceSlice, values: History, width: number): void {
    const needed = (slice.position + slice.tokens) * width;
    if (slot.history.length < needed) {
      // Doubled, and never more than a whole context: every slot's share is in the plan.
      const larger = this.emptyHistory(Math.min(this.options.contextTokens * width, Math.max(needed, slot.history.length * 2)));
      larger.set(slot.history);
      slot.history = larger;
    }
    slot.history.set(values, slice.position * width);
    slot.length = slice.position + slice.tokens;
    slot.drafted = slice.draft?.length ?? 0;
  }

  private emptyHistory(values: number): History {
    return this.takesTokens ? new Int32Array(values) : new Float32Array(values);
  }

  private openSlot(operation: OpenOperation): void {
    const current = this.slotAt(operation.slot);
    if (current !== null && current.operation !== null) {
      throw new RingError('bad_frame', `slot ${operation.slot} was opened for sequence ${operation.sequenceId} while ${current.operation.sequenceId} is open in it`);
    }
    const { reuse } = operation;
    const source = reuse === undefined ? null : this.slotAt(reuse.slot);
    if (reuse !== undefined && (source === null || source.broken || reuse.tokens < 1 || reuse.tokens > source.length)) {
      throw new RingError('bad_frame', `slot ${operation.slot} cannot begin with ${reuse.tokens} tokens of slot ${reuse.slot}`);
    }
    const width = this.takesTokens ? 1 : this.hiddenSize;
    const length = reuse?.tokens ?? 0;
    const history = source === null ? this.emptyHistory(0) : source.history.slice(0, length * width);
    this.slots[operation.slot] = { operation, emitted: [], history, length, drafted: 0, broken: false };
  }

  private closeSlot(index: number, retain: boolean): void {
    const slot = this.slotAt(index);
    if (slot === null) return;
    if (retain && this.canRollBack && !slot.broken) slot.operation = null;
    else this.slots[index] = null;
  }

  private moveSlot(from: number, to: number): void {
    const slot = this.slotAt(from);
    if (slot === null || this.slotAt(to) !== null) throw new RingError('bad_frame', `slot ${from} cannot move to slot ${to}: it holds nothing, or the other does`);
    this.slots[to] = slot;
    this.slots[from] = null;
  }

  private checkSlice(slice: SequenceSlice): Slot {
    const slot = this.slotAt(slice.slot);
    if (slot?.operation === null || slot === null) throw new RingError('bad_frame', `slot ${slice.slot} was used before it was opened`);
    if (slot.broken) throw new RingError('bad_frame', `slot ${slice.slot} must be closed: a step failed in it`);
    if (!Number.isInteger(slice.tokens) || slice.tokens < 1) throw new RingError('bad_frame', `a slice of ${slice.tokens} tokens in slot ${slice.slot}`);
    if (slice.position > slot.length || slice.position < slot.length - slot.drafted) {
      throw new RingError('bad_frame', `slot ${slice.slot} continues at position ${slice.position}, but holds ${slot.length} tokens`);
    }
    if (slice.position + slice.tokens > this.options.contextTokens) {
      throw new RingError('context_too_long', `a sequence of ${slice.position + slice.tokens} tokens does not fit the context of ${this.options.contextTokens}; shorten it or ask for more context`);
    }
    return slot;
  }

  private slotAt(index: number): Slot | null {
    const slot = this.slots[index];
    if (slot === undefined) throw new RingError('bad_frame', `slot ${index} does not exist: this stage has ${this.slots.length}`);
    return slot;
  }
}
