/**
 * Tensors of a model as a source for the stage writer: from this node's own shards where they have them, else from peers,
 * asking again (and so maybe another peer) when one breaks off in the middle. It must not know libp2p or stages.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { RemoteWeights, TensorContent } from '../ports.js';
import type { GgufHeader } from './gguf-reader.js';
import type { TensorSource } from './stage-writer.js';
import type { SizedTensorSource } from './tensor-source.js';

/** Attempts per tensor that bring no byte, before giving up. */
const MAX_FRUITLESS_ATTEMPTS = 3;

export class FetchingTensorSource implements TensorSource {
  /** What the last digest was asked for: its content is read next. */
  private current: { readonly name: string; readonly content: TensorContent } | null = null;

  constructor(
    private readonly header: GgufHeader, private readonly local: SizedTensorSource, private readonly remote: RemoteWeights,
    private readonly signal: AbortSignal,
  ) {}

  async digest(name: string): Promise<string> {
    if (this.local.sizeOf(name) !== null) return this.local.digest(name);
    return (await this.ask(name)).digest;
  }

  async *read(name: string, offset: number): AsyncGenerator<Uint8Array> {
    if (this.local.sizeOf(name) !== null) {
      yield* this.local.read(name, offset);
      return;
    }
    const first = this.current?.name === name ? this.current.content : await this.ask(name);
    const size = first.sizeBytes;
    let content: TensorContent | null = first;
    let done = offset;
    let fruitless = 0;
    while (done < size) {
      const before = done;
      let failure: unknown = null;
      try {
        content ??= await this.askAgain(name, first.digest);
        for await (const chunk of content.read(done)) {
          done += chunk.length;
          yield chunk;
        }
      } catch (error) {
        failure = error;
      }
      if (this.signal.aborted) throw new RingError('cancelled', `fetching tensor ${name} was cancelled`);
      fruitless = done > before ? 0 : fruitless + 1;
      if (done < size && fruitless >= MAX_FRUITLESS_ATTEMPTS) {
        throw failure instanceof RingError ? failure : new RingError('peer_lost', `tensor ${name} cannot be fetched: ${failure === null ? 'peers end early' : errorMessageOf(failure)}`, { tensor: name }, { cause: failure });
      }
      content = null;
    }
  }

  private async ask(name: string): Promise<TensorContent> {
    const expected = this.header.byName.get(name);
    const content = await this.remote.tensor(this.header.identity.digest, name, this.signal);
    if (expected === undefined || content.sizeBytes !== expected.sizeBytes) {
      throw new RingError('digest_mismatch', `a node offers tensor ${name} with ${content.sizeBytes} bytes, the model says ${expected?.sizeBytes ?? 'that there is none'}`, { tensor: name });
    }
    this.current = { name, content };
    return content;
  }

  private async askAgain(name: string, digest: string): Promise<TensorContent> {
    const content = await this.ask(name);
    if (content.digest !== digest) throw new RingError('digest_mismatch', `two nodes disagree about tensor ${name}`, { tensor: name });
    return content;
  }
}
