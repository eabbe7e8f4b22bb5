/**
 * Length-prefixed frames over a byte stream: `u32 big-endian length`, then that many bytes.
 *
 * Used on every libp2p stream and on the pipe to a runner, so that a message is a message whatever the transport cuts
 * it into. The length is checked before anything is allocated, memory follows what really arrived, and bytes are copied
 * at most a constant number of times. It must not know what a frame means.
 */
import { assert, RingError } from '../core/errors.js';

const FRAME_HEADER_BYTES = 4;

/**
 * First allocation for a frame that comes in pieces; beyond it, memory grows with what arrives. The allocation is not
 * zeroed, so that a lying length costs address space, not memory.
 */
export const FIRST_PIECE_BYTES = 4 * 1024 * 1024;
const GROWTH = 4;

/**
 * The pieces to write, in order: the header, then `payloads` untouched. The frame is the payloads' concatenation.
 * Empty frames do not exist.
 */
export function encodeFrame(payloads: readonly Uint8Array[]): Uint8Array[] {
  let length = 0;
  for (const payload of payloads) length += payload.byteLength;
  assert(length > 0 && length <= 0xffff_ffff, `a frame has 1 to 2^32-1 bytes, not ${length}`);
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  new DataView(header.buffer).setUint32(0, length);
  return [header, ...payloads];
}

/** Cuts a byte stream back into frames. After an error it stays broken: the stream has lost its place. */
export class FrameDecoder {
  private readonly header = new Uint8Array(FRAME_HEADER_BYTES);
  private headerBytes = 0;
  /** Length of the frame being read; -1 between frames. */
  private length = -1;
  private body: Uint8Array = new Uint8Array(0);
  private bodyBytes = 0;
  private failure: RingError | null = null;

  /**
   * `keepsBytes`: a frame that came in pieces uses the room of the one before, up to this size, so that nothing is left
   * for a garbage collector; such frames are to be taken with `each`. 0 = every frame is its taker's own.
   */
  constructor(private readonly maxFrameBytes: number, private readonly keepsBytes = 0) {}

  /** True in the middle of a frame: an end of the stream here is a cut. */
  get midFrame(): boolean {
    return this.headerBytes > 0 || this.length >= 0;
  }

  /**
   * Frames that `chunk` completes; they may be views of `chunk`, which must not be written to afterwards.
   * Throws `frame_too_large` or `bad_frame`.
   */
  push(chunk: Uint8Array): Uint8Array[] {
    return [...this.each(chunk)];
  }

  /** The same one by one: each is done with before the next is taken. */
  *each(chunk: Uint8Array): Generator<Uint8Array, void, undefined> {
    if (this.failure !== null) throw this.failure;
    let offset = 0;
    while (offset < chunk.byteLength) {
      if (this.length < 0) {
        offset = this.readHeader(chunk, offset);
        if (this.length < 0) break;
      }
      const left = this.length - this.bodyBytes;
      const here = Math.min(left, chunk.byteLength - offset);
      if (here === this.length) {
        this.length = -1;
        yield chunk.subarray(offset, offset + here);
      } else if (here > 0) {
        this.append(chunk.subarray(offset, offset + here));
        if (here === left) yield this.takeBody();
      }
      offset += here;
    }
  }

  private readHeader(chunk: Uint8Array, offset: number): number {
    let at = offset;
    while (this.headerBytes < FRAME_HEADER_BYTES && at < chunk.byteLength) {
      this.header[this.headerBytes++] = chunk[at++] ?? 0;
    }
    if (this.headerBytes < FRAME_HEADER_BYTES) return at;
    const length = new DataView(this.header.buffer).getUint32(0);
    if (length === 0) throw this.fail(new RingError('bad_frame', 'a frame of no bytes arrived; the sender is broken'));
    if (length > this.maxFrameBytes) {
      throw this.fail(new RingError('frame_too_large',
        `a frame of ${length} bytes was announced; at most ${this.maxFrameBytes} are allowed here`,
        { bytes: length, limit: this.maxFrameBytes }));
    }
    this.headerBytes = 0;
    this.length = length;
    this.bodyBytes = 0;
    return at;
  }

  private append(piece: Uint8Array): void {
    const needed = this.bodyBytes + piece.byteLength;
    if (needed > this.body.byteLength) {
      const capacity = Math.min(this.length, Math.max(FIRST_PIECE_BYTES, needed, GROWTH * this.bodyBytes));
      // Unpooled and not zeroed: every byte below `bodyBytes` is written before anyone reads it.
      const grown = new Uint8Array(Buffer.allocUnsafeSlow(capacity).buffer, 0, capacity);
      grown.set(this.body.subarray(0, this.bodyBytes));
      this.body = grown;
    }
    this.body.set(piece, this.bodyBytes);
    this.bodyBytes = needed;
  }

  private takeBody(): Uint8Array {
    const frame = this.body.subarray(0, this.length);
    if (this.body.byteLength > this.keepsBytes) this.body = new Uint8Array(0);
    this.bodyBytes = 0;
    this.length = -1;
    return frame;
  }

  private fail(error: RingError): RingError {
    this.failure = error;
    return error;
  }
}
