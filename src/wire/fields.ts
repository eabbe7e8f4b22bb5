/**
 * Reads the fields of a decoded protobuf message as bytes from a stranger: absent, oversized, of no sense.
 *
 * Every codec goes through here, so that what leaves wire/ has the shape that core/types.ts promises. Throws
 * `bad_frame`, naming the field. It must not know any message.
 */
import { RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';
import type { Backend, DeviceKind } from '../core/types.js';

/** What protobufjs makes of a uint64, whatever its types say. */
interface LongLike {
  toNumber(): number;
}

type Numeric = number | LongLike | null | undefined;

export const MAX_NAME_CHARACTERS = 256;
export const MAX_TEXT_CHARACTERS = 16_384;
const SHA256_BYTES = 32;

export function badField(field: string, why: string): RingError {
  return new RingError('bad_frame', `the peer sent a message that makes no sense: ${field} ${why}`, { field });
}

/** A whole number in `[0, max]`; absent is 0. */
export function readUnsigned(value: Numeric, field: string, max = Number.MAX_SAFE_INTEGER): number {
  const number = typeof value === 'object' && value !== null ? value.toNumber() : (value ?? 0);
  if (!Number.isSafeInteger(number) || number < 0 || number > max) throw badField(field, `is not a whole number up to ${max}`);
  return number;
}

export function readOptionalUnsigned(value: Numeric, field: string): number | null {
  return value === null || value === undefined ? null : readUnsigned(value, field);
}

export function readFinite(value: number | null | undefined, field: string): number {
  const number = value ?? 0;
  if (!Number.isFinite(number)) throw badField(field, 'is not a number');
  return number;
}

export function readOptionalPositive(value: number | null | undefined, field: string): number | null {
  if (value === null || value === undefined) return null;
  const number = readFinite(value, field);
  if (number < 0) throw badField(field, 'is negative');
  return number;
}

/** A string of at most `max` UTF-16 units; absent is empty. */
export function readText(value: string | null | undefined, field: string, max = MAX_NAME_CHARACTERS): string {
  const text = value ?? '';
  if (text.length > max) throw badField(field, `is longer than ${max} characters`);
  return text;
}

/** Cuts a text for people to what the other side accepts, so that a long reason never costs the connection. */
export function fitText(text: string, max = MAX_TEXT_CHARACTERS): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

/** Like `readText`, and not empty. */
export function readName(value: string | null | undefined, field: string, max = MAX_NAME_CHARACTERS): string {
  const text = readText(value, field, max);
  if (text === '') throw badField(field, 'is empty');
  return text;
}

export function readList<T, U>(values: readonly T[] | null | undefined, field: string, max: number, read: (value: T) => U): U[] {
  const list = values ?? [];
  if (list.length > max) throw badField(field, `has ${list.length} entries; at most ${max} are allowed`);
  return list.map(read);
}

export function readRequired<T>(value: T | null | undefined, field: string): T {
  if (value === null || value === undefined) throw badField(field, 'is missing');
  return value;
}

/** A string that is one of `known`. */
export function readOneOf<T extends string>(value: string | null | undefined, field: string, known: readonly T[]): T {
  for (const candidate of known) if (candidate === value) return candidate;
  throw badField(field, `is "${fitText(value ?? '', 64)}"; known are ${known.join(', ')}`);
}

/** A SHA-256 as lower-case hex. */
export function readDigest(value: Uint8Array | null | undefined, field: string): string {
  if (value === null || value === undefined || value.byteLength !== SHA256_BYTES) throw badField(field, 'is not a SHA-256');
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
}

export function digestBytes(hex: string): Uint8Array {
  const bytes = Buffer.from(hex, 'hex');
  if (bytes.byteLength !== SHA256_BYTES) throw badField('digest', `"${fitText(hex, 80)}" is not a SHA-256`);
  return bytes;
}

/** Runs a protobuf decoder on bytes of unknown origin. */
export function decodeBytes<T>(decoder: { decode(bytes: Uint8Array): T }, bytes: Uint8Array, what: string): T {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new RingError('bad_frame', `the peer sent ${what} that cannot be read`, { bytes: bytes.byteLength }, { cause: error });
  }
}

export const BACKENDS: readonly Backend[] = ['metal', 'cuda', 'vulkan', 'cpu'];
export const DEVICE_KINDS: readonly DeviceKind[] = [...BACKENDS, 'mlx', 'ane', 'rocm', 'gpu'];

/** Every code, checked by the compiler: a code that is not here does not compile. */
const ERROR_CODES: Readonly<Record<ErrorCode, true>> = {
  bad_gguf: true, bad_checkpoint: true, unsupported_architecture: true, unsplittable_model: true, unknown_model: true, no_placement: true, conflict: true,
  bad_config: true, bad_frame: true, frame_too_large: true, wrong_plan: true, stale_term: true, wrong_cluster: true,
  version_mismatch: true, peer_unreachable: true, peer_lost: true, timeout: true, cancelled: true, queue_full: true,
  context_too_long: true, bad_request: true, unauthorized: true, engine_missing: true, engine_mismatch: true,
  engine_failed: true, backend_missing: true, out_of_memory: true, disk_full: true, permission_denied: true,
  port_in_use: true, state_locked: true, digest_mismatch: true, source_refused: true, source_missing: true, source_failed: true, licence_required: true, runner_died: true, not_ready: true, io_failed: true,
  internal: true,
};

function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(ERROR_CODES, value);
}

/** A code that a newer peer invented is `internal` to us; its message still says what happened. */
export function readErrorCode(value: string | null | undefined): ErrorCode {
  return value !== null && value !== undefined && isErrorCode(value) ? value : 'internal';
}
