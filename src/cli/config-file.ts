/**
 * Reads a cluster file from disk: TOML, and the line of every key, so that messages can point at it.
 *
 * What the values must be is core/cluster-file.ts's business. It must not know placement or the network.
 */
import { readFile } from 'node:fs/promises';
import { parse, TomlError } from 'smol-toml';
import { problemText, readClusterFile } from '../core/cluster-file.js';
import type { ClusterFile, KeyPath } from '../core/cluster-file.js';
import { RingError } from '../core/errors.js';
import { systemTroubleOf } from '../core/system-trouble.js';

/** A cluster file larger than this is something else. */
const MAX_CONFIG_BYTES = 1 << 20;
/** Tables within tables; the file needs two. */
const MAX_TOML_DEPTH = 16;
/** Problems that one message lists. */
const MAX_LISTED_PROBLEMS = 20;

export interface LoadedClusterFile {
  readonly file: ClusterFile;
  /** For people; the file is used all the same. */
  readonly warnings: readonly string[];
}

/** Throws `bad_config`: file, key and line of every problem. */
export async function loadClusterFile(path: string): Promise<LoadedClusterFile> {
  let text: string;
  try {
    const bytes = await readFile(path);
    if (bytes.length > MAX_CONFIG_BYTES) throw new RingError('bad_config', `${path} has ${bytes.length} bytes; a cluster file has at most ${MAX_CONFIG_BYTES}`);
    text = bytes.toString('utf8');
  } catch (error) {
    if (error instanceof RingError) throw error;
    throw new RingError('bad_config', `cannot read the cluster file ${path} (${systemTroubleOf(error)}): name a TOML file with --config`, { path }, { cause: error });
  }
  return parseClusterFile(text, path);
}

/** `name` is what messages call the file. Throws `bad_config`. */
export function parseClusterFile(text: string, name: string): LoadedClusterFile {
  const result = readClusterFile(parseToml(text, name), lineFinder(text));
  const warnings = result.warnings.map((warning) => problemText(name, warning));
  if (result.kind === 'valid') return { file: result.file, warnings };
  const shown = result.problems.slice(0, MAX_LISTED_PROBLEMS).map((problem) => problemText(name, problem));
  if (result.problems.length > MAX_LISTED_PROBLEMS) shown.push(`and ${result.problems.length - MAX_LISTED_PROBLEMS} more problems`);
  throw new RingError('bad_config', shown.join('\n'), { file: name, problems: result.problems.length, line: result.problems[0]?.line ?? null });
}

function parseToml(text: string, name: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text, { integersAsBigInt: true, maxDepth: MAX_TOML_DEPTH });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const first = error.message.split('\n')[0] ?? 'not TOML';
    throw new RingError('bad_config', `${name}, line ${error.line}, column ${error.column}: ${first}`, { file: name, line: error.line }, { cause: error });
  }
}

const TABLE_HEADER = /^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$/;
const KEY = /^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=\s*(.*)$/;

/**
 * Finds the line of a key in a file that parsed: headers, `key = value` and dotted keys. A key that stands in an inline
 * table, or is missing, is looked for in what contains it: the line of the nearest table; null when there is none.
 */
function lineFinder(text: string): (path: KeyPath) => number | null {
  const lines = new Map<string, number>();
  const counts = new Map<string, number>();
  let table: KeyPath = [];
  let closing: string | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    if (closing !== null) {
      if (line.includes(closing)) closing = null;
      continue;
    }
    const header = TABLE_HEADER.exec(line);
    if (header !== null) {
      table = keyParts(header[2] ?? '');
      if (header[1] === '[[') {
        const count = counts.get(table.join('.')) ?? 0;
        counts.set(table.join('.'), count + 1);
        note(lines, table, index + 1);
        table = [...table, count];
      }
      note(lines, table, index + 1);
      continue;
    }
    const assignment = KEY.exec(line);
    if (assignment === null) continue;
    note(lines, [...table, ...keyParts(assignment[1] ?? '')], index + 1);
    closing = openString(assignment[2] ?? '');
  }
  return (path) => {
    for (let length = path.length; length > 0; length -= 1) {
      const line = lines.get(path.slice(0, length).join('.'));
      if (line !== undefined) return line;
    }
    return null;
  };
}

/** The first place of a path counts. */
function note(lines: Map<string, number>, path: KeyPath, line: number): void {
  const key = path.join('.');
  if (!lines.has(key)) lines.set(key, line);
}

function keyParts(text: string): readonly string[] {
  return text.split('.').map((part) => part.trim().replace(/^["']|["']$/g, ''));
}

/** The mark that ends a multi-line string which begins in this value and goes on; null when none does. */
function openString(value: string): string | null {
  for (const mark of ['"""', "'''"]) {
    if (value.startsWith(mark) && !value.slice(mark.length).includes(mark)) return mark;
  }
  return null;
}
