/**
 * What this node says of itself: looked at now and then and whenever somebody knows that it changed, told when the change
 * matters to anybody. It must not know who hears it.
 */
import { errorMessageOf } from '../core/errors.js';
import type { Capabilities } from '../core/types.js';
import type { Clock, Log, Machine, ModelLibrary, Network } from '../ports.js';
import { steadyLinks } from './link-record.js';

/** How often memory and disk are looked at. */
const INTERVAL_MS = 5_000;
/** A change of free memory below this part of the whole is not worth telling everyone. */
const MEMORY_CHANGE_PART = 0.05;
const DISK_CHANGE_PART = 0.1;

export interface OwnCapabilitiesPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly machine: Machine;
  readonly library: ModelLibrary;
  readonly network: Pick<Network, 'links'>;
  /** Of this agent's runners. */
  residentBytes(): number;
  changed(capabilities: Capabilities): void;
}

export class OwnCapabilities {
  private published: Capabilities | null = null;
  private apiAddress = '';
  private stopped = false;
  private cancel: () => void = () => undefined;

  /** `temporary`: the agent ends with the command that started it. */
  constructor(private readonly temporary: boolean, private readonly ports: OwnCapabilitiesPorts) {}

  /** Resolves when they were told for the first time. */
  async start(apiAddress: string): Promise<void> {
    this.apiAddress = apiAddress;
    await this.publish();
    this.schedule();
  }

  stop(): void {
    this.stopped = true;
    this.cancel();
  }

  /** Tells what this machine has, if it changed enough to matter. */
  async publish(): Promise<void> {
    const { machine, library, network } = this.ports;
    const own = await machine.capabilities(this.ports.residentBytes());
    const storeRoomBytes = await library.roomBytes?.();
    const links = steadyLinks(this.published?.links ?? [], network.links());
    const next: Capabilities = {
      ...own, models: library.models(), shards: library.shards(), apiAddress: this.apiAddress, ...(links.length === 0 ? {} : { links }),
      ...(this.temporary ? { temporary: true } : {}),
      ...(storeRoomBytes === undefined ? {} : { storeRoomBytes }),
    };
    if (this.published !== null && !differs(this.published, next)) return;
    this.published = next;
    this.ports.changed(next);
  }

  private schedule(): void {
    this.cancel = this.ports.clock.after(INTERVAL_MS, () => {
      this.publish()
        .catch((error: unknown) => this.ports.log.warn('the machine could not be looked at', { error: errorMessageOf(error) }))
        .finally(() => {
          if (!this.stopped) this.schedule();
        });
    });
  }
}

function differs(before: Capabilities, after: Capabilities): boolean {
  const threshold = before.ramTotalBytes * MEMORY_CHANGE_PART;
  if (Math.abs(before.ramAvailableBytes - after.ramAvailableBytes) > threshold) return true;
  if (Math.abs(before.diskFreeBytes - after.diskFreeBytes) > threshold) return true;
  const roomChange = Math.abs((before.storeRoomBytes ?? 0) - (after.storeRoomBytes ?? 0));
  // What a small disk has room for matters sooner.
  if (roomChange > Math.min(threshold, (before.storeRoomBytes ?? 0) * DISK_CHANGE_PART)) return true;
  const steady = (capabilities: Capabilities): string => JSON.stringify({ ...capabilities, ramAvailableBytes: 0, diskFreeBytes: 0, storeRoomBytes: 0 });
  return steady(before) !== steady(after);
}
