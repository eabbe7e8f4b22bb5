/**
 * Where a chat's lines come from and its answers go: a terminal with editing, history and Ctrl-C, or a pipe, where each line
 * is a question.
 */
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { RingError } from '../core/errors.js';
import type { AnswerPart } from './answer-stream.js';
import { CHAT_COMMANDS } from './chat.js';
import type { ChatPorts } from './chat.js';

const HISTORY_FILE = 'chat-history';
const MAX_HISTORY_LINES = 500;
/** Typed or pasted while an answer runs. */
const MAX_LINES_AHEAD = 1_000;
const PROMPT = '>>> ';
const MORE_PROMPT = '... ';
/** As a shell says it of a command that Ctrl-C ended. */
const INTERRUPTED = 130;
const ENDING = ['SIGTERM', 'SIGHUP'] as const;
const FENCE = '"""';
const DIM = '\u001b[2m';
const PLAIN = '\u001b[0m';

export type ChatTerminal = Pick<ChatPorts, 'read' | 'say' | 'show' | 'ended' | 'interruption'> & { close(): void };

export interface TerminalOptions {
  /** Where earlier questions are kept; null = they are not. */
  readonly stateDirectory: string | null;
  /** For completion after `/model `. */
  models(): Promise<readonly string[]>;
}

/** Standard input and output; what is not an answer goes to standard error. */
export async function openChatTerminal(options: TerminalOptions): Promise<ChatTerminal> {
  let running: AbortController | null = null;
  // A second one, or one while no answer runs, ends the command.
  const onSignal = (): void => {
    if (running === null || running.signal.aborted) process.exit(INTERRUPTED);
    running.abort(new RingError('cancelled', 'stopped'));
  };
  process.on('SIGINT', onSignal);
  const onEnd = (): void => {
    running?.abort(new RingError('cancelled', 'the chat was told to end'));
    lines.close();
  };
  for (const signal of ENDING) process.on(signal, onEnd);
  const lines = process.stdin.isTTY ? await typedLines(options, onSignal) : pipedLines();
  const colour = process.stdout.isTTY;
  let thinking = false;
  const plain = (): void => {
    if (thinking) process.stdout.write(`${colour ? PLAIN : ''}\n`);
    thinking = false;
  };
  return {
    read: () => {
      running = null;
      return readText(lines);
    },
    say: (text) => void process.stderr.write(text),
    show: (part: AnswerPart) => {
      if (part.kind === 'text') plain();
      else if (!thinking && colour) process.stdout.write(DIM);
      thinking = part.kind === 'thought';
      process.stdout.write(part.text);
    },
    ended: () => {
      plain();
      process.stdout.write('\n');
    },
    interruption: () => {
      running = new AbortController();
      return running.signal;
    },
    close: () => {
      process.off('SIGINT', onSignal);
      for (const signal of ENDING) process.off(signal, onEnd);
      lines.close();
    },
  };
}

interface Lines {
  next(prompt: string): Promise<string | null>;
  /** A whole text was read: it is worth remembering. */
  remember(text: string): Promise<void>;
  close(): void;
}

/** One line, or everything between two fences. */
async function readText(lines: Lines): Promise<string | null> {
  const first = await lines.next(PROMPT);
  if (first === null) return null;
  let text = first;
  if (first.trimStart().startsWith(FENCE)) {
    text = first.trimStart().slice(FENCE.length);
    while (!text.trimEnd().endsWith(FENCE)) {
      const next = await lines.next(MORE_PROMPT);
      if (next === null) return text;
      text += `\n${next}`;
    }
    text = text.trimEnd().slice(0, -FENCE.length).replace(/^\n|\n$/g, '');
  }
  if (text.trim() !== '') await lines.remember(text);
  return text;
}

function pipedLines(): Lines {
  const terminal = createInterface({ input: process.stdin, crlfDelay: Infinity });
  const iterator = terminal[Symbol.asyncIterator]();
  return {
    next: async () => {
      const result = await iterator.next();
      return result.done === true ? null : result.value;
    },
    remember: async () => undefined,
    close: () => terminal.close(),
  };
}

/** Readline's place on the terminal: it may write while a line is typed, and not into an answer. */
class Screen extends Writable {
  shows = false;

  override _write(chunk: Buffer | string, _encoding: BufferEncoding, done: () => void): void {
    if (this.shows) process.stderr.write(chunk);
    done();
  }

  get columns(): number | undefined {
    return process.stderr.columns;
  }
}

/**
 * One readline for the whole chat. It has the keyboard also while an answer runs: what is typed then is the beginning of the
 * next line, whole lines wait, and Ctrl-C stops the answer.
 */
async function typedLines(options: TerminalOptions, stop: () => void): Promise<Lines> {
  const file = options.stateDirectory === null ? null : join(options.stateDirectory, HISTORY_FILE);
  const screen = new Screen();
  const terminal = createInterface({
    input: process.stdin, output: screen, terminal: true, history: file === null ? [] : await readHistory(file), historySize: MAX_HISTORY_LINES, removeHistoryDuplicates: true,
    completer: (line: string, done: (error: null, result: [string[], string]) => void) => void complete(line, options).then((found) => done(null, [found, line])),
  });
  const ahead: string[] = [];
  let closed = false;
  let waiting: ((line: string | null) => void) | null = null;
  const give = (line: string | null): void => {
    screen.shows = false;
    waiting?.(line);
    waiting = null;
  };
  const resized = (): boolean => screen.emit('resize');
  process.stderr.on('resize', resized);
  terminal.on('line', (line) => {
    if (waiting !== null) give(line);
    else if (ahead.length < MAX_LINES_AHEAD) ahead.push(line);
  });
  terminal.on('close', () => {
    closed = true;
    process.stderr.off('resize', resized);
    // Ctrl-D leaves the cursor behind the prompt.
    if (waiting !== null) process.stderr.write('\n');
    give(null);
  });
  terminal.on('SIGINT', () => {
    if (waiting === null) return stop();
    process.stderr.write(terminal.line === '' ? '\nCtrl-D or /bye leaves\n' : '\n');
    screen.shows = false;
    terminal.write(null, { ctrl: true, name: 'e' });
    terminal.write(null, { ctrl: true, name: 'u' });
    screen.shows = true;
    terminal.prompt();
  });
  return {
    next: (prompt) => new Promise((resolve) => {
      const line = ahead.shift();
      if (line !== undefined) {
        process.stderr.write(`${prompt}${line}\n`);
        return resolve(line);
      }
      if (closed) return resolve(null);
      waiting = resolve;
      screen.shows = true;
      terminal.setPrompt(prompt);
      terminal.prompt(true);
    }),
    remember: async (text) => {
      if (file !== null) await appendFile(file, `${text.replaceAll('\n', ' ')}\n`, { mode: 0o600 });
    },
    close: () => terminal.close(),
  };
}

/** The newest first, as readline wants it. The file is cut when it has grown to twice of what is used. */
async function readHistory(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = text.split('\n').filter((line) => line !== '');
  const used = lines.slice(-MAX_HISTORY_LINES);
  if (lines.length > 2 * MAX_HISTORY_LINES) await writeFile(file, `${used.join('\n')}\n`, { mode: 0o600 });
  return used.reverse();
}

async function complete(line: string, options: TerminalOptions): Promise<string[]> {
  const model = /^\/model +(.*)$/.exec(line);
  const choices = model === null ? [...CHAT_COMMANDS] : (await options.models().catch(() => [])).map((name) => `/model ${name}`);
  return line.startsWith('/') ? choices.filter((choice) => choice.startsWith(line)) : [];
}
