/**
 * A checkpoint's tokenizer as the metadata of a GGUF: vocabulary, added tokens with their types, ids of special tokens, chat
 * template. One row of the embedding has one token, used or not. It must not know tensors.
 */
import { z } from 'zod';
import type { GgufValue } from '../gguf-values.js';
import { bool, numberArray, stringArray, text, uint32 } from '../gguf-values.js';
import { badCheckpoint, refusedCheckpoint } from './bad-checkpoint.js';
import type { CheckpointFiles } from './checkpoint-files.js';
import { readJson } from './checkpoint-files.js';
import type { CheckpointConfig } from './config.js';
import { idsOf } from './config.js';
import { parseSentencePiece } from './sentencepiece.js';
import type { AddedToken, BaseVocabulary, TokenEntry, TokenizerJson } from './tokenizer-json.js';
import { parseTokenizerJson, TOKEN_CONTROL, TOKEN_UNUSED, TOKEN_USER_DEFINED, tokenizerExtras } from './tokenizer-json.js';

const MAX_TOKENIZER_BYTES = 256 * 1024 * 1024;
const MAX_TEMPLATE_BYTES = 4 * 1024 * 1024;
const ADDED_SCORE = -1000;
const SPACE = /\u2581/g;

const tokenSchema = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();
const settingsSchema = z.looseObject({
  bos_token: tokenSchema, eos_token: tokenSchema, unk_token: tokenSchema, pad_token: tokenSchema, tokenizer_class: z.string().nullish(),
  add_bos_token: z.boolean().nullish(), add_eos_token: z.boolean().nullish(), add_prefix_space: z.boolean().nullish(),
  added_tokens_decoder: z.record(z.string(), z.looseObject({ content: z.string(), special: z.boolean().nullish() })).nullish(),
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
});
type Settings = z.infer<typeof settingsSchema>;
const generationSchema = z.looseObject({ eos_token_id: z.union([z.int(), z.array(z.int()).max(100)]).nullish() });
const templateFileSchema = z.looseObject({ chat_template: z.string() });

/** Throws `bad_checkpoint`, or `unsupported_architecture` for a tokenizer that the engine does not have. */
export async function tokenizerMetadata(files: CheckpointFiles, config: CheckpointConfig): Promise<Map<string, GgufValue>> {
  const names = await files.names();
  const read = async <T>(name: string, schema: z.ZodType<T>): Promise<T | null> => {
    if (!names.includes(name)) return null;
    const parsed = schema.safeParse(await readJson(files, name, MAX_TOKENIZER_BYTES));
    if (!parsed.success) throw badCheckpoint(files.pathOf(name), z.prettifyError(parsed.error).split('\n').slice(0, 2).join(' '));
    return parsed.data;
  };
  const settings = await read('tokenizer_config.json', settingsSchema) ?? {};
  const generation = await read('generation_config.json', generationSchema);
  const found = await vocabularyOf(files, names);
  const added = [...found.added, ...await laterTokens(files, names, settings)];
  const entries = withAdded(found.base, added);
  const tokens = rows(entries, found.base, config.vocabularySize, files.where);
  const template = await chatTemplateOf(files, names, settings, await read('chat_template.json', templateFileSchema));
  return metadataOf({ found, tokens, settings, config, endIds: idsOf(generation?.eos_token_id), template });
}

async function vocabularyOf(files: CheckpointFiles, names: readonly string[]): Promise<TokenizerJson> {
  const path = files.pathOf('tokenizer.json');
  const json = names.includes('tokenizer.json') ? await readJson(files, 'tokenizer.json', MAX_TOKENIZER_BYTES) : null;
  // The SentencePiece model has the real scores; a byte-level tokenizer never comes from one, whatever lies beside it.
  if (names.includes('tokenizer.model') && !isByteLevel(json)) {
    const base = sentencePieceVocabulary(await files.whole('tokenizer.model', MAX_TOKENIZER_BYTES), files.pathOf('tokenizer.model'));
    return { base, ...json === null ? { added: [], addsBos: null, addsEos: null } : tokenizerExtras(json, path) };
  }
  if (json !== null) return parseTokenizerJson(json, path);
  if (names.includes('tekken.json')) throw refusedCheckpoint(files.where, 'its tokenizer is in the vendor\'s own layout (tekken.json)', 'take a checkpoint with tokenizer.json, or a GGUF');
  throw badCheckpoint(files.where, 'it has no tokenizer (tokenizer.json or tokenizer.model)');
}

function isByteLevel(json: unknown): boolean {
  const parsed = z.looseObject({ pre_tokenizer: z.unknown().optional() }).safeParse(json);
  return parsed.success && JSON.stringify(parsed.data.pre_tokenizer ?? null).includes('"ByteLevel"');
}

function sentencePieceVocabulary(bytes: Uint8Array, where: string): BaseVocabulary {
  const model = parseSentencePiece(bytes, where);
  if (model.kind === 'unigram' && model.byteFallback) throw refusedCheckpoint(where, 'its tokenizer is a unigram one with byte fallback, which the engine does not tokenize alike');
  const entries = new Map(model.pieces.map((piece, id): [number, TokenEntry] => [id, piece.type === TOKEN_USER_DEFINED ? { ...piece, text: piece.text.replace(SPACE, ' ') } : piece]));
  const unknown = model.pieces.findIndex((piece) => piece.type === 2);
  return {
    model: model.kind === 'bpe' ? 'llama' : 't5', pre: null, entries, merges: [], addSpacePrefix: model.addSpacePrefix,
    removeExtraWhitespaces: model.removeExtraWhitespaces, charsmap: model.kind === 'bpe' ? new Uint8Array() : model.charsmap, unknownId: unknown < 0 ? null : unknown,
  };
}

/** Tokens that only the files beside the vocabulary name. */
async function laterTokens(files: CheckpointFiles, names: readonly string[], settings: Settings): Promise<AddedToken[]> {
  const added: AddedToken[] = [];
  if (names.includes('added_tokens.json')) {
    const parsed = z.record(z.string(), z.int().nonnegative()).safeParse(await readJson(files, 'added_tokens.json', MAX_TOKENIZER_BYTES));
    if (!parsed.success) throw badCheckpoint(files.pathOf('added_tokens.json'), 'it is no table of tokens');
    added.push(...Object.entries(parsed.data).map(([content, id]) => ({ id, content, special: false })));
  }
  for (const [id, { content, special }] of Object.entries(settings.added_tokens_decoder ?? {})) added.push({ id: Number(id), content, special: special === true });
  return added.filter(({ id }) => Number.isSafeInteger(id));
}

/** Some vocabularies call their control tokens ordinary. */
function looksLikeControl(content: string): boolean {
  return content === '<pad>' || content === '<mask>' || /^<[|\uff5c].*[|\uff5c]>$/.test(content) || /^<unused\d*>$/.test(content);
}

function withAdded(base: BaseVocabulary, added: readonly AddedToken[]): ReadonlyMap<number, TokenEntry> {
  const entries = new Map(base.entries);
  const special = new Set(added.filter((token) => token.special).map(({ id }) => id));
  for (const { id, content } of added) {
    if (id === base.unknownId && base.model !== 'gpt2') continue;
    const control = special.has(id) || looksLikeControl(content);
    entries.set(id, { text: control ? content : content.replace(SPACE, ' '), type: control ? TOKEN_CONTROL : TOKEN_USER_DEFINED, score: ADDED_SCORE });
  }
  return entries;
}

/** One token for each row. Tokens that were added without rows cannot be computed and are left out. */
function rows(entries: ReadonlyMap<number, TokenEntry>, base: BaseVocabulary, count: number, where: string): readonly TokenEntry[] {
  for (const id of base.entries.keys()) if (id >= count) throw badCheckpoint(where, `its tokenizer has a token ${id}, but the embedding only ${count} rows`);
  return Array.from({ length: count }, (_, id) => entries.get(id) ?? { text: `[PAD${id}]`, type: TOKEN_UNUSED, score: ADDED_SCORE });
}

async function chatTemplateOf(files: CheckpointFiles, names: readonly string[], settings: Settings, file: { readonly chat_template: string } | null): Promise<string | null> {
  if (names.includes('chat_template.jinja')) return new TextDecoder().decode(await files.whole('chat_template.jinja', MAX_TEMPLATE_BYTES));
  const { chat_template: own } = settings;
  if (typeof own === 'string') return own;
  return own?.find(({ name }) => name === 'default')?.template ?? own?.[0]?.template ?? file?.chat_template ?? null;
}

interface Parts {
  readonly found: TokenizerJson;
  readonly tokens: readonly TokenEntry[];
  readonly settings: Settings;
  readonly config: CheckpointConfig;
  /** Of `generation_config.json`. */
  readonly endIds: readonly number[];
  readonly template: string | null;
}

function metadataOf({ found, tokens, settings, config, endIds, template }: Parts): Map<string, GgufValue> {
  const { base } = found;
  const idOf = (token: Settings['bos_token']): number | null => {
    const content = typeof token === 'string' ? token : token?.content;
    const id = content === undefined ? -1 : tokens.findIndex((entry) => entry.text === content);
    return id < 0 ? null : id;
  };
  const valid = (id: number | null | undefined): number | null => (id !== null && id !== undefined && id >= 0 && id < tokens.length ? id : null);
  const metadata = new Map<string, GgufValue>([
    ['tokenizer.ggml.model', text(base.model)],
    ['tokenizer.ggml.pre', text(base.pre ?? 'default')],
    ['tokenizer.ggml.tokens', stringArray(tokens.map((entry) => entry.text))],
    ['tokenizer.ggml.token_type', numberArray('int32', tokens.map((entry) => entry.type))],
  ]);
  if (base.model === 'gpt2') metadata.set('tokenizer.ggml.merges', stringArray(base.merges));
  else {
    metadata.set('tokenizer.ggml.scores', numberArray('float32', tokens.map((entry) => entry.score)));
    metadata.set('tokenizer.ggml.add_space_prefix', bool(config.family.startsWith('gemma') ? false : settings.add_prefix_space ?? base.addSpacePrefix));
  }
  if (base.model === 't5') {
    metadata.set('tokenizer.ggml.remove_extra_whitespaces', bool(base.removeExtraWhitespaces));
    if (base.charsmap.length > 0) metadata.set('tokenizer.ggml.precompiled_charsmap', numberArray('uint8', [...base.charsmap]));
  }
  const ends = [idOf(settings.eos_token), ...endIds, ...config.tokenIds.eos].map(valid).filter((id) => id !== null);
  // The first ends a text; the engine knows most of the others by their names, these two by their roles.
  const [eos = null, endOfTurn = null, endOfMessage = null] = [...new Set(ends)];
  const ids: Readonly<Record<string, number | null>> = {
    bos: idOf(settings.bos_token) ?? valid(config.tokenIds.bos), eos, eot: endOfTurn, eom: endOfMessage,
    unknown: base.unknownId ?? idOf(settings.unk_token), padding: idOf(settings.pad_token) ?? valid(config.tokenIds.pad),
  };
  for (const [role, id] of Object.entries(ids)) if (id !== null) metadata.set(`tokenizer.ggml.${role}_token_id`, uint32(id));
  const rebuilds = /^(Llama|CodeLlama|Gemma)Tokenizer/.test(settings.tokenizer_class ?? '');
  const addsBos = settings.add_bos_token ?? (rebuilds ? true : found.addsBos) ?? base.model === 'llama';
  metadata.set('tokenizer.ggml.add_bos_token', bool(addsBos && ids['bos'] !== null));
  metadata.set('tokenizer.ggml.add_eos_token', bool(settings.add_eos_token ?? (rebuilds ? false : found.addsEos) ?? false));
  if (template !== null && template !== '') metadata.set('tokenizer.chat_template', text(template));
  return metadata;
}
