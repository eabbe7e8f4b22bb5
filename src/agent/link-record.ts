/**
 * Measured ways as this node's record tells them: few, in a fixed order, and steady, because every change of a record goes
 * to every node. Pure.
 */
import type { LinkFigures } from '../core/types.js';

/** Of one record; by node id. */
const MAX_PUBLISHED_LINKS = 64;
/** A figure that changed by less than this is still the same. */
const CHANGE_FACTOR = 2;

/** What to publish, given what was published: a figure moves only when it is another one altogether. */
export function steadyLinks(published: readonly LinkFigures[], measured: readonly LinkFigures[]): readonly LinkFigures[] {
  const before = new Map(published.map((link) => [link.nodeId, link]));
  return [...measured]
    .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1))
    .slice(0, MAX_PUBLISHED_LINKS)
    .map((link) => {
      const known = before.get(link.nodeId);
      return known !== undefined && isSame(known, link) ? known : link;
    });
}

function isSame(a: LinkFigures, b: LinkFigures): boolean {
  if ((a.bytesPerSecond === null) !== (b.bytesPerSecond === null)) return false;
  return isNear(a.roundTripMicros, b.roundTripMicros) && isNear(a.bytesPerSecond ?? 1, b.bytesPerSecond ?? 1);
}

function isNear(a: number, b: number): boolean {
  return a <= b * CHANGE_FACTOR && b <= a * CHANGE_FACTOR;
}
