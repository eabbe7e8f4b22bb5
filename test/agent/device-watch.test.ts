import { describe, expect, it } from 'vitest';
import { DeviceWatch, MEASURE_AFTER_MS } from '../../src/agent/device-watch.js';
import type { StageStatus } from '../../src/core/types.js';
import type { Machine } from '../../src/ports.js';
import { HandClock } from '../support/hand-clock.js';
import { SILENT } from '../support/silent-log.js';

function setUp(): { readonly clock: HandClock; readonly watch: DeviceWatch; readonly calls: string[]; busy: boolean } {
  const clock = new HandClock();
  const calls: string[] = [];
  const machine: Machine = {
    capabilities: () => Promise.reject(new Error('not of this test')),
    lookAgain: async () => void calls.push('look again'),
    isLoaded: () => false,
    measure: async () => {
      calls.push('measure');
      return true;
    },
  };
  const state = { busy: false };
  const watch = new DeviceWatch({ clock, log: SILENT, machine, isBusy: () => state.busy, publish: async () => void calls.push('publish') });
  return Object.assign(state, { clock, watch, calls });
}

function failed(planId: string, code: string): StageStatus {
  return { planId, rank: 0, state: 'failed', progress: 0, error: { code, message: '' }, residentBytes: 0, fetchedBytes: 0 };
}

describe('the watch over devices', () => {
  it('measures once, a while after the start, and tells the figures', async () => {
    const { clock, watch, calls } = setUp();
    watch.start();
    await clock.advance(MEASURE_AFTER_MS - 1);
    expect(calls).toEqual([]);
    await clock.advance(1);
    expect(calls).toEqual(['measure', 'publish']);
    await clock.advance(1_000_000);
    expect(calls).toEqual(['measure', 'publish']);
  });

  it('waits until nothing else is to be done', async () => {
    const set = setUp();
    set.busy = true;
    set.watch.start();
    for (let round = 0; round < 20; round += 1) await set.clock.advance(MEASURE_AFTER_MS);
    expect(set.calls).toEqual([]);
    set.busy = false;
    await set.clock.advance(MEASURE_AFTER_MS);
    expect(set.calls).toEqual(['measure', 'publish']);
  });

  it('breaks a measurement off when something else is to be done, and measures again later', async () => {
    const clock = new HandClock();
    const ends: string[] = [];
    let busy = false;
    let measuring = false;
    const machine: Machine = {
      capabilities: () => Promise.reject(new Error('not of this test')),
      lookAgain: async () => undefined,
      // A measurement is load itself.
      isLoaded: () => measuring,
      measure: (signal) => new Promise<boolean>((resolve) => {
        measuring = true;
        const cancel = clock.after(2_000, () => {
          ends.push('measured');
          resolve(true);
        });
        signal.addEventListener('abort', () => {
          cancel();
          ends.push('broken off');
          resolve(false);
        }, { once: true });
      }).finally(() => {
        measuring = false;
      }),
    };
    const watch = new DeviceWatch({ clock, log: SILENT, machine, isBusy: () => busy, publish: async () => void ends.push('publish') });
    watch.start();
    await clock.advance(MEASURE_AFTER_MS + 1_000);
    expect(ends).toEqual([]);
    busy = true;
    for (let round = 0; round < 100; round += 1) await clock.advance(200);
    expect(ends).toEqual(['broken off']);
    busy = false;
    for (let round = 0; round < 100; round += 1) await clock.advance(200);
    expect(ends).toEqual(['broken off', 'measured', 'publish']);
    await watch.stop();
  });

  it('looks for devices anew when a stage found its backend gone, once for each plan', async () => {
    const { clock, watch, calls } = setUp();
    watch.stagesChanged([failed('1', 'out_of_memory')]);
    await clock.advance(0);
    expect(calls).toEqual([]);
    watch.stagesChanged([failed('2', 'backend_missing')]);
    watch.stagesChanged([failed('2', 'backend_missing')]);
    await clock.advance(0);
    expect(calls).toEqual(['look again', 'publish']);
    watch.stagesChanged([]);
    watch.stagesChanged([failed('3', 'backend_missing')]);
    await clock.advance(0);
    expect(calls).toEqual(['look again', 'publish', 'look again', 'publish']);
  });

  it('does nothing more after it was stopped', async () => {
    const { clock, watch, calls } = setUp();
    watch.start();
    await watch.stop();
    await clock.advance(MEASURE_AFTER_MS);
    watch.stagesChanged([failed('1', 'backend_missing')]);
    await clock.advance(0);
    expect(calls).toEqual([]);
  });
});
