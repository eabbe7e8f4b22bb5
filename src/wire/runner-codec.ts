/**
 * Messages on the pipe between an agent and its runner, to and from protobuf (proto/runner.proto).
 *
 * Both ends are of one build, so a message that does not decode is a bug or a broken pipe, and ends the runner.
 */
import { RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';
import type { ActivationType, Backend, Device, GgmlCacheType, KeyValueCachePolicy } from '../core/types.js';
import type { ConvertOptions, EngineInventory, LoadedStage, MeasuredSpeed, MeasureOptions, StageOptions, StageRole, VocabularyTable } from '../ports.js';
import { decodeBytes } from './fields.js';
import { ringagent } from './gen/messages.js';

const { ToRunner: WireToRunner, FromRunner: WireFromRunner } = ringagent.runner;

export type ToRunner =
  | { readonly kind: 'load_stage'; readonly options: StageOptions }
  | { readonly kind: 'load_vocabulary'; readonly headerFile: string }
  | { readonly kind: 'tokenize'; readonly call: number; readonly text: string; readonly addSpecial: boolean; readonly parseSpecial: boolean }
  | { readonly kind: 'check_grammar'; readonly call: number; readonly text: string }
  | { readonly kind: 'probe_devices'; readonly backend: Backend }
  | { readonly kind: 'measure'; readonly options: MeasureOptions }
  | { readonly kind: 'convert'; readonly options: ConvertOptions }
  | { readonly kind: 'reset' };

export type FromRunner =
  | { readonly kind: 'loaded'; readonly stage: LoadedStage }
  | { readonly kind: 'vocabulary'; readonly table: VocabularyTable }
  | { readonly kind: 'tokenized'; readonly call: number; readonly tokens: readonly number[] }
  | { readonly kind: 'grammar_checked'; readonly call: number }
  | { readonly kind: 'devices'; readonly inventory: EngineInventory }
  | { readonly kind: 'measured'; readonly speed: MeasuredSpeed }
  | { readonly kind: 'resident'; readonly bytes: number }
  /** `step` and `call` are 0 when the runner as a whole failed. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string; readonly step: number; readonly call: number }
  | { readonly kind: 'converted'; readonly bytes: number }
  | { readonly kind: 'was_reset' };

/** -1 stands for none on the wire. */
const NO_TOKEN = -1;

export function encodeToRunner(message: ToRunner): Uint8Array {
  return WireToRunner.encode(toWire(message)).finish();
}

export function decodeToRunner(bytes: Uint8Array): ToRunner {
  const wire = decodeBytes(WireToRunner, bytes, 'words to a runner');
  if (wire.loadStage) return { kind: 'load_stage', options: fromWireOptions(wire.loadStage) };
  if (wire.loadVocabulary) return { kind: 'load_vocabulary', headerFile: wire.loadVocabulary.headerFile ?? '' };
  if (wire.tokenize) {
    const { call, text, addSpecial, parseSpecial } = wire.tokenize;
    return { kind: 'tokenize', call: call ?? 0, text: text ?? '', addSpecial: addSpecial ?? false, parseSpecial: parseSpecial ?? false };
  }
  if (wire.checkGrammar) return { kind: 'check_grammar', call: wire.checkGrammar.call ?? 0, text: wire.checkGrammar.text ?? '' };
  if (wire.probeDevices) return { kind: 'probe_devices', backend: (wire.probeDevices.backend ?? 'cpu') as Backend };
  if (wire.reset) return { kind: 'reset' };
  if (wire.convert) {
    const { sourceFile, targetFile, precision } = wire.convert;
    return { kind: 'convert', options: { sourceFile: sourceFile ?? '', targetFile: targetFile ?? '', precision: precision ?? '' } };
  }
  if (wire.measure) {
    const { backend, directory, threads } = wire.measure;
    return { kind: 'measure', options: { backend: (backend ?? 'cpu') as Backend, directory: directory ?? '', threads: threads ?? 1 } };
  }
  throw new RingError('bad_frame', 'a message to the runner has no known kind');
}

export function encodeFromRunner(message: FromRunner): Uint8Array {
  return WireFromRunner.encode(fromRunnerToWire(message)).finish();
}

export function decodeFromRunner(bytes: Uint8Array): FromRunner {
  const wire = decodeBytes(WireFromRunner, bytes, 'words of a runner');
  if (wire.loaded) {
    const { hiddenSize, layers, vocabularySize, canRollBack, residentBytes } = wire.loaded;
    return { kind: 'loaded', stage: { hiddenSize: hiddenSize ?? 0, layers: layers ?? 0, vocabularySize: vocabularySize ?? 0, canRollBack: canRollBack ?? false, residentBytes: Number(residentBytes ?? 0) } };
  }
  if (wire.vocabulary) return { kind: 'vocabulary', table: fromWireVocabulary(wire.vocabulary) };
  if (wire.tokenized) return { kind: 'tokenized', call: wire.tokenized.call ?? 0, tokens: wire.tokenized.tokens ?? [] };
  if (wire.grammarChecked) return { kind: 'grammar_checked', call: wire.grammarChecked };
  if (wire.devices) {
    const { version, libraryDirectory, devices } = wire.devices;
    return { kind: 'devices', inventory: { version: version ?? '', libraryDirectory: libraryDirectory ?? '', devices: (devices ?? []).map(fromWireDevice) } };
  }
  if (wire.measured) {
    const { gflops, memoryBandwidthBytesPerSecond } = wire.measured;
    return { kind: 'measured', speed: { gflops: gflops ?? 0, memoryBandwidthBytesPerSecond: memoryBandwidthBytesPerSecond ?? 0 } };
  }
  if (wire.resident) return { kind: 'resident', bytes: Number(wire.resident.bytes ?? 0) };
  if (wire.failed) {
    const { code, message, step, call } = wire.failed;
    return { kind: 'failed', code: (code ?? 'internal') as ErrorCode, message: message ?? '', step: step ?? 0, call: call ?? 0 };
  }
  if (wire.converted) return { kind: 'converted', bytes: Number(wire.converted.bytes ?? 0) };
  if (wire.wasReset) return { kind: 'was_reset' };
  throw new RingError('bad_frame', 'a message of the runner has no known kind');
}

function toWire(message: ToRunner): ringagent.runner.ToRunner.$Properties {
  switch (message.kind) {
    case 'load_stage': return { loadStage: { ...message.options, backend: message.options.backend ?? '', keyValueCache: message.options.keyValueCache ?? '', activations: message.options.activations ?? '' } };
    case 'load_vocabulary': return { loadVocabulary: { headerFile: message.headerFile } };
    case 'tokenize': return { tokenize: message };
    case 'check_grammar': return { checkGrammar: { call: message.call, text: message.text } };
    case 'probe_devices': return { probeDevices: { backend: message.backend } };
    case 'measure': return { measure: message.options };
    case 'convert': return { convert: message.options };
    case 'reset': return { reset: {} };
  }
}

function fromRunnerToWire(message: FromRunner): ringagent.runner.FromRunner.$Properties {
  switch (message.kind) {
    case 'loaded': return { loaded: message.stage };
    case 'vocabulary': {
      const { table } = message;
      return {
        vocabulary: {
          pieces: Buffer.concat(table.pieces.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))),
          lengths: table.pieces.map((piece) => piece.byteLength),
          endOfGeneration: [...table.endOfGeneration],
          bos: table.bos ?? NO_TOKEN,
          eos: table.eos ?? NO_TOKEN,
          addsBos: table.addsBos,
          controlTokens: [...table.controlTexts.keys()],
          controlTexts: [...table.controlTexts.values()],
        },
      };
    }
    case 'tokenized': return { tokenized: { call: message.call, tokens: [...message.tokens] } };
    case 'grammar_checked': return { grammarChecked: message.call };
    case 'devices': return { devices: { ...message.inventory, devices: [...message.inventory.devices] } };
    case 'measured': return { measured: message.speed };
    case 'resident': return { resident: { bytes: message.bytes } };
    case 'failed': return { failed: message };
    case 'converted': return { converted: { bytes: message.bytes } };
    case 'was_reset': return { wasReset: true };
  }
}

function fromWireOptions(wire: ringagent.runner.LoadStage.$Properties): StageOptions {
  const { embedding } = wire;
  return {
    role: (wire.role ?? 'whole') as StageRole,
    stageFile: wire.stageFile ?? '',
    embedding: embedding
      ? { file: embedding.file ?? '', offset: Number(embedding.offset ?? 0), ggmlType: embedding.ggmlType ?? 0, rows: embedding.rows ?? 0 }
      : null,
    ...(wire.backend ? { backend: wire.backend as Backend } : {}),
    threads: wire.threads ?? 1,
    contextTokens: wire.contextTokens ?? 0,
    slots: wire.slots ?? 1,
    keyType: (wire.keyType ?? 'f16') as GgmlCacheType,
    valueType: (wire.valueType ?? 'f16') as GgmlCacheType,
    batchTokens: wire.batchTokens ?? 1,
    ...(wire.activations ? { activations: wire.activations as ActivationType } : {}),
    ...(wire.keyValueCache ? { keyValueCache: wire.keyValueCache as KeyValueCachePolicy } : {}),
    ...(wire.deviceLayers === null || wire.deviceLayers === undefined ? {} : { deviceLayers: wire.deviceLayers }),
  };
}

function fromWireVocabulary(wire: ringagent.runner.Vocabulary.$Properties): VocabularyTable {
  const bytes = wire.pieces ?? new Uint8Array();
  const pieces: Uint8Array[] = [];
  let offset = 0;
  for (const length of wire.lengths ?? []) {
    pieces.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  const token = (value: number | null | undefined): number | null => (value === undefined || value === null || value === NO_TOKEN ? null : value);
  const texts = wire.controlTexts ?? [];
  return {
    pieces,
    endOfGeneration: new Set(wire.endOfGeneration ?? []),
    controlTexts: new Map((wire.controlTokens ?? []).map((control, index) => [control, texts[index] ?? ''])),
    bos: token(wire.bos),
    eos: token(wire.eos),
    addsBos: wire.addsBos ?? false,
  };
}

function fromWireDevice(wire: ringagent.runner.Device.$Properties): Device {
  return {
    name: wire.name ?? '',
    description: wire.description ?? '',
    backend: (wire.backend ?? 'cpu') as Backend,
    memoryTotalBytes: Number(wire.memoryTotalBytes ?? 0),
    memoryFreeBytes: Number(wire.memoryFreeBytes ?? 0),
    unified: wire.unified ?? false,
  };
}
