/**
 * Bytes that agents have sent each other, as the kernel counts them: payload, framing, multiplexing and encryption alike.
 * Needs `ss` (Linux, iproute2); elsewhere there is no figure. It must not know what is sent.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const DEADLINE_MS = 5_000;

const execute = promisify(execFile);

/** Sum over both directions of every established connection to or from these ports of this machine; null without `ss`. */
export async function bytesSent(peerPorts: readonly number[]): Promise<number | null> {
  const filter = peerPorts.map((port) => `sport = :${port} or dport = :${port}`).join(' or ');
  let stdout: string;
  try {
    ({ stdout } = await execute('ss', ['-tinHO', 'state', 'established', `( ${filter} )`], { timeout: DEADLINE_MS }));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  // Each end is a line of its own and counts what it sent.
  return [...stdout.matchAll(/\bbytes_sent:(\d+)/g)].reduce((total, match) => total + Number(match[1]), 0);
}
