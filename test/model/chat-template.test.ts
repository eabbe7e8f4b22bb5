import { describe, expect, it } from 'vitest';
import { chatTemplate } from '../../src/model/chat-template.js';
import type { ChatInput } from '../../src/model/chat-template.js';
import { parseGgufHeader, readGgufHeader } from '../../src/model/gguf-reader.js';
import { text, uint32 } from '../../src/model/gguf-values.js';
import { smallFile, smallMetadata } from '../support/small-gguf.js';

function render(template: string | null, chat: ChatInput): string {
  const metadata = smallMetadata();
  metadata.set('tokenizer.ggml.bos_token_id', uint32(3));
  if (template !== null) metadata.set('tokenizer.chat_template', text(template));
  return chatTemplate(parseGgufHeader([smallFile(metadata)], 1e9)).render(chat);
}

const HELLO: ChatInput = { messages: [{ role: 'user', content: 'Hello' }] };
const CHATML = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`;

describe('chat templates', () => {
  it('open the assistant\'s answer', () => {
    expect(render(CHATML, HELLO)).toBe('<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n');
  });

  it('know the special tokens', () => {
    expect(render('{{ bos_token }}{{ eos_token }}{{ messages[0].content }}', HELLO)).toBe('<s>Hello');
  });

  it('join content given in parts', () => {
    expect(render(CHATML, { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hel' }, { type: 'text', text: 'lo' }] }] })).toContain('user\nHello<|');
  });

  it('pass tools through', () => {
    const template = '{% if tools %}{{ tools[0].function.name }}{% else %}none{% endif %}';
    expect(render(template, { ...HELLO, tools: [{ type: 'function', function: { name: 'clock' } }] })).toBe('clock');
    expect(render(template, HELLO)).toBe('none');
  });

  it('hear further variables, and earlier thoughts by both of their names', () => {
    const template = '{{ messages[0].reasoning_content }}/{{ messages[0].thinking }}{% if enable_thinking is false %} off{% endif %}';
    const messages = [{ role: 'assistant', content: 'x', reasoning_content: 'Hm' }];
    expect(render(template, { messages, variables: { enable_thinking: false, messages: [] } })).toBe('Hm/Hm off');
    expect(render(template, { messages })).toBe('Hm/Hm');
  });

  it('refuse with their own message', () => {
    const template = `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}`;
    expect(() => render(template, { messages: [{ role: 'system', content: 'x' }] })).toThrow(/refuses these messages: .*System role not supported/);
    expect(() => render(template, { messages: [{ role: 'system', content: 'x' }] })).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });

  it('print the date', () => {
    expect(render(`{{ strftime_now('%Y') }}`, HELLO)).toBe(String(new Date().getFullYear()));
  });

  it('that do not parse are a bad request that names the cause', () => {
    expect(() => render('{% for %}', HELLO)).toThrow(/cannot be read/);
  });

  it('that do not end are ended, and refused', () => {
    for (const endless of ['{% for i in range(1000000000) %}x{% endfor %}', '{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}']) {
      expect(() => render(endless, HELLO)).toThrow(/did not end within/);
    }
    expect(() => render('{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}', HELLO)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });

  it('fall back to a transcript', () => {
    expect(render(null, { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hello' }] })).toBe('system: Be brief.\nuser: Hello\nassistant:');
  });

  it('of the built-in model joins the contents', async () => {
    const template = chatTemplate(await readGgufHeader('models/kjv-q8_0.gguf'));
    expect(template.render({ messages: [{ role: 'user', content: 'In the beginning' }] })).toContain('In the beginning');
  });
});
