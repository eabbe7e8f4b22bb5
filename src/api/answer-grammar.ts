/**
 * What requests say about the form of an answer, as a grammar: OpenAI's `response_format`, llama-server's `grammar` and
 * `json_schema`. A schema that cannot be followed to the letter is refused with the keyword at fault. It must not know HTTP.
 */
import { z } from 'zod';
import { RingError } from '../core/errors.js';
import { objectGrammar, schemaGrammar } from '../core/grammar/json-grammar.js';
import { MAX_GRAMMAR_CHARACTERS } from '../core/step-types.js';
import type { Grammar } from '../core/step-types.js';
import { ApiError } from './api-error.js';

const schema = z.union([z.record(z.string(), z.unknown()), z.boolean()], 'must be a JSON schema');

export const responseFormatField = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  /** llama-server takes a schema here too. */
  z.strictObject({ type: z.literal('json_object'), schema: schema.nullish() }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({ name: z.string().nullish(), description: z.string().nullish(), schema, strict: z.boolean().nullish() }),
  }),
], 'must be {"type": "text"}, {"type": "json_object"} or {"type": "json_schema", "json_schema": {…}}');

export const grammarField = z.string().max(MAX_GRAMMAR_CHARACTERS).refine((text) => !text.includes('\0'), 'has a zero character');
export const jsonSchemaField = schema;

export interface GrammarFields {
  readonly response_format?: z.output<typeof responseFormatField> | undefined;
  readonly grammar?: string | undefined;
  readonly json_schema?: z.output<typeof jsonSchemaField> | undefined;
}

/** Null = the answer is free. Throws a 400. */
export function requestedGrammar({ response_format: format, grammar, json_schema: given }: GrammarFields): Grammar | null {
  const asked: Grammar[] = [];
  if (grammar !== undefined && grammar !== '') asked.push({ text: grammar });
  if (given !== undefined) asked.push({ text: followed('json_schema', given) });
  if (format?.type === 'json_schema') asked.push({ text: followed('response_format.json_schema.schema', format.json_schema.schema) });
  if (format?.type === 'json_object') asked.push({ text: format.schema === null || format.schema === undefined ? objectGrammar() : followed('response_format.schema', format.schema) });
  if (asked.length > 1) throw problem('grammar', 'is one of several fields that say what the answer must look like: send one of grammar, json_schema and response_format');
  return asked[0] ?? null;
}

function followed(param: string, given: unknown): string {
  try {
    return schemaGrammar(given);
  } catch (error) {
    if (!(error instanceof RingError)) throw error;
    throw new ApiError({ status: 400, code: 'unsupported_parameter', param, message: `'${param}' cannot be followed: ${error.message}.` });
  }
}

function problem(param: string, what: string): ApiError {
  return new ApiError({ status: 400, code: 'invalid_value', param, message: `'${param}' ${what}.` });
}
