/**
 * What a runner does with each message: load, step, reset, tokenize, probe. Synchronous; knows no descriptors.
 */
import { errorCodeOf, errorMessageOf, RingError } from '../core/errors.js';
import type { PackedStates, SampledToken, SequenceSlice } from '../core/step-types.js';
import type { ActivationType, Backend } from '../core/types.js';
import { inventory } from '../engine/devices.js';
import { measureSpeed } from '../engine/measure.js';
import { packStates, unpackStates } from '../engine/packed-states.js';
import { openStage } from '../engine/stage.js';
import { openVocabulary } from '../engine/vocabulary.js';
import type { StageEngine, StageOptions, Vocabulary } from '../ports.js';
import { convertFile } from './convert-file.js';
import { activationPieces, decodeActivation } from '../wire/activation-codec.js';
import type { FromRunner, ToRunner } from '../wire/runner-codec.js';

export interface RunnerOutput {
  control(message: FromRunner): void;
  /** Pieces of a frame, in order; valid until the next step. */
  activation(body: readonly Uint8Array[]): void;
}

/** How often the resident size is reported while steps run. */
const RESIDENT_INTERVAL_MS = 1_000;

export class RunnerLoop {
  private stage: StageEngine | null = null;
  private vocabulary: Vocabulary | null = null;
  private readonly idleResidentBytes = process.memoryUsage.rss();
  private residentReportedAtMs = 0;
  private residentBytes = 0;
  private activations: ActivationType = 'f32';
  /** Where packed hidden states are unpacked. */
  private unpacked: Float32Array = new Float32Array(0);

  constructor(private readonly output: RunnerOutput) {}

  control(message: ToRunner): void {
    switch (message.kind) {
      case 'load_stage': return this.loadStage(message.options);
      case 'load_vocabulary': return this.loadVocabulary(message.headerFile);
      case 'tokenize': return this.tokenize(message);
      case 'check_grammar':
        if (this.vocabulary === null) throw new RingError('not_ready', 'no vocabulary is loaded in this runner');
        this.vocabulary.checkGrammar(message.text);
        this.output.control({ kind: 'grammar_checked', call: message.call });
        return;
      case 'probe_devices': return this.probe(message.backend);
      case 'measure':
        this.output.control({ kind: 'measured', speed: measureSpeed(message.options) });
        return;
      case 'convert':
        convertFile(message.options).then(
          (bytes) => this.output.control({ kind: 'converted', bytes }),
          (error: unknown) => this.output.control({ kind: 'failed', code: errorCodeOf(error), message: errorMessageOf(error), step: 0, call: 0 }),
        );
        return;
      case 'reset':
        this.stage?.reset();
        this.output.control({ kind: 'was_reset' });
        return;
    }
  }

  /** Body of an activation frame in, body of the next stage's frame out. */
  step(body: Uint8Array): void {
    let step = 0;
    try {
      const frame = decodeActivation(body);
      step = frame.step;
      if (this.stage === null) throw new RingError('not_ready', 'a step arrived before a stage was loaded');
      const startedAt = process.hrtime.bigint();
      const entered = frame.packed === undefined ? frame.hidden : this.unpack(frame.packed, frame.hiddenSize);
      this.stage.apply(frame.operations);
      const result = frame.slices.length === 0
        ? { hidden: null, sampled: [] }
        : this.stage.step({ slices: frame.slices, tokens: frame.tokens, hidden: entered });
      const packed = result.hidden === null ? null : packStates(result.hidden, this.stage.hiddenSize, this.activations);
      const computeMicros = Number((process.hrtime.bigint() - startedAt) / 1000n) + ('aheadMicros' in result ? result.aheadMicros ?? 0 : 0);
      this.output.activation(activationPieces({
        planId: frame.planId,
        step: frame.step,
        operations: frame.operations,
        slices: frame.slices,
        tokens: null,
        hidden: packed === null ? result.hidden : null,
        ...(packed === null ? {} : { packed }),
        hiddenSize: result.hidden === null ? 0 : this.stage.hiddenSize,
        sampled: result.sampled,
        computeMicros: frame.computeMicros + computeMicros,
        stageMicros: [...frame.stageMicros, computeMicros],
        ...(frame.goesOn ? { goesOn: true } : {}),
      }));
      if (frame.goesOn) this.goOn(frame.slices, result.sampled);
    } catch (error) {
      this.output.control({ kind: 'failed', code: errorCodeOf(error), message: errorMessageOf(error), step: Math.max(1, step), call: 0 });
    }
    this.reportResident(false);
  }

  /** While the head hears of these tokens, the next are computed. */
  private goOn(slices: readonly SequenceSlice[], sampled: readonly SampledToken[]): void {
    const tokens = slices.map(({ slot }) => sampled.find((token) => token.slot === slot && !token.endOfGeneration)?.token);
    if (tokens.some((token) => token === undefined)) return;
    const next = slices.map(({ slot, position, tokens: count }) => ({ slot, position: position + count, tokens: 1, sample: true }));
    this.stage?.ahead({ slices: next, tokens: Int32Array.from(tokens, (token) => token ?? 0), hidden: null });
  }

  private unpack(packed: PackedStates, hiddenSize: number): Float32Array {
    const entered = unpackStates(packed, hiddenSize, this.unpacked);
    if (entered.length > this.unpacked.length) this.unpacked = entered;
    return entered;
  }

  private loadStage(options: StageOptions): void {
    if (this.stage !== null || this.vocabulary !== null) throw new RingError('internal', 'this runner already holds a stage or a vocabulary');
    const stage = openStage(options);
    this.stage = stage;
    this.activations = options.activations ?? 'f32';
    this.warmUp(stage, options);
    this.reportResident(true);
    this.output.control({
      kind: 'loaded',
      stage: {
        hiddenSize: stage.hiddenSize,
        layers: stage.layers,
        vocabularySize: stage.vocabularySize,
        canRollBack: stage.canRollBack,
        residentBytes: this.residentBytes,
      },
    });
  }

  /** One token through the stage: what cannot compute fails here, before a plan relies on it. */
  private warmUp(stage: StageEngine, options: StageOptions): void {
    const takesTokens = options.role === 'whole' || options.role === 'head';
    const sampling = {
      temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
    };
    stage.apply([{ kind: 'open', slot: 0, sequenceId: 'warm-up', sampling, origin: '', promptLength: 1, promptTokens: [], emittedTokens: [] }]);
    stage.step({
      slices: [{ slot: 0, position: 0, tokens: 1, sample: true }],
      tokens: takesTokens ? Int32Array.of(0) : null,
      hidden: takesTokens ? null : new Float32Array(stage.hiddenSize),
    });
    stage.reset();
  }

  private loadVocabulary(headerFile: string): void {
    if (this.stage !== null || this.vocabulary !== null) throw new RingError('internal', 'this runner already holds a stage or a vocabulary');
    const vocabulary = openVocabulary(headerFile);
    this.vocabulary = vocabulary;
    const pieces: Uint8Array[] = [];
    const controlTexts = new Map<number, string>();
    for (let token = 0; token < vocabulary.size; token += 1) {
      const piece = vocabulary.piece(token);
      pieces.push(piece);
      if (piece.byteLength > 0) continue;
      const text = Buffer.from(vocabulary.piece(token, true)).toString('utf8');
      if (text !== '') controlTexts.set(token, text);
    }
    this.output.control({
      kind: 'vocabulary',
      table: {
        pieces,
        endOfGeneration: vocabulary.endOfGeneration,
        controlTexts,
        bos: vocabulary.bos,
        eos: vocabulary.eos,
        addsBos: vocabulary.addsBos,
      },
    });
  }

  private tokenize(message: Extract<ToRunner, { kind: 'tokenize' }>): void {
    if (this.vocabulary === null) throw new RingError('not_ready', 'no vocabulary is loaded in this runner');
    const tokens = this.vocabulary.tokenize(message.text, { addSpecial: message.addSpecial, parseSpecial: message.parseSpecial });
    this.output.control({ kind: 'tokenized', call: message.call, tokens: Array.from(tokens) });
  }

  private probe(backend: Backend): void {
    this.output.control({ kind: 'devices', inventory: inventory(backend) });
  }

  private reportResident(now: boolean): void {
    const nowMs = performance.now();
    if (!now && nowMs - this.residentReportedAtMs < RESIDENT_INTERVAL_MS) return;
    this.residentReportedAtMs = nowMs;
    const bytes = Math.max(0, process.memoryUsage.rss() - this.idleResidentBytes);
    if (!now && Math.abs(bytes - this.residentBytes) < this.residentBytes / 100) return;
    this.residentBytes = bytes;
    if (!now) this.output.control({ kind: 'resident', bytes });
  }
}
