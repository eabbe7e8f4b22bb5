/**
 * What this machine's cores give when all of them compute, of what each gives alone: shared memory, caches, clocks and the
 * hosts of virtual machines take their part, and no ring can be faster than that. The engine alone, a process on each core.
 */
import { Floor } from './floor.js';
import { spreadOf } from './statistics.js';

/** As a group of answers decodes. */
const ROWS = 4;
const STEPS = 12;
const PROMPT_TOKENS = 96;
const REPEATS = 3;
const CONTEXT_TOKENS = 256;

/** Shares of what as many cores would give if none disturbed the others, 0..1. */
export interface CoresSample {
  readonly decodeShare: number;
  readonly prefillShare: number;
  /** Of the speed of the fastest core that the slowest has, each alone. */
  readonly slowestDecodeShare: number;
}

interface Times {
  readonly decodeMs: number;
  readonly prefillMs: number;
}

/** Null where processes cannot be held to cores. Takes some tens of seconds, most of it loading. */
export async function measureCores(modelFile: string, cores: number): Promise<CoresSample | null> {
  if (process.platform !== 'linux') return null;
  const floors: Floor[] = [];
  try {
    for (let core = 0; core < cores; core += 1) {
      const { floor } = await Floor.open({ modelFile, threads: 1, contextTokens: CONTEXT_TOKENS, slots: ROWS, keyType: 'q8_0', valueType: 'f16' }, core);
      floors.push(floor);
    }
    const decode: number[] = [];
    const prefill: number[] = [];
    const slowest: number[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      const alone: Times[] = [];
      for (const floor of floors) alone.push(await timesOf(floor));
      const decodeMs = alone.map((times) => times.decodeMs);
      slowest.push(Math.min(...decodeMs) / Math.max(...decodeMs));
      const together = await Promise.all(floors.map(timesOf));
      decode.push(share(alone, together, ({ decodeMs }) => decodeMs));
      prefill.push(share(alone, together, ({ prefillMs }) => prefillMs));
    }
    return { decodeShare: spreadOf(decode).median, prefillShare: spreadOf(prefill).median, slowestDecodeShare: spreadOf(slowest).median };
  } finally {
    await Promise.all(floors.map((floor) => floor.close()));
  }
}

async function timesOf(floor: Floor): Promise<Times> {
  const { ms } = await floor.batch(Array.from({ length: ROWS }, (_, slot) => slot), STEPS);
  const { firstTokenMs } = await floor.sequence(Array.from({ length: PROMPT_TOKENS }, (_, index) => index + 1), 1);
  return { decodeMs: ms, prefillMs: firstTokenMs };
}

/** Of the work per time. */
function share(alone: readonly Times[], together: readonly Times[], of: (times: Times) => number): number {
  const rate = (all: readonly Times[]): number => all.reduce((sum, times) => sum + 1 / of(times), 0);
  return rate(together) / rate(alone);
}
