/** Answers that follow a grammar: the engine's part. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import { openStage } from '../../src/engine/stage.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import type { StageEngine, StageInput, Vocabulary } from '../../src/ports.js';
import { close, feed, generate, GREEDY, MODEL_FILE, open, wholeOptions } from './engine-support.js';

const PAIR = String.raw`root ::= "{\"name\": " string ", \"age\": " [1-9] [0-9]{0,2} "}"
string ::= "\"" [a-z]{3,12} "\""`;
const WARM: SamplingSettings = { ...GREEDY, temperature: 0.9, topK: 40, seed: 11 };

let stage: StageEngine | null = null;
let vocabulary: Vocabulary;

beforeAll(() => {
  vocabulary = openVocabulary(MODEL_FILE);
});
afterEach(() => {
  stage?.close();
  stage = null;
});

function opened(changes: Parameters<typeof wholeOptions>[0] = {}): StageEngine {
  stage = openStage(wholeOptions(changes));
  return stage;
}

/** Tokens up to the end of the answer, at most `limit`. */
function answer(engine: StageEngine, sampling: SamplingSettings, { emitted = [] as readonly number[], limit = 120, slot = 0 } = {}): number[] {
  const prompt = vocabulary.tokenize('In the beginning', { addSpecial: true, parseSpecial: false });
  open(engine, slot, { sampling, promptTokens: [...prompt], emittedTokens: emitted });
  const tokens = [...emitted];
  let next = feed(engine, slot, Int32Array.from([...prompt, ...emitted]), 0, 200);
  for (let position = prompt.length + emitted.length; ; position += 1) {
    tokens.push(next);
    if (vocabulary.endOfGeneration.has(next) || tokens.length >= limit) break;
    next = engine.step({ slices: [{ slot, position, tokens: 1, sample: true }], tokens: Int32Array.of(next), hidden: null }).sampled[0]?.token ?? -1;
  }
  close(engine, slot);
  return tokens;
}

function textOf(tokens: readonly number[]): string {
  return Buffer.concat(tokens.map((token) => vocabulary.piece(token))).toString('utf8');
}

describe('an answer under a grammar', () => {
  it('matches it, greedy and drawn, whatever the penalties', () => {
    const engine = opened();
    for (const sampling of [GREEDY, WARM, { ...WARM, seed: 12, topP: 0.5, repeatPenalty: 1.3, frequencyPenalty: 0.5 }, { ...WARM, seed: 13, minP: 0.2 }]) {
      const tokens = answer(engine, { ...sampling, grammar: { text: PAIR } });
      expect(textOf(tokens)).toMatch(/^\{"name": "[a-z]{3,12}", "age": [1-9]\d{0,2}\}$/);
      expect(vocabulary.endOfGeneration.has(tokens.at(-1) ?? -1)).toBe(true);
    }
  });

  it('is what the model says anyway where the grammar allows anything', () => {
    const engine = opened();
    const free = answer(engine, WARM, { limit: 30 });
    expect(answer(engine, { ...WARM, grammar: { text: String.raw`root ::= [^\x00]*` } }, { limit: 30 })).toEqual(free);
  });

  it('goes on as if undisturbed after a replay from any point', () => {
    const engine = opened();
    const sampling = { ...WARM, repeatPenalty: 1.2, grammar: { text: PAIR } };
    const whole = answer(engine, sampling);
    for (const at of [1, 7, whole.length - 2]) expect(answer(engine, sampling, { emitted: whole.slice(0, at) })).toEqual(whole);
  });

  it('is the same without a KV cache', () => {
    const sampling = { ...WARM, grammar: { text: PAIR } };
    const cached = answer(opened(), sampling);
    stage?.close();
    expect(answer(opened({ keyValueCache: 'none' }), sampling)).toEqual(cached);
  });

  it('takes guesses for what they are', () => {
    const engine = opened();
    const sampling = { ...WARM, grammar: { text: PAIR } };
    const whole = answer(engine, sampling);
    const prompt = vocabulary.tokenize('In the beginning', { addSpecial: true, parseSpecial: false });
    open(engine, 0, { sampling });
    const first = feed(engine, 0, prompt, 0, 200);
    // Two right guesses and a wrong one, which is allowed by no grammar.
    const draft = [whole[1] ?? 0, whole[2] ?? 0, 0];
    const input: StageInput = { slices: [{ slot: 0, position: prompt.length, tokens: 4, sample: true, draft }], tokens: Int32Array.of(first, ...draft), hidden: null };
    expect([first, ...engine.step(input).sampled.map(({ token }) => token)]).toEqual(whole.slice(0, 4));
    close(engine, 0);
  });

  it('begins after a text of the answer where it is told to', () => {
    const engine = opened();
    const free = answer(engine, GREEDY, { limit: 12 });
    // The answer's third word on is constrained; the model itself says what comes before.
    const words = textOf(free).split(/(?= )/);
    const start = words.slice(0, 3).join('');
    const tokens = answer(engine, { ...GREEDY, grammar: { text: 'root ::= " "? [0-9]{4} "!"', after: [start.slice(-20)] } });
    expect(textOf(tokens).startsWith(start)).toBe(true);
    expect(textOf(tokens).slice(start.length)).toMatch(/^ ?\d{4}!$/);
    const replayed = answer(engine, { ...GREEDY, grammar: { text: 'root ::= " "? [0-9]{4} "!"', after: [start.slice(-20)] } }, { emitted: tokens.slice(0, -3) });
    expect(replayed).toEqual(tokens);
  });

  it('has no token that is no text, though the engine knows their names', () => {
    const engine = opened();
    const tokens = answer(engine, { ...WARM, temperature: 3, topK: 0, grammar: { text: String.raw`root ::= [^\x00-\x1f]{40}` } }, { limit: 60 });
    expect([...textOf(tokens)].length).toBe(40);
  });

  it('that cannot be read ends its own answer and nothing else', () => {
    const engine = opened();
    expect(answer(engine, { ...GREEDY, grammar: { text: 'root ::= root "a"' } })).toEqual([[...vocabulary.endOfGeneration][0]]);
    expect(answer(engine, { ...GREEDY, grammar: { text: 'root ::= "a"' } }).length).toBe(2);
  });

  it('leaves others alone', () => {
    const engine = opened({ slots: 2 });
    const prompt = vocabulary.tokenize('And God said', { addSpecial: true, parseSpecial: false });
    open(engine, 1);
    const alone = generate(engine, 1, prompt, 20);
    close(engine, 1);
    open(engine, 1);
    const before = generate(engine, 1, prompt, 10);
    answer(engine, { ...GREEDY, grammar: { text: PAIR } });
    let next = before.at(-1) ?? 0;
    const rest: number[] = [];
    for (let position = prompt.length + 9; rest.length < 10; position += 1) {
      next = engine.step({ slices: [{ slot: 1, position, tokens: 1, sample: true }], tokens: Int32Array.of(next), hidden: null }).sampled[0]?.token ?? -1;
      rest.push(next);
    }
    expect([...before, ...rest]).toEqual(alone);
  });
});

describe('a grammar is checked', () => {
  it.each([
    ['nothing', ''],
    ['no grammar', 'hello'],
    ['no root', 'start ::= "a"'],
    ['an undefined rule', 'root ::= other'],
    ['left recursion', 'root ::= root "a" | "b"'],
    ['too many repetitions', 'root ::= [a-z]{100000}'],
    ['an open quote', 'root ::= "a'],
  ])('%s is refused', (_name, text) => {
    expect(() => vocabulary.checkGrammar(text)).toThrow(RingError);
    expect(() => vocabulary.checkGrammar(text)).toThrow(/grammar/);
  });

  it('a good one passes', () => {
    expect(() => vocabulary.checkGrammar(PAIR)).not.toThrow();
  });
});

describe('probabilities', () => {
  it('are the softmax of the logits, likeliest first, for every token', () => {
    const engine = opened();
    const prompt = vocabulary.tokenize('In the beginning', { addSpecial: true, parseSpecial: false });
    open(engine, 0, { sampling: { ...WARM, probabilities: 5 } });
    const output = engine.step({ slices: [{ slot: 0, position: 0, tokens: prompt.length, sample: true }], tokens: prompt, hidden: null });
    const [drawn] = output.sampled;
    const logits = [...engine.logits(0)];
    const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
    const order = logits.map((logit, token) => ({ token, logprob: logit - Math.log(sum) })).sort((a, b) => b.logprob - a.logprob || a.token - b.token);
    expect(drawn?.probability?.alternatives.map(({ token }) => token)).toEqual(order.slice(0, 5).map(({ token }) => token));
    drawn?.probability?.alternatives.forEach(({ logprob }, index) => expect(logprob).toBeCloseTo(order[index]?.logprob ?? 0, 6));
    expect(drawn?.probability?.logprob).toBeCloseTo(order.find(({ token }) => token === drawn?.token)?.logprob ?? 0, 6);
  });
});
