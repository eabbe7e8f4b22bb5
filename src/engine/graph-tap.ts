/**
 * Reads a stage's hidden state out of the engine's graph, and ends the graph there: the norm and head matrix that
 * follow are not this stage's work. Where an architecture scales its input again, puts the true input back.
 *
 * The engine asks about some 200 nodes a call, so the ask is one four-byte read for nearly all of them. It must not
 * know batches or slots.
 */
import { RingError } from '../core/errors.js';
import { registerEvalCallback, tensorName, tensorNamePrefix, unregisterCallback } from './llama.js';
import type { Llama } from './llama.js';

export interface TapNodes {
  /** Full name of the node that is the last layer's output, e.g. `l_out-3`; null = run the whole graph. */
  readonly output: string | null;
  /** Node to be overwritten with the input rows; null = none. */
  readonly overwrite: string | null;
}

export class GraphTap {
  /** For `ContextSettings.evalCallback`. */
  readonly callback: bigint;
  private readonly outputPrefix: number;
  private readonly overwritePrefix: number;
  private target: Float32Array = new Float32Array(0);
  private input: Float32Array = new Float32Array(0);
  private captures = 0;
  private problem: string | null = null;

  constructor(private readonly llama: Llama, private readonly nodes: TapNodes) {
    this.outputPrefix = namePrefix(nodes.output);
    this.overwritePrefix = namePrefix(nodes.overwrite);
    this.callback = registerEvalCallback((tensor, ask) => this.visit(tensor, ask));
  }

  /** Before each decode: exactly the call's rows. `target` is empty when nothing is captured. */
  begin(input: Float32Array, target: Float32Array): void {
    this.input = input;
    this.target = target;
    this.captures = 0;
    this.problem = null;
  }

  /** After each decode. Throws `engine_failed` when the graph was not what the architecture's rules say. */
  finish(): void {
    if (this.problem !== null) throw new RingError('engine_failed', this.problem);
    if (this.nodes.output !== null && this.captures !== 1) {
      throw new RingError(
        'engine_failed',
        `the engine's graph passed node ${this.nodes.output} ${this.captures} times in one call instead of once; this architecture cannot be split`,
        { node: this.nodes.output, captures: this.captures },
      );
    }
  }

  /** After the context is freed. */
  close(): void {
    unregisterCallback(this.callback);
  }

  private visit(tensor: bigint, ask: boolean): boolean {
    // False ends one device's part of the graph only: what follows on another would compute with rows that never came.
    if (ask && this.captures > 0) this.problem ??= `the engine went on to node ${tensorName(tensor)} after ${String(this.nodes.output)}; this stage must be on one device, or end on it`;
    const prefix = tensorNamePrefix(tensor);
    if (prefix === this.outputPrefix && tensorName(tensor) === this.nodes.output) return ask ? this.captures === 0 : this.capture(tensor);
    if (prefix === this.overwritePrefix && tensorName(tensor) === this.nodes.overwrite) return ask || this.overwrite(tensor);
    return !ask;
  }

  /** False ends the graph. */
  private capture(tensor: bigint): boolean {
    this.captures += 1;
    const bytes = this.llama.c.ggml_nbytes(tensor);
    if (bytes !== this.target.byteLength) {
      this.problem = `the engine's node ${String(this.nodes.output)} holds ${bytes} bytes instead of ${this.target.byteLength}`;
    } else {
      this.llama.c.ggml_backend_tensor_get(tensor, this.target, 0, bytes);
    }
    return false;
  }

  private overwrite(tensor: bigint): boolean {
    const bytes = this.llama.c.ggml_nbytes(tensor);
    if (bytes !== this.input.byteLength) {
      this.problem = `the engine's node ${String(this.nodes.overwrite)} holds ${bytes} bytes instead of ${this.input.byteLength}`;
      return false;
    }
    this.llama.c.ggml_backend_tensor_set(tensor, this.input, 0, bytes);
    return true;
  }
}

/** As `tensorNamePrefix` reads it; -1 matches nothing. */
function namePrefix(name: string | null): number {
  return name === null ? -1 : Buffer.from(name.padEnd(4, '\0')).readUInt32LE(0);
}
