/** Reads a SentencePiece model (`tokenizer.model`, a protobuf message): its pieces and how it treats spaces. It must not know GGUF. */
import protobuf from 'protobufjs/minimal.js';
import { RingError } from '../../core/errors.js';
import { badCheckpoint } from './bad-checkpoint.js';

export const MAX_PIECES = 1 << 20;
const MAX_PIECE_CHARACTERS = 1 << 16;
/** `TrainerSpec.ModelType` */
const UNIGRAM = 1;
const BPE = 2;

export interface SentencePieceModel {
  readonly kind: 'unigram' | 'bpe';
  /** By token id. `type` as in a GGUF: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. */
  readonly pieces: readonly { readonly text: string; readonly score: number; readonly type: number }[];
  readonly byteFallback: boolean;
  readonly addSpacePrefix: boolean;
  readonly removeExtraWhitespaces: boolean;
  /** Rules of normalisation, compiled; empty = none. */
  readonly charsmap: Uint8Array;
}

/** Throws `bad_checkpoint` for what is no SentencePiece model, such as a tiktoken file of that name. */
export function parseSentencePiece(bytes: Uint8Array, where: string): SentencePieceModel {
  try {
    return parseModel(bytes, where);
  } catch (error) {
    // The reader's own errors say only where in the bytes it stopped.
    if (error instanceof RingError) throw error;
    throw badCheckpoint(where, 'it is no SentencePiece model');
  }
}

/** Calls back for every field of a message; the callback returns false for those that it leaves. */
function fields(reader: protobuf.Reader, end: number, take: (field: number, wireType: number) => boolean): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!take(tag >>> 3, tag & 7)) reader.skipType(tag & 7);
  }
  if (reader.pos !== end) throw new RangeError('a message ends inside a field');
}

function parseModel(bytes: Uint8Array, where: string): SentencePieceModel {
  const reader = protobuf.Reader.create(bytes);
  const pieces: { text: string; score: number; type: number }[] = [];
  let kind = UNIGRAM;
  let byteFallback = false;
  let addSpacePrefix = true;
  let removeExtraWhitespaces = true;
  let charsmap = new Uint8Array();
  const message = (take: (field: number, wireType: number) => boolean): boolean => {
    const length = reader.uint32();
    if (length > reader.len - reader.pos) throw new RangeError('a message is longer than the file');
    fields(reader, reader.pos + length, take);
    return true;
  };
  fields(reader, reader.len, (field, wireType) => {
    if (wireType !== 2) return false;
    if (field === 1) {
      const piece = { text: '', score: 0, type: 1 };
      message((inner, wire) => {
        if (inner === 1 && wire === 2) piece.text = reader.string();
        else if (inner === 2 && wire === 5) piece.score = reader.float();
        else if (inner === 3 && wire === 0) piece.type = reader.int32();
        else return false;
        return true;
      });
      if (pieces.length >= MAX_PIECES || piece.text.length > MAX_PIECE_CHARACTERS) throw badCheckpoint(where, `it has more than ${MAX_PIECES} pieces, or one too long`);
      if (piece.type < 1 || piece.type > 6) throw badCheckpoint(where, `piece ${pieces.length} is of the unknown type ${piece.type}`);
      pieces.push(piece);
      return true;
    }
    if (field === 2) {
      return message((inner, wire) => {
        if (inner === 3 && wire === 0) kind = reader.int32();
        else if (inner === 35 && wire === 0) byteFallback = reader.bool();
        else return false;
        return true;
      });
    }
    if (field === 3) {
      return message((inner, wire) => {
        if (inner === 2 && wire === 2) charsmap = new Uint8Array(reader.bytes());
        else if (inner === 3 && wire === 0) addSpacePrefix = reader.bool();
        else if (inner === 4 && wire === 0) removeExtraWhitespaces = reader.bool();
        else return false;
        return true;
      });
    }
    return false;
  });
  if (pieces.length === 0) throw badCheckpoint(where, 'it is no SentencePiece model: it has no pieces');
  if (kind !== UNIGRAM && kind !== BPE) throw badCheckpoint(where, `it is a SentencePiece model of kind ${kind}, neither unigram nor BPE`);
  return { kind: kind === BPE ? 'bpe' : 'unigram', pieces, byteFallback, addSpacePrefix, removeExtraWhitespaces, charsmap };
}
