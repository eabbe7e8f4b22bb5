import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { errorCodeOf } from '../../src/core/errors.js';
import type { ControlMessage } from '../../src/core/messages.js';
import type { TensorContent, WeightsProvider } from '../../src/ports.js';
import { connectedPair, stopAll, until } from './support.js';

afterEach(stopAll);

const MODEL = 'ab'.repeat(32);
const MEBIBYTE = 1 << 20;

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function pattern(bytes: number): Uint8Array {
  const data = new Uint8Array(bytes);
  for (let index = 0; index < bytes; index++) data[index] = (index * 31 + (index >> 8)) & 0xff;
  return data;
}

class MemoryWeights implements WeightsProvider {
  reads = 0;
  active = 0;
  mostActive = 0;
  private readonly digests = new Map<string, string>();

  constructor(private readonly tensors: Readonly<Record<string, Uint8Array>>, private readonly pauseMs = 0) {}

  header(digest: string): ReturnType<WeightsProvider['header']> {
    return Promise.resolve(digest === MODEL ? { name: 'kjv', sizeBytes: 2 ** 40, files: [pattern(700_000), pattern(3)] } : null);
  }

  tensor(digest: string, name: string): Promise<TensorContent | null> {
    const data = digest === MODEL ? this.tensors[name] : undefined;
    if (data === undefined) return Promise.resolve(null);
    const digestOfData = this.digests.get(name) ?? sha256(data);
    this.digests.set(name, digestOfData);
    return Promise.resolve({ sizeBytes: data.byteLength, digest: digestOfData, read: (offset) => this.read(data, offset) });
  }

  private async *read(data: Uint8Array, offset: number): AsyncGenerator<Uint8Array> {
    this.reads++;
    this.mostActive = Math.max(this.mostActive, ++this.active);
    try {
      for (let at = offset; at < data.byteLength; at += MEBIBYTE) {
        if (this.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
        yield data.subarray(at, Math.min(at + MEBIBYTE, data.byteLength));
      }
    } finally {
      this.active--;
    }
  }
}

const forever = new AbortController().signal;

async function readAll(content: TensorContent, offset: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content.read(offset)) parts.push(part);
  return Buffer.concat(parts);
}

async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'resolved';
  } catch (error) {
    return errorCodeOf(error);
  }
}

describe('weights from a peer', () => {
  it('come with size and digest, and again from any offset', async () => {
    const data = pattern(5 * MEBIBYTE + 321);
    const [a, b] = await connectedPair({ weights: new MemoryWeights({ 'blk.0.attn_q.weight': data }) });
    const content = await b.network.fetchTensor(a.id, MODEL, 'blk.0.attn_q.weight', forever);
    expect(content).toMatchObject({ sizeBytes: data.byteLength, digest: sha256(data) });
    expect(b.network.weightBytesReceived()).toBe(0);
    const whole = await readAll(content, 0);
    expect(sha256(whole)).toBe(content.digest);
    const offset = 2 * MEBIBYTE + 17;
    expect((await readAll(content, offset)).equals(Buffer.from(data.subarray(offset)))).toBe(true);
    expect(await readAll(content, data.byteLength)).toHaveLength(0);
    expect(b.network.weightBytesReceived()).toBe(data.byteLength + data.byteLength - offset);
    expect(a.network.weightBytesReceived()).toBe(0);
    // On a connection of their own.
    expect(b.logLines.filter((line) => line.includes('no second connection'))).toEqual([]);
    expect(a.network.peers()).toEqual([b.id]);
  });

  it('go both ways at once between two peers', async () => {
    const data = pattern(4 * MEBIBYTE);
    const [a, b] = await connectedPair({ weights: new MemoryWeights({ x: data }) }, { weights: new MemoryWeights({ x: data }) });
    const fetched = await Promise.all([[a, b] as const, [b, a] as const].map(async ([to, from]) => readAll(await to.network.fetchTensor(from.id, MODEL, 'x', forever), 0)));
    expect(fetched.map((bytes) => sha256(bytes))).toEqual([sha256(data), sha256(data)]);
    expect([...a.logLines, ...b.logLines].filter((line) => line.includes('no second connection'))).toEqual([]);
    expect([a.disconnected, b.disconnected]).toEqual([[], []]);
  });

  it('include the header of every file', async () => {
    const [a, b] = await connectedPair({ weights: new MemoryWeights({}) });
    const header = await b.network.fetchHeader(a.id, MODEL, forever);
    expect(header.name).toBe('kjv');
    expect(header.sizeBytes).toBe(2 ** 40);
    expect(header.files.map((file) => sha256(file))).toEqual([sha256(pattern(700_000)), sha256(pattern(3))]);
  });

  it('that the peer does not hold are a typed error', async () => {
    const [a, b] = await connectedPair({ weights: new MemoryWeights({}) });
    expect(await rejection(b.network.fetchTensor(a.id, MODEL, 'nothing', forever))).toBe('unknown_model');
    expect(await rejection(b.network.fetchHeader(a.id, 'cd'.repeat(32), forever))).toBe('unknown_model');
    expect(b.network.peers()).toEqual([a.id]);
  });

  it('whose owner cannot read them are a typed error with its reason', async () => {
    const broken: WeightsProvider = { header: () => Promise.reject(new Error('the disk is gone')), tensor: () => Promise.reject(new Error('the disk is gone')) };
    const [a, b] = await connectedPair({ weights: broken });
    await expect(b.network.fetchTensor(a.id, MODEL, 'x', forever)).rejects.toMatchObject({ code: 'io_failed', message: expect.stringContaining('the disk is gone') });
  });

  it('stop at once when they are cancelled, and leave nothing behind', async () => {
    const weights = new MemoryWeights({ x: pattern(64 * MEBIBYTE) }, 5);
    const [a, b] = await connectedPair({ weights });
    const abort = new AbortController();
    const content = await b.network.fetchTensor(a.id, MODEL, 'x', abort.signal);
    const reading = rejection(readAll(content, 0));
    await until(() => b.network.weightBytesReceived() > 0, 'bytes arrive');
    abort.abort();
    expect(await reading).toBe('cancelled');
    await until(() => weights.active === 0, 'the sender stops');
    expect(b.network.weightBytesReceived()).toBeLessThan(64 * MEBIBYTE);
  });

  it('break with peer_lost when the peer goes, and resume elsewhere in the tensor', async () => {
    const weights = new MemoryWeights({ x: pattern(32 * MEBIBYTE) }, 5);
    const [a, b] = await connectedPair({ weights });
    const content = await b.network.fetchTensor(a.id, MODEL, 'x', forever);
    const reading = rejection(readAll(content, 0));
    await until(() => b.network.weightBytesReceived() > 0, 'bytes arrive');
    await a.stop();
    expect(await reading).toBe('peer_lost');
  });

  it('are fetched four at a time from one peer', async () => {
    const weights = new MemoryWeights({ x: pattern(2 * MEBIBYTE) }, 5);
    const [a, b] = await connectedPair({ weights });
    const content = await b.network.fetchTensor(a.id, MODEL, 'x', forever);
    await Promise.all(Array.from({ length: 12 }, () => readAll(content, 0)));
    expect(weights.reads).toBe(12);
    expect(weights.mostActive).toBe(4);
  });

  it('do not hold up control messages', async () => {
    const data = pattern(96 * MEBIBYTE);
    const [a, b] = await connectedPair({ weights: new MemoryWeights({ x: data }) }, {
      onMessage: (from, message) => void b.network.send(from, message),
    });
    const content = await b.network.fetchTensor(a.id, MODEL, 'x', forever);
    let done = false;
    const started = performance.now();
    const transfers = Promise.all([1, 2, 3, 4].map(() => readAll(content, 0))).finally(() => {
      done = true;
    });
    const latencies: number[] = [];
    while (!done) {
      const count = a.messages.length;
      const sentAt = performance.now();
      const ping: ControlMessage = { kind: 'alive', incarnation: 1, counter: count, term: null };
      a.network.send(b.id, ping);
      await until(() => a.messages.length > count || done, 'the echo');
      latencies.push(performance.now() - sentAt);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await transfers;
    const megabytes = (4 * data.byteLength) / 1e6;
    latencies.sort((x, y) => x - y);
    const median = latencies[Math.floor(latencies.length / 2)] ?? Infinity;
    const worst = latencies.at(-1) ?? Infinity;
    console.info(`control round trip beside ${Math.round(megabytes / ((performance.now() - started) / 1000))} MB/s of weights: median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms, n ${latencies.length}`);
    expect(latencies.length).toBeGreaterThan(5);
    // Both agents and both sides of the encryption share one thread here; on two machines it is a tenth of this.
    expect(median).toBeLessThan(200);
  });
});
