/**
 * The state directory's own manners: files replaced in one step, and one agent at a time.
 *
 * It must not know what the files mean.
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { RingError } from '../core/errors.js';
import { systemCodeOf, systemTroubleOf } from '../core/system-trouble.js';

const LOCK_FILE = 'lock';
const LOCK_ATTEMPTS = 50;
const GUARD_WAIT_MS = 10;
const GUARD_STALE_MS = 5_000;

/** The file has the old content or the new one, whatever happens in between. */
export async function writeAtomically(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  try {
    const file = await open(temporary, 'w', mode);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw stateError(path, error);
  }
}

/** Null when there is none. */
export async function readIfPresent(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw stateError(path, error);
  }
}

/** What went wrong with a file of the state directory, for people. */
export function stateError(path: string, error: unknown): RingError {
  const code = systemCodeOf(error);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new RingError('permission_denied', `${path} cannot be used (${systemTroubleOf(error)}): make the state directory writable for this user, or name another with --state-dir`, { path }, { cause: error });
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new RingError('disk_full', `${path} cannot be written: the disk is full`, { path }, { cause: error });
  }
  return new RingError('io_failed', `${path} cannot be used (${systemTroubleOf(error)}): name another directory with --state-dir`, { path }, { cause: error });
}

export interface StateLock {
  release(): Promise<void>;
}

interface Owner {
  readonly pid: number;
  /** Tells a process from a later one with the same id; empty where the system does not say. */
  readonly started: string;
}

/**
 * Takes the state directory for this process, creating it when needed. A lock whose process is gone is taken over.
 * Throws `state_locked` naming the process, or `permission_denied`.
 */
export async function lockStateDirectory(directory: string): Promise<StateLock> {
  const path = join(directory, LOCK_FILE);
  const own = JSON.stringify({ pid: process.pid, started: startOf(process.pid) } satisfies Owner);
  const prepared = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.new`;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(prepared, own, { mode: 0o600 });
  } catch (error) {
    throw stateError(directory, error);
  }
  try {
    for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
      // A link appears with its content, so that nobody ever reads half a lock.
      if (await linked(prepared, path)) return { release: () => release(path, own) };
      await takeOverStale(directory, path, prepared);
    }
  } finally {
    await rm(prepared, { force: true });
  }
  throw new RingError('state_locked', `the state directory ${directory} keeps being locked by other agents: use one of its own for each agent (--state-dir)`, { directory });
}

/** The process that uses `directory` now, from its start to its very end; null when none does. */
export async function lockOwner(directory: string): Promise<number | null> {
  const content = await readIfPresent(join(directory, LOCK_FILE));
  const owner = content === null ? null : parseOwner(content.toString('utf8'));
  return owner !== null && isAlive(owner) ? owner.pid : null;
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to).catch(async (error: unknown) => {
      // File systems without hard links (USB sticks): exclusive creation is the next best.
      if (!['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(systemCodeOf(error))) throw error;
      await writeFile(to, await readFile(from), { flag: 'wx', mode: 0o600 });
    });
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw stateError(to, error);
  }
}

/**
 * Removes the lock if its owner is gone, else throws `state_locked`. One process at a time removes, under a guard of its
 * own: otherwise a slow one could remove the lock that a faster one has just taken.
 */
async function takeOverStale(directory: string, path: string, prepared: string): Promise<void> {
  await refuseIfHeld(directory, path);
  const guard = `${path}.takeover`;
  if (!await linked(prepared, guard)) {
    // Who holds the guard needs milliseconds, unless it was killed in them.
    await pause(GUARD_WAIT_MS);
    if (await ageOf(guard) > GUARD_STALE_MS) await rm(guard, { force: true });
    return;
  }
  try {
    // What was read before the guard may be over.
    await refuseIfHeld(directory, path);
    await rm(path, { force: true });
  } catch (error) {
    if (error instanceof RingError) throw error;
    throw stateError(path, error);
  } finally {
    await rm(guard, { force: true });
  }
}

async function refuseIfHeld(directory: string, path: string): Promise<void> {
  const content = await readIfPresent(path);
  const owner = content === null ? null : parseOwner(content.toString('utf8'));
  if (owner === null || !isAlive(owner)) return;
  throw new RingError('state_locked', `an agent with process id ${owner.pid} already uses the state directory ${directory}: stop it with \`agent stop\`, or give this one another with --state-dir`, { directory, pid: owner.pid });
}

/** Milliseconds since the file was made; 0 when it is gone. */
async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).ctimeMs;
  } catch {
    // Gone meanwhile: nothing is in the way any more.
    return 0;
  }
}

async function release(path: string, own: string): Promise<void> {
  const content = await readIfPresent(path);
  if (content !== null && content.toString('utf8') === own) await rm(path, { force: true });
}

function parseOwner(text: string): Owner | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('started' in value)) return null;
    const { pid, started } = value;
    return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && typeof started === 'string' ? { pid, started } : null;
  } catch {
    return null;
  }
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (systemCodeOf(error) !== 'EPERM') return false;
  }
  const started = startOf(owner.pid);
  return started === '' || owner.started === '' || started === owner.started;
}

/** When a process started, in the kernel's own count since boot, with the boot's id; Linux only. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Field 22, counted after the command's closing parenthesis (field 2), which may itself hold spaces.
    return `${boot}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  } catch {
    return '';
  }
}
