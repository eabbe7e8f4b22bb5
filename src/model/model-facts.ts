/**
 * The few facts of a header that everything else in model/ starts from: architecture, layers, vocabulary, and which
 * layer a tensor belongs to. It must not know placement or stages.
 */
import { RingError } from '../core/errors.js';
import type { ArchitectureFacts } from './architectures.js';
import { unsupportedReason } from './architectures.js';
import { ggmlType } from './ggml-types.js';
import { badGguf } from './gguf-parser.js';
import type { GgufHeader } from './gguf-reader.js';
import { metadataArray, metadataNumber, metadataText } from './gguf-values.js';

export const MAX_LAYERS = 1024;
/** What the wire takes. */
const MAX_CONTEXT_TOKENS = 2 ** 32 - 1;
const LAYER_TENSOR = /^blk\.(\d+)\./;

/** The layer that a tensor belongs to; null for global ones. */
export function layerOfTensor(name: string): number | null {
  const match = LAYER_TENSOR.exec(name);
  return match === null ? null : Number(match[1]);
}

/** Architecture, layers and vocabulary; RingError `bad_gguf` when they are missing or absurd. */
export function architectureFacts(header: GgufHeader): ArchitectureFacts {
  const where = header.files[0]?.path === '' ? 'header from a peer' : header.files[0]?.path ?? 'model';
  const architecture = metadataText(header.metadata, 'general.architecture');
  if (architecture === null || architecture === '') throw badGguf(where, 'general.architecture is missing');
  const layers = metadataNumber(header.metadata, `${architecture}.block_count`);
  if (layers === null || !Number.isInteger(layers) || layers < 1 || layers > MAX_LAYERS) {
    if (unsupportedReason(architecture) !== null) {
      throw new RingError('unsupported_architecture', `${where}: ${unsupportedReason(architecture) ?? ''}`, { architecture });
    }
    throw badGguf(where, `${architecture}.block_count is ${layers === null ? 'missing' : layers} (1 to ${MAX_LAYERS} are supported)`);
  }
  for (const tensor of header.tensors) {
    const layer = layerOfTensor(tensor.name);
    if (layer !== null && layer >= layers) throw badGguf(where, `tensor ${JSON.stringify(tensor.name)} is beyond the ${layers} layers`);
  }
  return { architecture, metadata: header.metadata, layers, vocabularySize: vocabularySize(header, architecture) };
}

/** What people and clients are told of a model whose header is not read for it. */
export function toldFacts(header: GgufHeader): { readonly trainedContext?: number; readonly parameters: number; readonly weights: string } {
  return { ...trainedContextOf(header), parameters: parametersOf(header), weights: commonestType(header) };
}

function parametersOf({ tensors }: GgufHeader): number {
  return tensors.reduce((sum, { dims }) => sum + dims.reduce((product, size) => product * size, 1), 0);
}

/** The type that most of the weights are stored in. */
function commonestType({ tensors }: GgufHeader): string {
  const bytes = new Map<number, number>();
  for (const tensor of tensors) bytes.set(tensor.ggmlType, (bytes.get(tensor.ggmlType) ?? 0) + tensor.sizeBytes);
  const [commonest] = [...bytes].sort(([, a], [, b]) => b - a);
  return commonest === undefined ? '' : ggmlType(commonest[0])?.name ?? '';
}

/** The context that a model was trained for, where its header says so. */
function trainedContextOf(header: GgufHeader): { readonly trainedContext?: number } {
  const architecture = metadataText(header.metadata, 'general.architecture') ?? '';
  const tokens = metadataNumber(header.metadata, `${architecture}.context_length`);
  return tokens === null || !Number.isInteger(tokens) || tokens < 1 || tokens > MAX_CONTEXT_TOKENS ? {} : { trainedContext: tokens };
}

function vocabularySize(header: GgufHeader, architecture: string): number {
  const embedding = header.byName.get('token_embd.weight');
  return embedding?.dims[1] ?? metadataArray(header.metadata, 'tokenizer.ggml.tokens')?.length
    ?? metadataNumber(header.metadata, `${architecture}.vocab_size`) ?? 0;
}
