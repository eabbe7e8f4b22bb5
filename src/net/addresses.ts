/**
 * Peer addresses: how people write them, which of ours are worth announcing, and in which order to try a peer's.
 *
 * Machines have VPNs, container bridges and several networks: every address is tried, the likely ones first. Pure but for
 * the resolver; it must not know libp2p nodes.
 */
import { lookup } from 'node:dns/promises';
import { isIP, isIPv4 } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { multiaddr } from '@multiformats/multiaddr';
import type { Multiaddr } from '@multiformats/multiaddr';
import { errorMessageOf, RingError } from '../core/errors.js';

export const DEFAULT_PEER_PORT = 11501;

/** `os.networkInterfaces()`, taken when needed: networks come and go. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Where a person said that a peer is. */
export interface PeerAddress {
  /** As written, for messages. */
  readonly text: string;
  readonly host: string;
  readonly port: number;
  readonly nodeId: string | null;
}

/** `/ip4/1.2.3.4/tcp/11501`, with or without `/p2p/ID`; `host:port`, `[v6]:port`, or a host alone. Throws `bad_config`. */
export function parsePeerAddress(text: string): PeerAddress {
  const wrong = (why: string, cause?: unknown): RingError => new RingError('bad_config',
    `"${text}" is not a peer address (${why}): write it as /ip4/192.168.1.7/tcp/${DEFAULT_PEER_PORT} or 192.168.1.7:${DEFAULT_PEER_PORT}`, {}, { cause });
  if (text.startsWith('/')) {
    let parts: ReturnType<Multiaddr['getComponents']>;
    try {
      parts = multiaddr(text).getComponents();
    } catch (error) {
      throw wrong(errorMessageOf(error), error);
    }
    const [host, tcp, ...rest] = parts;
    if (host?.value === undefined || !['ip4', 'ip6', 'dns', 'dns4', 'dns6'].includes(host.name)) throw wrong('it must begin with /ip4, /ip6 or /dns');
    if (tcp?.value === undefined || tcp.name !== 'tcp') throw wrong('it needs /tcp and a port');
    const peer = rest[0];
    if (rest.length > 1 || (peer !== undefined && peer.name !== 'p2p')) throw wrong('nothing but /p2p may follow the port');
    return { text, host: host.value, port: parsePort(tcp.value) ?? DEFAULT_PEER_PORT, nodeId: peer?.value ?? null };
  }
  const match = /^(?:\[([^\]]+)\]|([^:\s/]+))(?::(\d+))?$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? (isIP(text) === 6 ? text : undefined);
  if (host === undefined) throw wrong('host:port expected');
  const port = match?.[3] === undefined ? DEFAULT_PEER_PORT : parsePort(match[3]);
  if (port === null) throw wrong('a port is between 1 and 65535');
  return { text, host, port, nodeId: null };
}

function parsePort(text: string): number | null {
  const port = Number(text);
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null;
}

/** Addresses to dial, names looked up anew each time: a laptop's address changes. Throws `peer_unreachable`. */
export async function resolvePeerAddress(address: PeerAddress): Promise<readonly Multiaddr[]> {
  const suffix = address.nodeId === null ? '' : `/p2p/${address.nodeId}`;
  try {
    const found = isIP(address.host) === 0 ? await lookup(address.host, { all: true }) : [{ address: address.host }];
    return found.map((entry) => multiaddr(`/${isIPv4(entry.address) ? 'ip4' : 'ip6'}/${entry.address}/tcp/${address.port}${suffix}`));
  } catch (error) {
    throw new RingError('peer_unreachable', `the peer "${address.text}" has a name that cannot be looked up: ${errorMessageOf(error)}`, {}, { cause: error });
  }
}

/** The numeric host of an address; null when it has none. */
export function hostOf(address: Multiaddr): string | null {
  const first = address.getComponents()[0];
  return first?.value !== undefined && (first.name === 'ip4' || first.name === 'ip6') ? first.value : null;
}

/** The same of an address's text, or the text itself. */
export function hostOfText(address: string): string {
  return /^\/ip[46]\/([^/]+)\//.exec(address)?.[1] ?? address;
}

/** Without the `/p2p/…` suffix. */
export function withoutPeerId(address: Multiaddr): string {
  const text = address.toString();
  const at = text.indexOf('/p2p/');
  return at < 0 ? text : text.slice(0, at);
}

/**
 * Of what a peer says of itself, the addresses that can be dialled: `/ip4|ip6/HOST/tcp/PORT` and nothing else (libp2p would
 * also open a Unix socket). Without peer id, without duplicates.
 */
export function dialable(addresses: readonly string[]): string[] {
  const kept = new Set<string>();
  for (const address of addresses) {
    try {
      const parsed = multiaddr(address);
      const [host, tcp, rest] = parsed.getComponents();
      const plain = (host?.name === 'ip4' || host?.name === 'ip6') && tcp?.name === 'tcp' && (rest === undefined || rest.name === 'p2p');
      if (plain && parsePort(tcp.value ?? '') !== null) kept.add(withoutPeerId(parsed));
    } catch {
      // Not an address at all; the others may be.
    }
  }
  return [...kept];
}

/** Drops loopback, unless there is nothing else: then only agents on this machine can be meant. */
export function announceable(addresses: readonly Multiaddr[]): Multiaddr[] {
  const outward = addresses.filter((address) => !isLoopback(hostOf(address)));
  return outward.length > 0 ? outward : [...addresses];
}

export function isLoopback(host: string | null): boolean {
  return host !== null && (host.startsWith('127.') || host === '::1');
}

/** Interfaces that carry containers, virtual machines or tunnels rather than the LAN. */
const VIRTUAL_INTERFACE = /^(docker|br-|veth|virbr|vmnet|vboxnet|vEthernet|podman|cni|flannel|cali|lxc|lxd|tun|tap|utun|wg|ppp|zt|tailscale|ipsec|nordlynx)/i;

/** Order in which to try a peer's addresses: 0 is best. Everything is tried in the end. */
export function dialRank(address: Multiaddr, interfaces: Interfaces): number {
  const host = hostOf(address);
  if (host === null) return 3;
  if (isLoopback(host)) return 2;
  let rank = 1;
  for (const [name, infos] of Object.entries(interfaces)) {
    for (const info of infos ?? []) {
      if (info.internal || !sameSubnet(host, info)) continue;
      if (!VIRTUAL_INTERFACE.test(name)) return 0;
      rank = 4;
    }
  }
  // Overlay networks and link-local addresses of others: reachable now and then.
  return rank === 1 && /^(100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|172\.17\.|fe80:)/i.test(host) ? 3 : rank;
}

function sameSubnet(host: string, info: NetworkInterfaceInfo): boolean {
  if (!isIPv4(host) || info.family !== 'IPv4') return false;
  const mask = toNumber(info.netmask);
  // A tunnel's /32 contains only ourselves.
  return ((toNumber(host) & mask) >>> 0) === ((toNumber(info.address) & mask) >>> 0);
}

function toNumber(ip: string): number {
  return ip.split('.').reduce((value, part) => ((value << 8) | Number(part)) >>> 0, 0);
}
