/**
 * Tensors of a model as a source for the stage writer: from this node's own shards where they have them, else from peers,
 * else from the internet; asking again (and so maybe another peer) when one breaks off in the middle.
 *
 * No two nodes read a tensor from the internet: each layer belongs to one stage. Tensors that several stages have (the
 * embedding of a tied model, rope factors) are read by the head's node, first of all; the others ask it until it has them.
 * A tensor's digest is known as soon as one node has it; whoever comes later verifies. It must not know libp2p or stages.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { RemoteWeights, TensorContent } from '../ports.js';
import type { GgufHeader } from './gguf-reader.js';
import { layerOfTensor } from './model-facts.js';
import type { TensorSource } from './stage-writer.js';
import type { SizedTensorSource } from './tensor-source.js';

/** Attempts per tensor that bring no byte, before giving up. */
const MAX_FRUITLESS_ATTEMPTS = 3;
/** How often the head's node is asked for a tensor that it is to bring. */
const ASK_AGAIN_MS = 300;
/** How long the head's node may take for one; then it is read from the internet after all. */
const SHARED_PATIENCE_MS = 10 * 60_000;

/** Tensors that peers are asked for at once, before a range of several is opened. */
const MAX_LOOK_AHEAD = 64;

/** The model on the internet; what is wanted next may come with what is wanted now (joined-ranges.ts). */
export interface InternetTensors {
  read(tensorName: string, offset: number, following: readonly string[]): AsyncIterable<Uint8Array>;
  /** How many of `following` come with `tensorName`. */
  joined(tensorName: string, following: readonly string[]): number;
  /** True when the range under way brings this tensor next. */
  covers(tensorName: string): boolean;
  close(): Promise<void>;
}

export interface FetchingOptions {
  /** Is the stage the head? */
  readonly head: boolean;
  /** Null = peers only. */
  readonly internet: InternetTensors | null;
}

/** Where the next bytes of a tensor come from. `digest` null = nobody has it yet. */
interface Found {
  readonly name: string;
  readonly digest: string | null;
  read(offset: number): AsyncIterable<Uint8Array>;
  /** Absent = nobody to blame. */
  reject?(): void;
}

/** True for tensors that more than one stage may have. The output matrix and norms are the tail's alone. */
export function isShared(tensorName: string): boolean {
  return layerOfTensor(tensorName) === null && !tensorName.startsWith('output');
}

export class FetchingTensorSource implements TensorSource {
  /** What the last digest was asked for: its content is read next. */
  private current: Found | null = null;
  /** Who sent all bytes of what was read last; of several nobody is to blame. */
  private sender: Found | 'several' | null = null;
  /** In the order in which they will be asked for. */
  private expected: readonly string[] = [];
  /** No peer had these a moment ago. */
  private readonly nobodyHas = new Set<string>();

  constructor(
    private readonly header: GgufHeader, private readonly local: SizedTensorSource, private readonly remote: RemoteWeights,
    private readonly signal: AbortSignal, private readonly options: FetchingOptions = { head: false, internet: null },
  ) {}

  /** Others wait for what the head brings, and it would only hold up the rest of the other stages. */
  order(name: string): number {
    if (this.options.internet === null) return 0;
    return isShared(name) === this.options.head ? 0 : 1;
  }

  expect(names: readonly string[]): void {
    this.expected = names;
  }

  async close(): Promise<void> {
    await this.options.internet?.close();
  }

  async digest(name: string): Promise<string | null> {
    this.current = this.localContent(name);
    if (this.current !== null) return this.local.digest(name);
    this.current = await this.find(name);
    return this.current.digest;
  }

  rejected(name: string): boolean {
    const { sender } = this;
    this.current = null;
    this.sender = null;
    if (sender === 'several') return true;
    if (sender?.name !== name || sender.reject === undefined) return false;
    sender.reject();
    return true;
  }

  async *read(name: string, offset: number): AsyncGenerator<Uint8Array> {
    const size = this.header.byName.get(name)?.sizeBytes ?? 0;
    let content: Found | null = this.current?.name === name ? this.current : this.localContent(name);
    let digest: string | null = content?.digest ?? null;
    let done = offset;
    let fruitless = 0;
    this.sender = null;
    while (done < size) {
      const before = done;
      let failure: unknown = null;
      try {
        // A peer that broke off is not waited for again where there is another way; who is to bring it for all, once more.
        content ??= await this.find(name, fruitless > (isShared(name) && !this.options.head ? 1 : 0));
        if (content.digest !== null && digest !== null && content.digest !== digest) throw new RingError('digest_mismatch', `two nodes disagree about tensor ${name}`, { tensor: name });
        digest ??= content.digest;
        this.sender = this.sender === null && done === 0 ? content : this.sender === content ? content : 'several';
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

  private localContent(name: string): Found | null {
    return this.local.sizeOf(name) === null ? null : { name, digest: null, read: (offset) => this.local.read(name, offset) };
  }

  /** The nearest that has it. `pastPeers`: peers had it and did not give it. */
  private async find(name: string, pastPeers = false): Promise<Found> {
    const { internet, head } = this.options;
    if (internet === null) return this.ask(name);
    if (pastPeers || (this.nobodyHas.has(name) && internet.covers(name))) return this.fromInternet(name, internet);
    const deadline = Date.now() + SHARED_PATIENCE_MS;
    for (;;) {
      try {
        return await this.ask(name);
      } catch (error) {
        if (this.signal.aborted) throw error;
      }
      if (head || !isShared(name) || Date.now() > deadline) return this.fromInternet(name, internet);
      await pause(ASK_AGAIN_MS);
    }
  }

  private fromInternet(name: string, internet: InternetTensors): Found {
    const { lookAhead } = this;
    const following = (): Promise<readonly string[]> => lookAhead.call(this, name, internet);
    return { name, digest: null, read: async function* read(offset) {
      yield* internet.read(name, offset, internet.covers(name) ? [] : await following());
    } };
  }

  /** What may come in one range with `name`: it is wanted next, side by side with it, and no peer and no shard here has it. */
  private async lookAhead(name: string, internet: InternetTensors): Promise<readonly string[]> {
    const at = this.expected.indexOf(name);
    if (at < 0) return [];
    const beside = this.expected.slice(at + 1, at + 1 + MAX_LOOK_AHEAD);
    const waiting = beside.slice(0, internet.joined(name, beside));
    const stop = waiting.findIndex((next) => this.localContent(next) !== null || (isShared(next) && !this.options.head));
    const wanted = stop < 0 ? waiting : waiting.slice(0, stop);
    const held = await Promise.all(wanted.map((next) => this.ask(next).then(() => true, () => false)));
    const first = held.indexOf(true);
    const following = first < 0 ? wanted : wanted.slice(0, first);
    for (const next of following) this.nobodyHas.add(next);
    return following;
  }

  private async ask(name: string): Promise<Found> {
    const expected = this.header.byName.get(name);
    const content: TensorContent = await this.remote.tensor(this.header.identity.digest, name, this.signal);
    if (expected === undefined || content.sizeBytes !== expected.sizeBytes) {
      throw new RingError('digest_mismatch', `a node offers tensor ${name} with ${content.sizeBytes} bytes, the model says ${expected?.sizeBytes ?? 'that there is none'}`, { tensor: name });
    }
    return { name, digest: content.digest, read: (offset) => content.read(offset), ...(content.reject === undefined ? {} : { reject: () => content.reject?.() }) };
  }
}

async function pause(delayMs: number): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, delayMs));
}
