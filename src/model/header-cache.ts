/**
 * Headers of models that other nodes hold, kept in the state directory under their digest, so that a restart needs no
 * peer to know a model's shape. A file whose digest is wrong is as good as none.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RingError } from '../core/errors.js';
import type { WeightsHeader } from '../ports.js';
import { fileError } from './file-errors.js';
import { writeFully } from './file-io.js';
import { MAX_HEADER_BYTES } from './gguf-parser.js';
import type { GgufHeader } from './gguf-reader.js';
import { MAX_SHARDS, parseGgufHeader } from './gguf-reader.js';

const DIGEST = /^[0-9a-f]{64}$/;
const NEWLINE = 10;
const MAX_PREAMBLE_BYTES = 64 * 1024;
const MAX_NAME_CHARACTERS = 200;

/** True for what may become part of a file name here. */
export function isDigest(value: string): boolean {
  return DIGEST.test(value);
}

/** Throws `digest_mismatch` when a peer sent something else than was asked for. */
export function checkedHeader(sent: WeightsHeader, digest: string): GgufHeader {
  const hash = createHash('sha256');
  for (const file of sent.files) hash.update(file);
  if (hash.digest('hex') !== digest) throw new RingError('digest_mismatch', `a node sent another header than that of model ${digest.slice(0, 12)}`, { digest });
  const header = parseGgufHeader(sent.files, sent.sizeBytes, `model ${sent.name.slice(0, MAX_NAME_CHARACTERS)}`);
  if (header.identity.digest !== digest) throw new RingError('digest_mismatch', `a node sent a header with other bytes behind it for model ${digest.slice(0, 12)}`, { digest });
  return header;
}

export class HeaderCache {
  constructor(private readonly directory: string) {}

  private pathOf(digest: string): string {
    return join(this.directory, `${digest}.header`);
  }

  async load(digest: string): Promise<WeightsHeader | null> {
    if (!isDigest(digest)) return null;
    let content: Buffer;
    try {
      content = await readFile(this.pathOf(digest));
    } catch {
      // Not cached.
      return null;
    }
    const end = content.subarray(0, MAX_PREAMBLE_BYTES).indexOf(NEWLINE);
    const preamble = end < 0 ? null : parsePreamble(content.subarray(0, end).toString('utf8'));
    if (preamble === null) return null;
    let offset = end + 1;
    const files = preamble.lengths.map((length) => {
      const file = new Uint8Array(content.subarray(offset, offset + length));
      offset += length;
      return file;
    });
    const hash = createHash('sha256');
    for (const file of files) hash.update(file);
    return hash.digest('hex') === digest ? { name: preamble.name, sizeBytes: preamble.sizeBytes, files } : null;
  }

  async store(digest: string, header: WeightsHeader): Promise<void> {
    const path = this.pathOf(digest);
    const preamble = JSON.stringify({ name: header.name.slice(0, MAX_NAME_CHARACTERS), sizeBytes: header.sizeBytes, lengths: header.files.map((file) => file.length) });
    const bytes = Buffer.concat([Buffer.from(`${preamble}\n`), ...header.files]);
    try {
      await mkdir(dirname(path), { recursive: true });
      const handle = await open(`${path}.partial`, 'w');
      try {
        await writeFully(handle, bytes, 0);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(`${path}.partial`, path);
    } catch (error) {
      throw fileError(error, path, 'write', bytes.length);
    }
  }
}

function parsePreamble(line: string): { name: string; sizeBytes: number; lengths: number[] } | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Damaged: fetched again.
    return null;
  }
  if (typeof value !== 'object' || value === null || !('name' in value) || !('sizeBytes' in value) || !('lengths' in value)) return null;
  const { name, sizeBytes, lengths } = value;
  if (typeof name !== 'string' || typeof sizeBytes !== 'number' || !Array.isArray(lengths) || lengths.length > MAX_SHARDS) return null;
  const numbers: number[] = [];
  for (const length of lengths) {
    if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0 || length > MAX_HEADER_BYTES) return null;
    numbers.push(length);
  }
  return { name, sizeBytes, lengths: numbers };
}
