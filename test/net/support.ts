/** Real networks on loopback for the tests of net/: made, watched and taken down. */
import '../../src/net/polyfill.js';
import { randomBytes } from 'node:crypto';
import type { ControlMessage } from '../../src/core/messages.js';
import type { NodeId } from '../../src/core/types.js';
import { openIdentity } from '../../src/net/identity.js';
import type { Identity } from '../../src/net/identity.js';
import { createNetwork } from '../../src/net/network.js';
import type { NetworkOptions } from '../../src/net/network.js';
import type { Clock, FrameLink, Log, Network, RingEdge, WeightsProvider } from '../../src/ports.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

export const realClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

export function memoryLog(lines: string[] = []): Log {
  const write = (level: string) => (message: string, facts?: object): void => {
    lines.push(`${level} ${message} ${facts === undefined ? '' : JSON.stringify(facts)}`);
    if (process.env['NET_TEST_LOG'] !== undefined) process.stderr.write(`${performance.now().toFixed(0)} ${lines.at(-1) ?? ''}\n`);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error'), child: () => memoryLog(lines) };
}

const noWeights: WeightsProvider = { header: () => Promise.resolve(null), tensor: () => Promise.resolve(null) };

export interface ReceivedLink {
  readonly from: NodeId;
  readonly edge: RingEdge;
  readonly link: FrameLink;
}

/** A network with everything that it reported. */
export interface TestNode {
  readonly network: Network;
  readonly identity: Identity;
  readonly stateDir: string;
  readonly id: NodeId;
  /** `127.0.0.1:PORT` */
  readonly address: string;
  readonly logLines: string[];
  readonly connected: NodeId[];
  readonly disconnected: { readonly nodeId: NodeId; readonly reason: string }[];
  readonly messages: { readonly from: NodeId; readonly message: ControlMessage }[];
  readonly links: ReceivedLink[];
  stop(): Promise<void>;
}

export interface TestNodeOptions extends Partial<Omit<NetworkOptions, 'identity' | 'stateDir'>> {
  readonly stateDir?: string;
  readonly weights?: WeightsProvider;
  readonly onLink?: (from: NodeId, edge: RingEdge, link: FrameLink) => void;
  readonly onMessage?: (from: NodeId, message: ControlMessage) => void;
}

export function uniqueCluster(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}

const running = new Set<TestNode>();

export async function startNode(options: TestNodeOptions = {}): Promise<TestNode> {
  const stateDir = options.stateDir ?? temporaryDirectory();
  const logLines: string[] = [];
  const log = memoryLog(logLines);
  const identity = await openIdentity(stateDir, log);
  const connected: NodeId[] = [];
  const disconnected: TestNode['disconnected'] = [];
  const messages: TestNode['messages'] = [];
  const links: ReceivedLink[] = [];
  const { weights, onLink, onMessage, stateDir: _, ...given } = options;
  const network = await createNetwork({
    identity, stateDir, clusterName: 'test', secret: null, listen: { host: '127.0.0.1', port: 0, portExplicit: false }, peers: [], noMdns: true,
    agentVersion: '0.1.0', protocolMin: 1, protocolMax: 1, ...given,
  }, {
    connected: (nodeId) => connected.push(nodeId),
    disconnected: (nodeId, reason) => disconnected.push({ nodeId, reason }),
    message: (from, message) => {
      messages.push({ from, message });
      onMessage?.(from, message);
    },
    ringLink: (from, edge, link) => {
      links.push({ from, edge, link });
      onLink?.(from, edge, link);
    },
  }, weights ?? noWeights, log, realClock).catch(async (error: unknown) => {
    await identity.release();
    throw error;
  });
  const match = /^\/ip4\/([^/]+)\/tcp\/(\d+)/.exec(network.addresses()[0] ?? '');
  const node: TestNode = {
    network, identity, stateDir, id: identity.nodeId, address: `${match?.[1] ?? ''}:${match?.[2] ?? ''}`, logLines, connected, disconnected, messages, links,
    stop: async () => {
      if (!running.delete(node)) return;
      await network.stop();
      await identity.release();
    },
  };
  running.add(node);
  return node;
}

/** For `afterEach`. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((node) => node.stop()));
}

/** Polls until `condition`; fails with what `describe` says. */
export async function until(condition: () => boolean, what: string, timeoutMs = 10_000): Promise<number> {
  const started = performance.now();
  while (!condition()) {
    if (performance.now() - started > timeoutMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return performance.now() - started;
}

/** Two nodes of one cluster, connected by address. */
export async function connectedPair(first: TestNodeOptions = {}, second: TestNodeOptions = {}): Promise<[TestNode, TestNode]> {
  const a = await startNode(first);
  const b = await startNode({ ...second, peers: [a.address] });
  await until(() => a.network.peers().length === 1 && b.network.peers().length === 1, 'two nodes connect');
  return [a, b];
}
