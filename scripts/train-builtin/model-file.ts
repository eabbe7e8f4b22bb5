/**
 * The files of a training: the model in f16 or q8_0 with its tokenizer and chat template, and the training's own state
 * in f32, from which it goes on. All are GGUFs; a file is whole or not there.
 */
import { rename } from 'node:fs/promises';
import { z } from 'zod';
import { assert, RingError } from '../../src/core/errors.js';
import { quantizeChunk } from '../../src/engine/quantize.js';
import { GGML_F16, GGML_F32, GGML_Q8_0 } from '../../src/model/ggml-types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { bool, float32, metadataText, text, uint32 } from '../../src/model/gguf-values.js';
import type { GgufValue } from '../../src/model/gguf-values.js';
import { writeGgufFile } from '../../src/model/gguf-writer.js';
import type { GeneratedTensor } from '../../src/model/gguf-writer.js';
import { modelPlaces, readPlace } from '../../src/model/tensor-source.js';
import { NORM_EPSILON, ROPE_BASE, weightSpecs } from './decoder.js';
import type { DecoderShape } from './decoder.js';
import type { TrainingState, WeightState } from './trainer.js';

/** `general.file_type` */
const FILE_TYPES = { f16: 1, q8_0: 7 } as const;
const GGML_TYPES = { f16: GGML_F16, q8_0: GGML_Q8_0 } as const;
const QUANTIZATION_VERSION = 2;
/** Messages one after the other: the model knows no roles. */
const CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}";
const PROGRESS_KEY = 'training.progress';

/** The part of a model file that says how text becomes tokens. */
export type TokenizerMetadata = ReadonlyMap<string, GgufValue>;

/** The tokenizer of any GGUF. */
export async function readTokenizer(path: string): Promise<TokenizerMetadata> {
  const { metadata } = await readGgufHeader(path);
  return new Map([...metadata].filter(([key]) => key.startsWith('tokenizer.ggml.')));
}

export interface ModelFacts {
  readonly name: string;
  readonly shape: DecoderShape;
  readonly contextLength: number;
  readonly tokenizer: TokenizerMetadata;
}

/** Matrices in `precision`, norms in f32. */
export async function writeModel(path: string, precision: keyof typeof FILE_TYPES, facts: ModelFacts, state: TrainingState): Promise<void> {
  const { shape } = facts;
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', text('llama')],
    ['general.name', text(facts.name)],
    ['llama.context_length', uint32(facts.contextLength)],
    ['llama.embedding_length', uint32(shape.hidden)],
    ['llama.block_count', uint32(shape.layers)],
    ['llama.feed_forward_length', uint32(shape.feedForward)],
    ['llama.attention.head_count', uint32(shape.heads)],
    ['llama.attention.head_count_kv', uint32(shape.heads)],
    ['llama.attention.layer_norm_rms_epsilon', float32(NORM_EPSILON)],
    ['llama.rope.dimension_count', uint32(shape.hidden / shape.heads)],
    ['llama.rope.freq_base', float32(ROPE_BASE)],
    ['llama.vocab_size', uint32(shape.vocabulary)],
    ...facts.tokenizer,
    ['tokenizer.ggml.add_bos_token', bool(true)],
    ['tokenizer.chat_template', text(CHAT_TEMPLATE)],
    ['general.quantization_version', uint32(QUANTIZATION_VERSION)],
    ['general.file_type', uint32(FILE_TYPES[precision])],
  ]);
  const tensors = weightSpecs(shape).map((spec): GeneratedTensor => {
    const { weight } = stateOf(state, spec.name);
    const [inner, outer = 1] = spec.dims;
    if (spec.kind === 'norm') return { name: spec.name, dims: spec.dims, ggmlType: GGML_F32, data: () => [bytesOf(weight)] };
    const ggmlType = GGML_TYPES[precision];
    return { name: spec.name, dims: spec.dims, ggmlType, data: () => [quantizeChunk(ggmlType, weight, outer, inner)] };
  });
  await writeWhole(path, metadata, tensors);
}

/** How far a training is. */
const PROGRESS = z.object({
  /** What the weights are for and what the order of the text follows from; a checkpoint of another is refused. */
  setting: z.string(),
  steps: z.number().int().nonnegative(),
  tokens: z.number().int().nonnegative(),
  /** Of the best so far, on the validation text; null before the first measure. */
  bestBitsPerByte: z.number().nullable(),
});
export type Progress = z.infer<typeof PROGRESS>;

export async function writeCheckpoint(path: string, progress: Progress, shape: DecoderShape, state: TrainingState): Promise<void> {
  const tensors = weightSpecs(shape).flatMap((spec) => {
    const { weight, memory } = stateOf(state, spec.name);
    return [weight, ...memory].map((values, index): GeneratedTensor => ({
      name: partName(spec.name, index), dims: spec.dims, ggmlType: GGML_F32, data: () => [bytesOf(values)],
    }));
  });
  await writeWhole(path, new Map([[PROGRESS_KEY, text(JSON.stringify(progress))]]), tensors);
}

/** Throws `bad_gguf` when the file is no checkpoint of this shape. */
export async function readCheckpoint(path: string, shape: DecoderShape): Promise<{ readonly progress: Progress; readonly state: TrainingState }> {
  const header = await readGgufHeader(path);
  const progress = PROGRESS.safeParse(JSON.parse(metadataText(header.metadata, PROGRESS_KEY) ?? 'null'));
  if (!progress.success) throw new RingError('bad_gguf', `${path} is no checkpoint of a training`, { file: path });
  const places = modelPlaces(header);
  const state = new Map<string, WeightState>();
  for (const spec of weightSpecs(shape)) {
    const parts: Float32Array[] = [];
    for (let index = 0; index === 0 || places.has(partName(spec.name, index)); index++) {
      const place = places.get(partName(spec.name, index));
      const wanted = spec.dims[0] * (spec.dims[1] ?? 1) * Float32Array.BYTES_PER_ELEMENT;
      if (place?.sizeBytes !== wanted) throw new RingError('bad_gguf', `${path} is a checkpoint of another shape (${spec.name})`, { file: path });
      const bytes = new Uint8Array(wanted);
      let offset = 0;
      for await (const chunk of readPlace(place, 0)) {
        bytes.set(chunk, offset);
        offset += chunk.length;
      }
      parts.push(new Float32Array(bytes.buffer));
    }
    const [weight, ...memory] = parts;
    assert(weight !== undefined, 'a weight was read');
    state.set(spec.name, { weight, memory });
  }
  return { progress: progress.data, state };
}

const partName = (weight: string, index: number): string => (index === 0 ? weight : `${weight}.memory.${index}`);

function stateOf(state: TrainingState, name: string): WeightState {
  const found = state.get(name);
  assert(found !== undefined, `the training has ${name}`);
  return found;
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

async function writeWhole(path: string, metadata: ReadonlyMap<string, GgufValue>, tensors: readonly GeneratedTensor[]): Promise<void> {
  await writeGgufFile(`${path}.part`, metadata, tensors);
  await rename(`${path}.part`, path);
}
