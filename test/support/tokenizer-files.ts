/**
 * Small real tokenizers, trained here on a few sentences: `tokenizer.json` as Hugging Face writes it, and the SentencePiece
 * model of the same vocabulary. Nothing of src/ is used, so that both ends of a comparison are independent.
 */
import protobuf from 'protobufjs/minimal.js';

export const TRAINING_TEXT = 'In the beginning was the word, and the word was with the people. The people went out into the land, and the land was good; '
  + 'they said unto the king: let us go up to the city, for the city is ours. We\'ve seen 12 cities and 345 houses, they\'re the king\'s. '
  + 'Там было слово, и слово было хорошо. 東京の大学と東京の町。 Ünïcode über alles, naïve café! def main(): return 100 + 200 ';

/** What tokenizers stumble over: spaces, digits, contractions, scripts, emoji, line ends. */
export const MIXED_TEXT = 'The people\'s  city   had 1234567 houses, they\'re GOOD!\n\n\tAnd We\'VE said: "naïve café" über слово — 東京 🚀🦙 e\u0301 ... \r\n  end of the  land ';

const SPACE = '\u2581';
type Json = Readonly<Record<string, unknown>>;

/** The 256 bytes as printable characters, as GPT-2 has them. */
function byteCharacters(): string[] {
  const printable = [[33, 126], [161, 172], [174, 255]].flatMap(([from = 0, to = 0]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable.includes(byte) ? byte : next++));
}

/** Byte-pair training: the most frequent neighbours first, ties by text. */
function trainMerges(words: readonly string[][], count: number): [string, string][] {
  const merges: [string, string][] = [];
  let current = words.map((word) => [...word]);
  while (merges.length < count) {
    const pairs = new Map<string, { pair: [string, string]; count: number }>();
    for (const word of current) {
      for (let index = 0; index + 1 < word.length; index += 1) {
        const pair: [string, string] = [word[index] ?? '', word[index + 1] ?? ''];
        const key = pair.join('\0');
        pairs.set(key, { pair, count: (pairs.get(key)?.count ?? 0) + 1 });
      }
    }
    const [best] = [...pairs.entries()].sort((a, b) => b[1].count - a[1].count || (a[0] < b[0] ? -1 : 1));
    if (best === undefined) return merges;
    const { pair } = best[1];
    merges.push(pair);
    current = current.map((word) => joined(word, pair));
  }
  return merges;
}

function joined(word: readonly string[], [left, right]: readonly [string, string]): string[] {
  const result: string[] = [];
  for (let index = 0; index < word.length; index += 1) {
    if (word[index] === left && word[index + 1] === right) {
      result.push(left + right);
      index += 1;
    } else result.push(word[index] ?? '');
  }
  return result;
}

export interface TokenizerFiles {
  readonly json: Json;
  readonly config: Json;
  /** Token ids in use. */
  readonly size: number;
}

const added = (id: number, content: string, special: boolean): Json => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: !special, special });

const SPLITS = {
  'llama-bpe': '(?i:\'s|\'t|\'re|\'ve|\'m|\'ll|\'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
  qwen2: '(?i:\'s|\'t|\'re|\'ve|\'m|\'ll|\'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
  tekken: '[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
} as const;

export type ByteLevelKind = keyof typeof SPLITS | 'gpt-2' | 'smollm';

function preTokenizer(kind: ByteLevelKind): Json {
  const bytes = (regex: boolean): Json => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: regex });
  if (kind === 'gpt-2') return bytes(true);
  if (kind === 'smollm') return { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true }, bytes(true)] };
  return { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: SPLITS[kind] }, behavior: 'Isolated', invert: false }, bytes(false)] };
}

/** Byte-level BPE with control tokens, an added word that is no control token, and a text that begins with BOS. */
export function byteLevelTokenizer(kind: ByteLevelKind, options: { readonly bos?: boolean; readonly pairs?: boolean } = {}): TokenizerFiles {
  const characters = byteCharacters();
  const words = [...TRAINING_TEXT.matchAll(/ ?[\p{L}\p{N}']+|[^\p{L}\p{N}]/gu)].map(([word]) => [...Buffer.from(word)].map((byte) => characters[byte] ?? ''));
  const merges = trainMerges(words, 120);
  const vocabulary = [...characters, ...new Set(merges.map((pair) => pair.join('')))];
  const size = vocabulary.length;
  const extra = ['<|begin|>', '<|end|>', '<|im_end|>'].map((content, index) => added(size + index, content, true));
  extra.push(added(size + 3, 'house-boat', false));
  const bos = { SpecialToken: { id: '<|begin|>', type_id: 0 } };
  return {
    json: {
      version: '1.0', truncation: null, padding: null, added_tokens: extra, normalizer: null, pre_tokenizer: preTokenizer(kind),
      post_processor: options.bos === false ? null : {
        type: 'TemplateProcessing', single: [bos, { Sequence: { id: 'A', type_id: 0 } }], pair: [], special_tokens: { '<|begin|>': { id: '<|begin|>', ids: [size], tokens: ['<|begin|>'] } },
      },
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false,
        vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])), merges: options.pairs === true ? merges : merges.map((pair) => pair.join(' ')),
      },
    },
    config: {
      bos_token: '<|begin|>', eos_token: { content: '<|im_end|>' }, tokenizer_class: 'PreTrainedTokenizerFast',
      chat_template: '{{ bos_token }}{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}',
    },
    size: size + 4,
  };
}

interface Pieces {
  readonly pieces: readonly { readonly text: string; readonly score: number; readonly type: number }[];
  readonly merges: readonly [string, string][];
}

/** Control tokens, bytes, merged pieces and characters, in SentencePiece's own order. Every pair that makes a piece is a merge. */
function characterPieces(): Pieces {
  const words = TRAINING_TEXT.split(' ').map((word) => [...SPACE + word]);
  const trained = [...new Set(trainMerges(words, 150).map((pair) => pair.join('')))];
  const characters = [...new Set(words.flat())];
  const known = new Set([...trained, ...characters]);
  const merges = trained.flatMap((piece) => [...piece].slice(0, -1).map((_, index): [string, string] => [[...piece].slice(0, index + 1).join(''), [...piece].slice(index + 1).join('')]))
    .filter(([left, right]) => known.has(left) && known.has(right));
  return {
    merges,
    pieces: [
      { text: '<unk>', score: 0, type: 2 }, { text: '<s>', score: 0, type: 3 }, { text: '</s>', score: 0, type: 3 },
      ...Array.from({ length: 256 }, (_, byte) => ({ text: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, score: 0, type: 6 })),
      ...trained.map((text, rank) => ({ text, score: -rank, type: 1 })),
      ...characters.map((text, index) => ({ text, score: -trained.length - index, type: 1 })),
    ],
  };
}

/** The form of Llama 2 and Mistral (`▁` before a text) or of Gemma (not). */
export function characterTokenizer(options: { readonly prefix: boolean }): TokenizerFiles & { readonly model: Uint8Array } {
  const { pieces, merges } = characterPieces();
  const size = pieces.length;
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: SPACE };
  return {
    json: {
      version: '1.0', truncation: null, padding: null,
      added_tokens: [added(0, '<unk>', true), added(1, '<s>', true), added(2, '</s>', true), added(size, '<end_of_turn>', true), added(size + 1, 'house-boat', false)],
      normalizer: options.prefix ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: SPACE }, replace] } : replace,
      pre_tokenizer: options.prefix ? null : { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false },
      post_processor: {
        type: 'TemplateProcessing', single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }], pair: [],
        special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
      },
      decoder: { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: SPACE }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }] },
      model: {
        type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true,
        vocab: Object.fromEntries(pieces.map(({ text }, id) => [text, id])), merges: merges.map((pair) => pair.join(' ')),
      },
    },
    config: { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>', tokenizer_class: options.prefix ? 'LlamaTokenizer' : 'GemmaTokenizer', add_bos_token: true, add_eos_token: false },
    size: size + 2,
    model: sentencePieceModel(pieces, { kind: 2, byteFallback: true, addSpacePrefix: options.prefix }),
  };
}

/** Pieces whose scores are log probabilities; the best cut of the whole word wins. */
export function unigramTokenizer(): TokenizerFiles & { readonly model: Uint8Array } {
  const { pieces } = characterPieces();
  const kept = pieces.filter(({ type }) => type !== 6).map((piece) => (piece.type === 1 ? { ...piece, score: -2 - 0.5 * Math.log(1 - piece.score) * (3 / [...piece.text].length) - 1 / [...piece.text].length } : piece));
  return {
    json: {
      version: '1.0', truncation: null, padding: null, added_tokens: [added(0, '<unk>', true), added(1, '<s>', true), added(2, '</s>', true)],
      normalizer: null, pre_tokenizer: { type: 'Metaspace', replacement: SPACE, add_prefix_space: true, prepend_scheme: 'always' }, post_processor: null,
      decoder: { type: 'Metaspace', replacement: SPACE, add_prefix_space: true, prepend_scheme: 'always' },
      model: { type: 'Unigram', unk_id: 0, vocab: kept.map(({ text, score }) => [text, score]), byte_fallback: false },
    },
    config: { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>', tokenizer_class: 'PreTrainedTokenizerFast' },
    size: kept.length,
    model: sentencePieceModel(kept, { kind: 1, byteFallback: false, addSpacePrefix: true }),
  };
}

function sentencePieceModel(pieces: Pieces['pieces'], options: { readonly kind: number; readonly byteFallback: boolean; readonly addSpacePrefix: boolean }): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const { text, score, type } of pieces) writer.uint32(10).fork().uint32(10).string(text).uint32(21).float(score).uint32(24).int32(type).ldelim();
  writer.uint32(18).fork().uint32(24).int32(options.kind).uint32(280).bool(options.byteFallback).ldelim();
  writer.uint32(26).fork().uint32(10).string('identity').uint32(24).bool(options.addSpacePrefix).uint32(32).bool(false).ldelim();
  return writer.finish();
}
