/**
 * Resident memory of processes from outside, as the system counts it: the check of what agents say about themselves.
 * Linux only (/proc); elsewhere there is no figure. It must not know agents' APIs.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const RUNNER = join('src', 'runner', 'main.js');
/** Until an idle runner has loaded its code. */
const IDLE_SETTLE_MS = 1_500;

/** Null when the process has ended or the system has no /proc. */
export function residentBytes(pid: number): number | null {
  const text = readProc(`${pid}/status`);
  const match = text === null ? null : /^VmRSS:\s+(\d+) kB$/m.exec(text);
  return match === null ? null : Number(match[1]) * 1024;
}

/** The agent's runner that holds most: the one with the stage. Null where it cannot be seen. */
export function stageRunnerBytes(agentPid: number): number | null {
  const children = readProc(`${agentPid}/task/${agentPid}/children`)?.split(' ').filter((text) => text !== '').map(Number) ?? [];
  const runners = children.filter((pid) => readProc(`${pid}/cmdline`)?.includes(RUNNER) === true);
  const sizes = runners.map(residentBytes).filter((bytes) => bytes !== null);
  return sizes.length === 0 ? null : Math.max(...sizes);
}

/** What a runner holds before it loads anything. Null where it cannot be seen. */
export async function idleRunnerBytes(packageDirectory: string): Promise<number | null> {
  if (!existsSync('/proc/self/status')) return null;
  const program = join(packageDirectory, 'dist', 'program', RUNNER);
  const child = spawn(process.execPath, ['--no-warnings', program], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  await new Promise((resolve) => setTimeout(resolve, IDLE_SETTLE_MS));
  const bytes = child.pid === undefined ? null : residentBytes(child.pid);
  child.kill('SIGKILL');
  await exited;
  return bytes;
}

function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return null;
    throw error;
  }
}
