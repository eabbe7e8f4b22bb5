/**
 * The text: where it comes from, how it is cut, and in which order a training sees it. Everything follows from the text
 * and a seed. It must not know models.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorMessageOf, RingError } from '../../src/core/errors.js';
import type { Vocabulary } from '../../src/ports.js';
import { seededBits } from '../random-weights.js';
import type { BatchShape } from './decoder.js';
import type { Batch } from './trainer.js';

const MAX_TEXT_BYTES = 64 << 20;
const READ_TIMEOUT_MS = 60_000;
/** Shares of the text's bytes, from its end: first what is reported, before it what the best model is picked by. */
const HELD_OUT_SHARE = 0.02;
const VALIDATION_SHARE = 0.02;

export interface TextParts {
  /** Of the whole text, as UTF-8. */
  readonly sha256: string;
  readonly bytes: number;
  readonly train: string;
  readonly validation: string;
  readonly heldOut: string;
}

/** A file, or the whole of Debian's bible-kjv-text: one verse a line, without the references. */
export async function readText(file: string | null): Promise<string> {
  if (file !== null) return readFile(file, 'utf8');
  try {
    const { stdout } = await promisify(execFile)('bible', ['-f', 'gen1:1-rev22:21'], { maxBuffer: MAX_TEXT_BYTES, timeout: READ_TIMEOUT_MS });
    return stdout.split('\n').map((verse) => verse.slice(verse.indexOf(' ') + 1)).join('\n');
  } catch (cause) {
    throw new RingError('source_missing', `the King James text is not to be had: ${errorMessageOf(cause)}. Install Debian's package bible-kjv, or name a text with --text`, {}, { cause });
  }
}

/** Cuts at ends of lines, at or after the byte where a share begins. */
export function cutText(text: string): TextParts {
  const bytes = Buffer.from(text);
  const cut = (share: number): number => {
    const end = bytes.indexOf('\n', Math.floor(bytes.length * (1 - share)));
    return end < 0 ? bytes.length : end + 1;
  };
  const validation = cut(HELD_OUT_SHARE + VALIDATION_SHARE);
  const heldOut = cut(HELD_OUT_SHARE);
  return {
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.length,
    train: bytes.toString('utf8', 0, validation),
    validation: bytes.toString('utf8', validation, heldOut),
    heldOut: bytes.toString('utf8', heldOut),
  };
}

export function tokenize(vocabulary: Vocabulary, text: string): Int32Array {
  return vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false });
}

/**
 * Batches to measure a text by: windows of `length` tokens, each begun by `bos`, that begin `overlap` tokens before the end
 * of the one before. Every token is asked for exactly once, where it has the most others before it; what is left of the
 * last batch asks nothing.
 */
export function* measuringBatches(
  tokens: Int32Array, shape: BatchShape, ids: { readonly bos: number; readonly nothing: number }, overlap = 0,
): Generator<Batch> {
  const { sequences, length } = shape;
  let start = 0;
  let asked = 0;
  while (asked < tokens.length) {
    const batch = { tokens: new Int32Array(sequences * length).fill(ids.bos), targets: new Int32Array(sequences * length).fill(ids.nothing) };
    for (let sequence = 0; sequence < sequences && asked < tokens.length; sequence++) {
      const window = tokens.subarray(start, start + length);
      batch.tokens.set(window.subarray(0, length - 1), sequence * length + 1);
      batch.targets.set(window.subarray(asked - start), sequence * length + asked - start);
      asked = start + window.length;
      start += length - overlap;
    }
    yield batch;
  }
}

/**
 * The batches of an endless training: passes over the text, each cut into windows from another offset and
 * shuffled anew. A window is begun by `bos`, as every prompt is.
 */
export class TrainingOrder {
  private pass = -1;
  private starts: number[] = [];

  constructor(private readonly tokens: Int32Array, private readonly shape: BatchShape, private readonly bos: number, private readonly seed: string) {
    if (tokens.length < 2 * shape.length) {
      throw new RingError('bad_config', `a text of ${tokens.length} tokens is too short for windows of ${shape.length}; use a longer text or a smaller --length`);
    }
  }

  /** `window` counts windows from the training's start. */
  batch(window: number): Batch {
    const { sequences, length } = this.shape;
    const tokens = new Int32Array(sequences * length);
    const targets = new Int32Array(sequences * length);
    for (let sequence = 0; sequence < sequences; sequence++) {
      const start = this.start(window + sequence);
      const asked = this.tokens.subarray(start, start + length);
      targets.set(asked, sequence * length);
      tokens[sequence * length] = this.bos;
      tokens.set(asked.subarray(0, length - 1), sequence * length + 1);
    }
    return { tokens, targets };
  }

  private start(window: number): number {
    // One window less than fits, so that every offset leaves as many.
    const perPass = Math.floor(this.tokens.length / this.shape.length) - 1;
    const pass = Math.floor(window / perPass);
    if (pass !== this.pass) this.shuffle(pass, perPass);
    return this.starts[window % perPass] ?? 0;
  }

  private shuffle(pass: number, perPass: number): void {
    const bits = seededBits(`${this.seed}/pass ${pass} of ${this.shape.length}`);
    const offset = bits() % this.shape.length;
    const starts = Array.from({ length: perPass }, (_, index) => offset + index * this.shape.length);
    for (let last = starts.length - 1; last > 0; last--) {
      const other = bits() % (last + 1);
      const [a = 0, b = 0] = [starts[last], starts[other]];
      starts[last] = b;
      starts[other] = a;
    }
    this.pass = pass;
    this.starts = starts;
  }
}
