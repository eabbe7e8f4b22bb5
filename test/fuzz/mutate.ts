/** Bytes that nobody meant: random ones, and seeds with a few changes, all from one seeded generator. */
import type { Random } from '../sim/random.js';

const MAX_RANDOM_BYTES = 512;
const MAX_CHANGES = 6;
const MAX_BLOCK_BYTES = 64;
const MAX_JSON_CHANGES = 3;
const MAX_JSON_DEPTH = 6;
const ODD_TEXTS: readonly string[] = ['', ' ', '\u0000', '__proto__', 'constructor', 'toString', 'text', 'user', 'assistant', 'object', 'null', '-1', '\ud800', 'a'.repeat(5_000), '../../etc/passwd', '{{ 1 }}'];
const ODD_NUMBERS: readonly number[] = [0, -0, -1, 0.5, 1, 255, 4_294_967_295, 4_294_967_296, 2 ** 53, -(2 ** 53), 1e308, 5e-324];
/** Lengths and counts at which decoders break. */
const EDGES: readonly number[] = [0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

export function randomBytes(random: Random, maxBytes = MAX_RANDOM_BYTES): Uint8Array {
  return Uint8Array.from({ length: random.between(0, maxBytes) }, () => random.between(0, 255));
}

/** A seed with one to six changes, now and then spliced with another one. */
export function mutated(random: Random, seeds: readonly Uint8Array[]): Uint8Array {
  let bytes: Uint8Array = Uint8Array.from(random.pick(seeds) ?? []);
  for (let changes = random.between(1, MAX_CHANGES); changes > 0; changes -= 1) bytes = changed(random, bytes, seeds);
  return bytes;
}

/** A JSON document with one to three of its values replaced, removed, doubled or misplaced. */
export function mutatedJson(random: Random, seeds: readonly Uint8Array[]): Uint8Array {
  let value: unknown = JSON.parse(new TextDecoder().decode(random.pick(seeds) ?? new Uint8Array()));
  for (let changes = random.between(1, MAX_JSON_CHANGES); changes > 0; changes -= 1) value = changedJson(random, value, 0);
  return new TextEncoder().encode(JSON.stringify(value) ?? 'null');
}

function changedJson(random: Random, value: unknown, depth: number): unknown {
  const inside = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (!inside || depth > MAX_JSON_DEPTH || random.chance(0.25)) return oddJson(random);
  if (Array.isArray(value)) {
    const at = random.between(0, value.length - 1);
    const copy: unknown[] = [...value];
    if (random.chance(0.2)) copy.splice(at, 1);
    else if (random.chance(0.2)) copy.push(copy[at]);
    else copy[at] = changedJson(random, copy[at], depth + 1);
    return copy;
  }
  const entries: [string, unknown][] = Object.entries(value);
  const at = random.between(0, entries.length - 1);
  const [key, held] = entries[at] ?? ['', null];
  if (random.chance(0.15)) entries.splice(at, 1);
  else if (random.chance(0.1)) entries[at] = [random.pick(ODD_TEXTS) ?? '', held];
  else entries[at] = [key, changedJson(random, held, depth + 1)];
  return Object.fromEntries(entries);
}

function oddJson(random: Random): unknown {
  switch (random.between(0, 5)) {
    case 0: return random.pick(ODD_TEXTS);
    case 1: return random.pick(ODD_NUMBERS);
    case 2: return random.pick([null, true, false, [], {}]);
    case 3: return Array.from({ length: random.between(1, 300) }, () => random.pick(ODD_NUMBERS));
    case 4: return nested(random.between(1, 200));
    default: return { [random.pick(ODD_TEXTS) ?? '']: random.pick(ODD_TEXTS), type: random.pick(ODD_TEXTS) };
  }
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function changed(random: Random, bytes: Uint8Array, seeds: readonly Uint8Array[]): Uint8Array {
  const at = random.between(0, Math.max(0, bytes.length - 1));
  const block = random.between(1, MAX_BLOCK_BYTES);
  switch (random.between(0, 8)) {
    case 0: {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.between(0, 7));
      return bytes;
    }
    case 1: {
      bytes[at] = random.between(0, 255);
      return bytes;
    }
    case 2: return bytes.subarray(0, at);
    case 3: return joined(bytes.subarray(0, at), randomBytes(random, block), bytes.subarray(at));
    case 4: return joined(bytes.subarray(0, at), bytes.subarray(at + block));
    case 5: return joined(bytes.subarray(0, at + block), bytes.subarray(at));
    case 6: return joined(bytes.subarray(0, at), (random.pick(seeds) ?? bytes).subarray(at));
    case 7: return edge(random, bytes, at, random.chance(0.5));
    default: return joined(bytes.subarray(0, at), varint(random.pick(EDGES) ?? 0), bytes.subarray(at + 1));
  }
}

/** An edge value of 32 or 64 bits, whichever end comes first. */
function edge(random: Random, bytes: Uint8Array, at: number, littleEndian: boolean): Uint8Array {
  const value = random.pick(EDGES) ?? 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (at + 8 <= bytes.length && random.chance(0.5)) view.setBigUint64(at, random.chance(0.5) ? BigInt(value) << 32n : BigInt(value), littleEndian);
  else if (at + 4 <= bytes.length) view.setUint32(at, value, littleEndian);
  return bytes;
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let left = value;
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80);
    left = Math.floor(left / 0x80);
  }
  return Uint8Array.of(...bytes, left);
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
