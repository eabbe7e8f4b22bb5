/** How likely a token was, from the logits of the whole vocabulary: softmax in double precision. Pure. */
import type { TokenProbability } from '../core/step-types.js';

/** `alternatives` of the likeliest tokens come with it; of equal ones the lower id first. */
export function tokenProbability(logits: Float32Array, token: number, alternatives: number): TokenProbability {
  let highest = -Infinity;
  for (const logit of logits) if (logit > highest) highest = logit;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  const normalizer = highest + Math.log(sum);
  const logprobOf = (index: number): number => finite((logits[index] ?? -Infinity) - normalizer);
  return {
    logprob: logprobOf(token),
    alternatives: likeliest(logits, Math.min(alternatives, logits.length)).map((index) => ({ token: index, logprob: logprobOf(index) })),
  };
}

/** JSON and the wire have no infinity; below this nothing is told apart anyway. */
const LOWEST_LOGPROB = -9999;

function finite(logprob: number): number {
  return Number.isFinite(logprob) ? Math.max(logprob, LOWEST_LOGPROB) : LOWEST_LOGPROB;
}

function likeliest(logits: Float32Array, count: number): readonly number[] {
  const best: number[] = [];
  if (count === 0) return best;
  for (let token = 0; token < logits.length; token += 1) {
    const logit = logits[token] ?? -Infinity;
    if (best.length === count && logit <= (logits[best[count - 1] ?? 0] ?? -Infinity)) continue;
    let at = best.length === count ? count - 1 : best.length;
    while (at > 0 && logit > (logits[best[at - 1] ?? 0] ?? -Infinity)) {
      best[at] = best[at - 1] ?? 0;
      at -= 1;
    }
    best[at] = token;
  }
  return best;
}
