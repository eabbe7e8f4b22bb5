/**
 * Can agents find each other here by mDNS? One datagram to mDNS's group, on a port of its own, that must come back to us
 * through every interface that could reach another machine. For `agent doctor`; nothing of the agent uses it.
 *
 * It says what this machine does. A switch or access point that keeps multicast from others cannot be seen from here.
 */
import { createSocket } from 'node:dgram';
import type { Interfaces } from './addresses.js';

const GROUP = '224.0.0.251';
/** A datagram to ourselves takes well under a millisecond. */
const BACK_WITHIN_MS = 1_000;
/** More interfaces than any machine looks for others on. */
const INTERFACES_MAX = 32;

export interface MulticastResult {
  readonly interface: string;
  readonly address: string;
  /** Null = it came back. */
  readonly problem: string | null;
}

/** One result per IPv4 address that is not loopback; empty = this machine is on no network. */
export async function checkMulticast(interfaces: Interfaces): Promise<readonly MulticastResult[]> {
  const addresses = Object.entries(interfaces).flatMap(([name, entries]) => (entries ?? [])
    .filter((entry) => entry.family === 'IPv4' && !entry.internal)
    .map((entry) => ({ interface: name, address: entry.address })));
  return Promise.all(addresses.slice(0, INTERFACES_MAX).map(async (place) => ({ ...place, problem: await echo(place.address) })));
}

async function echo(address: string): Promise<string | null> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<string | null>((resolve) => {
      const sent = `ring-agent doctor ${process.pid} ${address}`;
      timer = setTimeout(() => resolve('a multicast datagram does not come back: a firewall drops it, or the interface takes no multicast'), BACK_WITHIN_MS);
      socket.on('error', (error) => resolve(error.message));
      socket.on('message', (content) => {
        if (content.toString('utf8') === sent) resolve(null);
      });
      socket.bind(0, () => {
        try {
          socket.addMembership(GROUP, address);
          socket.setMulticastInterface(address);
          socket.setMulticastLoopback(true);
          // Not past the next router: nobody else needs it.
          socket.setMulticastTTL(1);
        } catch (error) {
          resolve(error instanceof Error ? error.message : String(error));
          return;
        }
        socket.send(sent, socket.address().port, GROUP, (error) => {
          if (error !== null) resolve(error.message);
        });
      });
    });
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}
