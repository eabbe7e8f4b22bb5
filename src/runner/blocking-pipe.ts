/**
 * The runner's end of the pipe, without an event loop: a runner does one thing at a time, so it waits in `read` itself.
 * Each step is spared two waits of the loop, 64 KB of memory and the machinery of a stream.
 *
 * It must not know what the bytes mean.
 */
import { readSync, writevSync } from 'node:fs';

/** Taken from the pipe at once. */
const CHUNK_BYTES = 256 * 1024;
/** How a pipe ends on Windows, and when its other side was killed. */
const ENDS: ReadonlySet<unknown> = new Set(['EOF', 'ECONNRESET', 'EPIPE']);

export class BlockingPipe {
  private readonly chunk = new Uint8Array(new ArrayBuffer(CHUNK_BYTES));

  /** `descriptor` blocks, as the parent made it. */
  constructor(private readonly descriptor: number) {}

  /** Waits for bytes; null at the pipe's end. They are valid until the next call. */
  read(): Uint8Array | null {
    const bytes = this.orEnd(() => readSync(this.descriptor, this.chunk, 0, CHUNK_BYTES, null));
    return bytes === null || bytes === 0 ? null : this.chunk.subarray(0, bytes);
  }

  /** Returns when the system has taken all of it; false when the other side is gone. */
  write(pieces: readonly Uint8Array[]): boolean {
    for (let rest = pieces; rest.length > 0;) {
      const bytes = this.orEnd(() => writevSync(this.descriptor, rest));
      if (bytes === null) return false;
      rest = behind(rest, bytes);
    }
    return true;
  }

  private orEnd(act: () => number): number | null {
    try {
      return act();
    } catch (error) {
      if (error instanceof Error && 'code' in error && ENDS.has(error.code)) return null;
      throw error;
    }
  }
}

/** What is left when the first `bytes` are gone. */
function behind(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let gone = bytes;
  return pieces.flatMap((piece) => {
    const here = Math.min(gone, piece.byteLength);
    gone -= here;
    return here === piece.byteLength ? [] : [piece.subarray(here)];
  });
}
