/**
 * Turns samples into one aligned table, a memory table, and a sentence for each promise: met, or missed and by how much.
 * Pure: samples in, lines out.
 */
import type { CacheSample } from './caches.js';
import type { RingSample } from './ring.js';
import { DECODE_PROMISES, MEMORY_PROMISE } from './settings.js';
import { ratios, spreadOf } from './statistics.js';

export interface FloorSample {
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  readonly firstTokenMs: number;
  readonly residentBytes: number;
}

export interface SlotSample {
  readonly slots: readonly number[];
  readonly tokensPerSecond: number;
  readonly engineCallsPerStep: number;
}

export interface BenchResult {
  readonly model: string;
  readonly threads: number;
  readonly cores: number;
  readonly rounds: number;
  readonly loadAverageAtStart: number;
  readonly floor: readonly FloorSample[];
  /** By number of agents. */
  readonly rings: readonly { readonly agents: number; readonly samples: readonly RingSample[] }[];
  readonly slots: readonly SlotSample[];
  readonly caches: readonly CacheSample[];
}

const NONE = '-';
/** Load average of one minute above which other work disturbs the figures. */
const BUSY_LOAD = 0.5;

export function reportLines(result: BenchResult): readonly string[] {
  return [
    `${result.model}; ${result.threads} thread(s) a runner on ${result.cores} cores; medians of ${result.rounds} round(s), the spread behind; load ${result.loadAverageAtStart.toFixed(2)} at the start`,
    ...(result.loadAverageAtStart > BUSY_LOAD ? ['THE MACHINE WAS BUSY with other work at the start: speeds and ratios are not to be trusted, memory is'] : []),
    '', ...align(speedRows(result)),
    '', ...align(memoryRows(result)),
    '', ...align(slotRows(result)),
    '', ...align(cacheRows(result)),
    '', ...promises(result),
  ];
}

function speedRows(result: BenchResult): readonly (readonly string[])[] {
  const floorDecode = result.floor.map((sample) => sample.decodeTokensPerSecond);
  const floorPrefill = result.floor.map((sample) => sample.prefillTokensPerSecond);
  const rows: (readonly string[])[] = [
    ['', 'decode tok/s', 'predicted', 'of floor', 'prefill tok/s', 'of floor', 'first token ms', 'a step ms', 'overhead µs/hop', 'wire B/token'],
    ['floor', spread(floorDecode, 1), '', '', spread(floorPrefill, 1), '', spread(result.floor.map((sample) => sample.firstTokenMs), 0), (1000 / spreadOf(floorDecode).median).toFixed(2), '', ''],
  ];
  for (const ring of result.rings) {
    const decode = ring.samples.map((sample) => sample.decodeTokensPerSecond);
    const prefill = ring.samples.map((sample) => sample.prefillTokensPerSecond);
    rows.push([
      `ring of ${ring.agents}`,
      spread(decode, 1), predictedText(ring.samples), spreadOf(ratios(decode, floorDecode)).median.toFixed(3),
      spread(prefill, 1), spreadOf(ratios(prefill, floorPrefill)).median.toFixed(3),
      spread(ring.samples.map((sample) => sample.firstTokenMs), 0),
      (1000 / spreadOf(decode).median).toFixed(2),
      known(ring.samples.map((sample) => sample.hops?.overheadMicros ?? null)),
      known(ring.samples.map((sample) => sample.wireBytesPerToken)),
    ]);
  }
  return rows;
}

/** The plan's own figure of the last round: the first rounds' nodes may not have been measured. */
function predictedText(samples: readonly RingSample[]): string {
  return samples.at(-1)?.predictedTokensPerSecond?.toFixed(1) ?? NONE;
}

function cacheRows({ caches }: BenchResult): readonly (readonly string[])[] {
  return [
    ['kv_cache', 'a token ms', 'predicted MB', 'resident MB', 'predicted/resident'],
    ...caches.map(({ policy, tokenMs, predictedBytes, residentBytes }) =>
      [policy, tokenMs.toFixed(1), megabytes(predictedBytes), megabytes(residentBytes), (predictedBytes / residentBytes).toFixed(3)]),
  ];
}

function memoryRows(result: BenchResult): readonly (readonly string[])[] {
  const rows: (readonly string[])[] = [['memory', 'stage', 'layers', 'predicted MB', 'resident MB', 'predicted/resident', 'agent says MB']];
  rows.push(['floor', '', '', '', megabytes(spreadOf(result.floor.map((sample) => sample.residentBytes)).median), '', '']);
  for (const ring of result.rings) {
    for (const stage of ring.samples.at(-1)?.stages ?? []) {
      rows.push([
        `ring of ${ring.agents}`, String(stage.rank), stage.layers, megabytes(stage.predictedBytes),
        stage.residentBytes === null ? NONE : megabytes(stage.residentBytes),
        stage.residentBytes === null ? NONE : (stage.predictedBytes / stage.residentBytes).toFixed(3),
        megabytes(stage.reportedBytes),
      ]);
    }
  }
  return rows;
}

function slotRows(result: BenchResult): readonly (readonly string[])[] {
  return [
    ['slots of a batch', 'tok/s', 'engine calls a step'],
    ...result.slots.map((sample) => [sample.slots.join(','), sample.tokensPerSecond.toFixed(1), sample.engineCallsPerStep.toFixed(2)]),
  ];
}

function promises(result: BenchResult): readonly string[] {
  const floorDecode = result.floor.map((sample) => sample.decodeTokensPerSecond);
  const lines: string[] = [];
  for (const ring of result.rings) {
    const promise = DECODE_PROMISES.get(ring.agents);
    if (promise === undefined) continue;
    const ratio = spreadOf(ratios(ring.samples.map((sample) => sample.decodeTokensPerSecond), floorDecode)).median;
    lines.push(`${ratio >= promise ? 'met   ' : 'MISSED'} decode of a ring of ${ring.agents}: ${ratio.toFixed(3)} of the floor (at least ${promise})`);
  }
  for (const ring of result.rings) {
    for (const stage of ring.samples.at(-1)?.stages ?? []) {
      const resident = stage.residentBytes ?? stage.reportedBytes;
      const error = resident === 0 ? Number.POSITIVE_INFINITY : stage.predictedBytes / resident - 1;
      lines.push(`${Math.abs(error) <= MEMORY_PROMISE ? 'met   ' : 'MISSED'} memory of stage ${stage.rank} of ${ring.agents}: predicted ${(100 * error).toFixed(1)} % off (within ${100 * MEMORY_PROMISE} %)`);
    }
  }
  for (const cache of result.caches) {
    const same = cache.tokens.join() === result.caches[0]?.tokens.join();
    lines.push(`${same ? 'met   ' : 'MISSED'} tokens with kv_cache ${cache.policy}: ${same ? 'the same' : 'others'} (with each policy the same)`);
    lines.push(`${cache.residentBytes <= cache.predictedBytes * (1 + MEMORY_PROMISE) ? 'met   ' : 'MISSED'} memory with kv_cache ${cache.policy}: ${(100 * (cache.residentBytes / cache.predictedBytes - 1)).toFixed(1)} % from the plan's (at most ${100 * MEMORY_PROMISE} % above)`);
  }
  return lines;
}

function spread(samples: readonly number[], digits: number): string {
  const { median, min, max } = spreadOf(samples);
  return `${median.toFixed(digits)} (${min.toFixed(digits)}-${max.toFixed(digits)})`;
}

function known(samples: readonly (number | null)[]): string {
  const values = samples.filter((value) => value !== null);
  return values.length === 0 ? NONE : spreadOf(values).median.toFixed(0);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

/** First column to the left, the others to the right. */
export function align(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return rows.map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ').trimEnd());
}
