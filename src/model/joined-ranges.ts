/**
 * Tensors of a model on the internet, read with as few requests as may be: what lies side by side in a file and is wanted in that
 * order comes in one range, up to a bound.
 *
 * One reader at a time, one open range at most. A reader that ends early, or another tensor than the next one, closes it.
 * It must not know peers, stages or who wants the tensors.
 */
import { RingError } from '../core/errors.js';
import type { ModelSource } from '../core/types.js';
import type { GgufHeader, GgufTensor } from './gguf-reader.js';
import type { HubClient } from './hub-client.js';

/** Of one request. Far above what a request costs, far below what anybody would mind to lose. */
const MAX_JOINED_BYTES = 256 * 1024 * 1024;

/** A range under way. */
interface Run {
  readonly fileIndex: number;
  readonly end: number;
  readonly chunks: AsyncIterator<Uint8Array>;
  /** Of the file: where `rest`, then the next chunk, begins. */
  position: number;
  rest: Uint8Array;
}

export class JoinedRanges {
  private run: Run | null = null;

  constructor(
    private readonly client: HubClient, private readonly source: ModelSource, private readonly header: GgufHeader,
    private readonly signal: AbortSignal, private readonly onBytes: (bytes: number) => void, private readonly maxBytes = MAX_JOINED_BYTES,
  ) {}

  /** Padding is shorter than the alignment: nothing else lies between. How many of `following`, which are wanted after `name` in this order, come with it. */
  joined(name: string, following: readonly string[]): number {
    const first = this.tensor(name);
    let end = first.offset + first.sizeBytes;
    let count = 0;
    for (const next of following) {
      const tensor = this.header.byName.get(next);
      if (tensor === undefined || tensor.fileIndex !== first.fileIndex || tensor.offset < end || tensor.offset - end >= this.header.alignment) break;
      if (tensor.offset + tensor.sizeBytes - first.offset > this.maxBytes) break;
      end = tensor.offset + tensor.sizeBytes;
      count += 1;
    }
    return count;
  }

  /** True when the range under way brings the whole of this tensor next. */
  covers(name: string): boolean {
    const tensor = this.header.byName.get(name);
    return tensor !== undefined && this.reaches(tensor, tensor.offset);
  }

  /** Bytes of a tensor from `offset` on. */
  async *read(name: string, offset: number, following: readonly string[]): AsyncGenerator<Uint8Array> {
    const tensor = this.tensor(name);
    const end = tensor.offset + tensor.sizeBytes;
    const run = this.reaches(tensor, tensor.offset + offset) && this.run !== null ? this.run : await this.open(tensor, offset, following);
    let complete = false;
    try {
      let at = tensor.offset + offset;
      while (at < end) {
        if (run.rest.length === 0) {
          const next = await run.chunks.next();
          if (next.done === true) throw new RingError('source_failed', `the range for tensor ${name} ended ${end - at} bytes early`, { tensor: name });
          run.rest = next.value;
          this.onBytes(run.rest.length);
        }
        const skipped = Math.min(run.rest.length, Math.max(0, at - run.position));
        const chunk = run.rest.subarray(skipped, Math.min(run.rest.length, skipped + end - at));
        run.rest = run.rest.subarray(skipped + chunk.length);
        run.position += skipped + chunk.length;
        at += chunk.length;
        if (chunk.length > 0) yield chunk;
      }
      complete = run.position < run.end;
    } finally {
      if (!complete) await this.close();
    }
  }

  /** Ends the request that is under way, if there is one. */
  async close(): Promise<void> {
    const { run } = this;
    this.run = null;
    await run?.chunks.return?.();
  }

  private reaches({ fileIndex, offset, sizeBytes }: GgufTensor, from: number): boolean {
    const { run } = this;
    return run !== null && run.fileIndex === fileIndex && run.position <= from && from - run.position < this.header.alignment && offset + sizeBytes <= run.end;
  }

  private async open(tensor: GgufTensor, offset: number, following: readonly string[]): Promise<Run> {
    await this.close();
    const file = this.source.files[tensor.fileIndex];
    const last = following[this.joined(tensor.name, following) - 1];
    const lastTensor = last === undefined ? tensor : this.tensor(last);
    const range = { start: tensor.offset + offset, end: lastTensor.offset + lastTensor.sizeBytes, sizeBytes: file?.sizeBytes ?? 0 };
    if (range.end > range.sizeBytes) throw new RingError('source_failed', `tensor ${lastTensor.name} ends beyond ${file?.location ?? 'the model\'s files'}`, { tensor: lastTensor.name });
    const chunks = this.client.read(this.client.urlOf(this.source, tensor.fileIndex), range, this.signal)[Symbol.asyncIterator]();
    this.run = { fileIndex: tensor.fileIndex, end: range.end, chunks, position: range.start, rest: new Uint8Array() };
    return this.run;
  }

  private tensor(name: string): GgufTensor {
    const tensor = this.header.byName.get(name);
    if (tensor === undefined) throw new RingError('source_failed', `tensor ${name} is in no file of the model's source`, { tensor: name });
    return tensor;
  }
}
