/**
 * The one table of what an architecture needs so that a stage of it computes what the whole model would.
 *
 * An architecture is splittable when test/integration/exactness.test.ts shows it; every other one runs whole on one
 * node, with the reason. The facts are libllama's: what its loader demands, what it derives from the layer count, and
 * what it does to hidden states on entry. It must not know files or tensors' bytes.
 */
import type { LayerRange } from '../core/types.js';
import type { GgufMetadata, GgufValue } from './gguf-values.js';
import { metadataArray, metadataNumber, uint32 } from './gguf-values.js';

/**
 * Models with this key (after `<architecture>.`) have multi-head latent attention: values are a view into the keys, the
 * engine stores only keys and refuses a value cache of another type, so the key type is used for both. With q8_0 the
 * answers do not depend on chunks or threads; with f16 they do (test/integration/exactness.test.ts).
 */
export const LATENT_ATTENTION_KEY = 'attention.key_length_mla';

/** `all_beside_attention`: every layer has a state and keys and values. A model's own list of layers goes before an interval. */
export type RecurrentLayers =
  | 'none' | 'all' | 'all_beside_attention' | 'without_kv_heads' | 'without_kv_heads_and_feed_forward' | 'all_but_every_4th' | 'all_but_every_8th';

export interface ArchitectureRules {
  readonly name: string;
  /** False when libllama cannot load it at all. */
  readonly known: boolean;
  /** Null = splittable. */
  readonly unsplittableReason: string | null;
  /** Layers after which the attention pattern repeats; `windowPattern` says which of them have a window. */
  readonly patternLayers: number;
  /** Window of a layer in tokens, 0 = full attention. */
  readonly window: 'none' | 'all_but_last_of_pattern';
  /** Layers after which another pattern repeats (positions left out of some layers); cuts fall on its multiples too. */
  readonly otherPatternLayers: number;
  /** Used when the metadata name no window but the engine assumes one. */
  readonly defaultWindowTokens: number;
  /** Layer counts on which libllama changes its arithmetic in silence. */
  readonly layerCountSwitches: readonly { readonly layers: number; readonly what: string }[];
  /**
   * `required`: the loader insists on `output.weight`. `optional`: it ties the embedding where there is none. `tied`: it
   * knows no `output.weight`. A tail has its matrix as `output.weight` unless `tied`: the engine keeps a tied one twice
   * (as stored for lookups, repacked or on the device for the product).
   */
  readonly outputMatrix: 'required' | 'optional' | 'tied';
  /** Prefix of the node that is a layer's output: `<prefix>-<layer>`. */
  readonly hiddenOutputNode: string;
  /**
   * The graph transforms its input under this name although it is a hidden state already: the engine overwrites the
   * node with its input in every stage of a split model (head too, after `embeddingScale`). Harmless when absent.
   */
  readonly inputOverwriteNode?: 'inp_scaled' | 'inpL';
  /** What the head multiplies looked-up embedding rows with, in f32. */
  readonly embeddingScale: 'none' | 'sqrt_hidden_size';
  /** Hidden states need four positions per token, section-major (M-RoPE). */
  readonly ropeSections: boolean;
  /** Some layer keeps a state that cannot drop its last tokens: no partial rollback. */
  readonly recurrent: boolean;
  /** Which layers keep such a state (model/recurrent-state.ts has its size). */
  readonly recurrentLayers: RecurrentLayers;
  /** Metadata that a stage needs beyond the generic cut. Keys are without the `<architecture>.` prefix. */
  readonly stageMetadata: (model: ArchitectureFacts, range: LayerRange) => ReadonlyMap<string, GgufValue>;
}

/** What the rules look at. */
export interface ArchitectureFacts {
  readonly architecture: string;
  readonly metadata: GgufMetadata;
  readonly layers: number;
  readonly vocabularySize: number;
}

const NOTHING: ReadonlyMap<string, GgufValue> = new Map();

const GENERIC: Omit<ArchitectureRules, 'name'> = {
  known: true, unsplittableReason: null, patternLayers: 1, window: 'none', otherPatternLayers: 1, defaultWindowTokens: 0, layerCountSwitches: [],
  outputMatrix: 'optional', hiddenOutputNode: 'l_out', embeddingScale: 'none', ropeSections: false, recurrent: false, recurrentLayers: 'none',
  stageMetadata: () => NOTHING,
};

const GEMMA: Partial<ArchitectureRules> = { inputOverwriteNode: 'inp_scaled', embeddingScale: 'sqrt_hidden_size', outputMatrix: 'tied' };
const SOFTMAX_GATING = 1;
const SIGMOID_GATING = 2;
/** The vocabulary size by which libllama tells GLM 4.7 Lite from other deepseek2 models. */
const GLM_LITE_VOCABULARY = 154_880;

/**
 * libllama takes a deepseek2 model of 26 or 27 layers for a lite one (no query compression). A stage of a lite model
 * has another count, so it says "rank 0" itself; it also says its gating function, which may hang on the count too.
 */
function deepseek2Stage(model: ArchitectureFacts): ReadonlyMap<string, GgufValue> {
  const changes = new Map<string, GgufValue>();
  const has = (key: string): boolean => model.metadata.has(`${model.architecture}.${key}`);
  if (isLiteDeepseek(model)) changes.set('attention.q_lora_rank', uint32(0));
  if (!has('expert_gating_func') || metadataNumber(model.metadata, `${model.architecture}.expert_gating_func`) === 0) {
    const glmLite = (model.layers === 47 || model.layers === 48) && model.vocabularySize === GLM_LITE_VOCABULARY;
    changes.set('expert_gating_func', uint32(glmLite ? SIGMOID_GATING : SOFTMAX_GATING));
  }
  return changes;
}

function isLiteDeepseek(model: ArchitectureFacts): boolean {
  return model.layers === 26 || model.layers === 27 || (model.layers === 48 && model.vocabularySize === 128_256);
}

const SPLITTABLE: Readonly<Record<string, Partial<ArchitectureRules>>> = {
  llama: {},
  qwen2: {},
  qwen3: {},
  qwen2moe: { outputMatrix: 'required' },
  qwen3moe: {},
  phi3: {},
  mistral3: {},
  seed_oss: {},
  smollm3: { otherPatternLayers: 4 },
  olmo2: { patternLayers: 4, window: 'all_but_last_of_pattern', outputMatrix: 'required' },
  gemma: GEMMA,
  'gpt-oss': { patternLayers: 2, window: 'all_but_last_of_pattern', outputMatrix: 'required' },
  gemma2: {
    ...GEMMA, patternLayers: 2, window: 'all_but_last_of_pattern', defaultWindowTokens: 4096,
    layerCountSwitches: [{ layers: 46, what: 'scales attention by the width per head' }],
  },
  gemma3: {
    ...GEMMA, patternLayers: 6, window: 'all_but_last_of_pattern',
    layerCountSwitches: [{ layers: 62, what: 'scales attention by the width per head' }],
  },
  deepseek2: { stageMetadata: deepseek2Stage },
};

const HYBRID = 'its layers mix attention and recurrent state in a pattern that no test has cut yet';
const SCALED = 'it scales or shifts hidden states again on entry';
const NOT_GENERATIVE = 'it does not generate text';
/** Reasons that are known; every other architecture of libllama is just untested. */
const UNSPLITTABLE: Readonly<Record<string, string>> = {
  bloom: SCALED, minicpm: SCALED, grok: SCALED, 'ernie4_5-moe': SCALED, gpt2: SCALED, starcoder: SCALED, mpt: SCALED,
  qwen35: HYBRID, qwen35moe: HYBRID, qwen3next: HYBRID, jamba: HYBRID, lfm2: HYBRID, lfm2moe: HYBRID, granitehybrid: HYBRID,
  nemotron_h: HYBRID, nemotron_h_moe: HYBRID, 'kimi-linear': HYBRID, 'minimax-01': HYBRID, 'falcon-h1': HYBRID,
  glm4: 'the engine takes hidden states only with a multimodal conversion of it', glm4moe: 'the engine takes hidden states only with a multimodal conversion of it',
  plamo2: 'it names the outputs of its layers differently', deepseek4: 'it names the outputs of its layers differently',
};
const RECURRENT: Readonly<Record<string, RecurrentLayers>> = {
  mamba: 'all', mamba2: 'all', rwkv6: 'all', rwkv6qwen2: 'all', rwkv7: 'all', arwkv7: 'all', 'falcon-h1': 'all_beside_attention',
  jamba: 'without_kv_heads', plamo2: 'without_kv_heads', lfm2: 'without_kv_heads', lfm2moe: 'without_kv_heads', granitehybrid: 'without_kv_heads',
  'kimi-linear': 'without_kv_heads', nemotron_h: 'without_kv_heads_and_feed_forward', nemotron_h_moe: 'without_kv_heads_and_feed_forward',
  qwen3next: 'all_but_every_4th', qwen35: 'all_but_every_4th', qwen35moe: 'all_but_every_4th', 'minimax-01': 'all_but_every_8th',
};
const WITHOUT_TEXT = new Set([
  'clip', 'bert', 'modern-bert', 'nomic-bert', 'nomic-bert-moe', 'neo-bert', 'jina-bert-v2', 'jina-bert-v3', 'eurobert',
  'gemma-embedding', 'llama-embed', 't5encoder', 'wavtokenizer-dec', 'eagle3', 'dflash', 'gemma4-assistant',
]);
/** What the pinned libllama loads beyond the tables above. */
const OTHERS = new Set([
  'llama4', 'deci', 'falcon', 'gptj', 'gptneox', 'baichuan', 'refact', 'stablelm', 'qwen', 'qwen2vl', 'qwen3vl',
  'qwen3vlmoe', 'phi2', 'phimoe', 'plamo', 'plamo3', 'codeshell', 'orion', 'internlm2', 'minicpm3', 'gemma3n', 'gemma4',
  'starcoder2', 'xverse', 'command-r', 'cohere2', 'cohere2moe', 'dbrx', 'olmo', 'olmoe', 'openelm', 'arctic', 'deepseek',
  'deepseek2-ocr', 'deepseek32', 'chatglm', 'glm-dsa', 'bitnet', 't5', 'jais', 'jais2', 'nemotron', 'exaone',
  'exaone4', 'exaone-moe', 'granite', 'granitemoe', 'chameleon', 'plm', 'bailingmoe', 'bailingmoe2', 'dots1', 'arcee', 'afmoe',
  'laguna', 'ernie4_5', 'hunyuan-moe', 'hunyuan-dense', 'hunyuan_vl', 'hy_v3', 'dream', 'smallthinker', 'llada',
  'llada-moe', 'grovemoe', 'apertus', 'minimax-m2', 'cogvlm', 'rnd1', 'pangu-embedded', 'mistral4',
  'paddleocr', 'mimo2', 'step35', 'maincoder', 'talkie', 'mellum',
]);

/** Splittable architectures, for tests and documentation. */
export const SPLITTABLE_ARCHITECTURES: readonly string[] = Object.keys(SPLITTABLE);

/** Never fails: an unknown architecture is unsplittable and `known: false`. */
export function architectureRules(name: string): ArchitectureRules {
  const splittable = Object.hasOwn(SPLITTABLE, name) ? SPLITTABLE[name] : undefined;
  if (splittable !== undefined) return { ...GENERIC, ...splittable, name };
  const reason = Object.hasOwn(UNSPLITTABLE, name) ? UNSPLITTABLE[name] : undefined;
  const recurrentLayers = Object.hasOwn(RECURRENT, name) ? RECURRENT[name] ?? 'none' : 'none';
  const recurrent = recurrentLayers !== 'none';
  const known = reason !== undefined || recurrent || OTHERS.has(name);
  const why = WITHOUT_TEXT.has(name) ? NOT_GENERATIVE : reason ?? (known ? 'no test has shown yet that its stages compute the same' : 'the engine does not know it');
  return { ...GENERIC, name, known, recurrent, recurrentLayers, unsplittableReason: `architecture ${name} runs whole on one node: ${why}` };
}

/** A window's cells are overwritten as it moves on; of architectures that no test has split nobody knows. */
export function canRollBack(rules: ArchitectureRules): boolean {
  return !rules.recurrent && rules.window === 'none' && rules.unsplittableReason === null;
}

/** Null when the engine can run it; else the reason. */
export function unsupportedReason(name: string): string | null {
  if (WITHOUT_TEXT.has(name)) return `architecture ${name} is not supported: ${NOT_GENERATIVE}`;
  return architectureRules(name).known ? null : `architecture ${JSON.stringify(name)} is unknown to the engine: choose another model or a newer version of this program`;
}

/** What the rules say of one model. */
export interface SplitRules {
  readonly unsplittableReason: string | null;
  readonly cutPeriod: number;
  readonly refusedStageLayers: readonly { readonly layers: number; readonly reason: string }[];
  /** Window of each layer in tokens, 0 = full. */
  readonly windowTokens: readonly number[];
}

export function splitRules(model: ArchitectureFacts): SplitRules {
  const rules = architectureRules(model.architecture);
  const key = (suffix: string): string => `${model.architecture}.${suffix}`;
  const window = count(metadataNumber(model.metadata, key('attention.sliding_window'))) ?? rules.defaultWindowTokens;
  const hasPattern = rules.window !== 'none' && window > 0;
  const patternKey = key('attention.sliding_window_pattern');
  const period = hasPattern ? Math.max(1, count(metadataNumber(model.metadata, patternKey)) ?? rules.patternLayers) : 1;
  const windowTokens = Array.from({ length: model.layers }, (_, layer) => (hasPattern && layer % period < period - 1 ? window : 0));
  return {
    unsplittableReason: unsplittable(model, rules, hasPattern && metadataArray(model.metadata, patternKey) !== null),
    cutPeriod: leastCommonMultiple(period, rules.otherPatternLayers),
    refusedStageLayers: refusedLayers(model, rules),
    windowTokens,
  };
}

/** A number that can count something; null for anything else. */
function count(value: number | null): number | null {
  return value !== null && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function leastCommonMultiple(a: number, b: number): number {
  for (let multiple = Math.max(a, b); multiple < a * b; multiple += Math.max(a, b)) if (multiple % a === 0 && multiple % b === 0) return multiple;
  return a * b;
}

function unsplittable(model: ArchitectureFacts, rules: ArchitectureRules, patternIsArray: boolean): string | null {
  if (rules.unsplittableReason !== null) return rules.unsplittableReason;
  const ownSwitch = rules.layerCountSwitches.find((entry) => entry.layers === model.layers);
  if (ownSwitch !== undefined) {
    return `${model.architecture} of ${model.layers} layers runs whole on one node: the engine ${ownSwitch.what} for exactly this number of layers`;
  }
  if (patternIsArray) return `${model.architecture} with a window pattern listed layer by layer runs whole on one node: no test has cut it yet`;
  if ((metadataNumber(model.metadata, `${model.architecture}.nextn_predict_layers`) ?? 0) > 0) {
    return `${model.architecture} with next-token prediction layers runs whole on one node: no test has cut it yet`;
  }
  return null;
}

function refusedLayers(model: ArchitectureFacts, rules: ArchitectureRules): { layers: number; reason: string }[] {
  const refused = rules.layerCountSwitches.map((entry) => ({ layers: entry.layers, reason: `the engine ${entry.what} in a ${model.architecture} of ${entry.layers} layers` }));
  if (model.architecture === 'deepseek2' && !isLiteDeepseek(model)) {
    for (const layers of [26, 27, 48]) refused.push({ layers, reason: `the engine takes a deepseek2 of ${layers} layers for a lite model` });
  }
  return refused.filter((entry) => entry.layers < model.layers);
}
