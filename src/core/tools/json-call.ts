/**
 * Reads one call written as a JSON object, character by character: the name as soon as it is known, then the arguments
 * as they come.
 *
 * It believes nothing: until the object has shown a name that it was told of and an object of arguments, the caller can
 * still take the text for what it is. Pure.
 */

/** Longest text before the arguments: more is no call. */
const MAX_HEAD_CHARACTERS = 4_096;

export interface JsonCallNews {
  /** Null until it and the beginning of the arguments are known; told once. */
  readonly name: string | null;
  /** More of the arguments' JSON. */
  readonly arguments: string;
  readonly state: 'open' | 'done' | 'no_call';
  /** How many of the given characters were used. */
  readonly used: number;
}

type State = 'begin' | 'key' | 'colon' | 'value' | 'after_value' | 'done' | 'no_call';

export class JsonCall {
  private state: State = 'begin';
  private key = '';
  private name: string | null = null;
  private told = false;
  /** Of the value that is being read: brackets open, whether inside a string, its text as far as it is kept. */
  private depth = 0;
  private inString = false;
  private escaped = false;
  private value = '';
  private streams = false;
  private hasArguments = false;
  private head = 0;
  /** Arguments that came before the name, or as a string. */
  private held: string | null = null;

  constructor(private readonly isTool: (name: string) => boolean) {}

  push(text: string): JsonCallNews {
    let name: string | null = null;
    let out = '';
    let used = 0;
    for (const character of text) {
      if (this.state === 'done' || this.state === 'no_call') break;
      used += character.length;
      out += this.read(character);
      if (!this.hasArguments && !(this.state === 'value' && isArgumentsKey(this.key))) this.head += 1;
      if (this.head > MAX_HEAD_CHARACTERS) this.state = 'no_call';
      if (this.name !== null && !this.told && this.hasArguments) {
        this.told = true;
        name = this.name;
        if (this.held !== null) out += this.held;
      }
    }
    return { name, arguments: out, state: this.state === 'done' ? 'done' : this.state === 'no_call' ? 'no_call' : 'open', used };
  }

  private read(character: string): string {
    const isBlank = /\s/.test(character);
    switch (this.state) {
      case 'begin':
        if (!isBlank) this.state = character === '{' ? 'key' : 'no_call';
        return '';
      case 'key':
        if (this.inString) this.readKey(character);
        else if (character === '"') this.beginString();
        else if (character === '}') this.end();
        else if (!isBlank) this.state = 'no_call';
        return '';
      case 'colon':
        if (character === ':') this.beginValue();
        else if (!isBlank) this.state = 'no_call';
        return '';
      case 'value':
        return this.readValue(character, isBlank);
      case 'after_value':
        if (character === ',') this.state = 'key';
        else if (character === '}') this.end();
        else if (!isBlank) this.state = 'no_call';
        return '';
      case 'done':
      case 'no_call':
        return '';
    }
  }

  private readKey(character: string): void {
    if (character === '"' && !this.escaped) {
      this.key = this.value;
      this.inString = false;
      this.state = 'colon';
      return;
    }
    this.escaped = character === '\\' && !this.escaped;
    this.value += character;
  }

  private beginString(): void {
    this.inString = true;
    this.escaped = false;
    this.value = '';
  }

  private beginValue(): void {
    this.state = 'value';
    this.depth = 0;
    this.inString = false;
    this.escaped = false;
    this.value = '';
    this.streams = false;
  }

  private readValue(character: string, isBlank: boolean): string {
    if (this.value === '' && !this.inString && this.depth === 0) {
      if (isBlank) return '';
      const isArguments = isArgumentsKey(this.key);
      if (isArguments && (this.hasArguments || (character !== '{' && character !== '"'))) {
        this.state = 'no_call';
        return '';
      }
      this.streams = isArguments && character === '{' && this.name !== null;
      this.hasArguments ||= this.streams;
    }
    if (!this.inString && this.depth === 0 && this.value !== '' && (character === ',' || character === '}')) {
      // A number or a word has ended; the character belongs to the object.
      this.endValue();
      return this.read(character);
    }
    this.value += this.streams ? '.' : character;
    if (this.streams && this.value.length > 1) this.value = '.';
    if (this.inString) {
      if (character === '"' && !this.escaped) this.inString = false;
      this.escaped = character === '\\' && !this.escaped;
    } else if (character === '"') {
      this.inString = true;
      this.escaped = false;
    } else if (character === '{' || character === '[') this.depth += 1;
    else if (character === '}' || character === ']') this.depth -= 1;
    const ends = this.depth === 0 && !this.inString && (character === '"' || character === '}' || character === ']');
    const streamed = this.streams ? character : '';
    if (ends) this.endValue();
    return streamed;
  }

  private endValue(): void {
    if (this.state === 'no_call') return;
    this.state = 'after_value';
    if (this.key === 'name') {
      const name = parsed(this.value);
      if (typeof name === 'string' && this.isTool(name)) this.name = name;
      else this.state = 'no_call';
    } else if (isArgumentsKey(this.key) && !this.streams) {
      const given = parsed(this.value);
      // Some models write the arguments as a text of JSON.
      const inner = typeof given === 'string' ? given.trim() : this.value;
      const value = parsed(inner);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
        this.held = inner;
        this.hasArguments = true;
      } else this.state = 'no_call';
    }
  }

  private end(): void {
    this.state = this.name !== null && this.hasArguments ? 'done' : 'no_call';
  }
}

function isArgumentsKey(key: string): boolean {
  return key === 'arguments' || key === 'parameters';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Models write broken JSON; the text is then no call.
    return undefined;
  }
}
