/**
 * The decoder as a ggml graph: a llama of one head of keys and values per query head, its word table also its output matrix.
 *
 * The same arithmetic as the engine's own llama graph, but with whole sequences side by side and no KV cache. libllama's
 * training (`llama_opt_epoch`) uses the engine's graph, which reads keys and values from the cache, through which no
 * gradient flows: in the pinned build it left every attn_k, attn_v and the word table as they were (see also llama.cpp
 * #28520). It must not know optimisers or files.
 */
import type { GgmlFunctions, Tensor } from './ggml.js';

export interface DecoderShape {
  readonly vocabulary: number;
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly feedForward: number;
}

export const NORM_EPSILON = 1e-5;
export const ROPE_BASE = 10_000;

export interface WeightSpec {
  /** As in a GGUF. */
  readonly name: string;
  /** Innermost first. */
  readonly dims: readonly [number] | readonly [number, number];
  readonly kind: 'table' | 'matrix' | 'norm';
}

/** Every weight, in the order in which files hold them. */
export function weightSpecs(shape: DecoderShape): WeightSpec[] {
  const { hidden, feedForward } = shape;
  const specs: WeightSpec[] = [
    { name: 'token_embd.weight', dims: [hidden, shape.vocabulary], kind: 'table' },
    { name: 'output_norm.weight', dims: [hidden], kind: 'norm' },
  ];
  for (let layer = 0; layer < shape.layers; layer++) {
    const add = (name: string, kind: WeightSpec['kind'], ...dims: [number] | [number, number]): void => {
      specs.push({ name: `blk.${layer}.${name}.weight`, dims, kind });
    };
    add('attn_norm', 'norm', hidden);
    add('attn_q', 'matrix', hidden, hidden);
    add('attn_k', 'matrix', hidden, hidden);
    add('attn_v', 'matrix', hidden, hidden);
    add('attn_output', 'matrix', hidden, hidden);
    add('ffn_norm', 'norm', hidden);
    add('ffn_gate', 'matrix', hidden, feedForward);
    add('ffn_up', 'matrix', hidden, feedForward);
    add('ffn_down', 'matrix', feedForward, hidden);
  }
  return specs;
}

export function parameterCount(shape: DecoderShape): number {
  return weightSpecs(shape).reduce((total, spec) => total + spec.dims[0] * (spec.dims[1] ?? 1), 0);
}

export interface BatchShape {
  readonly sequences: number;
  /** Tokens of one sequence. */
  readonly length: number;
}

/** What a graph reads besides the weights. N = sequences x length. */
export interface DecoderInputs {
  /** `[N]` i32 */
  readonly tokens: Tensor;
  /** `[N]` i32: the next token, or `vocabulary` where nothing is asked. */
  readonly targets: Tensor;
  /** `[N]` i32: 0..length-1 per sequence. */
  readonly positions: Tensor;
  /** `[length, length]` f32: 0, or -infinity where a query may not look. */
  readonly mask: Tensor;
  /** `[vocabulary, vocabulary + 1]` f32: the unit matrix and a row of zeros, which turns targets into distributions. */
  readonly units: Tensor;
}

/** Tensors that `buildLoss` makes for each layer, and a few; the graph's size is counted from it. */
export const NODES_PER_LAYER = 40;

/** Mean cross entropy over the N tokens in nats; a token without a target adds nothing to the sum. A scalar, f32. */
export function buildLoss(c: GgmlFunctions, context: bigint, request: {
  readonly shape: DecoderShape;
  readonly batch: BatchShape;
  readonly weights: ReadonlyMap<string, Tensor>;
  readonly inputs: DecoderInputs;
}): Tensor {
  const { shape, batch, inputs } = request;
  const weight = (name: string): Tensor => {
    const found = request.weights.get(`${name}.weight`);
    if (found === undefined) throw new Error(`weight ${name} is missing`);
    return found;
  };
  const norm = (x: Tensor, name: string): Tensor => c.ggml_mul(context, c.ggml_rms_norm(context, x, NORM_EPSILON), weight(name));
  const headSize = shape.hidden / shape.heads;
  const all = batch.sequences * batch.length;

  // [headSize, length, heads, sequences]
  const rotated = (x: Tensor): Tensor => {
    const perHead = c.ggml_reshape_3d(context, x, headSize, shape.heads, all);
    const turned = c.ggml_rope_ext(context, perHead, inputs.positions, null, headSize, 0, 0, ROPE_BASE, 1, 0, 1, 32, 1);
    return c.ggml_permute(context, c.ggml_reshape_4d(context, turned, headSize, shape.heads, batch.length, batch.sequences), 0, 2, 1, 3);
  };

  let x = c.ggml_get_rows(context, weight('token_embd'), inputs.tokens); // [hidden, N]
  for (let layer = 0; layer < shape.layers; layer++) {
    const at = `blk.${layer}`;
    const h = norm(x, `${at}.attn_norm`);
    const queries = rotated(c.ggml_mul_mat(context, weight(`${at}.attn_q`), h));
    const keys = rotated(c.ggml_mul_mat(context, weight(`${at}.attn_k`), h));
    const values = c.ggml_reshape_4d(context, c.ggml_mul_mat(context, weight(`${at}.attn_v`), h), headSize, shape.heads, batch.length, batch.sequences);
    const scores = c.ggml_mul_mat(context, keys, queries); // [length (keys), length (queries), heads, sequences]
    const shares = c.ggml_soft_max_ext(context, scores, inputs.mask, 1 / Math.sqrt(headSize), 0);
    const columns = c.ggml_cont(context, c.ggml_permute(context, values, 1, 2, 0, 3)); // [length, headSize, heads, sequences]
    const mixed = c.ggml_permute(context, c.ggml_mul_mat(context, columns, shares), 0, 2, 1, 3);
    const joined = c.ggml_reshape_2d(context, c.ggml_cont(context, mixed), shape.hidden, all);
    x = c.ggml_add(context, x, c.ggml_mul_mat(context, weight(`${at}.attn_output`), joined));
    const f = norm(x, `${at}.ffn_norm`);
    const gated = c.ggml_swiglu_split(context, c.ggml_mul_mat(context, weight(`${at}.ffn_gate`), f), c.ggml_mul_mat(context, weight(`${at}.ffn_up`), f));
    x = c.ggml_add(context, x, c.ggml_mul_mat(context, weight(`${at}.ffn_down`), gated));
  }
  const logits = c.ggml_mul_mat(context, weight('token_embd'), norm(x, 'output_norm')); // [vocabulary, N]
  return c.ggml_cross_entropy_loss(context, logits, c.ggml_get_rows(context, inputs.units, inputs.targets));
}

/** Mask of a causal decoder, `[length, length]` row by query. */
export function causalMask(length: number): Float32Array {
  const mask = new Float32Array(new ArrayBuffer(length * length * 4));
  for (let query = 0; query < length; query++) mask.fill(Number.NEGATIVE_INFINITY, query * length + query + 1, (query + 1) * length);
  return mask;
}

