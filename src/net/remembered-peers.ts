/**
 * Peers that this node once knew, and where: multicast does not reach everywhere, and a cluster should find itself again
 * after a power cut. A small file, rewritten in one step; nothing depends on it being there.
 */
import { join } from 'node:path';
import { errorMessageOf } from '../core/errors.js';
import type { NodeId } from '../core/types.js';
import type { Clock, Log } from '../ports.js';
import { readIfPresent, writeAtomically } from './state-files.js';

const PEERS_FILE = 'peers.json';
const MAX_PEERS = 256;
const MAX_ADDRESSES = 16;
const MAX_FILE_BYTES = 1024 * 1024;
const FORGET_AFTER_DAYS = 7;
const MILLISECONDS_PER_DAY = 86_400_000;
/** Changes are gathered this long before the file is written. */
const SAVE_DELAY_MS = 1000;

export interface RememberedPeer {
  readonly nodeId: NodeId;
  readonly addresses: readonly string[];
  /** Wall clock, in ms since 1970: it must outlive this process. */
  readonly lastSeen: number;
}

export interface RememberedPeersOptions {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Wall clock, in ms since 1970. */
  readonly wallClock: () => number;
}

export class RememberedPeers {
  private readonly peers = new Map<NodeId, RememberedPeer>();
  private cancelSave: (() => void) | null = null;
  private saving: Promise<void> = Promise.resolve();

  private constructor(private readonly options: RememberedPeersOptions) {}

  /** A damaged file is an empty one: the peers will be found again. */
  static async load(options: RememberedPeersOptions): Promise<RememberedPeers> {
    const remembered = new RememberedPeers(options);
    const oldest = options.wallClock() - FORGET_AFTER_DAYS * MILLISECONDS_PER_DAY;
    try {
      const bytes = await readIfPresent(join(options.stateDir, PEERS_FILE));
      if (bytes !== null && bytes.byteLength <= MAX_FILE_BYTES) {
        for (const peer of parsePeers(bytes.toString('utf8'))) if (peer.lastSeen >= oldest) remembered.peers.set(peer.nodeId, peer);
      }
    } catch (error) {
      options.log.warn('the remembered peers cannot be read; they will be found anew', { error: errorMessageOf(error) });
    }
    return remembered;
  }

  list(): readonly RememberedPeer[] {
    return [...this.peers.values()];
  }

  /** `addresses` replace those known before. */
  remember(nodeId: NodeId, addresses: readonly string[]): void {
    this.peers.delete(nodeId);
    this.peers.set(nodeId, { nodeId, addresses: addresses.slice(0, MAX_ADDRESSES), lastSeen: this.options.wallClock() });
    const [oldest] = this.peers.keys();
    if (this.peers.size > MAX_PEERS && oldest !== undefined) this.peers.delete(oldest);
    this.cancelSave ??= this.options.clock.after(SAVE_DELAY_MS, () => this.save());
  }

  /** Writes what is pending. */
  async close(): Promise<void> {
    if (this.cancelSave !== null) {
      this.cancelSave();
      this.save();
    }
    await this.saving;
  }

  private save(): void {
    this.cancelSave = null;
    const text = `${JSON.stringify({ peers: this.list() }, null, 1)}\n`;
    this.saving = this.saving
      .then(() => writeAtomically(join(this.options.stateDir, PEERS_FILE), text))
      .catch((error: unknown) => this.options.log.warn('the remembered peers cannot be written', { error: errorMessageOf(error) }));
  }
}

function parsePeers(text: string): RememberedPeer[] {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || !('peers' in value) || !Array.isArray(value.peers)) return [];
  const peers: RememberedPeer[] = [];
  for (const entry of value.peers.slice(-MAX_PEERS)) {
    const peer = parsePeer(entry);
    if (peer !== null) peers.push(peer);
  }
  return peers;
}

function parsePeer(entry: unknown): RememberedPeer | null {
  if (typeof entry !== 'object' || entry === null || !('nodeId' in entry) || !('addresses' in entry) || !('lastSeen' in entry)) return null;
  const { nodeId, addresses, lastSeen } = entry;
  if (typeof nodeId !== 'string' || typeof lastSeen !== 'number' || !Array.isArray(addresses)) return null;
  const texts = addresses.filter((address): address is string => typeof address === 'string').slice(0, MAX_ADDRESSES);
  return { nodeId, addresses: texts, lastSeen };
}
