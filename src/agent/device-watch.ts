/**
 * Keeps what this node says of its devices true: measures them once, when nothing else is to be done, and looks for them
 * anew when a stage found that one is gone.
 *
 * It must not know what a device is, nor how it is measured.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { StageStatus } from '../core/types.js';
import { EitherSignal } from '../either-signal.js';
import type { Clock, Log, Machine } from '../ports.js';

/** A start is followed by a model's load and a first question: they come first. */
export const MEASURE_AFTER_MS = 10_000;
/** When it was a bad moment. */
const MEASURE_AGAIN_MS = 5_000;
/** How often it is looked whether something else is to be done now. */
const LOOK_MS = 100;

export interface DeviceWatchPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly machine: Machine;
  /** True while a measurement would disturb, or be disturbed by, this agent's own work. */
  isBusy(): boolean;
  /** The node's record is to be told again. */
  publish(): Promise<void>;
}

export class DeviceWatch {
  private readonly life = new AbortController();
  private cancel: () => void = () => undefined;
  private measuring: Promise<void> = Promise.resolve();
  /** Plans whose stage found its backend gone. */
  private lastMissing = '';

  constructor(private readonly ports: DeviceWatchPorts) {}

  start(): void {
    this.measureAfter(MEASURE_AFTER_MS);
  }

  /** After every change of this node's stages. */
  stagesChanged(statuses: readonly StageStatus[]): void {
    const missing = statuses.filter((status) => status.error?.code === 'backend_missing').map((status) => status.planId).join(' ');
    if (missing === this.lastMissing) return;
    this.lastMissing = missing;
    if (missing === '' || this.life.signal.aborted) return;
    this.ports.machine.lookAgain()
      .then(() => this.ports.publish())
      .catch((error: unknown) => this.ports.log.warn('the devices could not be looked at again', { error: errorMessageOf(error) }));
  }

  /** Resolves when no measurement runs any more. */
  async stop(): Promise<void> {
    this.cancel();
    this.life.abort();
    await this.measuring;
  }

  private measureAfter(delayMs: number): void {
    this.cancel = this.ports.clock.after(delayMs, () => {
      if (this.life.signal.aborted) return;
      if (this.ports.machine.isLoaded() || this.ports.isBusy()) this.measureAfter(MEASURE_AGAIN_MS);
      else this.measuring = this.measure();
    });
  }

  /**
   * What was measured beside real work would be kept for ever: it is broken off, and begun anew later. The machine's load is
   * no reason: a measurement is load itself.
   */
  private async measure(): Promise<void> {
    const either = new EitherSignal([this.life.signal]);
    const look = (): void => {
      if (this.ports.isBusy()) either.abort(new RingError('cancelled', 'something else is to be done'));
      else this.cancel = this.ports.clock.after(LOOK_MS, look);
    };
    this.cancel = this.ports.clock.after(LOOK_MS, look);
    try {
      if (await this.ports.machine.measure(either.signal)) await this.ports.publish();
    } catch (error) {
      this.ports.log.warn('the devices could not be measured', { error: errorMessageOf(error) });
    } finally {
      this.cancel();
      either.dispose();
    }
    if (either.signal.aborted && !this.life.signal.aborted) this.measureAfter(MEASURE_AGAIN_MS);
  }
}
