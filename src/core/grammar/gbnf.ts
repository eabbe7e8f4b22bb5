/**
 * Writes grammars in GBNF, the notation that llama.cpp reads: named rules, literals, classes of characters, repetitions.
 *
 * Rules with the same body are one rule. Repetitions stay below what the engine takes, whatever their bounds. It must not
 * know JSON. Pure.
 */
import { RingError } from '../errors.js';
import { MAX_GRAMMAR_CHARACTERS } from '../step-types.js';

/** Most repetitions of one item in one place; more are made of blocks of so many. The engine's own limit is 2,000. */
const BLOCK = 500;
/** Most repetitions that a bound may ask for. */
export const MAX_REPETITIONS = 1_000_000;

/** Code points, both ends inclusive. */
export type CharacterRange = readonly [first: number, last: number];

/** A text as it stands. */
export function literal(text: string): string {
  const escaped = [...text].map((character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    const point = character.codePointAt(0) ?? 0;
    return point < 0x20 || point === 0x7f || isSurrogate(point) ? codePoint(point) : character;
  });
  return `"${escaped.join('')}"`;
}

/** One character of these. */
export function characterClass(ranges: readonly CharacterRange[]): string {
  return `[${ranges.map(([first, last]) => (first === last ? codePoint(first) : `${codePoint(first)}-${codePoint(last)}`)).join('')}]`;
}

export function oneOf(alternatives: readonly string[]): string {
  const different = [...new Set(alternatives)];
  return different.length === 1 ? different[0] ?? '' : `(${different.join(' | ')})`;
}

export class GrammarBuilder {
  private readonly bodies = new Map<string, string>();
  private readonly names = new Map<string, string>();
  private characters = 0;

  /** Name of a rule with this body. */
  rule(hint: string, body: string): string {
    const known = this.names.get(body);
    if (known !== undefined) return known;
    const name = this.reserve(hint);
    this.define(name, body);
    this.names.set(body, name);
    return name;
  }

  /** A name whose body comes later: for rules that contain themselves. */
  reserve(hint: string): string {
    const base = hint.replace(/[^a-zA-Z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 40) || 'rule';
    let name = base;
    for (let serial = 2; this.bodies.has(name) || name === 'root'; serial += 1) name = `${base}-${serial}`;
    this.bodies.set(name, '');
    return name;
  }

  /** Throws `bad_request` when the grammar grows beyond what the engine is given. */
  define(name: string, body: string): void {
    this.bodies.set(name, body);
    this.characters += name.length + body.length;
    if (this.characters > MAX_GRAMMAR_CHARACTERS) throw new RingError('bad_request', `as a grammar it is longer than ${MAX_GRAMMAR_CHARACTERS} characters: make it smaller`);
  }

  /** `item` (one name, class or literal) from `min` to `max` times; null = without end. */
  repeat(item: string, min: number, max: number | null): string {
    if (min > MAX_REPETITIONS || (max ?? 0) > MAX_REPETITIONS) throw new RingError('bad_request', `a bound of more than ${MAX_REPETITIONS} is not supported: leave it out`);
    if (max === null) {
      if (min === 0) return `${item}*`;
      return min === 1 ? `${item}+` : `${this.exactly(item, min)} ${item}*`;
    }
    return [this.exactly(item, min), this.upTo(item, max - min)].filter((part) => part !== '').join(' ');
  }

  /** The whole grammar; `body` is what an answer is. */
  text(body: string): string {
    return [`root ::= ${body}`, ...[...this.bodies].map(([name, rule]) => `${name} ::= ${rule}`)].join('\n');
  }

  private exactly(item: string, count: number): string {
    if (count === 0) return '';
    if (count === 1) return item;
    if (count <= BLOCK) return `${item}{${count}}`;
    return [this.exactly(this.block(item), Math.floor(count / BLOCK)), this.exactly(item, count % BLOCK)].filter((part) => part !== '').join(' ');
  }

  private upTo(item: string, count: number): string {
    if (count === 0) return '';
    if (count === 1) return `${item}?`;
    if (count <= BLOCK) return `${item}{0,${count}}`;
    // Whole blocks and less than one; then all of the blocks and what is left.
    const block = this.block(item);
    const blocks = Math.floor((count + 1) / BLOCK);
    const left = (count + 1) % BLOCK;
    const short = `${this.upTo(block, blocks - 1)} ${this.upTo(item, BLOCK - 1)}`;
    return left === 0 ? short.trim() : this.rule('many', `${short} | ${this.exactly(block, blocks)} ${this.upTo(item, left - 1)}`.trim());
  }

  private block(item: string): string {
    return this.rule('block', `${item}{${BLOCK}}`);
  }
}

function isSurrogate(point: number): boolean {
  return point >= 0xd800 && point <= 0xdfff;
}

function codePoint(point: number): string {
  if (/[a-zA-Z0-9]/.test(String.fromCodePoint(point))) return String.fromCodePoint(point);
  const hex = point.toString(16).toUpperCase();
  if (point <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return point <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
