/**
 * A model's file put together from its header, its tensors and the padding between them. It must not know where tensors are.
 */
import type { GgufHeader } from './gguf-reader.js';

export type FilePiece =
  | { readonly kind: 'bytes'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'tensor'; readonly offset: number; readonly sizeBytes: number; readonly name: string };

/** In the order of the file, without a gap. Null when it has more than padding between its tensors. */
export function filePieces(header: GgufHeader, fileIndex: number): readonly FilePiece[] | null {
  const file = header.files[fileIndex];
  if (file === undefined) return null;
  const pieces: FilePiece[] = [{ kind: 'bytes', offset: 0, bytes: file.header }];
  let at = file.header.length;
  const padTo = (offset: number): boolean => {
    if (offset < at || offset - at >= header.alignment) return false;
    if (offset > at) pieces.push({ kind: 'bytes', offset: at, bytes: new Uint8Array(offset - at) });
    at = offset;
    return true;
  };
  for (const { name, offset, sizeBytes } of header.tensors.filter((tensor) => tensor.fileIndex === fileIndex).sort((a, b) => a.offset - b.offset)) {
    if (!padTo(offset)) return null;
    pieces.push({ kind: 'tensor', offset, sizeBytes, name });
    at = offset + sizeBytes;
  }
  return padTo(file.sizeBytes) ? pieces : null;
}

/** The file from a byte of it on. `read`: a tensor's bytes from one of its own on. */
export async function* readPieces(pieces: readonly FilePiece[], from: number, read: (name: string, offset: number) => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    const sizeBytes = piece.kind === 'bytes' ? piece.bytes.length : piece.sizeBytes;
    const skipped = Math.max(0, from - piece.offset);
    if (skipped >= sizeBytes) continue;
    if (piece.kind === 'bytes') yield piece.bytes.subarray(skipped);
    else yield* read(piece.name, skipped);
  }
}
