/**
 * Tools in OpenAI's requests: definitions, the choice among them, earlier calls and their results. Anthropic's and
 * Ollama's requests are translated to these. It must not know HTTP.
 */
import { z } from 'zod';
import type { ToolCalling, ToolChoice, ToolDefinition } from '../core/tools/tool-use.js';
import { ApiError } from './api-error.js';

export const TOOLS_MAX = 256;
const TOOL_NAME_LENGTH_MAX = 128;
const TOOL_DESCRIPTION_LENGTH_MAX = 64 * 1024;
const CALLS_MAX = 1_024;
const CALL_ID_LENGTH_MAX = 256;

export const toolName = z.string().regex(/^[a-zA-Z0-9_.-]+$/, 'must be letters, digits, _, - and .').max(TOOL_NAME_LENGTH_MAX);
export const toolDescription = z.string().max(TOOL_DESCRIPTION_LENGTH_MAX).nullish();
export const toolParameters = z.record(z.string(), z.unknown());
export const callId = z.string().max(CALL_ID_LENGTH_MAX);

export const toolsField = z.array(z.looseObject({
  type: z.literal('function', 'must be "function": tools that the provider runs are not there'),
  function: z.looseObject({ name: toolName, description: toolDescription, parameters: toolParameters.nullish(), strict: z.boolean().nullish() }),
})).max(TOOLS_MAX);

export const toolChoiceField = z.union([
  z.enum(['none', 'auto', 'required']),
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: toolName }) }),
], 'must be "none", "auto", "required" or {"type": "function", "function": {"name": …}}');

/** Of an earlier answer. */
export const toolCallsField = z.array(z.looseObject({
  id: callId.nullish(),
  type: z.literal('function').nullish(),
  function: z.looseObject({ name: z.string().max(TOOL_NAME_LENGTH_MAX), arguments: z.string() }),
})).max(CALLS_MAX);

export interface ToolFields {
  readonly tools?: z.output<typeof toolsField> | undefined;
  readonly tool_choice?: z.output<typeof toolChoiceField> | undefined;
  readonly parallel_tool_calls?: boolean | undefined;
}

export interface RequestedTools {
  readonly tools: readonly ToolDefinition[];
  readonly calling: ToolCalling;
}

/** Null = the model may call none, and is not told of any. Throws a 400. */
export function requestedTools(fields: ToolFields): RequestedTools | null {
  const tools = (fields.tools ?? []).map(({ function: { name, description, parameters, strict } }): ToolDefinition => ({
    name,
    description: description ?? '',
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict ?? false,
  }));
  const given = fields.tool_choice ?? 'auto';
  if (tools.length === 0 && given !== 'auto' && given !== 'none') throw problem('tool_choice', 'asks for a call, but there are no tools');
  const twice = tools.find(({ name }, index) => tools.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw problem('tools', `has two tools named ${JSON.stringify(twice.name)}`);
  if (tools.length === 0 || given === 'none') return null;
  const choice: ToolChoice = typeof given === 'string' ? given : { name: given.function.name };
  if (typeof choice === 'object' && !tools.some(({ name }) => name === choice.name)) throw problem('tool_choice', `names the tool ${JSON.stringify(choice.name)}, which is not in 'tools'`);
  return { tools, calling: { choice, parallel: fields.parallel_tool_calls ?? true } };
}

/** Earlier calls as templates know them; absent when there are none. */
export function earlierCalls(calls: z.output<typeof toolCallsField> | null | undefined): { readonly tool_calls?: readonly object[] } {
  if (calls === null || calls === undefined || calls.length === 0) return {};
  return { tool_calls: calls.map(({ id, function: { name, arguments: text } }) => ({ id: id ?? '', type: 'function', function: { name, arguments: text } })) };
}

function problem(param: string, what: string): ApiError {
  return new ApiError({ status: 400, code: 'invalid_value', param, message: `'${param}' ${what}.` });
}
