/**
 * The node's models and shards behind one port: what it holds, what a stage needs, what peers may read.
 *
 * Peers reach tensors by digest and name only, never by path. A stage's file is made once and found ever after; two
 * requests for one file share one writer. It must not know libp2p, the ring or the engine.
 */
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { errorCodeOf, RingError } from '../core/errors.js';
import type { HeldModel, HeldShard, ModelShape } from '../core/types.js';
import type { ChatPrompt, ClusterOfStore, Log, ModelDetails, ModelLibrary, RemoteWeights, StageFiles, StageFilesRequest, StagePart, TensorContent, WeightsHeader } from '../ports.js';
import { catalogueReference, readCatalogue } from './catalogue.js';
import type { ChatTemplate } from './chat-template.js';
import { chatTemplate } from './chat-template.js';
import type { GgufHeader } from './gguf-reader.js';
import { checkedHeader, HeaderCache, isDigest } from './header-cache.js';
import { HubClient, hubOptions } from './hub-client.js';
import type { HubOptions } from './hub-client.js';
import { InternetModels } from './internet-models.js';
import { isInternetReference } from './internet-reference.js';
import { requireLicence } from './licences.js';
import { findModel } from './model-names.js';
import type { AssembledFiles } from './model-keeper.js';
import { ModelKeeper } from './model-keeper.js';
import { noteUse } from './holdings.js';
import { modelDetails } from './model-details.js';
import { modelShape } from './model-shape.js';
import type { StoredModel } from './model-store.js';
import { ModelStore } from './model-store.js';
import { FetchingTensorSource } from './remote-tensors.js';
import { ShardCache } from './shard-cache.js';
import type { StageSpec } from './stage-file.js';
import { embeddingInModel, isWhole, planStageFile } from './stage-file.js';
import type { TensorSource } from './stage-writer.js';
import { embeddingFileOf, isStageComplete, writeHeaderOnly, writeStageFile } from './stage-writer.js';
import { DigestCache, PlacedTensorSource } from './tensor-source.js';
import { expectWhole } from './whole-check.js';
import { filePieces, readPieces } from './whole-file.js';

/** Parsed headers and templates kept in memory. */
const MAX_PARSED_HEADERS = 16;
/** Of models, in an error. */
const NAMES_TOLD_MAX = 5;

const ALONE: ClusterOfStore = {
  remote: {
    header: () => Promise.reject(new RingError('peer_unreachable', 'there is no other node')),
    tensor: () => Promise.reject(new RingError('peer_unreachable', 'there is no other node')),
  },
  changed: () => Promise.resolve(),
};

export interface ModelLibraryOptions {
  readonly stateDirectory: string;
  /** `--model`: files, first shards, directories. */
  readonly modelPaths: readonly string[];
  /** Further directories with models; may be absent. */
  readonly directories?: readonly string[];
  /** Default true. */
  readonly builtIn?: boolean;
  readonly log: Log | null;
  /** Most that shards may take, in bytes; absent = as much as the disk has. */
  readonly quotaBytes?: number | null;
  /** Where models on the internet are looked for. Absent = the usual hub, without a token. */
  readonly hub?: HubOptions;
}

/** Throws RingError when a path of `modelPaths` is no model. */
export async function openModelLibrary(options: ModelLibraryOptions): Promise<DiskModelLibrary> {
  const store = await ModelStore.open({
    directories: [join(options.stateDirectory, 'models'), ...options.directories ?? []], paths: options.modelPaths, builtIn: options.builtIn ?? true, log: options.log,
  });
  const headers = new HeaderCache(join(options.stateDirectory, 'headers'));
  const client = new HubClient(options.hub ?? hubOptions({}));
  const internet = await InternetModels.open(join(options.stateDirectory, 'sources'), client, headers, options.log);
  return new DiskModelLibrary(store, headers, internet, options);
}

export class DiskModelLibrary implements ModelLibrary {
  private readonly shardCache: ShardCache;
  private readonly digests: DigestCache;
  private readonly parsed = new Map<string, GgufHeader>();
  private readonly templates = new Map<string, ChatTemplate>();
  /** Writers at work, by target. */
  private readonly writing = new Map<string, Promise<unknown>>();
  private heldShards: readonly HeldShard[];
  private keeper: ModelKeeper;

  constructor(
    private readonly store: ModelStore, private readonly headers: HeaderCache, private readonly internet: InternetModels,
    private readonly options: ModelLibraryOptions,
  ) {
    this.shardCache = new ShardCache(join(options.stateDirectory, 'shards'));
    this.digests = new DigestCache(join(options.stateDirectory, 'digests'));
    this.heldShards = this.shardCache.list();
    this.keeper = this.upkeep(() => []);
  }

  upkeep(inUse: () => readonly HeldShard[], cluster: ClusterOfStore = ALONE): ModelKeeper {
    const { stateDirectory, quotaBytes = null } = this.options;
    this.keeper = new ModelKeeper({
      stateDirectory, quotaBytes, log: this.options.log, store: this.store, internet: this.internet, models: () => this.models(),
      changed: async () => {
        await this.refresh();
        await cluster.changed();
      },
      assembled: (model, signal) => this.assembled(model, cluster.remote, signal),
      catalogued: (name) => this.catalogued(name), catalogueNames: async () => (await readCatalogue(stateDirectory)).map(({ name }) => name),
      fromInternet: (reference, signal) => this.fromInternet(reference, signal),
    }, inUse);
    return this.keeper;
  }

  models(): readonly HeldModel[] {
    const stored = this.store.list();
    const names = new Set(stored.map((model) => model.name));
    const others = this.internet.list().filter((model) => this.store.get(model.digest) === null);
    return [...stored, ...others.map((model) => {
      const name = names.has(model.name) ? `${model.name}-${model.digest.slice(0, 8)}` : model.name;
      names.add(name);
      return { ...model, name };
    })];
  }

  shards(): readonly HeldShard[] {
    return this.heldShards;
  }

  roomBytes(): Promise<number> {
    return this.keeper.roomBytes();
  }

  async resolve(reference: string, signal: AbortSignal = new AbortController().signal): Promise<HeldModel | null> {
    if (!isInternetReference(reference)) {
      const known = await this.store.resolve(reference) ?? findModel(reference, this.models());
      const catalogued = known === null ? await this.catalogued(reference) : null;
      return catalogued === null ? known : this.resolve(catalogued, signal);
    }
    const { digest } = await this.once(`reference ${reference}`, () => this.fromInternet(reference, signal));
    return this.models().find((model) => model.digest === digest) ?? null;
  }

  /** Only on terms that the user accepted. */
  private async fromInternet(reference: string, signal: AbortSignal): Promise<HeldModel> {
    await requireLicence(this.options.stateDirectory, reference);
    try {
      return await this.internet.resolve(reference, signal);
    } catch (error) {
      if (!(error instanceof RingError) || error.facts['unreachable'] !== true) throw error;
      const names = this.models().map(({ name }) => name);
      throw new RingError(error.code, `${reference}: ${error.message}${names.length === 0 ? '' : `${error.message.endsWith('?') ? '' : '.'} Models that need no internet: ${names.slice(0, NAMES_TOLD_MAX).join(', ')}${names.length > NAMES_TOLD_MAX ? ' …' : ''}`}`, error.facts, { cause: error });
    }
  }

  private async catalogued(name: string): Promise<string | null> {
    return catalogueReference(await readCatalogue(this.options.stateDirectory), name);
  }

  /** Looks for models and shards again. */
  async refresh(): Promise<void> {
    await this.store.refresh();
    this.heldShards = this.shardCache.list();
  }

  async shape(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<ModelShape> {
    const shape = modelShape(await this.headerOf(model, remote, signal), model.name);
    return model.source === undefined ? shape : { ...shape, source: model.source };
  }

  async details(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<ModelDetails> {
    return modelDetails(await this.headerOf(model, remote, signal));
  }

  async vocabularyFile(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<string> {
    const header = await this.headerOf(model, remote, signal);
    const stored = this.store.get(model.digest);
    if (stored?.loadable === true && header.files.length === 1) return stored.path;
    const target = join(this.options.stateDirectory, 'vocabularies', `${model.digest}.gguf`);
    // Written in one durable step: what is there under this name is whole.
    if (!existsSync(target)) await this.once(target, () => writeHeaderOnly(header, target));
    return target;
  }

  async renderChat(model: HeldModel, remote: RemoteWeights, chat: ChatPrompt, signal: AbortSignal): Promise<string> {
    const header = await this.headerOf(model, remote, signal);
    const template = this.templates.get(model.digest) ?? chatTemplate(header);
    remember(this.templates, model.digest, template);
    return template.render(chat);
  }

  async stageFiles(request: StageFilesRequest, remote: RemoteWeights): Promise<StageFiles> {
    const { model, range, head, tail } = request;
    // A file that was replaced under its name must not be cut by the old header.
    await this.store.refresh();
    const header = await this.headerOf(model, remote, request.signal);
    const spec: StageSpec = { range, head, tail };
    const stored = this.store.get(model.digest);
    if (stored?.loadable === true && isWhole(spec, model.layers)) return { stageFile: stored.path, embedding: null, bytes: stored.held.sizeBytes };
    if (stored === null && model.source !== undefined) await this.internet.remember(model);
    const layout = planStageFile(header, spec, { copyEmbedding: stored?.loadable !== true });
    const target = this.shardCache.pathOf(model.digest, spec);
    await this.once(target, async () => {
      const neededBytes = layout.fileBytes + (layout.embedding?.sizeBytes ?? 0);
      if (!await isStageComplete(layout, target)) await this.keeper.makeRoom(neededBytes, { modelDigest: model.digest, ...spec });
      // After room was made: what was removed is no source any more.
      const source = stored !== null ? this.storedSource(stored) : await this.fetchingSource(header, remote, request);
      const { readBytes } = await writeStageFile(layout, source, target, {
        signal: request.signal, onProgress: ({ doneBytes, totalBytes }) => request.onProgress(totalBytes === 0 ? 1 : doneBytes / totalBytes),
      });
      if (readBytes > 0 && stored === null && isWhole(spec, model.layers)) await this.compareWhole(header, target);
    });
    await noteUse(target);
    this.heldShards = this.shardCache.list();
    const rows = layout.embedding;
    const copied = rows === null ? null : { file: embeddingFileOf(target), offset: 0, ggmlType: rows.ggmlType, rows: rows.rows };
    return { stageFile: target, embedding: stored?.loadable === true && head && !isWhole(spec, model.layers) ? embeddingInModel(stored.header) : copied, bytes: layout.fileBytes };
  }

  /** The nearest holder of each tensor gives it; one reader, in the order of the files. */
  private async assembled(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<AssembledFiles> {
    const header = await this.headerOf(model, remote, signal);
    const source = await this.fetchingSource(header, remote, { model, head: true, signal });
    const name = `${model.name} as other nodes and the internet gave it`;
    return {
      originOf: (index) => {
        const pieces = filePieces(header, index);
        if (pieces === null) return null;
        source.expect(pieces.flatMap((piece) => (piece.kind === 'tensor' ? [piece.name] : [])));
        return { name, read: (start) => readPieces(pieces, start, (tensor, offset) => source.read(tensor, offset)) };
      },
      close: () => source.close(),
    };
  }

  /** With what the hub says of its files; what is not the same goes, so that the next attempt begins anew. */
  private async compareWhole(header: GgufHeader, target: string): Promise<void> {
    try {
      await expectWhole(header, await this.shardCache.places(header), this.internet.fileDigests(header.identity.digest));
    } catch (error) {
      if (errorCodeOf(error) === 'digest_mismatch') for (const path of [target, embeddingFileOf(target)]) await rm(path, { force: true });
      throw error;
    }
  }

  async convertedFile({ model, range, head, tail }: StagePart, sourceFile: string, precision: string): Promise<{ file: string; bytes: number | null }> {
    const file = this.shardCache.convertedPathOf(model.digest, { range, head, tail }, precision);
    try {
      const [source, converted] = await Promise.all([stat(sourceFile), stat(file)]);
      return { file, bytes: converted.mtimeMs >= source.mtimeMs ? converted.size : null };
    } catch {
      // Not there yet: making it says what is wrong, if anything is.
      return { file, bytes: null };
    }
  }

  async header(modelDigest: string): Promise<WeightsHeader | null> {
    if (!isDigest(modelDigest)) return null;
    const stored = this.store.get(modelDigest);
    if (stored === null) return this.headers.load(modelDigest);
    return { name: stored.held.name, sizeBytes: stored.held.sizeBytes, files: stored.header.files.map((file) => file.header) };
  }

  async tensor(modelDigest: string, tensorName: string): Promise<TensorContent | null> {
    const header = await this.localHeader(modelDigest);
    if (header === null || !header.byName.has(tensorName)) return null;
    const source = new PlacedTensorSource(this.store.get(modelDigest)?.places ?? await this.shardCache.places(header), this.digests);
    const sizeBytes = source.sizeOf(tensorName);
    if (sizeBytes === null) return null;
    const { shardCache, digests } = this;
    return { sizeBytes, digest: await source.digest(tensorName), read: async function* read(offset) {
      let begun = false;
      try {
        for await (const chunk of source.read(tensorName, offset)) {
          begun = true;
          yield chunk;
        }
      } catch (error) {
        // A file that was finished meanwhile has another name now.
        const now = begun ? undefined : (await shardCache.places(header)).get(tensorName);
        if (now === undefined) throw error;
        yield* new PlacedTensorSource(new Map([[tensorName, now]]), digests).read(tensorName, offset);
      }
    } };
  }

  /** A checkpoint's tensors are changed while they are read: once, for the file, and not before for the digest. */
  private storedSource({ places, loadable }: StoredModel): TensorSource {
    const source = new PlacedTensorSource(places, this.digests);
    return loadable ? source : { read: (name, offset) => source.read(name, offset), digest: () => Promise.resolve(null) };
  }

  private async fetchingSource(header: GgufHeader, remote: RemoteWeights, request: Pick<StageFilesRequest, 'model' | 'head' | 'signal' | 'onInternetBytes'>): Promise<FetchingTensorSource> {
    const local = new PlacedTensorSource(await this.shardCache.places(header), this.digests);
    const { source } = request.model;
    const internet = source === undefined ? null : this.internet.tensors(source, header, request.signal, (bytes) => request.onInternetBytes?.(bytes));
    return new FetchingTensorSource(header, local, remote, request.signal, { head: request.head, internet });
  }

  /** From a model or a cached header; null when this node knows nothing of it. */
  private async localHeader(digest: string): Promise<GgufHeader | null> {
    if (!isDigest(digest)) return null;
    const stored = this.store.get(digest);
    if (stored !== null) return stored.header;
    const parsed = this.parsed.get(digest);
    if (parsed !== undefined) return parsed;
    const cached = await this.headers.load(digest);
    if (cached === null) return null;
    const header = checkedHeader(cached, digest);
    remember(this.parsed, digest, header);
    return header;
  }

  private async headerOf(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<GgufHeader> {
    const local = await this.localHeader(model.digest);
    if (local !== null) return local;
    if (!isDigest(model.digest)) throw new RingError('bad_request', `${JSON.stringify(model.digest.slice(0, 80))} is no digest of a model`);
    return this.once(`header ${model.digest}`, async () => await this.localHeader(model.digest) ?? this.fetchHeader(model, remote, signal));
  }

  private async fetchHeader(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<GgufHeader> {
    const sent = await this.sentHeader(model, remote, signal);
    const header = checkedHeader(sent, model.digest);
    if (header.identity.sizeBytes !== model.sizeBytes) {
      throw new RingError('digest_mismatch', `a node says that model ${model.name} has ${header.identity.sizeBytes} bytes, the plan says ${model.sizeBytes}`, { model: model.name });
    }
    await this.headers.store(model.digest, sent);
    remember(this.parsed, model.digest, header);
    return header;
  }

  /** From a peer; from the internet when no peer has it any more. */
  private async sentHeader(model: HeldModel, remote: RemoteWeights, signal: AbortSignal): Promise<WeightsHeader> {
    try {
      return await remote.header(model.digest, signal);
    } catch (error) {
      if (model.source === undefined || signal.aborted) throw error;
      return (await this.internet.readHeader(model.source, signal)).sent;
    }
  }

  /** One writer per target; a second request waits for the first and then looks again. */
  private async once<T>(target: string, write: () => Promise<T>): Promise<T> {
    const before = this.writing.get(target) ?? Promise.resolve();
    const turn = before.then(write, write);
    const quiet = turn.then(() => undefined, () => undefined);
    this.writing.set(target, quiet);
    try {
      return await turn;
    } finally {
      if (this.writing.get(target) === quiet) this.writing.delete(target);
    }
  }
}

/** Keeps the newest `MAX_PARSED_HEADERS`. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next();
  if (map.size > MAX_PARSED_HEADERS && oldest.done !== true) map.delete(oldest.value);
}
