/** Tools that a model may call, as requests describe them, and the texts in which models write calls. Pure data. */

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A JSON schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** A forced call follows every keyword of the schema, or the request is refused; else only those that can be followed. */
  readonly strict: boolean;
}

/** `auto`: the model decides. `required`: it must call one. Or the one that it must call. */
export type ToolChoice = 'auto' | 'required' | { readonly name: string };

export interface ToolCalling {
  readonly choice: ToolChoice;
  /** Several calls in one answer. */
  readonly parallel: boolean;
}

/** How a model writes a call, as its chat template has taught it. */
export type ToolStyle =
  /** `<tool_call>{"name": …, "arguments": …}</tool_call>`: Hermes, Qwen, and models that are told so in words. */
  | 'tagged'
  /** `{"name": …, "parameters": …}` as the whole answer: Llama 3. */
  | 'bare'
  /** `[TOOL_CALLS][{"name": …, "arguments": …}]`: Mistral. */
  | 'listed';

export const CALL_OPEN = '<tool_call>';
export const CALL_CLOSE = '</tool_call>';
export const LIST_OPEN = '[TOOL_CALLS]';
export const ARGUMENTS_MARK = '[ARGS]';
export const PYTHON_TAG = '<|python_tag|>';
export const FUNCTION_OPEN = '<function=';
export const FUNCTION_CLOSE = '</function>';
export const DEEPSEEK_OPEN = '<｜tool▁calls▁begin｜>';
export const DEEPSEEK_CLOSE = '<｜tool▁calls▁end｜>';
export const DEEPSEEK_CALL_OPEN = '<｜tool▁call▁begin｜>';
export const DEEPSEEK_CALL_CLOSE = '<｜tool▁call▁end｜>';
export const DEEPSEEK_SEPARATOR = '<｜tool▁sep｜>';

/** A vocabulary may have them as control tokens, which are no text otherwise. */
export const TOOL_MARK_TEXTS: ReadonlySet<string> = new Set([
  CALL_OPEN, CALL_CLOSE, LIST_OPEN, ARGUMENTS_MARK, '[CALL_ID]', PYTHON_TAG,
  DEEPSEEK_OPEN, DEEPSEEK_CLOSE, DEEPSEEK_CALL_OPEN, DEEPSEEK_CALL_CLOSE, DEEPSEEK_SEPARATOR,
]);

/** From a prompt that describes tools: its own words show the style. */
export function toolStyleOf(prompt: string): ToolStyle {
  if (prompt.includes('[AVAILABLE_TOOLS]') || prompt.includes(LIST_OPEN)) return 'listed';
  if (prompt.includes(CALL_OPEN)) return 'tagged';
  return prompt.includes('<|start_header_id|>') ? 'bare' : 'tagged';
}
