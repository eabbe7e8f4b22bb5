/**
 * A stage of a model in the engine: hidden states or tokens in, hidden states or sampled tokens out.
 *
 * Everything that comes from outside is checked before the engine sees it, because the engine ends the process on what
 * it dislikes. Every call blocks its thread. It must not know frames, pipes or other stages.
 */
import { RingError } from '../core/errors.js';
import type { SampledToken, SequenceOperation, SequenceSlice } from '../core/types.js';
import { architectureRules } from '../model/architectures.js';
import type { StageEngine, StageInput, StageOptions, StageOutput } from '../ports.js';
import { DecodeBatch } from './decode-batch.js';
import { EmbeddingTable } from './embedding-table.js';
import { GraphTap } from './graph-tap.js';
import { viewMemory } from './llama.js';
import { loadModel, openContext } from './model-loader.js';
import type { EngineModel } from './model-loader.js';
import { SequenceSampler } from './sampler.js';
import type { SamplerVocabulary } from './sampler.js';
import { packCalls } from './slot-packing.js';
import type { EngineCall } from './slot-packing.js';
import { endOfGenerationTokens } from './vocabulary.js';

/** What is open in a slot. */
interface OpenSequence {
  readonly sequenceId: string;
  /** Null where nothing is sampled. */
  readonly sampler: SequenceSampler | null;
  /** Position of the next token. */
  next: number;
  /** Set when a step failed half-way: what the slot holds is unknown until it is closed. */
  broken: boolean;
}

/** Where the logits of a sampled slice are: still in the engine, or copied before a later call of the same step. */
type LogitsPlace = { readonly row: number } | { readonly copy: Float32Array };

/** libllama's own limit on sequences. */
const MAX_SLOTS = 256;
/** KV cells of a stage: the engine counts them in 32 bits. */
const MAX_CELLS = 2 ** 31 - 1;
/** Placeholder in padded lanes; its output is never read. */
const PADDING_TOKEN = 0;

/**
 * Loads a stage. Throws `bad_config` for impossible options, and what loading throws: `bad_gguf`,
 * `unsupported_architecture`, `out_of_memory`, `backend_missing`, `engine_missing`, `engine_mismatch`, `io_failed`.
 */
export function openStage(options: StageOptions): StageEngine {
  checkOptions(options);
  const model = loadModel(options.stageFile, { ...(options.backend === undefined ? {} : { backend: options.backend }), vocabularyOnly: false });
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
  private readonly takesTokens: boolean;
  private readonly samples: boolean;
  private readonly embedding: EmbeddingTable | null = null;
  private readonly tap: GraphTap | null;
  private readonly context: bigint;
  private readonly memory: bigint;
  private readonly batch: DecodeBatch;
  private readonly vocabulary: SamplerVocabulary;
  /** Rows of one call, where they cannot go straight to `output`. */
  private readonly scratch: Float32Array;
  private output = new Float32Array(0);
  private readonly slots: (OpenSequence | null)[];
  private logitsPlaces = new Map<number, LogitsPlace>();
  private closed = false;

  constructor(private readonly options: StageOptions, private readonly model: EngineModel) {
    const { role, batchTokens } = options;
    const { llama: { c }, architecture } = model;
    const rules = architectureRules(architecture);
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
        maxOutputs: this.samples ? Math.min(options.slots, batchTokens) : batchTokens,
        threads: options.threads,
        keyType: options.keyType,
        valueType: options.valueType,
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
    this.slots = new Array<OpenSequence | null>(options.slots).fill(null);
  }

  apply(operations: readonly SequenceOperation[]): void {
    this.checkOpen();
    for (const operation of operations) {
      const current = this.slotAt(operation.slot);
      if (operation.kind === 'close') {
        if (current !== null) this.closeSlot(operation.slot, current);
        continue;
      }
      if (current !== null) {
        throw new RingError('bad_frame', `slot ${operation.slot} was opened for sequence ${operation.sequenceId} while ${current.sequenceId} is open in it`);
      }
      const sampler = this.samples
        ? new SequenceSampler(this.model.llama, this.vocabulary, operation.sampling, {
            contextTokens: this.options.contextTokens,
            promptTokens: operation.promptTokens,
            emittedTokens: operation.emittedTokens,
          })
        : null;
      this.slots[operation.slot] = { sequenceId: operation.sequenceId, sampler, next: 0, broken: false };
    }
  }

  step(input: StageInput): StageOutput {
    this.checkOpen();
    const rowStarts = this.checkInput(input);
    this.logitsPlaces = new Map();
    const { slices } = input;
    const total = rowStarts[slices.length] ?? 0;
    if (!this.samples && this.output.length < total * this.hiddenSize) {
      this.output = new Float32Array(new ArrayBuffer(total * this.hiddenSize * 4));
    }
    const calls = packCalls(slices, { maxTokens: this.options.batchTokens, isFree: (slot) => this.slots[slot] === null });
    const sampled = new Map<number, SampledToken>();
    calls.forEach((call, index) => {
      try {
        this.run(call, input, rowStarts, sampled);
      } catch (error) {
        for (const slice of slices) this.openAt(slice.slot).broken = true;
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
    for (const open of this.slots) open?.sampler?.close();
    this.slots.fill(null);
    this.logitsPlaces = new Map();
    this.model.llama.c.llama_memory_clear(this.memory, false);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const open of this.slots) open?.sampler?.close();
    this.release();
    this.model.llama.c.llama_model_free(this.model.model);
  }

  /** Everything but the model. */
  private release(): void {
    this.model.llama.c.llama_free(this.context);
    this.tap?.close();
    this.embedding?.close();
  }

  private run(call: EngineCall, input: StageInput, rowStarts: readonly number[], sampled: Map<number, SampledToken>): void {
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
      const slot = call.firstSlot + index;
      const slice = input.slices[lane.slice];
      if (slice === undefined) {
        c.llama_memory_seq_rm(this.memory, slot, -1, -1);
        return;
      }
      const open = this.openAt(slot);
      open.next += call.tokensPerLane;
      if (!this.samples) {
        if (direct === null) this.copyRows(call, index, rowStarts[lane.slice] ?? 0);
        return;
      }
      if (!slice.sample || lane.offset + call.tokensPerLane < slice.tokens) return;
      const row = (index + 1) * call.tokensPerLane - 1;
      this.logitsPlaces.set(lane.slice, { row });
      sampled.set(lane.slice, this.draw(open, slot, row));
    });
  }

  private draw(open: OpenSequence, slot: number, row: number): SampledToken {
    if (open.sampler === null) throw new RingError('internal', `slot ${slot} has no sampler`);
    const token = open.sampler.sample(this.context, row, open.next);
    return { slot, sequenceId: open.sequenceId, position: open.next, token, endOfGeneration: this.vocabulary.endOfGeneration.has(token) };
  }

  private fillBatch(call: EngineCall, input: StageInput, rowStarts: readonly number[]): void {
    const count = call.lanes.length * call.tokensPerLane;
    let row = 0;
    for (const [index, lane] of call.lanes.entries()) {
      const slot = call.firstSlot + index;
      const slice = input.slices[lane.slice];
      const source = (rowStarts[lane.slice] ?? 0) + lane.offset;
      for (let token = 0; token < call.tokensPerLane; token += 1, row += 1) {
        if (slice === undefined) {
          this.setPadding(row);
          // A cut graph must have every row as output, or its last layer drops rows; the tail needs none of padding.
          this.batch.setRow(row, count, { slot, position: token, output: !this.samples });
          continue;
        }
        this.setInput(row, input, source + token);
        const last = slice.sample && lane.offset + token === slice.tokens - 1;
        this.batch.setRow(row, count, { slot, position: slice.position + lane.offset + token, output: this.samples ? last : true });
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

  private closeSlot(slot: number, open: OpenSequence): void {
    open.sampler?.close();
    this.slots[slot] = null;
    this.model.llama.c.llama_memory_seq_rm(this.memory, slot, -1, -1);
  }

  private slotAt(slot: number): OpenSequence | null {
    const open = this.slots[slot];
    if (open === undefined) throw new RingError('bad_frame', `slot ${slot} does not exist: this stage has ${this.slots.length}`, { slot });
    return open;
  }

  private openAt(slot: number): OpenSequence {
    const open = this.slotAt(slot);
    if (open === null) throw new RingError('bad_frame', `slot ${slot} was used before it was opened`, { slot });
    return open;
  }

  /** First payload row of each slice, then the total. Throws RingError; nothing has been computed then. */
  private checkInput(input: StageInput): readonly number[] {
    const starts: number[] = [];
    const seen = new Set<number>();
    let rows = 0;
    for (const slice of input.slices) {
      this.checkSlice(slice, seen);
      starts.push(rows);
      rows += slice.tokens;
    }
    starts.push(rows);
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
    if (slice.position !== open.next) {
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
  if (contextTokens * slots > MAX_CELLS) throw wrong(`${slots} slots of ${contextTokens} tokens are more cells than the engine can count`);
  if (slots > MAX_SLOTS) throw wrong(`${slots} slots are more than the ${MAX_SLOTS} that the engine has`);
  if ((role === 'head') !== (embedding !== null)) throw wrong(`role ${role} ${role === 'head' ? 'needs' : 'has no use for'} a token embedding`);
}
