/**
 * Regular expressions of JSON schemas as GBNF: the content of a JSON string that matches.
 *
 * Understood are characters, classes, groups, alternatives, repetitions, and ^ and $ at the ends. What a grammar cannot
 * say (looking around, back references, word boundaries) is refused by name. Characters that a JSON string must escape
 * are written escaped. Pure.
 */
import { RingError } from '../errors.js';
import { characterClass, MAX_REPETITIONS, oneOf } from './gbnf.js';
import type { CharacterRange } from './gbnf.js';
import { PLAIN_CHARACTERS } from './json-rules.js';
import type { JsonRules } from './json-rules.js';

const LAST_POINT = 0x10ffff;
const DIGITS: readonly CharacterRange[] = [[0x30, 0x39]];
const WORD: readonly CharacterRange[] = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const SPACE: readonly CharacterRange[] = [
  [0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff],
];
const LINE_ENDS: readonly CharacterRange[] = [[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]];
/** Characters that JSON can only write escaped, and how. */
const ESCAPED: readonly (readonly [point: number, escape: string])[] = [
  [0x22, '\\\\\\"'], [0x5c, '\\\\\\\\'], [0x08, '\\\\b'], [0x09, '\\\\t'], [0x0a, '\\\\n'], [0x0c, '\\\\f'], [0x0d, '\\\\r'],
];
const CONTROL_ESCAPES: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d, 0: 0 };

/** Name of a rule for the text between the quotes. Throws `bad_request`. */
export function patternRule(json: JsonRules, pattern: string): string {
  return json.builder.rule('pattern', new PatternReader(json, pattern).read());
}

class PatternReader {
  private readonly characters: readonly string[];
  private at = 0;

  constructor(private readonly json: JsonRules, private readonly pattern: string) {
    this.characters = [...pattern];
  }

  read(): string {
    const result = this.alternatives(true);
    if (this.at < this.characters.length) throw this.problem(`"${this.characters[this.at]}" has no partner`);
    return result;
  }

  /** At the top, each alternative may be anchored; a side without anchor may be anything. */
  private alternatives(top: boolean): string {
    const parts: string[] = [];
    do {
      const begins = top && this.take('^');
      const { body, ends } = this.sequence(top);
      const anything = `${this.json.character}*`;
      parts.push([...(top && !begins ? [anything] : []), body, ...(top && !ends ? [anything] : [])].filter((part) => part !== '').join(' ') || '""');
    } while (this.take('|'));
    return oneOf(parts);
  }

  private sequence(top: boolean): { readonly body: string; readonly ends: boolean } {
    const items: string[] = [];
    for (;;) {
      const next = this.characters[this.at];
      if (next === undefined || next === '|' || next === ')') return { body: items.join(' '), ends: false };
      if (next === '$' && top) {
        this.at += 1;
        const after = this.characters[this.at];
        if (after !== undefined && after !== '|') throw this.problem('$ is supported at the end only');
        return { body: items.join(' '), ends: true };
      }
      items.push(this.repeated(this.atom(next)));
    }
  }

  private atom(next: string): string {
    this.at += 1;
    switch (next) {
      case '(': return this.group();
      case '[': return this.fromPoints(this.characterSet());
      case '.': return this.fromPoints(without(LINE_ENDS));
      case '\\': return this.fromPoints(this.escape(false));
      case '^': case '$': throw this.problem(`${next} is supported at the ends only`);
      case '*': case '+': case '?': case '{': throw this.problem(`nothing stands before ${next}`);
      case ']': case '}': throw this.problem(`${next} has no partner`);
      default: return this.fromPoints([pointRange(next)]);
    }
  }

  private group(): string {
    if (this.take('?')) {
      if (this.take('<')) {
        const name = this.characters.indexOf('>', this.at);
        if (name < 0 || ['=', '!'].includes(this.characters[this.at] ?? '')) throw this.problem('looking behind is not supported');
        this.at = name + 1;
      } else if (!this.take(':')) throw this.problem('looking ahead is not supported');
    }
    const body = this.alternatives(false);
    if (!this.take(')')) throw this.problem('a ( has no partner');
    return this.json.builder.rule('group', body);
  }

  private repeated(item: string): string {
    const bounds = this.quantifier();
    if (bounds === null) return item;
    // Whether as few or as many as possible is no matter: the language is the same.
    this.take('?');
    const single = /^[a-zA-Z0-9-]+$|^\[[^\]]*\]$/.test(item) ? item : this.json.builder.rule('item', item);
    return this.json.builder.repeat(single, bounds.min, bounds.max) || '""';
  }

  private quantifier(): { readonly min: number; readonly max: number | null } | null {
    if (this.take('*')) return { min: 0, max: null };
    if (this.take('+')) return { min: 1, max: null };
    if (this.take('?')) return { min: 0, max: 1 };
    if (!this.take('{')) return null;
    const end = this.characters.indexOf('}', this.at);
    const match = /^(\d{1,7})(,(\d{1,7})?)?$/.exec(end < 0 ? '' : this.characters.slice(this.at, end).join(''));
    if (match === null) throw this.problem('a { has no bounds and }');
    this.at = end + 1;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] === undefined ? null : Number(match[3]);
    if (max !== null && max < min) throw this.problem(`{${min},${max}} is upside down`);
    if (min > MAX_REPETITIONS) throw this.problem('a bound is too large');
    return { min, max };
  }

  private characterSet(): readonly CharacterRange[] {
    const negated = this.take('^');
    const ranges: CharacterRange[] = [];
    while (!this.take(']')) {
      const first = this.setMember();
      const [low] = first;
      if (low !== undefined && first.length === 1 && low[0] === low[1] && this.characters[this.at] === '-' && this.characters[this.at + 1] !== ']') {
        this.at += 1;
        const [high] = this.setMember();
        if (high === undefined || high[0] !== high[1] || high[0] < low[0]) throw this.problem('a range in [] is upside down');
        ranges.push([low[0], high[0]]);
      } else ranges.push(...first);
    }
    return negated ? without(ranges) : ranges;
  }

  private setMember(): readonly CharacterRange[] {
    const next = this.characters[this.at];
    if (next === undefined) throw this.problem('a [ has no partner');
    this.at += 1;
    return next === '\\' ? this.escape(true) : [pointRange(next)];
  }

  private escape(inSet: boolean): readonly CharacterRange[] {
    const next = this.characters[this.at];
    this.at += 1;
    switch (next) {
      case undefined: throw this.problem('it ends with \\');
      case 'd': return DIGITS;
      case 'D': return without(DIGITS);
      case 'w': return WORD;
      case 'W': return without(WORD);
      case 's': return SPACE;
      case 'S': return without(SPACE);
      case 'x': return [this.hexPoint(2)];
      case 'u': return [this.take('{') ? this.bracedPoint() : this.hexPoint(4)];
      case 'b': case 'B':
        if (inSet && next === 'b') return [[0x08, 0x08]];
        throw this.problem('word boundaries are not supported');
      case 'p': case 'P': throw this.problem('\\p is not supported');
    }
    const control = CONTROL_ESCAPES[next];
    if (control !== undefined) return [[control, control]];
    if (/[1-9k]/.test(next)) throw this.problem('references to groups are not supported');
    return [pointRange(next)];
  }

  private hexPoint(digits: number): CharacterRange {
    const hex = this.characters.slice(this.at, this.at + digits).join('');
    if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length !== digits) throw this.problem('an escape lacks its hex digits');
    this.at += digits;
    return [parseInt(hex, 16), parseInt(hex, 16)];
  }

  private bracedPoint(): CharacterRange {
    const end = this.characters.indexOf('}', this.at);
    const hex = end < 0 ? '' : this.characters.slice(this.at, end).join('');
    if (!/^[0-9a-fA-F]{1,6}$/.test(hex)) throw this.problem('an escape lacks its hex digits');
    this.at = end + 1;
    return [parseInt(hex, 16), parseInt(hex, 16)];
  }

  /** One character of these, as JSON writes it. */
  private fromPoints(ranges: readonly CharacterRange[]): string {
    const plain = intersection(ranges, PLAIN_CHARACTERS);
    const escapes = ESCAPED.filter(([point]) => ranges.some(([first, last]) => point >= first && point <= last)).map(([, escape]) => `"${escape}"`);
    const parts = [...(plain.length === 0 ? [] : [characterClass(plain)]), ...escapes];
    if (parts.length === 0) throw this.problem('a class of characters is empty');
    return parts.length === 1 ? parts[0] ?? '' : this.json.builder.rule('one', parts.join(' | '));
  }

  private take(character: string): boolean {
    if (this.characters[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  private problem(what: string): RingError {
    return new RingError('bad_request', `the pattern ${JSON.stringify(this.pattern.slice(0, 100))} cannot be followed: ${what}`);
  }
}

function pointRange(character: string): CharacterRange {
  const point = character.codePointAt(0) ?? 0;
  return [point, point];
}

function without(ranges: readonly CharacterRange[]): readonly CharacterRange[] {
  const left: CharacterRange[] = [];
  let next = 0;
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (first > next) left.push([next, first - 1]);
    next = Math.max(next, last + 1);
  }
  if (next <= LAST_POINT) left.push([next, LAST_POINT]);
  return left;
}

function intersection(left: readonly CharacterRange[], right: readonly CharacterRange[]): readonly CharacterRange[] {
  return left.flatMap(([first, last]) => right.flatMap(([low, high]): CharacterRange[] => {
    const from = Math.max(first, low);
    const to = Math.min(last, high);
    return from <= to ? [[from, to]] : [];
  }));
}
