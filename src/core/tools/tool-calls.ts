/**
 * Finds the tool calls in an answer while it comes: text, then for each call its name and its arguments bit by bit.
 *
 * All common ways to write calls are understood, whatever the model was told: models mix them up. What only looks like a
 * call (another name, broken JSON) is text. It must not know tokens or any API's names. Pure.
 */
import { JsonCall } from './json-call.js';
import {
  ARGUMENTS_MARK, CALL_CLOSE, CALL_OPEN, DEEPSEEK_CALL_CLOSE, DEEPSEEK_CALL_OPEN, DEEPSEEK_CLOSE, DEEPSEEK_OPEN, DEEPSEEK_SEPARATOR, FUNCTION_CLOSE,
  FUNCTION_OPEN, LIST_OPEN, PYTHON_TAG,
} from './tool-use.js';
import type { ToolDefinition } from './tool-use.js';
import { readTaggedParameters } from './tagged-parameters.js';

export type ToolPiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly index: number; readonly name: string }
  | { readonly kind: 'arguments'; readonly index: number; readonly text: string };

const OPENINGS: readonly string[] = [CALL_OPEN, LIST_OPEN, PYTHON_TAG, FUNCTION_OPEN, DEEPSEEK_OPEN, DEEPSEEK_CALL_OPEN];
/** Between and behind calls; they are no text. */
const MARKS_BETWEEN: readonly string[] = [CALL_CLOSE, DEEPSEEK_CALL_CLOSE, DEEPSEEK_CLOSE];
/** Longest name and the like before the arguments of a call that is no JSON as a whole. */
const MAX_HEAD = 512;
const CALL_ID_MARK = '[CALL_ID]';

type State =
  /** Text; `begin`: nothing but white space so far, so that `{` may begin a call. */
  | { readonly at: 'text'; readonly begin: boolean }
  /** Behind an opening: `raw` is what it says if it is no call. */
  | { readonly at: 'opened'; readonly opening: string; readonly raw: string }
  | { readonly at: 'json'; readonly call: JsonCall; raw: string; told: boolean; readonly list: boolean }
  /** Arguments whose call's name is known; `text` is JSON up to its last bracket. */
  | { readonly at: 'arguments'; depth: number; inString: boolean; escaped: boolean }
  /** A call is over. */
  | { readonly at: 'behind'; readonly list: boolean; readonly bare: boolean };

export class ToolCalls {
  private state: State = { at: 'text', begin: true };
  private held = '';
  private calls = 0;
  private readonly names: ReadonlySet<string>;
  private readonly isTool = (name: string): boolean => this.names.has(name);

  constructor(private readonly tools: readonly ToolDefinition[]) {
    this.names = new Set(tools.map(({ name }) => name));
  }

  get found(): number {
    return this.calls;
  }

  /** What became certain with this text. */
  push(text: string): readonly ToolPiece[] {
    this.held += text;
    const pieces: ToolPiece[] = [];
    // Each turn uses some of what is held, changes the state, or is the last.
    for (;;) {
      const { state } = this;
      const length = this.held.length;
      pieces.push(...this.advance());
      if (this.held === '' || (this.state === state && this.held.length === length)) return joined(pieces);
    }
  }

  /** What was held back, at the end of the answer. */
  end(): readonly ToolPiece[] {
    const { state, held } = this;
    this.held = '';
    switch (state.at) {
      case 'text': return piece(held);
      case 'opened': return [...this.readWhole(state.opening, held, true) ?? piece(state.raw + held)];
      case 'json': return state.told ? [] : piece(state.raw);
      case 'arguments': return [];
      case 'behind': return piece(held.trim());
    }
  }

  private advance(): readonly ToolPiece[] {
    const { state } = this;
    switch (state.at) {
      case 'text': return this.inText(state.begin);
      case 'opened': return this.behindOpening(state.opening, state.raw);
      case 'json': return this.inJson(state);
      case 'arguments': return this.inArguments(state);
      case 'behind': return this.behindCall(state);
    }
  }

  private inText(begin: boolean): readonly ToolPiece[] {
    const opening = earliest(this.held, OPENINGS);
    const trimmed = this.held.trimStart();
    if (begin && trimmed.startsWith('{') && (opening === null || opening.at > this.held.length - trimmed.length)) {
      this.openJson(this.held.slice(0, this.held.length - trimmed.length), false);
      this.held = trimmed;
      return [];
    }
    if (opening !== null) {
      const before = this.held.slice(0, opening.at).trimEnd();
      const raw = this.held.slice(before.length, opening.at + opening.mark.length);
      this.held = this.held.slice(before.length + raw.length);
      this.state = { at: 'opened', opening: opening.mark, raw };
      return piece(before);
    }
    // White space may stand before a call, and is then no text.
    const certain = this.held.slice(0, this.held.length - heldBack(this.held, OPENINGS)).trimEnd();
    if (certain === '') return [];
    this.held = this.held.slice(certain.length);
    this.state = { at: 'text', begin: false };
    return piece(certain);
  }

  private behindOpening(opening: string, raw: string): readonly ToolPiece[] {
    const text = this.held.trimStart();
    if (text === '') return [];
    if (opening === LIST_OPEN || opening === CALL_OPEN || opening === PYTHON_TAG) {
      const isList = opening === LIST_OPEN && text.startsWith('[') && !text.startsWith(ARGUMENTS_MARK);
      if (isList || text.startsWith('{')) {
        const skipped = isList ? text.slice(1) : text;
        this.openJson(raw + this.held.slice(0, this.held.length - skipped.length), isList);
        this.held = skipped;
        return [];
      }
      if (opening === CALL_OPEN && (text.startsWith(FUNCTION_OPEN) || FUNCTION_OPEN.startsWith(text))) {
        if (!text.startsWith(FUNCTION_OPEN)) return [];
        this.state = { at: 'opened', opening: FUNCTION_OPEN, raw: raw + this.held.slice(0, this.held.length - text.length) + FUNCTION_OPEN };
        this.held = text.slice(FUNCTION_OPEN.length);
        return [];
      }
      if (opening === LIST_OPEN) return this.namedArguments(raw);
      return this.noCall(raw);
    }
    const pieces = this.readWhole(opening, this.held, false);
    return pieces ?? (this.held.length > MAX_HEAD && !this.couldEnd(opening) ? this.noCall(raw) : []);
  }

  /** `name[ARGS]{…}` or `name{…}`. */
  private namedArguments(raw: string): readonly ToolPiece[] {
    const match = /^\s*([\w.-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\])?\s*\{/.exec(this.held);
    if (match === null) {
      const open = /^\s*[\w.-]*\s*(\[[\w\]-]*)?\s*$/.test(this.held) || this.held.includes(CALL_ID_MARK);
      return open && this.held.length <= MAX_HEAD ? [] : this.noCall(raw);
    }
    const [whole, name] = match;
    if (name === undefined || !this.isTool(name)) return this.noCall(raw);
    this.held = this.held.slice(whole.length - 1);
    this.state = { at: 'arguments', depth: 0, inString: false, escaped: false };
    return [this.newCall(name)];
  }

  /** Calls that are read when they are whole. Null = not whole yet. */
  private readWhole(opening: string, text: string, atEnd: boolean): readonly ToolPiece[] | null {
    if (opening === FUNCTION_OPEN) {
      const end = text.indexOf(FUNCTION_CLOSE);
      if (end < 0) return null;
      const call = readTaggedParameters(text.slice(0, end), this.tools);
      if (call === null) return null;
      this.held = text.slice(end + FUNCTION_CLOSE.length);
      this.state = { at: 'behind', list: false, bare: false };
      return [this.newCall(call.name), this.argumentsOf(call.text)];
    }
    if (opening === DEEPSEEK_OPEN) {
      const begin = text.indexOf(DEEPSEEK_CALL_OPEN);
      if (begin < 0) return null;
      this.held = text.slice(begin + DEEPSEEK_CALL_OPEN.length);
      this.state = { at: 'opened', opening: DEEPSEEK_CALL_OPEN, raw: opening + text.slice(0, begin) + DEEPSEEK_CALL_OPEN };
      return [];
    }
    if (opening !== DEEPSEEK_CALL_OPEN) return null;
    const end = text.indexOf(DEEPSEEK_CALL_CLOSE);
    if (end < 0 && !atEnd) return null;
    const [first = '', ...more] = text.slice(0, end < 0 ? text.length : end).split(DEEPSEEK_SEPARATOR);
    // Of two forms: `function`, the name, a block of code; or the name and bare JSON.
    const match = first.trim() === 'function' ? /^\s*([\w.-]+)\s*```(?:json)?\s*(\{[^]*\})\s*```\s*$/.exec(more.join(DEEPSEEK_SEPARATOR)) : null;
    const name = match?.[1] ?? first.trim();
    const body = match?.[2] ?? more.join(DEEPSEEK_SEPARATOR).trim();
    if (!this.isTool(name) || !isObject(body)) return null;
    this.held = end < 0 ? '' : text.slice(end + DEEPSEEK_CALL_CLOSE.length);
    this.state = { at: 'behind', list: false, bare: false };
    return [this.newCall(name), this.argumentsOf(body)];
  }

  /** False once a call that is read as a whole can no longer be one. */
  private couldEnd(opening: string): boolean {
    const end = opening === FUNCTION_OPEN ? FUNCTION_CLOSE : opening === DEEPSEEK_CALL_OPEN ? DEEPSEEK_CALL_CLOSE : null;
    if (end === null) return false;
    if (this.held.includes(end)) return false;
    const name = (opening === FUNCTION_OPEN ? this.held.split(/[>\s]/)[0] : null) ?? null;
    return name === null || this.isTool(name);
  }

  private openJson(raw: string, list: boolean): void {
    this.state = { at: 'json', call: new JsonCall(this.isTool), raw, told: false, list };
  }

  private inJson(state: Extract<State, { at: 'json' }>): readonly ToolPiece[] {
    const news = state.call.push(this.held);
    const used = this.held.slice(0, news.used);
    this.held = this.held.slice(news.used);
    state.raw += used;
    if (news.state === 'no_call' && !state.told) return this.noCall(state.raw);
    const pieces: ToolPiece[] = [];
    if (news.name !== null) {
      state.told = true;
      state.raw = '';
      pieces.push(this.newCall(news.name));
    }
    if (news.arguments !== '') pieces.push(this.argumentsOf(news.arguments));
    if (news.state !== 'open') this.state = { at: 'behind', list: state.list, bare: true };
    return pieces;
  }

  private inArguments(state: Extract<State, { at: 'arguments' }>): readonly ToolPiece[] {
    let length = 0;
    for (const character of this.held) {
      length += character.length;
      if (state.inString) {
        if (character === '"' && !state.escaped) state.inString = false;
        state.escaped = character === '\\' && !state.escaped;
      } else if (character === '"') {
        state.inString = true;
        state.escaped = false;
      } else if (character === '{' || character === '[') state.depth += 1;
      else if (character === '}' || character === ']') state.depth -= 1;
      if (state.depth === 0 && !state.inString) {
        this.state = { at: 'behind', list: false, bare: false };
        break;
      }
    }
    const text = this.held.slice(0, length);
    this.held = this.held.slice(length);
    return [this.argumentsOf(text)];
  }

  private behindCall({ list, bare }: { readonly list: boolean; readonly bare: boolean }): readonly ToolPiece[] {
    const text = this.held.trimStart();
    if (text === '') return [];
    const mark = MARKS_BETWEEN.find((one) => text.startsWith(one));
    if (mark !== undefined) {
      this.held = text.slice(mark.length);
      this.state = { at: 'behind', list: false, bare: false };
      return [];
    }
    const opening = OPENINGS.find((one) => text.startsWith(one));
    if (opening !== undefined) {
      this.held = text.slice(opening.length);
      this.state = { at: 'opened', opening, raw: opening };
      return [];
    }
    if ([...MARKS_BETWEEN, ...OPENINGS].some((one) => one.startsWith(text))) return [];
    if (list && text.startsWith(',')) {
      this.held = text.slice(1);
      this.openJson(',', true);
      return [];
    }
    if (list && text.startsWith(']')) {
      this.held = text.slice(1);
      this.state = { at: 'behind', list: false, bare: false };
      return [];
    }
    if (bare && (text.startsWith('{') || text.startsWith(';'))) {
      this.held = text.startsWith(';') ? text.slice(1) : text;
      if (text.startsWith('{')) this.openJson('', false);
      return [];
    }
    this.state = { at: 'text', begin: false };
    this.held = text;
    return [];
  }

  private noCall(raw: string): readonly ToolPiece[] {
    const inRaw = this.state.at === 'json';
    const text = inRaw ? raw : raw + this.held;
    // What came behind it may hold a call again.
    this.held = inRaw ? this.held : '';
    this.state = { at: 'text', begin: false };
    return piece(text);
  }

  private newCall(name: string): ToolPiece {
    this.calls += 1;
    return { kind: 'call', index: this.calls - 1, name };
  }

  private argumentsOf(text: string): ToolPiece {
    return { kind: 'arguments', index: this.calls - 1, text };
  }
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function piece(text: string): readonly ToolPiece[] {
  return text === '' ? [] : [{ kind: 'text', text }];
}

/** Neighbours of a kind become one. */
function joined(pieces: readonly ToolPiece[]): readonly ToolPiece[] {
  const whole: ToolPiece[] = [];
  for (const next of pieces) {
    const last = whole.at(-1);
    if (last?.kind === 'text' && next.kind === 'text') whole[whole.length - 1] = { kind: 'text', text: last.text + next.text };
    else if (last?.kind === 'arguments' && next.kind === 'arguments' && last.index === next.index) whole[whole.length - 1] = { ...last, text: last.text + next.text };
    else whole.push(next);
  }
  return whole;
}

function earliest(text: string, marks: readonly string[]): { readonly at: number; readonly mark: string } | null {
  let first: { readonly at: number; readonly mark: string } | null = null;
  for (const mark of marks) {
    const at = text.indexOf(mark);
    if (at >= 0 && (first === null || at < first.at)) first = { at, mark };
  }
  return first;
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
