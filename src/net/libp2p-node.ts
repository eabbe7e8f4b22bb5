/**
 * The libp2p node with the settings that a LAN needs, each of which was measured. Nothing of ours above transport,
 * encryption, multiplexing and mDNS is in here.
 */
import { createServer } from 'node:net';
import { mdns } from '@libp2p/mdns';
import type { PeerInfo, PrivateKey } from '@libp2p/interface';
import { tcp } from '@libp2p/tcp';
import { yamux } from '@libp2p/yamux';
import { createLibp2p } from 'libp2p';
import type { Libp2p } from 'libp2p';
import { errorMessageOf, RingError } from '../core/errors.js';
import { systemCodeOf, systemTroubleOf } from '../core/system-trouble.js';
import type { Log } from '../ports.js';
import { announceable } from './addresses.js';
import { clusterNoise } from './encryption.js';

/** With the default growth to 16 MiB a control message waits 108 ms behind bulk data; with this 4 ms. */
const MAX_WINDOW_BYTES = 1024 * 1024;
/** Must not be below the window: a paused stream buffers a whole window, and is reset when it does not fit. */
const MAX_READ_BUFFER_BYTES = 4 * MAX_WINDOW_BYTES;
const MDNS_INTERVAL_MS = 2000;
const HANDSHAKE_TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 512;
export const MAX_STREAMS_PER_PEER = 256;
const PORTS_TO_TRY = 64;

export interface ListenAddress {
  /** `0.0.0.0` for every interface. */
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** A person asked for this port: no other will do. */
  readonly portExplicit: boolean;
}

export interface Libp2pNodeOptions {
  readonly privateKey: PrivateKey;
  readonly listen: ListenAddress;
  readonly prologue: Uint8Array;
  /** Null = no mDNS. */
  readonly mdnsServiceTag: string | null;
  /** Every announcement heard, also of peers heard before. */
  readonly heard: (peer: PeerInfo) => void;
  /** A caller gave up during the handshake. */
  readonly handshakeBrokenOff: (address: string) => void;
}

/** A started node. Throws `port_in_use` or `bad_config`. */
export async function startLibp2pNode(options: Libp2pNodeOptions, log: Log): Promise<Libp2p> {
  let { listen } = options;
  for (;;) {
    const port = await choosePort(listen, log);
    try {
      return await listenOn(port, options);
    } catch (error) {
      // Another agent that starts at the same moment may take the port between the look and the use.
      if (listen.portExplicit || port === 0 || !errorMessageOf(error).includes('EADDRINUSE') || port + 1 >= options.listen.port + PORTS_TO_TRY) {
        throw new RingError('port_in_use', `cannot listen on ${listen.host} port ${port} (${errorMessageOf(error)}): free it, or choose another with --listen`, { port }, { cause: error });
      }
      listen = { ...listen, port: port + 1 };
    }
  }
}

async function listenOn(port: number, options: Libp2pNodeOptions): Promise<Libp2p> {
  const family = options.listen.host.includes(':') ? 'ip6' : 'ip4';
  const node = await createLibp2p({
    privateKey: options.privateKey,
    start: false,
    addresses: {
      listen: [`/${family}/${options.listen.host}/tcp/${port}`],
      announceFilter: announceable,
    },
    transports: [tcp()],
    connectionEncrypters: [clusterNoise(options.prologue, options.handshakeBrokenOff)],
    streamMuxers: [yamux({
      maxInboundStreams: MAX_STREAMS_PER_PEER,
      maxOutboundStreams: MAX_STREAMS_PER_PEER,
      maxEarlyStreams: MAX_STREAMS_PER_PEER,
      streamOptions: { maxStreamWindowSize: MAX_WINDOW_BYTES, maxReadBufferLength: MAX_READ_BUFFER_BYTES },
    })],
    connectionManager: {
      maxConnections: MAX_CONNECTIONS,
      // Per host and second: agents on one machine, or behind one address, start together.
      inboundConnectionThreshold: 256,
      maxIncomingPendingConnections: 64,
      inboundUpgradeTimeout: HANDSHAKE_TIMEOUT_MS,
      // We redial ourselves.
      reconnectRetries: 0,
    },
    // net/control-channel.ts watches over the peers instead, and says why.
    connectionMonitor: { enabled: false },
    peerDiscovery: options.mdnsServiceTag === null ? [] : [listeningMdns(options.mdnsServiceTag, options.heard)],
  });
  try {
    await node.start();
  } catch (error) {
    await node.stop();
    throw error;
  }
  return node;
}

/** libp2p tells of each peer id once; a peer that restarted on another port is told of by the service's own event only. */
function listeningMdns(serviceTag: string, heard: (peer: PeerInfo) => void): ReturnType<typeof mdns> {
  const factory = mdns({ interval: MDNS_INTERVAL_MS, serviceTag });
  return (components) => {
    const service = factory(components);
    service.addEventListener('peer', (event) => heard(event.detail));
    return service;
  };
}

/** The wanted port, or the next free one with a notice. Throws `port_in_use` or `bad_config`. */
async function choosePort(listen: ListenAddress, log: Log): Promise<number> {
  for (let port = listen.port; port < Math.min(listen.port + PORTS_TO_TRY, 65_536); port++) {
    const problem = await whyNotFree(listen.host, port);
    const code = systemCodeOf(problem);
    if (problem === null) {
      if (port !== listen.port) log.info(`port ${listen.port} is taken; this agent listens for peers on ${port}`, { port });
      return port;
    }
    if (code === 'EACCES') {
      throw new RingError('permission_denied', `this user may not listen on port ${port}: choose one above 1023 with --listen`, { port });
    }
    if (code !== 'EADDRINUSE') {
      throw new RingError('bad_config', `cannot listen on ${listen.host} port ${port} (${systemTroubleOf(problem)}): give an address of this machine with --listen, or a port alone for all of them`, { port });
    }
    if (listen.portExplicit) {
      throw new RingError('port_in_use', `port ${port} on ${listen.host} is taken by another program: free it, or choose another with --listen`, { port });
    }
  }
  throw new RingError('port_in_use', `no free port from ${listen.port} on: choose one with --listen`, { port: listen.port });
}

async function whyNotFree(host: string, port: number): Promise<Error | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}
