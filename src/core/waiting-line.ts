/**
 * Sequences that wait for a slot, in the order in which they get one.
 *
 * Answers under way go first: a new plan may have fewer slots than the one that was lost. After them clients take turns,
 * so that one with fifty requests does not stand before one with a single request. Pure and bounded; it must not know
 * what a client is beyond its key.
 */

/** New requests that wait in all; beyond it a request is refused (the API answers 429). */
export const MAX_WAITING = 512;
/** New requests of one client that wait: it leaves room for others. */
export const MAX_WAITING_OF_CLIENT = 384;
/** Answers under way that wait: those of the slots that a lost plan had. */
export const MAX_RESUMING = 512;

export interface Waiting {
  readonly client: string;
  /** Part of its answer is with its client already. */
  readonly resuming: boolean;
}

export class WaitingLine<T extends Waiting> {
  private readonly resuming: T[] = [];
  /** Of each client that waits, in arrival order. The first client has the next turn. No list is empty. */
  private readonly fresh = new Map<string, T[]>();
  private freshCount = 0;

  get size(): number {
    return this.resuming.length + this.freshCount;
  }

  /** Why there is no room, for people; null = there is. */
  refusal({ client, resuming }: Waiting): string | null {
    if (resuming) return this.resuming.length < MAX_RESUMING ? null : `${this.resuming.length} answers wait to go on already: try again later`;
    if (this.freshCount >= MAX_WAITING) return `${this.freshCount} requests are waiting already: try again later`;
    const own = this.fresh.get(client)?.length ?? 0;
    return own < MAX_WAITING_OF_CLIENT ? null : `${own} requests of this client are waiting already: try again when some of them are answered`;
  }

  add(waiting: T): void {
    if (waiting.resuming) {
      this.resuming.push(waiting);
      return;
    }
    this.freshCount += 1;
    const own = this.fresh.get(waiting.client);
    if (own === undefined) this.fresh.set(waiting.client, [waiting]);
    else own.push(waiting);
  }

  /** Who gets the next slot; null when nobody waits. */
  first(): T | null {
    if (this.resuming[0] !== undefined) return this.resuming[0];
    for (const [first] of this.fresh.values()) return first ?? null;
    return null;
  }

  /** Takes the first one; its client's next turn comes after everybody else's. */
  takeFirst(): T | null {
    const resumed = this.resuming.shift();
    if (resumed !== undefined) return resumed;
    for (const [client, own] of this.fresh) {
      const taken = own.shift();
      this.freshCount -= 1;
      this.fresh.delete(client);
      if (own.length > 0) this.fresh.set(client, own);
      return taken ?? null;
    }
    return null;
  }

  /** Takes one out of turn; the others keep theirs. */
  remove(waiting: T): void {
    const lane = waiting.resuming ? this.resuming : this.fresh.get(waiting.client) ?? [];
    const index = lane.indexOf(waiting);
    if (index < 0) return;
    lane.splice(index, 1);
    if (waiting.resuming) return;
    this.freshCount -= 1;
    if (lane.length === 0) this.fresh.delete(waiting.client);
  }

  all(): readonly T[] {
    return [...this.resuming, ...[...this.fresh.values()].flat()];
  }
}
