import { describe, expect, it } from 'vitest';
import { callTokens, engineCallTokens, MAX_STEP_TOKENS, stepTokens } from '../../src/core/step-size.js';

describe('the tokens of a step', () => {
  it('are half as many in a ring as on a lone node', () => {
    expect([1, 2, 3, 64].map(stepTokens)).toEqual([512, 256, 256, 256]);
  });

  it('go through the engine in one call, and through a processor in a ring in several', () => {
    expect(callTokens({ stages: 1, backend: 'cpu' })).toBe(512);
    expect(callTokens({ stages: 2, backend: 'cpu' })).toBe(64);
    expect(callTokens({ stages: 2, backend: 'cuda' })).toBe(256);
    expect(callTokens({ stages: 2 })).toBe(256);
  });

  it('are the engine\'s largest everywhere for models with windows: their cells follow', () => {
    expect(engineCallTokens({ callTokens: 64, windowed: true })).toBe(MAX_STEP_TOKENS);
    expect(engineCallTokens({ callTokens: 512, windowed: true })).toBe(MAX_STEP_TOKENS);
    expect(engineCallTokens({ callTokens: 64, windowed: false })).toBe(64);
  });
});
