/**
 * When the head's scheduler asks the plan's draft for guesses, as data: a wish for whoever has the draft, and what came of it.
 *
 * The ring waits for guesses only while one sequence has it for itself, never for a prompt that the draft still has to
 * read, and no longer than the wish says. One wish is under way at a time. Pure; it must not know runners, slots or time.
 */
import type { Sequence } from './sequence.js';
import type { GuessSource } from './speculation.js';

/** Tokens that the draft may have to read before it guesses; what is more it reads beside plain steps. */
const MAX_READ_AT_ONCE = 64;
/** Bounds of the wait. Between them it is as long as the plain steps that the guesses could save. */
const LEAST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 2_000;

/** `none`: there is no draft, not yet, or no more. `busy`: it still computes what nobody waits for. */
export type DraftState = 'none' | 'idle' | 'busy';

export interface DraftWish {
  readonly sequenceId: string;
  /** All that is known of the sequence. */
  readonly tokens: readonly number[];
  /** The answer never ends by itself. */
  readonly ignoreEos: boolean;
  /** Guesses that are wanted; 0 = the draft only reads on. */
  readonly limit: number;
  /** For guesses: the ring goes on then with what there is. */
  readonly withinMs: number;
}

export interface DraftAnswer {
  readonly sequenceId: string;
  /** Tokens of the wish that the draft has read. */
  readonly read: number;
  /** What may follow all of them; empty where none came in time. */
  readonly guesses: readonly number[];
  readonly elapsedMs: number;
}

/** The guesses of one step. */
export interface Guesses {
  readonly source: GuessSource;
  readonly tokens: readonly number[];
  /** How long the ring waited for them. */
  readonly waitedMs: number;
}

export const NO_GUESSES: Guesses = { source: 'text', tokens: [], waitedMs: 0 };

interface Asked {
  readonly sequence: Sequence;
  readonly wish: DraftWish;
}

export class ModelDrafts {
  private state: DraftState = 'none';
  private asked: Asked | null = null;
  /** Not handed out yet. */
  private wish: DraftWish | null = null;
  private arrived: { readonly asked: Asked; readonly answer: DraftAnswer } | null = null;
  private wishes = 0;

  draftIs(state: DraftState): void {
    this.state = state;
  }

  get hasDraft(): boolean {
    return this.state !== 'none';
  }

  /** For a sequence that could be sent now. `alone`: nobody else is in the ring. `wait`: its guesses are under way. */
  guesses(sequence: Sequence, limit: number, alone: boolean): Guesses | 'wait' {
    const { length } = sequence.tokens;
    const isFor = (asked: Asked): boolean => asked.sequence === sequence && asked.wish.limit > 0 && asked.wish.tokens.length === length;
    if (this.arrived !== null && isFor(this.arrived.asked)) {
      const { answer } = this.arrived;
      this.arrived = null;
      return { source: 'model', tokens: answer.guesses.slice(0, Math.max(0, limit)), waitedMs: answer.elapsedMs };
    }
    if (!alone) return NO_GUESSES;
    if (this.asked !== null && isFor(this.asked)) return 'wait';
    const { speculation } = sequence;
    const wanted = speculation.wantedOfModel(limit);
    if (wanted < 1 || !this.isFree || behind(sequence) > MAX_READ_AT_ONCE) return NO_GUESSES;
    this.ask(sequence, wanted, Math.min(LONGEST_WAIT_MS, Math.max(LEAST_WAIT_MS, speculation.plainStepMs * wanted)));
    return 'wait';
  }

  /** What the draft is to do now; null = nothing. `only`: the one sequence in the ring, if it is one, and how far its answer may still grow. */
  takeWish(only: Sequence | null, limit: number): DraftWish | null {
    if (this.wish === null && only !== null && this.isFree && limit > 0 && readsOn(only)) this.ask(only, 0, 0);
    const { wish } = this;
    this.wish = null;
    return wish;
  }

  /** Every wish that was taken is answered once. */
  answer(answer: DraftAnswer): void {
    const { asked } = this;
    if (asked === null || asked.wish.sequenceId !== answer.sequenceId) return;
    this.asked = null;
    asked.sequence.readByDraft = answer.read;
    if (asked.wish.limit > 0) this.arrived = { asked, answer };
  }

  /** The same at the beginning and at the end of a step, and not null: the draft has not computed meanwhile. */
  quiet(): number | null {
    return this.asked === null && this.state !== 'busy' ? this.wishes : null;
  }

  private get isFree(): boolean {
    return this.state === 'idle' && this.asked === null;
  }

  private ask(sequence: Sequence, limit: number, withinMs: number): void {
    this.wishes += 1;
    const { requestId, sampling: { ignoreEos } } = sequence.request;
    this.wish = { sequenceId: requestId, tokens: [...sequence.tokens], ignoreEos, limit, withinMs };
    this.asked = { sequence, wish: this.wish };
    this.arrived = null;
  }
}

function behind({ tokens, readByDraft }: Sequence): number {
  return tokens.length - readByDraft;
}

/** Once all of its prompt is on its way, so that the draft does not take the head's time from it. */
function readsOn(sequence: Sequence): boolean {
  return sequence.speculation.mayAskModel && sequence.sent >= sequence.tokens.length - 1 && behind(sequence) > MAX_READ_AT_ONCE;
}
