/**
 * Feeds decoders bytes that nobody meant. A decoder may take them or refuse them with an error of ours; it may not throw
 * anything else, nor ask for memory out of proportion. A run is repeated by its seed, an input by its number in the run.
 *
 * It must not know what any decoder is for.
 */
import { ApiError } from '../../src/api/api-error.js';
import { RingError } from '../../src/core/errors.js';
import { Random } from '../sim/random.js';
import { mutated, mutatedJson, randomBytes } from './mutate.js';

export interface FuzzTarget {
  readonly name: string;
  /** What it is meant to read. */
  readonly seeds: readonly Uint8Array[];
  /** Seeds are JSON: most inputs are JSON too. Absent = bytes. */
  readonly json?: boolean;
  /** Of a thousand inputs: how many this target gets, because it is slow. Absent = all. */
  readonly share?: number;
  run(input: Uint8Array): unknown;
}

export interface FuzzFailure {
  readonly target: string;
  readonly seed: number;
  readonly input: number;
  readonly hex: string;
  readonly error: string;
}

export interface FuzzResult {
  readonly inputs: number;
  readonly refused: number;
  readonly failures: readonly FuzzFailure[];
  /** Largest buffer that was asked for at once. */
  readonly largestBytes: number;
  readonly slowestMs: number;
}

/** No input here is larger than some kilobytes: nothing needs more than a frame's first piece and a bit. */
export const MAX_REQUESTED_BYTES = 16 * 1024 * 1024;
const MAX_FAILURES = 5;
const MAX_HEX_CHARACTERS = 4_096;
const PER_MILLE = 1_000;

export async function fuzz(target: FuzzTarget, options: { readonly seed: number; readonly inputs: number }): Promise<FuzzResult> {
  const failures: FuzzFailure[] = [];
  const inputs = Math.ceil((options.inputs * (target.share ?? PER_MILLE)) / PER_MILLE);
  const watch = watchBuffers();
  let refused = 0;
  let slowestMs = 0;
  let done = 0;
  try {
    for (let input = 0; input < inputs && failures.length < MAX_FAILURES; input += 1) {
      const bytes = inputOf(target, options.seed, input);
      const startedMs = performance.now();
      const error = await errorOf(target, bytes);
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      done += 1;
      if (error === null) continue;
      if (error instanceof RingError || error instanceof ApiError) refused += 1;
      else failures.push({ target: target.name, seed: options.seed, input, hex: Buffer.from(bytes).toString('hex').slice(0, MAX_HEX_CHARACTERS), error: error instanceof Error ? error.stack ?? error.message : String(error) });
    }
  } finally {
    watch.stop();
  }
  return { inputs: done, refused, failures, largestBytes: watch.largestBytes(), slowestMs };
}

/** The same input for the same numbers, whatever came before. */
export function inputOf(target: FuzzTarget, seed: number, input: number): Uint8Array {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(input + 1, 0x85ebca6b));
  if (target.json === true && random.chance(0.7)) return mutatedJson(random, target.seeds);
  return target.seeds.length === 0 || random.chance(0.1) ? randomBytes(random) : mutated(random, target.seeds);
}

async function errorOf(target: FuzzTarget, bytes: Uint8Array): Promise<unknown> {
  try {
    await target.run(bytes);
    return null;
  } catch (error) {
    return error ?? new Error('something that is no error was thrown');
  }
}

/** Notes the largest size that Node's buffers were asked for: a length is believed there or nowhere. */
function watchBuffers(): { largestBytes(): number; stop(): void } {
  const names = ['alloc', 'allocUnsafe', 'allocUnsafeSlow'] as const;
  const originals = names.map((name) => Buffer[name]);
  let largest = 0;
  for (const [index, name] of names.entries()) {
    const original = originals[index];
    Buffer[name] = (size: number, ...rest: []) => {
      largest = Math.max(largest, size);
      if (original === undefined) throw new Error('no allocator');
      return original.call(Buffer, size, ...rest);
    };
  }
  return {
    largestBytes: () => largest,
    stop: () => {
      for (const [index, name] of names.entries()) {
        const original = originals[index];
        if (original !== undefined) Buffer[name] = original;
      }
    },
  };
}
