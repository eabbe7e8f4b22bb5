/**
 * Into how many micro-batches the decoding sequences are cut, and which sequence goes with which.
 *
 * More groups keep more stages busy at once, but each reads the weights again, and an engine's cost by batch size is no
 * straight line (kernels take several rows at a time). So both are weighed with what steps of each size were measured to
 * cost: a cycle takes as long as the slowest stage needs for all groups, or one group for the whole ring. A group has
 * neighbouring slots, because the engine joins only those.
 *
 * Chunks of a long prompt take turns with decode steps, so half as many groups keep the stages as busy; what is left of
 * the time that a token may take is the chunks'. Pure.
 */
import type { ChunkBudget } from './prefill-pace.js';
import { KERNEL_ROWS } from './step-size.js';

/** Weight of the newest step of a size. */
const SMOOTHING = 0.25;
/** Steps of a size that are measured before it is judged. */
const JUDGED_STEPS = 3;
/** A size that was not seen for so many decode steps is measured again before it is judged. */
const FORGOTTEN_AFTER_STEPS = 512;
/** Another cut must promise a cycle shorter by this share, or nothing changes. */
const WORTHWHILE = 0.05;
/** The first choice between cuts is by any difference that is one. */
const TELLING = 0.01;
/** Beside a prompt, the time between two tokens of an answer grows to so many times the normal one; there is noise besides. */
export const GAP_BESIDE_PROMPT = 2;
/** Where the chunk's cost is not known, and this is more than it can be. */
const GAP_TRIED = 2.3;
/** A step that the system interrupted says little of the next: samples count up to this many times the average. */
const OUTLIER = 2;

interface StepCost {
  samples: number;
  /** Measured over holes: it counts where nothing else is known, and decides nothing. */
  provisional: boolean;
  /** Of the slowest stage. */
  bottleneckMicros: number;
  /** Of all stages. */
  ringMicros: number;
  seenAtStep: number;
}

/** The best cut without a prompt, and what steps cost when there was none. */
interface Unprompted {
  readonly sequences: number;
  readonly groups: number;
  /** Of one of its steps, and of those that go beside a prompt. */
  readonly cost: StepCost;
  readonly beside: StepCost;
}

export class DecodeGroups {
  /** Sequences in a step -> what it costs. */
  private readonly costs = new Map<number, StepCost>();
  /** Time of a lone step around the ring that no stage computed. */
  private hopsMicros = 0;
  private steps = 0;
  /** How many there are now, and how many when none is being tried; null = not decided for so many sequences. */
  private groups = 1;
  private preferred: number | null = null;
  private decidedFor = 0;
  private unprompted: Unprompted | null = null;
  /** First slot of every group but the first. */
  private bounds: readonly number[] = [];

  constructor(private readonly stages: number) {}

  /**
   * A plain decode step (no guesses) of `sequences` came around. `elapsedMicros` only where it had the ring for itself.
   * `joined`: their slots are neighbours, as a cut's are once its sequences have moved together; holes cost as much as rows.
   */
  measured(sequences: number, stageMicros: readonly number[], elapsedMicros: number | null, joined = true): void {
    if (stageMicros.length === 0 || sequences < 1) return;
    this.steps += 1;
    const ring = stageMicros.reduce((sum, micros) => sum + micros, 0);
    const bottleneck = Math.max(...stageMicros);
    if (elapsedMicros !== null) this.hopsMicros = averaged(this.hopsMicros, Math.max(0, elapsedMicros - ring));
    const known = this.costs.get(sequences);
    if (known === undefined || this.steps - known.seenAtStep > FORGOTTEN_AFTER_STEPS || (joined && known.provisional)) {
      this.costs.set(sequences, { samples: 1, provisional: !joined, bottleneckMicros: bottleneck, ringMicros: ring, seenAtStep: this.steps });
      return;
    }
    if (!joined && !known.provisional) return;
    // The first steps of a size pay for what the engine sets up once.
    known.bottleneckMicros = known.samples < JUDGED_STEPS ? Math.min(known.bottleneckMicros, bottleneck) : averaged(known.bottleneckMicros, bottleneck);
    known.ringMicros = known.samples < JUDGED_STEPS ? Math.min(known.ringMicros, ring) : averaged(known.ringMicros, ring);
    known.samples += 1;
    known.seenAtStep = this.steps;
  }

  /**
   * Cuts the decoding slots (ascending) into groups of neighbours. Groups stay what they are while they are about even, and
   * kernels go over their rows no more often than over even ones.
   * `besidePrompt`: chunks of a long prompt go between their steps.
   */
  split(slots: readonly number[], besidePrompt = false): readonly (readonly number[])[] {
    const groups = this.count(slots.length, besidePrompt);
    const size = Math.ceil(slots.length / groups);
    if (this.bounds.length === groups - 1) {
      const kept = this.cut(slots);
      const sizes = kept.map((group) => group.length);
      const isEven = Math.max(...sizes) - Math.min(...sizes) <= Math.max(1, Math.floor(slots.length / (4 * groups)));
      if (isEven && passes(sizes) <= passes(sizes.map((_, index) => Math.max(0, Math.min(size, slots.length - index * size))))) return kept;
    }
    this.bounds = Array.from({ length: groups - 1 }, (_, index) => slots[(index + 1) * size] ?? Number.MAX_SAFE_INTEGER);
    return this.cut(slots);
  }

  /**
   * What a chunk may cost the slowest stage beside `sequences` in as many groups as there are now; null before anything
   * was measured. A step that follows a chunk waits for it at every stage; where chunks take turns with steps, all of
   * both pass a stage between two steps of a group.
   */
  chunkBudget(sequences: number): ChunkBudget | null {
    const step = this.costs.get(Math.ceil(sequences / this.groups));
    if (step === undefined) return null;
    const normal = this.normalMicros(sequences, step);
    const left = (gap: number): number => Math.min(
      ((gap + 1 / this.groups) * normal - 2 * step.bottleneckMicros) / this.stages,
      gap * normal / this.groups - step.bottleneckMicros,
    );
    return { micros: left(GAP_BESIDE_PROMPT), triedMicros: left(GAP_TRIED) };
  }

  /** How many groups `sequences` are cut into now. */
  private count(sequences: number, besidePrompt: boolean): number {
    const most = besidePrompt ? this.groupsBesidePrompt(sequences) : Math.max(1, Math.min(this.stages, sequences));
    if (sequences !== this.decidedFor || (this.preferred ?? 1) > most) {
      this.decidedFor = sequences;
      this.preferred = null;
    }
    // What has not been measured is tried, most groups first: as many as stages is right where nothing is odd. That it was
    // tried is nothing in its favour.
    for (let groups = most; groups >= 1; groups -= 1) {
      if (!this.isKnown(Math.ceil(sequences / groups))) {
        this.groups = groups;
        return groups;
      }
    }
    let best = this.preferred ?? 1;
    // Where more are no faster, fewer read the weights less often.
    const margin = this.preferred === null ? TELLING : WORTHWHILE;
    for (let groups = most; groups >= 1; groups -= 1) {
      if (this.cycleMicros(groups, sequences) < this.cycleMicros(best, sequences) * (1 - margin)) best = groups;
    }
    this.groups = best;
    this.preferred = best;
    if (!besidePrompt) this.remember(best, sequences);
    return best;
  }

  private remember(groups: number, sequences: number): void {
    const cost = this.costs.get(Math.ceil(sequences / groups));
    const beside = this.costs.get(Math.ceil(sequences / this.groupsBesidePrompt(sequences)));
    this.unprompted = cost === undefined || beside === undefined ? null : { sequences, groups, cost: { ...cost }, beside: { ...beside } };
  }

  /** A cycle as it would be without the prompt now: answers got longer since, and each row pays for that in any cut. */
  private normalMicros(sequences: number, step: StepCost): number {
    const cycle = this.cycleMicros(this.groups, sequences);
    const { unprompted } = this;
    if (unprompted === null) return cycle;
    const { groups, cost, beside } = unprompted;
    // One came or went meanwhile: what the best cut gained then is all that is known.
    if (unprompted.sequences !== sequences) return cycle * Math.min(1, this.longer(groups, cost) / this.longer(this.groupsBesidePrompt(unprompted.sequences), beside));
    const rows = Math.ceil(sequences / groups) / Math.ceil(sequences / this.groups);
    const grown = (before: number, after: number): number => Math.max(0, after - before) * rows;
    const bottleneck = cost.bottleneckMicros + grown(beside.bottleneckMicros, step.bottleneckMicros);
    return Math.min(cycle, this.longer(groups, { bottleneckMicros: bottleneck, ringMicros: cost.ringMicros + grown(beside.ringMicros, step.ringMicros) }));
  }

  private groupsBesidePrompt(sequences: number): number {
    return Math.max(1, Math.min(Math.ceil(this.stages / 2), sequences));
  }

  private isKnown(size: number): boolean {
    const cost = this.costs.get(size);
    return cost !== undefined && !cost.provisional && cost.samples >= JUDGED_STEPS && this.steps - cost.seenAtStep <= FORGOTTEN_AFTER_STEPS;
  }

  private cycleMicros(groups: number, sequences: number): number {
    const cost = this.costs.get(Math.ceil(sequences / groups));
    if (cost === undefined) return Number.POSITIVE_INFINITY;
    return this.longer(groups, cost);
  }

  /** What the slowest stage needs for all groups, or one group for the whole ring. */
  private longer(groups: number, { bottleneckMicros, ringMicros }: Pick<StepCost, 'bottleneckMicros' | 'ringMicros'>): number {
    return Math.max(groups * bottleneckMicros, ringMicros + this.hopsMicros);
  }

  private cut(slots: readonly number[]): readonly (readonly number[])[] {
    const groups = Array.from({ length: this.bounds.length + 1 }, () => new Array<number>());
    for (const slot of slots) groups[this.bounds.filter((bound) => slot >= bound).length]?.push(slot);
    return groups;
  }
}

/** How often kernels go over the rows of groups of these sizes. */
function passes(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + Math.ceil(size / KERNEL_ROWS), 0);
}

function averaged(average: number, sample: number): number {
  if (average === 0) return sample;
  return average * (1 - SMOOTHING) + Math.min(sample, average * OUTLIER) * SMOOTHING;
}
