/**
 * Writes a GGUF again with its layers' matrices in another precision, with ggml's own arithmetic.
 *
 * Formats that ggml lacks are rounded to their grid and stored as bf16, which holds every value of at most eight bits
 * exactly: the numerics are the format's, the bytes are bf16's. What is there under the target's name is whole. It must
 * not know stages or nodes.
 */
import type { FileHandle } from 'node:fs/promises';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { assert, RingError } from '../core/errors.js';
import { roundToMinifloat } from '../core/minifloat.js';
import { parsePrecision, weightStorage } from '../core/precision.js';
import type { Precision } from '../core/precision.js';
import { quantizeChunk, typeTraits } from '../engine/quantize.js';
import { fileError } from '../model/file-errors.js';
import { readChunks, readFully, syncDirectory, writeFully } from '../model/file-io.js';
import { readGgufHeader } from '../model/gguf-reader.js';
import type { GgufTensor } from '../model/gguf-reader.js';
import { encodeGgufHeader } from '../model/gguf-writer.js';
import type { PlacedTensor } from '../model/gguf-writer.js';
import type { ConvertOptions } from '../ports.js';
import { convertedType, isConvertible } from '../model/precision-bytes.js';

/** Values that are floats at one time. */
const CHUNK_VALUES = 1 << 20;
/** Weights that share a scale in `mxfp8`. */
const SCALE_BLOCK = 32;

/** Returns the bytes written. Throws `bad_config`, `bad_gguf`, `disk_full`, `io_failed` … */
export async function convertFile(options: ConvertOptions): Promise<number> {
  const precision = parsePrecision(options.precision);
  const storage = precision === null ? null : weightStorage(precision);
  if (precision === null || storage === null) throw new RingError('bad_config', `"${options.precision}" is no precision that weights can be converted to`);
  const header = await readGgufHeader(options.sourceFile);
  const specs = header.tensors.map((tensor) => ({ name: tensor.name, dims: tensor.dims, ggmlType: convertedType(tensor, storage) }));
  const metadata = new Map([...header.metadata].filter(([key]) => !key.startsWith('split.')));
  const encoded = encodeGgufHeader(metadata, specs, header.alignment);
  // Two runners may be asked for one file at a time; whoever is last replaces the same bytes by the same bytes.
  const partial = `${options.targetFile}.partial-${process.pid}`;
  const opened: FileHandle[] = [];
  try {
    await mkdir(dirname(options.targetFile), { recursive: true });
    const target = await open(partial, 'w');
    opened.push(target);
    await writeFully(target, encoded.bytes, 0);
    const sources: FileHandle[] = [];
    for (const file of header.files) {
      const source = await open(file.path, 'r');
      opened.push(source);
      sources.push(source);
    }
    for (const [index, tensor] of header.tensors.entries()) {
      const place = encoded.tensors[index];
      const source = sources[tensor.fileIndex];
      assert(place !== undefined && source !== undefined, 'every tensor has a place and a file');
      // A bf16 matrix is rounded to a grid although its type stays.
      const changes = place.ggmlType !== tensor.ggmlType || (precision.kind === 'minifloat' && isConvertible(tensor, storage));
      if (changes) await convertTensor(source, tensor, target, place, precision);
      else for await (const chunk of numbered(readChunks(source, tensor.offset, tensor.sizeBytes))) await writeFully(target, chunk.bytes, place.offset + chunk.at);
    }
    await target.truncate(encoded.fileBytes);
    await target.sync();
    await rename(partial, options.targetFile);
    await syncDirectory(dirname(options.targetFile));
    return encoded.fileBytes;
  } catch (error) {
    await rm(partial, { force: true });
    throw fileError(error, options.targetFile, 'write', encoded.fileBytes);
  } finally {
    for (const handle of opened) await handle.close();
  }
}

async function* numbered(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<{ readonly bytes: Uint8Array; readonly at: number }> {
  let at = 0;
  for await (const bytes of chunks) {
    yield { bytes, at };
    at += bytes.length;
  }
}

async function convertTensor(source: FileHandle, tensor: GgufTensor, target: FileHandle, place: PlacedTensor, precision: Precision): Promise<void> {
  const rowValues = tensor.dims[0] ?? 1;
  const rows = tensor.dims.slice(1).reduce((product, dim) => product * dim, 1);
  const scale = precision.kind === 'minifloat' && precision.scale === 'tensor' ? await tensorScale(source, tensor, rowValues, rows, precision.format.grid) : 1;
  for await (const chunk of rowChunks(source, tensor, rowValues, rows)) {
    if (precision.kind === 'minifloat') roundChunk(chunk.values, precision, scale);
    await writeFully(target, quantizeChunk(place.ggmlType, chunk.values, chunk.rows, rowValues), place.offset + (chunk.firstRow * place.sizeBytes) / rows);
  }
}

interface RowChunk {
  readonly values: Float32Array;
  readonly firstRow: number;
  readonly rows: number;
}

async function* rowChunks(source: FileHandle, tensor: GgufTensor, rowValues: number, rows: number): AsyncGenerator<RowChunk> {
  const traits = typeTraits(tensor.ggmlType);
  const rowBytes = tensor.sizeBytes / rows;
  const step = Math.max(1, Math.floor(CHUNK_VALUES / rowValues));
  for (let firstRow = 0; firstRow < rows; firstRow += step) {
    const count = Math.min(step, rows - firstRow);
    const bytes = new Uint8Array(count * rowBytes);
    const read = await readFully(source, bytes, tensor.offset + firstRow * rowBytes);
    if (read < bytes.length) throw new RingError('io_failed', `tensor ${tensor.name} ends ${bytes.length - read} bytes too early`);
    yield { values: traits.dequantize(bytes, count * rowValues), firstRow, rows: count };
  }
}

async function tensorScale(source: FileHandle, tensor: GgufTensor, rowValues: number, rows: number, grid: Float64Array): Promise<number> {
  let largest = 0;
  for await (const { values } of rowChunks(source, tensor, rowValues, rows)) largest = Math.max(largest, largestOf(values, 0, values.length));
  return scaleFor(largest, grid);
}

function roundChunk(values: Float32Array, precision: Extract<Precision, { kind: 'minifloat' }>, scale: number): void {
  const step = precision.scale === 'block' ? SCALE_BLOCK : values.length;
  for (let start = 0; start < values.length; start += step) {
    const end = Math.min(values.length, start + step);
    const divisor = precision.scale === 'block' ? scaleFor(largestOf(values, start, end), precision.format.grid) : scale;
    for (let index = start; index < end; index += 1) values[index] = roundToMinifloat(precision.format, (values[index] ?? 0) / divisor) * divisor;
  }
}

/** A power of two, so that the scaled grid is exact in bf16: the smallest that saturates nothing. */
function scaleFor(largest: number, grid: Float64Array): number {
  const most = grid.at(-1) ?? 1;
  return largest > 0 && Number.isFinite(largest) ? 2 ** Math.ceil(Math.log2(largest / most)) : 1;
}

function largestOf(values: Float32Array, start: number, end: number): number {
  let largest = 0;
  for (let index = start; index < end; index += 1) largest = Math.max(largest, Math.abs(values[index] ?? 0));
  return largest;
}
