/**
 * Memory that new work can use on this machine, caches that the system would give back included.
 *
 * The system's own words are read by pure functions; what they do not say is Node's figure for free memory. It must not
 * know limits, runners or plans.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { freemem, platform } from 'node:os';

/** `vm_stat` answers at once or not at all. */
const VM_STAT_TIMEOUT_MS = 2_000;

export async function availableMemoryBytes(): Promise<number> {
  switch (platform()) {
    case 'linux': return memAvailableBytes(await readFile('/proc/meminfo', 'utf8')) ?? freemem();
    case 'darwin': return vmStatBytes(await vmStat()) ?? freemem();
    default: return freemem();
  }
}

/** `MemAvailable` of Linux's /proc/meminfo; null when it has none. */
export function memAvailableBytes(meminfo: string): number | null {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(meminfo)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

/** Free, inactive and purgeable pages of macOS's `vm_stat`; null when it says no such thing. */
export function vmStatBytes(text: string): number | null {
  const pageBytes = Number(/page size of (\d+) bytes/.exec(text)?.[1]);
  const pages = ['free', 'inactive', 'purgeable'].map((kind) => new RegExp(`^Pages ${kind}:\\s+(\\d+)\\.`, 'm').exec(text)?.[1]);
  if (!Number.isFinite(pageBytes) || pages[0] === undefined) return null;
  return pageBytes * pages.reduce((sum, count) => sum + Number(count ?? 0), 0);
}

/** Empty when it cannot be asked. */
function vmStat(): Promise<string> {
  return new Promise((resolve) => {
    execFile('vm_stat', { timeout: VM_STAT_TIMEOUT_MS }, (error, stdout) => resolve(error === null ? stdout : ''));
  });
}
