/**
 * A chat's course: the conversation so far, and what a line that a person typed does to it. Input and output are given, so
 * that terminal, pipe and test are the same here.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import type { Answer, AnswerPart, AnswerSettings, ChatMessage } from './answer-stream.js';

export interface ChatPorts {
  /** The next line, or several between `"""`; null = the person leaves. */
  read(): Promise<string | null>;
  /** For the person, not part of an answer; with its line end. */
  say(text: string): void;
  show(part: AnswerPart): void;
  /** The answer is complete, or was stopped. */
  ended(): void;
  answer(request: { readonly model: string; readonly messages: readonly ChatMessage[]; readonly settings: AnswerSettings }, show: (part: AnswerPart) => void, signal: AbortSignal): Promise<Answer>;
  /** Makes the model answer here; returns its full name. */
  load(model: string): Promise<string>;
  models(): Promise<readonly string[]>;
  /** Aborts when the person stops the answer that runs now. */
  interruption(): AbortSignal;
}

const HELP = `  /model [NAME]        show the models, or go on with another one
  /system [TEXT]       show or set what the model is told first; /system - forgets it
  /set NAME VALUE      temperature, seed or max_tokens; VALUE - is the model's own
  /clear               forget the conversation
  /stats               figures of the last answer
  /bye                 leave (Ctrl-D too)
  """                  begins and ends a text of several lines
Ctrl-C stops an answer; the conversation goes on with what came.
`;

/** For completion by Tab. */
export const CHAT_COMMANDS = ['/help', '/model ', '/system ', '/set ', '/clear', '/stats', '/bye'] as const;

/** What `/set` takes, and which numbers. */
const SETTINGS = {
  temperature: { field: 'temperature', min: 0, max: 2, whole: false },
  seed: { field: 'seed', min: 0, max: 0xffff_ffff, whole: true },
  max_tokens: { field: 'maxTokens', min: 1, max: Number.MAX_SAFE_INTEGER, whole: true },
} as const;

export interface ChatStart {
  readonly model: string;
  readonly system?: string;
  readonly settings: AnswerSettings;
}

export class Chat {
  private model: string;
  private system: string;
  private settings: AnswerSettings;
  private messages: ChatMessage[] = [];
  private last: Answer | null = null;

  constructor(start: ChatStart, private readonly ports: ChatPorts) {
    this.model = start.model;
    this.system = start.system ?? '';
    this.settings = start.settings;
  }

  /** Until the person leaves. A request that fails is said and does not end it; a lost agent does. */
  async run(): Promise<void> {
    for (;;) {
      const line = await this.ports.read();
      if (line === null) return;
      const typed = line.trim();
      if (typed === '') continue;
      if (typed === '/bye' || typed === '/exit') return;
      try {
        await (typed.startsWith('/') ? this.command(typed) : this.ask(line));
      } catch (error) {
        if (error instanceof RingError && error.code === 'peer_unreachable') throw error;
        this.ports.say(`${errorMessageOf(error)}\n`);
        if (error instanceof RingError && error.code === 'context_too_long' && this.messages.length > 0) this.ports.say('the conversation so far counts too: /clear forgets it\n');
      }
    }
  }

  private async command(typed: string): Promise<void> {
    const [name = '', ...words] = typed.split(/\s+/);
    const rest = typed.slice(name.length).trim();
    switch (name) {
      case '/help': case '/?': return this.ports.say(HELP);
      case '/clear':
        this.messages = [];
        return this.ports.say('the conversation is forgotten\n');
      case '/model': return this.changeModel(rest);
      case '/system': return this.changeSystem(rest);
      case '/set': return this.set(words);
      case '/stats': return this.ports.say(this.stats());
      default: return this.ports.say(`there is no ${name}: /help shows what there is\n`);
    }
  }

  private async changeModel(name: string): Promise<void> {
    if (name === '') {
      const names = await this.ports.models();
      return this.ports.say(names.map((known) => `${known === this.model ? '* ' : '  '}${known}\n`).join(''));
    }
    this.model = await this.ports.load(name);
    this.ports.say(`${this.model} answers now${this.messages.length > 0 ? ', with the conversation so far (/clear forgets it)' : ''}\n`);
  }

  private changeSystem(text: string): void {
    if (text === '') return this.ports.say(this.system === '' ? 'the model is told nothing first\n' : `${this.system}\n`);
    this.system = text === '-' ? '' : text;
    this.ports.say(this.system === '' ? 'the model is told nothing first\n' : 'set; it counts from the next answer on\n');
  }

  private set([name = '', text = '', ...more]: readonly string[]): void {
    const setting = Object.hasOwn(SETTINGS, name) ? SETTINGS[name as keyof typeof SETTINGS] : null;
    if (setting === null || text === '' || more.length > 0) {
      const now = Object.entries(SETTINGS).map(([known, { field }]) => `${known} ${this.settings[field] ?? '-'}`).join(', ');
      return this.ports.say(`type /set NAME VALUE; now: ${now}\n`);
    }
    const { [setting.field]: _before, ...others } = this.settings;
    if (text === '-') {
      this.settings = others;
      return;
    }
    const value = Number(text);
    const fits = value >= setting.min && value <= setting.max && (!setting.whole || Number.isInteger(value));
    if (!fits) return this.ports.say(`${name} is a ${setting.whole ? 'whole ' : ''}number of at least ${setting.min}${setting.max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${setting.max}`}\n`);
    this.settings = { ...others, [setting.field]: value };
  }

  private async ask(text: string): Promise<void> {
    const question: ChatMessage = { role: 'user', content: text };
    const system: readonly ChatMessage[] = this.system === '' ? [] : [{ role: 'system', content: this.system }];
    const stopped = this.ports.interruption();
    let heard = '';
    let began = false;
    try {
      this.last = await this.ports.answer({ model: this.model, messages: [...system, ...this.messages, question], settings: this.settings }, (part) => {
        began = true;
        if (part.kind === 'text') heard += part.text;
        this.ports.show(part);
      }, stopped);
    } catch (error) {
      if (!stopped.aborted) throw error;
    } finally {
      if (began) this.ports.ended();
    }
    // Nothing came before it was stopped: as if it had not been asked.
    if (stopped.aborted && heard === '') return;
    this.messages.push(question, { role: 'assistant', content: heard });
  }

  private stats(): string {
    if (this.last === null) return 'no answer was completed yet\n';
    const { usage, timings } = this.last;
    const rows: [string, string][] = [['model', this.model]];
    if (usage !== null) rows.push(['prompt', `${usage.prompt_tokens} tokens${timings?.['cache_n'] === undefined ? '' : `, ${timings['cache_n']} of them known from before`}`], ['answer', `${usage.completion_tokens} tokens`]);
    if (timings?.['prompt_ms'] !== undefined) rows.push(['first token after', `${timings['prompt_ms'].toFixed(0)} ms`]);
    if (timings?.['predicted_per_second'] !== undefined) rows.push(['then', `${timings['predicted_per_second'].toFixed(1)} tokens per second`]);
    rows.push(['conversation', `${this.messages.length} messages`]);
    const width = Math.max(...rows.map(([name]) => name.length));
    return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}\n`).join('');
  }
}
