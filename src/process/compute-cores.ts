/**
 * How many of this machine's cores are worth a thread of the engine.
 *
 * Its threads wait for each other after every operation, so the slowest decides: two threads that share a core, or one on a
 * slow core beside fast ones, make all of them wait. A core counts once, however many threads the processor offers on it,
 * and slow cores do not count where there are fast ones. The system's own words are read by pure functions. It must not
 * know what the threads are for.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { availableParallelism, platform } from 'node:os';

/** Of a question to the system; PowerShell takes a second to start. */
const QUESTION_TIMEOUT_MS = 10_000;
/** More than any machine has; what the system lists is not trusted further. */
const MAX_PROCESSORS = 4_096;
/** Of the fastest core's capacity: what a core must have to count beside it. */
const FAST_SHARE = 0.5;

const PROCESSORS = '/sys/devices/system/cpu';
/** The fast ones of an Intel processor with two kinds of cores; absent on others. */
const PERFORMANCE_CORES = '/sys/devices/cpu_core/cpus';
const CPU_QUOTA = '/sys/fs/cgroup/cpu.max';

/** One that the system can give work to: a core, or one of the threads of a core. */
export interface Processor {
  /** The same for those that share a core. */
  readonly core: string;
  /** As the system rates it against the machine's others; null = all are alike, as far as it knows. */
  readonly capacity: number | null;
  /** Null = the system tells no kinds of cores apart. */
  readonly performance: boolean | null;
}

/** At least 1, at most what this process may use. */
export async function computeCores(): Promise<number> {
  const usable = availableParallelism();
  return Math.max(1, Math.min(usable, await knownCores() ?? usable));
}

/** Null when the system does not say. */
async function knownCores(): Promise<number | null> {
  switch (platform()) {
    case 'linux': return linuxCores();
    case 'darwin': return numberOf(await answer('sysctl', ['-n', 'hw.perflevel0.physicalcpu'])) ?? numberOf(await answer('sysctl', ['-n', 'hw.physicalcpu']));
    case 'win32': return numberOf(await answer('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', '(Get-CimInstance Win32_Processor | Measure-Object -Property NumberOfCores -Sum).Sum']));
    default: return null;
  }
}

/** Cores that are as fast as this machine's fastest, or nearly. Null when there are none. */
export function fastCores(processors: readonly Processor[]): number | null {
  const performance = processors.filter((processor) => processor.performance === true);
  const candidates = performance.length > 0 ? performance : processors;
  const fastest = Math.max(...candidates.map(({ capacity }) => capacity ?? 0));
  const fast = candidates.filter(({ capacity }) => capacity === null || capacity >= fastest * FAST_SHARE);
  const cores = new Set(fast.map(({ core }) => core)).size;
  return cores === 0 ? null : cores;
}

/** `0-3,8` as Linux writes sets of processors: 0, 1, 2, 3, 8. Empty when it is no such text. */
export function processorList(text: string): readonly number[] {
  const ranges = text.trim().split(',').map((range) => /^(\d+)(?:-(\d+))?$/.exec(range));
  const numbers: number[] = [];
  for (const range of ranges) {
    const first = Number(range?.[1]);
    const last = Number(range?.[2] ?? range?.[1]);
    if (!Number.isInteger(first) || last - first >= MAX_PROCESSORS - numbers.length) return [];
    for (let number = first; number <= last; number += 1) numbers.push(number);
  }
  return numbers;
}

/** Processors' worth of time that a control group may take, of `cpu.max`; null = as much as there is. */
export function quotaCores(cpuMax: string): number | null {
  const [quota, period] = cpuMax.trim().split(' ').map(Number);
  if (quota === undefined || period === undefined || !(quota > 0) || !(period > 0)) return null;
  return Math.max(1, Math.round(quota / period));
}

async function linuxCores(): Promise<number | null> {
  const [status, performanceList, cpuMax] = await Promise.all([read('/proc/self/status'), read(PERFORMANCE_CORES), read(CPU_QUOTA)]);
  const allowed = processorList(/^Cpus_allowed_list:\s+(\S+)$/m.exec(status ?? '')?.[1] ?? '');
  const performance = performanceList === null ? null : new Set(processorList(performanceList));
  const processors = await Promise.all(allowed.map((number) => readProcessor(number, performance)));
  const cores = fastCores(processors.filter((processor) => processor !== null));
  const quota = cpuMax === null ? null : quotaCores(cpuMax);
  return cores === null || quota === null ? cores ?? quota : Math.min(cores, quota);
}

/** Null when there is none of this number, or it is switched off. */
async function readProcessor(number: number, performance: ReadonlySet<number> | null): Promise<Processor | null> {
  const directory = `${PROCESSORS}/cpu${number}`;
  const [siblings, capacity] = await Promise.all([read(`${directory}/topology/thread_siblings_list`), read(`${directory}/cpu_capacity`)]);
  if (siblings === null) return null;
  return { core: siblings.trim(), capacity: numberOf(capacity ?? ''), performance: performance === null ? null : performance.has(number) };
}

function numberOf(text: string): number | null {
  const number = Number(text.trim());
  return Number.isInteger(number) && number > 0 ? number : null;
}

async function read(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return null;
  }
}

/** Empty when it cannot be asked. */
function answer(command: string, parameters: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(command, parameters, { timeout: QUESTION_TIMEOUT_MS, windowsHide: true }, (error, stdout) => resolve(error === null ? stdout : ''));
  });
}
