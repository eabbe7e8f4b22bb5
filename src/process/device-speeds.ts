/**
 * How fast this machine's devices are: measured once by a runner, kept in the state directory, valid for one device, one
 * engine version and one number of threads.
 *
 * It must not know plans or peers, nor when a measurement is convenient.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { errorMessageOf } from '../core/errors.js';
import type { Backend, Device } from '../core/types.js';
import type { Log, MeasuredSpeed, RunnerEvents, RunnerLauncher } from '../ports.js';

export interface DeviceSpeedsSettings {
  /** `<state directory>/speeds.json`. */
  readonly file: string;
  /** Holds a generated layer while a device is measured. */
  readonly directory: string;
  readonly engineVersion: string;
  readonly threads: number;
}

const FILE_VERSION = 1;
/** Devices come and go; the file does not grow for ever. */
const MAX_ENTRIES = 64;

const fileSchema = z.object({
  version: z.literal(FILE_VERSION),
  entries: z.array(z.object({
    key: z.string(), gflops: z.number().nonnegative(), memoryBandwidthBytesPerSecond: z.number().nonnegative(),
  })).max(MAX_ENTRIES),
});

const IGNORED: RunnerEvents = {
  activation: () => undefined,
  resident: () => undefined,
  stepFailed: () => undefined,
  ended: () => undefined,
};

export class DeviceSpeeds {
  private readonly known = new Map<string, MeasuredSpeed>();
  /** Devices that could not be measured in this process's life. */
  private readonly given = new Set<string>();

  private constructor(private readonly settings: DeviceSpeedsSettings, private readonly launcher: RunnerLauncher, private readonly log: Log) {}

  /** With what an earlier process measured. A damaged file is measured anew. */
  static async open(settings: DeviceSpeedsSettings, launcher: RunnerLauncher, log: Log): Promise<DeviceSpeeds> {
    const speeds = new DeviceSpeeds(settings, launcher, log);
    try {
      const { entries } = fileSchema.parse(JSON.parse(await readFile(settings.file, 'utf8')));
      for (const { key, ...speed } of entries) speeds.known.set(key, speed);
    } catch (error) {
      log.debug('no measured speeds from before', { file: settings.file, reason: errorMessageOf(error) });
    }
    return speeds;
  }

  of(device: Device): MeasuredSpeed | null {
    return this.known.get(this.keyOf(device)) ?? null;
  }

  /** Measures, one after the other, the device of each backend that a stage would use. True when something is new. */
  async measure(devices: readonly Device[], signal: AbortSignal): Promise<boolean> {
    let news = false;
    for (const device of stageDevices(devices)) {
      const key = this.keyOf(device);
      if (signal.aborted) return news;
      if (this.known.has(key) || this.given.has(key)) continue;
      try {
        const speed = await this.measureOne(device.backend, signal);
        this.known.set(key, speed);
        this.log.info('a device was measured', { device: device.name, ...speed });
        news = true;
      } catch (error) {
        if (signal.aborted) return news;
        this.given.add(key);
        this.log.warn('a device could not be measured', { device: device.name, reason: errorMessageOf(error) });
      }
    }
    if (news) await this.save();
    return news;
  }

  private async measureOne(backend: Backend, signal: AbortSignal): Promise<MeasuredSpeed> {
    const { directory, threads } = this.settings;
    await mkdir(directory, { recursive: true });
    const runner = this.launcher.launch(`the speed measurement of the ${backend} device`, IGNORED);
    const cut = (): void => void runner.end();
    signal.addEventListener('abort', cut, { once: true });
    try {
      return await runner.measure({ backend, directory, threads });
    } finally {
      signal.removeEventListener('abort', cut);
      await runner.end();
    }
  }

  private async save(): Promise<void> {
    const entries = [...this.known].slice(-MAX_ENTRIES).map(([key, speed]) => ({ key, ...speed }));
    const { file } = this.settings;
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.partial`, `${JSON.stringify({ version: FILE_VERSION, entries }, null, 1)}\n`);
      await rename(`${file}.partial`, file);
    } catch (error) {
      this.log.warn('measured speeds could not be kept; they are measured again at the next start', { file, reason: errorMessageOf(error) });
    }
  }

  private keyOf(device: Device): string {
    const { engineVersion, threads } = this.settings;
    return [engineVersion, device.backend, device.name, device.description, `${threads} threads`].join(' | ');
  }
}

/** The largest of each backend: the one that the engine is given. */
export function stageDevices(devices: readonly Device[]): readonly Device[] {
  const largest = new Map<Backend, Device>();
  for (const device of devices) {
    const known = largest.get(device.backend);
    if (known === undefined || device.memoryTotalBytes > known.memoryTotalBytes) largest.set(device.backend, device);
  }
  return [...largest.values()];
}
