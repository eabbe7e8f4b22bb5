/**
 * Which layers of a stage its device has no room for: the first ones, so that the stage ends on the device
 * and its graph can be cut there.
 *
 * Pure arithmetic on the memory model. It must not know how much a device has, nor why.
 */
import { hostCacheBytes, stagePositionOf } from './memory-model.js';
import type { MemoryTable } from './memory-model.js';
import type { LayerRange, Spill } from './types.js';

/**
 * `deviceBytes` is what the device takes. Null when the device holds the whole stage. What is no layer (output matrix, buffers) is on the device in any case, so
 * a stage may ask for a little more than a tiny device has; then every layer spills.
 */
export function spillOf(table: MemoryTable, range: LayerRange, deviceBytes: number): Spill | null {
  const position = stagePositionOf(range, table.layers);
  const between = (sums: readonly number[], start: number, end: number): number => (sums[end] ?? 0) - (sums[start] ?? 0);
  const bytesOf = (start: number, end: number, extra: number): number =>
    between(table.weightsBefore, start, end) + extra + between(table.cacheBefore, start, end)
    + table.bufferBytesPerLayer * (end - start);
  let hostLayers = 0;
  const layers = range.end - range.start;
  while (hostLayers < layers
    && bytesOf(range.start + hostLayers, range.end, table.extraWeights[position]) + table.buffers[position] > deviceBytes) hostLayers += 1;
  return hostLayers === 0 ? null : { hostLayers, hostBytes: bytesOf(range.start, range.start + hostLayers, 0) + hostCacheBytes(table, range.start, range.end) };
}
