/** Tools in chats, with templates that know them in their own ways and with such that know nothing. */
import { Template } from '@huggingface/jinja';
import { describe, expect, it } from 'vitest';
import type { ChatInput } from '../../src/model/chat-template.js';
import { withToolSupport } from '../../src/model/chat-tools.js';

const WEATHER = { type: 'function', function: { name: 'get_weather', description: 'Weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } } };
const CHAT: ChatInput = {
  tools: [WEATHER],
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Paris and Rome?' },
    { role: 'assistant', content: null, tool_calls: [
      { id: 'call_a', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Paris"}' } },
      { id: 'call_b', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Rome"}' } },
    ] },
    { role: 'tool', tool_call_id: 'call_a', content: 'rain' },
    { role: 'tool', tool_call_id: 'call_b', content: 'sun' },
  ],
};

function rendered(source: string, chat: ChatInput = CHAT): string {
  const template = new Template(source);
  return withToolSupport(({ tools = [], messages }) => template.render({ messages, ...(tools.length === 0 ? {} : { tools }), add_generation_prompt: true }))(chat);
}

/** The way of Qwen and Hermes: arguments as an object, results as the user's words. */
const TAGGED = `{%- if tools %}<|im_start|>system
{%- if messages[0].role == 'system' %} {{ messages[0].content }}{% endif %}
<tools>{%- for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools> within <tool_call></tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>{{ message.content }}</tool_response><|im_end|>
{% elif message.role == 'assistant' and message.tool_calls %}<|im_start|>assistant
{{ message.content }}{% for call in message.tool_calls %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}<|im_end|>
{% elif message.role != 'system' or not tools %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}{% endfor %}<|im_start|>assistant
`;
/** Arguments as a text, ids of nine characters, names with the results. */
const TEXTUAL = `{%- if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' and message.tool_calls %}[TOOL_CALLS]{% for call in message.tool_calls %}{% if call.id | length != 9 %}{{ raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}{% endif %}{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments + '' }}, "id": "{{ call.id }}"}{% endfor %}
{%- elif message.role == 'tool' %}[TOOL_RESULTS]{{ message.name }} {{ message.tool_call_id }} {{ message.content }}[/TOOL_RESULTS]
{%- else %}[{{ message.role }}]{{ message.content }}{% endif %}{% endfor %}`;
const IGNORANT = `{%- for message in messages %}{% if message.role not in ['system', 'user', 'assistant'] %}{{ raise_exception('unknown role') }}{% endif %}<{{ message.role }}>{{ message.content }}
{% endfor %}<assistant>`;
const WITHOUT_SYSTEM = `{%- for message in messages %}{% if message.role not in ['user', 'assistant'] %}{{ raise_exception('System role not supported') }}{% endif %}<{{ message.role }}>{{ message.content }}
{% endfor %}<assistant>`;

describe('tools in a chat', () => {
  it('are the template\'s business where it knows them', () => {
    const text = rendered(TAGGED);
    expect(text).toContain(JSON.stringify(WEATHER).replaceAll('":', '": ').replaceAll(',"', ', "'));
    expect(text).toContain('<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call><tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>');
    expect(text).toContain('<tool_response>rain</tool_response>');
    expect(text).not.toContain('# Tools');
  });

  it('have arguments and ids as the template wants them', () => {
    const text = rendered(TEXTUAL);
    expect(text).toMatch(/\[TOOL_CALLS\]\{"name": "get_weather", "arguments": \{"city": "Paris"\}, "id": "([a-z0-9]{9})"\}/);
    const [, first = ''] = /"id": "([a-z0-9]{9})"/.exec(text) ?? [];
    expect(text).toContain(`[TOOL_RESULTS]get_weather ${first} rain[/TOOL_RESULTS]`);
    expect(rendered(TEXTUAL)).toBe(text);
  });

  it('are put into words where it does not', () => {
    const text = rendered(IGNORANT);
    expect(text).toContain('<system>Be brief.\n\n# Tools');
    expect(text).toContain('"get_weather"');
    expect(text).toContain('<assistant><tool_call>\n{"name":"get_weather","arguments":{"city":"Paris"}}\n</tool_call>\n<tool_call>\n{"name":"get_weather","arguments":{"city":"Rome"}}\n</tool_call>');
    expect(text).toContain('<user><tool_response>\nrain\n</tool_response>\n<tool_response>\nsun\n</tool_response>');
    expect(text.match(/<user>/g)).toHaveLength(2);
  });

  it('are told to the user where there is no system message', () => {
    const chat: ChatInput = { tools: [WEATHER], messages: [{ role: 'user', content: 'Paris?' }] };
    expect(rendered(WITHOUT_SYSTEM, chat)).toMatch(/^<user># Tools[^]*\n\nParis\?\n<assistant>$/);
    expect(rendered(IGNORANT, chat)).toMatch(/^<system># Tools[^]*<user>Paris\?\n<assistant>$/);
  });

  it('change nothing in a chat without them', () => {
    const chat: ChatInput = { messages: [{ role: 'user', content: 'x' }, { role: 'assistant', content: 'y', tool_calls: [] }, { role: 'user', content: 'z' }] };
    expect(rendered(IGNORANT, chat)).toBe('<user>x\n<assistant>y\n<user>z\n<assistant>');
  });
});
