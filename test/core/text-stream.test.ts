import { describe, expect, it } from 'vitest';
import { TextStream } from '../../src/core/text-stream.js';

function decodeInPieces(bytes: Uint8Array, pieceLength: number): string {
  const stream = new TextStream();
  let text = '';
  for (let at = 0; at < bytes.length; at += pieceLength) text += stream.push(bytes.subarray(at, at + pieceLength));
  return text + stream.end();
}

describe('text stream', () => {
  it('gives the same text however the bytes are cut', () => {
    const text = 'In the beginning — 太初有道 👩‍👩‍👧 \ufeffé';
    const bytes = new TextEncoder().encode(text);
    for (let pieceLength = 1; pieceLength <= bytes.length; pieceLength += 1) {
      expect(decodeInPieces(bytes, pieceLength)).toBe(text);
    }
  });

  it('holds an incomplete character back and shows it when it is whole', () => {
    const stream = new TextStream();
    expect(stream.push(Uint8Array.of(0x61, 0xf0, 0x9f))).toBe('a');
    expect(stream.push(Uint8Array.of(0x98))).toBe('');
    expect(stream.push(Uint8Array.of(0x80, 0x62))).toBe('😀b');
    expect(stream.end()).toBe('');
  });

  it('replaces bytes that are no text, also when they are cut', () => {
    const bytes = Uint8Array.of(0x61, 0xff, 0xe2, 0x82, 0x62, 0xc0, 0xaf, 0xed, 0xa0, 0x80);
    const expected = 'a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd';
    for (let pieceLength = 1; pieceLength <= bytes.length; pieceLength += 1) {
      expect(decodeInPieces(bytes, pieceLength)).toBe(expected);
    }
  });

  it('ends with a replacement for half a character', () => {
    const stream = new TextStream();
    expect(stream.push(Uint8Array.of(0xe2, 0x82))).toBe('');
    expect(stream.end()).toBe('\ufffd');
  });

  it('keeps a byte order mark: it is the text of the model', () => {
    const stream = new TextStream();
    expect(stream.push(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa');
  });
});
