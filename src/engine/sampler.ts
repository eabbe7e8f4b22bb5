/**
 * Draws tokens for one sequence: from the logits alone where that is all it takes (core/draw.ts), else with libllama's sampler
 * chain.
 *
 * The draw at a position depends on (seed, position, logits) and on the tokens so far (penalties), never on how many
 * draws came before: a replay after a lost node continues as if undisturbed. A grammar is asked about the token that was
 * drawn; only if it refuses is the draw made again among those that it allows, as asking about all of them takes long.
 * It must not know slots or stages.
 */
import { drawToken, likeliestToken } from '../core/draw.js';
import { RingError } from '../core/errors.js';
import type { SamplingSettings, TokenProbability } from '../core/step-types.js';
import { GrammarState } from './grammar.js';
import type { GrammarVocabulary } from './grammar.js';
import type { Llama } from './llama.js';
import { tokenProbability } from './probabilities.js';

/** libllama takes this seed as "choose one at random". */
const RANDOM_SEED = 0xffff_ffff;

export interface SamplerVocabulary {
  readonly size: number;
  readonly endOfGeneration: ReadonlySet<number>;
  /** The engine's own, of a row of the context's last call. */
  logits(context: bigint, row: number): Float32Array;
  /** Called for sequences that have a grammar. */
  grammar(): GrammarVocabulary;
}

export interface Draw {
  readonly token: number;
  /** Where the settings ask for it. */
  readonly probability?: TokenProbability;
}

export interface SamplerHistory {
  /** Penalties look back over the whole context. */
  readonly contextTokens: number;
  readonly promptTokens: readonly number[];
  /** At a replay: the answer so far. */
  readonly emittedTokens: readonly number[];
}

/** Seed of the draw at `position`: well mixed, and never the value that means random. u32 to u32. */
function stepSeed(seed: number, position: number): number {
  let hash = (Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b) ^ Math.imul(position + 1, 0xc2b2_ae35)) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0_aaad) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a_2d97) >>> 0;
  hash = (hash ^ (hash >>> 15)) >>> 0;
  return hash === RANDOM_SEED ? 0x7fff_ffff : hash;
}

export class SequenceSampler {
  private readonly chain: bigint;
  private readonly grammar: GrammarState | null;
  /** Its grammar cannot be read. */
  private readonly ends: boolean;
  /** Nothing changes or limits the logits that takes more than a look at them (core/draw.ts). */
  private readonly plain: boolean;
  private closed = false;

  /** Throws `bad_request` for tokens outside the vocabulary. */
  constructor(
    private readonly llama: Llama,
    private readonly vocabulary: SamplerVocabulary,
    private readonly settings: SamplingSettings,
    history: SamplerHistory,
  ) {
    this.check(settings, history);
    const { c } = llama;
    this.grammar = grammarOf(vocabulary, settings);
    this.plain = isPlain(settings);
    this.ends = settings.grammar !== undefined && this.grammar === null;
    for (const token of history.emittedTokens) this.grammar?.accept(token);
    this.chain = need(c.llama_sampler_chain_init(c.llama_sampler_chain_default_params()));
    this.addBias();
    const { size } = vocabulary;
    // Two samplers with two histories: repetition looks at prompt and answer, frequency and presence at the answer.
    if (settings.repeatPenalty !== 1) {
      const repeat = this.add(c.llama_sampler_init_penalties(size, history.contextTokens, settings.repeatPenalty, 0, 0));
      for (const token of history.promptTokens) c.llama_sampler_accept(repeat, token);
    }
    if (settings.frequencyPenalty !== 0 || settings.presencePenalty !== 0) {
      this.add(c.llama_sampler_init_penalties(size, history.contextTokens, 1, settings.frequencyPenalty, settings.presencePenalty));
    }
    for (const token of history.emittedTokens) c.llama_sampler_accept(this.chain, token);
    if (settings.temperature === 0) {
      this.add(c.llama_sampler_init_greedy());
      return;
    }
    if (settings.topK > 0) this.add(c.llama_sampler_init_top_k(settings.topK));
    if (settings.topP < 1) this.add(c.llama_sampler_init_top_p(settings.topP, 1));
    if (settings.minP > 0) this.add(c.llama_sampler_init_min_p(settings.minP, 1));
    if (settings.temperature !== 1) this.add(c.llama_sampler_init_temp(settings.temperature));
  }

  /** Draws from the logits of batch row `row` of the context's last call, for the token that will stand at `position`. */
  sample(context: bigint, row: number, position: number): Draw {
    const { grammar, settings: { probabilities } } = this;
    if (this.ends) return { token: this.endToken() };
    const token = grammar?.hasBegun === true ? this.sampleWithin(grammar, context, row, position) : this.sampleFreely(context, row, position);
    return probabilities === undefined ? { token } : { token, probability: tokenProbability(this.vocabulary.logits(context, row), token, probabilities) };
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.grammar?.close();
    this.llama.c.llama_sampler_free(this.chain);
  }

  /** Runs the chain with a sampler at its end that draws. */
  private withDraw<T>(position: number, run: () => T): T {
    if (this.settings.temperature === 0) return run();
    const { c } = this.llama;
    const index = c.llama_sampler_chain_n(this.chain);
    c.llama_sampler_chain_add(this.chain, need(c.llama_sampler_init_dist(stepSeed(this.settings.seed, position))));
    const result = run();
    c.llama_sampler_free(c.llama_sampler_chain_remove(this.chain, index));
    return result;
  }

  private sampleFreely(context: bigint, row: number, position: number): number {
    const token = this.plain ? this.drawPlainly(context, row, position) : this.withDraw(position, () => this.llama.c.llama_sampler_sample(this.chain, context, row));
    this.grammar?.accept(token);
    return token;
  }

  private drawPlainly(context: bigint, row: number, position: number): number {
    const { settings } = this;
    const logits = this.vocabulary.logits(context, row);
    return settings.temperature === 0 ? likeliestToken(logits) : drawToken(logits, settings, stepSeed(settings.seed, position));
  }

  private sampleWithin(grammar: GrammarState, context: bigint, row: number, position: number): number {
    const { candidates } = this.vocabulary.grammar();
    const logits = this.vocabulary.logits(context, row);
    const choose = (within: boolean): number | null => this.withDraw(position, () => {
      candidates.load(logits);
      if (within) grammar.restrict(candidates);
      candidates.apply(this.chain);
      return candidates.selected();
    });
    let token = choose(false);
    if (token === null || !grammar.allows(token)) token = choose(true);
    // Nothing that the model can say goes on from here: the answer ends.
    if (token === null || !grammar.allows(token)) return this.endToken();
    grammar.accept(token);
    this.llama.c.llama_sampler_accept(this.chain, token);
    return token;
  }

  private endToken(): number {
    const [token] = this.vocabulary.endOfGeneration;
    if (token === undefined) throw new RingError('bad_request', 'the grammar allows no token here, and the model has none that ends an answer');
    return token;
  }

  /** The chain owns what is added. */
  private add(sampler: bigint | null): bigint {
    const owned = need(sampler);
    this.llama.c.llama_sampler_chain_add(this.chain, owned);
    return owned;
  }

  private addBias(): void {
    const biases = new Map<number, number>();
    for (const [token, bias] of this.settings.logitBias) biases.set(token, (biases.get(token) ?? 0) + bias);
    if (this.settings.ignoreEos) for (const token of this.vocabulary.endOfGeneration) biases.set(token, -Infinity);
    if (biases.size === 0) return;
    // struct llama_logit_bias { int32 token; float bias; }
    const entries = new DataView(new ArrayBuffer(biases.size * 8));
    let offset = 0;
    for (const [token, bias] of biases) {
      entries.setInt32(offset, token, true);
      entries.setFloat32(offset + 4, bias, true);
      offset += 8;
    }
    this.add(this.llama.c.llama_sampler_init_logit_bias(this.vocabulary.size, biases.size, new Uint8Array(entries.buffer)));
  }

  private check(settings: SamplingSettings, history: SamplerHistory): void {
    const outside = (token: number): boolean => !Number.isInteger(token) || token < 0 || token >= this.vocabulary.size;
    for (const tokens of [history.promptTokens, history.emittedTokens, settings.logitBias.map(([token]) => token)]) {
      const wrong = tokens.find(outside);
      if (wrong !== undefined) throw new RingError('bad_request', `token ${wrong} is outside the vocabulary of ${this.vocabulary.size}`, { token: wrong });
    }
    const { temperature, repeatPenalty, frequencyPenalty, presencePenalty, topP, minP } = settings;
    if (![temperature, repeatPenalty, frequencyPenalty, presencePenalty, topP, minP].every(Number.isFinite) || temperature < 0 || repeatPenalty <= 0) {
      throw new RingError('bad_request', 'sampling settings must be finite, the temperature not negative and the repeat penalty above 0');
    }
  }
}

/**
 * Whoever takes a request has its grammar checked first. Should one that cannot be read come all the same, its own answer
 * ends at once: a stage that failed would take everybody's answers along.
 */
function grammarOf(vocabulary: SamplerVocabulary, { grammar }: SamplingSettings): GrammarState | null {
  if (grammar === undefined) return null;
  try {
    return new GrammarState(vocabulary.grammar(), grammar);
  } catch (error) {
    if (error instanceof RingError && error.code === 'bad_request') return null;
    throw error;
  }
}

function isPlain(settings: SamplingSettings): boolean {
  const { repeatPenalty, frequencyPenalty, presencePenalty, logitBias, ignoreEos, topK, temperature } = settings;
  return repeatPenalty === 1 && frequencyPenalty === 0 && presencePenalty === 0 && logitBias.length === 0 && !ignoreEos && (topK <= 0 || temperature === 0);
}

function need(sampler: bigint | null): bigint {
  if (sampler === null) throw new RingError('engine_failed', 'the engine could not make a sampler');
  return sampler;
}
