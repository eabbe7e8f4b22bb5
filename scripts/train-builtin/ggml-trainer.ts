/**
 * Trains on ggml, the library that the engine computes with: one graph for a step, which ends in the optimiser's moves,
 * and one for measuring. Weights, optimiser memory and inputs lie in one buffer that both graphs read.
 */
import { assert } from '../../src/core/errors.js';
import { buildLoss, causalMask, NODES_PER_LAYER, weightSpecs } from './decoder.js';
import type { BatchShape, DecoderInputs, DecoderShape, WeightSpec } from './decoder.js';
import type { GgmlFunctions, Tensor } from './ggml.js';
import { compute, loadGgml, openCpu, TYPE_F32, TYPE_I32 } from './ggml.js';
import { buildStep, NODES_PER_STEP, stateCount } from './optimizer.js';
import type { StepInputs } from './optimizer.js';
import type { Batch, StepRates, Trainer, WeightState } from './trainer.js';

const BETA1 = 0.9;
const BETA2 = 0.95;
const ADAM_EPSILON = 1e-8;
/** A graph with gradients has about this many times the nodes. */
const GRADIENT_FACTOR = 6;
const FLOAT_BYTES = 4;

interface Weight {
  readonly spec: WeightSpec;
  readonly tensor: Tensor;
  readonly elements: number;
  readonly memory: readonly Tensor[];
}

interface BuiltGraph {
  readonly graph: bigint;
  readonly loss: Tensor;
  /** The loss's own gradient, which is 1. Null in a graph that only measures. */
  readonly lossGradient: Tensor | null;
  release(): void;
}

export class GgmlTrainer implements Trainer {
  private readonly c: GgmlFunctions = loadGgml();
  private readonly backend: bigint;
  private readonly context: bigint;
  private readonly buffer: bigint;
  private readonly weights = new Map<string, Weight>();
  private readonly inputs: DecoderInputs;
  private readonly rates: StepInputs;
  private readonly training: BuiltGraph;
  private readonly measuring: BuiltGraph;

  /** Weights are undefined until they are written. */
  constructor(private readonly shape: DecoderShape, private readonly batch: BatchShape, options: { readonly threads: number }) {
    const { c } = this;
    this.backend = openCpu(c, options.threads);
    const specs = weightSpecs(shape);
    this.context = this.openContext(specs.length * 3 + 16);
    const all = batch.sequences * batch.length;
    const floats = (inner: number, outer = 1): Tensor => c.ggml_new_tensor_2d(this.context, TYPE_F32, inner, outer);
    const numbers = (): Tensor => c.ggml_new_tensor_1d(this.context, TYPE_I32, all);
    for (const spec of specs) {
      const make = (): Tensor => (spec.dims[1] === undefined
        ? c.ggml_new_tensor_1d(this.context, TYPE_F32, spec.dims[0]) : floats(spec.dims[0], spec.dims[1]));
      const tensor = make();
      c.ggml_set_param(tensor);
      const memory = Array.from({ length: stateCount(spec) }, make);
      this.weights.set(spec.name, { spec, tensor, memory, elements: spec.dims[0] * (spec.dims[1] ?? 1) });
    }
    this.inputs = {
      tokens: numbers(), targets: numbers(), positions: numbers(),
      mask: floats(batch.length, batch.length), units: floats(shape.vocabulary, shape.vocabulary + 1),
    };
    this.rates = { matrixRate: floats(1), matrixKeep: floats(1), tableAdam: floats(7), normAdam: floats(7) };
    this.buffer = c.ggml_backend_alloc_ctx_tensors(this.context, this.backend);
    this.fillInputs();
    this.training = this.build(true);
    this.measuring = this.build(false);
  }

  step(batch: Batch, rates: StepRates): Promise<number> {
    this.setBatch(batch);
    const adam = (decay: number): Float32Array => Float32Array.of(
      rates.other, BETA1, BETA2, ADAM_EPSILON, decay, 1 / (1 - BETA1 ** rates.step), 1 / (1 - BETA2 ** rates.step),
    );
    this.set(this.rates.matrixRate, Float32Array.of(rates.matrix));
    this.set(this.rates.matrixKeep, Float32Array.of(1 - rates.matrix * rates.decay));
    this.set(this.rates.tableAdam, adam(rates.decay));
    this.set(this.rates.normAdam, adam(0));
    return Promise.resolve(this.run(this.training));
  }

  measure(batch: Batch): Promise<number> {
    this.setBatch(batch);
    return Promise.resolve(this.run(this.measuring));
  }

  read(name: string): Promise<WeightState> {
    const { tensor, memory, elements } = this.weight(name);
    return Promise.resolve({ weight: this.get(tensor, elements), memory: memory.map((state) => this.get(state, elements)) });
  }

  write(name: string, state: WeightState): Promise<void> {
    const { tensor, memory, elements } = this.weight(name);
    assert(state.weight.length === elements && state.memory.length === memory.length, `${name} has ${elements} values and ${memory.length} memories`);
    this.set(tensor, state.weight);
    memory.forEach((place, index) => {
      const values = state.memory[index];
      assert(values?.length === elements, `the optimiser remembers ${elements} values of ${name}`);
      this.set(place, values);
    });
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.training.release();
    this.measuring.release();
    this.c.ggml_backend_buffer_free(this.buffer);
    this.c.ggml_free(this.context);
    this.c.ggml_backend_free(this.backend);
    return Promise.resolve();
  }

  private weight(name: string): Weight {
    const found = this.weights.get(name);
    assert(found !== undefined, `there is a weight ${name}`);
    return found;
  }

  private fillInputs(): void {
    const { sequences, length } = this.batch;
    const { vocabulary } = this.shape;
    const positions = new Int32Array(sequences * length);
    for (let index = 0; index < positions.length; index++) positions[index] = index % length;
    this.set(this.inputs.positions, positions);
    this.set(this.inputs.mask, causalMask(length));
    const units = new Float32Array(vocabulary * (vocabulary + 1));
    for (let token = 0; token < vocabulary; token++) units[token * vocabulary + token] = 1;
    this.set(this.inputs.units, units);
  }

  private build(trains: boolean): BuiltGraph {
    const { c, shape, batch, inputs } = this;
    const nodes = (shape.layers + 1) * NODES_PER_LAYER * (trains ? GRADIENT_FACTOR : 1) + (trains ? this.weights.size * NODES_PER_STEP : 0);
    const context = this.openContext(nodes, c.ggml_graph_overhead_custom(nodes, trains));
    const tensors = new Map([...this.weights].map(([name, weight]) => [name, weight.tensor]));
    const loss = buildLoss(c, context, { shape, batch, weights: tensors, inputs });
    c.ggml_set_loss(loss);
    c.ggml_set_output(loss);
    const graph = c.ggml_new_graph_custom(context, nodes, trains);
    c.ggml_build_forward_expand(graph, loss);
    const lossGradient = trains ? this.addSteps(context, graph, loss) : null;
    const allocator = c.ggml_gallocr_new(c.ggml_backend_get_default_buffer_type(this.backend));
    assert(c.ggml_gallocr_alloc_graph(allocator, graph), 'a training graph finds its memory');
    return {
      graph, loss, lossGradient,
      release: () => {
        c.ggml_gallocr_free(allocator);
        c.ggml_free(context);
      },
    };
  }

  /** The gradients, then every weight's move. */
  private addSteps(context: bigint, graph: bigint, loss: Tensor): Tensor {
    const { c } = this;
    c.ggml_build_backward_expand(context, graph, null);
    const lossGradient = c.ggml_graph_get_grad_acc(graph, loss);
    c.ggml_set_output(lossGradient);
    for (const { spec, tensor, memory } of this.weights.values()) {
      const gradient = c.ggml_graph_get_grad(graph, tensor);
      const moves = buildStep(c, context, { spec, weight: tensor, gradient, memory, inputs: this.rates });
      for (const node of moves) c.ggml_build_forward_expand(graph, node);
    }
    return lossGradient;
  }

  private run(built: BuiltGraph): number {
    if (built.lossGradient !== null) this.set(built.lossGradient, Float32Array.of(1));
    compute(this.c, this.backend, built.graph);
    return this.get(built.loss, 1)[0] ?? Number.NaN;
  }

  private setBatch(batch: Batch): void {
    const all = this.batch.sequences * this.batch.length;
    assert(batch.tokens.length === all && batch.targets.length === all, `a batch has ${all} tokens`);
    this.set(this.inputs.tokens, batch.tokens);
    this.set(this.inputs.targets, batch.targets);
  }

  private openContext(tensors: number, extraBytes = 0): bigint {
    return this.c.ggml_init({ mem_size: tensors * this.c.ggml_tensor_overhead() + extraBytes, mem_buffer: null, no_alloc: true });
  }

  private set(tensor: Tensor, values: Float32Array | Int32Array): void {
    this.c.ggml_backend_tensor_set(tensor, values, 0, values.byteLength);
  }

  private get(tensor: Tensor, elements: number): Float32Array {
    const values = new Float32Array(new ArrayBuffer(elements * FLOAT_BYTES));
    this.c.ggml_backend_tensor_get(tensor, values, 0, values.byteLength);
    return values;
  }
}
