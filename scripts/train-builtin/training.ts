/**
 * A training from its first or last checkpoint to its end: the rates, the order, the measures, and the best so far.
 *
 * The rate rises over the first steps, stays, and falls to zero over the last 45 % of the tokens. Windows are short until
 * that fall's last part, where the model learns the context that it is used with. It must not know files or engines.
 */
import { assert } from '../../src/core/errors.js';
import type { BatchShape, DecoderShape } from './decoder.js';
import { measuringBatches, TrainingOrder } from './text.js';
import { readState, writeState } from './trainer.js';
import type { Trainer, TrainingState } from './trainer.js';

/** What one token's nats are in bits. */
const BITS_PER_NAT = 1 / Math.LN2;
const WARM_UP_STEPS = 40;
/** Shares of all tokens, at the end. */
const FALL_SHARE = 0.45;
const LONG_SHARE = 0.2;

export interface TrainingPlan {
  readonly shape: DecoderShape;
  readonly seed: string;
  /** Tokens of a step. */
  readonly batchTokens: number;
  /** Tokens of a window, first and last; the last is the model's context. */
  readonly shortLength: number;
  readonly longLength: number;
  /** Of the whole training. */
  readonly totalTokens: number;
  readonly matrixRate: number;
  readonly otherRate: number;
  readonly decay: number;
  readonly measureEverySteps: number;
  /** `Date.now()` after which no step begins. */
  readonly deadlineMs: number;
}

export interface TokenizedText {
  readonly tokens: Int32Array;
  /** What the tokens stand for. */
  readonly bytes: number;
}

export interface TrainingTexts {
  readonly bos: number;
  readonly train: Int32Array;
  readonly validation: TokenizedText;
  readonly heldOut: TokenizedText;
}

export interface Position {
  readonly steps: number;
  readonly tokens: number;
}

/** After a measure. Losses are bits per byte. */
export interface Measured extends Position {
  /** Of the training text, mean since the last measure, in nats per token. */
  readonly trainLoss: number;
  readonly validation: number;
  readonly heldOut: number;
  readonly windowLength: number;
  readonly trainer: Trainer;
}

export type OpenTrainer = (batch: BatchShape) => Promise<Trainer>;

/** Share of the full rate at a place of the training. */
function rateShare(position: Position, totalTokens: number): number {
  const rise = Math.min(1, (position.steps + 1) / WARM_UP_STEPS);
  const left = 1 - position.tokens / totalTokens;
  return rise * Math.max(0, Math.min(1, left / FALL_SHARE));
}

export function windowLength(tokens: number, plan: TrainingPlan): number {
  return tokens >= plan.totalTokens * (1 - LONG_SHARE) ? plan.longLength : plan.shortLength;
}

/** Bits per byte of a text in windows of the trainer's batch, which overlap by so many tokens. */
export async function bitsPerByte(
  trainer: Trainer, text: TokenizedText, batch: BatchShape, ids: { readonly bos: number; readonly nothing: number }, overlap = 0,
): Promise<number> {
  let nats = 0;
  for (const part of measuringBatches(text.tokens, batch, ids, overlap)) nats += await trainer.measure(part) * batch.sequences * batch.length;
  return (nats * BITS_PER_NAT) / text.bytes;
}

/**
 * Trains from `start` on until the tokens or the time are used up; `onMeasured` runs after every measure, also the last,
 * and `onStep` after every step. Returns where it stopped.
 */
export async function train(request: {
  readonly plan: TrainingPlan;
  readonly texts: TrainingTexts;
  readonly openTrainer: OpenTrainer;
  readonly start: Position;
  readonly state: TrainingState;
  readonly onStep: (position: Position, loss: number) => Promise<void> | void;
  readonly onMeasured: (measured: Measured) => Promise<void>;
  readonly stopped: () => boolean;
}): Promise<Position> {
  const { plan, texts } = request;
  let { steps, tokens } = request.start;
  let state = request.state;
  let stop = false;
  while (!stop) {
    const length = windowLength(tokens, plan);
    const batch = { sequences: Math.max(1, Math.floor(plan.batchTokens / length)), length };
    const stepTokens = batch.sequences * length;
    const order = new TrainingOrder(texts.train, batch, texts.bos, plan.seed);
    const trainer = await request.openTrainer(batch);
    try {
      await writeState(trainer, state);
      let losses = 0;
      let measuredAt = steps;
      for (;;) {
        stop = tokens >= plan.totalTokens || Date.now() >= plan.deadlineMs || request.stopped();
        const leaves = stop || windowLength(tokens, plan) !== length;
        if (steps > measuredAt && (leaves || steps % plan.measureEverySteps === 0)) {
          const ids = { bos: texts.bos, nothing: plan.shape.vocabulary };
          await request.onMeasured({
            steps, tokens, trainLoss: losses / (steps - measuredAt), windowLength: length, trainer,
            validation: await bitsPerByte(trainer, texts.validation, batch, ids),
            heldOut: await bitsPerByte(trainer, texts.heldOut, batch, ids),
          });
          losses = 0;
          measuredAt = steps;
        }
        if (leaves) break;
        const share = rateShare({ steps, tokens }, plan.totalTokens);
        const window = Math.floor(tokens / stepTokens) * batch.sequences;
        const loss = await trainer.step(order.batch(window), {
          matrix: plan.matrixRate * share, other: plan.otherRate * share, decay: plan.decay, step: steps + 1,
        });
        assert(Number.isFinite(loss), 'the loss is a number; with smaller rates it stays one');
        losses += loss;
        steps += 1;
        tokens += stepTokens;
        await request.onStep({ steps, tokens }, loss);
      }
      state = await readState(trainer, plan.shape);
    } finally {
      await trainer.close();
    }
  }
  return { steps, tokens };
}
