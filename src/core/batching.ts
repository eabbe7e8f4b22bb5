/**
 * The head's scheduler: which sequences make up the next frame that enters the ring.
 *
 * Pure: it is told what arrived and what it cost, and answers with the next step. It knows slots, positions and
 * fairness; it does not know links, runners or text. One step carries either decode tokens of several sequences or one
 * chunk of one prompt, never both (sequences with different token counts are cut apart by the engine).
 *
 * Order is what makes it safe: frames travel the ring first in, first out, and slot operations travel with them, so a
 * slot may be closed and opened again while older steps of it are still under way; their results no longer match the
 * slot's sequence id and are dropped.
 */
import { DecodeGroups } from './decode-groups.js';
import { assert } from './errors.js';
import { HeadSlots } from './head-slots.js';
import type { AdmitResult, BatchingCounters, GuessCounters, HeadStep, SequenceFinished, StepResults, TokenDrawn } from './head-types.js';
import { LonePrompt } from './lone-prompt.js';
import type { FinishReason } from './messages.js';
import { ModelDrafts, NO_GUESSES } from './model-drafts.js';
import type { DraftAnswer, DraftState, DraftWish, Guesses } from './model-drafts.js';
import { PrefillPace } from './prefill-pace.js';
import type { Sequence, SequenceRequest } from './sequence.js';
import { MAX_DRAFT_TOKENS, Speculation } from './speculation.js';
import type { GuessSource } from './speculation.js';
import type { SampledToken, SequenceSlice } from './step-types.js';
import type { NodeId } from './types.js';
import { WaitingLine } from './waiting-line.js';

/** A prompt of more chunks than this changes how the answers beside it are grouped. */
const LONG_IN_CHUNKS = 4;

export interface BatchingSettings {
  readonly slots: number;
  readonly contextTokens: number;
  /** Largest number of tokens in a step. */
  readonly batchTokens: number;
  readonly stages: number;
  /** Every stage can forget the last tokens of a slot: prompts begin with what slots hold already. */
  readonly canRollBack: boolean;
}

interface FlyingStep {
  readonly step: number;
  readonly kind: 'decode' | 'prefill' | 'operations';
  readonly tokens: number;
  /** Of its first slice. */
  readonly position: number;
  /** Nothing else was under way when it was sent. */
  readonly alone: boolean;
  /** Its slots are neighbours: stages compute it in one call, without padding. */
  readonly joined: boolean;
  /** The only sequence of a decode step, with its guesses. */
  readonly lone: { readonly sequence: Sequence; readonly guesses: Guesses; readonly quiet: number | null } | null;
}

export class HeadScheduler {
  private readonly queue = new WaitingLine<Sequence>();
  private readonly slots: HeadSlots;
  /** By request id: those that wait and those that run. */
  private readonly sequences = new Map<string, Sequence>();
  private readonly flying: FlyingStep[] = [];
  private nextStep = 1;
  private lastWasPrefill = false;
  /** Round-robin over prompts: the slot whose chunk went last. */
  private lastPrefillSlot = -1;
  private readonly pace = new PrefillPace();
  private readonly lonePrompt = new LonePrompt();
  private decodedTokens = 0;
  private prefilledTokens = 0;
  private reusedTokens = 0;
  private readonly guessed: Record<GuessSource, GuessCounters> = { text: { drafted: 0, accepted: 0 }, model: { drafted: 0, accepted: 0 } };
  private readonly drafts = new ModelDrafts();
  private readonly groups: DecodeGroups;

  constructor(private readonly settings: BatchingSettings) {
    assert(settings.slots >= 1 && settings.stages >= 1 && settings.batchTokens >= 1, 'a ring has slots, stages and a batch');
    this.slots = new HeadSlots(settings.slots, settings.canRollBack);
    this.groups = new DecodeGroups(settings.stages);
  }

  /** Takes a request or says why not. The caller has checked token ids against the vocabulary. */
  admit(request: SequenceRequest): AdmitResult {
    const length = request.promptTokens.length + request.emittedTokens.length;
    if (request.promptTokens.length === 0) return { kind: 'refused', code: 'bad_request', message: 'the prompt is empty' };
    if (length >= this.settings.contextTokens) {
      return {
        kind: 'refused',
        code: 'context_too_long',
        message: request.emittedTokens.length > 0
          ? `the ring that is left has a context of ${this.settings.contextTokens} tokens, and this answer with its prompt has ${length} already: it cannot go on`
          : `the prompt has ${length} tokens, and the context of this model is ${this.settings.contextTokens} tokens here: shorten it, or start with a larger --ctx`,
      };
    }
    if (this.sequences.has(request.requestId)) return { kind: 'refused', code: 'bad_request', message: 'this request is already running' };
    const waiting = { client: `${request.origin} ${request.client ?? ''}`, resuming: request.emittedTokens.length > 0 };
    const noRoom = this.queue.refusal(waiting);
    if (noRoom !== null) return { kind: 'refused', code: 'queue_full', message: noRoom };
    const sequence: Sequence = {
      ...waiting,
      request,
      tokens: [...request.promptTokens, ...request.emittedTokens],
      slot: -1,
      sent: 0,
      reused: 0,
      isLong: false,
      waiting: false,
      decoding: false,
      goesOn: false,
      lastStep: 0,
      speculation: new Speculation(),
      readByDraft: 0,
    };
    this.sequences.set(request.requestId, sequence);
    this.queue.add(sequence);
    return { kind: 'admitted' };
  }

  /** Forgets a request; its slot is closed with the next frame. False when it is not known (any more), or is somebody else's. */
  cancel(requestId: string, origin?: NodeId): boolean {
    const sequence = this.sequences.get(requestId);
    if (sequence === undefined || (origin !== undefined && sequence.request.origin !== origin)) return false;
    this.remove(sequence);
    return true;
  }

  /**
   * The next step, or null when nothing may be sent now. A step without slices only carries slot operations.
   * Call again until it returns null.
   */
  next(): HeadStep | null {
    this.fillSlots();
    if (this.flying.length >= this.maxInFlight()) return null;
    const prefill = this.prefillCandidate();
    const decodes = this.decodeCandidates(prefill);
    // Turns are strict: two chunks in a row would stand between two tokens of everybody else.
    if (prefill !== null && (!this.isDecoding() || !this.lastWasPrefill)) return this.prefillStep(prefill);
    if (decodes.length > 0) {
      const guesses = this.guessesFor(decodes);
      return guesses === 'wait' ? null : this.decodeStep(decodes, guesses, prefill === null && this.goesOn(decodes, guesses));
    }
    // Cancelled sequences: the close must reach every stage even if nothing else is to be sent.
    if (this.slots.hasOperations()) return this.makeStep('operations', [], []);
    return null;
  }

  /** A step that computes nothing; null while the ring has or awaits anything else. */
  emptyStep(): HeadStep | null {
    return this.flying.length > 0 || this.sequences.size > 0 ? null : this.makeStep('operations', [], []);
  }

  /**
   * A step came around the ring after `elapsedMs`; its runners computed for `stageMicros`, in rank order. Results of
   * sequences that are gone are dropped.
   */
  complete(step: number, sampled: readonly SampledToken[], stageMicros: readonly number[], elapsedMs = sum(stageMicros) / 1000): StepResults {
    const computeMicros = sum(stageMicros);
    const index = this.flying.findIndex((candidate) => candidate.step === step);
    if (index < 0) return { finished: [], drawn: [] };
    const [flown] = this.flying.splice(index, 1);
    if (flown?.kind === 'decode' && (flown.lone?.guesses.tokens.length ?? 0) === 0) {
      this.pace.decodeMeasured(flown.tokens, Math.max(...stageMicros));
      this.lonePrompt.decodeMeasured(flown.tokens, computeMicros);
      this.groups.measured(flown.tokens, stageMicros, flown.alone ? elapsedMs * 1000 : null, flown.joined);
    }
    if (flown !== undefined) this.measureLone(flown, sampled.length, elapsedMs);
    if (flown?.kind === 'prefill') {
      this.pace.chunkMeasured(flown.tokens, flown.position, Math.max(...stageMicros));
      this.lonePrompt.chunkMeasured(flown.tokens, computeMicros);
    }
    const finished: SequenceFinished[] = [];
    const handedOn: TokenDrawn[] = [];
    const answered = new Set<Sequence>();
    for (const token of sampled) {
      // By its name: it may have moved to another slot meanwhile.
      const sequence = this.sequences.get(token.sequenceId);
      if (sequence === undefined || !sequence.waiting || token.position !== sequence.tokens.length) continue;
      answered.add(sequence);
      sequence.decoding = true;
      sequence.tokens.push(token.token);
      // The newest token has not been sent, and what was sent beyond it were wrong guesses.
      sequence.sent = sequence.tokens.length - 1;
      this.decodedTokens += 1;
      const { requestId, origin, promptTokens, headDelivers } = sequence.request;
      const drawn = sequence.tokens.length - promptTokens.length;
      if (headDelivers === true) handedOn.push({ requestId, origin, index: drawn - 1, token: token.token, endOfGeneration: token.endOfGeneration, reusedTokens: sequence.reused });
      const reason = this.finishReason(sequence, drawn, token.endOfGeneration);
      if (reason === null) continue;
      finished.push({ requestId, origin, reason, tokens: drawn });
      this.remove(sequence);
    }
    for (const sequence of answered) sequence.waiting = false;
    return { finished, drawn: handedOn };
  }

  private measureLone({ lone }: FlyingStep, drawn: number, elapsedMs: number): void {
    if (lone === null) return;
    const { sequence: { speculation }, guesses: { source, tokens, waitedMs }, quiet } = lone;
    if (tokens.length === 0 && source === 'text') {
      // The draft read meanwhile, on the processor of the head's stage: the next one says more.
      if (quiet !== null && quiet === this.drafts.quiet()) speculation.plainMeasured(elapsedMs);
      else speculation.plainPassed();
      return;
    }
    const { drafted, accepted } = this.guessed[source];
    this.guessed[source] = { drafted: drafted + tokens.length, accepted: accepted + Math.max(0, drawn - 1) };
    speculation.draftMeasured(tokens.length, drawn, waitedMs + elapsedMs, source);
  }

  /** How the plan's draft is, where it has one. */
  draftIs(state: DraftState): void {
    this.drafts.draftIs(state);
  }

  /** What the plan's draft is to do, after `next` returned null; each is answered by `draftAnswered`. */
  takeDraftWish(): DraftWish | null {
    const [only, other] = this.slots.running();
    const alone = other === undefined ? only : undefined;
    return alone === undefined || !this.settings.canRollBack ? this.drafts.takeWish(null, 0) : this.drafts.takeWish(alone, this.guessLimit(alone));
  }

  draftAnswered(answer: DraftAnswer): void {
    this.drafts.answer(answer);
  }

  /** Steps that are in the ring. */
  get inFlight(): number {
    return this.flying.length;
  }

  counters(): BatchingCounters {
    return {
      running: this.slots.running().length,
      queued: this.queue.size,
      inFlight: this.inFlight,
      steps: this.nextStep - 1,
      decodedTokens: this.decodedTokens,
      prefilledTokens: this.prefilledTokens,
      reusedTokens: this.reusedTokens,
      guesses: { ...this.guessed },
    };
  }

  /** Requests that a lost plan leaves unfinished. */
  unfinished(): readonly SequenceRequest[] {
    return [...this.slots.running(), ...this.queue.all()].map((sequence) => sequence.request);
  }

  private finishReason(sequence: Sequence, drawn: number, endOfGeneration: boolean): FinishReason | null {
    if (endOfGeneration) return 'stop';
    if (drawn >= sequence.request.maxTokens) return 'length';
    if (sequence.tokens.length >= this.settings.contextTokens) return 'length';
    return null;
  }

  private remove(sequence: Sequence): void {
    this.sequences.delete(sequence.request.requestId);
    if (sequence.slot < 0) this.queue.remove(sequence);
    else this.slots.close(sequence);
  }

  private fillSlots(): void {
    for (let sequence = this.queue.first(); sequence !== null; sequence = this.queue.first()) {
      const reused = this.slots.open(sequence);
      if (reused === null) return;
      this.queue.takeFirst();
      sequence.reused = reused;
      this.reusedTokens += reused;
    }
  }

  /** A micro-batch in every stage and one on the way between them, so that no stage waits for a frame. */
  private maxInFlight(): number {
    return this.settings.stages + 1;
  }

  private isDecoding(): boolean {
    return this.slots.running().some(({ decoding }) => decoding);
  }

  /** The group that waited longest, when all of it is back; one step for each group is under way at most. */
  private decodeCandidates(prompt: Sequence | null): readonly Sequence[] {
    const decoding = this.slots.running().filter((sequence) => sequence.decoding);
    if (decoding.length === 0) return [];
    if (prompt !== null && leftOf(prompt) > LONG_IN_CHUNKS * this.pace.latestTokens) prompt.isLong = true;
    const split = this.groups.split(decoding.map(({ slot }) => slot), prompt?.isLong);
    if (this.flying.filter((step) => step.kind === 'decode').length >= split.length) return [];
    let best: readonly Sequence[] = [];
    for (const slots of split) {
      const group = slots.flatMap((slot) => this.slots.at(slot) ?? []).slice(0, this.settings.batchTokens);
      if (group.length === 0 || group.some(({ waiting }) => waiting)) continue;
      if (best.length === 0 || oldestStep(group) < oldestStep(best)) best = group;
    }
    return best;
  }

  private prefillCandidate(): Sequence | null {
    const count = this.slots.size;
    for (let offset = 1; offset <= count; offset += 1) {
      const sequence = this.slots.at((this.lastPrefillSlot + offset + count) % count);
      if (sequence !== null && !sequence.waiting && !sequence.decoding) return sequence;
    }
    return null;
  }

  private prefillStep(sequence: Sequence): HeadStep {
    const left = leftOf(sequence);
    const count = Math.min(left, this.chunkTokens(sequence));
    const last = count === left;
    const slice: SequenceSlice = { slot: sequence.slot, position: sequence.sent, tokens: count, sample: last };
    const tokens = sequence.tokens.slice(sequence.sent, sequence.sent + count);
    sequence.sent += count;
    sequence.waiting = last;
    this.lastWasPrefill = true;
    this.lastPrefillSlot = sequence.slot;
    this.prefilledTokens += count;
    return this.makeStep('prefill', [slice], tokens);
  }

  private decodeStep(sequences: readonly Sequence[], guesses: Guesses, goesOn: boolean): HeadStep {
    this.slots.moveTogether(sequences);
    const slices: SequenceSlice[] = [];
    const tokens: number[] = [];
    for (const sequence of sequences) {
      const token = sequence.tokens[sequence.sent];
      assert(token !== undefined, 'a ready sequence has a token to send');
      const draft = guesses.tokens;
      const slice = { slot: sequence.slot, position: sequence.sent, tokens: 1 + draft.length, sample: true };
      slices.push(draft.length === 0 ? slice : { ...slice, draft });
      tokens.push(token, ...draft);
      sequence.sent += 1 + draft.length;
      sequence.waiting = true;
      sequence.goesOn = goesOn;
      sequence.lastStep = this.nextStep;
    }
    this.lastWasPrefill = false;
    const [only] = sequences;
    return this.makeStep('decode', slices, tokens, sequences.length === 1 && only !== undefined ? { sequence: only, guesses, quiet: this.drafts.quiet() } : null, goesOn);
  }

  /** Guesses at what follows, for one sequence in a step of its own: from its text, else from the plan's draft. */
  private guessesFor([only, other]: readonly Sequence[]): Guesses | 'wait' {
    if (only === undefined || other !== undefined || !this.settings.canRollBack) return NO_GUESSES;
    if (only.goesOn) return NO_GUESSES;
    const limit = this.guessLimit(only);
    const tokens = only.speculation.propose(only.tokens, limit);
    return tokens.length > 0 ? { source: 'text', tokens, waitedMs: 0 } : this.drafts.guesses(only, limit, this.slots.running().length === 1);
  }

  /**
   * The whole model is in one stage, and nothing is known that would come in between: it need not wait for the head to hear of
   * its tokens before it computes on. What is begun in vain costs a step, so that guesses come one step after their occasion.
   */
  private goesOn(sequences: readonly Sequence[], guesses: Guesses): boolean {
    const { stages, canRollBack, contextTokens } = this.settings;
    if (stages > 1 || !canRollBack || guesses.tokens.length > 0 || this.queue.size > 0) return false;
    if (this.slots.running().some(({ decoding }) => !decoding) || this.slots.running().length > sequences.length) return false;
    // With the token that this step draws.
    if (sequences.some(({ tokens, request }) => tokens.length + 1 >= Math.min(request.promptTokens.length + request.maxTokens, contextTokens))) return false;
    const [only, other] = sequences;
    if (only === undefined || other !== undefined) return only !== undefined;
    return !this.drafts.hasDraft && only.speculation.propose(only.tokens, this.guessLimit(only)).length === 0;
  }

  /** Fewer than the answer may still grow by; may be below 0. */
  private guessLimit({ request, tokens }: Sequence): number {
    const left = Math.min(request.promptTokens.length + request.maxTokens, this.settings.contextTokens) - tokens.length;
    return Math.min(left - 1, request.sampling.draftTokens ?? MAX_DRAFT_TOKENS, MAX_DRAFT_TOKENS, this.settings.batchTokens - 1);
  }

  private makeStep(kind: FlyingStep['kind'], slices: readonly SequenceSlice[], tokens: readonly number[], lone: FlyingStep['lone'] = null, goesOn = false): HeadStep {
    const step = this.nextStep;
    this.nextStep += 1;
    this.flying.push({ step, kind, tokens: tokens.length, position: slices[0]?.position ?? 0, alone: this.flying.length === 0, joined: areNeighbours(slices), lone });
    return { step, operations: this.slots.takeOperations(), slices, tokens: Int32Array.from(tokens), goesOn };
  }

  private chunkTokens({ tokens, sent }: Sequence): number {
    const { stages, batchTokens } = this.settings;
    const decoding = this.slots.running().filter((sequence) => sequence.decoding).length;
    return decoding > 0 ? this.pace.tokens(sent, batchTokens, this.groups.chunkBudget(decoding)) : this.lonePrompt.tokens(tokens.length, stages, batchTokens);
  }
}

function areNeighbours(slices: readonly SequenceSlice[]): boolean {
  const slots = slices.map(({ slot }) => slot);
  return Math.max(...slots) - Math.min(...slots) === slots.length - 1;
}

/** Of a prompt that is being computed: tokens that were not sent. */
function leftOf({ tokens, sent }: Sequence): number {
  return tokens.length - sent;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function oldestStep(group: readonly Sequence[]): number {
  return Math.min(...group.map(({ lastStep }) => lastStep));
}
