/**
 * Grammars of tool calls: a call that must be made, and one that has begun.
 *
 * A forced answer is calls and nothing else, in the model's own style, with arguments after the tool's schema. Where the
 * model decides, the answer is free until it opens a call. Pure.
 */
import { RingError } from '../errors.js';
import { GrammarBuilder, literal, oneOf } from '../grammar/gbnf.js';
import { JsonRules } from '../grammar/json-rules.js';
import { schemaRule } from '../grammar/json-schema.js';
import type { Grammar } from '../step-types.js';
import { CALL_CLOSE, CALL_OPEN, LIST_OPEN } from './tool-use.js';
import type { ToolCalling, ToolDefinition, ToolStyle } from './tool-use.js';

/** Most calls in one answer. */
const MAX_CALLS = 16;

/** Null = the answer stays free. Throws `bad_request` for a schema that cannot be followed and must be, or an unknown name. */
export function toolGrammar(tools: readonly ToolDefinition[], calling: ToolCalling, style: ToolStyle): Grammar | null {
  try {
    return grammarOf(tools, calling, style);
  } catch (error) {
    // Nobody asked for a call that follows its tool: too much for a grammar is then no fault of the request.
    if (error instanceof RingError && calling.choice === 'auto' && !tools.some(({ strict }) => strict)) return null;
    throw error;
  }
}

function grammarOf(tools: readonly ToolDefinition[], calling: ToolCalling, style: ToolStyle): Grammar | null {
  const { choice } = calling;
  const isForced = choice !== 'auto';
  const callable = typeof choice === 'object' ? tools.filter(({ name }) => name === choice.name) : tools;
  if (typeof choice === 'object' && callable.length === 0) throw new RingError('bad_request', `tool_choice names the tool ${JSON.stringify(choice.name.slice(0, 100))}, which is not in tools`);
  if (callable.length === 0 || (!isForced && style === 'bare')) return null;
  const json = new JsonRules(new GrammarBuilder());
  const { builder } = json;
  const call = builder.rule('call', oneOf(callable.map((tool) => callRule(json, tool, style))));
  const more = calling.parallel ? MAX_CALLS - 1 : 0;
  const blank = builder.rule('blank', '[ \\n]{0,2}');
  switch (style) {
    case 'tagged': {
      const rest = `${blank} ${call} ${blank} ${literal(CALL_CLOSE)}`;
      const further = builder.repeat(builder.rule('further-call', `${blank} ${literal(CALL_OPEN)} ${rest}`), 0, more);
      const text = builder.text(`${isForced ? literal(CALL_OPEN) : ''} ${rest} ${further}`.trim());
      return isForced ? { text } : { text, after: [CALL_OPEN] };
    }
    case 'listed': {
      const list = `${blank} "[" ${json.space} ${json.list(call, 1, 1 + more)} "]"`;
      // Which of its styles a Mistral model has is not known while it decides.
      return isForced ? { text: builder.text(`${literal(LIST_OPEN)} ${list}`) } : null;
    }
    case 'bare':
      return { text: builder.text(call) };
  }
}

function callRule(json: JsonRules, tool: ToolDefinition, style: ToolStyle): string {
  const key = style === 'bare' ? 'parameters' : 'arguments';
  const parameters = parametersRule(json, tool);
  const { space } = json;
  return json.builder.rule(`call-${tool.name}`, `"{" ${space} "\\"name\\":" ${space} ${json.fixed(tool.name)} "," ${space} "\\"${key}\\":" ${space} ${parameters} ${space} "}"`);
}

function parametersRule(json: JsonRules, { name, parameters, strict }: ToolDefinition): string {
  // Arguments are an object, whatever else a schema without type may allow.
  const schema = parameters['type'] === undefined ? { ...parameters, type: 'object' } : parameters;
  try {
    return schemaRule(json, schema, { unsupported: strict ? 'refuse' : 'widen' });
  } catch (error) {
    if (!(error instanceof RingError)) throw error;
    if (!strict) return json.object;
    throw new RingError('bad_request', `the parameters of tool ${JSON.stringify(name.slice(0, 100))} cannot be followed strictly: ${error.message}`, {}, { cause: error });
  }
}
