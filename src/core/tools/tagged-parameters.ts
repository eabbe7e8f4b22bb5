/**
 * Calls whose arguments are tagged texts, as Qwen3-Coder writes them:
 *
 *     <function=name> <parameter=key> value </parameter> … </function>
 *
 * A value is text where the tool's schema says that it is, and JSON elsewhere. Pure.
 */
import type { ToolDefinition } from './tool-use.js';

const PARAMETER = /<parameter=([^>\n]+)>([^]*?)(?:<\/parameter>|(?=<parameter=)|$)/g;

/** From what stands behind `<function=` up to its end tag. Null when it is no call of one of the tools. */
export function readTaggedParameters(text: string, tools: readonly ToolDefinition[]): { readonly name: string; readonly text: string } | null {
  const head = /^\s*([\w.-]+)\s*>/.exec(text);
  const tool = tools.find(({ name }) => name === head?.[1]);
  if (head === null || tool === undefined) return null;
  const values = [...text.slice(head[0].length).matchAll(PARAMETER)].map(([, key = '', value = '']) => [key.trim(), valueOf(tool, key.trim(), value)] as const);
  return { name: tool.name, text: JSON.stringify(Object.fromEntries(values)) };
}

function valueOf({ parameters }: ToolDefinition, key: string, raw: string): unknown {
  // One line break at either side is of the tags.
  const text = raw.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
  const properties = parameters['properties'];
  const schema: unknown = typeof properties === 'object' && properties !== null ? Reflect.get(properties, key) : undefined;
  const type: unknown = typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : undefined;
  if (type === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
