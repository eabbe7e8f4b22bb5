/**
 * JSON schemas as grammars: a schema's grammar takes what it should and nothing that the schema does not allow, and the
 * built-in model, which knows no JSON, answers in it.
 *
 * The engine itself says what a grammar takes; ajv says what a schema allows.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, describe, expect, it } from 'vitest';
import { GrammarBuilder } from '../../src/core/grammar/gbnf.js';
import { JsonRules } from '../../src/core/grammar/json-rules.js';
import { schemaRule } from '../../src/core/grammar/json-schema.js';
import { GrammarState, GrammarVocabulary } from '../../src/engine/grammar.js';
import { loadModel } from '../../src/engine/model-loader.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { MODEL_FILE } from './engine-support.js';

const ajv = new Ajv2020({ strict: false, allErrors: false });
addFormats.default(ajv);

const vocabulary = openVocabulary(MODEL_FILE);
const model = loadModel(MODEL_FILE, { backend: 'cpu', vocabularyOnly: true });
const grammarVocabulary = new GrammarVocabulary(model.llama, model.vocabulary, vocabulary.size);

afterAll(() => {
  vocabulary.close();
  model.llama.c.llama_model_free(model.model);
});

function grammarOf(schema: unknown, unsupported: 'refuse' | 'widen' = 'refuse'): string {
  const json = new JsonRules(new GrammarBuilder());
  const rule = schemaRule(json, schema, { unsupported });
  return json.builder.text(rule);
}

function takes(grammar: string, text: string): boolean {
  const state = new GrammarState(grammarVocabulary, { text: grammar });
  try {
    for (const token of vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false })) {
      if (!state.allows(token)) return false;
      state.accept(token);
    }
    return state.allows(vocabulary.eos ?? 0);
  } finally {
    state.close();
  }
}

interface Case {
  readonly schema: object | boolean;
  /** Values that the grammar must take, as JSON.stringify writes them. */
  readonly takes: readonly unknown[];
  readonly refuses: readonly unknown[];
}

const CASES: readonly (readonly [string, Case])[] = [
  ['any value', { schema: true, takes: [1, 'a', null, [1, { a: [] }], { a: { b: 'x"\\\n' } }, -1.5e-7], refuses: [] }],
  ['an object of any kind', { schema: { type: 'object' }, takes: [{}, { a: 1, b: [true, null] }], refuses: [1, [], 'x'] }],
  ['required and optional properties', {
    schema: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'boolean' } }, required: ['b'], additionalProperties: false },
    takes: [{ b: 'x' }, { a: 1, b: 'x' }, { b: '', c: true }, { a: -20, b: 'x', c: false }],
    refuses: [{}, { a: 1 }, { b: 1 }, { b: 'x', d: 1 }, { a: 1.5, b: 'x' }],
  }],
  ['only optional properties', {
    schema: { type: 'object', properties: { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'null' } }, additionalProperties: false },
    takes: [{}, { a: null }, { b: null }, { c: null }, { a: null, c: null }, { a: null, b: null, c: null }],
    refuses: [{ d: null }, { a: 1 }],
  }],
  ['further properties', {
    schema: { type: 'object', properties: { ab: { type: 'integer' }, abc: { type: 'integer' } }, required: ['ab'], additionalProperties: { type: 'string' } },
    takes: [{ ab: 1 }, { ab: 1, abc: 2 }, { ab: 1, x: 'y' }, { ab: 1, abc: 2, abcd: 'y', a: 'z' }, { ab: 1, '': 'empty' }],
    refuses: [{ ab: 1, x: 1 }, { ab: 'x' }, { ab: 1, abc: 'x' }],
  }],
  ['only further properties', {
    schema: { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
    takes: [{ a: 1 }, { a: 1, b: 2 }],
    refuses: [{}, { a: 'x' }, { a: 1, b: 2, c: 3 }],
  }],
  ['a required property without a description', { schema: { type: 'object', required: ['x'] }, takes: [{ x: [1] }], refuses: [{}, { y: 1 }] }],
  ['names that need escapes', {
    schema: { type: 'object', properties: { 'a"b\\c/d': { type: 'integer' }, 'é~': { const: 1 } }, required: ['a"b\\c/d', 'é~'], additionalProperties: false },
    takes: [{ 'a"b\\c/d': 1, 'é~': 1 }],
    refuses: [{ 'a"b\\c/d': 1 }],
  }],
  ['arrays', {
    schema: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 4 },
    takes: [[1, 2], [1, 2, 3, 4]],
    refuses: [[], [1], [1, 2, 3, 4, 5], [1, 'x'], {}],
  }],
  ['arrays without bounds', { schema: { type: 'array', items: { type: 'string' } }, takes: [[], ['a'], Array.from({ length: 40 }, () => 'b')], refuses: [[1]] }],
  ['an array of many', { schema: { type: 'array', items: { const: 1 }, minItems: 600, maxItems: 1203 }, takes: [Array(600).fill(1), Array(1000).fill(1), Array(1203).fill(1)], refuses: [Array(599).fill(1), Array(1204).fill(1)] }],
  ['tuples', {
    schema: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: { type: 'boolean' }, minItems: 2, maxItems: 4 },
    takes: [['a', 1], ['a', 1, true], ['a', 1, true, false]],
    refuses: [['a', 'b'], ['a', 1, 1], ['a', 1, true, true, true], [1, 'a']],
  }],
  ['bounded strings', { schema: { type: 'string', minLength: 2, maxLength: 5 }, takes: ['ab', 'abcde', 'äö😀', '"\\\n'], refuses: ['', 'a', 'abcdef'] }],
  ['long strings', { schema: { type: 'string', minLength: 700, maxLength: 1_234 }, takes: ['x'.repeat(700), 'y'.repeat(1_000), 'z'.repeat(1_234)], refuses: ['x'.repeat(699), 'x'.repeat(1_235)] }],
  ['an empty string', { schema: { type: 'string', maxLength: 0 }, takes: [''], refuses: ['a'] }],
  ['enum', { schema: { enum: ['a', 'b c', 1, null, { x: [1] }] }, takes: ['a', 'b c', 1, null, { x: [1] }], refuses: ['c', 2, {}, true] }],
  ['enum of a type', { schema: { type: 'string', enum: ['a', 'b'] }, takes: ['a', 'b'], refuses: ['c'] }],
  ['const', { schema: { const: 'x"y' }, takes: ['x"y'], refuses: ['x'] }],
  ['several types', { schema: { type: ['string', 'null', 'integer'], minLength: 1, maximum: 5 }, takes: ['a', null, 5, -7], refuses: ['', 6, true, []] }],
  ['nullable', { schema: { anyOf: [{ type: 'integer' }, { type: 'null' }] }, takes: [1, null], refuses: ['a'] }],
  ['anyOf beside a base', {
    schema: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, anyOf: [{ required: ['a'] }, { required: ['b'] }], additionalProperties: false },
    takes: [{ a: 1 }, { b: 1 }, { a: 1, b: 2 }],
    refuses: [{}],
  }],
  ['oneOf told apart by a property', {
    schema: {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'circle' }, radius: { type: 'integer', minimum: 1 } }, required: ['kind', 'radius'], additionalProperties: false },
        { type: 'object', properties: { kind: { const: 'square' }, side: { type: 'integer', minimum: 1 } }, required: ['kind', 'side'], additionalProperties: false },
      ],
    },
    takes: [{ kind: 'circle', radius: 3 }, { kind: 'square', side: 9 }],
    refuses: [{ kind: 'circle', side: 3 }, { kind: 'square' }],
  }],
  ['allOf', {
    schema: { allOf: [{ type: 'object', properties: { a: { type: 'integer', minimum: 3 } }, required: ['a'] }, { properties: { a: { maximum: 5 }, b: { type: 'string' } }, required: ['b'] }] },
    takes: [{ a: 4, b: 'x' }],
    refuses: [{ a: 2, b: 'x' }, { a: 6, b: 'x' }, { a: 4 }],
  }],
  ['references, also to itself', {
    schema: {
      $ref: '#/$defs/tree',
      $defs: { tree: { type: 'object', properties: { name: { $ref: '#/$defs/na~1me' }, children: { type: 'array', items: { $ref: '#/$defs/tree' } } }, required: ['name', 'children'], additionalProperties: false }, 'na/me': { type: 'string', maxLength: 5 } },
    },
    takes: [{ name: 'a', children: [] }, { name: 'a', children: [{ name: 'b', children: [{ name: 'c', children: [] }] }] }],
    refuses: [{ name: 'a' }, { name: 'too long', children: [] }, { name: 'a', children: [1] }],
  }],
  ['whole numbers between bounds', { schema: { type: 'integer', minimum: -37, maximum: 1205 }, takes: [-37, -9, -1, 0, 7, 99, 100, 999, 1000, 1205], refuses: [-38, -100, 1206, 1300, 2000, 10000, 0.5] }],
  ['whole numbers above', { schema: { type: 'integer', exclusiveMinimum: 17 }, takes: [18, 19, 20, 99, 100, 123456], refuses: [17, 0, -18, 9] }],
  ['whole numbers below', { schema: { type: 'integer', maximum: -12 }, takes: [-12, -13, -99, -100], refuses: [-11, 0, 12, -1] }],
  ['whole numbers between odd bounds', { schema: { type: 'integer', exclusiveMinimum: 0.5, exclusiveMaximum: 3 }, takes: [1, 2], refuses: [0, 3, 4] }],
  ['numbers', { schema: { type: 'number' }, takes: [0, -0.5, 12.25, 1e21, 1.5e-7], refuses: ['1', null] }],
  ['numbers between bounds', { schema: { type: 'number', minimum: 0, maximum: 1 }, takes: [0, 1, 0.5, 0.001, 0.999], refuses: [1.5, -0.5, 2, 1.001, 10] }],
  ['numbers between fractions', { schema: { type: 'number', minimum: 0.25, exclusiveMaximum: 12.5 }, takes: [0.25, 0.2500001, 0.3, 1, 7.75, 12, 12.4, 12.49999], refuses: [0.2, 0.24, 0, 12.5, 12.51, 13, -0.3, 100] }],
  ['numbers between like fractions', { schema: { type: 'number', exclusiveMinimum: 3.14, maximum: 3.145 }, takes: [3.141, 3.145, 3.1401, 3.1449], refuses: [3.14, 3.13, 3.1451, 3.146, 3, 4] }],
  ['numbers on both sides of zero', { schema: { type: 'number', minimum: -1.5, maximum: 2 }, takes: [-1.5, -1.25, -1, -0.1, 0, 0.1, 2], refuses: [-1.51, -2, 2.1, 3] }],
  ['numbers below zero', { schema: { type: 'number', exclusiveMaximum: 0 }, takes: [-0.1, -5, -1234.5], refuses: [0, 1, 0.1] }],
  ['patterns', { schema: { type: 'string', pattern: '^[A-Z]{2}-\\d{3,4}(-(alpha|beta))?$' }, takes: ['AB-123', 'XY-1234-alpha', 'XY-123-beta'], refuses: ['AB-12', 'ab-123', 'AB-123-', 'AB-123-gamma', 'xAB-123'] }],
  ['patterns without anchors', { schema: { type: 'string', pattern: 'b+c' }, takes: ['bc', 'xxbbcyy', 'abc'], refuses: ['b', 'ac', ''] }],
  ['patterns of alternatives', { schema: { type: 'string', pattern: '^a$|^b.$|c$' }, takes: ['a', 'bx', 'xxc'], refuses: ['aa', 'b', 'cx'] }],
  ['patterns of characters that JSON escapes', { schema: { type: 'string', pattern: '^["\\\\]+[^"a-z]\\s$' }, takes: ['"\\A\n', '\\\\ '.concat(' ')], refuses: ['"a\n', 'x', '""'] }],
  ['dates', { schema: { type: 'string', format: 'date' }, takes: ['2026-11-29', '2024-02-29', '1999-02-28', '2000-12-31'], refuses: ['2026-13-01', '2026-02-29', '2026-04-31', '26-1-1', 'today'] }],
  ['times', { schema: { type: 'string', format: 'date-time' }, takes: ['2026-11-29T23:59:59Z', '2026-01-01T00:00:00.123+02:00'], refuses: ['2026-11-29', '2026-11-29T24:00:00Z', '2026-11-29T23:59:59'] }],
  ['other formats', { schema: { type: 'array', prefixItems: [{ type: 'string', format: 'uuid' }, { type: 'string', format: 'email' }, { type: 'string', format: 'ipv4' }, { type: 'string', format: 'uri' }, { type: 'string', format: 'time' }], minItems: 5, items: false }, takes: [['123e4567-e89b-12d3-a456-426614174000', 'a.b@c-d.org', '10.0.255.1', 'https://example.org/a/b?c=d', '10:20:30Z']], refuses: [['x', 'a@b.co', '1.2.3.4', 'http://a.bc', '10:20:30Z'], ['123e4567-e89b-12d3-a456-426614174000', 'a.b@c-d.org', '10.0.256.1', 'https://example.org', '10:20:30Z']] }],
];

describe('the grammar of a schema', () => {
  it.each(CASES)('%s', (_name, { schema, takes: good, refuses: bad }) => {
    const grammar = grammarOf(schema);
    for (const value of good) {
      expect({ value, valid: ajv.validate(schema, value) }).toEqual({ value, valid: true });
      expect({ value, taken: takes(grammar, JSON.stringify(value)) }).toEqual({ value, taken: true });
    }
    for (const value of bad) {
      expect({ value, valid: ajv.validate(schema, value) }).toEqual({ value, valid: false });
      expect({ value, taken: takes(grammar, JSON.stringify(value)) }).toEqual({ value, taken: false });
    }
  });

  it('takes the white space that models write', () => {
    const grammar = grammarOf({ type: 'object', properties: { a: { type: 'array', items: { type: 'integer' } }, b: { type: 'object', additionalProperties: false } }, required: ['a', 'b'] });
    for (const text of ['{"a":[1,2],"b":{}}', '{"a": [1, 2], "b": {}}', JSON.stringify({ a: [1, 2], b: {} }, null, 2), '{\n    "a": [],\n    "b": {}\n}']) expect({ text, taken: takes(grammar, text) }).toEqual({ text, taken: true });
    expect(takes(grammar, '{"a":[],"b":{}} ')).toBe(false);
    expect(takes(grammar, '{  "a":[],"b":{}}')).toBe(false);
  });

  it('has no half characters and no spelt-out halves', () => {
    const grammar = grammarOf({ type: 'string' });
    expect(takes(grammar, '"\\u00e9\\ud7ff"')).toBe(true);
    expect(takes(grammar, '"\\ud83d\\ude00"')).toBe(false);
  });
});

describe('what a grammar cannot say is refused by name and place', () => {
  it.each([
    [{ type: 'object', properties: { a: { not: { type: 'string' } } } }, /#\/properties\/a has "not"/],
    [{ type: 'array', items: { type: 'integer' }, uniqueItems: true }, /"uniqueItems"/],
    [{ type: 'number', multipleOf: 0.01 }, /"multipleOf"/],
    [{ type: 'object', patternProperties: { '^x': {} } }, /"patternProperties"/],
    [{ type: 'object', if: {}, then: {} }, /"if"/],
    [{ type: 'string', format: 'regex' }, /"format" "regex"; known are/],
    [{ type: 'string', pattern: '^(?=a)b' }, /looking ahead/],
    [{ type: 'string', pattern: '(a' }, /no partner/],
    [{ type: 'string', pattern: '^a$', minLength: 1 }, /together with minLength/],
    [{ oneOf: [{ type: 'string' }, { type: 'string', maxLength: 3 }] }, /"oneOf" with branches/],
    [{ $ref: 'https://example.org/schema.json' }, /only those within the schema/],
    [{ $ref: '#/$defs/none' }, /which is not there/],
    [{ allOf: [{ $ref: '#' }, { type: 'object' }] }, /refers to itself/],
    [{ allOf: [{ type: 'string' }, { type: 'integer' }] }, /says "type" twice/],
    [{ type: 'integer', minimum: 5, maximum: 4 }, /no number/],
    [{ type: 'integer', minimum: 5.2, maximum: 5.8 }, /no number/],
    [{ type: 'object', properties: { a: false }, required: ['a'] }, /allows nothing/],
    [{ type: 'strnig' }, /JSON does not know/],
    [{ type: 'string', maxLength: 2_000_000 }, /bound/],
    [{ type: 'string', minLength: 3, maxLength: 2 }, /above/],
    [{ enum: [] }, /enum/],
    ['string', /no schema/],
  ])('%j', (schema, message) => {
    expect(() => grammarOf(schema)).toThrow(message);
    expect(() => grammarOf(schema)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });

  it('and only left out where the shape is all that is wanted', () => {
    const grammar = grammarOf({ type: 'object', properties: { a: { type: 'string', format: 'regex', minLength: 1 }, b: { type: 'array', items: { type: 'number', multipleOf: 2 }, uniqueItems: true } }, required: ['a', 'b'] }, 'widen');
    expect(takes(grammar, '{"a": "x", "b": [1, 1]}')).toBe(true);
    expect(takes(grammar, '{"a": "", "b": []}')).toBe(false);
  });
});
