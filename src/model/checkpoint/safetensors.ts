/**
 * Reads the headers of a checkpoint's safetensors files (one, or shards with an index) out of bytes that nobody vouches for:
 * which tensors there are, of what shape, and where. Every length is compared with the file's real size before anything is
 * allocated. It must not know models.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { badCheckpoint, refusedCheckpoint } from './bad-checkpoint.js';
import type { CheckpointFiles } from './checkpoint-files.js';
import { parseJson, readJson } from './checkpoint-files.js';

/** The format's own limit. */
export const MAX_HEADER_BYTES = 100_000_000;
const MAX_INDEX_BYTES = 64 * 1024 * 1024;
const MAX_TENSORS = 65_536;
const MAX_SHARDS = 1024;
const MAX_DIMENSIONS = 8;
/** Files whose headers are read side by side. */
const FILES_AT_ONCE = 4;
const LENGTH_BYTES = 8;
const INDEX = 'model.safetensors.index.json';
const SINGLE = 'model.safetensors';

const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  F64: 8, I64: 8, U64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, I16: 2, U16: 2, F8_E4M3: 1, F8_E5M2: 1, F8_E8M0: 1, I8: 1, U8: 1, BOOL: 1,
};

export interface SafeTensor {
  readonly name: string;
  /** As the file writes it: `BF16`, `F16`, `F32` … */
  readonly type: string;
  /** Outermost first, as in the file. */
  readonly shape: readonly number[];
  /** Its file's name. */
  readonly file: string;
  readonly path: string;
  /** From the start of the file, in bytes. */
  readonly offset: number;
  readonly sizeBytes: number;
}

const entrySchema = z.object({
  dtype: z.string().max(20),
  shape: z.array(z.int().nonnegative()).max(MAX_DIMENSIONS),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});
const headerSchema = z.record(z.string(), z.unknown());
const indexSchema = z.object({ weight_map: z.record(z.string(), z.string()) });

/** True for a directory whose weights are safetensors files. */
export function hasSafetensors(names: readonly string[]): boolean {
  return names.includes(INDEX) || names.some((name) => name.endsWith('.safetensors'));
}

/** The weight files' names, sorted. Throws `bad_checkpoint` when the index names one that is not there. */
export async function weightFiles(files: CheckpointFiles): Promise<{ readonly weights: readonly string[]; readonly index: ReadonlyMap<string, string> | null }> {
  const names = await files.names();
  if (names.includes(INDEX)) return indexedFiles(files, names);
  if (names.includes(SINGLE)) return { weights: [SINGLE], index: null };
  const { where } = files;
  const others = names.filter((name) => name.endsWith('.safetensors'));
  const [only] = others;
  if (others.length === 1 && only !== undefined && !only.startsWith('consolidated')) return { weights: [only], index: null };
  if (others.some((name) => name.startsWith('consolidated'))) throw refusedCheckpoint(where, 'its weights are in the vendor\'s own layout (consolidated…)', 'take the Hugging Face layout (model.safetensors) or a GGUF');
  if (others.length > 1) throw badCheckpoint(where, `it has ${others.length} safetensors files, but no ${INDEX} that says what is where`);
  if (names.some((name) => /\.(bin|pt|pth)$/.test(name))) throw refusedCheckpoint(where, 'its weights are PyTorch pickles, which can run code and are not read', 'take the safetensors or a GGUF of the model');
  throw badCheckpoint(where, 'it has no safetensors file');
}

async function indexedFiles(files: CheckpointFiles, names: readonly string[]): Promise<{ weights: string[]; index: Map<string, string> }> {
  const path = files.pathOf(INDEX);
  const parsed = indexSchema.safeParse(await readJson(files, INDEX, MAX_INDEX_BYTES));
  if (!parsed.success) throw badCheckpoint(path, 'it is no index of tensors (weight_map is missing)');
  const index = new Map(Object.entries(parsed.data.weight_map));
  const weights = [...new Set(index.values())].sort();
  if (weights.length === 0 || weights.length > MAX_SHARDS) throw badCheckpoint(path, `it names ${weights.length} files (1 to ${MAX_SHARDS} are supported)`);
  for (const name of weights) {
    if (basename(name) !== name || !name.endsWith('.safetensors')) throw badCheckpoint(path, `it names ${JSON.stringify(name.slice(0, 100))}, which is no safetensors file beside it`);
    if (!names.includes(name)) throw badCheckpoint(files.where, `shard ${name} is missing: keep all ${weights.length} files of the index in one directory`);
  }
  return { weights, index };
}

/** Every tensor of the checkpoint by name. Throws `bad_checkpoint`, `io_failed` … */
export async function readSafetensors(files: CheckpointFiles): Promise<ReadonlyMap<string, SafeTensor>> {
  const { weights, index } = await weightFiles(files);
  const tensors = new Map<string, SafeTensor>();
  for (let first = 0; first < weights.length; first += FILES_AT_ONCE) {
    const some = await Promise.all(weights.slice(first, first + FILES_AT_ONCE).map((file) => readSafetensorsFile(files, file)));
    for (const tensor of some.flat()) {
      if (tensors.has(tensor.name)) throw badCheckpoint(tensor.path, `tensor ${JSON.stringify(tensor.name)} is in two files`);
      if (tensors.size >= MAX_TENSORS) throw badCheckpoint(files.where, `it has more than ${MAX_TENSORS} tensors`);
      tensors.set(tensor.name, tensor);
    }
  }
  for (const [name, file] of index ?? []) {
    if (tensors.get(name)?.file !== file) throw badCheckpoint(files.pathOf(file), `tensor ${JSON.stringify(name.slice(0, 200))}, which ${INDEX} says is in it, is not`);
  }
  return tensors;
}

/** The header of one file: `u64 length`, JSON, data. */
export async function readSafetensorsFile(files: CheckpointFiles, file: string): Promise<readonly SafeTensor[]> {
  const path = files.pathOf(file);
  const fileBytes = await files.sizeOf(file);
  const start = await files.part(file, 0, LENGTH_BYTES);
  if (start.length < LENGTH_BYTES) throw badCheckpoint(path, `it has ${fileBytes} bytes, too few for a safetensors file`);
  const length = new DataView(start.buffer, start.byteOffset).getBigUint64(0, true);
  const limit = Math.min(MAX_HEADER_BYTES, fileBytes - LENGTH_BYTES);
  if (length > BigInt(limit)) throw badCheckpoint(path, `its header is said to have ${length} bytes, but at most ${limit} fit`);
  const header = await files.part(file, LENGTH_BYTES, Number(length));
  if (header.length < Number(length)) throw badCheckpoint(path, 'it became shorter while it was read');
  return tensorsOf(header, { file, path, fileBytes });
}

function tensorsOf(header: Uint8Array, { file, path, fileBytes }: { readonly file: string; readonly path: string; readonly fileBytes: number }): SafeTensor[] {
  const parsed = headerSchema.safeParse(parseJson(header, path));
  if (!parsed.success) throw badCheckpoint(path, 'its header is no JSON object');
  const start = LENGTH_BYTES + header.length;
  const tensors: SafeTensor[] = [];
  for (const [name, value] of Object.entries(parsed.data)) {
    if (name === '__metadata__') continue;
    const entry = entrySchema.safeParse(value);
    const what = `tensor ${JSON.stringify(name.slice(0, 200))}`;
    if (!entry.success) throw badCheckpoint(path, `${what} has no type, shape or place that makes sense`);
    if (tensors.length >= MAX_TENSORS) throw badCheckpoint(path, `it has more than ${MAX_TENSORS} tensors`);
    const { dtype, shape, data_offsets: [from, to] } = entry.data;
    const each = ELEMENT_BYTES[dtype];
    if (each === undefined) throw badCheckpoint(path, `${what} is of the unknown type ${JSON.stringify(dtype)}`);
    const expected = shape.reduce((product, dim) => product * dim, each);
    if (!Number.isSafeInteger(expected) || to - from !== expected) throw badCheckpoint(path, `${what} of shape [${shape.join(', ')}] in ${dtype} has ${expected} bytes, but its place has ${to - from}`);
    if (start + to > fileBytes) throw badCheckpoint(path, `${what} ends at byte ${start + to}, but the file has ${fileBytes}`);
    tensors.push({ name, type: dtype, shape, file, path, offset: start + from, sizeBytes: expected });
  }
  return withoutOverlap(tensors, path);
}

function withoutOverlap(tensors: SafeTensor[], path: string): SafeTensor[] {
  const ordered = tensors.sort((a, b) => a.offset - b.offset || a.sizeBytes - b.sizeBytes);
  ordered.forEach((tensor, index) => {
    const before = ordered[index - 1];
    if (before !== undefined && before.offset + before.sizeBytes > tensor.offset) throw badCheckpoint(path, `tensors ${JSON.stringify(before.name)} and ${JSON.stringify(tensor.name)} overlap`);
  });
  return ordered;
}
