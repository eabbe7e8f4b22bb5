import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventStream, sseEvent } from '../../src/api/sse.js';

const decoder = new TextDecoder();

interface Watched {
  readonly stream: ReadableStream<Uint8Array>;
  readonly reasons: string[];
  readonly made: () => number;
  readonly returned: () => boolean;
}

/** A source of numbered events; `hold` is awaited before the event of that index. */
function watch(count: number, hold: { readonly index: number; readonly until: Promise<void> } | null = null): Watched {
  let made = 0;
  let returned = false;
  const reasons: string[] = [];
  async function* source(): AsyncGenerator<string> {
    try {
      for (let index = 0; index < count; index += 1) {
        if (hold?.index === index) await hold.until;
        made += 1;
        yield sseEvent(String(index));
      }
    } finally {
      returned = true;
    }
  }
  const stream = eventStream(source(), { heartbeatMs: 1000, stallMs: 5000, ended: (reason) => reasons.push(reason) });
  return { stream, reasons, made: () => made, returned: () => returned };
}

describe('event stream', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('passes events on and ends', async () => {
    const { stream, reasons } = watch(3);
    let text = '';
    for await (const bytes of stream) text += decoder.decode(bytes);
    expect(text).toBe('data: 0\n\ndata: 1\n\ndata: 2\n\n');
    expect(reasons).toEqual(['done']);
  });

  it('asks its source only for what is read', async () => {
    const { stream, made, reasons } = watch(1000);
    const reader = stream.getReader();
    await reader.read();
    await reader.read();
    await vi.advanceTimersByTimeAsync(1);
    expect(made()).toBe(2);
    await reader.cancel();
    expect(reasons).toEqual(['client_gone']);
  });

  it('keeps a waiting client alive with comments', async () => {
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { stream } = watch(1, { index: 0, until });
    const reader = stream.getReader();
    for (let beat = 0; beat < 3; beat += 1) {
      const read = reader.read();
      await vi.advanceTimersByTimeAsync(1000);
      expect(decoder.decode((await read).value)).toBe(': waiting\n\n');
    }
    release();
    expect(decoder.decode((await reader.read()).value)).toBe('data: 0\n\n');
    expect((await reader.read()).done).toBe(true);
  });

  it('ends its source when the client leaves, also while the source waits', async () => {
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { stream, reasons, returned } = watch(5, { index: 1, until });
    const reader = stream.getReader();
    await reader.read();
    const waiting = reader.read();
    await vi.advanceTimersByTimeAsync(1);
    await reader.cancel();
    expect(reasons).toEqual(['client_gone']);
    expect((await waiting).done).toBe(true);
    release();
    await vi.advanceTimersByTimeAsync(1000);
    expect(returned()).toBe(true);
  });

  it('gives up on a client that reads nothing any more', async () => {
    const { stream, reasons, returned } = watch(5);
    const reader = stream.getReader();
    await reader.read();
    await vi.advanceTimersByTimeAsync(4999);
    expect(reasons).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(reasons).toEqual(['client_stalled']);
    expect(returned()).toBe(true);
    expect((await reader.read()).done).toBe(true);
  });
});
