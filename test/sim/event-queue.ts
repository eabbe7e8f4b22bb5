/** What happens when, in order of time and then of insertion: a binary heap, so that a run is the same every time. */
interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class EventQueue {
  private readonly heap: Entry[] = [];
  private order = 0;

  at(atMs: number, run: () => void): void {
    this.order += 1;
    this.heap.push({ atMs, order: this.order, run });
    let index = this.heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.swapIfLater(parent, index)) break;
      index = parent;
    }
  }

  /** The next event at or before `limitMs`, taken out. */
  next(limitMs: number): { readonly atMs: number; readonly run: () => void } | null {
    const first = this.heap[0];
    if (first === undefined || first.atMs > limitMs) return null;
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return first;
    this.heap[0] = last;
    for (let index = 0; ;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const smaller = this.isLater(left, right) ? right : left;
      if (smaller >= this.heap.length || !this.swapIfLater(index, smaller)) return first;
      index = smaller;
    }
  }

  private swapIfLater(upper: number, lower: number): boolean {
    if (!this.isLater(upper, lower)) return false;
    const [a, b] = [this.heap[upper], this.heap[lower]];
    if (a === undefined || b === undefined) return false;
    this.heap[upper] = b;
    this.heap[lower] = a;
    return true;
  }

  private isLater(left: number, right: number): boolean {
    const [a, b] = [this.heap[left], this.heap[right]];
    if (a === undefined || b === undefined) return false;
    return a.atMs > b.atMs || (a.atMs === b.atMs && a.order > b.order);
  }
}
