/**
 * This machine as the capabilities record describes it: memory, cores, disk, and the devices that the engine finds.
 *
 * Devices are looked for by runners (child processes), once per engine package, because a broken driver may end the
 * process that looks. Memory is read anew each time.
 */
import { createHash } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { arch, availableParallelism, hostname, loadavg, networkInterfaces, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { backendOfDevice, BACKEND_PREFERENCE, missingDeviceAdvice } from '../core/backends.js';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { Backend, Capabilities, Device, DeviceKind } from '../core/types.js';
import type { Log, Machine, RunnerEvents, RunnerLauncher } from '../ports.js';
import { availableMemoryBytes } from './available-memory.js';
import { DeviceSpeeds, stageDevices } from './device-speeds.js';
import { gpuHints, hasNvidiaDriver } from './gpu-hints.js';

export interface MachineSettings {
  readonly agentVersion: string;
  readonly protocolMin: number;
  readonly protocolMax: number;
  /** `--max-ram`, in bytes. */
  readonly ramLimitBytes: number | null;
  /** Installed engine packages by the backend that each adds, the plain one first. */
  readonly packages: readonly Backend[];
  /** Where shards are kept: its free space is published. Measured speeds are kept there too. */
  readonly stateDirectory: string;
  /** Version of the engine's packages: a measured speed is of one. */
  readonly engineVersion: string;
  /** Of a stage. */
  readonly threads: number;
  /** `--device`; empty = the best that is there. */
  readonly devicePreference: readonly DeviceKind[];
  /** `--max-device-ram`, in bytes; null = no limit. */
  readonly deviceLimitBytes: number | null;
}

/** Of the cores, over the last minute. */
const MAX_LOAD_PART = 0.5;

const IGNORED: RunnerEvents = {
  activation: () => undefined,
  resident: () => undefined,
  stepFailed: () => undefined,
  ended: () => undefined,
};

/**
 * Devices of the installed engine packages (`packages`, by the backend that each adds; the plain one first), each looked
 * at by its own child process. Every package has the cpu too, so the plain one is asked only when no other answered.
 * Throws when not even the cpu is found.
 */
export async function probeDevices(packages: readonly Backend[], launcher: RunnerLauncher, log: Log): Promise<readonly Device[]> {
  const [plain, ...others] = packages;
  const found = (await Promise.all(others.map(async (backend) => {
    try {
      return await probePackage(backend, launcher);
    } catch (error) {
      log.warn('the devices of an engine package could not be looked at', { package: backend, reason: errorMessageOf(error) });
      return [];
    }
  }))).flat();
  const devices = found.some((device) => device.backend === 'cpu') ? found : [...found, ...await probePackage(plain ?? 'cpu', launcher)];
  const byName = new Map(devices.map((device) => [`${device.backend} ${device.name}`, device]));
  return [...byName.values()].sort((a, b) => BACKEND_PREFERENCE.indexOf(a.backend) - BACKEND_PREFERENCE.indexOf(b.backend));
}

async function probePackage(backend: Backend, launcher: RunnerLauncher): Promise<readonly Device[]> {
  const runner = launcher.launch(`the device probe of the ${backend} engine`, IGNORED);
  try {
    return (await runner.probeDevices(backend)).devices;
  } finally {
    await runner.end();
  }
}

/** The same for all agents on one machine, whatever network namespace or state directory they have. */
async function machineId(): Promise<string> {
  const parts = [hostname(), platform()];
  try {
    parts.push((await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim());
  } catch {
    // Not Linux: the interfaces' hardware addresses tell machines of one name apart.
    for (const addresses of Object.values(networkInterfaces())) for (const address of addresses ?? []) if (!address.internal) parts.push(address.mac);
  }
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16);
}

export async function createMachine(settings: MachineSettings, launcher: RunnerLauncher, log: Log): Promise<Machine> {
  const { stateDirectory, devicePreference } = settings;
  const [firstDevices, id, speeds] = await Promise.all([
    probeDevices(settings.packages, launcher, log),
    machineId(),
    DeviceSpeeds.open({
      file: join(stateDirectory, 'speeds.json'), directory: join(stateDirectory, 'measure'), engineVersion: settings.engineVersion, threads: settings.threads,
    }, launcher, log),
  ]);
  let devices = firstDevices;
  const ramTotalBytes = totalmem();
  const lacking = devicePreference.find((device) => backendOfDevice(device, backendsOf(devices)) === null);
  if (lacking !== undefined) {
    const advice = missingDeviceAdvice(lacking);
    throw new RingError(
      'backend_missing',
      `--device ${devicePreference.join('+')}: this machine has no device "${lacking}" (it has ${backendsOf(devices).join(', ')})${advice === '' ? '' : `; ${advice}`}`,
      { device: lacking },
    );
  }
  return {
    async capabilities(ownResidentBytes): Promise<Omit<Capabilities, 'models' | 'shards' | 'apiAddress'>> {
      const disk = await statfs(stateDirectory);
      // What the agent's own runners hold is free to a new plan, because a new plan replaces them.
      const available = Math.min(ramTotalBytes, await availableMemoryBytes() + ownResidentBytes);
      const backends = backendsOf(devices);
      const primary = devicePreference[0] === undefined ? backends[0] ?? null : backendOfDevice(devicePreference[0], backends);
      const primaryDevice = stageDevices(devices).find((device) => device.backend === primary);
      const speed = primaryDevice === undefined ? null : speeds.of(primaryDevice);
      const hints = gpuHints({ nvidia: hasNvidiaDriver(), backends, platform: `${platform()}-${arch()}`, engineVersion: settings.engineVersion });
      return {
        agentVersion: settings.agentVersion,
        protocolMin: settings.protocolMin,
        protocolMax: settings.protocolMax,
        hostname: hostname(),
        os: platform(),
        arch: arch(),
        cores: availableParallelism(),
        ramTotalBytes,
        ramAvailableBytes: settings.ramLimitBytes === null ? available : Math.min(available, settings.ramLimitBytes),
        ramLimitBytes: settings.ramLimitBytes,
        machineId: id,
        diskFreeBytes: disk.bavail * disk.bsize,
        devices: devices.map((device): Device => ({ ...device, ...speeds.of(device) })),
        backends,
        gflops: speed?.gflops ?? null,
        memoryBandwidthBytesPerSecond: speed?.memoryBandwidthBytesPerSecond ?? null,
        ...(devicePreference.length === 0 ? {} : { devicePreference }),
        ...(settings.deviceLimitBytes === null ? {} : { deviceLimitBytes: settings.deviceLimitBytes }),
        ...(hints.length === 0 ? {} : { hints }),
      };
    },

    async lookAgain(): Promise<void> {
      devices = await probeDevices(settings.packages, launcher, log);
    },

    // Windows has no load average; it is 0 there.
    isLoaded: () => (loadavg()[0] ?? 0) > availableParallelism() * MAX_LOAD_PART,

    measure: (signal) => {
      const wanted = devices.filter((device) => devicePreference.length === 0
        || devicePreference.some((asked) => backendOfDevice(asked, backendsOf(devices)) === device.backend));
      return speeds.measure(wanted, signal);
    },
  };
}

function backendsOf(devices: readonly Device[]): readonly Backend[] {
  return BACKEND_PREFERENCE.filter((backend) => devices.some((device) => device.backend === backend));
}
