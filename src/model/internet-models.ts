/**
 * Models that this node knows by an internet reference: what they are, from their headers alone, and where their bytes are.
 *
 * A reference is looked up once: the header is read by range, the revision is pinned, and both are kept in `sources/` of the
 * state directory, so that a restart needs no internet and all nodes read the same bytes. It must not know stages or peers.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { HeldModel, ModelSource } from '../core/types.js';
import type { Log, WeightsHeader } from '../ports.js';
import { fileError } from './file-errors.js';
import { MAX_HEADER_BYTES, parseGgufFile } from './gguf-parser.js';
import { checkpointOf, checkpointPlaces } from './checkpoint/checkpoint.js';
import { weightFiles } from './checkpoint/safetensors.js';
import { CheckpointTensors, isCheckpointSource } from './checkpoint-tensors.js';
import type { GgufHeader } from './gguf-reader.js';
import { MAX_SHARDS, parseGgufHeader } from './gguf-reader.js';
import type { HeaderCache } from './header-cache.js';
import { isDigest } from './header-cache.js';
import type { HubClient } from './hub-client.js';
import { chooseFiles, meansCheckpoint } from './hub-files.js';
import { parseInternetReference } from './internet-reference.js';
import { JoinedRanges } from './joined-ranges.js';
import { architectureFacts, toldFacts } from './model-facts.js';
import { modelNameOf } from './model-shape.js';
import type { InternetTensors } from './remote-tensors.js';
import { RepositoryFiles } from './repository-files.js';
import type { TensorPlace } from './tensor-source.js';

const FIRST_WINDOW_BYTES = 256 * 1024;
const WINDOW_GROWTH = 4;
const MAX_RECORDS = 1000;
const MAX_REFERENCES = 32;

const recordSchema = z.object({
  name: z.string().min(1).max(200),
  digest: z.string().refine(isDigest),
  sizeBytes: z.int().nonnegative(),
  architecture: z.string().max(200),
  layers: z.int().positive(),
  trainedContext: z.int().positive().exactOptional(),
  parameters: z.int().nonnegative().exactOptional(),
  weights: z.string().max(200).exactOptional(),
  source: z.object({
    repository: z.string(), revision: z.string(),
    files: z.array(z.object({ location: z.string().max(2048), sizeBytes: z.int().nonnegative() })).min(1).max(MAX_SHARDS),
  }),
  /** SHA-256 of each whole file, where the hub says it. */
  fileDigests: z.array(z.string().nullable()),
  references: z.array(z.string()).max(MAX_REFERENCES),
});

type SourceRecord = z.infer<typeof recordSchema>;

interface FoundSource {
  readonly source: ModelSource;
  readonly fileDigests: readonly (string | null)[];
}

export class InternetModels {
  private readonly records = new Map<string, SourceRecord>();
  /** Of the checkpoint that was read last. */
  private places: { readonly key: string; readonly of: ReadonlyMap<string, TensorPlace> } | null = null;

  private constructor(private readonly directory: string, readonly client: HubClient, private readonly headers: HeaderCache, private readonly log: Log | null) {}

  static async open(directory: string, client: HubClient, headers: HeaderCache, log: Log | null): Promise<InternetModels> {
    const models = new InternetModels(directory, client, headers, log);
    for (const name of (await namesIn(directory)).filter((file) => file.endsWith('.json')).sort().slice(0, MAX_RECORDS)) {
      const record = await models.read(join(directory, name));
      if (record !== null) models.records.set(record.digest, record);
    }
    return models;
  }

  list(): readonly HeldModel[] {
    return [...this.records.values()].map(heldModel);
  }

  /** Null = nobody named it by where it is. */
  sourceOf(digest: string): ModelSource | null {
    return this.records.get(digest)?.source ?? null;
  }

  /** SHA-256 of each whole file in shard order; null where nobody said it. */
  fileDigests(digest: string): readonly (string | null)[] {
    return this.records.get(digest)?.fileDigests ?? [];
  }

  /** The same; looked up where only another node had found the model. */
  async lookUpFileDigests({ digest, source }: HeldModel, signal: AbortSignal): Promise<readonly (string | null)[]> {
    const known = this.fileDigests(digest);
    if (known.length > 0 || source === undefined || source.repository === '') return known;
    const { files } = await this.client.revision(source.repository, source.revision, signal);
    const found = source.files.map(({ location }) => files.find(({ path }) => path === location)?.sha256 ?? null);
    const record = this.records.get(digest);
    if (record !== undefined) await this.save({ ...record, fileDigests: found });
    return found;
  }

  /** Throws `bad_config`, `source_missing`, `source_refused`, `source_failed`, `bad_gguf`, `cancelled`. */
  async resolve(reference: string, signal: AbortSignal): Promise<HeldModel> {
    const known = [...this.records.values()].find((record) => record.references.includes(reference));
    if (known !== undefined) return heldModel(known);
    const found = await this.find(reference, signal);
    const { header, sent } = await this.readHeader(found.source, signal);
    const facts = architectureFacts(header);
    const before = this.records.get(header.identity.digest);
    const record: SourceRecord = {
      ...header.identity, name: before?.name ?? sent.name, architecture: facts.architecture, layers: facts.layers, ...toldFacts(header),
      source: { ...found.source, files: [...found.source.files] }, fileDigests: [...found.fileDigests],
      references: [...before?.references ?? [], reference].slice(-MAX_REFERENCES),
    };
    await this.headers.store(record.digest, sent);
    await this.save(record);
    this.log?.info('a model was found on the internet', { reference, name: record.name, digest: record.digest, bytes: record.sizeBytes });
    return heldModel(record);
  }

  /** What another node found: this one goes on without it. */
  async remember(model: HeldModel): Promise<void> {
    if (model.source === undefined || this.records.has(model.digest) || this.records.size >= MAX_RECORDS) return;
    const { source, ...known } = model;
    await this.save({ ...known, source: { ...source, files: [...source.files] }, fileDigests: [], references: [] });
  }

  /** Forgets where a model is; what was fetched of it stays. */
  async forget(digest: string): Promise<void> {
    this.records.delete(digest);
    try {
      await rm(this.pathOf(digest), { force: true });
    } catch (error) {
      throw fileError(error, this.pathOf(digest), 'write');
    }
  }

  /** The weights of a source whose header is known. */
  tensors(source: ModelSource, header: GgufHeader, signal: AbortSignal, onBytes: (bytes: number) => void): InternetTensors {
    if (!isCheckpointSource(source)) return new JoinedRanges(this.client, source, header, signal, onBytes);
    return new CheckpointTensors({ client: this.client, source, header, places: () => this.placesOf(source, signal), signal, onBytes });
  }

  /** The header of a source, read by range. The caller compares the digest with what it wants. */
  async readHeader(source: ModelSource, signal: AbortSignal): Promise<{ header: GgufHeader; sent: WeightsHeader }> {
    if (isCheckpointSource(source)) {
      const { header } = await checkpointOf(this.filesOf(source, signal));
      return { header, sent: { name: repositoryName(source.repository), sizeBytes: header.identity.sizeBytes, files: header.files.map((file) => file.header) } };
    }
    const files: Uint8Array[] = [];
    for (let index = 0; index < source.files.length; index++) files.push(await this.fileHeader(source, index, signal));
    const sizeBytes = source.files.reduce((sum, file) => sum + file.sizeBytes, 0);
    const name = modelNameOf(decodeURIComponent(source.files[0]?.location.split(/[?#]/)[0] ?? 'model'));
    const header = parseGgufHeader(files, sizeBytes, name);
    return { header, sent: { name, sizeBytes, files } };
  }

  private async find(reference: string, signal: AbortSignal): Promise<FoundSource> {
    const parsed = parseInternetReference(reference);
    if (parsed.kind === 'url') {
      const sizeBytes = await this.client.sizeOf(parsed.url, signal);
      return { source: { repository: '', revision: '', files: [{ location: parsed.url, sizeBytes }] }, fileDigests: [null] };
    }
    const { commit, files } = await this.client.revision(parsed.repository, parsed.revision, signal);
    if (meansCheckpoint(files, parsed)) return this.checkpointSource(parsed.repository, commit, signal);
    const chosen = chooseFiles(parsed.repository, files, parsed);
    return {
      source: { repository: parsed.repository, revision: commit, files: chosen.map((file) => ({ location: file.path, sizeBytes: file.sizeBytes })) },
      fileDigests: chosen.map((file) => file.sha256),
    };
  }

  /** Its weights; what else it has is found by the repository and the commit. */
  private async checkpointSource(repository: string, revision: string, signal: AbortSignal): Promise<FoundSource> {
    const files = this.filesOf({ repository, revision }, signal);
    const { weights } = await weightFiles(files);
    return { source: { repository, revision, files: await Promise.all(weights.map(async (location) => ({ location, sizeBytes: await files.sizeOf(location) }))) }, fileDigests: [] };
  }

  filesOf({ repository, revision }: Pick<ModelSource, 'repository' | 'revision'>, signal: AbortSignal): RepositoryFiles {
    return new RepositoryFiles(this.client, { repository, revision }, signal);
  }

  /** From the configuration and the heads of the weight files, once for the stages that are made now and soon. */
  private async placesOf(source: ModelSource, signal: AbortSignal): Promise<ReadonlyMap<string, TensorPlace>> {
    const key = `${source.repository}@${source.revision}`;
    if (this.places?.key === key) return this.places.of;
    const of = await checkpointPlaces(this.filesOf(source, signal));
    this.places = { key, of };
    return of;
  }

  /** Grows the window until the header is whole; reads no byte twice. */
  private async fileHeader(source: ModelSource, index: number, signal: AbortSignal): Promise<Uint8Array> {
    const file = source.files[index];
    const url = this.client.urlOf(source, index);
    const sizeBytes = file?.sizeBytes ?? 0;
    const parts: Uint8Array[] = [];
    let have = 0;
    let wanted = Math.min(FIRST_WINDOW_BYTES, sizeBytes);
    for (;;) {
      for await (const chunk of this.client.read(url, { start: have, end: wanted, sizeBytes }, signal)) {
        parts.push(chunk);
        have += chunk.length;
      }
      const bytes = new Uint8Array(Buffer.concat(parts));
      const result = parseGgufFile(bytes, sizeBytes, url);
      if (!('needBytes' in result)) return bytes.subarray(0, result.headerBytes);
      const limit = Math.min(sizeBytes, MAX_HEADER_BYTES);
      if (have >= limit) throw new RingError('bad_gguf', `${url}: the header does not end. The file is damaged or not a model: choose another.`, { url });
      wanted = Math.min(Math.max(have * WINDOW_GROWTH, result.needBytes), limit);
    }
  }

  private pathOf(digest: string): string {
    return join(this.directory, `${digest}.json`);
  }

  private async save(record: SourceRecord): Promise<void> {
    const path = this.pathOf(record.digest);
    try {
      await mkdir(this.directory, { recursive: true });
      await writeFile(`${path}.partial`, JSON.stringify(record), { flush: true });
      await rename(`${path}.partial`, path);
    } catch (error) {
      throw fileError(error, path, 'write');
    }
    this.records.set(record.digest, record);
  }

  private async read(path: string): Promise<SourceRecord | null> {
    try {
      return recordSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    } catch (error) {
      this.log?.warn('a damaged note about a model was left out: name the model again', { path, error: errorMessageOf(error) });
      return null;
    }
  }
}

function heldModel(record: SourceRecord): HeldModel {
  const { fileDigests: _digests, references: _references, ...held } = record;
  return held;
}

/** `owner/repo` without the owner. */
function repositoryName(repository: string): string {
  return repository.slice(repository.indexOf('/') + 1);
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    // Nothing was named yet.
    return [];
  }
}
