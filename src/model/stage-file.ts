/**
 * Plans a stage's own GGUF: the file that libllama loads as a model of `end - start` layers (or, for the whole range,
 * a copy of the model in one file).
 *
 * Pure: header in, layout out. Every stage but the tail carries no vocabulary; the head's embedding rows go into a file
 * beside it. What an architecture needs beyond this comes from architectures.ts. It must not know where tensors come
 * from or how files are written (stage-writer.ts).
 */
import { createHash } from 'node:crypto';
import { assert, RingError } from '../core/errors.js';
import type { LayerRange } from '../core/types.js';
import type { ArchitectureFacts, ArchitectureRules } from './architectures.js';
import { architectureRules, splitRules } from './architectures.js';
import { GGML_F16, GGML_MXFP4, GGML_Q1_0, ggmlType, isRepackedOnCpu, tensorBytes } from './ggml-types.js';
import type { GgufHeader, GgufTensor } from './gguf-reader.js';
import { badGguf } from './gguf-parser.js';
import type { GgufValue } from './gguf-values.js';
import { sliceArray, text, uint32 } from './gguf-values.js';
import type { PlacedTensor, TensorSpec } from './gguf-writer.js';
import { encodeGgufHeader } from './gguf-writer.js';
import { architectureFacts, layerOfTensor } from './model-facts.js';

/** Rows of the dummy vocabulary of a stage without one. */
export const TINY_VOCABULARY = 32;
const EMBEDDING = 'token_embd.weight';
const OUTPUT = 'output.weight';
/** Arrays of an architecture that are not one value per layer, whatever their length. */
const NOT_PER_LAYER = new Set(['rope.dimension_sections', 'deepstack_mapping', 'swin_norm']);

export interface StageSpec {
  readonly range: LayerRange;
  readonly head: boolean;
  readonly tail: boolean;
}

/** A tensor of the stage file and the tensor of the model whose bytes it has. */
export interface StageTensor {
  readonly targetName: string;
  readonly sourceTensor: string;
  /** From the start of the target file. */
  readonly targetOffset: number;
  readonly sizeBytes: number;
}

export interface StageFileLayout {
  readonly spec: StageSpec;
  /** Everything before the first tensor. */
  readonly headerBytes: Uint8Array;
  readonly fileBytes: number;
  /** In the order of the file. */
  readonly tensors: readonly StageTensor[];
  /** Tensors that the loader wants and nothing reads: zeros, left out of a sparse file. */
  readonly holes: readonly { readonly targetName: string; readonly targetOffset: number; readonly sizeBytes: number }[];
  /** Head only: `token_embd.weight` as raw rows in `<stage file>.embd`. */
  readonly embedding: { readonly sourceTensor: string; readonly rows: number; readonly ggmlType: number; readonly sizeBytes: number } | null;
  /** Changes when anything of the file changes; ties a half-written file to its layout. */
  readonly fingerprint: string;
}

/** Where the head finds its embedding rows when the whole model is on this node's disk: no copy is needed. */
export function embeddingInModel(header: GgufHeader): { file: string; offset: number; ggmlType: number; rows: number } {
  const tensor = requireTensor(header, EMBEDDING);
  const file = header.files[tensor.fileIndex];
  assert(file !== undefined && file.path !== '', 'the header was read from this disk');
  return { file: file.path, offset: tensor.offset, ggmlType: tensor.ggmlType, rows: tensor.dims[1] ?? 0 };
}

export function isWhole(spec: StageSpec, layers: number): boolean {
  return spec.range.start === 0 && spec.range.end === layers && spec.head && spec.tail;
}

export interface PlanOptions {
  /** False: the head's rows are read from the model's own file (`embeddingInModel`), no copy is made. */
  readonly copyEmbedding: boolean;
}

/** Throws RingError `unsplittable_model` when the rules forbid this cut, `bad_gguf` when a tensor is missing. */
export function planStageFile(header: GgufHeader, spec: StageSpec, options: PlanOptions = { copyEmbedding: true }): StageFileLayout {
  const facts = architectureFacts(header);
  const rules = architectureRules(facts.architecture);
  const whole = isWhole(spec, facts.layers);
  if (!whole) checkCut(facts, spec);
  const plan = whole ? wholeTensors(header) : stageTensors(header, facts, rules, spec);
  const metadata = whole ? withoutSplit(header) : stageMetadata(facts, rules, spec);
  const encoded = encodeGgufHeader(metadata, plan.map((entry) => entry.target), header.alignment);
  const placed = plan.map((entry, index) => {
    const place: PlacedTensor | undefined = encoded.tensors[index];
    assert(place !== undefined, 'every tensor has a place');
    return { targetName: place.name, targetOffset: place.offset, sizeBytes: place.sizeBytes, source: entry.source };
  });
  const embedding = spec.head && !whole && options.copyEmbedding ? requireTensor(header, EMBEDDING) : null;
  const tensors: StageTensor[] = [];
  const holes: { targetName: string; targetOffset: number; sizeBytes: number }[] = [];
  for (const { source, ...place } of placed) {
    if (source === null) holes.push(place);
    else tensors.push({ ...place, sourceTensor: source });
  }
  return {
    spec, headerBytes: encoded.bytes, fileBytes: encoded.fileBytes, tensors, holes,
    embedding: embedding === null ? null : {
      sourceTensor: EMBEDDING, rows: embedding.dims[1] ?? 0, ggmlType: embedding.ggmlType, sizeBytes: embedding.sizeBytes,
    },
    fingerprint: fingerprintOf(header, encoded.bytes, tensors),
  };
}

/** The header-only GGUF from which the engine loads the vocabulary. */
export function headerOnlyBytes(header: GgufHeader): Uint8Array {
  return encodeGgufHeader(withoutSplit(header), [], header.alignment).bytes;
}

/** Bytes that the tail holds beyond its layers: output matrix, norms, and what the loader insists on besides. */
export function tailExtraBytes(header: GgufHeader, architecture: string): number {
  const embedding = header.byName.get(EMBEDDING);
  const others = header.tensors.filter((tensor) => layerOfTensor(tensor.name) === null && tensor.name !== EMBEDDING && tensor.name !== OUTPUT);
  const bytes = others.reduce((total, tensor) => total + tensor.sizeBytes, 0);
  if (embedding === undefined) return bytes;
  const vocabulary = tailVocabulary(header, embedding, architectureRules(architecture));
  return vocabulary.reduce((total, planned) => total + sizeOf(planned.target), bytes)
    + (vocabulary.some((planned) => planned.target.name === OUTPUT) ? 0 : tiedCopyBytes(header));
}

/** What the engine holds a second time when the output matrix is the embedding and the CPU repacks it. */
export function tiedCopyBytes(header: GgufHeader): number {
  const embedding = header.byName.get(EMBEDDING);
  if (embedding === undefined || header.byName.has(OUTPUT)) return 0;
  return isRepackedOnCpu(embedding.ggmlType) ? embedding.sizeBytes : 0;
}

interface PlannedTensor {
  readonly target: TensorSpec;
  /** Null = zeros. */
  readonly source: string | null;
}

function requireTensor(header: GgufHeader, name: string): GgufTensor {
  const tensor = header.byName.get(name);
  if (tensor === undefined) throw badGguf(header.files[0]?.path || 'model', `tensor ${name} is missing`);
  return tensor;
}

function checkCut(facts: ArchitectureFacts, spec: StageSpec): void {
  const { start, end } = spec.range;
  assert(start >= 0 && start < end && end <= facts.layers, `layers ${start}:${end} are in the model`);
  assert((start === 0) === spec.head && (end === facts.layers) === spec.tail, 'the head begins and the tail ends the model');
  const rules = splitRules(facts);
  const refuse = (why: string): RingError =>
    new RingError('unsplittable_model', `layers ${start}:${end} cannot be a stage of their own: ${why}`, { architecture: facts.architecture, start, end });
  if (rules.unsplittableReason !== null) throw refuse(rules.unsplittableReason);
  if (start % rules.cutPeriod !== 0 || (end % rules.cutPeriod !== 0 && !spec.tail)) {
    throw refuse(`${facts.architecture} is cut at multiples of ${rules.cutPeriod} layers`);
  }
  const refused = rules.refusedStageLayers.find((entry) => entry.layers === end - start);
  if (refused !== undefined) throw refuse(refused.reason);
}

function wholeTensors(header: GgufHeader): PlannedTensor[] {
  return header.tensors.map((tensor) => ({ target: tensor, source: tensor.name }));
}

function stageTensors(header: GgufHeader, facts: ArchitectureFacts, rules: ArchitectureRules, spec: StageSpec): PlannedTensor[] {
  const embedding = requireTensor(header, EMBEDDING);
  const planned = spec.tail ? tailVocabulary(header, embedding, rules) : tinyVocabulary(embedding, rules);
  for (const tensor of header.tensors) {
    if (tensor.name === EMBEDDING || tensor.name === OUTPUT) continue;
    const layer = layerOfTensor(tensor.name);
    if (layer === null) {
      planned.push(!spec.tail && tensor.name.startsWith('output') ? unusedOutput(tensor, facts.vocabularySize) : { target: tensor, source: tensor.name });
    } else if (layer >= spec.range.start && layer < spec.range.end) {
      const name = tensor.name.replace(`blk.${layer}.`, `blk.${layer - spec.range.start}.`);
      planned.push({ target: { ...tensor, name }, source: tensor.name });
    }
  }
  return planned;
}

/** The output matrix under its own name wherever the loader knows it; nobody reads the tail's embedding then. */
function tailVocabulary(header: GgufHeader, embedding: GgufTensor, rules: ArchitectureRules): PlannedTensor[] {
  const output = header.byName.get(OUTPUT) ?? embedding;
  if (rules.outputMatrix === 'tied') return [{ target: { ...output, name: EMBEDDING }, source: output.name }];
  return [{ target: embeddingHole(embedding), source: null }, { target: { ...output, name: OUTPUT }, source: output.name }];
}

function tinyVocabulary(embedding: GgufTensor, rules: ArchitectureRules): PlannedTensor[] {
  const target: TensorSpec = { name: EMBEDDING, dims: [embedding.dims[0] ?? 1, TINY_VOCABULARY], ggmlType: GGML_F16 };
  const planned: PlannedTensor[] = [{ target, source: null }];
  if (rules.outputMatrix === 'required') planned.push({ target: { ...target, name: OUTPUT }, source: null });
  return planned;
}

/** The loader wants the final norm; a stage that is not the tail never computes it. */
function unusedOutput(tensor: GgufTensor, vocabularySize: number): PlannedTensor {
  const dims = tensor.dims.map((dim) => (dim === vocabularySize ? TINY_VOCABULARY : dim));
  return { target: { ...tensor, dims }, source: null };
}

/** Same shape as the embedding in the narrowest type whose blocks divide the row. */
function embeddingHole(embedding: GgufTensor): TensorSpec {
  const row = embedding.dims[0] ?? 1;
  const type = [GGML_Q1_0, GGML_MXFP4, GGML_F16].find((id) => row % (ggmlType(id)?.blockElements ?? 1) === 0) ?? GGML_F16;
  return { name: EMBEDDING, dims: embedding.dims, ggmlType: type };
}

function sizeOf(tensor: TensorSpec): number {
  const type = ggmlType(tensor.ggmlType);
  return type === null ? 0 : tensorBytes(type, tensor.dims) ?? 0;
}

function withoutSplit(header: GgufHeader): Map<string, GgufValue> {
  return new Map([...header.metadata].filter(([key]) => !key.startsWith('split.')));
}

function stageMetadata(facts: ArchitectureFacts, rules: ArchitectureRules, spec: StageSpec): Map<string, GgufValue> {
  const { start, end } = spec.range;
  const prefix = `${facts.architecture}.`;
  const metadata = new Map<string, GgufValue>();
  for (const [key, value] of facts.metadata) {
    if (key.startsWith('split.') || (!spec.tail && key.startsWith('tokenizer.'))) continue;
    const perLayer = value.type === 'array' && value.elementType !== 'string' && value.length === facts.layers
      && key.startsWith(prefix) && !NOT_PER_LAYER.has(key.slice(prefix.length));
    metadata.set(key, perLayer ? sliceArray(value, start, end) : value);
  }
  metadata.set(`${prefix}block_count`, uint32(end - start));
  const dense = metadata.get(`${prefix}leading_dense_block_count`);
  if (dense !== undefined && dense.type === 'uint32') {
    metadata.set(`${prefix}leading_dense_block_count`, uint32(Math.min(Math.max(dense.value - start, 0), end - start)));
  }
  for (const [suffix, value] of rules.stageMetadata(facts, spec.range)) metadata.set(prefix + suffix, value);
  if (!spec.tail) {
    metadata.set('tokenizer.ggml.model', text('no_vocab'));
    metadata.set(`${prefix}vocab_size`, uint32(TINY_VOCABULARY));
  }
  return metadata;
}

function fingerprintOf(header: GgufHeader, headerBytes: Uint8Array, tensors: readonly StageTensor[]): string {
  const hash = createHash('sha256').update(header.identity.digest).update(headerBytes);
  for (const tensor of tensors) hash.update(`${tensor.sourceTensor}\n${tensor.targetOffset}\n${tensor.sizeBytes}\n`);
  return hash.digest('hex');
}
