/**
 * JSON Schema as a grammar: what the grammar allows, the schema allows.
 *
 * The grammar may allow less: properties come in the order in which the schema names them, further ones only where the
 * schema says so, numbers are of bounded length. A keyword that cannot be followed is refused by name, or, where the
 * caller only wants the shape (`widen`), left out. Pure.
 */
import { oneOf } from './gbnf.js';
import { JsonRules } from './json-rules.js';
import { integersBetween, numbersBetween } from './number-rules.js';
import type { NumberBound } from './number-rules.js';
import {
  ANNOTATIONS, impliedTypes, isRecord, MAX_SCHEMA_DEPTH, requiredOf, SchemaParts, schemaProblem, typeOfValue, typesOf,
} from './schema-parts.js';
import type { Schema } from './schema-parts.js';
import { formatRule, knownFormats } from './string-format.js';
import { patternRule } from './string-pattern.js';

export interface SchemaOptions {
  /** `refuse`: throw, naming the keyword. `widen`: go on without it. */
  readonly unsupported: 'refuse' | 'widen';
}

/** Most schemas in a schema, and alternatives that they are multiplied out to. */
const MAX_SCHEMAS = 20_000;
const FOLLOWED: ReadonlySet<string> = new Set([
  'type', 'nullable', 'enum', 'const', 'anyOf', 'oneOf',
  'minLength', 'maxLength', 'pattern', 'format',
  'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
  'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties', 'unevaluatedProperties',
  'items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems',
]);

/** Name of a rule (or an expression) for values of the schema. Throws `bad_request` naming keyword and place. */
export function schemaRule(json: JsonRules, schema: unknown, options: SchemaOptions): string {
  return new SchemaReader(json, schema, options).read();
}

class SchemaReader {
  private readonly parts: SchemaParts;
  private readonly references = new Map<string, string>();
  private schemas = 0;

  constructor(private readonly json: JsonRules, private readonly root: unknown, private readonly options: SchemaOptions) {
    this.parts = new SchemaParts(root);
  }

  read(): string {
    return this.rule(this.root, '#', 0);
  }

  private rule(given: unknown, path: string, depth: number): string {
    this.schemas += 1;
    if (depth > MAX_SCHEMA_DEPTH || this.schemas > MAX_SCHEMAS) throw schemaProblem(path, 'is too large or nested too deeply');
    if (given === true) return this.json.value;
    if (!isRecord(given)) throw schemaProblem(path, given === false ? 'allows nothing' : 'is no schema: it must be an object');
    const keywords = Object.keys(given).filter((keyword) => !ANNOTATIONS.has(keyword));
    if (keywords.length === 1 && keywords[0] === '$ref') return this.reference(given['$ref'], path, depth);
    const [only] = Array.isArray(given['allOf']) && given['allOf'].length === 1 ? given['allOf'] : [];
    if (keywords.length === 1 && only !== undefined) return this.rule(only, `${path}/allOf/0`, depth + 1);
    const schema = this.parts.flat(given, path);
    this.checkKeywords(schema, path);
    return this.json.builder.rule(path.split('/').at(-1) ?? 'schema', this.alternativesOf(schema, path, depth));
  }

  private reference(reference: unknown, path: string, depth: number): string {
    const key = String(reference);
    const known = this.references.get(key);
    if (known !== undefined) return known;
    const target = this.parts.target(reference, path);
    const name = this.json.builder.reserve(key.split('/').at(-1) ?? 'ref');
    this.references.set(key, name);
    this.json.builder.define(name, this.rule(target, key, depth + 1));
    return name;
  }

  private alternativesOf(schema: Schema, path: string, depth: number): string {
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const branches = schema[keyword];
      if (branches === undefined) continue;
      if (!Array.isArray(branches) || branches.length === 0) throw schemaProblem(path, `has an "${keyword}" that is no list of schemas`);
      const { [keyword]: _branches, ...base } = schema;
      if (keyword === 'oneOf') this.checkExclusive(branches, path);
      return oneOf(branches.map((branch: unknown, index) => {
        const place = `${path}/${keyword}/${index}`;
        if (Object.keys(base).every((key) => ANNOTATIONS.has(key))) return this.rule(branch, place, depth + 1);
        if (!isRecord(branch)) throw schemaProblem(place, 'is no schema: it must be an object');
        return this.rule(this.parts.both(base, this.parts.flat(branch, place), place), place, depth + 1);
      }));
    }
    if (schema['const'] !== undefined || schema['enum'] !== undefined) return this.values(schema, path);
    const types = typesOf(schema) ?? impliedTypes(schema);
    if (schema['type'] !== undefined && typesOf(schema) === null) throw schemaProblem(path, 'has a "type" that is neither a name nor a list of names');
    const alternatives = types === null ? [this.json.value] : types.map((type) => this.ofType(type, schema, path, depth));
    return oneOf([...alternatives, ...(schema['nullable'] === true ? [this.json.null] : [])]);
  }

  /** In JSON Schema exactly one may match; a grammar can only say "one of these", which is the same if no two can. */
  private checkExclusive(branches: readonly unknown[], path: string): void {
    branches.forEach((branch, index) => {
      for (const other of branches.slice(index + 1)) {
        if (!this.parts.exclude(branch, other, path)) this.unsupported('oneOf', path, 'with branches of which two can match at once; use anyOf');
      }
    });
  }

  private values(schema: Schema, path: string): string {
    const given: unknown = schema['const'] === undefined ? schema['enum'] : [schema['const']];
    if (!Array.isArray(given) || given.length === 0) throw schemaProblem(path, 'has an "enum" that is no list of values');
    const types = typesOf(schema);
    const bounds = Object.keys(schema).find((keyword) => !['const', 'enum', 'type', 'nullable'].includes(keyword) && !ANNOTATIONS.has(keyword));
    if (bounds !== undefined) this.unsupported(bounds, path, 'together with enum or const');
    const values: readonly unknown[] = given;
    const possible = values.filter((value) => types === null || types.includes(typeOfValue(value)) || (typeof value === 'number' && types.includes('number')));
    if (possible.length === 0) throw schemaProblem(path, 'names values that are not of its type');
    return oneOf([...possible.map((value) => this.json.fixed(value)), ...(schema['nullable'] === true ? [this.json.null] : [])]);
  }

  private ofType(type: string, schema: Schema, path: string, depth: number): string {
    switch (type) {
      case 'object': return this.object(schema, path, depth);
      case 'array': return this.array(schema, path, depth);
      case 'string': return this.string(schema, path);
      case 'integer': case 'number': return this.number(schema, path, type === 'integer');
      case 'boolean': return this.json.boolean;
      case 'null': return this.json.null;
      default: throw schemaProblem(path, `has the type ${JSON.stringify(type.slice(0, 40))}, which JSON does not know`);
    }
  }

  private string(schema: Schema, path: string): string {
    const min = this.count(schema, 'minLength', path) ?? 0;
    const max = this.count(schema, 'maxLength', path);
    checkOrder(min, max, 'Length', path);
    const { pattern, format } = schema;
    const bounded = min > 0 || max !== null;
    if (pattern !== undefined) {
      if (typeof pattern !== 'string') throw schemaProblem(path, 'has a "pattern" that is no text');
      if (format !== undefined) this.unsupported('format', path, 'together with pattern');
      if (bounded) this.unsupported('pattern', path, 'together with minLength or maxLength; say the length in the pattern');
      const content = this.tolerated('pattern', path, () => patternRule(this.json, pattern));
      if (content !== null) return this.json.builder.rule('matching', `"\\"" ${content} "\\""`);
    }
    if (format !== undefined) {
      const content = formatRule(this.json, String(format));
      if (content === null) this.unsupported('format', path, `${JSON.stringify(String(format).slice(0, 40))}; known are ${knownFormats().join(', ')}`);
      else if (bounded) this.unsupported('format', path, 'together with minLength or maxLength');
      if (content !== null) return this.json.builder.rule('formatted', `"\\"" ${content} "\\""`);
    }
    return this.json.string(min, max);
  }

  private number(schema: Schema, path: string, whole: boolean): string {
    const low = boundOf(schema, 'minimum', 'exclusiveMinimum', Math.max, path);
    const high = boundOf(schema, 'maximum', 'exclusiveMaximum', Math.min, path);
    const step = schema['multipleOf'];
    if (step !== undefined && step !== 1) this.unsupported('multipleOf', path, 'other than 1');
    const isWhole = whole || step === 1;
    if (low === null && high === null) return isWhole ? this.json.integer : this.json.number;
    const body = isWhole ? integersBetween(low, high) : this.tolerated('minimum', path, () => numbersBetween(low, high) ?? '');
    if (body === '' || (isWhole && body === null)) throw schemaProblem(path, 'has bounds between which there is no number');
    return body === null ? this.json.number : this.json.builder.rule('bounded', body);
  }

  private array(schema: Schema, path: string, depth: number): string {
    const { json } = this;
    const fixed = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : Array.isArray(schema['items']) ? schema['items'] : [];
    const further = Array.isArray(schema['items']) ? schema['additionalItems'] : schema['items'];
    const min = this.count(schema, 'minItems', path) ?? 0;
    const max = this.count(schema, 'maxItems', path);
    checkOrder(min, max, 'Items', path);
    if (schema['uniqueItems'] === true && (max === null || max > 1)) this.unsupported('uniqueItems', path, 'with more than one item');
    const length = Math.min(fixed.length, max ?? fixed.length);
    const places = fixed.slice(0, length).map((item: unknown, index) => this.rule(item, `${path}/prefixItems/${index}`, depth + 1));
    if (places.length === 0) {
      if (max === 0 || further === false) return json.builder.rule('empty', `"[" ${json.space} "]"`);
      const item = further === undefined ? json.value : this.rule(further, `${path}/items`, depth + 1);
      const list = json.list(json.builder.rule('item', item), min, max);
      return json.builder.rule('array', `"[" ${json.space} ${min === 0 ? `(${list})?` : list} "]"`);
    }
    // Of a tuple all places are filled, unless fewer are asked for than there are.
    const more = max !== null && max <= length || further === false || further === undefined ? '' : this.furtherItems(further, Math.max(0, min - length), max === null ? null : max - length, path, depth);
    if (min > length && more === '') throw schemaProblem(path, `needs ${min} items and describes ${length}`);
    return json.builder.rule('tuple', `"[" ${json.space} ${places.join(` ${json.space} "," ${json.space} `)} ${json.space} ${more} "]"`);
  }

  private furtherItems(schema: unknown, min: number, max: number | null, path: string, depth: number): string {
    const item = this.rule(schema, `${path}/items`, depth + 1);
    return this.json.builder.repeat(this.json.builder.rule('further', `"," ${this.json.space} ${item} ${this.json.space}`), min, max);
  }

  private object(schema: Schema, path: string, depth: number): string {
    const { json } = this;
    const declared = schema['properties'] ?? {};
    if (!isRecord(declared)) throw schemaProblem(path, 'has "properties" that are no object');
    const required = new Set(requiredOf(schema));
    const extra = schema['additionalProperties'];
    const properties = new Map<string, unknown>(Object.entries(declared));
    for (const name of required) {
      if (properties.has(name)) continue;
      if (extra === false) throw schemaProblem(path, `requires ${JSON.stringify(name.slice(0, 60))} and does not allow it`);
      properties.set(name, extra ?? true);
    }
    // A property that nothing matches must be absent.
    for (const [name, property] of properties) if (property === false && !required.has(name)) properties.delete(name);
    this.checkPropertyCounts(schema, properties.size, required.size, extra, path);
    if (properties.size === 0) {
      if (extra === false) return json.builder.rule('empty', `"{" ${json.space} "}"`);
      return this.map(schema, extra ?? true, path, depth);
    }
    const entries = [...properties].map(([name, property]) => ({
      required: required.has(name),
      rule: json.builder.rule(`${name}-entry`, `${json.fixed(name)} ":" ${json.space} ${this.rule(property, `${path}/properties/${encodePointer(name)}`, depth + 1)} ${json.space}`),
    }));
    // From the last backwards: what may follow when something stands before it, and when nothing does.
    let behind = '';
    let first: string | null = '';
    if (extra !== undefined && extra !== false) {
      const entry = this.extraEntry([...properties.keys()], extra, path, depth);
      const more = json.builder.rule('more', `"," ${json.space} ${entry} ${json.space}`);
      behind = `${more}*`;
      first = json.builder.rule('extras', `(${entry} ${json.space} ${more}*)?`);
    }
    for (const entry of entries.reverse()) {
      const alone = `${entry.rule} ${behind}`.trim();
      const joined = `"," ${json.space} ${alone}`;
      const before: string | null = first;
      first = json.builder.rule('entries', entry.required || before === null ? alone : `${alone} | ${before === '' ? '""' : before}`);
      behind = json.builder.rule('rest', entry.required ? joined : `${joined} | ${behind === '' ? '""' : behind}`);
    }
    return json.builder.rule('object', `"{" ${json.space} ${first} "}"`);
  }

  private map(schema: Schema, extra: unknown, path: string, depth: number): string {
    const { json } = this;
    const min = this.count(schema, 'minProperties', path) ?? 0;
    const max = this.count(schema, 'maxProperties', path);
    const isFree = extra === true && min === 0 && max === null;
    if (isFree) return json.object;
    const list = json.list(this.extraEntry([], extra, path, depth), min, max);
    if (max === 0) return json.builder.rule('empty', `"{" ${json.space} "}"`);
    return json.builder.rule('map', `"{" ${json.space} ${min === 0 ? `(${list})?` : list} "}"`);
  }

  private extraEntry(names: readonly string[], extra: unknown, path: string, depth: number): string {
    const { json } = this;
    const value = this.rule(extra, `${path}/additionalProperties`, depth + 1);
    return json.builder.rule('entry', `${names.length === 0 ? json.string(0, null) : json.keyOtherThan(names)} ":" ${json.space} ${value}`);
  }

  /** Two entries of one name are one property: a grammar does not notice. */
  private checkPropertyCounts(schema: Schema, named: number, required: number, extra: unknown, path: string): void {
    const min = this.count(schema, 'minProperties', path) ?? 0;
    const max = this.count(schema, 'maxProperties', path);
    checkOrder(min, max, 'Properties', path);
    if (min > Math.max(required, named === 0 ? 1 : 0)) this.unsupported('minProperties', path, 'above what is required');
    if (max !== null && named > 0 && (max < named || (extra !== undefined && extra !== false))) this.unsupported('maxProperties', path, 'below what may be there');
    const unevaluated = schema['unevaluatedProperties'];
    if (unevaluated !== undefined && unevaluated !== false && unevaluated !== true) this.unsupported('unevaluatedProperties', path, 'with a schema');
  }

  private count(schema: Schema, keyword: string, path: string): number | null {
    const value = schema[keyword];
    if (value === undefined) return null;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw schemaProblem(path, `has a "${keyword}" that is no whole number`);
    return value;
  }

  private checkKeywords(schema: Schema, path: string): void {
    for (const keyword of Object.keys(schema)) {
      if (FOLLOWED.has(keyword) || ANNOTATIONS.has(keyword)) continue;
      this.unsupported(keyword, path, '');
    }
    const { format } = schema;
    if (format !== undefined && typeof format !== 'string') throw schemaProblem(path, 'has a "format" that is no text');
  }

  private tolerated(keyword: string, path: string, make: () => string): string | null {
    try {
      return make();
    } catch (error) {
      this.unsupported(keyword, path, `(${error instanceof Error ? error.message : String(error)})`);
      return null;
    }
  }

  private unsupported(keyword: string, path: string, detail: string): void {
    if (this.options.unsupported === 'widen') return;
    throw schemaProblem(path, `has ${JSON.stringify(keyword.slice(0, 60))}${detail === '' ? '' : ` ${detail}`}, which is not supported`);
  }
}

function boundOf(schema: Schema, inclusive: string, exclusive: string, stricter: (a: number, b: number) => number, path: string): NumberBound | null {
  const value = schema[inclusive];
  const strict = schema[exclusive];
  if (value !== undefined && !isFiniteNumber(value)) throw schemaProblem(path, `has a "${inclusive}" that is no number`);
  // Draft 4 had a flag beside the bound.
  if (typeof strict === 'boolean') return value === undefined ? null : { value, exclusive: strict };
  if (strict !== undefined && !isFiniteNumber(strict)) throw schemaProblem(path, `has a "${exclusive}" that is no number`);
  if (strict === undefined) return value === undefined ? null : { value, exclusive: false };
  if (value === undefined || stricter(value, strict) === strict) return { value: strict, exclusive: true };
  return { value, exclusive: false };
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function checkOrder(min: number, max: number | null, what: string, path: string): void {
  if (max !== null && min > max) throw schemaProblem(path, `has a min${what} of ${min} above its max${what} of ${max}`);
}

function encodePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
