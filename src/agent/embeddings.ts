/**
 * Texts to vectors: each text goes through the ring as a prompt whose hidden states are wanted, a few at a time.
 *
 * Which way the states become one vector, the model says; one that says nothing gives their mean. It must not know plans
 * or stages: it asks for answers as everybody does.
 */
import { RingError } from '../core/errors.js';
import type { Pooling, SamplingSettings } from '../core/step-types.js';
import type { HeldModel } from '../core/types.js';
import { EitherSignal } from '../either-signal.js';
import type { ModelDetails } from '../ports.js';
import type { CompletionEvent, CompletionTask, EmbeddingAnswer, EmbeddingTask, Prompt } from './service.js';

/** Texts of one request in the ring at once: enough to keep it busy, few enough to leave slots to others. */
const TEXTS_AT_ONCE = 4;

const NOTHING_IS_DRAWN: SamplingSettings = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

export interface EmbeddingPorts {
  /** Throws `unknown_model`. */
  resolveModel(reference: string): HeldModel;
  details(model: HeldModel, signal: AbortSignal): Promise<ModelDetails>;
  complete(task: CompletionTask, signal: AbortSignal): AsyncIterable<CompletionEvent>;
}

interface Embedded {
  readonly vector: Float32Array;
  readonly tokens: number;
}

/** Throws `bad_request` for a model that embeds nothing, and what answers throw. */
export async function embed(ports: EmbeddingPorts, task: EmbeddingTask, signal: AbortSignal): Promise<EmbeddingAnswer> {
  const model = ports.resolveModel(task.model);
  const pooling = poolingOf(model, await ports.details(model, signal));
  // The first failure ends the others.
  const failed = new AbortController();
  const either = new EitherSignal([signal, failed.signal]);
  const embedded = new Array<Embedded | undefined>(task.inputs.length);
  const waiting = task.inputs.entries();
  const work = async (): Promise<void> => {
    for (const [index, prompt] of waiting) embedded[index] = await embedOne(ports, { task, model, prompt, pooling }, either.signal);
  };
  try {
    await Promise.all(Array.from({ length: Math.min(TEXTS_AT_ONCE, task.inputs.length) }, async () => {
      try {
        await work();
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    }));
  } finally {
    either.dispose();
  }
  const all = embedded.filter((one): one is Embedded => one !== undefined);
  return { model: model.name, vectors: all.map(({ vector }) => vector), promptTokens: all.reduce((sum, { tokens }) => sum + tokens, 0) };
}

function poolingOf(model: HeldModel, { pooling, causal }: ModelDetails): Pooling {
  if (pooling === 'rank') throw new RingError('bad_request', `${model.name} compares texts and embeds none: choose another model`, { model: model.name });
  if (!causal) {
    throw new RingError('bad_request', `${model.name} reads texts in both directions at once, which a ring cannot: choose an embedding model that was made from a text model (for instance Qwen3-Embedding)`, { model: model.name });
  }
  return pooling ?? 'mean';
}

interface One {
  readonly task: EmbeddingTask;
  readonly model: HeldModel;
  readonly prompt: Prompt;
  readonly pooling: Pooling;
}

async function embedOne(ports: EmbeddingPorts, { task, model, prompt, pooling }: One, signal: AbortSignal): Promise<Embedded> {
  const completion: CompletionTask = {
    model: model.digest, prompt, sampling: { ...NOTHING_IS_DRAWN, pooling }, maxTokens: 1, stop: [], truncate: task.truncate,
    ...(task.keepAliveMs === undefined ? {} : { keepAliveMs: task.keepAliveMs }),
    ...(task.client === undefined ? {} : { client: task.client }),
  };
  for await (const event of ports.complete(completion, signal)) {
    if (event.kind !== 'finished') continue;
    if (event.embedding === undefined) break;
    return { vector: normalised(event.embedding), tokens: event.promptTokens };
  }
  throw new RingError('version_mismatch', `the node that ends the ring of ${model.name} gives no embeddings: its agent is older than this one. Update it`, { model: model.name });
}

/** Of length 1. */
export function normalised(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}
