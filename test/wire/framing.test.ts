import { describe, expect, it } from 'vitest';
import { encodeFrame, FIRST_PIECE_BYTES, FrameDecoder } from '../../src/wire/framing.js';
import { codeOf } from '../support/thrown.js';

function join(pieces: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(pieces));
}

function counting(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (first + index) & 0xff);
}

describe('frames', () => {
  it('have golden bytes', () => {
    expect(Buffer.from(join(encodeFrame([Uint8Array.of(1, 2), Uint8Array.of(3)]))).toString('hex')).toBe('00000003010203');
  });

  it('come back whole from any cut of the stream', () => {
    const sent = [counting(1), counting(5, 7), counting(300, 9), counting(4, 200), counting(70_000, 3)];
    const stream = join(sent.flatMap((frame) => encodeFrame([frame])));
    for (const cut of [1, 2, 3, 4, 5, 7, 64, 4096, 65_536, stream.byteLength]) {
      const decoder = new FrameDecoder(1 << 20);
      const got: Uint8Array[] = [];
      for (let at = 0; at < stream.byteLength; at += cut) got.push(...decoder.push(stream.slice(at, at + cut)));
      expect(got.map((frame) => Buffer.from(frame).toString('base64'))).toEqual(sent.map((frame) => Buffer.from(frame).toString('base64')));
      expect(decoder.midFrame).toBe(false);
    }
  });

  it('in kept room come back whole from any cut, one by one, and leave no room behind them', () => {
    const sent = [counting(5, 7), counting(300, 9), counting(4, 200), counting(70_000, 3), counting(301, 5), counting(90_000, 4)];
    const stream = join(sent.flatMap((frame) => encodeFrame([frame])));
    for (const cut of [1, 3, 64, 4096, 65_536, stream.byteLength]) {
      const decoder = new FrameDecoder(1 << 20, 80_000);
      const room = new Uint8Array(cut);
      const got: string[] = [];
      const rooms = new Set<ArrayBufferLike>();
      for (let at = 0; at < stream.byteLength; at += cut) {
        // As a reader does that has one buffer.
        room.set(stream.subarray(at, at + cut));
        for (const frame of decoder.each(room.subarray(0, Math.min(cut, stream.byteLength - at)))) {
          got.push(Buffer.from(frame).toString('base64'));
          rooms.add(frame.buffer);
        }
      }
      expect(got).toEqual(sent.map((frame) => Buffer.from(frame).toString('base64')));
      // The chunks' own, one for the small ones, one that grew, one that is too large to be kept.
      expect(rooms.size).toBeLessThanOrEqual(5);
    }
  });

  it('that come in one chunk are views, not copies', () => {
    const stream = join(encodeFrame([counting(1000)]));
    const [frame] = new FrameDecoder(1000).push(stream);
    expect(frame?.buffer).toBe(stream.buffer);
  });

  it('B18: say that the stream was cut in the middle', () => {
    const decoder = new FrameDecoder(100);
    decoder.push(Uint8Array.of(0, 0));
    expect(decoder.midFrame).toBe(true);
    decoder.push(Uint8Array.of(0, 2, 9));
    expect(decoder.midFrame).toBe(true);
    expect(decoder.push(Uint8Array.of(9))).toHaveLength(1);
    expect(decoder.midFrame).toBe(false);
  });

  it('B18: above the limit are refused before anything is allocated, and the decoder stays broken', () => {
    const decoder = new FrameDecoder(16);
    const before = process.memoryUsage().arrayBuffers;
    expect(codeOf(() => decoder.push(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 1)))).toBe('frame_too_large');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
    expect(codeOf(() => decoder.push(Uint8Array.of(0, 0, 0, 1, 1)))).toBe('frame_too_large');
  });

  it('of no bytes are refused', () => {
    expect(codeOf(() => new FrameDecoder(16).push(Uint8Array.of(0, 0, 0, 0)))).toBe('bad_frame');
    expect(() => encodeFrame([])).toThrow('assertion failed');
  });

  it('of a lying length cost no more than a first piece', () => {
    const before = process.memoryUsage().arrayBuffers;
    const decoders = Array.from({ length: 64 }, () => {
      const decoder = new FrameDecoder(64 << 20);
      decoder.push(Uint8Array.of(0x03, 0xff, 0xff, 0xff, 1, 2, 3));
      return decoder;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * (FIRST_PIECE_BYTES + 4096));
    expect(decoders.every((decoder) => decoder.midFrame)).toBe(true);
  });

  it('of 64 MiB in small chunks are read without quadratic copying', () => {
    const bytes = 64 << 20;
    const decoder = new FrameDecoder(bytes);
    const chunk = new Uint8Array(16 * 1024);
    const started = performance.now();
    const header = new Uint8Array(4);
    new DataView(header.buffer).setUint32(0, bytes);
    decoder.push(header);
    let frames = 0;
    for (let sent = 0; sent < bytes; sent += chunk.byteLength) frames += decoder.push(chunk).length;
    expect(frames).toBe(1);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
