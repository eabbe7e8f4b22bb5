/**
 * What a model thinks aloud, told apart from what it answers, while the text still comes.
 *
 * Two kinds of models: those that put their thoughts between two marks at the very beginning (the chat template may
 * have opened them already), and OpenAI's gpt-oss, whose messages have a header that names a channel. White space
 * around thoughts is of the marks, not of the text. A gpt-oss message to a tool becomes a call as tools/tool-calls.ts
 * reads it. It must not know tokens or any API's names.
 */

import { ARGUMENTS_MARK, LIST_OPEN } from './tools/tool-use.js';

export interface ReasoningMarks {
  readonly open: string;
  readonly close: string;
}

/** Of current open models: DeepSeek, Qwen, GLM and most others; ByteDance; Mistral; Kimi; Cohere; EXAONE. */
const REASONING_MARKS: readonly ReasoningMarks[] = [
  { open: '<think>', close: '</think>' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '[THINK]', close: '[/THINK]' },
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
  { open: '<thought>', close: '</thought>' },
];

/** gpt-oss: `<|channel|>analysis<|message|>thoughts<|end|><|start|>assistant<|channel|>final<|message|>answer`. */
const CHANNEL = '<|channel|>';
const START = '<|start|>';
const MESSAGE = '<|message|>';
const HEADER_STARTS: readonly string[] = [CHANNEL, START];
const BODY_ENDS: readonly string[] = ['<|end|>', '<|call|>', '<|return|>', START, CHANNEL];
const THINKING_CHANNEL = 'analysis';
/** In a header: the message is a call's arguments. */
const TO_TOOL = /\bto=functions\.([\w-]+)/;
/** The prompt ends with the role, so that an answer may begin with whom its message is to. */
const RECIPIENT = 'to=functions.';
/** A header is a role and a channel's name; what is longer is none and becomes text. */
const HEADER_LENGTH_MAX = 256;

/** Texts that say where thoughts begin and end. A vocabulary may have them as control tokens, which are no text otherwise. */
export const REASONING_MARK_TEXTS: ReadonlySet<string> = new Set([
  ...REASONING_MARKS.flatMap(({ open, close }) => [open, close]), ...HEADER_STARTS, ...BODY_ENDS, MESSAGE, '<|constrain|>',
]);

/** The marks that the end of a prompt has opened: the answer begins with thoughts. Null = none. */
export function marksOpenedBy(prompt: string): ReasoningMarks | null {
  const end = prompt.trimEnd();
  return REASONING_MARKS.find(({ open }) => end.endsWith(open)) ?? null;
}

/** Whether a chat template is one of a model that thinks aloud. */
export function templateThinks(template: string): boolean {
  return REASONING_MARKS.some(({ open }) => template.includes(open)) || template.includes(CHANNEL);
}

export interface AnswerPiece {
  readonly kind: 'text' | 'reasoning';
  readonly text: string;
}

type State =
  /** Nothing but white space and what may become a mark was seen. */
  | { readonly at: 'start' }
  | { readonly at: 'thoughts'; readonly close: string; readonly begun: boolean }
  /** Between thoughts and answer. */
  | { readonly at: 'gap' }
  | { readonly at: 'answer' }
  | { readonly at: 'header' }
  | { readonly at: 'body'; readonly kind: AnswerPiece['kind'] };

export class ReasoningSplit {
  private state: State;
  private held = '';

  /** `opened`: the marks that the prompt opened (`marksOpenedBy`). */
  constructor(opened: ReasoningMarks | null) {
    this.state = opened === null ? { at: 'start' } : { at: 'thoughts', close: opened.close, begun: false };
  }

  /** Whether what comes next are thoughts, as far as is known. */
  get thinking(): boolean {
    return this.state.at === 'thoughts' || (this.state.at === 'body' && this.state.kind === 'reasoning');
  }

  /** What became certain with this text. */
  push(text: string): readonly AnswerPiece[] {
    if (this.state.at === 'answer') return piece('text', text);
    this.held += text;
    const pieces: AnswerPiece[] = [];
    // Each turn ends a state or is the last one.
    for (let before = this.state; ; before = this.state) {
      pieces.push(...this.advance());
      if (this.state === before || this.held === '') return pieces;
    }
  }

  /** What was held back, at the end of the answer. */
  end(): readonly AnswerPiece[] {
    const rest = this.held;
    this.held = '';
    switch (this.state.at) {
      case 'thoughts':
        return piece('reasoning', rest);
      case 'body':
        return piece(this.state.kind, rest);
      case 'header':
        // It was no header after all.
        return rest.startsWith(RECIPIENT) ? piece('text', rest) : [];
      case 'gap':
        return [];
      case 'start':
      case 'answer':
        return piece('text', rest);
    }
  }

  private advance(): readonly AnswerPiece[] {
    switch (this.state.at) {
      case 'start': return this.atStart();
      case 'thoughts': return this.inThoughts(this.state);
      case 'gap':
        this.held = this.held.trimStart();
        if (this.held !== '') this.state = { at: 'answer' };
        return [];
      case 'answer': return this.release('text', this.held.length);
      case 'header': return this.inHeader();
      case 'body': return this.inBody(this.state.kind);
    }
  }

  private atStart(): readonly AnswerPiece[] {
    const text = this.held.trimStart();
    const marks = REASONING_MARKS.find(({ open }) => text.startsWith(open));
    if (marks !== undefined) {
      this.held = text.slice(marks.open.length);
      this.state = { at: 'thoughts', close: marks.close, begun: false };
    } else if ([...HEADER_STARTS, RECIPIENT].some((start) => text.startsWith(start))) {
      this.held = text;
      this.state = { at: 'header' };
    } else if (text !== '' && ![...REASONING_MARKS.map(({ open }) => open), ...HEADER_STARTS, RECIPIENT].some((mark) => mark.startsWith(text))) {
      this.state = { at: 'answer' };
    }
    return [];
  }

  private inThoughts({ close, begun }: { readonly close: string; readonly begun: boolean }): readonly AnswerPiece[] {
    if (!begun) this.held = this.held.trimStart();
    const end = this.held.indexOf(close);
    if (end >= 0) {
      const thoughts = this.held.slice(0, end).trimEnd();
      this.held = this.held.slice(end + close.length);
      this.state = { at: 'gap' };
      return piece('reasoning', thoughts);
    }
    // White space is of the mark if the mark follows.
    const certain = this.held.slice(0, this.held.length - heldBack(this.held, [close])).trimEnd().length;
    if (!begun && certain > 0) this.state = { at: 'thoughts', close, begun: true };
    return this.release('reasoning', certain);
  }

  private inHeader(): readonly AnswerPiece[] {
    const end = this.held.indexOf(MESSAGE);
    if (end < 0) {
      if (this.held.length > HEADER_LENGTH_MAX) this.state = { at: 'answer' };
      return [];
    }
    const header = this.held.slice(0, end);
    this.held = this.held.slice(end + MESSAGE.length);
    const channel = header.slice(header.lastIndexOf(CHANNEL) + CHANNEL.length).trimStart();
    const tool = TO_TOOL.exec(header)?.[1];
    this.state = { at: 'body', kind: tool === undefined && header.includes(CHANNEL) && channel.startsWith(THINKING_CHANNEL) ? 'reasoning' : 'text' };
    return tool === undefined ? [] : piece('text', `${LIST_OPEN}${tool}${ARGUMENTS_MARK}`);
  }

  private inBody(kind: AnswerPiece['kind']): readonly AnswerPiece[] {
    const ends = BODY_ENDS.map((mark) => ({ mark, at: this.held.indexOf(mark) })).filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at);
    const [first] = ends;
    if (first === undefined) return this.release(kind, this.held.length - heldBack(this.held, BODY_ENDS));
    const body = this.held.slice(0, first.at);
    // A mark that begins a header is part of it.
    this.held = this.held.slice(HEADER_STARTS.includes(first.mark) ? first.at : first.at + first.mark.length);
    this.state = { at: 'header' };
    return piece(kind, body);
  }

  private release(kind: AnswerPiece['kind'], length: number): readonly AnswerPiece[] {
    const text = this.held.slice(0, length);
    this.held = this.held.slice(length);
    return piece(kind, text);
  }
}

function piece(kind: AnswerPiece['kind'], text: string): readonly AnswerPiece[] {
  return text === '' ? [] : [{ kind, text }];
}

/** Length of the longest end of the text that one of the marks may begin with. */
function heldBack(text: string, marks: readonly string[]): number {
  const longest = Math.min(text.length, Math.max(...marks.map((mark) => mark.length)) - 1);
  for (let length = longest; length > 0; length -= 1) {
    const end = text.slice(text.length - length);
    if (marks.some((mark) => mark.startsWith(end))) return length;
  }
  return 0;
}
