import { describe, expect, it } from 'vitest';
import { ApiError } from '../../src/api/api-error.js';
import { parseChatRequest, parseTextRequest } from '../../src/api/openai-schema.js';
import type { CompletionRequest } from '../../src/api/openai-schema.js';

const options = { randomSeed: () => 4242 };
const HELLO = [{ role: 'user', content: 'Hello' }];

function chat(fields: object): CompletionRequest {
  return parseChatRequest({ messages: HELLO, ...fields }, options);
}

function text(fields: object): CompletionRequest {
  return parseTextRequest({ prompt: 'In the', ...fields }, options);
}

function refusal(parse: () => unknown): { code: string; param: string | undefined; message: string } {
  try {
    parse();
  } catch (error) {
    if (error instanceof ApiError && error.options.status === 400) {
      return { code: error.options.code, param: error.options.param, message: error.message };
    }
    throw error;
  }
  throw new Error('the request was accepted');
}

describe('OpenAI requests', () => {
  it('fill in the documented defaults', () => {
    expect(chat({})).toEqual({
      task: {
        model: '',
        prompt: { kind: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
        sampling: {
          temperature: 1, topK: 0, topP: 1, minP: 0, seed: 4242, repeatPenalty: 1, frequencyPenalty: 0,
          presencePenalty: 0, ignoreEos: false, logitBias: [],
        },
        maxTokens: null,
        stop: [],
      },
      choices: 1,
      stream: false,
      includeUsage: false,
      returnTokens: false,
      splitReasoning: true,
    });
  });

  it('carry every field that is honoured', () => {
    const request = text({
      model: 'kjv', max_tokens: 7, temperature: 0, top_p: 0.9, top_k: 40, min_p: 0.05, seed: 0, stop: '\n',
      frequency_penalty: 0.5, presence_penalty: -0.5, repetition_penalty: 1.1, logit_bias: { 12: -100, 3: 5.5 },
      ignore_eos: true, stream: true, stream_options: { include_usage: true }, return_tokens: true,
    });
    expect(request).toEqual({
      task: {
        model: 'kjv',
        prompt: { kind: 'text', text: 'In the' },
        sampling: {
          temperature: 0, topK: 40, topP: 0.9, minP: 0.05, seed: 0, repeatPenalty: 1.1, frequencyPenalty: 0.5,
          presencePenalty: -0.5, ignoreEos: true, logitBias: [[3, 5.5], [12, -100]],
        },
        maxTokens: 7,
        stop: ['\n'],
      },
      choices: 1,
      stream: true,
      includeUsage: true,
      returnTokens: true,
      splitReasoning: false,
    });
  });

  it('take null for absent, and the values of other servers that mean the default', () => {
    const request = chat({
      temperature: null, max_tokens: null, seed: -1, stop: null, stream: null, stream_options: null, logit_bias: null,
      top_k: -1, max_completion_tokens: -1, logprobs: null,
    });
    expect(request.task.sampling).toMatchObject({ temperature: 1, topK: 0, seed: 4242 });
    expect(request.task.maxTokens).toBeNull();
  });

  it('pass fields that cannot change the answer', () => {
    expect(() => chat({
      user: 'u', store: true, metadata: { a: 'b' }, n: 1, service_tier: 'auto', parallel_tool_calls: true, logprobs: false,
      top_logprobs: 0, tools: [], tool_choice: 'auto', response_format: { type: 'text' }, modalities: ['text'],
      best_of: 1, echo: false, suffix: null, audio: null, mirostat: 0, typical_p: 1,
    })).not.toThrow();
  });

  it.each([
    ['best_of', 2], ['echo', true], ['suffix', 'end'], ['functions', [{}]], ['audio', {}], ['modalities', ['text', 'audio']],
    ['mirostat', 2], ['stop_token_ids', [1]],
  ])('refuse %s: %j by its name', (name, value) => {
    expect(refusal(() => chat({ [name]: value }))).toMatchObject({ code: 'unsupported_parameter', param: name });
    expect(refusal(() => text({ [name]: value }))).toMatchObject({ code: 'unsupported_parameter', param: name });
  });

  it('refuse unknown fields and say what was probably meant', () => {
    expect(refusal(() => chat({ temprature: 0 }))).toMatchObject({ code: 'unknown_parameter', param: 'temprature' });
    expect(refusal(() => chat({ temprature: 0 })).message).toContain("Did you mean 'temperature'?");
    expect(refusal(() => text({ n_predict: 5 })).message).toContain("Did you mean 'max_tokens'?");
    expect(refusal(() => chat({ frobnicate: 5 })).message).toContain('Leave it out.');
    expect(refusal(() => chat({ prompt: 'x' })).param).toBe('prompt');
    expect(refusal(() => parseChatRequest(JSON.parse('{"messages": [], "__proto__": {"stream": true}}'), options)).param).toBe('__proto__');
  });

  it.each<[string, unknown]>([
    ['temperature', -0.1], ['temperature', '1'], ['temperature', Number.POSITIVE_INFINITY], ['top_p', 1.1], ['top_k', 1.5],
    ['min_p', -1], ['seed', 2 ** 32], ['seed', 1.5], ['max_tokens', 0], ['max_tokens', -2], ['max_completion_tokens', 2.5],
    ['frequency_penalty', 3], ['presence_penalty', -3], ['repeat_penalty', 0], ['stop', ''], ['stop', ['a', '']],
    ['stop', Array.from({ length: 17 }, () => 'a')], ['stop', '\ud83d'], ['stream', 'yes'], ['ignore_eos', 1], ['model', 5],
    ['logit_bias', { one: 1 }], ['logit_bias', { 1: 101 }], ['logit_bias', []], ['stream_options', { include_usage: true }],
  ])('refuse %s: %j', (name, value) => {
    expect(refusal(() => chat({ [name]: value }))).toMatchObject({ code: 'invalid_value', param: expect.stringContaining(name) });
  });

  it('refuse two names of one setting that disagree', () => {
    expect(chat({ max_tokens: 5, max_completion_tokens: 5 }).task.maxTokens).toBe(5);
    expect(refusal(() => chat({ max_tokens: 5, max_completion_tokens: 6 })).param).toBe('max_completion_tokens');
    expect(refusal(() => chat({ repeat_penalty: 1.1, repetition_penalty: 1.2 })).param).toBe('repetition_penalty');
  });

  it('join text parts of a message, and name what is no text', () => {
    const parts = [{ type: 'text', text: 'one' }, { type: 'text', text: 'two' }];
    expect(chat({ messages: [{ role: 'user', content: parts }] }).task.prompt)
      .toEqual({ kind: 'chat', messages: [{ role: 'user', content: 'one\ntwo' }] });
    const image = [{ type: 'image_url', image_url: { url: 'data:' } }];
    expect(refusal(() => chat({ messages: [...HELLO, { role: 'user', content: image }] })))
      .toMatchObject({ param: 'messages[1].content', message: expect.stringContaining('images') });
  });

  it('give templates the roles they know and the extra fields of a message', () => {
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'assistant', content: 'Yes.', refusal: null, tool_calls: [], audio: null, reasoning_content: 'hm' },
    ];
    expect(chat({ messages }).task.prompt).toEqual({
      kind: 'chat',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'assistant', content: 'Yes.', refusal: null, reasoning_content: 'hm' },
      ],
    });
  });

  it('refuse broken calls, and requests without messages', () => {
    expect(refusal(() => chat({ messages: [{ role: 'assistant', tool_calls: [{ id: '1' }] }] })).param).toBe('messages[0].tool_calls[0].function');
    expect(refusal(() => chat({ messages: [] })).param).toBe('messages');
    expect(refusal(() => parseChatRequest({}, options))).toMatchObject({ code: 'missing_required_parameter', param: 'messages' });
    expect(refusal(() => parseChatRequest([], options)).code).toBe('invalid_type');
  });

  it('take earlier calls and their results', () => {
    const calls = [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at": 1}' } }];
    const messages = [{ role: 'user', content: 'x' }, { role: 'assistant', content: null, tool_calls: calls }, { role: 'tool', tool_call_id: 'c1', content: 'seen' }];
    expect(chat({ messages }).task.prompt).toMatchObject({ kind: 'chat', messages: [{ role: 'user' }, { role: 'assistant', content: null, tool_calls: calls }, { role: 'tool', tool_call_id: 'c1', content: 'seen' }] });
  });

  it('take tools and the choice among them', () => {
    const look = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: { at: { type: 'integer' } } } } };
    const touch = { type: 'function', function: { name: 'touch', description: 'Touches.', strict: true } };
    const asked = chat({ tools: [look, touch], tool_choice: { type: 'function', function: { name: 'touch' } }, parallel_tool_calls: false }).task;
    expect(asked.prompt).toMatchObject({ tools: [{ name: 'look', description: '', strict: false, parameters: look.function.parameters }, { name: 'touch', description: 'Touches.', strict: true }] });
    expect(asked.toolCalling).toEqual({ choice: { name: 'touch' }, parallel: false });
    expect(chat({ tools: [look] }).task.toolCalling).toEqual({ choice: 'auto', parallel: true });
    const none = chat({ tools: [look], tool_choice: 'none' }).task;
    expect(none.toolCalling).toBeUndefined();
    expect(none.prompt).not.toHaveProperty('tools');
    expect(refusal(() => chat({ tool_choice: 'required' })).param).toBe('tool_choice');
    expect(refusal(() => chat({ tools: [look], tool_choice: { type: 'function', function: { name: 'smell' } } })).message).toContain('"smell"');
    expect(refusal(() => chat({ tools: [look, look] })).message).toContain('two tools named "look"');
    expect(refusal(() => chat({ tools: [{ type: 'web_search' }] })).param).toBe('tools[0].type');
    expect(refusal(() => chat({ tools: [look], response_format: { type: 'json_object' } })).param).toBe('tools');
    expect(refusal(() => text({ tools: [look] })).param).toBe('tools');
  });

  it('take the form of an answer as a grammar', () => {
    const schema = { type: 'object', properties: { a: { const: 1 } }, required: ['a'], additionalProperties: false };
    const grammarOf = (fields: object) => chat(fields).task.sampling.grammar?.text;
    expect(grammarOf({ response_format: { type: 'text' } })).toBeUndefined();
    expect(grammarOf({ response_format: { type: 'json_object' } })).toContain('root ::= object');
    expect(grammarOf({ response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } })).toBe(grammarOf({ json_schema: schema }));
    expect(grammarOf({ grammar: 'root ::= "a"' })).toBe('root ::= "a"');
    expect(text({ grammar: 'root ::= "b"' }).task.sampling.grammar).toEqual({ text: 'root ::= "b"' });
    const unsupported = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object', properties: { a: { not: {} } } } } } };
    expect(refusal(() => chat(unsupported))).toMatchObject({ code: 'unsupported_parameter', param: 'response_format.json_schema.schema' });
    expect(refusal(() => chat(unsupported)).message).toContain('#/properties/a has "not"');
    expect(refusal(() => chat({ grammar: 'root ::= "a"', json_schema: schema })).message).toContain('send one of');
    expect(refusal(() => chat({ grammar: 'root ::= "a"', ignore_eos: true })).param).toBe('ignore_eos');
    expect(refusal(() => chat({ response_format: { type: 'xml' } })).param).toBe('response_format.type');
  });

  it('take several answers and probabilities', () => {
    expect(chat({ n: 3 }).choices).toBe(3);
    expect(refusal(() => chat({ n: 1000 })).param).toBe('n');
    expect(chat({ logprobs: true, top_logprobs: 4 }).task.sampling.probabilities).toBe(4);
    expect(chat({ logprobs: true }).task.sampling.probabilities).toBe(0);
    expect(chat({}).task.sampling.probabilities).toBeUndefined();
    expect(refusal(() => chat({ top_logprobs: 2 })).param).toBe('top_logprobs');
    expect(text({ logprobs: 2 }).task.sampling.probabilities).toBe(2);
    expect(refusal(() => text({ logprobs: 21 })).param).toBe('logprobs');
  });

  it('take one prompt as text or token ids, alone or in a list of one', () => {
    const prompt = (value: unknown) => text({ prompt: value }).task.prompt;
    expect(prompt('')).toEqual({ kind: 'text', text: '' });
    expect(prompt(['a'])).toEqual({ kind: 'text', text: 'a' });
    expect(prompt([1, 2])).toEqual({ kind: 'tokens', tokens: [1, 2] });
    expect(prompt([[1, 2]])).toEqual({ kind: 'tokens', tokens: [1, 2] });
    for (const bad of [['a', 'b'], [[1], [2]], [], [1, 'a'], [-1], [1.5], 7]) {
      expect(refusal(() => prompt(bad)), JSON.stringify(bad)).toMatchObject({ param: 'prompt', code: 'invalid_value' });
    }
    expect(refusal(() => parseTextRequest({}, options)).message).toBe("'prompt' is missing.");
    expect(refusal(() => parseTextRequest({ prompt: null }, options)).message).toBe("'prompt' is missing.");
  });

  it('are bounded in what they make us check, however large the body is', () => {
    const many = (value: unknown): unknown[] => Array.from({ length: 1_000_000 }, () => value);
    expect(text({ prompt: many(5) }).task.prompt).toMatchObject({ kind: 'tokens' });
    expect(refusal(() => text({ prompt: many('a') })).param).toBe('prompt');
    expect(refusal(() => chat({ messages: many({}) })).message).toContain('more than 100000 values');
    expect(refusal(() => chat({ stop: many(1) })).message).toContain('more than 100000 values');
  });
});
