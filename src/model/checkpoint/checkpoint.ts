/**
 * Hugging Face files (`config.json`, safetensors, tokenizer; a directory or a repository) seen as a GGUF: a header that was never written, and for
 * every tensor of it where its values are and how they become what the engine wants. Nothing is converted until it is read.
 *
 * The digest stands for the weights too: a few bytes of each tensor are part of the header, so that a fine-tune differs from
 * its base although shapes and vocabulary are the same, and equal copies on two machines are one model. It must not know
 * stages.
 */
import { createHash } from 'node:crypto';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { GGML_BF16, GGML_F16, GGML_F32 } from '../ggml-types.js';
import type { GgufHeader } from '../gguf-reader.js';
import { parseGgufHeader } from '../gguf-reader.js';
import type { GgufValue } from '../gguf-values.js';
import { text, uint32 } from '../gguf-values.js';
import type { TensorSpec } from '../gguf-writer.js';
import { encodeGgufHeader } from '../gguf-writer.js';
import type { TensorPlace } from '../tensor-source.js';
import type { FloatType, TensorTransform } from '../tensor-transform.js';
import { constantBytes, interleaveHeadRows, MAX_WHOLE_BYTES, vectorAsFloat } from '../tensor-transform.js';
import { badCheckpoint, refusedCheckpoint } from './bad-checkpoint.js';
import type { CheckpointFiles } from './checkpoint-files.js';
import { directoryFiles, readJson } from './checkpoint-files.js';
import type { CheckpointConfig } from './config.js';
import { checkpointConfig } from './config.js';
import type { FamilyTensor } from './families.js';
import { familyMetadata, familyTensors, OUTPUT_SOURCE, ROPE_FACTORS, ropeFactors } from './families.js';
import type { SafeTensor } from './safetensors.js';
import { hasSafetensors, readSafetensors, weightFiles } from './safetensors.js';
import { tokenizerMetadata } from './tokenizer.js';

/** Raised when the same checkpoint is turned into other bytes than before. */
const CONVERSION_VERSION = 1;
const MAX_CONFIG_BYTES = 16 * 1024 * 1024;
/** Of each tensor, from its middle. */
const SAMPLE_BYTES = 1024;
/** Samples that are read side by side. */
const SAMPLES_AT_ONCE = 8;
const ALIGNMENT = 32;
export const CONFIG = 'config.json';
/** Files besides the weights that a checkpoint is made of, present or not. */
export const SMALL_FILES: readonly string[] = [CONFIG, 'generation_config.json', 'tokenizer.json', 'tokenizer.model', 'tokenizer_config.json', 'added_tokens.json', 'chat_template.jinja', 'chat_template.json', 'model.safetensors.index.json'];
/** In the text model of a checkpoint, in this order of preference. */
const PREFIXES = ['model.', 'language_model.model.', 'model.language_model.', ''];
/** Tensors that the engine computes itself or that belong to other parts of the model. */
const IGNORED = /(rotary_emb\.inv_freq|masked_bias|^(model\.)?(vision_tower|multi_modal_projector|vision_model|embed_vision)\.)/;
const FLOAT_TYPES: Readonly<Record<FloatType, number>> = { F32: GGML_F32, F16: GGML_F16, BF16: GGML_BF16 };
const FILE_TYPES: Readonly<Record<FloatType, number>> = { F32: 0, F16: 1, BF16: 32 };

export interface Checkpoint {
  /** Of a GGUF that is nowhere: the name of its only file is empty. */
  readonly header: GgufHeader;
  readonly places: ReadonlyMap<string, TensorPlace>;
}

/** True for a directory that looks like a checkpoint, readable or not. */
export async function isCheckpoint(directory: string): Promise<boolean> {
  const names: readonly string[] = await readdir(directory).catch(() => []);
  return looksLikeCheckpoint(names);
}

export function looksLikeCheckpoint(names: readonly string[]): boolean {
  return names.includes(CONFIG) && hasSafetensors(names);
}

/** The directory's name; in a hub cache (`models--owner--repo/snapshots/<commit>`) the repository's. */
export function checkpointName(directory: string): string {
  const parent = dirname(directory);
  const cached = basename(parent) === 'snapshots' ? /^models--.+--(.+)$/.exec(basename(dirname(parent))) : null;
  return cached?.[1] ?? basename(directory);
}

/** Changes when a file of the checkpoint does. */
export async function checkpointStamp(directory: string): Promise<string> {
  const { weights } = await weightFiles(directoryFiles(directory));
  const stamps: string[] = [];
  for (const name of [...SMALL_FILES, ...weights]) {
    const found = await realpath(join(directory, name)).then(stat).catch(() => null);
    stamps.push(found === null ? '-' : `${found.ino}-${found.size}-${found.mtimeMs}`);
  }
  return stamps.join(' ');
}

/** Throws `unsupported_architecture` with the reason, `bad_checkpoint`, `io_failed` … */
export async function readCheckpoint(directory: string): Promise<Checkpoint> {
  return checkpointOf(directoryFiles(directory));
}

export async function checkpointOf(files: CheckpointFiles): Promise<Checkpoint> {
  const { config, planned } = await plan(files);
  const metadata = new Map<string, GgufValue>([
    ...familyMetadata(config), ...await tokenizerMetadata(files, config),
    ['general.alignment', uint32(ALIGNMENT)], ['general.file_type', uint32(FILE_TYPES[planned.type])],
    ['checkpoint.conversion_version', uint32(CONVERSION_VERSION)], ['checkpoint.weights_sample', text(await sampleOf(files, [...planned.used.values()]))],
  ]);
  const encoded = encodeGgufHeader(metadata, planned.specs, ALIGNMENT);
  return { header: parseGgufHeader([encoded.bytes], encoded.fileBytes, files.where), places: planned.places };
}

/** Of a checkpoint whose header is known: reads neither its tokenizer nor any weights. */
export async function checkpointPlaces(files: CheckpointFiles): Promise<ReadonlyMap<string, TensorPlace>> {
  return (await plan(files)).planned.places;
}

async function plan(files: CheckpointFiles): Promise<{ readonly config: CheckpointConfig; readonly planned: Plan }> {
  const config = checkpointConfig(await readJson(files, CONFIG, MAX_CONFIG_BYTES), files.pathOf(CONFIG));
  return { config, planned: planTensors(config, await readSafetensors(files), files) };
}

interface Plan {
  readonly specs: readonly TensorSpec[];
  readonly places: ReadonlyMap<string, TensorPlace>;
  readonly used: ReadonlyMap<string, SafeTensor>;
  /** Of the embedding. */
  readonly type: FloatType;
}

function planTensors(config: CheckpointConfig, stored: ReadonlyMap<string, SafeTensor>, files: CheckpointFiles): Plan {
  const { where } = files;
  const prefix = PREFIXES.find((one) => stored.has(`${one}embed_tokens.weight`));
  if (prefix === undefined) throw badCheckpoint(where, 'the embedding (model.embed_tokens.weight) is missing');
  const sourceName = (tensor: FamilyTensor): string => (tensor.source === OUTPUT_SOURCE ? outputName(stored) : prefix + tensor.source);
  const specs: TensorSpec[] = [];
  const places = new Map<string, TensorPlace>();
  const used = new Map<string, SafeTensor>();
  for (const tensor of familyTensors(config)) {
    const name = sourceName(tensor);
    const found = stored.get(name);
    if (found === undefined && tensor.optional) continue;
    if (found === undefined) throw badCheckpoint(where, `tensor ${name} is missing`);
    const planned = planTensor(tensor, found, config);
    specs.push(planned.spec);
    places.set(tensor.target, planned.place);
    used.set(name, found);
  }
  refuseOthers(config, stored, used, where);
  const factors = ropeFactors(config);
  if (factors !== null) {
    const bytes = new Uint8Array(factors.buffer);
    specs.splice(2, 0, { name: ROPE_FACTORS, dims: [factors.length], ggmlType: GGML_F32 });
    places.set(ROPE_FACTORS, {
      path: files.pathOf(CONFIG), offset: 0, sizeBytes: bytes.length, digest: createHash('sha256').update(bytes).digest('hex'), transform: constantBytes(bytes),
    });
  }
  return { specs, places, used, type: floatType(stored.get(`${prefix}embed_tokens.weight`), where) };
}

function outputName(stored: ReadonlyMap<string, SafeTensor>): string {
  return ['lm_head.weight', 'language_model.lm_head.weight'].find((name) => stored.has(name)) ?? OUTPUT_SOURCE;
}

/** A tensor that nothing would read means that the model computes something else than the engine. */
function refuseOthers(config: CheckpointConfig, stored: ReadonlyMap<string, SafeTensor>, used: ReadonlyMap<string, SafeTensor>, where: string): void {
  const output = outputName(stored);
  const others = [...stored.keys()].filter((name) => !used.has(name) && !IGNORED.test(name) && !(config.tied && name === output));
  if (others.length > 0) throw refusedCheckpoint(where, `it has ${others.length} tensors that are no part of a ${config.family} model, ${JSON.stringify(others[0])} the first`);
}

function floatType(tensor: SafeTensor | undefined, where: string): FloatType {
  const type = tensor?.type;
  if (type === 'F32' || type === 'F16' || type === 'BF16') return type;
  throw refusedCheckpoint(where, `tensor ${tensor?.name ?? ''} is stored as ${type ?? 'nothing'}, but weights are read as F32, F16 or BF16 only`, 'take the unquantised checkpoint or a GGUF');
}

function planTensor(tensor: FamilyTensor, found: SafeTensor, config: CheckpointConfig): { spec: TensorSpec; place: TensorPlace } {
  const type = floatType(found, found.path);
  if (found.shape.join() !== tensor.shape.join()) {
    throw badCheckpoint(found.path, `tensor ${found.name} has the shape [${found.shape.join(', ')}], but ${CONFIG} implies [${tensor.shape.join(', ')}]`);
  }
  const [rows = 1, row] = tensor.shape;
  const name = tensor.target;
  const at = { path: found.path, offset: found.offset };
  if (row === undefined) {
    if (found.sizeBytes > MAX_WHOLE_BYTES) throw badCheckpoint(found.path, `vector ${found.name} has ${found.sizeBytes} bytes`);
    const change = { type, elements: rows, add: tensor.change === 'plus_one' ? 1 : 0, valuesPerHead: tensor.change === 'rope_rows' ? config.headSize : null };
    const same = type === 'F32' && change.add === 0 && change.valuesPerHead === null;
    return { spec: { name, dims: [rows], ggmlType: GGML_F32 }, place: placed(at, rows * 4, same ? null : vectorAsFloat(change)) };
  }
  const rowBytes = found.sizeBytes / rows;
  if (config.headSize * rowBytes > MAX_WHOLE_BYTES) throw badCheckpoint(found.path, `a head of ${found.name} has ${config.headSize * rowBytes} bytes`);
  const transform = tensor.change === 'rope_rows' ? interleaveHeadRows({ heads: rows / config.headSize, rowsPerHead: config.headSize, rowBytes }) : null;
  return { spec: { name, dims: [row, rows], ggmlType: FLOAT_TYPES[type] }, place: placed(at, found.sizeBytes, transform) };
}

function placed(at: { readonly path: string; readonly offset: number }, sizeBytes: number, transform: TensorTransform | null): TensorPlace {
  return transform === null ? { ...at, sizeBytes } : { ...at, sizeBytes, transform };
}

/** SHA-256 over every tensor's name and some of its bytes, whatever files they are in. */
async function sampleOf(files: CheckpointFiles, tensors: readonly SafeTensor[]): Promise<string> {
  const hash = createHash('sha256');
  for (let first = 0; first < tensors.length; first += SAMPLES_AT_ONCE) {
    const some = tensors.slice(first, first + SAMPLES_AT_ONCE);
    const samples = await Promise.all(some.map(({ file, offset, sizeBytes }) => {
      const length = Math.min(SAMPLE_BYTES, sizeBytes);
      return files.part(file, offset + Math.floor((sizeBytes - length) / 2), length);
    }));
    for (const [index, tensor] of some.entries()) hash.update(`${tensor.name}\n${tensor.type}\n`).update(samples[index] ?? '');
  }
  return hash.digest('hex');
}
