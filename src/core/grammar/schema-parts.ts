/**
 * JSON schemas as data: references followed, several schemas that hold at once made one, and whether two can hold at once.
 *
 * What cannot be made one is refused by name. It must not know grammars. Pure.
 */
import { RingError } from '../errors.js';

export type Schema = { readonly [keyword: string]: unknown };

/** References behind references, and schemas in schemas. */
export const MAX_SCHEMA_DEPTH = 64;

/** Say something about a schema and nothing about what it allows. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title', 'description', 'default', 'examples', 'example', '$schema', '$id', 'id', '$comment', 'deprecated', 'readOnly', 'writeOnly',
  '$defs', 'definitions', '$anchor', 'contentMediaType', 'contentEncoding', 'strict', 'markdownDescription', 'enumDescriptions',
]);

const HIGHER_WINS: ReadonlySet<string> = new Set(['minimum', 'minLength', 'minItems', 'minProperties']);
const LOWER_WINS: ReadonlySet<string> = new Set(['maximum', 'maxLength', 'maxItems', 'maxProperties']);

export function schemaProblem(path: string, what: string): RingError {
  return new RingError('bad_request', `the schema at ${path} ${what}`, { path });
}

export function isRecord(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sameJson(left: unknown, right: unknown): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([key, inner]) => [key, sorted(inner)]));
}

/** Of `type`, as a list; null = any. */
export function typesOf(schema: Schema): readonly string[] | null {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type) && type.length > 0 && type.every((one) => typeof one === 'string')) return type;
  return null;
}

export function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value;
}

export class SchemaParts {
  constructor(private readonly root: unknown) {}

  /** What a local reference names. */
  target(reference: unknown, path: string): unknown {
    if (typeof reference !== 'string' || !/^#($|\/)/.test(reference)) {
      throw schemaProblem(path, `has a reference to ${JSON.stringify(reference)?.slice(0, 100)}: only those within the schema ("#/$defs/…") are followed`);
    }
    let current: unknown = this.root;
    for (const step of reference.split('/').slice(1)) {
      const key = decodePointer(step);
      const known = typeof current === 'object' && current !== null && Object.hasOwn(current, key);
      if (!known) throw schemaProblem(path, `refers to ${JSON.stringify(reference.slice(0, 100))}, which is not there`);
      current = Reflect.get(current as object, key);
    }
    return current;
  }

  /** The same without `$ref` and `allOf` at its top. */
  flat(schema: Schema, path: string, depth = 0): Schema {
    if (depth > MAX_SCHEMA_DEPTH) throw schemaProblem(path, 'refers to itself without end, or is nested too deeply');
    const { $ref, allOf, ...rest } = schema;
    const parts: unknown[] = [...($ref === undefined ? [] : [this.target($ref, path)]), ...(Array.isArray(allOf) ? allOf : [])];
    if (allOf !== undefined && !Array.isArray(allOf)) throw schemaProblem(path, 'has an "allOf" that is no list');
    let merged: Schema = rest;
    for (const part of parts) {
      if (part === true) continue;
      if (!isRecord(part)) throw schemaProblem(path, 'is made of something that is no schema');
      merged = this.both(merged, this.flat(part, path, depth + 1), path);
    }
    return merged;
  }

  /** A schema that holds where both do. */
  both(left: Schema, right: Schema, path: string): Schema {
    const merged: Record<string, unknown> = { ...left };
    checkExtraNames(left, right, path);
    for (const [keyword, value] of Object.entries(right)) {
      if (ANNOTATIONS.has(keyword)) continue;
      const other = left[keyword];
      merged[keyword] = other === undefined || sameJson(other, value) ? value : this.bothOf(keyword, other, value, path);
    }
    return merged;
  }

  private bothOf(keyword: string, left: unknown, right: unknown, path: string): unknown {
    if (typeof left === 'number' && typeof right === 'number') {
      if (HIGHER_WINS.has(keyword) || keyword === 'exclusiveMinimum') return Math.max(left, right);
      if (LOWER_WINS.has(keyword) || keyword === 'exclusiveMaximum') return Math.min(left, right);
    }
    if (keyword === 'required' && Array.isArray(left) && Array.isArray(right)) return [...new Set<unknown>([...left, ...right])];
    if (keyword === 'properties' && isRecord(left) && isRecord(right)) {
      const names = new Set([...Object.keys(left), ...Object.keys(right)]);
      return Object.fromEntries([...names].map((name) => [name, bothSchemas(left[name], right[name])]));
    }
    if (keyword === 'items') return bothSchemas(left, right);
    if (keyword === 'enum' && Array.isArray(left) && Array.isArray(right)) {
      const common = left.filter((value) => right.some((other) => sameJson(value, other)));
      if (common.length > 0) return common;
    }
    if (keyword === 'type') {
      const common = commonTypes(typesOf({ type: left }) ?? [], typesOf({ type: right }) ?? []);
      if (common.length > 0) return common.length === 1 ? common[0] : common;
    }
    throw schemaProblem(path, `says "${keyword}" twice, and both cannot be followed at once`);
  }

  /** True only if no value can match both: then "one of" them is "any of" them. */
  exclude(left: unknown, right: unknown, path: string): boolean {
    if (!isRecord(left) || !isRecord(right)) return false;
    const first = this.flat(left, path);
    const second = this.flat(right, path);
    const values = valuesOf(first);
    const others = valuesOf(second);
    if (values !== null && others !== null) return !values.some((value) => others.some((other) => sameJson(value, other)));
    const types = values?.map(typeOfValue) ?? typesOf(first) ?? impliedTypes(first);
    const otherTypes = others?.map(typeOfValue) ?? typesOf(second) ?? impliedTypes(second);
    if (types === null || otherTypes === null) return false;
    if (commonTypes(types, otherTypes).length === 0) return true;
    const required = requiredOf(first).filter((name) => requiredOf(second).includes(name));
    const property = (schema: Schema, name: string): unknown => (isRecord(schema['properties']) ? schema['properties'][name] : undefined);
    return required.some((name) => this.exclude(property(first, name), property(second, name), path));
  }
}

export function requiredOf(schema: Schema): readonly string[] {
  const { required } = schema;
  return Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];
}

/** What a schema without `type` is about, where its keywords say so. */
export function impliedTypes(schema: Schema): readonly string[] | null {
  const has = (...keywords: readonly string[]): boolean => keywords.some((keyword) => schema[keyword] !== undefined);
  const types = [
    ...(has('properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties', 'patternProperties', 'propertyNames') ? ['object'] : []),
    ...(has('items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains') ? ['array'] : []),
    ...(has('minLength', 'maxLength', 'pattern', 'format') ? ['string'] : []),
    ...(has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf') ? ['number'] : []),
  ];
  return types.length === 0 ? null : types;
}

function valuesOf(schema: Schema): readonly unknown[] | null {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : null;
}

function commonTypes(left: readonly string[], right: readonly string[]): readonly string[] {
  const common = left.flatMap((type) => {
    if (right.includes(type)) return [type];
    if (type === 'number' && right.includes('integer')) return ['integer'];
    return type === 'integer' && right.includes('number') ? ['integer'] : [];
  });
  return [...new Set(common)];
}

function bothSchemas(left: unknown, right: unknown): unknown {
  if (left === undefined) return right;
  if (right === undefined) return left;
  return sameJson(left, right) ? left : { allOf: [left, right] };
}

/** One side may forbid what only the other names. */
function checkExtraNames(left: Schema, right: Schema, path: string): void {
  for (const [one, other] of [[left, right], [right, left]] as const) {
    if (one['additionalProperties'] === undefined || one['additionalProperties'] === true) continue;
    const names = isRecord(one['properties']) ? Object.keys(one['properties']) : [];
    const others = isRecord(other['properties']) ? Object.keys(other['properties']) : [];
    if (others.some((name) => !names.includes(name))) throw schemaProblem(path, 'has "additionalProperties" in a part that does not name the properties of the others');
  }
}

function decodePointer(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // A % that encodes nothing stands for itself.
    text = step;
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
