/**
 * What a coding agent sends, by its shape: a long system prompt, many tools whose schemas have everything that such schemas
 * have, a history of calls and results, a stream with usage. Its words are ours.
 */
import type OpenAI from 'openai';

const RULES = [
  'You are a careful programmer who works in the terminal of the person that you help.',
  'Look before you change something: read a file before you edit it, and search before you say that a thing is not there.',
  'Keep changes small, and say what you did in a sentence or two; do not repeat the code that you wrote.',
  'Never run a command that removes files or rewrites history unless the person asked for exactly that.',
  'When a command fails, read its output to the end, find the cause, and mend that instead of the symptom.',
  'Use the tools for everything that touches the machine. Several independent calls may be made in one answer.',
  'Plan work of several steps with the list of tasks, and keep the list true while you work.',
];

const SYSTEM = [
  ...RULES,
  '',
  '# Environment',
  'Working directory: /home/user/project (a git repository on branch main, three files changed)',
  'Platform: linux; today: 2026-01-15; shell: bash',
  '',
  ...Array.from({ length: 4 }, (_, index) => `## Convention ${index + 1}\n${RULES[index % RULES.length]} In directory packages/p${index} the tests are run with "npm test -w p${index}".`),
].join('\n');

function tool(name: string, description: string, properties: Record<string, unknown>, required: readonly string[]): OpenAI.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties, required, additionalProperties: false } } };
}

const path = { type: 'string', description: 'Absolute path of the file.' };

const TOOLS: readonly OpenAI.ChatCompletionTool[] = [
  tool('read', 'Reads a file, with line numbers. Long files are read in parts.', { file_path: path, offset: { type: 'integer', minimum: 0, description: 'First line.' }, limit: { type: 'integer', exclusiveMinimum: 0, description: 'Lines.' } }, ['file_path']),
  tool('write', 'Writes a file whole.', { file_path: path, content: { type: 'string' } }, ['file_path', 'content']),
  tool('edit', 'Replaces a text in a file.', { file_path: path, old_string: { type: 'string' }, new_string: { type: 'string' }, replace_all: { type: 'boolean', default: false } }, ['file_path', 'old_string', 'new_string']),
  tool('multi_edit', 'Several replacements in one file, all or none.', {
    file_path: path,
    edits: { type: 'array', minItems: 1, items: { type: 'object', properties: { old_string: { type: 'string', minLength: 1 }, new_string: { type: 'string' }, replace_all: { type: 'boolean' } }, required: ['old_string', 'new_string'], additionalProperties: false } },
  }, ['file_path', 'edits']),
  tool('bash', 'Runs a command and waits for it.', { command: { type: 'string', description: 'The command.' }, timeout: { type: 'number', minimum: 0, maximum: 600_000 }, description: { type: 'string' }, env: { type: 'object', additionalProperties: { type: 'string' } } }, ['command']),
  tool('glob', 'Finds files by their names.', { pattern: { type: 'string' }, path: { type: 'string' } }, ['pattern']),
  tool('grep', 'Searches in files.', { pattern: { type: 'string' }, path: { type: 'string' }, output_mode: { type: 'string', enum: ['content', 'files_with_matches', 'count'] }, '-A': { type: 'integer' }, '-i': { type: 'boolean' }, glob: { type: 'string' } }, ['pattern']),
  tool('web_fetch', 'Reads a page.', { url: { type: 'string', format: 'uri' }, prompt: { type: 'string' } }, ['url', 'prompt']),
  tool('task', 'Lets another agent do a part.', { description: { type: 'string', maxLength: 60 }, prompt: { type: 'string' }, subagent_type: { anyOf: [{ const: 'search' }, { const: 'review' }, { type: 'null' }] } }, ['description', 'prompt']),
  tool('todo_write', 'The list of tasks, whole.', {
    todos: {
      type: 'array',
      maxItems: 2,
      items: {
        type: 'object',
        properties: { content: { type: 'string', minLength: 1, maxLength: 30 }, status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] }, id: { type: 'string', pattern: '^[0-9]{1,3}$' } },
        required: ['content', 'status', 'id'],
        additionalProperties: false,
      },
    },
  }, ['todos']),
  tool('mcp__tracker__create_issue', 'Files an issue.', {
    title: { type: 'string' }, labels: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    // Says more than a grammar can follow: the call's shape is what counts.
    fields: { type: 'object', propertyNames: { pattern: '^[a-z]+$' }, additionalProperties: { type: 'string' } },
  }, ['title']),
];

function call(id: string, name: string, input: object): OpenAI.ChatCompletionMessageToolCall {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

export const AGENT_REQUEST = {
  messages: [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: [{ type: 'text', text: '<context>package.json is open</context>' }, { type: 'text', text: 'The build fails. Mend it, please.' }] },
    { role: 'assistant', content: 'I look at the build first.', tool_calls: [call('call_01', 'bash', { command: 'npm run build', timeout: 120_000 }), call('call_02', 'read', { file_path: '/home/user/project/package.json' })] },
    { role: 'tool', tool_call_id: 'call_01', content: 'src/index.ts(3,7): error TS2322: Type "string" is not assignable to type "number".\nexit code 2' },
    { role: 'tool', tool_call_id: 'call_02', content: '     1\t{\n     2\t  "name": "project",\n     3\t  "scripts": { "build": "tsc -p ." }\n     4\t}' },
    { role: 'assistant', content: null, tool_calls: [call('call_03', 'edit', { file_path: '/home/user/project/src/index.ts', old_string: 'const port: number = "80";', new_string: 'const port = 80;' })] },
    { role: 'tool', tool_call_id: 'call_03', content: 'Replaced one occurrence.' },
    { role: 'user', content: 'Good. Plan what is left.' },
  ] satisfies OpenAI.ChatCompletionMessageParam[],
  tools: [...TOOLS],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  stream: true,
  stream_options: { include_usage: true },
  user: 'session-1',
  metadata: { source: 'cli' },
  store: false,
} satisfies Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'model'>;
