/**
 * The single executable's first words: lays what it carries into a private directory of its own version, looks that every
 * byte there is right, and goes on as the agent or, with a first argument of its own, as a runner.
 *
 * Libraries can only be loaded from files: that is why there is a directory at all. It must not know the agent.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { getAsset } from 'node:sea';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { AGENT_PROGRAM, digestOf, IMPORTER, MANIFEST_ASSET, RUNNER_ARGUMENT, RUNNER_PROGRAM } from './payload.js';
import type { Manifest, PayloadFile } from './payload.js';

/** Kept names are long enough that two builds do not meet. */
const DIGEST_CHARACTERS = 16;
/** Another version's directory is given back when it was not used for so long. */
const FORGET_AFTER_MS = 30 * 24 * 3_600_000;
const PRIVATE = 0o700;

/** The platform's usual place for what can be made again. */
function cacheDirectory(): string {
  const { RING_AGENT_CACHE, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (RING_AGENT_CACHE !== undefined && RING_AGENT_CACHE !== '') return join(RING_AGENT_CACHE, 'ring-agent');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'ring-agent');
  if (process.platform === 'win32') return join(LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'ring-agent', 'cache');
  return join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ring-agent');
}

function content(file: PayloadFile): Buffer {
  const unpacked = gunzipSync(new Uint8Array(getAsset(file.digest)));
  if (digestOf(unpacked) !== file.digest) throw new Error(`this executable is damaged (${file.path}): get it again`);
  return unpacked;
}

function isWhole(directory: string, file: PayloadFile): boolean {
  const path = join(directory, file.path);
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isFile() && found.size === file.bytes && digestOf(readFileSync(path)) === file.digest;
}

/** Atomic: whoever sees the file sees all of it. */
function write(directory: string, file: PayloadFile): void {
  const path = join(directory, file.path);
  const unfinished = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE });
  writeFileSync(unfinished, content(file), { mode: 0o600 });
  renameSync(unfinished, path);
}

/** Others must not be able to put code there. */
function ensurePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: PRIVATE });
  const found = lstatSync(directory);
  if (!found.isDirectory()) throw new Error(`${directory} is not a directory: remove it`);
  if (process.getuid !== undefined && found.uid !== process.getuid()) throw new Error(`${directory} belongs to another user: remove it, or name another place in RING_AGENT_CACHE`);
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) chmodSync(directory, PRIVATE);
}

function removeForgotten(cache: string, current: string): void {
  const oldest = Date.now() - FORGET_AFTER_MS;
  for (const name of readdirSync(cache)) {
    const directory = join(cache, name);
    if (name !== current && statSync(directory, { throwIfNoEntry: false })?.mtimeMs !== undefined && statSync(directory).mtimeMs < oldest) rmSync(directory, { recursive: true, force: true });
  }
}

/** The directory with everything in it. A runner's agent has looked a moment ago. */
function unpack(look: boolean): string {
  const text = getAsset(MANIFEST_ASSET, 'utf8');
  const manifest = JSON.parse(text) as Manifest;
  const name = `${manifest.version}-${digestOf(text).slice(0, DIGEST_CHARACTERS)}`;
  const cache = cacheDirectory();
  const directory = join(cache, name);
  try {
    if (!look && existsSync(join(directory, RUNNER_PROGRAM))) return directory;
    ensurePrivate(cache);
    const isNew = !existsSync(directory);
    ensurePrivate(directory);
    for (const file of manifest.files) if (!isWhole(directory, file)) write(directory, file);
    const now = new Date();
    utimesSync(directory, now, now);
    if (isNew) removeForgotten(cache, name);
    return directory;
  } catch (error) {
    throw new Error(`what this executable carries cannot be laid into ${directory}: ${error instanceof Error ? error.message : String(error)}. RING_AGENT_CACHE names another directory`, { cause: error });
  }
}

function start(): void {
  const typed = process.argv.slice(2);
  const isRunner = typed[0] === RUNNER_ARGUMENT;
  const directory = unpack(!isRunner);
  const program = join(directory, isRunner ? RUNNER_PROGRAM : AGENT_PROGRAM);
  process.argv.splice(1, process.argv.length, program, ...isRunner ? typed.slice(1) : typed);
  // Code inside the executable cannot import files; a file can.
  const load = createRequire(program)(join(directory, IMPORTER)) as (address: string) => Promise<unknown>;
  load(pathToFileURL(program).href).catch(fail);
}

function fail(error: unknown): void {
  process.stderr.write(`agent: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

try {
  start();
} catch (error) {
  fail(error);
}
