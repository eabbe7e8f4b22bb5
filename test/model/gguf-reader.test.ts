import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseGgufHeader, readGgufHeader, shardName } from '../../src/model/gguf-reader.js';
import { parseGgufFile } from '../../src/model/gguf-parser.js';
import { arrayNumbers, arrayStrings, metadataArray, metadataNumber, metadataText, numberArray, stringArray, text, uint32 } from '../../src/model/gguf-values.js';
import type { GgufValue } from '../../src/model/gguf-values.js';
import { smallFile, smallMetadata, smallTensors } from '../support/small-gguf.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { codeOf } from '../support/thrown.js';

function parse(bytes: Uint8Array, fileBytes = bytes.length): unknown {
  return parseGgufFile(bytes, fileBytes, 'test.gguf');
}

/** Bytes by hand: the lies that a writer would not write. */
class Bytes {
  private readonly parts: number[] = [];
  u32(value: number): this { const b = Buffer.alloc(4); b.writeUInt32LE(value); this.parts.push(...b); return this; }
  u64(value: bigint): this { const b = Buffer.alloc(8); b.writeBigUInt64LE(value); this.parts.push(...b); return this; }
  text(value: string): this { const b = Buffer.from(value); this.u64(BigInt(b.length)); this.parts.push(...b); return this; }
  start(tensors: bigint, entries: bigint, version = 3): this { return this.u32(0x46554747).u32(version).u64(tensors).u64(entries); }
  tensor(name: string, dims: bigint[], type: number, offset: bigint): this {
    this.text(name).u32(dims.length);
    for (const dim of dims) this.u64(dim);
    return this.u32(type).u64(offset);
  }
  pad(length: number): Uint8Array { const b = Buffer.alloc(Math.max(length, this.parts.length)); b.set(this.parts); return b; }
}

describe('reading a well-formed header', () => {
  it('finds the built-in model as it is described', async () => {
    const header = await readGgufHeader('models/kjv-q8_0.gguf');
    expect(metadataText(header.metadata, 'general.architecture')).toBe('llama');
    expect(metadataNumber(header.metadata, 'llama.block_count')).toBe(5);
    expect(metadataArray(header.metadata, 'tokenizer.ggml.tokens')?.length).toBe(2048);
    expect(header.identity.sizeBytes).toBe(4_897_248);
    expect(header.identity.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('gives back what was written, arrays included', () => {
    const metadata = smallMetadata();
    const header = parseGgufHeader([smallFile(metadata)], 1e9);
    expect([...header.metadata.keys()]).toEqual([...metadata.keys()]);
    expect(arrayStrings(metadataArray(header.metadata, 'tokenizer.ggml.tokens') ?? stringArray([]))).toEqual(['a', 'b', 'ü', '<s>']);
    expect(arrayNumbers(metadataArray(header.metadata, 'llama.attention.head_count_kv') ?? numberArray('uint32', []))).toEqual([1, 2, 1, 2]);
    expect(header.tensors.map((tensor) => tensor.name)).toEqual(smallTensors().map((tensor) => tensor.name));
  });

  it('has one identity whether read from a file or sent by a peer', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'small.gguf');
    await writeFile(path, smallFile());
    const fromDisk = await readGgufHeader(path);
    const fromPeer = parseGgufHeader(fromDisk.files.map((file) => file.header), fromDisk.identity.sizeBytes);
    expect(fromPeer.identity).toEqual(fromDisk.identity);
    expect(fromPeer.tensors).toEqual(fromDisk.tensors);
  });

  it('takes shards as one model, also when the first has no tensor', async () => {
    const directory = temporaryDirectory();
    const all = smallTensors();
    const split = new Map<string, GgufValue>([...smallMetadata(), ['split.count', { type: 'uint16', value: 3 }]]);
    const other = new Map<string, GgufValue>([['split.count', { type: 'uint16', value: 3 }]]);
    const path = (n: number): string => join(directory, `big-0000${n}-of-00003.gguf`);
    await writeFile(path(1), smallFile(split, []));
    await writeFile(path(2), smallFile(other, all.slice(0, 5)));
    await writeFile(path(3), smallFile(other, all.slice(5)));
    for (const start of [1, 2, 3]) {
      const header = await readGgufHeader(path(start));
      expect(header.tensors.map((tensor) => tensor.name)).toEqual(all.map((tensor) => tensor.name));
      expect(header.tensors.map((tensor) => tensor.fileIndex)).toEqual(all.map((_, index) => (index < 5 ? 1 : 2)));
      expect(metadataText(header.metadata, 'general.architecture')).toBe('llama');
    }
    expect(shardName(path(2))).toEqual({ prefix: 'big', number: 2, count: 3 });
  });

  it('says which shard is missing', async () => {
    const directory = temporaryDirectory();
    await writeFile(join(directory, 'a-00001-of-00002.gguf'), smallFile());
    await expect(readGgufHeader(join(directory, 'a-00001-of-00002.gguf'))).rejects.toThrow(/a-00002-of-00002\.gguf does not exist/);
  });

  it('reads a vocabulary of 256,000 tokens in well under a second', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'vocabulary.gguf');
    const metadata = smallMetadata();
    metadata.set('tokenizer.ggml.tokens', stringArray(Array.from({ length: 256_000 }, (_, index) => `token number ${index}`)));
    metadata.set('tokenizer.ggml.merges', stringArray(Array.from({ length: 256_000 }, (_, index) => `left${index} right${index}`)));
    metadata.set('tokenizer.ggml.scores', numberArray('float32', Array.from({ length: 256_000 }, () => 1)));
    await writeFile(path, smallFile(metadata));
    const start = performance.now();
    const header = await readGgufHeader(path);
    expect(performance.now() - start).toBeLessThan(1000);
    expect(metadataArray(header.metadata, 'tokenizer.ggml.tokens')?.length).toBe(256_000);
  });
});

describe('a hostile header is refused with bad_gguf, quickly', () => {
  const huge = 1n << 60n;
  const cases: Record<string, Uint8Array> = {
    'another format': Buffer.from('PK\x03\x04 not a model, but long enough to look at'),
    'an empty file': new Uint8Array(0),
    'version 1': new Bytes().start(0n, 0n, 1).pad(64),
    'big-endian': new Bytes().start(0n, 0n, 0x0300_0000).pad(64),
    '2^60 tensors': new Bytes().start(huge, 0n).pad(4096),
    '2^60 metadata entries': new Bytes().start(0n, huge).pad(4096),
    '60,000 tensors in a small file': new Bytes().start(60_000n, 0n).pad(4096),
    'a key of 2^60 bytes': new Bytes().start(0n, 1n).u64(huge).pad(4096),
    'a string of 2^40 bytes': new Bytes().start(0n, 1n).text('k').u32(8).u64(1n << 40n).pad(4096),
    'an array of 2^60 bytes': new Bytes().start(0n, 1n).text('k').u32(9).u32(0).u64(huge).pad(4096),
    'an array of 2^63 strings': new Bytes().start(0n, 1n).text('k').u32(9).u32(8).u64(1n << 63n).pad(4096),
    'an array longer than the file': new Bytes().start(0n, 1n).text('k').u32(9).u32(10).u64(600n).pad(4096),
    'nested arrays': new Bytes().start(0n, 1n).text('k').u32(9).u32(9).u64(2n).u32(9).pad(4096),
    'an unknown value type': new Bytes().start(0n, 1n).text('k').u32(77).pad(4096),
    'an unknown element type': new Bytes().start(0n, 1n).text('k').u32(9).u32(13).u64(1n).pad(4096),
    'a key twice': new Bytes().start(0n, 2n).text('k').u32(4).u32(1).text('k').u32(4).u32(1).pad(4096),
    'alignment zero': new Bytes().start(0n, 1n).text('general.alignment').u32(4).u32(0).pad(4096),
    'alignment 48': new Bytes().start(0n, 1n).text('general.alignment').u32(4).u32(48).pad(4096),
    'alignment 2^31': new Bytes().start(0n, 1n).text('general.alignment').u32(4).u32(2 ** 31).pad(4096),
    'alignment as text': new Bytes().start(0n, 1n).text('general.alignment').u32(8).text('32').pad(4096),
    'no dimension': new Bytes().start(1n, 0n).tensor('t', [], 0, 0n).pad(4096),
    'five dimensions': new Bytes().start(1n, 0n).tensor('t', [1n, 1n, 1n, 1n, 1n], 0, 0n).pad(4096),
    'an empty dimension': new Bytes().start(1n, 0n).tensor('t', [0n], 0, 0n).pad(4096),
    'dimensions that overflow': new Bytes().start(1n, 0n).tensor('t', [1n << 31n, 1n << 31n, 1n << 31n], 0, 0n).pad(4096),
    'one dimension of 2^63': new Bytes().start(1n, 0n).tensor('t', [1n << 63n], 0, 0n).pad(4096),
    'an unknown tensor type': new Bytes().start(1n, 0n).tensor('t', [32n], 99, 0n).pad(4096),
    'a removed tensor type': new Bytes().start(1n, 0n).tensor('t', [32n], 31, 0n).pad(4096),
    'a row that is no whole block': new Bytes().start(1n, 0n).tensor('t', [33n], 8, 0n).pad(4096),
    'a tensor beyond the file': new Bytes().start(1n, 0n).tensor('t', [32n], 0, 1n << 40n).pad(4096),
    'a tensor that ends beyond the file': new Bytes().start(1n, 0n).tensor('t', [2048n], 0, 0n).pad(4096),
    'an offset of 2^63': new Bytes().start(1n, 0n).tensor('t', [32n], 0, 1n << 63n).pad(4096),
    'an unaligned offset': new Bytes().start(1n, 0n).tensor('t', [32n], 0, 8n).pad(4096),
    'overlapping tensors': new Bytes().start(2n, 0n).tensor('t', [32n], 0, 0n).tensor('u', [32n], 0, 32n).pad(4096),
    'a tensor twice': new Bytes().start(2n, 0n).tensor('t', [8n], 0, 0n).tensor('t', [8n], 0, 32n).pad(4096),
    'a name of 100 bytes': new Bytes().start(1n, 0n).tensor('t'.repeat(100), [8n], 0, 0n).pad(4096),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    it(name, () => {
      const start = performance.now();
      expect(codeOf(() => parse(bytes))).toBe('bad_gguf');
      expect(performance.now() - start).toBeLessThan(200);
    });
  }

  it('names file, place and remedy', () => {
    expect(() => parse(cases['unaligned'] ?? new Bytes().start(1n, 0n).tensor('t', [32n], 0, 8n).pad(4096)))
      .toThrow(/test\.gguf: tensor "t" begins at offset 8.*fetch it again/);
  });

  it('names the files that disagree about the number of shards', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'part.gguf');
    await writeFile(path, smallFile(new Map([...smallMetadata(), ['split.count', uint32(4)]])));
    await expect(readGgufHeader(path)).rejects.toThrow(/4 shards/);
  });
});

describe('damage at random', () => {
  const whole = smallFile(new Map([...smallMetadata(), ['general.alignment', uint32(32)], ['note', text('x'.repeat(40))]]));
  const parsed = parseGgufHeader([whole], whole.length);
  const headerBytes = parsed.files[0]?.header.length ?? 0;

  it('a file cut anywhere in its header is refused', () => {
    for (let length = 0; length < headerBytes; length++) {
      expect(codeOf(() => parse(whole.subarray(0, length), length))).toBe('bad_gguf');
    }
  });

  it('a file whose tensors are cut is refused', () => {
    for (const length of [headerBytes, headerBytes + 100, whole.length - 64]) {
      expect(codeOf(() => parse(whole.subarray(0, length), length))).toBe('bad_gguf');
    }
  });

  it('bytes that are not there yet are asked for', () => {
    for (let length = 0; length < headerBytes; length += 7) {
      expect(parse(whole.subarray(0, length), whole.length)).toHaveProperty('needBytes');
    }
  });

  it('flipped bytes end in a header or in bad_gguf, never in anything else', () => {
    let state = 12345;
    const draw = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((state / 2 ** 32) * limit);
    };
    const start = performance.now();
    for (let round = 0; round < 3000; round++) {
      const bytes = whole.slice();
      for (let flips = 1 + draw(4); flips > 0; flips--) bytes[draw(headerBytes)] = draw(256);
      expect(['nothing thrown', 'bad_gguf']).toContain(codeOf(() => parse(bytes)));
    }
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
