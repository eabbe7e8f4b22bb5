/**
 * The whole models on this node's disk: the built-in one, the state directory's `models/`, and what `--model` named.
 *
 * A model is a GGUF (one file or shards) or a checkpoint: a Hugging Face directory, whose stages are made from its
 * safetensors (checkpoint/). It is found by name, digest prefix or (for this node's own user) path. Peers reach it by digest only, through
 * model-library.ts. It must not know stages or the network.
 */
import { readdir, realpath, stat } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { existsSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { HeldModel } from '../core/types.js';
import type { Log } from '../ports.js';
import { unsupportedReason } from './architectures.js';
import { checkpointName, checkpointStamp, isCheckpoint, readCheckpoint } from './checkpoint/checkpoint.js';
import { fileError } from './file-errors.js';
import type { GgufHeader } from './gguf-reader.js';
import { modelFiles, readGgufHeader, shardName } from './gguf-reader.js';
import { architectureFacts, toldFacts } from './model-facts.js';
import { findModel } from './model-names.js';
import { modelNameOf } from './model-shape.js';
import type { TensorPlace } from './tensor-source.js';
import { modelPlaces } from './tensor-source.js';

export const BUILT_IN_NAME = 'kjv-q8_0';
const BUILT_IN_FILE = `models/${BUILT_IN_NAME}.gguf`;
/** Files of a directory beyond this are not looked at. */
const MAX_MODELS_PER_DIRECTORY = 1000;
const MAX_PARENTS = 5;
const MAX_COMPLAINTS = 1000;

export interface ModelStoreOptions {
  /** Looked at, made by nobody: may be absent. */
  readonly directories: readonly string[];
  /** `--model`: GGUF files, any shard of a sharded model, checkpoints, or directories of these. A bad one is an error. */
  readonly paths: readonly string[];
  readonly builtIn: boolean;
  readonly log: Log | null;
}

export interface StoredModel {
  readonly held: HeldModel;
  readonly header: GgufHeader;
  /** The file, the first shard, or the checkpoint's directory. */
  readonly path: string;
  /** False for a checkpoint: every stage needs a file of its own, also that of the whole model. */
  readonly loadable: boolean;
  readonly places: ReadonlyMap<string, TensorPlace>;
  /** Changes when a file changes. */
  readonly stamp: string;
}

/** The package's own model; null in a package without it. */
export function builtInModelPath(): string | null {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (let level = 0; level < MAX_PARENTS; level++) {
    const candidate = join(directory, BUILT_IN_FILE);
    if (existsSync(candidate)) return candidate;
    directory = dirname(directory);
  }
  return null;
}

export class ModelStore {
  private byDigest = new Map<string, StoredModel>();
  /** Paths that were given after the start (`agent run ./file.gguf`). */
  private readonly added = new Set<string>();
  /** What was said of files that cannot be used, by path. */
  private readonly complaints = new Map<string, string>();

  private constructor(private readonly options: ModelStoreOptions) {}

  /** Throws RingError for a path of `paths` that is not a usable model. */
  static async open(options: ModelStoreOptions): Promise<ModelStore> {
    const store = new ModelStore(options);
    await store.scan(true);
    return store;
  }

  list(): readonly HeldModel[] {
    return [...this.byDigest.values()].map((model) => model.held).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(digest: string): StoredModel | null {
    return this.byDigest.get(digest) ?? null;
  }

  /** Looks at the disk again; models whose files are gone or changed are forgotten or read anew. */
  async refresh(): Promise<void> {
    await this.scan(false);
  }

  /**
   * By name, digest prefix or path. Null when it is none of ours. A path is taken from this node's own user only. Throws
   * RingError when the path is there but no model.
   */
  async resolve(reference: string): Promise<HeldModel | null> {
    const known = findModel(reference, this.list());
    if (known !== null) return known;
    if (!looksLikePath(reference)) {
      await this.refresh();
      return findModel(reference, this.list());
    }
    const path = await existing(resolve(reference));
    if (path === null) return null;
    const model = await this.readModel(path);
    // Left out of the list like others of its kind; who names it is told why.
    const reason = unsupportedReason(model.held.architecture);
    if (reason !== null) throw new RingError('unsupported_architecture', `${path}: ${reason}`, { path, architecture: model.held.architecture });
    this.added.add(path);
    await this.refresh();
    return this.byDigest.get(model.held.digest)?.held ?? null;
  }

  private async scan(strict: boolean): Promise<void> {
    const found = new Map<string, StoredModel>();
    const names = new Set<string>();
    const known = new Map([...this.byDigest.values()].map((model) => [model.path, model]));
    for (const { path, explicit } of await this.candidates()) {
      const model = await this.tryRead(path, explicit && strict, known.get(path) ?? null);
      if (model === null || found.has(model.held.digest)) continue;
      const base = model.loadable ? modelNameOf(path) : checkpointName(path);
      const name = names.has(base) ? `${base}-${model.held.digest.slice(0, 8)}` : base;
      names.add(name);
      found.set(model.held.digest, { ...model, held: { ...model.held, name } });
    }
    this.byDigest = found;
  }

  /** First shards and single files, what people named first. */
  private async candidates(): Promise<{ path: string; explicit: boolean }[]> {
    const files: { path: string; explicit: boolean }[] = [];
    for (const path of [...this.options.paths, ...this.added]) {
      const absolute = await existing(resolve(path));
      if (absolute === null) {
        if (this.options.paths.includes(path)) throw new RingError('unknown_model', `--model ${path}: there is no such file or directory`, { path });
        continue;
      }
      if ((await stat(absolute)).isDirectory() && !await isCheckpoint(absolute)) files.push(...(await modelsIn(absolute)).map((file) => ({ path: file, explicit: false })));
      else files.push({ path: absolute, explicit: true });
    }
    for (const directory of this.options.directories) files.push(...(await modelsIn(directory)).map((file) => ({ path: file, explicit: false })));
    const builtIn = this.options.builtIn ? builtInModelPath() : null;
    if (builtIn !== null) files.push({ path: builtIn, explicit: false });
    return files.map(({ path, explicit }) => ({ path: firstFileOf(path), explicit }));
  }

  private async tryRead(path: string, strict: boolean, before: StoredModel | null): Promise<StoredModel | null> {
    try {
      if (before !== null && before.stamp === await stampOf(path)) return before;
      const model = await this.readModel(path);
      const reason = unsupportedReason(model.held.architecture);
      if (reason !== null && !strict) {
        this.options.log?.debug('a file was left out', { path, reason });
        return null;
      }
      return model;
    } catch (error) {
      if (strict) throw error;
      this.complain(path, errorMessageOf(error));
      return null;
    }
  }

  /** Once, until it is another complaint: directories are looked at again and again. */
  private complain(path: string, error: string): void {
    if (this.complaints.get(path) === error) return;
    if (this.complaints.size >= MAX_COMPLAINTS) this.complaints.clear();
    this.complaints.set(path, error);
    this.options.log?.warn('a model file cannot be used', { path, error });
  }

  private async readModel(path: string): Promise<StoredModel> {
    const checkpoint = await isCheckpoint(path);
    const first = firstFileOf(path);
    const stamp = await stampOf(first);
    const { header, places } = checkpoint ? await readCheckpoint(path) : await readGguf(first);
    const facts = architectureFacts(header);
    const name = checkpoint ? checkpointName(path) : modelNameOf(first);
    const held: HeldModel = { ...header.identity, name, architecture: facts.architecture, layers: facts.layers, ...toldFacts(header), ...(checkpoint ? { checkpoint } : {}) };
    return { held, header, places, loadable: !checkpoint, path: first, stamp };
  }
}

async function readGguf(path: string): Promise<Pick<StoredModel, 'header' | 'places'>> {
  const header = await readGgufHeader(path);
  return { header, places: modelPlaces(header) };
}

function looksLikePath(reference: string): boolean {
  return reference.includes('/') || reference.includes(sep) || reference.toLowerCase().endsWith('.gguf');
}

function firstFileOf(path: string): string {
  return modelFiles(path)[0] ?? path;
}

async function existing(path: string): Promise<string | null> {
  try {
    await stat(path);
    return path;
  } catch {
    // Not there (or not for us to see): the caller says so in its own words.
    return null;
  }
}

async function stampOf(path: string): Promise<string> {
  if (await isCheckpoint(path)) return checkpointStamp(path);
  const stamps: string[] = [];
  for (const file of modelFiles(path)) {
    try {
      const { ino, size, mtimeMs } = await stat(await realpath(file));
      stamps.push(`${ino}-${size}-${mtimeMs}`);
    } catch (error) {
      throw fileError(error, file, 'read');
    }
  }
  return stamps.join(' ');
}

/** The directory itself when it is a checkpoint; else its GGUFs, and the checkpoints one level below. */
async function modelsIn(directory: string): Promise<string[]> {
  if (await isCheckpoint(directory)) return [directory];
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch {
    // A directory that does not exist holds no models.
    return [];
  }
  const names = entries.map((entry) => entry.name).sort();
  const files = names.filter((name) => name.toLowerCase().endsWith('.gguf')).filter((name) => (shardName(name)?.number ?? 1) === 1);
  const below = entries.filter((entry) => !entry.isFile() && !entry.name.startsWith('.')).map((entry) => entry.name).sort().slice(0, MAX_MODELS_PER_DIRECTORY);
  const checkpoints: string[] = [];
  for (const name of below) if (await isCheckpoint(join(directory, name))) checkpoints.push(name);
  return [...files.slice(0, MAX_MODELS_PER_DIRECTORY), ...checkpoints].map((name) => join(directory, name));
}
