import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { planStageFile } from '../../src/model/stage-file.js';
import { writeHeaderOnly, writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource } from '../../src/model/tensor-source.js';
import type { Vocabulary } from '../../src/ports.js';
import { MODEL_FILE } from './engine-support.js';

let directory = '';
let vocabulary: Vocabulary;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ring-vocabulary-'));
  const header = await readGgufHeader(MODEL_FILE);
  const file = join(directory, 'header.gguf');
  await writeHeaderOnly(header, file);
  vocabulary = openVocabulary(file);
});

afterAll(async () => {
  vocabulary.close();
  vocabulary.close();
  await rm(directory, { recursive: true, force: true });
});

const text = (tokens: Int32Array, special = false): string =>
  Buffer.concat([...tokens].map((token) => vocabulary.piece(token, special))).toString('utf8');

describe('a vocabulary from a header-only file', () => {
  it('knows its special tokens', () => {
    expect([vocabulary.size, vocabulary.bos, vocabulary.endOfGeneration.has(0)]).toEqual([2048, 0, true]);
  });

  it.each(['And it came to pass', 'In the beginning God created the heaven and the earth.', 'naïve ☃ 漢字 \u{1f600}', ' \n\t spaces ', 'a'.repeat(5_000), ''])(
    'gives %j back byte for byte', (source) => {
      expect(text(vocabulary.tokenize(source, { addSpecial: false, parseSpecial: false }))).toBe(source);
    },
  );

  it('treats special text as text unless told otherwise', () => {
    const source = '<|endoftext|>';
    expect(vocabulary.tokenize(source, { addSpecial: false, parseSpecial: false })).not.toContain(0);
    const parsed = vocabulary.tokenize(source, { addSpecial: false, parseSpecial: true });
    expect([...parsed]).toEqual([0]);
    expect([text(parsed), text(parsed, true)]).toEqual(['', source]);
    expect(vocabulary.tokenize('a', { addSpecial: true, parseSpecial: false })[0] === vocabulary.bos).toBe(vocabulary.addsBos);
  });

  it('refuses tokens that it does not have', () => {
    for (const token of [-1, 2048, 0.5]) expect(() => vocabulary.piece(token)).toThrow(RingError);
  });

  it('refuses a stage file, which has none', async () => {
    const header = await readGgufHeader(MODEL_FILE);
    const file = join(directory, 'middle.gguf');
    await writeStageFile(planStageFile(header, { range: { start: 1, end: 2 }, head: false, tail: false }), modelTensorSource(header, new DigestCache(null)), file);
    expect(() => openVocabulary(file)).toThrow(/no tokenizer/);
  });
});
