import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { Backend, Device } from '../../src/core/types.js';
import type { MeasuredSpeed, Runner, RunnerLauncher } from '../../src/ports.js';
import { DeviceSpeeds, stageDevices } from '../../src/process/device-speeds.js';
import { SILENT } from '../support/silent-log.js';

const directories: string[] = [];
const never = new AbortController().signal;

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function device(backend: Backend, name: string = backend, memoryTotalBytes = 1): Device {
  return { name, description: 'd', backend, memoryTotalBytes, memoryFreeBytes: 0, unified: false };
}

/** Runners that answer a measurement with what `answer` says. */
function launcherOf(answer: (backend: Backend) => MeasuredSpeed): { readonly launcher: RunnerLauncher; readonly measured: Backend[]; running(): number } {
  const measured: Backend[] = [];
  let running = 0;
  const unused = (): never => {
    throw new Error('not of this test');
  };
  const runner: Runner = {
    pid: null, loadStage: unused, loadVocabulary: unused, checkGrammar: unused, tokenize: unused, probeDevices: unused, reset: unused, step: unused, drained: unused,
    convert: unused,
    measure: async ({ backend }) => {
      measured.push(backend);
      return answer(backend);
    },
    end: async () => {
      running -= 1;
    },
  };
  return {
    launcher: { launch: () => {
      running += 1;
      return runner;
    } },
    measured,
    running: () => running,
  };
}

function settings(changes: { readonly engineVersion?: string; readonly threads?: number; readonly directory?: string } = {}): Parameters<typeof DeviceSpeeds.open>[0] {
  const directory = changes.directory ?? mkdtempSync(join(tmpdir(), 'speeds-'));
  directories.push(directory);
  return { file: join(directory, 'speeds.json'), engineVersion: '1.0.0', threads: 4, ...changes, directory: join(directory, 'measure') };
}

const SPEED = { gflops: 5, memoryBandwidthBytesPerSecond: 7e9 };

describe('B14: measured speeds of the device that computes', () => {
  it('are measured once per device and kept over a restart', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'speeds-'));
    const first = launcherOf(() => SPEED);
    const speeds = await DeviceSpeeds.open(settings({ directory }), first.launcher, SILENT);
    expect(speeds.of(device('cpu'))).toBeNull();
    expect(await speeds.measure([device('vulkan'), device('cpu')], never)).toBe(true);
    expect(await speeds.measure([device('vulkan'), device('cpu')], never)).toBe(false);
    expect(first.measured).toEqual(['vulkan', 'cpu']);
    expect(first.running()).toBe(0);
    const again = launcherOf(() => SPEED);
    const reopened = await DeviceSpeeds.open(settings({ directory }), again.launcher, SILENT);
    expect(reopened.of(device('cpu'))).toEqual(SPEED);
    expect(await reopened.measure([device('cpu')], never)).toBe(false);
    expect(again.measured).toEqual([]);
  });

  it('are of one engine version, one number of threads and one device', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'speeds-'));
    await (await DeviceSpeeds.open(settings({ directory }), launcherOf(() => SPEED).launcher, SILENT)).measure([device('cpu')], never);
    for (const other of [{ engineVersion: '2.0.0' }, { threads: 8 }]) {
      expect((await DeviceSpeeds.open(settings({ directory, ...other }), launcherOf(() => SPEED).launcher, SILENT)).of(device('cpu'))).toBeNull();
    }
    expect((await DeviceSpeeds.open(settings({ directory }), launcherOf(() => SPEED).launcher, SILENT)).of(device('cpu', 'another'))).toBeNull();
  });

  it('go on without a device that cannot be measured, and do not try it again', async () => {
    const launched = launcherOf((backend) => {
      if (backend === 'vulkan') throw new RingError('backend_missing', 'gone');
      return SPEED;
    });
    const speeds = await DeviceSpeeds.open(settings(), launched.launcher, SILENT);
    expect(await speeds.measure([device('vulkan'), device('cpu')], never)).toBe(true);
    expect(await speeds.measure([device('vulkan'), device('cpu')], never)).toBe(false);
    expect(launched.measured).toEqual(['vulkan', 'cpu']);
    expect(speeds.of(device('vulkan'))).toBeNull();
  });

  it('begin anew when the file is damaged', async () => {
    const used = settings();
    writeFileSync(used.file, '{"version":1,"entries":[{"key":1}]}');
    const speeds = await DeviceSpeeds.open(used, launcherOf(() => SPEED).launcher, SILENT);
    expect(await speeds.measure([device('cpu')], never)).toBe(true);
    expect(JSON.parse(readFileSync(used.file, 'utf8'))).toMatchObject({ version: 1, entries: [SPEED] });
  });

  it('are of the largest device of each backend', () => {
    expect(stageDevices([device('cuda', 'small', 1), device('cuda', 'large', 2), device('cpu')]).map(({ name }) => name)).toEqual(['large', 'cpu']);
  });
});
