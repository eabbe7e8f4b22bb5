/**
 * When and how running sequences move together in the slots.
 *
 * Stages join only neighbouring slots into one engine call; small holes they pad. Padding costs every step, a
 * move copies a slot's KV once: after a few steps over holes the last sequences go into the first holes. Pure; the head
 * tells the stages with the slot operations, so that a slot means the same everywhere.
 */

/** Decode steps of a group over holes before sequences move. */
const PATIENCE_STEPS = 8;

export type SlotUse = 'running' | 'retained' | 'empty';

export interface SlotMove {
  readonly slot: number;
  /** Empty when its turn comes. */
  readonly to: number;
}

export class SlotMoves {
  /** First slot of a group -> its steps over holes since it had none. Groups take turns. */
  private readonly holeySteps = new Map<number, number>();

  /** Before a decode step over `slots` (ascending): the moves to make first, in order. */
  beforeDecode(slots: readonly number[], uses: readonly SlotUse[]): readonly SlotMove[] {
    const first = slots[0] ?? 0;
    if (!hasHole(slots, uses)) {
      this.holeySteps.delete(first);
      return [];
    }
    const steps = (this.holeySteps.get(first) ?? 0) + 1;
    this.holeySteps.set(first, steps);
    if (steps <= PATIENCE_STEPS) return [];
    this.holeySteps.clear();
    return together(uses);
  }
}

/** Holes are what no sequence runs in: those that other groups run in cannot be closed. */
function hasHole(slots: readonly number[], uses: readonly SlotUse[]): boolean {
  const first = slots[0] ?? 0;
  const last = slots.at(-1) ?? 0;
  return uses.some((use, slot) => slot > first && slot < last && use !== 'running');
}

/** The last running sequence into the first hole, until there is none. What is retained there makes way to an empty slot. */
function together(before: readonly SlotUse[]): readonly SlotMove[] {
  const uses = [...before];
  const moves: SlotMove[] = [];
  const move = (slot: number, to: number): void => {
    moves.push({ slot, to });
    uses[to] = uses[slot] ?? 'empty';
    uses[slot] = 'empty';
  };
  for (let turn = 0; turn < uses.length; turn += 1) {
    const hole = uses.findIndex((use) => use !== 'running');
    const last = uses.lastIndexOf('running');
    if (hole < 0 || hole > last) break;
    if (uses[hole] === 'retained') {
      const empty = uses.lastIndexOf('empty');
      if (empty < 0) break;
      move(hole, empty);
    }
    move(last, hole);
  }
  return moves;
}
