/**
 * What a number format costs: the perplexity of a text that the model was not trained on, and how far the format's
 * predictions are from those of another one.
 *
 * The text is cut into windows that each begin anew; all of them are scored token by token, several windows at a time.
 * It must not know agents or rings: a model in this process.
 */
import type { SamplingSettings } from '../../src/core/step-types.js';
import type { GgmlCacheType } from '../../src/core/types.js';
import { openStage } from '../../src/engine/stage.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import type { StageOptions } from '../../src/ports.js';
import type { Scored } from './cut-model.js';

export interface FormatQuality {
  readonly name: string;
  /** e to the mean negative log probability of a token. */
  readonly perplexity: number;
  readonly bitsPerByte: number;
  /** Mean Kullback-Leibler divergence of its predictions from the reference's, in nats: what the format loses, without luck. */
  readonly divergence: number;
}

export interface CacheTypes {
  readonly keyType: GgmlCacheType;
  readonly valueType: GgmlCacheType;
}

export interface HeldOutText {
  /** Each without the token that begins a text. */
  readonly windows: readonly Int32Array[];
  /** Of the text in the windows, in UTF-8. */
  readonly bytes: number;
  readonly firstToken: number;
}

/** Windows that are scored together. */
const SLOTS = 8;
/** What other precisions of weights are compared under. The engine's attention rounds an f32 cache to f16 anyway. */
export const PLAIN_CACHE: CacheTypes = { keyType: 'f16', valueType: 'f16' };
const GREEDY: SamplingSettings = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

/** Whole windows only; `windowTokens` includes the token that begins each. At most `maxWindows` of them. */
export function heldOutText(modelFile: string, text: string, { windowTokens, maxWindows }: { readonly windowTokens: number; readonly maxWindows: number }): HeldOutText {
  const vocabulary = openVocabulary(modelFile);
  try {
    const tokens = vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false });
    const length = windowTokens - 1;
    const count = Math.min(maxWindows, Math.floor(tokens.length / length));
    if (count === 0) throw new Error(`the text has ${tokens.length} tokens: too few for a window of ${windowTokens}`);
    const windows = Array.from({ length: count }, (_, index) => tokens.slice(index * length, (index + 1) * length));
    const bytes = windows.reduce((sum, window) => sum + window.reduce((total, token) => total + vocabulary.piece(token).length, 0), 0);
    return { windows, bytes, firstToken: vocabulary.bos ?? 0 };
  } finally {
    vocabulary.close();
  }
}

/** The first format that is measured is the reference of the others. */
export class QualityMeter {
  /** Log probabilities of the reference after every token. `[windows * tokens][vocabulary]` */
  private readonly reference: Float32Array[] = [];

  constructor(private readonly text: HeldOutText) {}

  /** How a stage that can be scored is opened, under these types of keys and values. */
  stageOptions(types: CacheTypes): Omit<StageOptions, 'role' | 'stageFile' | 'embedding'> {
    const { windows } = this.text;
    return { backend: 'cpu', threads: 1, contextTokens: (windows[0]?.length ?? 0) + 1, slots: Math.min(SLOTS, windows.length), ...types, batchTokens: SLOTS };
  }

  measure(name: string, modelFile: string, types: CacheTypes): FormatQuality {
    return this.score(name, openStage({ role: 'whole', stageFile: modelFile, embedding: null, ...this.stageOptions(types) }));
  }

  /** Closes the stage. */
  score(name: string, stage: Scored): FormatQuality {
    const { windows, bytes, firstToken } = this.text;
    const windowTokens = windows[0]?.length ?? 0;
    const isReference = this.reference.length === 0;
    let nats = 0;
    let divergence = 0;
    let seen = 0;
    try {
      for (let first = 0; first < windows.length; first += SLOTS) {
        const group = windows.slice(first, first + SLOTS);
        stage.reset();
        stage.apply(group.map((_, slot) => ({
          kind: 'open', slot, sequenceId: `w${first + slot}`, sampling: GREEDY, origin: 'bench', promptLength: 0, promptTokens: [], emittedTokens: [],
        })));
        for (let position = 0; position < windowTokens; position += 1) {
          const tokens = Int32Array.from(group, (window) => (position === 0 ? firstToken : window[position - 1] ?? 0));
          stage.step({ slices: group.map((_, slot) => ({ slot, position, tokens: 1, sample: true })), tokens, hidden: null });
          for (const [slot, window] of group.entries()) {
            const predicted = logProbabilities(stage.logits(slot));
            if (isReference) this.reference.push(predicted);
            nats -= predicted[window[position] ?? 0] ?? 0;
            divergence += divergenceOf(this.reference[seen] ?? predicted, predicted);
            seen += 1;
          }
        }
      }
    } finally {
      stage.close();
    }
    return { name, perplexity: Math.exp(nats / seen), bitsPerByte: nats / Math.LN2 / bytes, divergence: divergence / seen };
  }
}

function logProbabilities(logits: Float32Array): Float32Array {
  let largest = Number.NEGATIVE_INFINITY;
  for (const value of logits) if (value > largest) largest = value;
  let sum = 0;
  for (const value of logits) sum += Math.exp(value - largest);
  const total = Math.log(sum) + largest;
  return logits.map((value) => value - total);
}

function divergenceOf(reference: Float32Array, predicted: Float32Array): number {
  let sum = 0;
  for (let token = 0; token < reference.length; token += 1) {
    const log = reference[token] ?? 0;
    sum += Math.exp(log) * (log - (predicted[token] ?? 0));
  }
  return sum;
}
