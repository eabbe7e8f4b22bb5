/**
 * The declarative cluster file: what its parsed data must look like, and what it means.
 *
 * One table of fields (core/cluster-file-fields.ts) gives types, defaults and documentation; here values are read
 * through it, and every problem names key and line. It must not know TOML, files or the network.
 */
import { clusterFields, nodeFields, placementFields, suggestionFor } from './cluster-file-fields.js';
import type { Field } from './cluster-file-fields.js';
import { parseDevices } from './backends.js';
import { ACTIVATION_TYPES, CACHE_TYPES } from './formats.js';
import type { NodeSettings } from './placement-types.js';
import { parsePrecision } from './precision.js';
import type { Precision } from './precision.js';
import type { ActivationType, DeviceKind, GgmlCacheType, LayerRange, PlacementPolicy } from './types.js';

/** Nodes in one file. */
export const MAX_FILE_NODES = 4096;
const BYTES_PER_GB = 1e9;

export interface ClusterFile {
  /** A GGUF path, a hub reference, or a checkpoint directory. */
  readonly model: string;
  /** Prompt length that stages are sized for, in tokens. */
  readonly promptTokens: number;
  readonly reserveBytes: number;
  /** How long an answer waits while its ring is planned again; null = the usual time. */
  readonly replanDeadlineMs: number | null;
  /** Of keys and values; null = the planner's choice. */
  readonly cacheType: GgmlCacheType | null;
  /** Null = f32. */
  readonly activations: ActivationType | null;
  /** Named as `model` is; null = none. */
  readonly draft: string | null;
  readonly policy: PlacementPolicy;
  /** In pipeline order; never empty. */
  readonly nodes: readonly ClusterFileNode[];
}

export interface ClusterFileNode {
  readonly host: string;
  readonly port: number;
  /** Null = this machine. */
  readonly ssh: string | null;
  readonly checkpointDirectory: string;
  /** First is primary. */
  readonly devices: readonly DeviceKind[];
  /** Null = weights as the checkpoint stores them. */
  readonly precision: Precision | null;
  /** Null = the device's memory (host memory on cpu). */
  readonly keyValueCache: 'none' | 'host' | 'device' | null;
  /** Its own seed, else the file's, else 0. u32 */
  readonly seed: number;
  readonly maxRamBytes: number | null;
  readonly layers: LayerRange | null;
}

/** A key's place: table names, 0-based array indices, key. */
export type KeyPath = readonly (string | number)[];

export interface ConfigProblem {
  /** As people write it, e.g. `seq` or `node 2: addr`. */
  readonly key: string;
  /** 1-based; null when unknown. */
  readonly line: number | null;
  readonly message: string;
}

export type ClusterFileResult =
  | { readonly kind: 'valid'; readonly file: ClusterFile; readonly warnings: readonly ConfigProblem[] }
  | { readonly kind: 'invalid'; readonly problems: readonly ConfigProblem[]; readonly warnings: readonly ConfigProblem[] };

/** `data`: tables as plain objects, integers as bigint, floats as number. `lineOf` finds a key, or what contains it. */
export function readClusterFile(data: Readonly<Record<string, unknown>>, lineOf: (path: KeyPath) => number | null): ClusterFileResult {
  const reader = new TableReader(data, [], clusterFields, lineOf);
  const model = reader.text('model');
  const promptTokens = reader.integer('seq');
  const seed = reader.integer('rng_seed');
  const reserveGb = reader.number('reserve_ram_gb');
  const replanDeadline = reader.number('replan_deadline');
  const cacheType = reader.text('kv_type');
  const activations = reader.text('activations');
  const draft = reader.text('draft');
  const placement = reader.table('placement', placementFields);
  const policy = placement.text('policy');
  const tables = reader.tables('node', nodeFields);
  if (tables.length === 0 && data['node'] !== undefined) reader.problem('node', 'is empty; a cluster has at least one [[node]]');
  if (tables.length > MAX_FILE_NODES) reader.problem('node', `has ${tables.length} entries; at most ${MAX_FILE_NODES} are read`);
  const nodes = tables.slice(0, MAX_FILE_NODES).map((table) => readNode(table, seed));
  findDuplicates(tables, nodes);
  const readers = [reader, placement, ...tables];
  const warnings = readers.flatMap((table) => table.unknownKeys());
  const problems = readers.flatMap((table) => table.problems);
  if (problems.length > 0) return { kind: 'invalid', problems, warnings };
  return {
    kind: 'valid',
    warnings,
    file: {
      model: model ?? '',
      promptTokens: promptTokens ?? 0,
      reserveBytes: gigabytes(reserveGb ?? 0),
      replanDeadlineMs: replanDeadline === null ? null : replanDeadline * 1000,
      cacheType: CACHE_TYPES.find((type) => type === cacheType) ?? null,
      activations: ACTIVATION_TYPES.find((type) => type === activations) ?? null,
      draft,
      policy: policyOf(policy),
      nodes,
    },
  };
}

/** What placement needs to know of a node from the file. */
export function settingsOf(file: ClusterFile, node: ClusterFileNode): NodeSettings {
  return {
    reserveBytes: file.reserveBytes,
    devices: node.devices,
    seed: node.seed,
    ...(node.precision === null ? {} : { precision: node.precision.name }),
    ...(node.keyValueCache === null ? {} : { keyValueCache: node.keyValueCache }),
    ...(node.maxRamBytes === null ? {} : { maxRamBytes: node.maxRamBytes }),
    ...(node.layers === null ? {} : { layers: node.layers }),
  };
}

/** `file, line 3: node 2: addr: must be host:port` */
export function problemText(fileName: string, problem: ConfigProblem): string {
  return `${fileName}${problem.line === null ? '' : `, line ${problem.line}`}: ${problem.key} ${problem.message}`;
}

function readNode(table: TableReader, clusterSeed: number | null): ClusterFileNode {
  const address = table.text('addr');
  const endpoint = address === null ? null : parseEndpoint(address);
  if (address !== null && endpoint === null) table.problem('addr', `must be "host:port" with a port from 1 to 65535, not "${address}"`);
  const ssh = table.text('ssh');
  // ssh would read it as an option.
  if (ssh !== null && ssh.startsWith('-')) table.problem('ssh', `must not begin with "-": "${ssh}"`);
  const deviceText = table.text('device') ?? '';
  const devices = parseDevices(deviceText);
  if (devices.kind === 'bad' && !table.hasProblem('device')) table.problem('device', `is wrong: ${devices.message}`);
  const precisionText = table.text('precision');
  const precision = precisionText === null ? null : parsePrecision(precisionText);
  if (precisionText !== null && precision === null) {
    table.problem('precision', `"${precisionText}" is unknown; use f32, f16, bf16, mixed, fp8, fp8e5m2, mxfp8, nvfp4, mxfp4, or fNeXmY with N = 1 + X + Y, N <= 8, X >= 1`);
  }
  const maxRamGb = table.number('max_ram_gb');
  return {
    host: endpoint?.host ?? '',
    port: endpoint?.port ?? 0,
    ssh,
    checkpointDirectory: table.text('ckpt_dir') ?? '',
    devices: devices.kind === 'devices' ? devices.devices : [],
    precision,
    keyValueCache: cacheOf(table.text('kv_cache')),
    seed: table.integer('rng_seed') ?? clusterSeed ?? 0,
    maxRamBytes: maxRamGb === null ? null : gigabytes(maxRamGb),
    layers: readLayers(table),
  };
}

function readLayers(table: TableReader): LayerRange | null {
  const text = table.text('layers');
  if (text === null) return null;
  const match = /^\s*(\d{1,6})\s*:\s*(\d{1,6})\s*$/.exec(text);
  if (match === null) {
    table.problem('layers', `must be "first:end", e.g. "0:12" for layers 0 to 11, not "${text}"`);
    return null;
  }
  const range = { start: Number(match[1]), end: Number(match[2]) };
  if (range.start >= range.end) table.problem('layers', `"${text.trim()}" is empty; the first number must be below the second`);
  return range;
}

/** IPv6 addresses stand in brackets. Null when it is no `host:port`. */
function parseEndpoint(text: string): { readonly host: string; readonly port: number } | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/-][^\s:[\]/]*)):(\d{1,5})$/.exec(text.trim());
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  return host === undefined || !(port >= 1 && port <= 65535) ? null : { host, port };
}

function findDuplicates(tables: readonly TableReader[], nodes: readonly ClusterFileNode[]): void {
  const seen = new Map<string, number>();
  for (const [index, node] of nodes.entries()) {
    if (node.host === '') continue;
    const address = `${node.host.toLowerCase()}:${node.port}`;
    const first = seen.get(address);
    if (first !== undefined) tables[index]?.problem('addr', `"${node.host}:${node.port}" is node ${first + 1}'s too; every node has its own`);
    else seen.set(address, index);
  }
}

function policyOf(text: string | null): PlacementPolicy {
  return text === 'throughput' || text === 'manual' ? text : 'ram_balanced';
}

function cacheOf(text: string | null): ClusterFileNode['keyValueCache'] {
  return text === 'none' || text === 'host' || text === 'device' ? text : null;
}

/** Decimal: 1 GB = 1e9 bytes. */
function gigabytes(value: number): number {
  return Math.trunc(value * BYTES_PER_GB);
}

/** Reads one table through its fields, and collects what is wrong with it. */
class TableReader {
  readonly problems: ConfigProblem[] = [];

  constructor(
    private readonly data: Readonly<Record<string, unknown>>,
    private readonly path: KeyPath,
    private readonly fields: readonly Field[],
    private readonly lineOf: (path: KeyPath) => number | null,
  ) {}

  text(key: string): string | null {
    const value = this.value(key);
    if (value === null) return null;
    const allowed = this.field(key)?.values;
    if (typeof value !== 'string') return this.wrong(key, `must be text in quotes, not ${kindOf(value)}`);
    if (value.trim() === '') return this.wrong(key, 'is empty');
    if (allowed !== undefined && !allowed.includes(value)) {
      const guess = suggestionFor(value, allowed);
      return this.wrong(key, `must be ${allowed.join(', ')}, not "${value}"${guess === null ? '' : `; did you mean "${guess}"?`}`);
    }
    return value;
  }

  integer(key: string): number | null {
    const value = this.value(key);
    if (value === null) return null;
    const [low, high] = this.field(key)?.range ?? [0, Number.MAX_SAFE_INTEGER];
    if (typeof value !== 'bigint') return this.wrong(key, `must be an integer, not ${kindOf(value)}`);
    if (value < BigInt(low) || value > BigInt(high)) return this.wrong(key, `must be from ${low} to ${high}, not ${value}`);
    return Number(value);
  }

  /** Integers are accepted where a float is meant. */
  number(key: string): number | null {
    const value = this.value(key);
    if (value === null) return null;
    if (typeof value !== 'bigint' && typeof value !== 'number') return this.wrong(key, `must be a number, not ${kindOf(value)}`);
    const number = Number(value);
    const [low, high] = this.field(key)?.range ?? [0, Number.MAX_SAFE_INTEGER];
    if (!Number.isFinite(number) || number < low || number > high) return this.wrong(key, `must be from ${low} to ${high}, not ${String(value)}`);
    return number;
  }

  table(key: string, fields: readonly Field[]): TableReader {
    const value = this.data[key];
    const table = tableIn(value);
    if (value !== undefined && table === null) this.problem(key, `must be a table, [${key}], not ${kindOf(value)}`);
    return new TableReader(table ?? {}, [...this.path, key], fields, this.lineOf);
  }

  tables(key: string, fields: readonly Field[]): readonly TableReader[] {
    const value = this.data[key];
    if (value === undefined) {
      this.problem(key, `is missing; a cluster has at least one [[${key}]]`);
      return [];
    }
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!Array.isArray(value)) this.problem(key, `must be written [[${key}]], one for each, not ${kindOf(value)}`);
    return items.map((item, index) => {
      const table = tableIn(item);
      if (table === null) this.problem(key, `must be a list of tables, not of ${kindOf(item)}`);
      return new TableReader(table ?? {}, [...this.path, key, index], fields, this.lineOf);
    });
  }

  problem(key: string, message: string): void {
    this.problems.push({ key: this.keyText(key), line: this.lineOf([...this.path, key]), message });
  }

  hasProblem(key: string): boolean {
    return this.problems.some((problem) => problem.key === this.keyText(key));
  }

  /** Keys that mean nothing: mistyped, or from a newer version. */
  unknownKeys(): readonly ConfigProblem[] {
    const known = this.fields.map((field) => field.key);
    return Object.keys(this.data).filter((key) => !known.includes(key)).map((key) => {
      const guess = suggestionFor(key, known);
      return {
        key: this.keyText(key),
        line: this.lineOf([...this.path, key]),
        message: `is unknown and has no effect${guess === null ? '' : `; did you mean "${guess}"?`}`,
      };
    });
  }

  private field(key: string): Field | undefined {
    return this.fields.find((field) => field.key === key);
  }

  /** The written value, else the default; null = neither. A required key that is missing is a problem, once. */
  private value(key: string): unknown {
    const written = this.data[key];
    if (written !== undefined) return written;
    const field = this.field(key);
    if (field?.required === true && !this.hasProblem(key)) this.problem(key, 'is missing');
    return field?.default ?? null;
  }

  private wrong(key: string, message: string): null {
    if (!this.hasProblem(key)) this.problem(key, message);
    return null;
  }

  private keyText(key: string): string {
    const [table, index] = this.path;
    if (table === undefined) return key;
    return typeof index === 'number' ? `${table} ${index + 1}: ${key}` : `${table}.${key}`;
  }
}

function tableIn(value: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date) return null;
  return Object.fromEntries(Object.entries(value));
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  switch (typeof value) {
    case 'string': return `the text "${value}"`;
    case 'bigint': return `the integer ${value}`;
    case 'number': return `the number ${value}`;
    case 'boolean': return String(value);
    default: return 'a table';
  }
}
