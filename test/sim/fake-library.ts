/**
 * A host's disk in the simulation (ports.ts, `ModelLibrary`): whole models, shards that were fetched, headers. It outlives
 * the processes of its host; a fetch takes time and may break off, and what came stays.
 */
import { RingError } from '../../src/core/errors.js';
import type { HeldModel, HeldShard, ModelShape } from '../../src/core/types.js';
import type { Clock, ModelDetails, ModelLibrary, RemoteWeights, StageFiles, StageFilesRequest, TensorContent, WeightsHeader } from '../../src/ports.js';
import { VOCABULARY_SIZE } from './fake-model.js';

const WRITE_MS = 20;

export interface Disk {
  readonly whole: Set<string>;
  readonly headers: Set<string>;
  /** `digest/layer` */
  readonly layers: Set<string>;
  readonly shards: HeldShard[];
}

export function emptyDisk(): Disk {
  return { whole: new Set(), headers: new Set(), layers: new Set(), shards: [] };
}

/** Which layers a file name stands for. */
export interface StageContent {
  readonly digest: string;
  readonly start: number;
  readonly end: number;
}

export function stageContent(file: string): StageContent {
  const [digest = '', start = '', end = ''] = file.split('/');
  return { digest, start: Number(start), end: Number(end) };
}

export function heldModel(shape: ModelShape): HeldModel {
  return { digest: shape.identity.digest, sizeBytes: shape.identity.sizeBytes, name: shape.name, architecture: shape.architecture, layers: shape.layers };
}

export class FakeLibrary implements ModelLibrary {
  constructor(private readonly disk: Disk, private readonly shapes: readonly ModelShape[], private readonly clock: Clock) {}

  async header(modelDigest: string): Promise<WeightsHeader | null> {
    const shape = this.shapeOf(modelDigest);
    if (!this.disk.whole.has(modelDigest) && !this.disk.headers.has(modelDigest)) return null;
    return { name: shape.name, sizeBytes: shape.identity.sizeBytes, files: [] };
  }

  async tensor(modelDigest: string, tensorName: string): Promise<TensorContent | null> {
    if (!this.disk.whole.has(modelDigest) && !this.disk.layers.has(`${modelDigest}/${tensorName}`)) return null;
    return { sizeBytes: 1, digest: '', read: async function* read() { /* The network reads for itself. */ } };
  }

  models(): readonly HeldModel[] {
    return this.shapes.filter(({ identity }) => this.disk.whole.has(identity.digest)).map(heldModel);
  }

  shards(): readonly HeldShard[] {
    return [...this.disk.shards];
  }

  async resolve(reference: string): Promise<HeldModel | null> {
    return this.models().find(({ name, digest }) => name === reference || digest === reference) ?? null;
  }

  async shape(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<ModelShape> {
    await this.haveHeader(model.digest, remote, signal);
    return this.shapeOf(model.digest);
  }

  async details(): Promise<ModelDetails> {
    throw new RingError('internal', 'nobody asks for details');
  }

  async vocabularyFile(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<string> {
    await this.haveHeader(model.digest, remote, signal);
    return 'vocabulary';
  }

  async renderChat(): Promise<string> {
    throw new RingError('bad_request', 'this model has no chat template');
  }

  async stageFiles(request: StageFilesRequest, remote: RemoteWeights): Promise<StageFiles> {
    const { model, range, head, tail, signal } = request;
    if (!this.disk.whole.has(model.digest)) await this.fetchLayers(request, remote);
    await this.pause(WRITE_MS);
    signal.throwIfAborted();
    if (!this.disk.shards.some((shard) => shard.modelDigest === model.digest && shard.range.start === range.start && shard.range.end === range.end && shard.head === head && shard.tail === tail)) {
      this.disk.shards.push({ modelDigest: model.digest, range, head, tail });
    }
    const whole = range.start === 0 && range.end === model.layers;
    return {
      stageFile: `${model.digest}/${range.start}/${range.end}`,
      embedding: head && !whole ? { file: 'embedding', offset: 0, ggmlType: 0, rows: VOCABULARY_SIZE } : null,
      bytes: 1,
    };
  }

  async convertedFile(): Promise<never> {
    throw new RingError('bad_config', 'nobody asks for another precision');
  }

  private async fetchLayers({ model, range, signal, onProgress }: StageFilesRequest, remote: RemoteWeights): Promise<void> {
    await this.haveHeader(model.digest, remote, signal);
    for (let layer = range.start; layer < range.end; layer += 1) {
      const key = `${model.digest}/layer${layer}`;
      if (!this.disk.layers.has(key)) {
        const content = await remote.tensor(model.digest, `layer${layer}`, signal);
        for await (const chunk of content.read(0)) if (chunk.byteLength > 0) await this.pause(1);
        signal.throwIfAborted();
        this.disk.layers.add(key);
      }
      onProgress((layer + 1 - range.start) / (range.end - range.start));
    }
  }

  private async haveHeader(digest: string, remote: RemoteWeights, signal: AbortSignal): Promise<void> {
    if (this.disk.whole.has(digest) || this.disk.headers.has(digest)) return;
    await remote.header(digest, signal);
    this.disk.headers.add(digest);
  }

  private shapeOf(digest: string): ModelShape {
    const shape = this.shapes.find(({ identity }) => identity.digest === digest);
    if (shape === undefined) throw new RingError('unknown_model', `there is no model ${digest}`);
    return shape;
  }

  private async pause(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => void this.clock.after(delayMs, resolve));
  }
}
