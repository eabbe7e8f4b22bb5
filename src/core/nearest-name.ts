/** Which known name a person probably meant. Pure; it must not know what the names are of. */

/** Letters of longer names are not looked at. */
const COMPARED_LENGTH_MAX = 64;

/** The known name at the smallest edit distance, if that is small enough to be a slip; case does not count. Ties go to the first. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  let nearest: string | null = null;
  let smallest = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance >= smallest || distance >= candidate.length) continue;
    smallest = distance;
    nearest = candidate;
  }
  return nearest;
}

/** Levenshtein's, of the first letters. */
export function editDistance(left: string, right: string): number {
  const a = left.slice(0, COMPARED_LENGTH_MAX);
  const b = right.slice(0, COMPARED_LENGTH_MAX);
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
