/** At most a few weight transfers at once from each peer; the others wait in order. It must not know what is transferred. */
import { setMaxListeners } from 'node:events';
import { RingError } from '../core/errors.js';
import type { NodeId } from '../core/types.js';

const MAX_TRANSFERS_PER_PEER = 4;
const MAX_WAITING_PER_PEER = 4096;

interface Lane {
  active: number;
  readonly waiting: (() => void)[];
}

export class TransferSlots {
  private readonly lanes = new Map<NodeId, Lane>();

  async run<T>(peer: NodeId, signal: AbortSignal, transfer: () => Promise<T>): Promise<T> {
    const release = await this.take(peer, signal);
    try {
      return await transfer();
    } finally {
      release();
    }
  }

  /** Resolves with the function that gives the slot back. Rejects with `cancelled` or `queue_full`. */
  async take(peer: NodeId, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw cancelled();
    // One signal ends all transfers of a stage, and there are as many as tensors.
    setMaxListeners(0, signal);
    const lane = this.lanes.get(peer) ?? { active: 0, waiting: [] };
    this.lanes.set(peer, lane);
    if (lane.active >= MAX_TRANSFERS_PER_PEER) await this.wait(lane, signal);
    else lane.active++;
    if (signal.aborted) {
      this.release(peer, lane);
      throw cancelled();
    }
    return () => this.release(peer, lane);
  }

  private async wait(lane: Lane, signal: AbortSignal): Promise<void> {
    if (lane.waiting.length >= MAX_WAITING_PER_PEER) throw new RingError('queue_full', `${lane.waiting.length} transfers already wait for this peer`);
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        const at = lane.waiting.indexOf(start);
        if (at >= 0) lane.waiting.splice(at, 1);
        reject(cancelled());
      };
      signal.addEventListener('abort', abort, { once: true });
      lane.waiting.push(start);
    });
  }

  /** The slot goes straight to the next in line. */
  private release(peer: NodeId, lane: Lane): void {
    const next = lane.waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    lane.active--;
    if (lane.active === 0) this.lanes.delete(peer);
  }
}

function cancelled(): RingError {
  return new RingError('cancelled', 'the transfer was cancelled while it waited for its turn');
}
