/**
 * A stage of a model in the engine: hidden states or tokens in, hidden states or sampled tokens out.
 *
 * Everything that comes from outside is checked before the engine sees it, because the engine ends the process on what
 * it dislikes. Every call blocks its thread. It must not know frames, pipes or other stages.
 */
import { RingError } from '../core/errors.js';
import { MAX_DRAFT_TOKENS } from '../core/speculation.js';
import type { SampledToken, SequenceOperation, SequenceSlice } from '../core/types.js';
import { architectureRules } from '../model/architectures.js';
import type { StageEngine, StageInput, StageOptions, StageOutput } from '../ports.js';
import { DecodeBatch } from './decode-batch.js';
import { EmbeddingTable } from './embedding-table.js';
import { GrammarVocabulary } from './grammar.js';
import { GraphTap } from './graph-tap.js';
import { viewMemory } from './llama.js';
import { loadModel, openContext } from './model-loader.js';
import type { EngineModel } from './model-loader.js';
import { SequenceSampler } from './sampler.js';
import type { SamplerVocabulary } from './sampler.js';
import { RecomputingStage } from './recomputing-stage.js';
import { MAX_PADDED_LANE_TOKENS, packCalls } from './slot-packing.js';
import type { EngineCall } from './slot-packing.js';
import { endOfGenerationTokens } from './vocabulary.js';

/** What is open in a slot. */
interface OpenSequence {
  readonly sequenceId: string;
  /** The caller's name for it; its lane is the engine's (see `lanes`). */
  readonly slot: number;
  /** Null where nothing is sampled. */
  readonly sampler: SequenceSampler | null;
  /** Closed, but its KV is kept: the slot may be opened on it. */
  readonly retained: boolean;
  /** Position of the next token. */
  next: number;
  /** How many of the last tokens were guesses: the next slice may begin so much earlier. */
  drafted: number;
  /** Set when a step failed half-way: what the slot holds is unknown until it is closed. */
  broken: boolean;
}

/** Where the logits of a sampled slice are: still in the engine, or copied before a later call of the same step. */
type LogitsPlace = { readonly row: number } | { readonly copy: Float32Array };

/** libllama's own limit on sequences. */
const MAX_SLOTS = 256;
/** KV cells of a stage: the engine counts them in 32 bits. */
const MAX_CELLS = 2 ** 31 - 1;
/** Steps in a row that may go through holes before sequences move together: a move copies a whole KV stream. */
const HOLEY_STEPS_BEFORE_MOVE = 3;
/** Placeholder in padded lanes; its output is never read. */
const PADDING_TOKEN = 0;

/**
 * Loads a stage. Throws `bad_config` for impossible options, and what loading throws: `bad_gguf`,
 * `unsupported_architecture`, `out_of_memory`, `backend_missing`, `engine_missing`, `engine_mismatch`, `io_failed`.
 */
export function openStage(options: StageOptions): StageEngine {
  checkOptions(options);
  if (options.keyValueCache === 'none') {
    const { keyValueCache: _none, ...cached } = options;
    return new RecomputingStage(options, openStage({ ...cached, slots: 1 }));
  }
  const model = loadModel(options.stageFile, {
    ...(options.backend === undefined ? {} : { backend: options.backend }),
    ...(options.deviceLayers === undefined ? {} : { deviceLayers: options.deviceLayers }),
    vocabularyOnly: false,
  });
  try {
    return new LlamaStage(options, model);
  } catch (error) {
    model.llama.c.llama_model_free(model.model);
    throw error;
  }
}

class LlamaStage implements StageEngine {
  readonly hiddenSize: number;
  readonly layers: number;
  readonly vocabularySize: number;
  readonly canRollBack: boolean;
  private readonly takesTokens: boolean;
  private readonly samples: boolean;
  private readonly embedding: EmbeddingTable | null = null;
  private readonly tap: GraphTap | null;
  private readonly context: bigint;
  private readonly memory: bigint;
  private readonly batch: DecodeBatch;
  private readonly vocabulary: SamplerVocabulary;
  private grammarVocabulary: GrammarVocabulary | null = null;
  /** Rows of one call, where they cannot go straight to `output`. */
  private readonly scratch: Float32Array;
  private output = new Float32Array(0);
  /**
   * Index = the engine's sequence id. The engine takes only neighbouring ids into one micro-batch (engine.md), so a
   * sequence may move to another lane while its slot stays what the ring calls it.
   */
  private readonly lanes: (OpenSequence | null)[];
  /** Slot -> lane; -1 = nothing is open in the slot. */
  private readonly laneOfSlot: Int32Array;
  /** A recurrent state is not copied between sequences: those go on with padding. */
  private readonly movable: boolean;
  /** Rows of a call that can have logits, at the tail. */
  private readonly maxSampledRows: number;
  private holeySteps = 0;
  private logitsPlaces = new Map<number, LogitsPlace>();
  private closed = false;

  constructor(private readonly options: StageOptions, private readonly model: EngineModel) {
    const { role, batchTokens } = options;
    const { llama: { c }, architecture } = model;
    const rules = architectureRules(architecture);
    this.movable = !rules.recurrent;
    // A window's cells are overwritten as it moves on; of architectures that no test has split nobody knows.
    this.canRollBack = !rules.recurrent && rules.window === 'none' && rules.unsplittableReason === null;
    this.maxSampledRows = Math.min(Math.max(options.slots, this.canRollBack ? 1 + MAX_DRAFT_TOKENS : 1), batchTokens);
    this.takesTokens = role === 'whole' || role === 'head';
    this.samples = role === 'whole' || role === 'tail';
    this.hiddenSize = model.hiddenSize;
    this.layers = model.layers;
    this.vocabularySize = this.samples ? c.llama_vocab_n_tokens(model.vocabulary) : 0;
    if (this.samples && this.vocabularySize === 0) throw new RingError('bad_gguf', `${options.stageFile} has no vocabulary, but stage role ${role} samples tokens`);
    if (this.hiddenSize <= 0 || this.layers <= 0) throw new RingError('bad_gguf', `${options.stageFile} has no layers to run`);
    this.vocabulary = {
      size: this.vocabularySize,
      endOfGeneration: this.samples ? endOfGenerationTokens(model.llama, model.vocabulary, this.vocabularySize) : new Set(),
      grammar: () => (this.grammarVocabulary ??= new GrammarVocabulary(model.llama, model.vocabulary, this.vocabularySize)),
    };
    const outputNode = this.samples ? null : `${rules.hiddenOutputNode}-${this.layers - 1}`;
    const overwriteNode = role === 'whole' ? null : rules.inputOverwriteNode ?? null;
    this.tap = outputNode === null && overwriteNode === null ? null : new GraphTap(model.llama, { output: outputNode, overwrite: overwriteNode });
    try {
      if (options.embedding !== null) {
        const scale = rules.embeddingScale === 'sqrt_hidden_size' ? Math.fround(Math.sqrt(this.hiddenSize)) : 1;
        this.embedding = new EmbeddingTable(options.embedding, this.hiddenSize, scale);
      }
      this.batch = new DecodeBatch({
        maxTokens: batchTokens,
        inputSize: role === 'whole' ? 0 : model.inputSize,
        positionsPerToken: model.positionsPerToken,
      });
      this.scratch = new Float32Array(new ArrayBuffer(this.samples ? 0 : batchTokens * this.hiddenSize * 4));
      this.context = openContext(model, {
        contextTokens: options.contextTokens,
        slots: options.slots,
        batchTokens,
        maxOutputs: this.samples ? this.maxSampledRows : batchTokens,
        maxOutputsPerSequence: this.samples ? Math.min(this.canRollBack ? 1 + MAX_DRAFT_TOKENS : 1, batchTokens) : batchTokens,
        threads: options.threads,
        keyType: options.keyType,
        valueType: options.valueType,
        cacheOnHost: options.keyValueCache === 'host',
        evalCallback: this.tap?.callback ?? null,
      });
    } catch (error) {
      this.tap?.close();
      this.embedding?.close();
      throw error;
    }
    const memory = c.llama_get_memory(this.context);
    if (memory === null) {
      this.release();
      throw new RingError('unsupported_architecture', `architecture ${architecture} keeps no KV cache; it does not generate text`, { architecture });
    }
    this.memory = memory;
    this.lanes = new Array<OpenSequence | null>(options.slots).fill(null);
    this.laneOfSlot = new Int32Array(options.slots).fill(-1);
  }

  apply(operations: readonly SequenceOperation[]): void {
    this.checkOpen();
    for (const operation of operations) {
      const current = this.slotAt(operation.slot);
      if (operation.kind === 'close') {
        if (current !== null) this.closeSlot(current, operation.retain === true);
        continue;
      }
      if (current !== null && !current.retained) {
        throw new RingError('bad_frame', `slot ${operation.slot} was opened for sequence ${operation.sequenceId} while ${current.sequenceId} is open in it`);
      }
      const { reuse } = operation;
      if (reuse !== undefined) this.checkReuse(operation.slot, reuse);
      const sampler = this.samples
        ? new SequenceSampler(this.model.llama, this.vocabulary, operation.sampling, {
            contextTokens: this.options.contextTokens,
            promptTokens: operation.promptTokens,
            emittedTokens: operation.emittedTokens,
          })
        : null;
      // There are as many lanes as slots: without one of its own, there is a free one for it.
      const lane = current === null ? this.lanes.indexOf(null) : this.laneOfSlot[operation.slot] ?? -1;
      const next = reuse?.tokens ?? 0;
      if (reuse !== undefined && reuse.slot !== operation.slot) {
        if (current !== null) this.dropFrom(lane, 0);
        this.model.llama.c.llama_memory_seq_cp(this.memory, this.laneOfSlot[reuse.slot] ?? -1, lane, -1, -1);
      }
      if (current !== null || reuse !== undefined) this.dropFrom(lane, next);
      this.lanes[lane] = { sequenceId: operation.sequenceId, slot: operation.slot, sampler, retained: false, next, drafted: 0, broken: false };
      this.laneOfSlot[operation.slot] = lane;
    }
  }

  step(input: StageInput): StageOutput {
    this.checkOpen();
    const rowStarts = this.checkInput(input);
    this.logitsPlaces = new Map();
    this.takeBackGuesses(input.slices);
    this.closeHoles(input.slices);
    const slices = input.slices.map((slice) => ({ ...slice, slot: this.laneOfSlot[slice.slot] ?? -1 }));
    const total = rowStarts[slices.length] ?? 0;
    if (!this.samples && this.output.length < total * this.hiddenSize) {
      this.output = new Float32Array(new ArrayBuffer(total * this.hiddenSize * 4));
    }
    const calls = packCalls(slices, { maxTokens: this.options.batchTokens, isFree: (lane) => this.isPaddable(lane) });
    const sampled = new Map<number, readonly SampledToken[]>();
    calls.forEach((call, index) => {
      try {
        this.run(call, input, rowStarts, sampled);
      } catch (error) {
        for (const slice of slices) this.inLane(slice.slot).broken = true;
        throw error;
      }
      if (index < calls.length - 1) this.keepLogits();
    });
    const order = [...sampled.keys()].sort((a, b) => a - b);
    return {
      hidden: this.samples ? null : this.output.subarray(0, total * this.hiddenSize),
      sampled: order.flatMap((slice) => sampled.get(slice) ?? []),
      engineCalls: calls.length,
    };
  }

  logits(sliceIndex: number): Float32Array {
    this.checkOpen();
    const place = this.logitsPlaces.get(sliceIndex);
    if (place === undefined) throw new RingError('not_ready', `slice ${sliceIndex} of the last step has no logits: it did not sample`);
    return 'copy' in place ? place.copy : this.copyLogits(place.row);
  }

  reset(): void {
    this.checkOpen();
    for (const open of this.lanes) open?.sampler?.close();
    this.lanes.fill(null);
    this.laneOfSlot.fill(-1);
    this.logitsPlaces = new Map();
    this.model.llama.c.llama_memory_clear(this.memory, false);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const open of this.lanes) open?.sampler?.close();
    this.release();
    this.model.llama.c.llama_model_free(this.model.model);
  }

  /** Everything but the model. */
  private release(): void {
    this.model.llama.c.llama_free(this.context);
    this.tap?.close();
    this.embedding?.close();
  }

  private run(call: EngineCall, input: StageInput, rowStarts: readonly number[], sampled: Map<number, readonly SampledToken[]>): void {
    const { c } = this.model.llama;
    const rows = call.lanes.length * call.tokensPerLane;
    this.fillBatch(call, input, rowStarts);
    const direct = this.directTarget(call, rowStarts);
    this.tap?.begin(this.batch.rows.subarray(0, rows * this.model.inputSize), direct ?? this.scratch.subarray(0, this.samples ? 0 : rows * this.hiddenSize));
    const status = c.llama_decode(this.context, this.batch.take(rows));
    this.tap?.finish();
    if (status !== 0) {
      throw new RingError('engine_failed', `the engine could not compute ${rows} tokens (status ${status}); the sequences of this step must be closed`, { status, rows });
    }
    call.lanes.forEach((lane, index) => {
      const sequence = call.firstSlot + index;
      const slice = input.slices[lane.slice];
      if (slice === undefined) {
        this.dropFrom(sequence, this.lanes[sequence]?.next ?? 0);
        return;
      }
      const open = this.inLane(sequence);
      open.next += call.tokensPerLane;
      open.drafted = slice.draft?.length ?? 0;
      if (!this.samples) {
        if (direct === null) this.copyRows(call, index, rowStarts[lane.slice] ?? 0);
        return;
      }
      if (!slice.sample || lane.offset + call.tokensPerLane < slice.tokens) return;
      const tokens = this.draw(open, (index + 1) * call.tokensPerLane - 1, slice.draft ?? []);
      this.logitsPlaces.set(lane.slice, { row: (index + 1) * call.tokensPerLane - 1 - open.drafted + tokens.length - 1 });
      sampled.set(lane.slice, tokens);
    });
  }

  /** One token, or as many as the guesses before it were right, and the one that is drawn after them. */
  private draw(open: OpenSequence, lastRow: number, draft: readonly number[]): readonly SampledToken[] {
    const { sampler, slot, sequenceId } = open;
    if (sampler === null) throw new RingError('internal', `slot ${slot} has no sampler`);
    const drawn: SampledToken[] = [];
    for (let row = lastRow - draft.length; row <= lastRow; row += 1) {
      const position = open.next - (lastRow - row);
      const { token, probability } = sampler.sample(this.context, row, position);
      const endOfGeneration = this.vocabulary.endOfGeneration.has(token);
      drawn.push({ slot, sequenceId, position, token, endOfGeneration, ...(probability === undefined ? {} : { probability }) });
      if (endOfGeneration || token !== draft[drawn.length - 1]) break;
    }
    return drawn;
  }

  private takeBackGuesses(slices: readonly SequenceSlice[]): void {
    for (const slice of slices) {
      const open = this.openAt(slice.slot);
      if (slice.position === open.next) continue;
      this.dropFrom(this.laneOfSlot[slice.slot] ?? -1, slice.position);
      open.next = slice.position;
    }
  }

  private fillBatch(call: EngineCall, input: StageInput, rowStarts: readonly number[]): void {
    const count = call.lanes.length * call.tokensPerLane;
    let row = 0;
    for (const [index, lane] of call.lanes.entries()) {
      const sequence = call.firstSlot + index;
      const slice = input.slices[lane.slice];
      const source = (rowStarts[lane.slice] ?? 0) + lane.offset;
      for (let token = 0; token < call.tokensPerLane; token += 1, row += 1) {
        if (slice === undefined) {
          this.setPadding(row);
          // A cut graph must have every row as output, or its last layer drops rows; the tail needs none of padding.
          this.batch.setRow(row, count, { slot: sequence, position: (this.lanes[sequence]?.next ?? 0) + token, output: !this.samples });
          continue;
        }
        this.setInput(row, input, source + token);
        const last = slice.sample && lane.offset + token >= slice.tokens - 1 - (slice.draft?.length ?? 0);
        this.batch.setRow(row, count, { slot: sequence, position: slice.position + lane.offset + token, output: this.samples ? last : true });
      }
    }
  }

  private setPadding(row: number): void {
    if (this.options.role === 'whole') this.batch.tokens[row] = PADDING_TOKEN;
    else this.batch.rows.fill(0, row * this.model.inputSize, (row + 1) * this.model.inputSize);
  }

  private setInput(row: number, input: StageInput, source: number): void {
    const at = row * this.model.inputSize;
    if (this.options.role === 'whole') this.batch.tokens[row] = input.tokens?.[source] ?? PADDING_TOKEN;
    else if (this.embedding !== null && input.tokens !== null) this.batch.rows.set(this.embedding.row(input.tokens[source] ?? 0), at);
    else if (input.hidden !== null) this.batch.rows.set(input.hidden.subarray(source * this.hiddenSize, (source + 1) * this.hiddenSize), at);
  }

  /** Where the call's rows go in `output` when they are exactly one run of it, so that nothing is copied twice. */
  private directTarget(call: EngineCall, rowStarts: readonly number[]): Float32Array | null {
    if (this.samples) return null;
    const start = (lane: { readonly slice: number; readonly offset: number }): number => lane.slice < 0 ? -1 : (rowStarts[lane.slice] ?? 0) + lane.offset;
    const first = call.lanes[0];
    if (first === undefined) return null;
    const begin = start(first);
    if (!call.lanes.every((lane, index) => start(lane) === begin + index * call.tokensPerLane)) return null;
    return this.output.subarray(begin * this.hiddenSize, (begin + call.lanes.length * call.tokensPerLane) * this.hiddenSize);
  }

  private copyRows(call: EngineCall, index: number, sliceStart: number): void {
    const from = index * call.tokensPerLane * this.hiddenSize;
    const offset = call.lanes[index]?.offset ?? 0;
    this.output.set(this.scratch.subarray(from, from + call.tokensPerLane * this.hiddenSize), (sliceStart + offset) * this.hiddenSize);
  }

  /** The next call overwrites the engine's logits. */
  private keepLogits(): void {
    for (const [slice, place] of this.logitsPlaces) if ('row' in place) this.logitsPlaces.set(slice, { copy: this.copyLogits(place.row) });
  }

  private copyLogits(row: number): Float32Array {
    const pointer = this.model.llama.c.llama_get_logits_ith(this.context, row);
    if (pointer === null) throw new RingError('engine_failed', `the engine has no logits for row ${row}`);
    return new Float32Array(viewMemory(pointer, this.vocabularySize * 4)).slice();
  }

  private closeSlot(open: OpenSequence, retain: boolean): void {
    open.sampler?.close();
    const lane = this.laneOfSlot[open.slot] ?? -1;
    if (retain && this.canRollBack && !open.broken) {
      this.lanes[lane] = { ...open, sampler: null, retained: true };
      return;
    }
    this.laneOfSlot[open.slot] = -1;
    this.lanes[lane] = null;
    this.model.llama.c.llama_memory_seq_rm(this.memory, lane, -1, -1);
  }

  /**
   * Sequences that decode across holes for a while are moved together, the last into the first hole: padding costs every
   * step, a move once. The copied KV is the same to the bit.
   */
  private closeHoles(slices: readonly SequenceSlice[]): void {
    const lanes = slices.map((slice) => this.laneOfSlot[slice.slot] ?? -1);
    const holey = this.movable && slices.every((slice) => slice.tokens === 1) && slices.length > 1
      && this.lanes.some((open, lane) => (open === null || open.retained) && lane > Math.min(...lanes) && lane < Math.max(...lanes));
    this.holeySteps = holey ? this.holeySteps + 1 : 0;
    if (this.holeySteps <= HOLEY_STEPS_BEFORE_MOVE) return;
    this.holeySteps = 0;
    for (let moves = 0; moves < this.lanes.length; moves += 1) {
      const hole = this.lanes.findIndex((open) => open === null || open.retained);
      const last = this.lanes.findLastIndex((open) => open !== null && !open.retained);
      if (hole < 0 || hole > last) return;
      if (this.lanes[hole] !== null) {
        // What is retained makes way; the head leaves a free lane where holes are too wide to pad (core/prefix-cache.ts).
        const free = this.lanes.lastIndexOf(null);
        if (free < 0) return;
        this.moveLane(hole, free);
      }
      this.moveLane(last, hole);
    }
  }

  /** The engine copies at its next call; copies keep their order. */
  private moveLane(from: number, to: number): void {
    const open = this.inLane(from);
    this.model.llama.c.llama_memory_seq_cp(this.memory, from, to, -1, -1);
    this.dropFrom(from, 0);
    this.lanes[to] = open;
    this.lanes[from] = null;
    this.laneOfSlot[open.slot] = to;
  }

  /** Padding takes a free lane, or goes behind what is retained and is taken back. */
  private isPaddable(lane: number): boolean {
    const open = this.lanes[lane] ?? null;
    return open === null || (open.retained && open.next + MAX_PADDED_LANE_TOKENS <= this.options.contextTokens);
  }

  /** Forgets what a lane holds from `position` on. */
  private dropFrom(lane: number, position: number): void {
    const dropped = this.model.llama.c.llama_memory_seq_rm(this.memory, lane, position === 0 ? -1 : position, -1);
    if (!dropped) throw new RingError('engine_failed', `the engine cannot forget a sequence's tokens from position ${position} on`, { position });
  }

  private checkReuse(slot: number, reuse: { readonly slot: number; readonly tokens: number }): void {
    const source = this.slotAt(reuse.slot);
    const usable = this.canRollBack && source !== null && !source.broken && (source.retained || reuse.slot !== slot);
    if (!usable || !Number.isInteger(reuse.tokens) || reuse.tokens < 1 || reuse.tokens > source.next) {
      throw new RingError('bad_frame', `slot ${slot} cannot begin with ${reuse.tokens} tokens of slot ${reuse.slot}`, { slot });
    }
  }

  private inLane(lane: number): OpenSequence {
    const open = this.lanes[lane] ?? null;
    if (open === null) throw new RingError('internal', `lane ${lane} is empty`);
    return open;
  }

  private slotAt(slot: number): OpenSequence | null {
    const lane = this.laneOfSlot[slot];
    if (lane === undefined) throw new RingError('bad_frame', `slot ${slot} does not exist: this stage has ${this.lanes.length}`, { slot });
    return lane < 0 ? null : this.inLane(lane);
  }

  private openAt(slot: number): OpenSequence {
    const open = this.slotAt(slot);
    if (open === null || open.retained) throw new RingError('bad_frame', `slot ${slot} was used before it was opened`, { slot });
    return open;
  }

  /** First payload row of each slice, then the total. Throws RingError; nothing has been computed then. */
  private checkInput(input: StageInput): readonly number[] {
    const starts: number[] = [];
    const seen = new Set<number>();
    let rows = 0;
    let sampledRows = 0;
    for (const slice of input.slices) {
      this.checkSlice(slice, seen);
      if (slice.sample) sampledRows += 1 + (slice.draft?.length ?? 0);
      starts.push(rows);
      rows += slice.tokens;
    }
    starts.push(rows);
    if (sampledRows > Math.max(this.maxSampledRows, input.slices.length)) throw new RingError('bad_frame', `a step draws ${sampledRows} tokens where ${this.maxSampledRows} are the most`);
    const payload = this.takesTokens ? input.tokens : input.hidden;
    const wanted = this.takesTokens ? rows : rows * this.hiddenSize;
    if (payload === null || payload.length !== wanted) {
      throw new RingError('bad_frame', `a step of ${rows} tokens needs ${wanted} ${this.takesTokens ? 'token ids' : 'hidden values'}, got ${payload?.length ?? 'none'}`);
    }
    if (input.tokens !== null && this.takesTokens) {
      const limit = this.embedding?.rows ?? this.vocabularySize;
      const wrong = input.tokens.find((token) => token < 0 || token >= limit);
      if (wrong !== undefined) throw new RingError('bad_request', `token ${wrong} is outside the vocabulary of ${limit}`, { token: wrong });
    }
    return starts;
  }

  private checkSlice(slice: SequenceSlice, seen: Set<number>): void {
    const open = this.openAt(slice.slot);
    if (seen.has(slice.slot)) throw new RingError('bad_frame', `slot ${slice.slot} occurs twice in one step`, { slot: slice.slot });
    seen.add(slice.slot);
    if (open.broken) throw new RingError('bad_frame', `slot ${slice.slot} must be closed: a step failed in it`, { slot: slice.slot });
    if (!Number.isInteger(slice.tokens) || slice.tokens < 1) throw new RingError('bad_frame', `a slice of ${slice.tokens} tokens in slot ${slice.slot}`);
    const { draft = [] } = slice;
    if (draft.length > 0 && (!this.canRollBack || !slice.sample || draft.length > MAX_DRAFT_TOKENS || slice.tokens <= draft.length || slice.tokens > this.options.batchTokens)) {
      throw new RingError('bad_frame', `a slice of ${slice.tokens} tokens in slot ${slice.slot} cannot have ${draft.length} guesses`, { slot: slice.slot });
    }
    if (slice.position > open.next || slice.position < open.next - open.drafted) {
      throw new RingError('bad_frame', `slot ${slice.slot} continues at position ${slice.position}, but holds ${open.next} tokens`, { slot: slice.slot });
    }
    if (slice.position + slice.tokens > this.options.contextTokens) {
      throw new RingError(
        'context_too_long',
        `a sequence of ${slice.position + slice.tokens} tokens does not fit the context of ${this.options.contextTokens}; shorten it or ask for more context`,
        { contextTokens: this.options.contextTokens },
      );
    }
  }

  private checkOpen(): void {
    if (this.closed) throw new RingError('not_ready', 'this stage is closed');
  }
}

function checkOptions(options: StageOptions): void {
  const wrong = (what: string): RingError => new RingError('bad_config', `a stage cannot be opened: ${what}`);
  const { slots, contextTokens, batchTokens, threads, role, embedding } = options;
  for (const [name, value] of Object.entries({ slots, contextTokens, batchTokens, threads })) {
    if (!Number.isInteger(value) || value < 1) throw wrong(`${name} is ${value}, which is no positive whole number`);
  }
  const { deviceLayers = 0 } = options;
  if (!Number.isInteger(deviceLayers) || deviceLayers < 0) throw wrong(`deviceLayers is ${deviceLayers}, which is no whole number of layers`);
  if (contextTokens * slots > MAX_CELLS) throw wrong(`${slots} slots of ${contextTokens} tokens are more cells than the engine can count`);
  if (slots > MAX_SLOTS) throw wrong(`${slots} slots are more than the ${MAX_SLOTS} that the engine has`);
  if ((role === 'head') !== (embedding !== null)) throw wrong(`role ${role} ${role === 'head' ? 'needs' : 'has no use for'} a token embedding`);
}
