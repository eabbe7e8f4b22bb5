/**
 * Which node of the cluster each entry of a cluster file means: by its address, this machine's own ones included.
 *
 * A file names machines before anybody knows their ids; plans are made of ids. It must not know placement.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { NodeView } from '../agent/service.js';
import { settingsOf } from '../core/cluster-file.js';
import type { ClusterFile, ClusterFileNode } from '../core/cluster-file.js';
import type { RequestedNode } from '../core/types.js';
import { isLoopback } from '../net/addresses.js';

export interface FileNodes {
  /** In the file's order; only those that are there. */
  readonly requested: readonly RequestedNode[];
  /** As people know them: `node 2 (10.0.0.2:11501)`. */
  readonly missing: readonly string[];
}

type Seen = Pick<NodeView, 'nodeId' | 'addresses' | 'state'>;

/** Names are looked up anew each time; one that cannot be looked up is a node that is missing. */
export async function findFileNodes(file: ClusterFile, nodes: readonly Seen[]): Promise<FileNodes> {
  const requested: RequestedNode[] = [];
  const missing: string[] = [];
  for (const [index, entry] of file.nodes.entries()) {
    const hosts = await hostsOf(entry);
    const found = nodes.find((node) => node.state === 'alive' && node.addresses.some((address) => matches(address, hosts, entry.port)));
    if (found === undefined || requested.some(({ nodeId }) => nodeId === found.nodeId)) missing.push(fileNodeName(index, entry));
    else requested.push({ nodeId: found.nodeId, settings: settingsOf(file, entry) });
  }
  return { requested, missing };
}

function fileNodeName(index: number, node: ClusterFileNode): string {
  return `node ${index + 1} (${addressText(node)}${node.ssh === null ? '' : `, ssh ${node.ssh}`})`;
}

/** `host:port`, as `--peer` takes it. */
export function addressText({ host, port }: ClusterFileNode): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** The first entry that is this machine and is started by nobody else; null = none. */
export async function ownFileNode(file: ClusterFile): Promise<ClusterFileNode | null> {
  for (const entry of file.nodes) {
    if (entry.ssh === null && (await hostsOf(entry)).has(LOOPBACK)) return entry;
  }
  return null;
}

const LOOPBACK = '127.0.0.1';

/** Numeric addresses of the entry; of this machine all of its own, because its agent announces whichever it likes. */
async function hostsOf({ host }: ClusterFileNode): Promise<ReadonlySet<string>> {
  const own = ownAddresses();
  let found: string[];
  try {
    found = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
  } catch {
    // The name means nothing yet: whoever waits for the node says so.
    return new Set();
  }
  return new Set(found.some((address) => isLoopback(address) || own.includes(address)) ? [...found, ...own, LOOPBACK, '::1'] : found);
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((infos) => (infos ?? []).map(({ address }) => address));
}

function matches(address: string, hosts: ReadonlySet<string>, port: number): boolean {
  const match = /^\/ip[46]\/([^/]+)\/tcp\/(\d+)/.exec(address);
  return match?.[1] !== undefined && hosts.has(match[1]) && Number(match[2]) === port;
}
