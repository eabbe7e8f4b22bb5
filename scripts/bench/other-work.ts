/**
 * What else the machine did while something was measured: the share of all cores that went to processes which are not of
 * the bench. Where two nodes are no faster than one, this says whether there were two cores. It must not know what is measured.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Columns of `cpu` in /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
const IDLE = 3;
const WAITING = 4;
const COLUMNS = 8;
/** Fields of /proc/PID/stat behind the program's name. */
const GROUP = 2;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

interface Ticks {
  readonly all: number;
  readonly busy: number;
  readonly own: number;
}

/** Of this process and the process groups `groups`; null where that cannot be seen. Asked again, it gives the share, 0..1. */
export function watchOtherWork(groups: readonly number[]): () => number | null {
  const before = ticks(groups);
  return () => {
    const after = ticks(groups);
    if (before === null || after === null || after.all <= before.all) return null;
    const others = after.busy - before.busy - (after.own - before.own);
    return Math.max(0, others) / (after.all - before.all);
  };
}

function ticks(groups: readonly number[]): Ticks | null {
  try {
    const columns = (/^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? '').split(' ').map(Number).slice(0, COLUMNS);
    const all = columns.reduce((sum, column) => sum + column, 0);
    return { all, busy: all - (columns[IDLE] ?? 0) - (columns[WAITING] ?? 0), own: ownTicks(groups) };
  } catch {
    // No /proc: not Linux.
    return null;
  }
}

function ownTicks(groups: readonly number[]): number {
  let sum = 0;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const fields = statOf(pid);
    if (pid === process.pid || groups.includes(Number(fields[GROUP]))) sum += Number(fields[USER_TICKS] ?? 0) + Number(fields[SYSTEM_TICKS] ?? 0);
  }
  return sum;
}

/** Empty when it has ended. */
function statOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
