import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { computeCores, fastCores, processorList, quotaCores } from '../../src/process/compute-cores.js';
import type { Processor } from '../../src/process/compute-cores.js';

function processors(count: number, of: (number: number) => Partial<Processor>): readonly Processor[] {
  return Array.from({ length: count }, (_, number) => ({ core: String(number), capacity: null, performance: null, ...of(number) }));
}

describe('cores that are worth a thread', () => {
  it('a core counts once, whatever threads it offers', () => {
    expect(fastCores(processors(16, (number) => ({ core: `${number % 8},${(number % 8) + 8}` })))).toBe(8);
    expect(fastCores(processors(128, (number) => ({ core: String(Math.floor(number / 8)) })))).toBe(16);
  });

  it('of an Intel processor with two kinds, the fast kind', () => {
    // 8 fast cores with two threads each, 16 slow ones with one.
    const hybrid = processors(32, (number) => ({ core: number < 16 ? String(number >> 1) : String(number), performance: number < 16 }));
    expect(fastCores(hybrid)).toBe(8);
    // Held to the slow ones: they are what there is.
    expect(fastCores(hybrid.slice(16))).toBe(16);
  });

  it('of an ARM processor with kinds of cores, those near the fastest', () => {
    expect(fastCores(processors(8, (number) => ({ capacity: number < 4 ? 398 : 1024 })))).toBe(4);
    expect(fastCores(processors(8, (number) => ({ capacity: [1024, 870, 870, 870, 350, 350, 350, 350][number] ?? null })))).toBe(4);
    expect(fastCores(processors(4, () => ({ capacity: 1024 })))).toBe(4);
  });

  it('a machine that lists none says nothing', () => {
    expect(fastCores([])).toBeNull();
  });

  it('sets of processors as Linux writes them', () => {
    expect(processorList('0-3,8\n')).toEqual([0, 1, 2, 3, 8]);
    expect(processorList('5')).toEqual([5]);
    for (const text of ['', 'none', '1-', '0-99999999', '0-4095,5000']) expect(processorList(text), text).toEqual([]);
  });

  it('a control group may have less', () => {
    expect(quotaCores('400000 100000\n')).toBe(4);
    expect(quotaCores('50000 100000\n')).toBe(1);
    expect(quotaCores('max 100000\n')).toBeNull();
    expect(quotaCores('')).toBeNull();
  });

  it('this machine has some, and not more than this process may use', async () => {
    const cores = await computeCores();
    expect(cores).toBeGreaterThanOrEqual(1);
    expect(cores).toBeLessThanOrEqual(availableParallelism());
  });
});
