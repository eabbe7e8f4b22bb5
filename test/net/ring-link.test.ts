import { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { errorCodeOf, RingError } from '../../src/core/errors.js';
import type { FrameLink } from '../../src/ports.js';
import { connectedPair, stopAll, until } from './support.js';
import type { TestNode } from './support.js';

afterEach(stopAll);

const EDGE = { planId: '7.a.1', rank: 1 };
const MEBIBYTE = 1 << 20;

/** Every frame names itself, so that a lost or swapped one is seen. */
function numbered(index: number, bytes: number): Uint8Array {
  const frame = new Uint8Array(bytes).fill(index & 0xff);
  new DataView(frame.buffer).setUint32(0, index);
  return frame;
}

async function collect(link: FrameLink, count: number): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = [];
  for await (const frame of link.frames) {
    frames.push(frame);
    if (frames.length === count) break;
  }
  return frames;
}

function linkOf(node: TestNode, index: number): FrameLink {
  const received = node.links[index];
  if (received === undefined) throw new Error(`no link ${index} arrived`);
  return received.link;
}

async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'resolved';
  } catch (error) {
    return errorCodeOf(error);
  }
}

describe('an edge of the ring', () => {
  it('carries frames of every size, whole and in order', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    expect(b.links[0]).toMatchObject({ from: a.id, edge: EDGE });
    const sizes = [4, 5, 1000, 65_531, 65_532, 65_533, 65_536, 262_144, MEBIBYTE, 3 * MEBIBYTE + 7, 4];
    const received = collect(linkOf(b, 0), sizes.length);
    for (const [index, bytes] of sizes.entries()) await link.send(numbered(index, bytes));
    const frames = await received;
    expect(frames.map((frame) => frame.byteLength)).toEqual(sizes);
    expect(frames.every((frame, index) => Buffer.from(frame).equals(numbered(index, sizes[index] ?? 0)))).toBe(true);
  });

  it('hands a frame of one token to the system at once, and does not acknowledge each', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    const frames = linkOf(b, 0).frames[Symbol.asyncIterator]();
    const writes = vi.spyOn(Socket.prototype, 'write');
    try {
      for (let index = 0; index < 10; index += 1) {
        await link.send(numbered(index, 8_192));
        expect(Buffer.from((await frames.next()).value ?? []).equals(numbered(index, 8_192))).toBe(true);
      }
      const sizes = writes.mock.calls.map(([bytes]) => (bytes instanceof Uint8Array ? bytes.byteLength : 0));
      expect(sizes.filter((bytes) => bytes > 8_192)).toHaveLength(10);
      // What nodes say to each other meanwhile is in there too.
      expect(sizes.length).toBeLessThan(20);
    } finally {
      writes.mockRestore();
    }
  });

  it('with a slow reader keeps memory bounded and loses nothing', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    const frames = 24;
    const bytes = 8 * MEBIBYTE;
    let sent = 0;
    const sender = (async () => {
      for (let index = 0; index < frames; index++) {
        await link.send(numbered(index, bytes));
        sent++;
      }
    })();
    // Nobody reads: the sender must come to a halt after what fits the two ends' bounds.
    await until(() => sent > 0, 'the first frame leaves');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const stoppedAt = sent;
    expect(stoppedAt).toBeLessThanOrEqual(4);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sent).toBe(stoppedAt);
    let largest = 0;
    let index = 0;
    for await (const frame of linkOf(b, 0).frames) {
      expect(new DataView(frame.buffer, frame.byteOffset).getUint32(0)).toBe(index);
      expect(frame.byteLength).toBe(bytes);
      expect(frame[bytes - 1]).toBe(index);
      if (index % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 40));
      largest = Math.max(largest, process.memoryUsage().arrayBuffers);
      if (++index === frames) break;
    }
    await sender;
    expect(index).toBe(frames);
    // Both ends live in this process: 192 MiB went through, far less was held.
    expect(largest).toBeLessThan(120 * MEBIBYTE);
  });

  it('with a slow reader takes few of many tiny frames at a time, and loses none', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    const frames = 20_000;
    let sent = 0;
    const sender = (async () => {
      // As many at once as may wait.
      for (let index = 0; index < frames; index += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, offset) => link.send(numbered(index + offset, 8))));
        sent += 50;
      }
    })();
    let index = 0;
    for await (const frame of linkOf(b, 0).frames) {
      expect(new DataView(frame.buffer, frame.byteOffset).getUint32(0)).toBe(index);
      if (index % 2_000 === 0) await new Promise((resolve) => setTimeout(resolve, 30));
      if (++index === frames) break;
    }
    await sender;
    expect([index, sent]).toEqual([frames, frames]);
  });

  it('ends in order for the reader when the sender closes it', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    await link.send(numbered(0, 100_000));
    link.close();
    expect(await collect(linkOf(b, 0), 99)).toHaveLength(1);
    expect(await rejection(link.send(numbered(1, 4)))).toBe('peer_lost');
  });

  it('breaks for the reader when the sender cuts it, is gone, or stops', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    link.close(new Error('re-plan'));
    expect(await rejection(collect(linkOf(b, 0), 1))).toBe('peer_lost');
    await a.network.openRingLink(b.id, EDGE);
    const reading = rejection(collect(linkOf(b, 1), 1));
    await a.stop();
    expect(await reading).toBe('peer_lost');
  });

  it('breaks for a waiting sender when the reader goes', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    const sending = Promise.all(Array.from({ length: 8 }, (_, index) => rejection(link.send(numbered(index, 8 * MEBIBYTE)))));
    await new Promise((resolve) => setTimeout(resolve, 200));
    linkOf(b, 0).close(new Error('gone'));
    expect((await sending).at(-1)).toBe('peer_lost');
  });

  it('is refused with the typed error of the other side', async () => {
    const [a, b] = await connectedPair({}, { onLink: (_, __, link) => link.close(new RingError('wrong_plan', 'plan 7.a.1 is not known here')) });
    await expect(a.network.openRingLink(b.id, EDGE)).rejects.toMatchObject({ code: 'wrong_plan', message: 'plan 7.a.1 is not known here' });
    expect(a.network.peers()).toEqual([b.id]);
  });

  it('to a peer that is not connected is an error, not a wait', async () => {
    const [a] = await connectedPair();
    expect(await rejection(a.network.openRingLink('12D3KooWnobody', EDGE))).toBe('peer_unreachable');
  });

  it('refuses frames over the limit and unbounded sends', async () => {
    const [a, b] = await connectedPair();
    const link = await a.network.openRingLink(b.id, EDGE);
    expect(await rejection(link.send(new Uint8Array(64 * MEBIBYTE + 1)))).toBe('frame_too_large');
    const outcomes = Array.from({ length: 70 }, (_, index) => rejection(link.send(numbered(index, MEBIBYTE))));
    expect(await outcomes.at(-1)).toBe('queue_full');
    linkOf(b, 0).close(new Error('enough'));
    await Promise.all(outcomes);
  });
});
