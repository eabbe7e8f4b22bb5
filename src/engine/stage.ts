/**
 * A stage of a model in the engine: hidden states or tokens in, hidden states or sampled tokens out.
 *
 * Everything that comes from outside is checked before the engine sees it (stage-checks.ts, slot-table.ts), because the
 * engine ends the process on what it dislikes. Every call blocks its thread. It must not know frames, pipes or other stages.
 */
import { RingError } from '../core/errors.js';
import { MAX_DRAFT_TOKENS } from '../core/speculation.js';
import type { SampledToken, SequenceOperation, SequenceSlice } from '../core/step-types.js';
import { architectureRules, canRollBack } from '../model/architectures.js';
import type { StageEngine, StageInput, StageOptions, StageOutput } from '../ports.js';
import { isBegun } from './begun-step.js';
import type { BegunStep } from './begun-step.js';
import { DecodeBatch } from './decode-batch.js';
import { EmbeddingTable } from './embedding-table.js';
import { GrammarVocabulary } from './grammar.js';
import { GraphTap } from './graph-tap.js';
import { LogitsRows } from './logits-rows.js';
import { loadModel, openContext } from './model-loader.js';
import type { EngineContext, EngineModel } from './model-loader.js';
import { PaddingChoice } from './padding-choice.js';
import { PooledStates } from './pooled-states.js';
import { RecomputingStage } from './recomputing-stage.js';
import { SequenceSampler } from './sampler.js';
import type { SamplerVocabulary } from './sampler.js';
import { packCalls } from './slot-packing.js';
import type { EngineCall } from './slot-packing.js';
import type { OpenSequence } from './slot-table.js';
import { checkOptions, payloadRows } from './stage-checks.js';
import type { InputRules } from './stage-checks.js';
import { StageSlots } from './stage-slots.js';
import type { SequenceEnd } from './stage-slots.js';
import { cleanVectorRegisters } from './vector-registers.js';
import { endOfGenerationTokens } from './vocabulary.js';

/** Where the logits of a sampled slice are: still in the engine, or copied before a later call of the same step. */
type LogitsPlace = { readonly row: number } | { readonly copy: Float32Array };

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
  private readonly engineContext: EngineContext;
  private readonly context: bigint;
  private readonly batch: DecodeBatch;
  private readonly vocabulary: SamplerVocabulary;
  private grammarVocabulary: GrammarVocabulary | null = null;
  /** Rows of one call, where they cannot go straight to `output`. */
  private readonly scratch: Float32Array;
  private output = new Float32Array(0);
  private readonly slots: StageSlots;
  private readonly padding = new PaddingChoice();
  /** Rows of a call that can have logits, at the tail. */
  private readonly maxSampledRows: number;
  /** Rows of a call whose hidden states can be kept. */
  private readonly maxPooledRows: number;
  private logitsPlaces = new Map<number, LogitsPlace>();
  /** Computed, but nothing drawn: the engine has its logits, and its tokens behind the slots' own. */
  private begun: BegunStep | null = null;
  private closed = false;

  constructor(private readonly options: StageOptions, private readonly model: EngineModel) {
    const { role, batchTokens } = options;
    const { llama: { c }, architecture } = model;
    const rules = architectureRules(architecture);
    this.canRollBack = canRollBack(rules);
    this.maxSampledRows = Math.min(Math.max(options.slots, this.canRollBack ? 1 + MAX_DRAFT_TOKENS : 1), batchTokens);
    this.maxPooledRows = Math.min(this.canRollBack ? 1 + MAX_DRAFT_TOKENS : 1, batchTokens);
    this.takesTokens = role === 'whole' || role === 'head';
    this.samples = role === 'whole' || role === 'tail';
    this.hiddenSize = model.hiddenSize;
    this.layers = model.layers;
    this.vocabularySize = this.samples ? c.llama_vocab_n_tokens(model.vocabulary) : 0;
    if (this.samples && this.vocabularySize === 0) throw new RingError('bad_gguf', `${options.stageFile} has no vocabulary, but stage role ${role} samples tokens`);
    if (this.hiddenSize <= 0 || this.layers <= 0) throw new RingError('bad_gguf', `${options.stageFile} has no layers to run`);
    const logits = new LogitsRows(model.llama, this.vocabularySize);
    this.vocabulary = {
      size: this.vocabularySize,
      logits: (context, row) => logits.row(context, row),
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
      this.engineContext = openContext(model, {
        contextTokens: options.contextTokens,
        slots: options.slots,
        batchTokens,
        maxOutputs: this.samples ? this.maxSampledRows : batchTokens,
        maxOutputsPerSequence: this.samples ? this.maxPooledRows : batchTokens,
        threads: options.threads,
        keyType: options.keyType,
        valueType: options.valueType,
        cacheOnHost: options.keyValueCache === 'host',
        evalCallback: this.tap?.callback ?? null,
      });
      this.context = this.engineContext.context;
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
    const slotRules = { slots: options.slots, contextTokens: options.contextTokens, batchTokens, canRollBack: this.canRollBack };
    this.slots = new StageSlots(model.llama, memory, slotRules, (opening) => this.endOf(opening));
  }

  apply(operations: readonly SequenceOperation[]): void {
    this.checkOpen();
    if (operations.length > 0) this.forgetBegun();
    this.slots.apply(operations);
  }

  step(input: StageInput): StageOutput {
    this.checkOpen();
    this.slots.checkSlices(input.slices);
    const rowStarts = payloadRows(input, this.inputRules());
    this.logitsPlaces = new Map();
    const begun = this.takeBegun(input);
    this.slots.takeBackGuesses(input.slices);
    const { slices } = input;
    const total = rowStarts[slices.length] ?? 0;
    if (!this.samples && this.output.length < total * this.hiddenSize) {
      this.output = new Float32Array(new ArrayBuffer(total * this.hiddenSize * 4));
    }
    const calls = begun === null ? this.pooledCalls(slices) ?? this.packedCalls(slices) : [begun.call];
    const sampled = new Map<number, readonly SampledToken[]>();
    calls.forEach((call, index) => {
      try {
        this.run(call, input, rowStarts, sampled, begun !== null);
      } catch (error) {
        this.slots.break(slices);
        throw error;
      }
      if (index < calls.length - 1) this.keepLogits();
    });
    const order = [...sampled.keys()].sort((a, b) => a - b);
    return {
      hidden: this.samples ? null : this.output.subarray(0, total * this.hiddenSize),
      sampled: order.flatMap((slice) => sampled.get(slice) ?? []),
      engineCalls: calls.length,
      ...(begun === null ? {} : { aheadMicros: begun.micros }),
    };
  }

  ahead(input: StageInput): void {
    this.checkOpen();
    this.forgetBegun();
    const { slices } = input;
    if (this.options.role !== 'whole' || !this.canRollBack || slices.some(({ position, tokens }) => tokens !== 1 || position >= this.options.contextTokens)) return;
    this.slots.checkSlices(slices);
    // Guesses behind it are taken back when the step comes.
    if (slices.some(({ slot, position }) => this.slots.running(slot).next !== position)) return;
    const rowStarts = payloadRows(input, this.inputRules());
    const [call, other] = this.packedCalls(slices);
    // Padding would stand where it does not belong until the step comes.
    if (call === undefined || other !== undefined || call.lanes.some(({ slice }) => slice < 0)) return;
    const startedMs = performance.now();
    this.logitsPlaces = new Map();
    this.fillBatch(call, input, rowStarts);
    const status = this.model.llama.c.llama_decode(this.context, this.batch.take(call.lanes.length));
    // It waits for the logits, so that whoever measures this measures all of it.
    this.model.llama.c.llama_synchronize(this.context);
    cleanVectorRegisters();
    this.begun = { input, call, micros: Math.round((performance.now() - startedMs) * 1000) };
    if (status !== 0) this.forgetBegun();
  }

  logits(sliceIndex: number): Float32Array {
    this.checkOpen();
    const place = this.logitsPlaces.get(sliceIndex);
    if (place === undefined) throw new RingError('not_ready', `slice ${sliceIndex} of the last step has no logits: it did not sample`);
    return 'copy' in place ? place.copy : this.vocabulary.logits(this.context, place.row).slice();
  }

  reset(): void {
    this.checkOpen();
    this.begun = null;
    this.slots.clear();
    this.logitsPlaces = new Map();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.slots.closeSamplers();
    this.release();
    this.model.llama.c.llama_model_free(this.model.model);
  }

  /** Everything but the model. */
  private release(): void {
    this.engineContext.close();
    this.tap?.close();
    this.embedding?.close();
  }

  /** Null, and nothing is left of it, where another step comes. */
  private takeBegun(input: StageInput): BegunStep | null {
    const { begun } = this;
    if (begun !== null && isBegun(input, begun)) {
      this.begun = null;
      return begun;
    }
    this.forgetBegun();
    return null;
  }

  private forgetBegun(): void {
    const { begun } = this;
    this.begun = null;
    for (const { slot } of begun?.input.slices ?? []) this.slots.dropPadding(slot);
  }

  private packedCalls(slices: readonly SequenceSlice[]): readonly EngineCall[] {
    return packCalls(slices, {
      maxTokens: this.options.batchTokens,
      isFree: (slot) => this.slots.isPaddable(slot),
      paysToPad: (lanes, padded) => this.padding.pays(lanes, padded),
    });
  }

  private inputRules(): InputRules {
    return { takesTokens: this.takesTokens, hiddenSize: this.hiddenSize, tokenLimit: this.embedding?.rows ?? this.vocabularySize, maxSampledRows: this.maxSampledRows };
  }

  private run(call: EngineCall, input: StageInput, rowStarts: readonly number[], sampled: Map<number, readonly SampledToken[]>, isComputed: boolean): void {
    const direct = this.directTarget(call, rowStarts);
    if (!isComputed) this.compute(call, input, rowStarts, direct);
    const pooled = this.slots.at(call.firstSlot)?.pooled ?? null;
    const keepsStates = pooled !== null && pooled.wantsCall(call, input.slices[0]);
    call.lanes.forEach((lane, index) => {
      const sequence = call.firstSlot + index;
      const slice = input.slices[lane.slice];
      if (slice === undefined) {
        this.slots.dropPadding(sequence);
        return;
      }
      const open = this.slots.running(sequence);
      open.next += call.tokensPerLane;
      open.drafted = slice.draft?.length ?? 0;
      if (!this.samples) {
        if (direct === null) this.copyRows(call, index, rowStarts[lane.slice] ?? 0);
        return;
      }
      if (keepsStates) for (let row = 0; row < call.tokensPerLane; row += 1) pooled.add(this.context, row);
      if (!slice.sample || lane.offset + call.tokensPerLane < slice.tokens) return;
      if (open.pooled !== null) {
        sampled.set(lane.slice, [{ slot: slice.slot, sequenceId: open.sequenceId, position: open.next, token: 0, endOfGeneration: true, embedding: open.pooled.vector() }]);
        return;
      }
      const tokens = this.draw(slice.slot, open, (index + 1) * call.tokensPerLane - 1, slice.draft ?? []);
      this.logitsPlaces.set(lane.slice, { row: (index + 1) * call.tokensPerLane - 1 - open.drafted + tokens.length - 1 });
      sampled.set(lane.slice, tokens);
    });
  }

  /** Without drawing. */
  private compute(call: EngineCall, input: StageInput, rowStarts: readonly number[], direct: Float32Array | null): void {
    const { c } = this.model.llama;
    const rows = call.lanes.length * call.tokensPerLane;
    this.fillBatch(call, input, rowStarts);
    this.tap?.begin(this.batch.rows.subarray(0, rows * this.model.inputSize), direct ?? this.scratch.subarray(0, this.samples ? 0 : rows * this.hiddenSize));
    const startedMs = performance.now();
    const keepsStates = this.slots.at(call.firstSlot)?.pooled?.wantsCall(call, input.slices[0]) ?? false;
    if (keepsStates) c.llama_set_embeddings(this.context, true);
    const status = c.llama_decode(this.context, this.batch.take(rows));
    if (keepsStates) c.llama_set_embeddings(this.context, false);
    cleanVectorRegisters();
    if (call.tokensPerLane === 1) this.padding.measured(rows, performance.now() - startedMs);
    this.tap?.finish();
    if (status !== 0) {
      throw new RingError('engine_failed', `the engine could not compute ${rows} tokens (status ${status}); the sequences of this step must be closed`, { status, rows });
    }
  }

  /** Null where tokens are drawn. */
  private pooledCalls([only]: readonly SequenceSlice[]): readonly EngineCall[] | null {
    if (only === undefined) return null;
    return this.slots.running(only.slot).pooled?.calls(only, { maxRows: this.options.batchTokens, maxWantedRows: this.maxPooledRows }) ?? null;
  }

  /** One token, or as many as the guesses before it were right, and the one that is drawn after them. */
  private draw(slot: number, open: OpenSequence, lastRow: number, draft: readonly number[]): readonly SampledToken[] {
    const { sampler, sequenceId } = open;
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
          this.batch.setRow(row, count, { slot: sequence, position: (this.slots.at(sequence)?.next ?? 0) + token, output: !this.samples });
          continue;
        }
        this.setInput(row, input, source + token);
        const position = slice.position + lane.offset + token;
        const last = slice.sample && lane.offset + token >= slice.tokens - 1 - (slice.draft?.length ?? 0);
        const output = !this.samples || (this.slots.running(sequence).pooled?.wants(position, last) ?? last);
        this.batch.setRow(row, count, { slot: sequence, position, output });
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
    if (begin < 0) return null;
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
    for (const [slice, place] of this.logitsPlaces) if ('row' in place) this.logitsPlaces.set(slice, { copy: this.vocabulary.logits(this.context, place.row).slice() });
  }

  /** At the tail: a sampler, or what keeps a prompt's hidden states. */
  private endOf({ sampling, promptTokens, emittedTokens }: Extract<SequenceOperation, { kind: 'open' }>): SequenceEnd {
    if (!this.samples) return { sampler: null, pooled: null };
    if (sampling.pooling !== undefined) return { sampler: null, pooled: new PooledStates(this.model.llama, sampling.pooling, this.hiddenSize) };
    return { sampler: new SequenceSampler(this.model.llama, this.vocabulary, sampling, { contextTokens: this.options.contextTokens, promptTokens, emittedTokens }), pooled: null };
  }

  private checkOpen(): void {
    if (this.closed) throw new RingError('not_ready', 'this stage is closed');
  }
}
