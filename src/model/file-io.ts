/**
 * Whole reads and writes on file handles: the operating system may do less than asked. Nothing else.
 */
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';

/** Bytes per read or write; small enough that hashing one never stalls the event loop (about 2 ms). */
export const CHUNK_BYTES = 1024 * 1024;

/** Reads until `bytes` is full or the file ends; returns the bytes read. */
export async function readFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

export async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Chunks of `[offset, offset + length)`; ends early when the file does. Each chunk is a buffer of its own. */
export async function* readChunks(handle: FileHandle, offset: number, length: number): AsyncGenerator<Uint8Array> {
  let done = 0;
  while (done < length) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, length - done));
    const bytes = await readFully(handle, chunk, offset + done);
    if (bytes > 0) yield chunk.subarray(0, bytes);
    if (bytes < chunk.length) return;
    done += bytes;
  }
}

/** Makes a rename durable. Platforms that cannot sync a directory are left alone. */
export async function syncDirectory(directory: string): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await open(directory, 'r');
  } catch {
    // Windows cannot open a directory; its renames are durable without it.
    return;
  }
  try {
    await handle.sync();
  } catch {
    // Some file systems refuse to sync a directory; the rename is then as durable as they make it.
  } finally {
    await handle.close();
  }
}
