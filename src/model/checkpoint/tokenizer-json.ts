/**
 * Reads `tokenizer.json` into the engine's terms: byte-level BPE (`gpt2`), BPE over characters with byte fallback (`llama`, the
 * form that SentencePiece models have there) and unigram (`t5`). What the engine would tokenize otherwise is refused. It must
 * not know special tokens' roles (tokenizer.ts).
 */
import { z } from 'zod';
import { badCheckpoint, refusedCheckpoint } from './bad-checkpoint.js';
import { KNOWN_PRE_TOKENIZERS, preTokenizerName, preTokenizerSteps } from './pre-tokenizers.js';
import { MAX_PIECES } from './sentencepiece.js';

/** Types of tokens in a GGUF. */
const TOKEN_NORMAL = 1;
const TOKEN_UNKNOWN = 2;
export const TOKEN_CONTROL = 3;
export const TOKEN_USER_DEFINED = 4;
export const TOKEN_UNUSED = 5;
const TOKEN_BYTE = 6;

export interface TokenEntry {
  readonly text: string;
  readonly type: number;
  readonly score: number;
}

/** A vocabulary in the engine's terms, without the tokens that were added later. */
export interface BaseVocabulary {
  readonly model: 'gpt2' | 'llama' | 't5';
  /** Only for `gpt2`. */
  readonly pre: string | null;
  readonly entries: ReadonlyMap<number, TokenEntry>;
  /** Only for `gpt2`: `left right`, the first merged first. */
  readonly merges: readonly string[];
  readonly addSpacePrefix: boolean;
  readonly removeExtraWhitespaces: boolean;
  readonly charsmap: Uint8Array;
  readonly unknownId: number | null;
}

export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
}

/** What stands beside the vocabulary. */
export interface TokenizerExtras {
  readonly added: readonly AddedToken[];
  /** Does the post-processor put special tokens around a text? Null = it says nothing. */
  readonly addsBos: boolean | null;
  readonly addsEos: boolean | null;
}

export interface TokenizerJson extends TokenizerExtras {
  readonly base: BaseVocabulary;
}

const BYTE_PIECE = /^<0x[0-9A-F]{2}>$/;
const SPACE = '\u2581';
const MAX_MERGES = 1 << 22;
const MAX_ADDED = 1 << 17;

const modelSchema = z.looseObject({
  type: z.string().nullish(), vocab: z.unknown().optional(), merges: z.unknown().optional(), byte_fallback: z.boolean().nullish(), unk_token: z.string().nullish(), unk_id: z.int().nonnegative().nullish(),
});
const schema = z.looseObject({
  model: modelSchema, normalizer: z.unknown().optional(), pre_tokenizer: z.unknown().optional(), post_processor: z.unknown().optional(),
  added_tokens: z.array(z.looseObject({ id: z.int().nonnegative(), content: z.string().max(10_000), special: z.boolean().nullish() })).max(MAX_ADDED).nullish(),
});
type Model = z.infer<typeof modelSchema>;

const normalizerSchema = z.looseObject({
  type: z.string(), normalizers: z.array(z.unknown()).max(20).optional(), prepend: z.string().optional(), content: z.string().optional(),
  pattern: z.looseObject({ String: z.string().optional() }).optional(), precompiled_charsmap: z.string().nullish(),
});
type Normalizer = z.infer<typeof normalizerSchema>;

/** Throws `bad_checkpoint`, or `unsupported_architecture` for a tokenizer that the engine does not have. */
export function parseTokenizerJson(value: unknown, where: string): TokenizerJson {
  const { model, normalizer, pre_tokenizer: preTokenizer } = parsed(value, where);
  const normalizers = flatNormalizers(normalizer);
  if (normalizers === null) throw badCheckpoint(where, 'its normalizer cannot be read');
  const steps = preTokenizerSteps(preTokenizer);
  const byteLevel = steps?.some((step) => step.type === 'ByteLevel') === true;
  const kind = model.type ?? 'BPE';
  const extras = tokenizerExtras(value, where);
  const base = kind === 'Unigram' ? unigram(model, normalizers, preTokenizer, where)
    : kind !== 'BPE' ? refuse(where, `its tokenizer is of the kind ${kind}`)
      : byteLevel ? byteLevelBpe(model, normalizers, preTokenizer, where) : characterBpe(model, normalizers, preTokenizer, new Set(extras.added.map(({ content }) => content)), where);
  return { base, ...extras };
}

/** Without a look at the vocabulary, for who has it from another file. */
export function tokenizerExtras(value: unknown, where: string): TokenizerExtras {
  const { added_tokens: added, post_processor: postProcessor } = parsed(value, where);
  return { added: (added ?? []).map(({ id, content, special }) => ({ id, content, special: special === true })), ...aroundText(postProcessor) };
}

function parsed(value: unknown, where: string): z.infer<typeof schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw badCheckpoint(where, `it is no tokenizer: ${z.prettifyError(result.error).split('\n').slice(0, 2).join(' ')}`);
  return result.data;
}

function refuse(where: string, why: string): never {
  throw refusedCheckpoint(where, `${why}, which the engine does not tokenize alike`);
}

function byteLevelBpe(model: Model, normalizers: readonly Normalizer[], preTokenizer: unknown, where: string): BaseVocabulary {
  const pre = preTokenizerName(preTokenizer);
  if (pre === null) refuse(where, `its pre-tokenizer is none of ${KNOWN_PRE_TOKENIZERS.join(', ')}`);
  // Text is composed already nearly everywhere; the engine takes it as it comes.
  if (normalizers.some(({ type }) => type !== 'NFC')) refuse(where, `its normalizer is ${normalizers.map(({ type }) => type).join(', ')}`);
  const entries = new Map([...vocabularyOf(model, where)].map(([text, id]): [number, TokenEntry] => [id, { text, type: TOKEN_NORMAL, score: 0 }]));
  const merges = mergesOf(model, where).map(([left, right]) => `${left} ${right}`);
  return { model: 'gpt2', pre, entries, merges, addSpacePrefix: false, removeExtraWhitespaces: false, charsmap: new Uint8Array(), unknownId: null };
}

/**
 * SentencePiece merges any two neighbours whose union is a token, the best token first; here pairs are listed. Both are the
 * same when every pair is listed, and tokens are then as good as their first pair comes early.
 */
function characterBpe(model: Model, normalizers: readonly Normalizer[], preTokenizer: unknown, added: ReadonlySet<string>, where: string): BaseVocabulary {
  const vocabulary = vocabularyOf(model, where);
  if (model.byte_fallback !== true) refuse(where, 'its BPE is neither byte-level nor has byte fallback');
  const scores = new Map<string, number>();
  const listed = new Map<string, number>();
  mergesOf(model, where).forEach(([left, right], rank) => {
    const merged = left + right;
    if (!scores.has(merged)) scores.set(merged, -rank);
    listed.set(merged, (listed.get(merged) ?? 0) + 1);
  });
  // Added tokens are found before anything is merged.
  const whole = (text: string): boolean => BYTE_PIECE.test(text) || added.has(text);
  for (const text of vocabulary.keys()) if (!whole(text) && (listed.get(text) ?? 0) !== possiblePairs(text, vocabulary)) refuse(where, `its merges leave out pairs that make ${JSON.stringify(text)}`);
  const entries = new Map<number, TokenEntry>();
  for (const [text, id] of vocabulary) {
    const type = BYTE_PIECE.test(text) ? TOKEN_BYTE : text === model.unk_token ? TOKEN_UNKNOWN : TOKEN_NORMAL;
    entries.set(id, { text, type, score: scores.get(text) ?? -MAX_MERGES });
  }
  const unknownId = typeof model.unk_token === 'string' ? vocabulary.get(model.unk_token) ?? null : null;
  return { model: 'llama', pre: null, entries, merges: [], ...spacesOf(normalizers, preTokenizer, where), unknownId };
}

function possiblePairs(whole: string, vocabulary: ReadonlyMap<string, number>): number {
  let pairs = 0;
  let at = 0;
  for (const character of whole) {
    at += character.length;
    if (at < whole.length && vocabulary.has(whole.slice(0, at)) && vocabulary.has(whole.slice(at))) pairs += 1;
  }
  return pairs;
}

function unigram(model: Model, normalizers: readonly Normalizer[], preTokenizer: unknown, where: string): BaseVocabulary {
  if (!Array.isArray(model.vocab) || model.vocab.length === 0 || model.vocab.length > MAX_PIECES) throw badCheckpoint(where, 'its unigram vocabulary is no list of pieces');
  if (model.byte_fallback === true) refuse(where, 'its tokenizer is a unigram one with byte fallback');
  const entries = new Map<number, TokenEntry>();
  model.vocab.forEach((entry: unknown, id) => {
    if (!Array.isArray(entry) || typeof entry[0] !== 'string' || typeof entry[1] !== 'number') throw badCheckpoint(where, `entry ${id} of its vocabulary is no piece with a score`);
    entries.set(id, { text: entry[0], score: entry[1], type: id === model.unk_id ? TOKEN_UNKNOWN : TOKEN_NORMAL });
  });
  return { model: 't5', pre: null, entries, merges: [], ...spacesOf(normalizers, preTokenizer, where), unknownId: model.unk_id ?? null };
}

/** Spaces are the piece `▁`; may a text begin with one more? */
function spacesOf(normalizers: readonly Normalizer[], preTokenizer: unknown, where: string): Pick<BaseVocabulary, 'addSpacePrefix' | 'removeExtraWhitespaces' | 'charsmap'> {
  let addSpacePrefix = false;
  let charsmap = new Uint8Array();
  for (const one of normalizers) {
    if (one.type === 'Prepend' && one.prepend === SPACE) addSpacePrefix = true;
    else if (one.type === 'Precompiled') charsmap = Uint8Array.from(Buffer.from(one.precompiled_charsmap ?? '', 'base64'));
    else if (!(one.type === 'Replace' && one.pattern?.String === ' ' && one.content === SPACE)) refuse(where, `its normalizer has the step ${one.type}`);
  }
  for (const step of preTokenizerSteps(preTokenizer) ?? [{ type: 'unknown' }]) {
    if (step.type === 'Metaspace') addSpacePrefix ||= step.prepend_scheme === undefined ? step.add_prefix_space !== false : step.prepend_scheme !== 'never';
    else if (!(step.type === 'Split' && step.pattern?.String === ' ')) refuse(where, `its pre-tokenizer has the step ${step.type}`);
  }
  return { addSpacePrefix, removeExtraWhitespaces: false, charsmap };
}

function vocabularyOf(model: Model, where: string): Map<string, number> {
  const { vocab } = model;
  if (typeof vocab !== 'object' || vocab === null || Array.isArray(vocab)) throw badCheckpoint(where, 'its vocabulary is no table of tokens');
  const vocabulary = new Map<string, number>();
  for (const [text, id] of Object.entries(vocab)) {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= MAX_PIECES) throw badCheckpoint(where, `token ${JSON.stringify(text.slice(0, 100))} has no id that makes sense`);
    vocabulary.set(text, id);
  }
  return vocabulary;
}

/** Pairs, in either of the two forms in which they are written. */
function mergesOf(model: Model, where: string): (readonly [string, string])[] {
  const { merges } = model;
  if (!Array.isArray(merges) || merges.length > MAX_MERGES) throw badCheckpoint(where, 'its merges are no list');
  return merges.map((merge: unknown, rank) => {
    const parts: unknown = typeof merge === 'string' ? merge.split(' ') : merge;
    if (!Array.isArray(parts) || parts.length !== 2 || typeof parts[0] !== 'string' || typeof parts[1] !== 'string') throw badCheckpoint(where, `merge ${rank} is no pair of tokens`);
    return [parts[0], parts[1]];
  });
}

function flatNormalizers(value: unknown): readonly Normalizer[] | null {
  if (value === null || value === undefined) return [];
  const parsed = normalizerSchema.safeParse(value);
  if (!parsed.success) return null;
  if (parsed.data.type !== 'Sequence') return [parsed.data];
  const parts = (parsed.data.normalizers ?? []).map((part) => normalizerSchema.safeParse(part).data ?? null);
  return parts.every((part) => part !== null) ? parts : null;
}

const templateSchema = z.looseObject({ type: z.string(), single: z.array(z.looseObject({ SpecialToken: z.unknown().optional() })).max(20).optional(), processors: z.array(z.unknown()).max(20).optional() });

function aroundText(value: unknown): { addsBos: boolean | null; addsEos: boolean | null } {
  const parsed = templateSchema.safeParse(value);
  if (!parsed.success) return { addsBos: null, addsEos: null };
  const { type, single = [], processors = [] } = parsed.data;
  if (type === 'Sequence') return processors.map(aroundText).find(({ addsBos }) => addsBos !== null) ?? { addsBos: null, addsEos: null };
  if (type !== 'TemplateProcessing') return { addsBos: null, addsEos: null };
  return { addsBos: single[0]?.SpecialToken !== undefined, addsEos: single.length > 1 && single.at(-1)?.SpecialToken !== undefined };
}
