/**
 * The values of a GGUF's metadata, and the accessors that the rest of model/ uses on them.
 *
 * Arrays stay the bytes they are in the file: a vocabulary of 256,000 strings is decoded only by who needs it, and a
 * writer copies it unread. It must not know files.
 */

export type GgufScalarType =
  | 'uint8' | 'int8' | 'uint16' | 'int16' | 'uint32' | 'int32' | 'float32' | 'bool' | 'string'
  | 'uint64' | 'int64' | 'float64';

export type GgufValue =
  | { readonly type: Exclude<GgufScalarType, 'bool' | 'string' | 'uint64' | 'int64'>; readonly value: number }
  | { readonly type: 'uint64' | 'int64'; readonly value: bigint }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | GgufArray;

/** `bytes` are the elements as encoded in the file, without the array's own type and count. */
export interface GgufArray {
  readonly type: 'array';
  readonly elementType: GgufScalarType;
  readonly length: number;
  readonly bytes: Uint8Array;
}

export type GgufMetadata = ReadonlyMap<string, GgufValue>;

/** Type numbers of the format. 9 is `array`. */
export const SCALAR_TYPES: readonly GgufScalarType[] = [
  'uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'bool', 'string', 'string', 'uint64', 'int64', 'float64',
];
export const ARRAY_TYPE = 9;

export function scalarTypeNumber(type: GgufScalarType): number {
  return SCALAR_TYPES.indexOf(type);
}

/** Bytes of one element; 0 for strings, which vary. */
export function scalarBytes(type: GgufScalarType): number {
  switch (type) {
    case 'uint8': case 'int8': case 'bool': return 1;
    case 'uint16': case 'int16': return 2;
    case 'uint32': case 'int32': case 'float32': return 4;
    case 'uint64': case 'int64': case 'float64': return 8;
    case 'string': return 0;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A number at `offset` (64-bit ones rounded to the nearest double). */
function readScalar(view: DataView, type: GgufScalarType, offset: number): number {
  switch (type) {
    case 'uint8': case 'bool': return view.getUint8(offset);
    case 'int8': return view.getInt8(offset);
    case 'uint16': return view.getUint16(offset, true);
    case 'int16': return view.getInt16(offset, true);
    case 'uint32': return view.getUint32(offset, true);
    case 'int32': return view.getInt32(offset, true);
    case 'float32': return view.getFloat32(offset, true);
    case 'uint64': return Number(view.getBigUint64(offset, true));
    case 'int64': return Number(view.getBigInt64(offset, true));
    case 'float64': return view.getFloat64(offset, true);
    case 'string': return Number.NaN;
  }
}

/** Elements of a numeric or bool array; empty for strings. */
export function arrayNumbers(array: GgufArray): number[] {
  const size = scalarBytes(array.elementType);
  if (size === 0) return [];
  const view = viewOf(array.bytes);
  return Array.from({ length: array.length }, (_, index) => readScalar(view, array.elementType, index * size));
}

/** Elements of a string array; empty for anything else. */
export function arrayStrings(array: GgufArray): string[] {
  if (array.elementType !== 'string') return [];
  const view = viewOf(array.bytes);
  const decoder = new TextDecoder();
  const strings: string[] = [];
  let offset = 0;
  for (let index = 0; index < array.length; index++) {
    const length = Number(view.getBigUint64(offset, true));
    strings.push(decoder.decode(array.bytes.subarray(offset + 8, offset + 8 + length)));
    offset += 8 + length;
  }
  return strings;
}

/** Elements `[start, end)` of a fixed-width array. */
export function sliceArray(array: GgufArray, start: number, end: number): GgufArray {
  const size = scalarBytes(array.elementType);
  return { ...array, length: end - start, bytes: array.bytes.subarray(start * size, end * size) };
}

export function numberArray(elementType: Exclude<GgufScalarType, 'string' | 'bool' | 'uint64' | 'int64'>, values: readonly number[]): GgufArray {
  const size = scalarBytes(elementType);
  const bytes = new Uint8Array(values.length * size);
  const view = viewOf(bytes);
  values.forEach((value, index) => {
    const offset = index * size;
    switch (elementType) {
      case 'uint8': view.setUint8(offset, value); break;
      case 'int8': view.setInt8(offset, value); break;
      case 'uint16': view.setUint16(offset, value, true); break;
      case 'int16': view.setInt16(offset, value, true); break;
      case 'uint32': view.setUint32(offset, value, true); break;
      case 'int32': view.setInt32(offset, value, true); break;
      case 'float32': view.setFloat32(offset, value, true); break;
      case 'float64': view.setFloat64(offset, value, true); break;
    }
  });
  return { type: 'array', elementType, length: values.length, bytes };
}

export function stringArray(values: readonly string[]): GgufArray {
  const encoder = new TextEncoder();
  const encoded = values.map((value) => encoder.encode(value));
  const bytes = new Uint8Array(encoded.reduce((total, text) => total + 8 + text.length, 0));
  const view = viewOf(bytes);
  let offset = 0;
  for (const text of encoded) {
    view.setBigUint64(offset, BigInt(text.length), true);
    bytes.set(text, offset + 8);
    offset += 8 + text.length;
  }
  return { type: 'array', elementType: 'string', length: values.length, bytes };
}

export function uint32(value: number): GgufValue { return { type: 'uint32', value }; }
export function float32(value: number): GgufValue { return { type: 'float32', value }; }
export function text(value: string): GgufValue { return { type: 'string', value }; }
export function bool(value: boolean): GgufValue { return { type: 'bool', value }; }

/** A number whatever width it is stored in; null when absent or not a number. */
export function metadataNumber(metadata: GgufMetadata, key: string): number | null {
  const found = metadata.get(key);
  if (found === undefined || found.type === 'array' || found.type === 'string') return null;
  return Number(found.value);
}

export function metadataText(metadata: GgufMetadata, key: string): string | null {
  const found = metadata.get(key);
  return found?.type === 'string' ? found.value : null;
}

export function metadataArray(metadata: GgufMetadata, key: string): GgufArray | null {
  const found = metadata.get(key);
  return found?.type === 'array' ? found : null;
}

/** A per-layer value stored as one number or as an array of `layers`; null when absent or of another length. */
export function metadataPerLayer(metadata: GgufMetadata, key: string, layers: number): number[] | null {
  const array = metadataArray(metadata, key);
  if (array !== null) return array.length >= layers && array.elementType !== 'string' ? arrayNumbers(array).slice(0, layers) : null;
  const single = metadataNumber(metadata, key);
  return single === null ? null : Array.from({ length: layers }, () => single);
}
