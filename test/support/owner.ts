/**
 * Names for what a test leaves outside its process (processes, namespaces, sockets), so that a later run can tell what
 * belongs to a test process that died and clear it away, and never touches what belongs to one that lives.
 *
 * Linux only: the tag is a process id and that process's start time. It must not know what is being named.
 */
import { readFileSync } from 'node:fs';

/** Field 22 of /proc/PID/stat, counted after the command's closing parenthesis. */
const START_TIME_INDEX = 19;

/** Clock ticks since boot at which the process started; null when it does not exist. */
function startTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME_INDEX] ?? null;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** True for the errors that reading /proc gives when the process has ended meanwhile. */
export function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH');
}

/** This process, e.g. `4711x88123`: safe in namespace and file names. */
export const OWNER_TAG = `${process.pid}x${startTime(process.pid) ?? '0'}`;

let nextName = 1;

/** A name no other test process and no earlier call uses, e.g. `4711x88123-3`. */
export function uniqueName(): string {
  const name = `${OWNER_TAG}-${nextName}`;
  nextName += 1;
  return name;
}

/** Whether the process that made a name (or anything that starts with its tag) is alive; true when it is no such name. */
export function ownerLives(name: string): boolean {
  const match = /^(\d+)x(\d+)/.exec(name);
  if (match === null) return true;
  return startTime(Number(match[1])) === match[2];
}

// vitest ends its workers with SIGTERM, which by itself skips the exit handlers that clear things away.
process.once('SIGTERM', () => process.exit(143));
