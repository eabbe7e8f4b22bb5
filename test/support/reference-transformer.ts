/**
 * A decoder-only transformer in plain TypeScript and 64-bit floats, written after Hugging Face's modeling code: halves of a head
 * rotated against each other, norms as stored, scalings as `modeling_rope_utils` has them. It knows nothing of GGUF or the
 * engine: what it says of a checkpoint is what the checkpoint means.
 */
import type { CheckpointRecipe, StoredTensor } from './checkpoint-files.js';
import { valuesOf } from './checkpoint-files.js';

interface Rope {
  readonly rope_type?: string;
  readonly type?: string;
  readonly rope_theta?: number;
  readonly factor?: number;
  readonly low_freq_factor?: number;
  readonly high_freq_factor?: number;
  readonly original_max_position_embeddings?: number;
}

/** As far as the recipes go. */
export interface ReferenceSettings {
  readonly global: Rope;
  /** Of layers with a window; null = the same. */
  readonly local: Rope | null;
  /** 0 = no layer has one. */
  readonly window: number;
  /** Every so many layers one has no window. */
  readonly pattern: number;
  readonly gemma: boolean;
  readonly attentionSoftcap: number | null;
  readonly outputSoftcap: number | null;
}

/** Inverse frequencies and what cosine and sine are multiplied with. */
function frequencies(rope: Rope, size: number): { inverse: number[]; scale: number } {
  const base = rope.rope_theta ?? 10_000;
  const plain = Array.from({ length: size / 2 }, (_, index) => 1 / base ** ((2 * index) / size));
  const kind = rope.rope_type ?? rope.type ?? 'default';
  const factor = rope.factor ?? 1;
  const original = rope.original_max_position_embeddings ?? 0;
  if (kind === 'linear') return { inverse: plain.map((value) => value / factor), scale: 1 };
  if (kind === 'llama3') {
    const low = rope.low_freq_factor ?? 1;
    const high = rope.high_freq_factor ?? 4;
    return {
      scale: 1,
      inverse: plain.map((value) => {
        const wavelength = (2 * Math.PI) / value;
        if (wavelength < original / high) return value;
        if (wavelength > original / low) return value / factor;
        const smooth = (original / wavelength - low) / (high - low);
        return ((1 - smooth) * value) / factor + smooth * value;
      }),
    };
  }
  if (kind === 'yarn') {
    const correction = (rotations: number): number => (size * Math.log(original / (rotations * 2 * Math.PI))) / (2 * Math.log(base));
    const low = Math.max(0, Math.floor(correction(32)));
    const high = Math.min(size - 1, Math.ceil(correction(1)));
    return {
      scale: 0.1 * Math.log(factor) + 1,
      inverse: plain.map((value, index) => {
        const ramp = Math.min(1, Math.max(0, (index - low) / (high === low ? 0.001 : high - low)));
        return (value / factor) * ramp + value * (1 - ramp);
      }),
    };
  }
  return { inverse: plain, scale: 1 };
}

/** Logits after every token. `[tokens][vocabulary]` */
export function referenceLogits(recipe: CheckpointRecipe, tensors: readonly StoredTensor[], settings: ReferenceSettings, tokens: readonly number[]): Float64Array[] {
  const { hidden, heads, kvHeads, headSize, prefix = 'model.' } = recipe;
  const byName = new Map(tensors.map((tensor) => [tensor.name, valuesOf(tensor)]));
  const has = (name: string): boolean => byName.has(name);
  const weights = (name: string): Float64Array => {
    const found = byName.get(name);
    if (found === undefined) throw new Error(`no tensor ${name}`);
    return found;
  };
  const linear = (name: string, x: Float64Array): Float64Array => {
    const matrix = weights(`${name}.weight`);
    const width = x.length;
    const bias = has(`${name}.bias`) ? weights(`${name}.bias`) : null;
    return Float64Array.from({ length: matrix.length / width }, (_, row) => {
      let sum = bias?.[row] ?? 0;
      for (let index = 0; index < width; index += 1) sum += (matrix[row * width + index] ?? 0) * (x[index] ?? 0);
      return sum;
    });
  };
  const norm = (name: string, x: Float64Array): Float64Array => {
    const weight = weights(`${name}.weight`);
    const root = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / x.length + 1e-6);
    return x.map((value, index) => (value / root) * ((settings.gemma ? 1 : 0) + (weight[index] ?? 0)));
  };
  const add = (a: Float64Array, b: Float64Array): Float64Array => a.map((value, index) => value + (b[index] ?? 0));
  const activate = (x: number): number => (settings.gemma ? 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))) : x / (1 + Math.exp(-x)));
  const rotate = (head: Float64Array, position: number, rope: Rope): Float64Array => {
    const { inverse, scale } = frequencies(rope, headSize);
    const half = headSize / 2;
    return head.map((value, index) => {
      const angle = position * (inverse[index % half] ?? 0);
      const other = index < half ? -(head[index + half] ?? 0) : head[index - half] ?? 0;
      return (value * Math.cos(angle) + other * Math.sin(angle)) * scale;
    });
  };
  const headsOf = (x: Float64Array, name: string, position: number, rope: Rope): Float64Array[] =>
    Array.from({ length: x.length / headSize }, (_, head) => {
      const part = x.slice(head * headSize, (head + 1) * headSize);
      return rotate(recipe.headNorms === true ? norm(name, part) : part, position, rope);
    });

  const embedding = weights(`${prefix}embed_tokens.weight`);
  let states: Float64Array[] = tokens.map((token) => embedding.slice(token * hidden, (token + 1) * hidden).map((value) => value * (settings.gemma ? Math.sqrt(hidden) : 1)));
  for (let layer = 0; layer < recipe.layers; layer += 1) {
    const at = `${prefix}layers.${layer}.`;
    const windowed = settings.window > 0 && (layer + 1) % settings.pattern !== 0;
    const rope = windowed && settings.local !== null ? settings.local : settings.global;
    const inputs = states.map((state) => norm(`${at}input_layernorm`, state));
    const queries = inputs.map((x, position) => headsOf(linear(`${at}self_attn.q_proj`, x), `${at}self_attn.q_norm`, position, rope));
    const keys = inputs.map((x, position) => headsOf(linear(`${at}self_attn.k_proj`, x), `${at}self_attn.k_norm`, position, rope));
    const values = inputs.map((x) => linear(`${at}self_attn.v_proj`, x));
    states = states.map((state, position) => {
      const first = windowed ? Math.max(0, position - settings.window + 1) : 0;
      const mixed = new Float64Array(heads * headSize);
      for (let head = 0; head < heads; head += 1) {
        const group = Math.floor(head / (heads / kvHeads));
        const query = queries[position]?.[head] ?? new Float64Array();
        const scores = Array.from({ length: position - first + 1 }, (_, index) => {
          const key = keys[first + index]?.[group] ?? new Float64Array();
          const score = query.reduce((sum, value, dim) => sum + value * (key[dim] ?? 0), 0) / Math.sqrt(headSize);
          return settings.attentionSoftcap === null ? score : Math.tanh(score / settings.attentionSoftcap) * settings.attentionSoftcap;
        });
        const largest = Math.max(...scores);
        const total = scores.reduce((sum, score) => sum + Math.exp(score - largest), 0);
        scores.forEach((score, index) => {
          for (let dim = 0; dim < headSize; dim += 1) {
            mixed[head * headSize + dim] = (mixed[head * headSize + dim] ?? 0) + (Math.exp(score - largest) / total) * (values[first + index]?.[group * headSize + dim] ?? 0);
          }
        });
      }
      const attended = linear(`${at}self_attn.o_proj`, mixed);
      if (recipe.sandwichNorms === true) {
        const middle = add(state, norm(`${at}post_attention_layernorm`, attended));
        return add(middle, norm(`${at}post_feedforward_layernorm`, feedForward(norm(`${at}pre_feedforward_layernorm`, middle), at)));
      }
      const middle = add(state, attended);
      return add(middle, feedForward(norm(`${at}post_attention_layernorm`, middle), at));
    });
  }
  return states.map((state) => {
    const last = norm(`${prefix}norm`, state);
    const logits = recipe.tied ? Float64Array.from({ length: embedding.length / hidden }, (_, token) => last.reduce((sum, value, index) => sum + value * (embedding[token * hidden + index] ?? 0), 0)) : linear('lm_head', last);
    const cap = settings.outputSoftcap;
    return cap === null ? logits : logits.map((value) => Math.tanh(value / cap) * cap);
  });

  function feedForward(x: Float64Array, at: string): Float64Array {
    const gate = linear(`${at}mlp.gate_proj`, x);
    const up = linear(`${at}mlp.up_proj`, x);
    return linear(`${at}mlp.down_proj`, gate.map((value, index) => activate(value) * (up[index] ?? 0)));
  }
}
