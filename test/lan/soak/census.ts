/**
 * What the agents of a soak take over time: processes, descriptors, resident memory, from /proc. Linux only. It must not
 * know why anything grows.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isGone } from '../../support/owner.js';
import type { SoakHost, SoakHosts } from './hosts.js';

export interface HostCount {
  readonly host: number;
  /** The agent's alone. */
  readonly residentMegabytes: number;
  readonly descriptors: number;
  /** The agent and everything that it started. */
  readonly processes: number;
}

export interface Census {
  readonly atMs: number;
  readonly hosts: readonly HostCount[];
}

export function takeCensus(hosts: SoakHosts): Census {
  return { atMs: performance.now(), hosts: hosts.running().flatMap((host) => countOf(host) ?? []) };
}

function countOf(host: SoakHost): HostCount | null {
  const pid = host.agent?.pid ?? null;
  if (pid === null) return null;
  try {
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return {
      host: host.number,
      residentMegabytes: Number(resident ?? 0) / 1024,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      processes: host.agent?.family().length ?? 0,
    };
  } catch (error) {
    // It ended a moment ago.
    if (isGone(error)) return null;
    throw error;
  }
}
