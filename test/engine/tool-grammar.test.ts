/** Grammars of calls and of answers behind thoughts, as the engine reads them; and the same tokens from a ring of stages. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { afterThoughts } from '../../src/core/grammar/after-thoughts.js';
import { schemaGrammar } from '../../src/core/grammar/json-grammar.js';
import { toolGrammar } from '../../src/core/tools/tool-grammar.js';
import type { ToolCalling, ToolDefinition, ToolStyle } from '../../src/core/tools/tool-use.js';
import type { Grammar, SamplingSettings } from '../../src/core/step-types.js';
import { GrammarState, GrammarVocabulary } from '../../src/engine/grammar.js';
import { loadModel } from '../../src/engine/model-loader.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { answer, openRing } from '../support/ring-in-process.js';
import { GREEDY, MODEL_FILE } from './engine-support.js';

const vocabulary = openVocabulary(MODEL_FILE);
const model = loadModel(MODEL_FILE, { backend: 'cpu', vocabularyOnly: true });
const grammarVocabulary = new GrammarVocabulary(model.llama, model.vocabulary, vocabulary.size);

afterAll(() => {
  vocabulary.close();
  model.llama.c.llama_model_free(model.model);
});

const LOOK: ToolDefinition = { name: 'look', description: '', strict: true, parameters: { type: 'object', properties: { at: { type: 'integer' } }, required: ['at'], additionalProperties: false } };
const STOP: ToolDefinition = { name: 'stop', description: '', strict: false, parameters: {} };
const REQUIRED: ToolCalling = { choice: 'required', parallel: true };

function takes(grammar: Grammar | null, text: string): boolean {
  if (grammar === null) throw new Error('the answer is free');
  const state = new GrammarState(grammarVocabulary, grammar);
  try {
    for (const token of vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false })) {
      if (!state.allows(token)) return false;
      state.accept(token);
    }
    return state.hasBegun && state.allows(vocabulary.eos ?? 0);
  } finally {
    state.close();
  }
}

describe('a call that is asked for', () => {
  const look = '{"name": "look", "arguments": {"at": 3}}';
  const stop = '{"name": "stop", "arguments": {"why": [1]}}';
  const cases: readonly (readonly [ToolStyle, ToolCalling, readonly string[], readonly string[]])[] = [
    ['tagged', REQUIRED, [`<tool_call>\n${look}\n</tool_call>`, `<tool_call>${stop}</tool_call>\n<tool_call>\n${look}\n</tool_call>`], ['', look, 'Well. <tool_call>', `<tool_call>${look}`]],
    ['tagged', { choice: 'required', parallel: false }, [`<tool_call>\n${look}\n</tool_call>`], [`<tool_call>${stop}</tool_call>\n<tool_call>${look}</tool_call>`]],
    ['tagged', { choice: { name: 'look' }, parallel: true }, [`<tool_call>${look}</tool_call>`], [`<tool_call>${stop}</tool_call>`, '<tool_call>{"name": "look", "arguments": {}}</tool_call>']],
    ['listed', REQUIRED, [`[TOOL_CALLS][${look}]`, `[TOOL_CALLS] [${look}, ${stop}]`], [look, '[TOOL_CALLS][]']],
    ['bare', REQUIRED, [look.replace('arguments', 'parameters'), stop.replace('arguments', 'parameters')], [look, `${stop} ${stop}`]],
  ];
  it.each(cases)('%s, %j', (style, calling, good, bad) => {
    const grammar = toolGrammar([LOOK, STOP], calling, style);
    for (const text of good) expect({ text, taken: takes(grammar, text) }).toEqual({ text, taken: true });
    for (const text of bad) expect({ text, taken: takes(grammar, text) }).toEqual({ text, taken: false });
  });

  it('a call that the model decides on is free until it begins, and then follows the tool', () => {
    const grammar = toolGrammar([LOOK, STOP], { choice: 'auto', parallel: true }, 'tagged');
    expect(takes(grammar, `Let me look at "it".\n<tool_call>\n${look}\n</tool_call>`)).toBe(true);
    expect(takes(grammar, '<tool_call>{"name": "look", "arguments": {"at": "x"}}</tool_call>')).toBe(false);
    expect(takes(grammar, 'Just words.')).toBe(false);
    expect(toolGrammar([LOOK], { choice: 'auto', parallel: true }, 'bare')).toBeNull();
    const huge: ToolDefinition = { ...STOP, name: 'huge', parameters: { type: 'object', properties: { x: { enum: Array.from({ length: 4_000 }, (_, index) => `value ${index} `.repeat(10)) } } } };
    expect(toolGrammar([STOP, huge], { choice: 'auto', parallel: true }, 'tagged')).toBeNull();
    expect(() => toolGrammar([STOP, huge], REQUIRED, 'tagged')).toThrow(/longer than/);
  });

  it('is refused where a strict tool cannot be followed or the tool is not there', () => {
    const odd: ToolDefinition = { ...LOOK, name: 'odd', parameters: { type: 'object', properties: { x: { not: {} } } } };
    expect(() => toolGrammar([odd], REQUIRED, 'tagged')).toThrow(/tool "odd" cannot be followed strictly.*"not"/);
    expect(takes(toolGrammar([{ ...odd, strict: false }], REQUIRED, 'tagged'), '<tool_call>{"name": "odd", "arguments": {"x": [1]}}</tool_call>')).toBe(true);
    expect(() => toolGrammar([LOOK], { choice: { name: 'smell' }, parallel: true }, 'tagged')).toThrow(/"smell"/);
  });
});

it('a form of the answer begins behind the thoughts', () => {
  const grammar = afterThoughts({ text: schemaGrammar({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }) }, '</think>');
  expect(takes(grammar, 'Hm, {no} "JSON" here.\n</think>\n\n{"a": 1}')).toBe(true);
  expect(takes(grammar, 'Hm.</think>Well, {"a": 1}')).toBe(false);
  expect(afterThoughts({ text: 'root ::= "a"', after: ['x'] }, '</think>')).toEqual({ text: 'root ::= "a"', after: ['x'] });
});

it('three stages draw the same tokens under a grammar as one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'ring-grammar-'));
  const header = await readGgufHeader(MODEL_FILE);
  const rings = [await openRing(header, 5, [], directory), await openRing(header, 5, [2, 4], directory)];
  try {
    const prompt = [...vocabulary.tokenize('In the beginning', { addSpecial: true, parseSpecial: false })];
    const grammar = { text: schemaGrammar({ type: 'object', properties: { name: { type: 'string', minLength: 8, maxLength: 12 }, ages: { type: 'array', items: { type: 'integer' }, minItems: 3, maxItems: 5 } }, required: ['name', 'ages'] }) };
    const sampling: SamplingSettings = { ...GREEDY, temperature: 1, topK: 40, topP: 0.95, seed: 21, grammar };
    const [whole, split] = rings.map((stages) => answer(stages, prompt, 25, 8, sampling).tokens);
    expect(split).toEqual(whole);
    expect(Buffer.concat((whole ?? []).map((token) => vocabulary.piece(token))).toString()).toMatch(/^\{\s*"name":/);
  } finally {
    for (const stage of rings.flat()) stage.close();
    await rm(directory, { recursive: true, force: true });
  }
});
