/**
 * What the engine's tests share: the built-in model's stage options, and a small driver that feeds a stage.
 */
import { fileURLToPath } from 'node:url';
import type { SamplingSettings } from '../../src/core/step-types.js';
import type { StageEngine, StageOptions } from '../../src/ports.js';

export const MODEL_FILE = fileURLToPath(new URL('../../models/kjv-q8_0.gguf', import.meta.url));

export const GREEDY: SamplingSettings = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

export function wholeOptions(changes: Partial<StageOptions> = {}): StageOptions {
  return {
    role: 'whole', stageFile: MODEL_FILE, embedding: null, backend: 'cpu', threads: 1, contextTokens: 512, slots: 1,
    keyType: 'q8_0', valueType: 'f16', batchTokens: 256, ...changes,
  };
}

export interface OpenOptions {
  readonly sampling?: SamplingSettings;
  readonly promptTokens?: readonly number[];
  readonly emittedTokens?: readonly number[];
}

export function open(stage: StageEngine, slot: number, options: OpenOptions = {}): void {
  stage.apply([{
    kind: 'open', slot, sequenceId: `s${slot}`, sampling: options.sampling ?? GREEDY, origin: 'test', promptLength: 0,
    promptTokens: options.promptTokens ?? [], emittedTokens: options.emittedTokens ?? [],
  }]);
}

export function close(stage: StageEngine, slot: number): void {
  stage.apply([{ kind: 'close', slot }]);
}

/** Prefills in chunks, then decodes `count` tokens. Leaves the slot open. */
export function generate(stage: StageEngine, slot: number, prompt: Int32Array, count: number, chunk = 200): number[] {
  let next = feed(stage, slot, prompt, 0, chunk);
  const tokens = [next];
  for (let position = prompt.length; tokens.length < count; position += 1) {
    next = stage.step({ slices: [{ slot, position, tokens: 1, sample: true }], tokens: Int32Array.of(next), hidden: null }).sampled[0]?.token ?? -1;
    tokens.push(next);
  }
  return tokens;
}

/** Feeds tokens from `position` on and returns the token sampled after the last one. */
export function feed(stage: StageEngine, slot: number, tokens: Int32Array, position: number, chunk: number): number {
  let sampled = -1;
  for (let offset = 0; offset < tokens.length; offset += chunk) {
    const part = tokens.slice(offset, offset + chunk);
    const last = offset + part.length === tokens.length;
    const output = stage.step({ slices: [{ slot, position: position + offset, tokens: part.length, sample: last }], tokens: part, hidden: null });
    sampled = output.sampled[0]?.token ?? -1;
  }
  return sampled;
}

/** Bit-exact comparison of f32 vectors: the number of values that differ. */
export function differences(a: Float32Array, b: Float32Array): number {
  const left = new Uint32Array(a.buffer, a.byteOffset, a.length);
  const right = new Uint32Array(b.buffer, b.byteOffset, b.length);
  let count = Math.abs(left.length - right.length);
  left.forEach((bits, index) => {
    if (bits !== right[index]) count += 1;
  });
  return count;
}

/** Tokens that are no text, but valid: long prompts for exactness. */
export function syntheticPrompt(length: number, seed: number): Int32Array {
  let state = seed >>> 0;
  return Int32Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 10 + (state >>> 8) % 2_000;
  });
}
