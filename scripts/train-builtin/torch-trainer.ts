/**
 * Trains on PyTorch in a child (`trainer.py`): one JSON line a command and an answer, each followed by the bytes it names.
 *
 * The child is ended by closing its input, and killed when it does not go. It must not know text or files.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { assert, RingError } from '../../src/core/errors.js';
import { weightSpecs } from './decoder.js';
import type { BatchShape, DecoderShape } from './decoder.js';
import { stateCount } from './optimizer.js';
import type { Batch, StepRates, Trainer, WeightState } from './trainer.js';

/** The longest that one step of any sane size takes. */
const ANSWER_TIMEOUT_MS = 30 * 60_000;
const EXIT_TIMEOUT_MS = 5_000;
const MAX_LINE_BYTES = 4096;
const MAX_COMPLAINT_CHARS = 2000;
const NEWLINE = 10;

const ANSWER = z.object({ bytes: z.number().int().nonnegative(), loss: z.number().optional(), version: z.string().optional() });
type Answer = z.infer<typeof ANSWER> & { readonly data: Buffer };

export class TorchTrainer implements Trainer {
  private received = Buffer.alloc(0);
  private wake: () => void = () => undefined;
  private ended = false;
  private complaint = '';

  private constructor(private readonly child: ChildProcessWithoutNullStreams, private readonly shape: DecoderShape) {
    child.stdout.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    child.stderr.on('data', (chunk: Buffer) => { this.complaint = (this.complaint + chunk.toString()).slice(-MAX_COMPLAINT_CHARS); });
    const end = (): void => {
      this.ended = true;
      this.wake();
    };
    child.once('close', end);
    child.once('error', (error) => {
      this.complaint += error.message;
      end();
    });
    // A child that died is told by `close`; the broken pipe says no more.
    child.stdin.on('error', () => undefined);
  }

  /** Weights are zero until they are written. Throws `engine_missing` when `python` has no torch. */
  static async open(shape: DecoderShape, batch: BatchShape, options: { readonly threads: number; readonly python: string }): Promise<TorchTrainer> {
    const threads = String(options.threads);
    const child = spawn(options.python, [scriptPath()], { stdio: 'pipe', env: { ...process.env, OMP_NUM_THREADS: threads, OPENBLAS_NUM_THREADS: threads } });
    const trainer = new TorchTrainer(child, shape);
    const weights = weightSpecs(shape).map((spec) => ({ name: spec.name, dims: spec.dims, kind: spec.kind }));
    try {
      await trainer.ask({ ...shape, ...batch, weights, threads: options.threads });
    } catch (cause) {
      await trainer.close();
      throw new RingError(
        'engine_missing',
        `${options.python} does not train: ${trainer.complaint.trim().split('\n').at(-1) ?? ''}. Install PyTorch (Debian: python3-torch and libopenblas0-pthread), name its interpreter with --python, or use --engine ggml`,
        { python: options.python },
        { cause },
      );
    }
    return trainer;
  }

  async step(batch: Batch, rates: StepRates): Promise<number> {
    return lossOf(await this.ask({ do: 'step', ...rates }, [batch.tokens, batch.targets]));
  }

  async measure(batch: Batch): Promise<number> {
    return lossOf(await this.ask({ do: 'measure' }, [batch.tokens, batch.targets]));
  }

  async read(name: string): Promise<WeightState> {
    const { data } = await this.ask({ do: 'read', name });
    const all = new Float32Array(new Uint8Array(data).buffer);
    const spec = weightSpecs(this.shape).find((entry) => entry.name === name);
    assert(spec !== undefined, `there is a weight ${name}`);
    const elements = all.length / (1 + stateCount(spec));
    const part = (index: number): Float32Array => all.slice(index * elements, (index + 1) * elements);
    return { weight: part(0), memory: Array.from({ length: stateCount(spec) }, (_, index) => part(index + 1)) };
  }

  async write(name: string, state: WeightState): Promise<void> {
    await this.ask({ do: 'write', name }, [state.weight, ...state.memory]);
  }

  async close(): Promise<void> {
    if (this.ended) return;
    this.child.stdin.end();
    const kill = setTimeout(() => this.child.kill('SIGKILL'), EXIT_TIMEOUT_MS);
    await once(this.child, 'close');
    clearTimeout(kill);
  }

  private async ask(command: Readonly<Record<string, unknown>>, arrays: readonly (Float32Array | Int32Array)[] = []): Promise<Answer> {
    const bytes = arrays.reduce((total, array) => total + array.byteLength, 0);
    this.child.stdin.write(`${JSON.stringify({ ...command, bytes })}\n`);
    for (const array of arrays) this.child.stdin.write(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    const deadline = Date.now() + ANSWER_TIMEOUT_MS;
    const line = await this.take(() => {
      const end = this.received.indexOf(NEWLINE);
      if (end < 0 && this.received.length > MAX_LINE_BYTES) throw new RingError('engine_failed', 'the training child answers in no known way');
      return end < 0 ? null : end + 1;
    }, deadline);
    const answer = ANSWER.safeParse(JSON.parse(line.toString()));
    if (!answer.success) throw new RingError('engine_failed', `the training child answered ${line.toString().trim()}`);
    const wanted = answer.data.bytes;
    return { ...answer.data, data: await this.take(() => (this.received.length >= wanted ? wanted : null), deadline) };
  }

  /** Waits until `ready` says how many bytes to take. */
  private async take(ready: () => number | null, deadline: number): Promise<Buffer> {
    for (;;) {
      const count = ready();
      if (count !== null) {
        const taken = this.received.subarray(0, count);
        this.received = this.received.subarray(count);
        return taken;
      }
      if (this.ended) throw new RingError('engine_failed', `the training child ended: ${this.complaint.trim()}`);
      const left = deadline - Date.now();
      if (left <= 0) {
        this.child.kill('SIGKILL');
        throw new RingError('engine_failed', `the training child gave no answer in ${ANSWER_TIMEOUT_MS / 60_000} minutes`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

function lossOf(answer: Answer): number {
  if (answer.loss === undefined) throw new RingError('engine_failed', 'the training child gave no loss');
  return answer.loss;
}

/** Beside this file in the sources; a build has it in the folder above its own. */
function scriptPath(): string {
  const beside = join(import.meta.dirname, 'trainer.py');
  return existsSync(beside) ? beside : join(import.meta.dirname, '../../../scripts/train-builtin/trainer.py');
}
