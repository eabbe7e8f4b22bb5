/**
 * Tokenizers of checkpoints: the engine cuts a text into the tokens that Hugging Face's own library makes of the same files.
 * SentencePiece models are compared with the `tokenizer.json` of the same vocabulary.
 */
import { writeFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { describe, expect, it } from 'vitest';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { chatTemplate } from '../../src/model/chat-template.js';
import { readCheckpoint } from '../../src/model/checkpoint/checkpoint.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { metadataNumber, metadataText } from '../../src/model/gguf-values.js';
import { writeHeaderOnly } from '../../src/model/stage-writer.js';
import { configOf, randomTensors, writeCheckpoint } from '../support/checkpoint-files.js';
import type { CheckpointRecipe } from '../support/checkpoint-files.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import type { ByteLevelKind, TokenizerFiles } from '../support/tokenizer-files.js';
import { byteLevelTokenizer, characterTokenizer, MIXED_TEXT, TRAINING_TEXT, unigramTokenizer } from '../support/tokenizer-files.js';

const TEXTS = [MIXED_TEXT, TRAINING_TEXT, 'a', ' ', '   leading and trailing   ', '1 22 333 4444', 'house-boat on a house-boat', 'x\u0000y \u{1F468}\u200D\u{1F469}\u200D\u{1F467} ﬁ'];
const VOCABULARY = 700;

async function checkpoint(tokenizer: TokenizerFiles, changes: Partial<CheckpointRecipe> = {}): Promise<string> {
  const directory = join(temporaryDirectory(), 'checkpoint');
  const recipe: CheckpointRecipe = {
    title: 'tokenizers', architecture: 'LlamaForCausalLM', type: 'F16', layers: 1, hidden: 32, feedForward: 32, heads: 1, kvHeads: 1, headSize: 32, tied: true, normCentre: 1, config: {}, tokenizer, ...changes,
  };
  await writeCheckpoint(directory, randomTensors(recipe, VOCABULARY), configOf(recipe, VOCABULARY), tokenizer);
  return directory;
}

async function headerOf(directory: string): Promise<GgufHeader> {
  return (await readCheckpoint(directory)).header;
}

async function engineTokens(directory: string, texts: readonly string[], addSpecial = true): Promise<number[][]> {
  const file = join(temporaryDirectory(), 'vocabulary.gguf');
  await writeHeaderOnly(await headerOf(directory), file);
  const vocabulary = openVocabulary(file);
  try {
    expect(vocabulary.size).toBe(VOCABULARY);
    return texts.map((text) => [...vocabulary.tokenize(text, { addSpecial, parseSpecial: false })]);
  } finally {
    vocabulary.close();
  }
}

function libraryTokens({ json, config }: TokenizerFiles, texts: readonly string[], addSpecial = true): number[][] {
  const tokenizer = new Tokenizer(json, config);
  return texts.map((text) => tokenizer.encode(text, { add_special_tokens: addSpecial }).ids);
}

describe('byte-level BPE', () => {
  it.each<ByteLevelKind>(['gpt-2', 'llama-bpe', 'qwen2', 'tekken', 'smollm'])('cut as %s gives the library\'s tokens', async (kind) => {
    const tokenizer = byteLevelTokenizer(kind, { pairs: kind === 'tekken' });
    const directory = await checkpoint(tokenizer);
    expect(metadataText((await headerOf(directory)).metadata, 'tokenizer.ggml.pre')).toBe(kind);
    expect(await engineTokens(directory, TEXTS)).toEqual(libraryTokens(tokenizer, TEXTS));
  });

  it('begins with no BOS where the files say nothing of one', async () => {
    const tokenizer = byteLevelTokenizer('qwen2', { bos: false });
    expect(await engineTokens(await checkpoint(tokenizer), ['The word'])).toEqual(libraryTokens(tokenizer, ['The word']));
  });

  it('refuses a cut that the engine does not know', async () => {
    const tokenizer = byteLevelTokenizer('qwen2');
    const other = { ...tokenizer, json: { ...tokenizer.json, pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: '[a-z]+' }, behavior: 'Isolated', invert: false }, { type: 'ByteLevel', add_prefix_space: false, use_regex: false }] } } };
    await expect(headerOf(await checkpoint(other))).rejects.toMatchObject({ code: 'unsupported_architecture', message: expect.stringMatching(/pre-tokenizer is none of gpt-2, llama-bpe, qwen2, tekken, smollm/) as unknown });
  });
});

describe('BPE with byte fallback', () => {
  it.each([true, false])('with a space before a text (%s) gives the library\'s tokens, from tokenizer.json and from tokenizer.model', async (prefix) => {
    const tokenizer = characterTokenizer({ prefix });
    const directory = await checkpoint(tokenizer, prefix ? {} : { architecture: 'GemmaForCausalLM', normCentre: 0 });
    // With a prefix the two differ after an added word in the middle, as they do for every such model.
    const texts = prefix ? TEXTS.filter((text) => !text.includes('house-boat')) : TEXTS;
    const expected = libraryTokens(tokenizer, texts);
    expect(await engineTokens(directory, texts)).toEqual(expected);
    await writeFile(join(directory, 'tokenizer.model'), tokenizer.model);
    expect(await engineTokens(directory, texts)).toEqual(expected);
    await rm(join(directory, 'tokenizer.json'));
    const without = texts.filter((text) => !text.includes('house-boat'));
    expect(await engineTokens(directory, without)).toEqual(libraryTokens(tokenizer, without));
  });

  it('refuses merges that are not every pair: SentencePiece would merge the others too', async () => {
    const tokenizer = characterTokenizer({ prefix: true });
    const model = Object.entries(tokenizer.json['model'] ?? {}).map(([key, value]): [string, unknown] => [key, key === 'merges' && Array.isArray(value) ? value.slice(0, -1) : value]);
    const directory = await checkpoint({ ...tokenizer, json: { ...tokenizer.json, model: Object.fromEntries(model) } });
    await expect(headerOf(directory)).rejects.toMatchObject({ code: 'unsupported_architecture', message: expect.stringMatching(/leave out pairs/) as unknown });
    // With the model itself there is nothing to conclude from merges.
    await writeFile(join(directory, 'tokenizer.model'), tokenizer.model);
    expect(await engineTokens(directory, ['In the beginning'])).toEqual(libraryTokens(tokenizer, ['In the beginning']));
  });
});

describe('unigram', () => {
  it('gives the library\'s tokens, from tokenizer.json and from tokenizer.model', async () => {
    const tokenizer = unigramTokenizer();
    const directory = await checkpoint(tokenizer);
    const texts = ['In the beginning was the word', 'the people said unto the king: the city is ours', 'слово было'];
    const expected = libraryTokens(tokenizer, texts, false);
    expect(await engineTokens(directory, texts, false)).toEqual(expected);
    await writeFile(join(directory, 'tokenizer.model'), tokenizer.model);
    expect(await engineTokens(directory, texts, false)).toEqual(expected);
  });
});

describe('what is around the vocabulary', () => {
  it('has the ids of special tokens, every end of an answer among them', async () => {
    const tokenizer = byteLevelTokenizer('llama-bpe');
    const directory = await checkpoint(tokenizer);
    const first = tokenizer.size - 4;
    await writeFile(join(directory, 'generation_config.json'), JSON.stringify({ eos_token_id: [first + 2, first + 1, 5] }));
    const { metadata } = await headerOf(directory);
    const ids = ['bos', 'eos', 'eot', 'eom'].map((role) => metadataNumber(metadata, `tokenizer.ggml.${role}_token_id`));
    expect(ids).toEqual([first, first + 2, first + 1, 5]);
    const file = join(temporaryDirectory(), 'vocabulary.gguf');
    await writeHeaderOnly(await headerOf(directory), file);
    const vocabulary = openVocabulary(file);
    expect([vocabulary.bos, vocabulary.eos, [first + 1, first + 2, 5].every((id) => vocabulary.endOfGeneration.has(id))]).toEqual([first, first + 2, true]);
    vocabulary.close();
  });

  it('takes the chat template from the file of its own before the configuration', async () => {
    const directory = await checkpoint(byteLevelTokenizer('llama-bpe'));
    const chat = { messages: [{ role: 'user', content: 'Hello' }] };
    expect(chatTemplate(await headerOf(directory)).render(chat)).toBe('<|begin|>user: Hello\n');
    await writeFile(join(directory, 'chat_template.jinja'), '{{ messages[0].content }} in a file{{ eos_token }}');
    expect(chatTemplate(await headerOf(directory)).render(chat)).toBe('Hello in a file<|im_end|>');
  });

  it('leaves out added tokens that have no row, and names rows that have no token', async () => {
    const tokenizer = byteLevelTokenizer('llama-bpe');
    const added: unknown = tokenizer.json['added_tokens'];
    const more = { ...tokenizer, json: { ...tokenizer.json, added_tokens: [...(Array.isArray(added) ? added : []), { id: VOCABULARY + 7, content: '<|extra|>', special: true }] } };
    expect(await engineTokens(await checkpoint(more), ['The word'])).toEqual(libraryTokens(tokenizer, ['The word']));
  });

  it.each([
    ['tokenizer.json', 'no json', /tokenizer\.json: it is no JSON/],
    ['tokenizer.json', '{"model": {"type": "WordPiece"}}', /kind WordPiece/],
    ['tokenizer.json', '{"model": {"type": "BPE", "byte_fallback": true, "vocab": {"a": "b"}, "merges": []}}', /no id that makes sense/],
    ['tokenizer.json', '{"model": {"type": "BPE", "byte_fallback": true, "vocab": {"a": 1}, "merges": ["a"]}}', /merge 0 is no pair/],
    ['tokenizer.json', '{"model": {"type": "BPE", "byte_fallback": true, "vocab": {"a": 4000}, "merges": []}}', /a token 4000, but the embedding only 700 rows/],
    ['tokenizer.json', '[]', /is no tokenizer/],
    ['tokenizer_config.json', '{"bos_token": 5}', /tokenizer_config\.json/],
  ])('says what is wrong with %s: %s', async (name, content, message) => {
    const directory = await checkpoint(byteLevelTokenizer('llama-bpe'));
    await writeFile(join(directory, name), content);
    await expect(headerOf(directory)).rejects.toThrow(message);
  });

  it.each([Buffer.from('IQ== 0\nIg== 1\n'), Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]), Buffer.from([0x0a, 2, 0x0a, 40]), Buffer.alloc(0)])('says that a file is no SentencePiece model', async (content) => {
    const tokenizer = characterTokenizer({ prefix: true });
    const directory = await checkpoint(tokenizer);
    await writeFile(join(directory, 'tokenizer.model'), content);
    await expect(headerOf(directory)).rejects.toMatchObject({ code: 'bad_checkpoint', message: expect.stringMatching(/no SentencePiece model/) as unknown });
  });
});
