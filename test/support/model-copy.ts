/**
 * A model of its own identity with the built-in model's weights: for tests in which one node holds a model that no other
 * has, although every node's package ships the built-in one. It must not know nodes.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GGML_Q8_0 } from '../../src/model/ggml-types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { PACKAGE_ROOT } from './package-root.js';

export const BUILT_IN_MODEL = join(PACKAGE_ROOT, 'models', 'kjv-q8_0.gguf');

/** An f16 scale and 32 numbers. */
const Q8_0_BLOCK_BYTES = 34;
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

/** The built-in model with the low bits of its q8_0 weights stirred: of one vocabulary with it, and it says the same only mostly. */
export async function writeStirredBuiltInModel(target: string, mask = 0x0f): Promise<void> {
  writeRenamedBuiltInModel(target, 0x44);
  const bytes = readFileSync(target);
  let state = 1;
  for (const tensor of (await readGgufHeader(target)).tensors) {
    if (tensor.ggmlType !== GGML_Q8_0 || !tensor.name.startsWith('blk.')) continue;
    for (let block = tensor.offset; block < tensor.offset + tensor.sizeBytes; block += Q8_0_BLOCK_BYTES) {
      // The scale stays.
      for (let at = block + 2; at < block + Q8_0_BLOCK_BYTES; at += 1) {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        bytes[at] = (bytes[at] ?? 0) ^ ((state >>> 16) & mask);
      }
    }
  }
  writeFileSync(target, bytes);
}
