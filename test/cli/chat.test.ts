/** The course of a chat: what each kind of line does, what the model is told, and what a stopped or failed answer leaves. */
import { describe, expect, it } from 'vitest';
import type { Answer, AnswerPart, ChatMessage } from '../../src/cli/answer-stream.js';
import { Chat } from '../../src/cli/chat.js';
import type { ChatPorts, ChatStart } from '../../src/cli/chat.js';
import { RingError } from '../../src/core/errors.js';

type Asked = Parameters<ChatPorts['answer']>[0];

/** Types the lines one after the other; answers are `echo: <question>` unless told otherwise. */
async function chat(lines: readonly string[], options: Partial<ChatStart> & { readonly answer?: (asked: Asked, show: (part: AnswerPart) => void, stop: () => void) => Promise<void> } = {}) {
  const waiting = [...lines];
  const said: string[] = [];
  const shown: string[] = [];
  const asked: Asked[] = [];
  let running = new AbortController();
  await new Chat({ model: 'one', settings: {}, ...options }, {
    read: async () => waiting.shift() ?? null,
    say: (text) => void said.push(text),
    show: (part) => void shown.push(part.text),
    ended: () => void shown.push('|'),
    interruption: () => (running = new AbortController()).signal,
    load: async (model) => {
      if (model === 'unknown') throw new RingError('unknown_model', 'no node has it');
      return `${model}-full`;
    },
    models: async () => ['one', 'two'],
    answer: async (request, show, signal): Promise<Answer> => {
      asked.push(request);
      if (options.answer === undefined) show({ kind: 'text', text: `echo: ${request.messages.at(-1)?.content ?? ''}` });
      else await options.answer(request, show, () => running.abort());
      signal.throwIfAborted();
      return { id: 'chatcmpl-1', text: '', tokens: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }, timings: { cache_n: 5, prompt_ms: 12.3, predicted_per_second: 45.67 } };
    },
  }).run();
  return { said: said.join(''), shown: shown.join(''), asked, left: waiting };
}

const contents = (messages: readonly ChatMessage[] | undefined): string[] => (messages ?? []).map(({ role, content }) => `${role}: ${content}`);

describe('a chat', () => {
  it('tells the model the whole conversation, and forgets it on /clear', async () => {
    const { asked, shown } = await chat(['Hello', '', 'Again', '/clear', 'Anew']);
    expect(asked.map(({ messages }) => contents(messages))).toEqual([
      ['user: Hello'],
      ['user: Hello', 'assistant: echo: Hello', 'user: Again'],
      ['user: Anew'],
    ]);
    expect(shown).toBe('echo: Hello|echo: Again|echo: Anew|');
  });

  it('leaves at /bye, and reads nothing behind it', async () => {
    const { left, asked } = await chat(['/bye', 'unheard']);
    expect(left).toEqual(['unheard']);
    expect(asked).toEqual([]);
  });

  it('goes on with another model, which has the conversation so far; a model that cannot be had changes nothing', async () => {
    const { asked, said } = await chat(['Hello', '/model', '/model two', 'You?', '/model unknown', 'Still?']);
    expect(said).toContain('* one\n  two\n');
    expect(said).toContain('two-full answers now, with the conversation so far');
    expect(said).toContain('no node has it');
    expect(asked.map(({ model }) => model)).toEqual(['one', 'two-full', 'two-full']);
  });

  it('tells the model a system text first, from when it is set until it is taken back', async () => {
    const { asked, said } = await chat(['A', '/system Be brief.', 'B', '/system', '/system -', 'C'], { system: 'Be kind.' });
    expect(asked.map(({ messages }) => contents(messages)[0])).toEqual(['system: Be kind.', 'system: Be brief.', 'user: A']);
    expect(said).toContain('Be brief.\n');
  });

  it('sets what an answer is drawn with, within its bounds', async () => {
    const { asked, said } = await chat(['/set temperature 0.5', '/set seed 9', '/set max_tokens 4', 'A', '/set temperature 3', '/set seed -', '/set colour red', 'B']);
    expect(asked.map(({ settings }) => settings)).toEqual([{ temperature: 0.5, seed: 9, maxTokens: 4 }, { temperature: 0.5, maxTokens: 4 }]);
    expect(said).toContain('temperature is a number of at least 0 and at most 2');
    expect(said).toContain('now: temperature 0.5, seed -, max_tokens 4');
  });

  it('keeps what came of a stopped answer, and goes on', async () => {
    const { asked, shown } = await chat(['Tell me', 'Go on'], {
      answer: async ({ messages }, show, stop) => {
        show({ kind: 'text', text: 'Once' });
        if (messages.length === 1) stop();
      },
    });
    expect(contents(asked[1]?.messages)).toEqual(['user: Tell me', 'assistant: Once', 'user: Go on']);
    expect(shown).toBe('Once|Once|');
  });

  it('asks as if for the first time when an answer was stopped before it began', async () => {
    let times = 0;
    const { asked } = await chat(['Tell me', 'Tell me'], {
      answer: async (_asked, show, stop) => {
        times += 1;
        if (times === 1) stop();
        else show({ kind: 'text', text: 'Once' });
      },
    });
    expect(asked.map(({ messages }) => messages.length)).toEqual([1, 1]);
  });

  it('says what went wrong with an answer and goes on without it; ends when the agent is gone', async () => {
    const failing = (code: 'context_too_long' | 'peer_unreachable') => chat(['A', 'B'], { answer: async () => Promise.reject(new RingError(code, `it is ${code}`)) });
    const { said, asked } = await failing('context_too_long');
    expect(said).toBe('it is context_too_long\nit is context_too_long\n');
    expect(contents(asked[1]?.messages)).toEqual(['user: B']);
    await expect(failing('peer_unreachable')).rejects.toThrow('it is peer_unreachable');
  });

  it('says how to go on when the conversation has outgrown the context', async () => {
    const { said } = await chat(['A', 'B'], {
      answer: async ({ messages }, show) => {
        if (messages.length > 1) throw new RingError('context_too_long', 'it is too long');
        show({ kind: 'text', text: 'a' });
      },
    });
    expect(said).toBe('it is too long\nthe conversation so far counts too: /clear forgets it\n');
  });

  it('shows thoughts, and does not tell them to the model again', async () => {
    const { asked, shown } = await chat(['A', 'B'], {
      answer: async (_asked, show) => {
        show({ kind: 'thought', text: 'hm' });
        show({ kind: 'text', text: 'yes' });
      },
    });
    expect(shown).toBe('hmyes|hmyes|');
    expect(contents(asked[1]?.messages)).toEqual(['user: A', 'assistant: yes', 'user: B']);
  });

  it('shows figures of the last answer, and what can be typed', async () => {
    const { said } = await chat(['/stats', 'A', '/stats', '/help', '/nonsense']);
    expect(said).toContain('no answer was completed yet');
    expect(said).toMatch(/prompt +7 tokens, 5 of them known from before\n +answer +3 tokens\n +first token after +12 ms\n +then +45\.7 tokens per second\n +conversation +2 messages/);
    expect(said).toContain('/system [TEXT]');
    expect(said).toContain('there is no /nonsense');
  });
});
