/**
 * Tensors of a checkpoint on the internet: what is stored of each is read by range, and becomes the tensor while it comes.
 *
 * They are wanted in another order than they lie in: one request each. It must not know peers, stages or who wants them.
 */
import { RingError } from '../core/errors.js';
import type { ModelSource } from '../core/types.js';
import type { GgufHeader } from './gguf-reader.js';
import type { HubClient } from './hub-client.js';
import type { InternetTensors } from './remote-tensors.js';
import { pathInRepository } from './repository-files.js';
import type { TensorPlace } from './tensor-source.js';

/** True for the files of a checkpoint, false for those of a GGUF. */
export function isCheckpointSource({ files }: ModelSource): boolean {
  return files[0]?.location.endsWith('.safetensors') === true;
}

export interface CheckpointTensorsOptions {
  readonly client: HubClient;
  readonly source: ModelSource;
  readonly header: GgufHeader;
  /** Asked when the first tensor is wanted. */
  places(): Promise<ReadonlyMap<string, TensorPlace>>;
  readonly signal: AbortSignal;
  onBytes(bytes: number): void;
}

export class CheckpointTensors implements InternetTensors {
  constructor(private readonly options: CheckpointTensorsOptions) {}

  async *read(name: string, offset: number): AsyncGenerator<Uint8Array> {
    const place = (await this.options.places()).get(name);
    const expected = this.options.header.byName.get(name)?.sizeBytes;
    if (place === undefined || place.sizeBytes !== expected) {
      throw new RingError('source_failed', `hf:${this.options.source.repository} has another tensor ${name} than the model that was named: name it again`, { tensor: name });
    }
    const { transform } = place;
    yield* transform === undefined ? this.stored(place, offset, place.sizeBytes) : transform.read((at) => this.stored(place, at, transform.storedBytes), offset);
  }

  joined(): number {
    return 0;
  }

  covers(): boolean {
    return false;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async *stored(place: TensorPlace, from: number, storedBytes: number): AsyncGenerator<Uint8Array> {
    const { client, source, signal, onBytes } = this.options;
    const index = source.files.findIndex(({ location }) => pathInRepository(source.repository, location) === place.path);
    const range = { start: place.offset + from, end: place.offset + storedBytes, sizeBytes: source.files[index]?.sizeBytes ?? 0 };
    for await (const chunk of client.read(client.urlOf(source, index), range, signal)) {
      onBytes(chunk.length);
      yield chunk;
    }
  }
}
