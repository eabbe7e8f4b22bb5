/** Draws from the logits alone and draws by libllama's chain are of one distribution; which is taken is nobody's concern. */
import { afterAll, describe, expect, it } from 'vitest';
import type { SamplingSettings } from '../../src/core/step-types.js';
import { DecodeBatch } from '../../src/engine/decode-batch.js';
import { LogitsRows } from '../../src/engine/logits-rows.js';
import { loadModel, openContext } from '../../src/engine/model-loader.js';
import { SequenceSampler } from '../../src/engine/sampler.js';
import type { SamplerVocabulary } from '../../src/engine/sampler.js';
import { GREEDY, MODEL_FILE } from './engine-support.js';

const CONTEXT_TOKENS = 64;
const DRAWS = 4_000;
const PROMPT_TOKEN = 17;

const model = loadModel(MODEL_FILE, { backend: 'cpu', vocabularyOnly: false });
const { c } = model.llama;
const engine = openContext(model, {
  contextTokens: CONTEXT_TOKENS, slots: 1, batchTokens: 4, maxOutputs: 1, maxOutputsPerSequence: 1, threads: 1, keyType: 'f16', valueType: 'f16', cacheOnHost: false, evalCallback: null,
});
const size = c.llama_vocab_n_tokens(model.vocabulary);
const rows = new LogitsRows(model.llama, size);
const vocabulary: SamplerVocabulary = {
  size,
  endOfGeneration: new Set(),
  logits: (context, row) => rows.row(context, row),
  grammar: () => {
    throw new Error('no grammar here');
  },
};
const batch = new DecodeBatch({ maxTokens: 4, inputSize: 0, positionsPerToken: model.positionsPerToken });
batch.tokens[0] = PROMPT_TOKEN;
batch.setRow(0, 1, { slot: 0, position: 0, output: true });
if (c.llama_decode(engine.context, batch.take(1)) !== 0) throw new Error('the engine cannot compute');

afterAll(() => {
  engine.close();
  c.llama_model_free(model.model);
});

/** A bias of nothing: the chain is taken, and draws the same. */
const BY_CHAIN = { logitBias: [[3, 0]] } as const;

function drawn(settings: SamplingSettings): Map<number, number> {
  const sampler = new SequenceSampler(model.llama, vocabulary, settings, { contextTokens: CONTEXT_TOKENS, promptTokens: [], emittedTokens: [] });
  const counts = new Map<number, number>();
  for (let position = 1; position <= DRAWS; position += 1) {
    const { token } = sampler.sample(engine.context, 0, position);
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  sampler.close();
  return counts;
}

describe('two ways to draw', () => {
  const cases: readonly (readonly [string, Partial<SamplingSettings>])[] = [
    ['temperature 1', {}],
    ['a lower temperature', { temperature: 0.6 }],
    ['top_p', { topP: 0.7 }],
    ['min_p', { minP: 0.05 }],
    ['all of them', { temperature: 1.3, topP: 0.9, minP: 0.01 }],
  ];
  for (const [what, changes] of cases) {
    it(`agree with ${what}`, () => {
      const settings = { ...GREEDY, temperature: 1, seed: 5, ...changes };
      const plain = drawn(settings);
      const byChain = drawn({ ...settings, ...BY_CHAIN });
      const tokens = [...new Set([...plain.keys(), ...byChain.keys()])];
      // Two samples of one distribution differ by so much; a token that only one way allows would stand out.
      const often = tokens.filter((token) => (plain.get(token) ?? 0) + (byChain.get(token) ?? 0) >= 20);
      const statistic = often.reduce((sum, token) => {
        const [a, b] = [plain.get(token) ?? 0, byChain.get(token) ?? 0];
        return sum + (a - b) ** 2 / (a + b);
      }, 0);
      expect(often.length).toBeGreaterThan(2);
      expect((statistic - often.length) / Math.sqrt(2 * often.length)).toBeLessThan(4);
    });
  }

  it('agree without chance', () => {
    const plain = drawn(GREEDY);
    expect(plain.size).toBe(1);
    expect(plain).toEqual(drawn({ ...GREEDY, ...BY_CHAIN }));
  });

  it('keep a view of a row that is asked for again', () => {
    expect(rows.row(engine.context, 0)).toBe(rows.row(engine.context, 0));
    expect(() => rows.row(engine.context, 3)).toThrow(/no logits for row 3/);
  });
});
