/**
 * A repository of the hub, at one commit, as the files of a checkpoint: names from its listing, small files whole, parts of
 * large ones by range. It must not know what is in them.
 */
import { createHash } from 'node:crypto';
import { RingError } from '../core/errors.js';
import { badCheckpoint } from './checkpoint/bad-checkpoint.js';
import type { CheckpointFiles } from './checkpoint/checkpoint-files.js';
import { tooLarge } from './checkpoint/checkpoint-files.js';
import type { HubClient } from './hub-client.js';
import type { HubFile } from './hub-files.js';

export interface RepositoryPlace {
  readonly repository: string;
  /** Commit. */
  readonly revision: string;
}

/** What files of a repository are called here, as people would name them. */
export function pathInRepository(repository: string, name: string): string {
  return `hf:${repository}/${name}`;
}

export class RepositoryFiles implements CheckpointFiles {
  readonly where: string;
  private listing: Promise<ReadonlyMap<string, HubFile>> | null = null;

  constructor(private readonly client: HubClient, readonly place: RepositoryPlace, private readonly signal: AbortSignal) {
    this.where = `hf:${place.repository}`;
  }

  async names(): Promise<readonly string[]> {
    return [...(await this.files()).keys()].sort();
  }

  pathOf(name: string): string {
    return pathInRepository(this.place.repository, name);
  }

  urlOf(name: string): string {
    return this.client.urlOf({ ...this.place, files: [{ location: name, sizeBytes: 0 }] }, 0);
  }

  async sizeOf(name: string): Promise<number> {
    return (await this.file(name)).sizeBytes;
  }

  async whole(name: string, maxBytes: number): Promise<Uint8Array> {
    const { sizeBytes, sha256 } = await this.file(name);
    if (sizeBytes > maxBytes) throw badCheckpoint(this.pathOf(name), tooLarge(sizeBytes, maxBytes));
    // Only what the hub keeps apart from the repository is certain to come in parts.
    if (sha256 === null) return this.client.small(this.urlOf(name), sizeBytes, this.signal);
    const bytes = await this.part(name, 0, sizeBytes);
    const actual = createHash('sha256').update(bytes).digest('hex');
    if (actual !== sha256) throw new RingError('digest_mismatch', `${this.pathOf(name)} arrived damaged: its SHA-256 is ${actual}, the hub says ${sha256}: try again`, { actual, expected: sha256 });
    return bytes;
  }

  async part(name: string, offset: number, length: number): Promise<Uint8Array> {
    const sizeBytes = await this.sizeOf(name);
    const parts: Uint8Array[] = [];
    for await (const chunk of this.client.read(this.urlOf(name), { start: offset, end: Math.min(sizeBytes, offset + length), sizeBytes }, this.signal)) parts.push(chunk);
    return new Uint8Array(Buffer.concat(parts));
  }

  /** Throws `bad_checkpoint` for a name that the repository does not have. */
  async file(name: string): Promise<HubFile> {
    const file = (await this.files()).get(name);
    if (file === undefined) throw badCheckpoint(this.where, `${name} is missing`);
    return file;
  }

  /** Of its top directory: what lies below belongs to other parts. */
  private files(): Promise<ReadonlyMap<string, HubFile>> {
    this.listing ??= this.client.revision(this.place.repository, this.place.revision, this.signal)
      .then(({ files }) => new Map(files.filter(({ path }) => !path.includes('/')).map((file) => [file.path, file])));
    return this.listing;
  }
}
