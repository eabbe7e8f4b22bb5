/**
 * Parses the header of one GGUF file (version 2 or 3) out of bytes that nobody vouches for.
 *
 * A lying count, length, offset or type ends in `RingError('bad_gguf')`: every loop and allocation is bounded by the
 * file's real size and by the constants below. It must not know where the bytes come from.
 */
import { RingError } from '../core/errors.js';
import { ggmlType, tensorBytes } from './ggml-types.js';
import type { GgufScalarType, GgufValue } from './gguf-values.js';
import { ARRAY_TYPE, SCALAR_TYPES, scalarBytes } from './gguf-values.js';

/** A header larger than this is refused; a vocabulary of 256,000 tokens takes about 15 MiB. */
export const MAX_HEADER_BYTES = 256 * 1024 * 1024;
const MAX_METADATA_ENTRIES = 65_536;
export const MAX_TENSORS = 65_536;
const MAX_KEY_BYTES = 65_535;
const MAX_STRING_BYTES = 16 * 1024 * 1024;
const MAX_ARRAY_ELEMENTS = 16 * 1024 * 1024;
/** ggml's own limit is 64 bytes with the closing zero. */
const MAX_TENSOR_NAME_BYTES = 63;
export const MAX_DIMENSIONS = 4;
const MAX_ALIGNMENT = 1024 * 1024;
const DEFAULT_ALIGNMENT = 32;
const MAGIC = 0x46554747;
/** Smallest encodings: what a count may at most be in a file of a given size. */
const MIN_METADATA_BYTES = 13;
const MIN_TENSOR_BYTES = 32;
const MIN_STRING_BYTES = 8;

export interface ParsedTensor {
  readonly name: string;
  /** Innermost first, as in the file. */
  readonly dims: readonly number[];
  readonly ggmlType: number;
  /** From the start of the file. */
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface ParsedFile {
  readonly version: number;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly ParsedTensor[];
  /** Bytes from the start to the end of the tensor table, without the padding that follows. */
  readonly headerBytes: number;
  readonly alignment: number;
}

/** The bytes given end inside the header, but the file goes on: give at least `bytes`. */
export interface NeedMore {
  readonly needBytes: number;
}

class Shortage extends Error {
  constructor(readonly needBytes: number) {
    super('more bytes needed');
  }
}

/**
 * @param bytes The file's beginning, or all of its header.
 * @param fileBytes The file's real size, which bounds everything.
 * @param where How to name the file in errors.
 */
export function parseGgufFile(bytes: Uint8Array, fileBytes: number, where: string): ParsedFile | NeedMore {
  try {
    return new HeaderParser(bytes, fileBytes, where).parse();
  } catch (error) {
    if (error instanceof Shortage) return { needBytes: error.needBytes };
    throw error;
  }
}

/** What is wrong, where, and what to do. */
export function badGguf(where: string, what: string): RingError {
  return new RingError('bad_gguf', `${where}: ${what}. The file is damaged or not a model: fetch it again or choose another.`, { where });
}

export function alignUp(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}

class HeaderParser {
  private readonly view: DataView;
  private readonly decoder = new TextDecoder();
  private position = 0;

  constructor(private readonly bytes: Uint8Array, private readonly fileBytes: number, private readonly where: string) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  parse(): ParsedFile {
    const version = this.readVersion();
    const tensorCount = this.readCount('tensor count', MAX_TENSORS, MIN_TENSOR_BYTES);
    const metadataCount = this.readCount('metadata count', MAX_METADATA_ENTRIES, MIN_METADATA_BYTES);
    const metadata = this.readMetadata(metadataCount);
    const alignment = this.readAlignment(metadata);
    const infos = Array.from({ length: tensorCount }, () => this.readTensorInfo(alignment));
    const headerBytes = this.position;
    const dataOffset = alignUp(headerBytes, alignment);
    const tensors = infos.map((info) => ({ ...info, offset: dataOffset + info.offset }));
    this.checkPlaces(tensors);
    return { version, metadata, tensors, headerBytes, alignment };
  }

  private fail(what: string): RingError {
    return badGguf(this.where, `${what} (at byte ${this.position})`);
  }

  /** Moves on by `length` bytes and returns where they begin. */
  private take(length: number, what: string): number {
    const start = this.position;
    const end = start + length;
    if (end > this.fileBytes) {
      throw this.fail(`the file ends inside ${what}: ${length} bytes are announced, ${this.fileBytes - start} are left`);
    }
    if (end > MAX_HEADER_BYTES) throw this.fail(`the header is larger than ${MAX_HEADER_BYTES} bytes`);
    if (end > this.bytes.length) throw new Shortage(end);
    this.position = end;
    return start;
  }

  private readUint32(what: string): number {
    return this.view.getUint32(this.take(4, what), true);
  }

  /** A u64 that must be an exact integer in JavaScript. */
  private readUint64(what: string): number {
    const start = this.take(8, what);
    const high = this.view.getUint32(start + 4, true);
    if (high >= 0x20_0000) {
      throw this.fail(`${what} is ${this.view.getBigUint64(start, true)}, which no file can hold`);
    }
    return high * 0x1_0000_0000 + this.view.getUint32(start, true);
  }

  private readCount(what: string, limit: number, minBytesEach: number): number {
    const count = this.readUint64(what);
    if (count > limit) throw this.fail(`${what} is ${count}, more than the ${limit} that are supported`);
    if (count * minBytesEach > this.fileBytes) throw this.fail(`${what} is ${count}, more than a file of ${this.fileBytes} bytes can hold`);
    return count;
  }

  private readText(what: string, limit: number): string {
    const length = this.readUint64(`the length of ${what}`);
    if (length > limit) throw this.fail(`${what} is ${length} bytes long, more than the ${limit} that are supported`);
    const start = this.take(length, what);
    return this.decoder.decode(this.bytes.subarray(start, start + length));
  }

  private readVersion(): number {
    const magic = this.readUint32('the magic number');
    if (magic !== MAGIC) throw this.fail('it does not begin with "GGUF"');
    const version = this.readUint32('the version');
    if (version === 2 || version === 3) return version;
    if (version === 0x0200_0000 || version === 0x0300_0000) throw this.fail('it is a big-endian GGUF, which is not supported');
    throw this.fail(`GGUF version ${version} is not supported (2 and 3 are)`);
  }

  private readMetadata(count: number): Map<string, GgufValue> {
    const metadata = new Map<string, GgufValue>();
    for (let index = 0; index < count; index++) {
      const key = this.readText(`key ${index} of the metadata`, MAX_KEY_BYTES);
      if (metadata.has(key)) throw this.fail(`the metadata key ${JSON.stringify(key)} appears twice`);
      metadata.set(key, this.readValue(key));
    }
    return metadata;
  }

  private readValue(key: string): GgufValue {
    const what = `the value of ${JSON.stringify(key)}`;
    const typeNumber = this.readUint32(what);
    if (typeNumber === ARRAY_TYPE) return this.readArray(what);
    const type = SCALAR_TYPES[typeNumber];
    if (type === undefined) throw this.fail(`${what} has the unknown type ${typeNumber}`);
    return this.readScalarValue(type, what);
  }

  private readScalarValue(type: GgufScalarType, what: string): GgufValue {
    if (type === 'string') return { type, value: this.readText(what, MAX_STRING_BYTES) };
    const start = this.take(scalarBytes(type), what);
    switch (type) {
      case 'uint8': return { type, value: this.view.getUint8(start) };
      case 'int8': return { type, value: this.view.getInt8(start) };
      case 'uint16': return { type, value: this.view.getUint16(start, true) };
      case 'int16': return { type, value: this.view.getInt16(start, true) };
      case 'uint32': return { type, value: this.view.getUint32(start, true) };
      case 'int32': return { type, value: this.view.getInt32(start, true) };
      case 'float32': return { type, value: this.view.getFloat32(start, true) };
      case 'float64': return { type, value: this.view.getFloat64(start, true) };
      case 'uint64': return { type, value: this.view.getBigUint64(start, true) };
      case 'int64': return { type, value: this.view.getBigInt64(start, true) };
      case 'bool': return { type, value: this.view.getUint8(start) !== 0 };
    }
  }

  private readArray(what: string): GgufValue {
    const typeNumber = this.readUint32(what);
    if (typeNumber === ARRAY_TYPE) throw this.fail(`${what} is an array of arrays, which is not supported`);
    const elementType = SCALAR_TYPES[typeNumber];
    if (elementType === undefined) throw this.fail(`${what} is an array of the unknown type ${typeNumber}`);
    const size = scalarBytes(elementType);
    const length = this.readCount(`the length of ${what}`, MAX_ARRAY_ELEMENTS, size === 0 ? MIN_STRING_BYTES : size);
    const start = this.position;
    if (size > 0) {
      this.take(length * size, what);
    } else {
      for (let index = 0; index < length; index++) {
        const bytes = this.readUint64(`the length of a string in ${what}`);
        if (bytes > MAX_STRING_BYTES) throw this.fail(`a string in ${what} is ${bytes} bytes long`);
        this.take(bytes, what);
      }
    }
    return { type: 'array', elementType, length, bytes: this.bytes.subarray(start, this.position) };
  }

  private readAlignment(metadata: ReadonlyMap<string, GgufValue>): number {
    const found = metadata.get('general.alignment');
    if (found === undefined) return DEFAULT_ALIGNMENT;
    if (found.type !== 'uint32') throw this.fail('general.alignment is not a uint32');
    const alignment = found.value;
    if (alignment === 0 || alignment > MAX_ALIGNMENT || (alignment & (alignment - 1)) !== 0) {
      throw this.fail(`general.alignment is ${alignment}, not a power of two up to ${MAX_ALIGNMENT}`);
    }
    return alignment;
  }

  /** `offset` is still relative to the data section. */
  private readTensorInfo(alignment: number): ParsedTensor {
    const name = this.readText('a tensor name', MAX_TENSOR_NAME_BYTES);
    const what = `tensor ${JSON.stringify(name)}`;
    const dimensions = this.readUint32(what);
    if (dimensions < 1 || dimensions > MAX_DIMENSIONS) throw this.fail(`${what} has ${dimensions} dimensions`);
    const dims = Array.from({ length: dimensions }, () => this.readUint64(`a dimension of ${what}`));
    if (dims.includes(0)) throw this.fail(`${what} has an empty dimension`);
    const typeNumber = this.readUint32(what);
    const type = ggmlType(typeNumber);
    if (type === null) throw this.fail(`${what} has the type ${typeNumber}, which the engine does not know`);
    const sizeBytes = tensorBytes(type, dims);
    if (sizeBytes === null) throw this.fail(`${what} has impossible dimensions [${dims.join(', ')}] for type ${type.name}`);
    const offset = this.readUint64(`the offset of ${what}`);
    if (offset % alignment !== 0) throw this.fail(`${what} begins at offset ${offset}, which is not aligned to ${alignment}`);
    return { name, dims, ggmlType: typeNumber, offset, sizeBytes };
  }

  private checkPlaces(tensors: readonly ParsedTensor[]): void {
    const names = new Set<string>();
    for (const tensor of tensors) {
      if (names.has(tensor.name)) throw this.fail(`tensor ${JSON.stringify(tensor.name)} appears twice`);
      names.add(tensor.name);
      const end = tensor.offset + tensor.sizeBytes;
      if (end > this.fileBytes) {
        throw this.fail(`tensor ${JSON.stringify(tensor.name)} ends at byte ${end}, but the file has ${this.fileBytes}`);
      }
    }
    const ordered = [...tensors].sort((a, b) => a.offset - b.offset);
    ordered.forEach((tensor, index) => {
      const before = ordered[index - 1];
      if (before !== undefined && before.offset + before.sizeBytes > tensor.offset) {
        throw this.fail(`tensors ${JSON.stringify(before.name)} and ${JSON.stringify(tensor.name)} overlap`);
      }
    });
  }
}
