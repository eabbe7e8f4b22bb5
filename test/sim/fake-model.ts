/**
 * A model that is arithmetic: every token is a pure function of the tokens before it, the sampling settings and the seed.
 *
 * Each layer folds its whole past into what it hands on, so a layer that is skipped, computed twice, computed on another
 * sequence's past or on a wrong position changes every later token: an answer is right only if the ring did everything
 * right. Hidden states are whole numbers below 2^24, which f32 holds exactly.
 */
import type { SamplingSettings } from '../../src/core/step-types.js';

export const VOCABULARY_SIZE = 64;
export const HIDDEN_SIZE = 2;
/** Ends an answer. */
export const END_TOKEN = 0;
/** Few words, so that texts repeat themselves and guesses are sometimes right. */
const WORDS = 5;
/** One in so many draws ends the answer. */
const END_ODDS = 60;
/** Repetition grows with every token that an answer has: then a guess is right now and then. */
const REPEAT_ODDS = 3;

export type Hidden = readonly [number, number];

function mix(a: number, b: number): number {
  let hash = Math.imul(a ^ 0x9e37_79b9, 0x85eb_ca6b) ^ Math.imul(b + 1, 0xc2b2_ae35);
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0_aaad);
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a_2d97);
  return (hash ^ (hash >>> 15)) >>> 0;
}

export function embed(token: number): Hidden {
  return [mix(token, 1) >>> 8, mix(token, 2) >>> 8];
}

/** What the layer remembers after this position, from what it remembered before it. */
export function remember(layer: number, before: number, [first, second]: Hidden): number {
  return mix(mix(before, first), mix(second, layer));
}

export function handOn(memory: number): Hidden {
  return [mix(memory, 3) >>> 8, mix(memory, 4) >>> 8];
}

/** What a sampler knows of the tokens before: all of the answer, and of the prompt where a penalty needs it. */
export function history(promptTokens: readonly number[], answerTokens: readonly number[]): number {
  return [...promptTokens, ...answerTokens].reduce((hash, token) => heard(hash, token), 17);
}

export function heard(before: number, token: number): number {
  return mix(before, token);
}

export function draw([first, second]: Hidden, sampling: SamplingSettings, position: number, past: number): number {
  const logits = mix(mix(first, second), past);
  // Now and then the text goes in circles, whatever was said before.
  const circle = mix(first, 5) % REPEAT_ODDS !== 0;
  const drawn = sampling.temperature === 0 ? logits : mix(logits, mix(sampling.seed, position));
  if (!sampling.ignoreEos && drawn % END_ODDS === 0) return END_TOKEN;
  return circle ? 1 + position % WORDS : 1 + (drawn >>> 7) % WORDS;
}

/** A prompt's answer on one machine that nothing ever happens to; the end token included. */
export function answerOf(layers: number, promptTokens: readonly number[], sampling: SamplingSettings, maxTokens: number): number[] {
  const memory = new Array<number>(layers).fill(0);
  const answer: number[] = [];
  const feed = (token: number): Hidden => {
    let hidden = embed(token);
    for (let layer = 0; layer < layers; layer += 1) {
      memory[layer] = remember(layer, memory[layer] ?? 0, hidden);
      hidden = handOn(memory[layer] ?? 0);
    }
    return hidden;
  };
  let hidden: Hidden = [0, 0];
  for (const token of promptTokens) hidden = feed(token);
  let past = history(sampling.repeatPenalty === 1 ? [] : promptTokens, []);
  while (answer.length < maxTokens) {
    const token = draw(hidden, sampling, promptTokens.length + answer.length, past);
    answer.push(token);
    if (token === END_TOKEN) break;
    past = heard(past, token);
    hidden = feed(token);
  }
  return answer;
}

/** One letter a token; the end token says nothing. */
export function pieceOf(token: number): string {
  return token === END_TOKEN ? '' : String.fromCharCode(64 + token);
}
