/**
 * What a coding agent of Anthropic's API sends, by its shape: a system prompt in blocks, cache marks everywhere, tools with marks of
 * their own, thoughts with signatures, calls with results of several kinds, a stream. Its words are ours.
 */
import type Anthropic from '@anthropic-ai/sdk';

const CACHED = { type: 'ephemeral' } as const;

const RULES = [
  'You help a person with the code of their project, in a terminal.',
  'Read before you write. Search before you say that a thing is not there. Keep changes small.',
  'Use the tools for everything that touches the machine, several at once where they do not depend on each other.',
  'When a command fails, find the cause in its output before you try again.',
];

function tool(name: string, description: string, properties: Record<string, unknown>, required: readonly string[]): Anthropic.Tool {
  return { name, description, input_schema: { type: 'object', properties, required: [...required], additionalProperties: false, $schema: 'http://json-schema.org/draft-07/schema#' } };
}

const path = { type: 'string', description: 'Absolute path of the file.' };

const TOOLS: readonly Anthropic.Tool[] = [
  tool('Read', 'Reads a file, with line numbers.', { file_path: path, offset: { type: 'integer', minimum: 0 }, limit: { type: 'integer', exclusiveMinimum: 0 } }, ['file_path']),
  tool('Edit', 'Replaces a text in a file.', { file_path: path, old_string: { type: 'string' }, new_string: { type: 'string' }, replace_all: { type: 'boolean', default: false } }, ['file_path', 'old_string', 'new_string']),
  tool('Bash', 'Runs a command and waits for it.', { command: { type: 'string' }, timeout: { type: 'number' }, run_in_background: { type: 'boolean' } }, ['command']),
  tool('Grep', 'Searches in files.', { pattern: { type: 'string' }, path: { type: 'string' }, '-n': { type: 'boolean' }, output_mode: { type: 'string', enum: ['content', 'files_with_matches', 'count'] } }, ['pattern']),
  tool('TodoWrite', 'The list of tasks, whole.', {
    todos: { type: 'array', items: { type: 'object', properties: { content: { type: 'string', minLength: 1 }, status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] } }, required: ['content', 'status'], additionalProperties: false } },
  }, ['todos']),
  { ...tool('WebFetch', 'Reads a page.', { url: { type: 'string', format: 'uri' }, prompt: { type: 'string' } }, ['url', 'prompt']), cache_control: CACHED },
];

/** As it goes over the wire, but for the model. */
export const ANTHROPIC_AGENT_REQUEST: Omit<Anthropic.MessageCreateParamsStreaming, 'model'> = {
  max_tokens: 32_000,
  stream: true,
  metadata: { user_id: 'user_0123_account__session_4567' },
  system: [
    { type: 'text', text: RULES[0] ?? '', cache_control: CACHED },
    { type: 'text', text: [...RULES, '# Environment', 'Working directory: /home/user/project (git, branch main)', 'Platform: linux'].join('\n'), cache_control: CACHED },
  ],
  thinking: { type: 'enabled', budget_tokens: 31_999 },
  output_config: { effort: 'medium' },
  tools: [...TOOLS],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: '<reminder>The list of tasks is empty.</reminder>' },
        { type: 'text', text: 'The tests of packages/p1 fail. Why?' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'First I run them, and look for the word at once.', signature: 'c2lnbmF0dXJl' },
        { type: 'text', text: 'I run the tests and search.' },
        { type: 'tool_use', id: 'toolu_01A', name: 'Bash', input: { command: 'npm test -w p1', timeout: 60_000 } },
        { type: 'tool_use', id: 'toolu_01B', name: 'Grep', input: { pattern: 'parseDate', '-n': true, output_mode: 'content' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_01A', content: 'Exit code 1\nAssertionError: expected 3 to be 4', is_error: true },
        { type: 'tool_result', tool_use_id: 'toolu_01B', content: [{ type: 'text', text: 'src/date.ts:12: export function parseDate(text) {' }], cache_control: CACHED },
      ],
    },
    { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'b3BhcXVl' }, { type: 'tool_use', id: 'toolu_01C', name: 'Read', input: { file_path: '/home/user/project/src/date.ts' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01C', content: '     1\texport function parseDate(text) {', cache_control: CACHED }] },
  ],
};
