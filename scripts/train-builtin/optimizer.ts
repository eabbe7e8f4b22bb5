/**
 * One optimiser step as a part of the training graph: Muon for the matrices inside the layers, AdamW for the rest.
 *
 * Muon (K. Jordan, 2024) moves a matrix along its momentum with all singular values made equal, by a few Newton-Schulz
 * products, and needs fewer tokens than AdamW. AdamW is ggml's own step. It must not know the model's graph.
 */
import type { GgmlFunctions, Tensor } from './ggml.js';
import type { WeightSpec } from './decoder.js';

const MOMENTUM = 0.95;
/** Coefficients of each product, by which the singular values of a matrix of norm 1 approach 1 (Jordan's quintic). */
const QUINTIC = { a: 3.4445, b: -4.775, c: 2.0315 };
const NEWTON_SCHULZ_ROUNDS = 5;
/** Keeps a gradient of zeros from dividing by zero; far under any real one. */
const TINY = 1e-20;
/** Tensors that one matrix's step makes at most; the graph's size is counted from it. */
export const NODES_PER_STEP = 24 + 10 * NEWTON_SCHULZ_ROUNDS;

/** What a step reads that changes from step to step; scalars are `[1]` f32. */
export interface StepInputs {
  /** Muon's rate for a square matrix. */
  readonly matrixRate: Tensor;
  /** 1 - rate x decay. */
  readonly matrixKeep: Tensor;
  /** `[7]` f32: rate, beta1, beta2, epsilon, decay, 1/(1-beta1^t), 1/(1-beta2^t). */
  readonly tableAdam: Tensor;
  readonly normAdam: Tensor;
}

/** How many tensors of the weight's shape a step remembers. */
export function stateCount(spec: WeightSpec): number {
  return spec.kind === 'matrix' ? 1 : 2;
}

/** A node that, computed after the gradient, leaves the moved weight in `weight` and the new one in `memory`. */
export function buildStep(c: GgmlFunctions, context: bigint, request: {
  readonly spec: WeightSpec;
  readonly weight: Tensor;
  readonly gradient: Tensor;
  readonly memory: readonly Tensor[];
  readonly inputs: StepInputs;
}): readonly Tensor[] {
  const { spec, weight, gradient, inputs } = request;
  const [first, second] = request.memory;
  if (first === undefined) throw new Error(`the step of ${spec.name} has no memory`);
  if (spec.kind !== 'matrix') {
    if (second === undefined) throw new Error(`the step of ${spec.name} lacks its second moment`);
    return [c.ggml_opt_step_adamw(context, weight, gradient, first, second, spec.kind === 'table' ? inputs.tableAdam : inputs.normAdam)];
  }
  const [inner, outer = 1] = spec.dims;
  const momentum = c.ggml_cpy(context, c.ggml_add(context, c.ggml_scale(context, first, MOMENTUM), gradient), first);
  const ahead = c.ggml_add(context, c.ggml_scale(context, momentum, MOMENTUM), gradient);
  // Fewer rows than columns: the products are then between the smaller matrices.
  const wide = inner >= outer;
  const columns = wide ? inner : outer;
  const rows = wide ? outer : inner;
  const facing = wide ? ahead : c.ggml_cont(context, c.ggml_transpose(context, ahead));
  const flat = c.ggml_rms_norm(context, c.ggml_reshape_1d(context, facing, inner * outer), TINY);
  let x = c.ggml_reshape_2d(context, c.ggml_scale(context, flat, 1 / Math.sqrt(inner * outer)), columns, rows);
  for (let round = 0; round < NEWTON_SCHULZ_ROUNDS; round++) {
    const square = c.ggml_mul_mat(context, x, x); // X X^T, [rows, rows]
    const fourth = c.ggml_mul_mat(context, square, square);
    const factor = c.ggml_add(context, c.ggml_scale(context, square, QUINTIC.b), c.ggml_scale(context, fourth, QUINTIC.c));
    x = c.ggml_add(context, c.ggml_scale(context, x, QUINTIC.a), c.ggml_mul_mat(context, c.ggml_cont(context, c.ggml_transpose(context, x)), factor));
  }
  const direction = wide ? x : c.ggml_cont(context, c.ggml_transpose(context, x));
  const scaled = c.ggml_scale(context, direction, Math.sqrt(Math.max(1, outer / inner)));
  const moved = c.ggml_sub(context, c.ggml_mul(context, weight, inputs.matrixKeep), c.ggml_mul(context, scaled, inputs.matrixRate));
  return [momentum, c.ggml_cpy(context, moved, weight)];
}
