import { expect, it } from 'vitest';
import { marksOpenedBy, ReasoningSplit, templateThinks } from '../../src/core/reasoning.js';

/** All of it, however the text is cut: whole, by letters, and in threes. */
function split(text: string, prompt = ''): { readonly reasoning: string; readonly text: string } {
  const answers = [text.length || 1, 1, 3].map((size) => {
    const parts = { reasoning: '', text: '' };
    const reader = new ReasoningSplit(marksOpenedBy(prompt));
    for (let start = 0; start < text.length; start += size) {
      for (const piece of reader.push(text.slice(start, start + size))) parts[piece.kind] += piece.text;
    }
    for (const piece of reader.end()) parts[piece.kind] += piece.text;
    return parts;
  });
  expect(new Set(answers.map((parts) => JSON.stringify(parts))).size).toBe(1);
  return answers[0] ?? { reasoning: '', text: '' };
}

it.each([
  ['<think>\nLet me see.\n\nYes.\n</think>\n\nIt is 4.', 'Let me see.\n\nYes.', 'It is 4.'],
  ['[THINK]Hm[/THINK]Hello', 'Hm', 'Hello'],
  ['<seed:think>Hm</seed:think>Hello', 'Hm', 'Hello'],
  ['\n<think></think>\nHello', '', 'Hello'],
  ['<think>cut </thi', 'cut </thi', ''],
  ['<think>a < b </thin> c</think>d', 'a < b </thin> c', 'd'],
])('thoughts at the beginning: %j', (answer, reasoning, text) => {
  expect(split(answer)).toEqual({ reasoning, text });
});

it('a template that opens the thoughts, and one that closes them again', () => {
  expect(split('Hm.\n</think>\n\n4', '<|im_start|>assistant\n<think>\n')).toEqual({ reasoning: 'Hm.', text: '4' });
  expect(split('4', '<|im_start|>assistant\n<think>\n\n</think>\n\n')).toEqual({ reasoning: '', text: '4' });
});

it.each(['In the beginning', '  <thin ice', '<b>bold</b>', 'He said <think> twice </think>', ' ', ''])('leaves every other answer as it is: %j', (answer) => {
  expect(split(answer)).toEqual({ reasoning: '', text: answer });
});

it('channels of gpt-oss', () => {
  expect(split('<|channel|>analysis<|message|>Need 2+2.<|end|><|start|>assistant<|channel|>final<|message|>It is 4.')).toEqual({ reasoning: 'Need 2+2.', text: 'It is 4.' });
  expect(split('<|channel|>final<|message|>a <b> c')).toEqual({ reasoning: '', text: 'a <b> c' });
  expect(split('<|start|>assistant<|channel|>commentary<|message|>Now.<|end|><|channel|>analysis<|message|>Hm')).toEqual({ reasoning: 'Hm', text: 'Now.' });
});

it('says while it reads whether these are thoughts', () => {
  const reader = new ReasoningSplit(null);
  expect(reader.thinking).toBe(false);
  expect(reader.push('<think>one two ')).toEqual([{ kind: 'reasoning', text: 'one two' }]);
  expect(reader.thinking).toBe(true);
  expect(reader.push('three</think>four')).toEqual([{ kind: 'reasoning', text: ' three' }, { kind: 'text', text: 'four' }]);
  expect(reader.thinking).toBe(false);
});

it('knows a model that thinks by its template', () => {
  expect(templateThinks('{% if enable_thinking %}<think>{% endif %}')).toBe(true);
  expect(templateThinks('{{ messages[0].content }}')).toBe(false);
});
