/**
 * A model that one stage holds whole, compared with the SHA-256 that the hub says of its files: header, tensors and the
 * padding between them, put together as the file has them. It must not know stages or the network.
 */
import { createHash } from 'node:crypto';
import { assert, RingError } from '../core/errors.js';
import type { GgufHeader } from './gguf-reader.js';
import type { TensorPlace } from './tensor-source.js';
import { readPlace } from './tensor-source.js';
import { filePieces, readPieces } from './whole-file.js';

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
  const pieces = filePieces(header, index);
  if (pieces === null || pieces.some((piece) => piece.kind === 'tensor' && !places.has(piece.name))) return null;
  const hash = createHash('sha256');
  const read = (name: string, offset: number): AsyncIterable<Uint8Array> => {
    const place = places.get(name);
    assert(place !== undefined, 'every tensor has a place');
    return readPlace(place, offset);
  };
  for await (const chunk of readPieces(pieces, 0, read)) hash.update(chunk);
  return hash.digest('hex');
}
