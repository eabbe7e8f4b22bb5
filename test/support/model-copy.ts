/**
 * A model of its own identity with the built-in model's weights: for tests in which one node holds a model that no other
 * has, although every node's package ships the built-in one. It must not know nodes.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from './package-root.js';

export const BUILT_IN_MODEL = join(PACKAGE_ROOT, 'models', 'kjv-q8_0.gguf');

const NAME_KEY = 'general.name';
/** After the key: u32 type, u64 length, then the text. */
const TEXT_OFFSET = NAME_KEY.length + 4 + 8;

/** Writes the built-in model to `target` with another first letter (ASCII) in its title: a different header, so a different digest. */
export function writeRenamedBuiltInModel(target: string, firstLetter = 0x58): void {
  const bytes = readFileSync(BUILT_IN_MODEL);
  const key = bytes.indexOf(NAME_KEY);
  if (key < 0) throw new Error(`${BUILT_IN_MODEL} has no ${NAME_KEY}`);
  const letter = key + TEXT_OFFSET;
  bytes[letter] = bytes[letter] === firstLetter ? firstLetter + 1 : firstLetter;
  writeFileSync(target, bytes);
}
