/**
 * JSON in GBNF: strings, numbers, any value, fixed values, keys that are none of some names.
 *
 * White space is what models write: none, one blank, or a line break with indentation; it cannot go on for ever. A string
 * has no half characters, so that its length is what JSON Schema counts. Pure.
 */
import { characterClass, GrammarBuilder, literal, oneOf } from './gbnf.js';
import type { CharacterRange } from './gbnf.js';

/** Digits of a whole number that every JSON reader takes exactly. */
export const WHOLE_DIGITS = 15;
const FRACTION_DIGITS = 15;
const MAX_INDENTATION = 16;

/** What stands for itself between quotes; halves of characters (surrogates) are none. */
export const PLAIN_CHARACTERS: readonly CharacterRange[] = [[0x20, 0x21], [0x23, 0x5b], [0x5d, 0x7e], [0x80, 0xd7ff], [0xe000, 0x10ffff]];

const HEX = '[0-9a-fA-F]';

export class JsonRules {
  constructor(readonly builder: GrammarBuilder) {}

  get space(): string {
    return this.builder.rule('space', `| " " | "\\n" [ ]{0,${MAX_INDENTATION}}`);
  }

  /** One character of a string. */
  get character(): string {
    const escape = `"\\\\" (["\\\\/bfnrt] | "u" ([0-9a-cA-CefEF] ${HEX}{3} | [dD] [0-7] ${HEX}{2}))`;
    return this.builder.rule('character', `${characterClass(PLAIN_CHARACTERS)} | ${escape}`);
  }

  string(minLength: number, maxLength: number | null): string {
    return this.builder.rule('string', `"\\"" ${this.builder.repeat(this.character, minLength, maxLength)} "\\""`);
  }

  get integer(): string {
    return this.builder.rule('integer', `"-"? ("0" | [1-9] [0-9]{0,${WHOLE_DIGITS - 1}})`);
  }

  get number(): string {
    return this.builder.rule('number', `${this.integer} ${this.fraction} ([eE] [-+]? [0-9]{1,2})?`);
  }

  get fraction(): string {
    return this.builder.rule('fraction', `("." [0-9]{1,${FRACTION_DIGITS}})?`);
  }

  get boolean(): string {
    return this.builder.rule('boolean', '"true" | "false"');
  }

  get null(): string {
    return literal('null');
  }

  /** Anything that JSON can say. */
  get value(): string {
    return this.recursive().value;
  }

  get object(): string {
    return this.recursive().object;
  }

  get array(): string {
    return this.recursive().array;
  }

  private recursiveNames: { readonly value: string; readonly object: string; readonly array: string } | null = null;

  private recursive(): { readonly value: string; readonly object: string; readonly array: string } {
    if (this.recursiveNames !== null) return this.recursiveNames;
    const { builder } = this;
    const names = { value: builder.reserve('value'), object: builder.reserve('object'), array: builder.reserve('array') };
    this.recursiveNames = names;
    const entry = builder.rule('entry', `${this.string(0, null)} ":" ${this.space} ${names.value}`);
    builder.define(names.object, `"{" ${this.space} (${this.list(entry, 0, null)})? "}"`);
    builder.define(names.array, `"[" ${this.space} (${this.list(names.value, 0, null)})? "]"`);
    builder.define(names.value, [names.object, names.array, this.string(0, null), this.number, this.boolean, this.null].join(' | '));
    return names;
  }

  /** At least one `item`, further ones behind commas, and white space at the end. Of the bounds the first item is one. */
  list(item: string, min: number, max: number | null): string {
    const further = this.builder.rule('further', `"," ${this.space} ${item} ${this.space}`);
    const rest = this.builder.repeat(further, Math.max(0, min - 1), max === null ? null : max - 1);
    return `${item} ${this.space} ${rest}`.trim();
  }

  /** A value as JSON.stringify writes it. */
  fixed(value: unknown): string {
    return literal(JSON.stringify(value));
  }

  /** A string that is none of `names`, without escapes, which could spell one of them. */
  keyOtherThan(names: readonly string[]): string {
    const trie = new NameNode();
    for (const name of names) trie.add(JSON.stringify(name).slice(1, -1));
    return this.builder.rule('key', `"\\"" ${this.unlike(trie)} "\\""`);
  }

  private unlike(node: NameNode): string {
    const plain = this.builder.rule('plain', characterClass(PLAIN_CHARACTERS));
    const others = withoutPoints(PLAIN_CHARACTERS, [...node.children.keys()]);
    const alternatives = [
      ...(node.isEnd ? [] : ['""']),
      ...(others.length === 0 ? [] : [`${characterClass(others)} ${plain}*`]),
      ...[...node.children].filter(([point]) => point !== 0x5c).map(([point, child]) => `${characterClass([[point, point]])} ${this.builder.rule('unlike', this.unlike(child))}`),
    ];
    return oneOf(alternatives);
  }
}

class NameNode {
  readonly children = new Map<number, NameNode>();
  isEnd = false;

  add(name: string): void {
    let node: NameNode = this;
    for (const character of name) {
      const point = character.codePointAt(0) ?? 0;
      const child = node.children.get(point) ?? new NameNode();
      node.children.set(point, child);
      node = child;
    }
    node.isEnd = true;
  }
}

function withoutPoints(ranges: readonly CharacterRange[], points: readonly number[]): readonly CharacterRange[] {
  let left = [...ranges];
  for (const point of points) {
    left = left.flatMap(([first, last]): CharacterRange[] => {
      if (point < first || point > last) return [[first, last]];
      return [...(first < point ? [[first, point - 1] as const] : []), ...(point < last ? [[point + 1, last] as const] : [])];
    });
  }
  return left;
}
