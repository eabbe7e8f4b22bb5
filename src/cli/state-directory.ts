/**
 * Where an agent keeps its identity, shards and running record, and how a command finds the agent that runs there.
 */
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, platform } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { RingError } from '../core/errors.js';
import { systemCodeOf, systemTroubleOf } from '../core/system-trouble.js';
import { lockOwner } from '../net/state-files.js';

const runningSchema = z.object({ pid: z.number().int().positive(), apiUrl: z.string(), apiKeyFile: z.string().nullable() });

/** What a running agent leaves in its state directory for `agent status`, `run` and `stop`. */
export type RunningAgent = z.infer<typeof runningSchema>;

const RUNNING_FILE = 'agent.json';

/** The platform's usual place for a program's state. */
export function defaultStateDirectory(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA, RING_AGENT_STATE } = process.env;
  if (RING_AGENT_STATE !== undefined && RING_AGENT_STATE !== '') return resolve(RING_AGENT_STATE);
  if (platform() === 'darwin') return join(homedir(), 'Library', 'Application Support', 'ring-agent');
  if (platform() === 'win32') return join(LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'ring-agent');
  return join(XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'ring-agent');
}

/** Creates the directory, private to its user. Throws `permission_denied` or `io_failed`. */
export async function ensureStateDirectory(directory: string): Promise<void> {
  try {
    await makeDirectories(directory);
    const probe = join(directory, `.write-test-${process.pid}`);
    await writeFile(probe, '');
    await rm(probe, { force: true });
  } catch (error) {
    const code = systemCodeOf(error);
    const denied = code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
    throw new RingError(denied ? 'permission_denied' : 'io_failed', `the state directory ${resolve(directory)} cannot be written (${systemTroubleOf(error)}): make it writable, or name another with --state-dir`, {}, { cause: error });
  }
}

/** One by one: where a directory takes none (`/proc`), Node.js's own way to make a whole path tries for ever. */
async function makeDirectories(directory: string): Promise<void> {
  const make = (): Promise<unknown> => mkdir(directory, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST' && (await stat(directory)).isDirectory()) return;
    if (systemCodeOf(error) !== 'ENOENT' || dirname(directory) === directory) throw error;
    await makeDirectories(dirname(directory));
    await make();
  }
}

/** Atomic, and readable by its user only. */
export async function writeRunningAgent(directory: string, running: RunningAgent): Promise<void> {
  const file = join(directory, RUNNING_FILE);
  await writeFile(`${file}.new`, `${JSON.stringify(running)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

export async function removeRunningAgent(directory: string): Promise<void> {
  await rm(join(directory, RUNNING_FILE), { force: true });
}

/** The agent that runs on this state directory; null when none does. */
export async function findRunningAgent(directory: string): Promise<RunningAgent | null> {
  let text: string;
  try {
    text = await readFile(join(directory, RUNNING_FILE), 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw unreadable(directory, error);
  }
  const parsed = runningSchema.safeParse(parseJson(text));
  // A killed agent leaves its record behind, and its process id may be another program's by now: the lock knows.
  return parsed.success && parsed.data.pid === await agentProcess(directory) ? parsed.data : null;
}

/** The process of the agent on this state directory, also while it starts or ends; null when there is none. */
export async function agentProcess(directory: string): Promise<number | null> {
  try {
    return await lockOwner(directory);
  } catch (error) {
    throw unreadable(directory, error);
  }
}

function unreadable(directory: string, thrown: unknown): RingError {
  const error = thrown instanceof RingError ? thrown.cause ?? thrown : thrown;
  return new RingError('permission_denied', `cannot look into the state directory ${resolve(directory)} (${systemTroubleOf(error)}): name the running agent's own with --state-dir, or run this as its user`, {}, { cause: error });
}

export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
