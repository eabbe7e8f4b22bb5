/**
 * What trains: a decoder with its optimiser, told tokens and rates, giving losses. Two adapters: `GgmlTrainer` on the
 * engine's own library, which needs nothing else, and `TorchTrainer` on PyTorch, several times as fast on a CPU.
 *
 * Which text, which schedule and which files is not its business.
 */
import { randomWeights } from '../random-weights.js';
import { weightSpecs } from './decoder.js';
import type { DecoderShape } from './decoder.js';

/** Deviation of the first weights; matrices that write to the residual stream begin smaller, by the number of them. */
const INITIAL_DEVIATION = 0.02;

export interface StepRates {
  /** Muon's, for the matrices. */
  readonly matrix: number;
  /** AdamW's, for the word table and the norms. */
  readonly other: number;
  /** Weight decay of matrices and table, relative to the rate. */
  readonly decay: number;
  /** Which optimiser step this is, from 1: AdamW's bias correction depends on it. */
  readonly step: number;
}

/** N inputs and what follows each of them; the vocabulary's size as a target asks nothing. */
export interface Batch {
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
}

/** A weight and the optimiser's memory of it, which a matrix has one of and others two; all of the weight's size. */
export interface WeightState {
  readonly weight: Float32Array;
  readonly memory: readonly Float32Array[];
}

/** One call at a time. */
export interface Trainer {
  /** Mean loss in nats before the step. */
  step(batch: Batch, rates: StepRates): Promise<number>;
  /** Sum of the losses of the places that ask, divided by N. */
  measure(batch: Batch): Promise<number>;
  read(name: string): Promise<WeightState>;
  write(name: string, state: WeightState): Promise<void>;
  close(): Promise<void>;
}

/** All of a trainer by weight name; what a checkpoint holds. */
export type TrainingState = ReadonlyMap<string, WeightState>;

/** The same seed gives the same weights. */
export function initialState(shape: DecoderShape, seed: string): TrainingState {
  return new Map(weightSpecs(shape).map((spec) => {
    const elements = spec.dims[0] * (spec.dims[1] ?? 1);
    const written = /attn_output|ffn_down/.test(spec.name) ? 1 / Math.sqrt(2 * shape.layers) : 1;
    const weight = new Float32Array(elements);
    if (spec.kind === 'norm') weight.fill(1);
    else weight.set(new Float32Array(randomWeights({ seed: `${seed}/${spec.name}`, elements, centre: 0, deviation: INITIAL_DEVIATION * written, format: 'f32' }).buffer));
    return [spec.name, { weight, memory: Array.from({ length: spec.kind === 'matrix' ? 1 : 2 }, () => new Float32Array(elements)) }];
  }));
}

export async function readState(trainer: Trainer, shape: DecoderShape): Promise<TrainingState> {
  const state = new Map<string, WeightState>();
  for (const { name } of weightSpecs(shape)) state.set(name, await trainer.read(name));
  return state;
}

export async function writeState(trainer: Trainer, state: TrainingState): Promise<void> {
  for (const [name, weight] of state) await trainer.write(name, weight);
}
