/**
 * Draws a token from the logits of a whole vocabulary: 150,000 numbers, and the last stage draws for every answer in a step.
 *
 * Nothing is computed for tokens one by one. A pass counts them by logit in narrow bins, whose weights are all that has to be
 * known for choosing a bin; one of its tokens is taken and, as a bin's weight is that of its upper edge, sometimes thrown back
 * (rejection sampling, exact whatever the bins are). Numbers and costs: docs/benchmarks.md.
 *
 * Pure, and the same on every platform. Meanings are those of libllama's samplers: top_p on the untempered distribution, then
 * min_p, then the temperature.
 */

export interface DrawSettings {
  /** Above 0. */
  readonly temperature: number;
  /** 1 = all. */
  readonly topP: number;
  /** 0 = all. */
  readonly minP: number;
}

const BINS_PER_LOGIT = 16;
const BINS = 8192;
const ZERO_BIN = BINS / 2;
/** Bin 0 also holds what is impossible. With all logits down there it could not be told from the rest. */
const LOWEST_TOP_BIN = 1024;
/** A bin whose upper edge weighs so much more than its lower one throws back too often. */
const MAX_BIN_NATS = 0.75;
/** Below the likeliest token by this much in nats, a weight counts as none. */
const NEGLIGIBLE_NATS = 45;
/** Throwing back half of all for so long does not happen. */
const MAX_TRIES = 128;
/** Of a bin's upper edge's weight, at temperature 1. */
const MEAN_OF_BIN = BINS_PER_LOGIT * (1 - Math.exp(-1 / BINS_PER_LOGIT));
/** Bins on each side of the one where top_p ends: what is summed by bins is off by less. */
const BORDER_BINS = 1;

/** Used again for each draw. */
const counts = new Int32Array(BINS);

/** Of equal ones the lower id. */
export function likeliestToken(logits: Float32Array): number {
  let highest = -Infinity;
  for (let token = 0; token < logits.length; token += 1) {
    const logit = logits[token] ?? -Infinity;
    if (logit > highest) highest = logit;
  }
  return Math.max(0, logits.indexOf(highest));
}

/** The same `seed`, an unsigned 32-bit number, and logits give the same token. */
export function drawToken(logits: Float32Array, settings: DrawSettings, seed: number): number {
  const top = countBins(logits);
  if (top < LOWEST_TOP_BIN) {
    const likeliest = likeliestToken(logits);
    const highest = logits[likeliest] ?? 0;
    // Far from where bins are; or nothing is possible, or one token alone.
    return Number.isFinite(highest) ? drawToken(logits.map((logit) => logit - highest), settings, seed) : likeliest;
  }
  const uniform = uniforms(seed);
  const { temperature, topP, minP } = settings;
  if (topP < 1) return drawAmong(minPOf(withinTopP(logits, top, topP), logits, minP), logits, temperature, uniform);
  if (minP > 0) return drawAmong(minPOf(fromBin(logits, binsBelow(top, -Math.log(minP))), logits, minP), logits, temperature, uniform);
  if (1 / (BINS_PER_LOGIT * temperature) > MAX_BIN_NATS) return drawAmong(fromBin(logits, binsBelow(top, NEGLIGIBLE_NATS * temperature)), logits, temperature, uniform);
  return drawByBins(logits, top, temperature, uniform);
}

/** Numbers in [0, 1) that follow from the seed: its successors by a constant, well mixed. */
function uniforms(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e37_79b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0_aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Of what is impossible, no number or below all bins: 0. */
function binOf(logit: number): number {
  return Math.max(0, (logit * BINS_PER_LOGIT + ZERO_BIN) | 0);
}

/** In logits; for bins above 0 exact. */
function lowerEdge(bin: number): number {
  return (bin - ZERO_BIN) / BINS_PER_LOGIT;
}

/** Fills `counts`. The highest bin with a token in it; -1 where a logit is above all bins, and they mean nothing. */
function countBins(logits: Float32Array): number {
  counts.fill(0);
  let top = 0;
  for (let token = 0; token < logits.length; token += 1) {
    const bin = binOf(logits[token] ?? 0);
    if (bin > top) top = bin;
    const index = bin % BINS;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return top < BINS ? top : -1;
}

/** The bin of what is `logits` below a token in bin `top`, or one lower. */
function binsBelow(top: number, logits: number): number {
  return Math.max(1, top - Math.ceil(logits * BINS_PER_LOGIT) - 1);
}

function drawByBins(logits: Float32Array, top: number, temperature: number, uniform: () => number): number {
  const natsPerBin = 1 / (BINS_PER_LOGIT * temperature);
  const last = Math.max(1, top - Math.ceil(NEGLIGIBLE_NATS / natsPerBin));
  let total = 0;
  for (let bin = top; bin >= last; bin -= 1) total += (counts[bin] ?? 0) * Math.exp((bin - top) * natsPerBin);
  let token = 0;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    let left = uniform() * total;
    let bin = top;
    for (; bin > last; bin -= 1) {
      left -= (counts[bin] ?? 0) * Math.exp((bin - top) * natsPerBin);
      if (left < 0) break;
    }
    token = nthOf(logits, bin, Math.floor(uniform() * (counts[bin] ?? 0)));
    if (uniform() < Math.exp(((logits[token] ?? -Infinity) - lowerEdge(bin + 1)) / temperature)) break;
  }
  return token;
}

/** The token with `before` others of its bin before it. */
function nthOf(logits: Float32Array, bin: number, before: number): number {
  const lowest = lowerEdge(bin);
  const above = lowerEdge(bin + 1);
  let left = before;
  for (let token = 0; token < logits.length; token += 1) {
    const logit = logits[token] ?? -Infinity;
    if (logit < lowest || !(logit < above)) continue;
    if (left === 0) return token;
    left -= 1;
  }
  return likeliestToken(logits);
}

/** Each with its own weight; in any order. */
function drawAmong(tokens: readonly number[], logits: Float32Array, temperature: number, uniform: () => number): number {
  const highest = highestOf(tokens, logits);
  const weights = tokens.map((token) => Math.exp(((logits[token] ?? -Infinity) - highest) / temperature));
  let left = uniform() * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [index, weight] of weights.entries()) {
    left -= weight;
    if (left < 0) return tokens[index] ?? 0;
  }
  return likeliestToken(logits);
}

function highestOf(tokens: readonly number[], logits: Float32Array): number {
  return tokens.reduce((highest, token) => Math.max(highest, logits[token] ?? -Infinity), -Infinity);
}

function minPOf(tokens: readonly number[], logits: Float32Array, minP: number): readonly number[] {
  if (minP <= 0) return tokens;
  const lowest = highestOf(tokens, logits) + Math.log(minP);
  return tokens.filter((token) => (logits[token] ?? -Infinity) >= lowest);
}

/** In this bin and all above. */
function fromBin(logits: Float32Array, lowestBin: number): number[] {
  const lowest = lowerEdge(lowestBin);
  const tokens: number[] = [];
  for (let token = 0; token < logits.length; token += 1) if ((logits[token] ?? -Infinity) >= lowest) tokens.push(token);
  return tokens;
}

/** Of the tokens in bins `from` and below, in units of the upper edge of bin `top`. */
function massBelow(from: number, top: number): number {
  let mass = 0;
  for (let bin = from; bin > 0 && bin > top - NEGLIGIBLE_NATS * BINS_PER_LOGIT; bin -= 1) mass += binMass(bin, top);
  return mass;
}

/** As if the logits in a bin were spread evenly. */
function binMass(bin: number, top: number): number {
  return (counts[bin] ?? 0) * MEAN_OF_BIN * Math.exp((bin - top) / BINS_PER_LOGIT);
}

/** The fewest tokens, from the likeliest down, that together have `topP` of the probability; of equal ones the lower ids. */
function withinTopP(logits: Float32Array, top: number, topP: number): readonly number[] {
  const roughly = topP * massBelow(top, top);
  let border = top;
  for (let mass = binMass(top, top); mass < roughly && border > 1; mass += binMass(border, top)) border -= 1;
  const within: number[] = [];
  const atBorder: number[] = [];
  for (const token of fromBin(logits, Math.max(1, border - BORDER_BINS))) (binOf(logits[token] ?? 0) > border + BORDER_BINS ? within : atBorder).push(token);
  // Tokens that are here count as what they weigh; only the others as their bins do.
  const weightOf = (token: number): number => Math.exp((logits[token] ?? -Infinity) - lowerEdge(top + 1));
  const massOf = (tokens: readonly number[]): number => tokens.reduce((mass, token) => mass + weightOf(token), 0);
  const inner = massOf(within);
  let missing = topP * (inner + massOf(atBorder) + massBelow(border - BORDER_BINS - 1, top)) - inner;
  atBorder.sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b);
  for (const token of atBorder) {
    if (missing <= 0 && within.length > 0) break;
    within.push(token);
    missing -= weightOf(token);
  }
  return within;
}
