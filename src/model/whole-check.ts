/**
 * A model that one stage holds whole, compared with the SHA-256 that the hub says of its files: header, tensors and the
 * padding between them, put together as the file has them. It must not know stages or the network.
 */
import { createHash } from 'node:crypto';
import { RingError } from '../core/errors.js';
import type { GgufHeader } from './gguf-reader.js';
import type { TensorPlace } from './tensor-source.js';
import { readPlace } from './tensor-source.js';

/** `fileDigests` in shard order; null = nobody says it. Throws `digest_mismatch`; passes where the files cannot be put together. */
export async function expectWhole(header: GgufHeader, places: ReadonlyMap<string, TensorPlace>, fileDigests: readonly (string | null)[]): Promise<void> {
  for (const index of header.files.keys()) {
    const expected = fileDigests[index] ?? null;
    const actual = expected === null ? null : await fileDigest(header, index, places);
    if (actual === null || actual === expected) continue;
    throw new RingError('digest_mismatch', `the model arrived damaged: the SHA-256 of its file ${index + 1} is ${actual}, the hub says ${expected ?? ''}. It was thrown away: try again. If that does not help, "agent models pull" takes the file as it is`, { actual, expected });
  }
}

/** Null when the file has more than padding between its tensors. */
async function fileDigest(header: GgufHeader, index: number, places: ReadonlyMap<string, TensorPlace>): Promise<string | null> {
  const file = header.files[index];
  if (file === undefined) return null;
  const tensors = header.tensors.filter(({ fileIndex }) => fileIndex === index).sort((a, b) => a.offset - b.offset);
  const hash = createHash('sha256').update(file.header);
  let at = file.header.length;
  const padTo = (offset: number): boolean => {
    if (offset < at || offset - at >= header.alignment) return false;
    hash.update(new Uint8Array(offset - at));
    return true;
  };
  for (const { name, offset, sizeBytes } of tensors) {
    const place = places.get(name);
    if (place === undefined || !padTo(offset)) return null;
    for await (const chunk of readPlace(place, 0)) hash.update(chunk);
    at = offset + sizeBytes;
  }
  return padTo(file.sizeBytes) ? hash.digest('hex') : null;
}
