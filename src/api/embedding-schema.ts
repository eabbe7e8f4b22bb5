/**
 * Requests for embeddings, OpenAI's and Ollama's, as data of ours. It must not know HTTP or the agent's inside.
 */
import { z } from 'zod';
import type { EmbeddingTask, Prompt } from '../agent/service.js';
import { ApiError } from './api-error.js';
import { keepAliveField } from './keep-alive-field.js';
import { unknownField } from './openai-fields.js';
import { isTokenId, MODEL_NAME_LENGTH_MAX, parseFields } from './openai-schema.js';

/** Texts in one request; OpenAI's limit. */
const INPUTS_MAX = 2048;
const DIMENSIONS_MAX = 2 ** 20;

export interface EmbeddingRequest {
  readonly task: EmbeddingTask;
  /** Only so many of the first numbers; null = all. */
  readonly dimensions: number | null;
  readonly base64: boolean;
}

const model = z.string().max(MODEL_NAME_LENGTH_MAX);
const dimensions = z.int().min(1).max(DIMENSIONS_MAX).nullish();

const openAiFields = {
  model: model.default(''),
  encoding_format: z.enum(['float', 'base64'], 'must be "float" or "base64"').nullish(),
  dimensions,
  /** For the provider's accounts. */
  user: z.unknown().optional(),
  input: z.unknown(),
};
const openAiSchema = z.object(openAiFields);
const OPENAI_FIELDS: ReadonlySet<string> = new Set(Object.keys(openAiFields));

/** Options are about Ollama's own memory and pass: the plan decides. */
const ollamaFields = { model, keep_alive: keepAliveField.nullish(), options: z.record(z.string(), z.unknown()).nullish() };
const embedSchema = z.strictObject({
  ...ollamaFields, dimensions, truncate: z.boolean().default(true),
  input: z.union([z.string(), z.array(z.string()).max(INPUTS_MAX)], `must be a text or a list of at most ${INPUTS_MAX} texts`),
});
const embeddingsSchema = z.strictObject({ ...ollamaFields, prompt: z.string() });

/** The body of `POST /v1/embeddings`. Throws a 400 naming the field. */
export function parseEmbeddingRequest(body: unknown): EmbeddingRequest {
  if (typeof body === 'object' && body !== null) for (const name of Object.keys(body)) if (!OPENAI_FIELDS.has(name)) throw unknownField(name, OPENAI_FIELDS);
  const fields = parseFields(openAiSchema, body);
  return {
    task: { model: fields.model, inputs: inputsOf(fields.input), truncate: false },
    dimensions: fields.dimensions ?? null,
    base64: fields.encoding_format === 'base64',
  };
}

/** The body of `POST /api/embed`. */
export function parseOllamaEmbed(body: unknown): EmbeddingRequest {
  const { input, truncate, ...fields } = parseFields(embedSchema, body);
  const texts = typeof input === 'string' ? [input] : input;
  return { task: { model: untagged(fields.model), inputs: texts.map(textPrompt), truncate, ...stayOf(fields) }, dimensions: fields.dimensions ?? null, base64: false };
}

/** The body of `POST /api/embeddings`, which is older. */
export function parseOllamaEmbeddings(body: unknown): EmbeddingRequest {
  const fields = parseFields(embeddingsSchema, body);
  return { task: { model: untagged(fields.model), inputs: [textPrompt(fields.prompt)], truncate: true, ...stayOf(fields) }, dimensions: null, base64: false };
}

function stayOf({ keep_alive: stay }: { readonly keep_alive?: z.output<typeof keepAliveField> | null | undefined }): Pick<EmbeddingTask, 'keepAliveMs'> {
  return stay === undefined || stay === null ? {} : { keepAliveMs: stay.ms };
}

/** Ollama's clients add a tag; names here have none of this sort. */
function untagged(name: string): string {
  return name.replace(/:latest$/, '');
}

function textPrompt(text: string): Prompt {
  return { kind: 'text', text };
}

/** A text, a list of texts, a list of token ids, or a list of such lists. */
function inputsOf(input: unknown): readonly Prompt[] {
  if (input === undefined) throw new ApiError({ status: 400, code: 'missing_required_parameter', param: 'input', message: '\'input\' is missing.' });
  const list = !Array.isArray(input) || (input.length > 0 && input.every(isTokenId)) ? [input] : input;
  if (list.length === 0 || list.length > INPUTS_MAX) throw wrongInput(`must have 1 to ${INPUTS_MAX} texts`);
  return list.map((one: unknown): Prompt => {
    if (typeof one === 'string' && one !== '') return textPrompt(one);
    if (Array.isArray(one) && one.length > 0 && one.every(isTokenId)) return { kind: 'tokens', tokens: one };
    throw wrongInput('must be a text, a list of token ids, or a list of such; none may be empty');
  });
}

function wrongInput(what: string): ApiError {
  return new ApiError({ status: 400, code: 'invalid_value', param: 'input', message: `'input' ${what}.` });
}
