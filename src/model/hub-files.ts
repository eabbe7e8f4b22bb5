/**
 * Which files of a hub repository are the model that a person meant: one GGUF or all of its shards.
 *
 * Pure: a listing in, files out. It must not know how a listing is got.
 */
import { RingError } from '../core/errors.js';
import { looksLikeCheckpoint } from './checkpoint/checkpoint.js';
import { MAX_SHARDS, shardName } from './gguf-reader.js';

export interface HubFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Of the whole file, hex; null when the hub does not say. */
  readonly sha256: string | null;
}

/** What is taken when nobody asks for a quantisation, best first: small and good on CPUs. */
const USUAL_QUANTS = ['Q4_K_M', 'Q4_K_S', 'Q4_0', 'MXFP4', 'Q5_K_M', 'Q8_0', 'F16', 'BF16'];
/** Parts of a model that are no language model of their own. */
const NOT_A_MODEL = /(^|[/._-])(mmproj|imatrix|vocab|lora)([._-]|$)/i;
const MAX_LISTED = 12;

/** Files in shard order. Throws `source_missing` with what there is. */
export function chooseFiles(repository: string, files: readonly HubFile[], wanted: { readonly quant: string | null; readonly file: string | null }): HubFile[] {
  const models = ggufFiles(files);
  if (wanted.file !== null) {
    const found = files.find((file) => file.path === wanted.file);
    if (found === undefined) throw missing(repository, `there is no file ${wanted.file}`, files);
    return withShards(repository, found, files);
  }
  const firsts = models.filter((file) => (shardName(file.path)?.number ?? 1) === 1);
  const chosen = wanted.quant === null ? usual(firsts) : firsts.filter((file) => hasQuant(file.path, wanted.quant ?? ''));
  const [first] = [...chosen].sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  if (first === undefined) {
    throw missing(repository, wanted.quant === null ? 'there is no GGUF file' : `no GGUF file is quantised as ${wanted.quant}`, files);
  }
  return withShards(repository, first, files);
}

/** True when a person means the checkpoint of a repository: it has no GGUF, or they ask for `safetensors`. */
export function meansCheckpoint(files: readonly HubFile[], wanted: { readonly quant: string | null; readonly file: string | null }): boolean {
  if (wanted.file !== null || !looksLikeCheckpoint(files.map(({ path }) => path))) return false;
  return wanted.quant === null ? ggufFiles(files).length === 0 : wanted.quant.toLowerCase() === 'safetensors';
}

function ggufFiles(files: readonly HubFile[]): readonly HubFile[] {
  return files.filter((file) => file.path.toLowerCase().endsWith('.gguf') && !NOT_A_MODEL.test(baseName(file.path)));
}

/** `model-Q4_K_M.gguf` or `Q4_K_M/model-00001-of-00002.gguf` have quant `q4_k_m`; `Q4_K_M` is not part of `IQ4_K_M`. */
export function hasQuant(path: string, quant: string): boolean {
  const escaped = quant.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(^|[/._-])(ud-)?${escaped}([/.-]|$)`, 'i').test(path);
}

function usual(files: readonly HubFile[]): readonly HubFile[] {
  for (const quant of USUAL_QUANTS) {
    const fitting = files.filter((file) => hasQuant(file.path, quant));
    if (fitting.length > 0) return fitting;
  }
  return files;
}

function withShards(repository: string, first: HubFile, files: readonly HubFile[]): HubFile[] {
  const shard = shardName(first.path);
  if (shard === null) return [first];
  if (shard.count < 1 || shard.count > MAX_SHARDS) throw missing(repository, `${first.path} claims to be one of ${shard.count} shards`, files);
  const directory = first.path.slice(0, first.path.length - baseName(first.path).length);
  const pad = (value: number): string => String(value).padStart(5, '0');
  return Array.from({ length: shard.count }, (_, index) => {
    const path = `${directory}${shard.prefix}-${pad(index + 1)}-of-${pad(shard.count)}.gguf`;
    const found = files.find((file) => file.path === path);
    if (found === undefined) throw missing(repository, `shard ${path} is not there`, files);
    return found;
  });
}

function missing(repository: string, what: string, files: readonly HubFile[]): RingError {
  return new RingError('source_missing', `hf:${repository}: ${what}. ${whatThereIs(repository, files)}`, { repository });
}

function whatThereIs(repository: string, files: readonly HubFile[]): string {
  const names = ggufFiles(files).map((file) => file.path);
  const checkpoint = looksLikeCheckpoint(files.map(({ path }) => path));
  if (names.length === 0 && checkpoint) return `It has no GGUF files, but a checkpoint (safetensors): name it as hf:${repository}`;
  if (names.length === 0) return 'It has no GGUF files, and no checkpoint (config.json and safetensors) either: look for a repository whose name ends with -GGUF';
  const more = names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : '';
  return `There are: ${names.slice(0, MAX_LISTED).join(', ')}${more}${checkpoint ? `, and a checkpoint (hf:${repository}:safetensors)` : ''}`;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
