/** `--listen`: where other agents reach this one. */
import { RingError } from '../core/errors.js';
import { DEFAULT_PEER_PORT } from '../net/addresses.js';
import type { ListenAddress } from '../net/libp2p-node.js';

const EVERY_INTERFACE = '0.0.0.0';
const MAX_PORT = 65_535;

/** `host:port`, `[v6]:port`, `host` or `port`; null = every interface, the default port or the next free one. Throws `bad_config`. */
export function parseListen(text: string | null): ListenAddress {
  if (text === null || text.trim() === '') return { host: EVERY_INTERFACE, port: DEFAULT_PEER_PORT, portExplicit: false };
  const match = /^(?:(?<port>\d+)|(?:\[(?<v6>[0-9a-fA-F:]+)\]|(?<host>[^:\s]+))(?::(?<hostPort>\d+))?)$/.exec(text.trim());
  const { port, v6, host, hostPort } = match?.groups ?? {};
  const chosen = port ?? hostPort;
  if (match === null || Number(chosen ?? 0) > MAX_PORT) {
    throw new RingError('bad_config', `--listen "${text}" is no address: give host:port, [IPv6]:port, a host or a port`);
  }
  return {
    host: v6 ?? host ?? EVERY_INTERFACE,
    port: chosen === undefined ? DEFAULT_PEER_PORT : Number(chosen),
    portExplicit: chosen !== undefined && chosen !== '0',
  };
}
