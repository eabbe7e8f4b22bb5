/** Whole grammars of answers that are JSON. Pure. */
import { GrammarBuilder } from './gbnf.js';
import { JsonRules } from './json-rules.js';
import { schemaRule } from './json-schema.js';

/** An answer that is any JSON object. */
export function objectGrammar(): string {
  const json = new JsonRules(new GrammarBuilder());
  return json.builder.text(json.object);
}

/** An answer that follows a schema. Throws `bad_request`, naming what in it cannot be followed. */
export function schemaGrammar(schema: unknown): string {
  const json = new JsonRules(new GrammarBuilder());
  return json.builder.text(schemaRule(json, schema, { unsupported: 'refuse' }));
}
