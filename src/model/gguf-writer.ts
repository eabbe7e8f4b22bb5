/**
 * Writes GGUF version 3: a header with contiguous, aligned tensor offsets (the engine's loader insists on both), and
 * whole files from generated tensors. It must not know architectures or stages.
 */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { assert } from '../core/errors.js';
import { fileError } from './file-errors.js';
import { ggmlType, tensorBytes } from './ggml-types.js';
import { alignUp } from './gguf-parser.js';
import type { GgufValue } from './gguf-values.js';
import { ARRAY_TYPE, scalarTypeNumber } from './gguf-values.js';

const MAGIC = 0x46554747;
const VERSION = 3;

export interface TensorSpec {
  readonly name: string;
  /** Innermost first. */
  readonly dims: readonly number[];
  readonly ggmlType: number;
}

export interface PlacedTensor extends TensorSpec {
  /** From the start of the file. */
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface EncodedHeader {
  /** Header with the padding up to the first tensor. */
  readonly bytes: Uint8Array;
  readonly tensors: readonly PlacedTensor[];
  /** Size of the whole file. */
  readonly fileBytes: number;
}

/** A byte buffer that grows by doubling. */
class ByteSink {
  private buffer = new Uint8Array(64 * 1024);
  private view = new DataView(this.buffer.buffer);
  private readonly encoder = new TextEncoder();
  length = 0;

  private reserve(bytes: number): number {
    const start = this.length;
    const end = start + bytes;
    if (end > this.buffer.length) {
      const larger = new Uint8Array(Math.max(end, this.buffer.length * 2));
      larger.set(this.buffer);
      this.buffer = larger;
      this.view = new DataView(larger.buffer);
    }
    this.length = end;
    return start;
  }

  uint32(value: number): void { const at = this.reserve(4); this.view.setUint32(at, value, true); }
  uint64(value: number): void { const at = this.reserve(8); this.view.setBigUint64(at, BigInt(value), true); }
  raw(bytes: Uint8Array): void { const at = this.reserve(bytes.length); this.buffer.set(bytes, at); }

  text(value: string): void {
    const bytes = this.encoder.encode(value);
    this.uint64(bytes.length);
    this.raw(bytes);
  }

  value(value: GgufValue): void {
    if (value.type === 'array') {
      this.uint32(ARRAY_TYPE);
      this.uint32(scalarTypeNumber(value.elementType));
      this.uint64(value.length);
      this.raw(value.bytes);
      return;
    }
    this.uint32(scalarTypeNumber(value.type));
    this.scalar(value);
  }

  private scalar(value: Exclude<GgufValue, { type: 'array' }>): void {
    switch (value.type) {
      case 'string': this.text(value.value); return;
      case 'bool': this.raw(Uint8Array.of(value.value ? 1 : 0)); return;
      case 'uint8': case 'int8': this.raw(Uint8Array.of(value.value)); return;
      case 'uint16': case 'int16': { const at = this.reserve(2); this.view.setUint16(at, value.value & 0xffff, true); return; }
      case 'uint32': this.uint32(value.value); return;
      case 'int32': { const at = this.reserve(4); this.view.setInt32(at, value.value, true); return; }
      case 'float32': { const at = this.reserve(4); this.view.setFloat32(at, value.value, true); return; }
      case 'float64': { const at = this.reserve(8); this.view.setFloat64(at, value.value, true); return; }
      case 'uint64': { const at = this.reserve(8); this.view.setBigUint64(at, value.value, true); return; }
      case 'int64': { const at = this.reserve(8); this.view.setBigInt64(at, value.value, true); return; }
    }
  }

  /** Zeroes up to a multiple of `alignment`. */
  align(alignment: number): void {
    this.reserve(alignUp(this.length, alignment) - this.length);
  }

  take(): Uint8Array { return this.buffer.slice(0, this.length); }
}

/** Lays tensors out in the order given. `alignment` must be what `general.alignment` says (32 when absent). */
export function encodeGgufHeader(
  metadata: ReadonlyMap<string, GgufValue>, tensors: readonly TensorSpec[], alignment: number,
): EncodedHeader {
  const sink = new ByteSink();
  sink.uint32(MAGIC);
  sink.uint32(VERSION);
  sink.uint64(tensors.length);
  sink.uint64(metadata.size);
  for (const [key, value] of metadata) {
    sink.text(key);
    sink.value(value);
  }
  let relative = 0;
  const placed = tensors.map((tensor) => {
    const type = ggmlType(tensor.ggmlType);
    const sizeBytes = type === null ? null : tensorBytes(type, tensor.dims);
    assert(sizeBytes !== null, `tensor ${tensor.name} has a shape that its type can hold`);
    sink.text(tensor.name);
    sink.uint32(tensor.dims.length);
    for (const dim of tensor.dims) sink.uint64(dim);
    sink.uint32(tensor.ggmlType);
    sink.uint64(relative);
    const at = relative;
    relative += alignUp(sizeBytes, alignment);
    return { ...tensor, offset: at, sizeBytes };
  });
  sink.align(alignment);
  const bytes = sink.take();
  return {
    bytes,
    tensors: placed.map((tensor) => ({ ...tensor, offset: tensor.offset + bytes.length })),
    fileBytes: bytes.length + relative,
  };
}

export interface GeneratedTensor extends TensorSpec {
  /** The tensor's bytes in pieces; together exactly its size. */
  readonly data: () => Iterable<Uint8Array>;
}

/** Writes a whole file, streaming one piece at a time; for generated models. */
export async function writeGgufFile(
  path: string, metadata: ReadonlyMap<string, GgufValue>, tensors: readonly GeneratedTensor[], alignment = 32,
): Promise<void> {
  const header = encodeGgufHeader(metadata, tensors, alignment);
  let handle: FileHandle;
  try {
    handle = await open(path, 'w');
  } catch (error) {
    throw fileError(error, path, 'write', header.fileBytes);
  }
  try {
    await handle.truncate(header.fileBytes);
    await handle.write(header.bytes, 0, header.bytes.length, 0);
    for (const [index, tensor] of tensors.entries()) {
      const place = header.tensors[index];
      assert(place !== undefined, 'every tensor has a place');
      let position = place.offset;
      for (const piece of tensor.data()) {
        await handle.write(piece, 0, piece.length, position);
        position += piece.length;
      }
      assert(position === place.offset + place.sizeBytes, `tensor ${tensor.name} gave exactly its bytes`);
    }
  } catch (error) {
    throw fileError(error, path, 'write', header.fileBytes);
  } finally {
    await handle.close();
  }
}
