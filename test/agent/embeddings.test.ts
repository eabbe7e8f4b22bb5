import { expect, it } from 'vitest';
import { embed } from '../../src/agent/embeddings.js';
import type { EmbeddingPorts } from '../../src/agent/embeddings.js';
import type { CompletionTask } from '../../src/agent/service.js';
import { RingError } from '../../src/core/errors.js';
import type { ModelDetails } from '../../src/ports.js';

const DETAILS: ModelDetails = {
  architecture: 'qwen3', layers: 2, hiddenSize: 2, vocabularySize: 9, parameters: 1, weights: 'f16', chatTemplate: null, pooling: null, causal: true, facts: {},
};
const QUIET = new AbortController().signal;

class Bench implements EmbeddingPorts {
  readonly tasks: CompletionTask[] = [];
  atOnce = 0;
  most = 0;
  aborted = 0;

  constructor(private readonly changes: Partial<ModelDetails> = {}, private readonly failsAt = -1, private readonly old = false) {}

  resolveModel() {
    return { name: 'm', digest: 'd', sizeBytes: 1, architecture: 'qwen3', layers: 2 };
  }

  async details(): Promise<ModelDetails> {
    return { ...DETAILS, ...this.changes };
  }

  async *complete(task: CompletionTask, signal: AbortSignal) {
    const index = this.tasks.push(task) - 1;
    this.atOnce += 1;
    this.most = Math.max(this.most, this.atOnce);
    yield { kind: 'started' as const, model: 'm', promptTokens: 3 };
    await new Promise((resolve) => setImmediate(resolve));
    this.atOnce -= 1;
    if (index === this.failsAt) throw new RingError('peer_lost', 'a stage was lost');
    if (signal.aborted) this.aborted += 1;
    signal.throwIfAborted();
    yield {
      kind: 'finished' as const, reason: 'stop' as const, promptTokens: 3, completionTokens: 1, reusedTokens: 0, timings: { firstTokenMs: 1, totalMs: 1, decodeTokensPerSecond: 0 },
      ...(this.old ? {} : { embedding: Float32Array.of(3, 4 * (index + 1)) }),
    };
  }
}

function ask(bench: Bench, texts: number): ReturnType<typeof embed> {
  return embed(bench, { model: 'm', inputs: Array.from({ length: texts }, (_, index) => ({ kind: 'text' as const, text: `t${index}` })), truncate: true, client: 'c' }, QUIET);
}

it('embeds many texts a few at a time, in order, with length 1', async () => {
  const bench = new Bench();
  const { model, vectors, promptTokens } = await ask(bench, 9);
  expect([model, vectors.length, promptTokens]).toEqual(['m', 9, 27]);
  expect([...vectors[0] ?? []]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
  for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 6);
  expect(bench.most).toBe(4);
  expect(bench.tasks[8]).toMatchObject({ prompt: { text: 't8' }, maxTokens: 1, truncate: true, client: 'c', sampling: { pooling: 'mean' } });
});

it('pools as the model says', async () => {
  const bench = new Bench({ pooling: 'last' });
  await ask(bench, 1);
  expect(bench.tasks[0]?.sampling.pooling).toBe('last');
});

it.each([
  [{ pooling: 'rank' as const }, 'compares texts'], [{ causal: false }, 'both directions'],
])('refuses a model that cannot: %j', async (changes, what) => {
  await expect(ask(new Bench(changes), 1)).rejects.toMatchObject({ code: 'bad_request', message: expect.stringContaining(what) as string });
});

it('the first failure ends the others, and an older tail is told from a failure', async () => {
  const bench = new Bench({}, 1);
  await expect(ask(bench, 40)).rejects.toMatchObject({ code: 'peer_lost' });
  expect(bench.tasks.length).toBeLessThan(12);
  await expect(ask(new Bench({}, -1, true), 1)).rejects.toMatchObject({ code: 'version_mismatch' });
});
