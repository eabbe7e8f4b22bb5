import { describe, expect, it } from 'vitest';
import { MAX_STEP_TOKENS } from '../../src/core/step-size.js';
import { activationPieces, decodeActivation, decodeActivationHeader, encodeActivation, encodeReturn } from '../../src/wire/activation-codec.js';
import type { Activation } from '../../src/wire/activation-codec.js';
import { codeOf } from '../support/thrown.js';

const sampling = {
  temperature: 0.7, topK: 40, topP: 0.95, minP: 0.05, seed: 4_294_967_295, repeatPenalty: 1.1, frequencyPenalty: -0.5, presencePenalty: 0.5, ignoreEos: true,
  logitBias: [[3, -100], [9, 1.5]] as [number, number][],
};

const activation: Activation = {
  planId: '3.12D3KooW.7',
  step: 42,
  operations: [
    { kind: 'close', slot: 0 },
    { kind: 'open', slot: 0, sequenceId: 'request-1', sampling, origin: '12D3KooWorigin', promptLength: 5, promptTokens: [1, 2, 3, 4, 5], emittedTokens: [9] },
    { kind: 'close', slot: 2, retain: true },
    { kind: 'open', slot: 2, sequenceId: 'request-2', sampling: { ...sampling, grammar: { text: 'root ::= "a"', after: ['<tool_call>'] }, probabilities: 0, pooling: 'last', draftTokens: 0 }, origin: '12D3KooWorigin', promptLength: 5, promptTokens: [], emittedTokens: [], headDelivers: true, reuse: { slot: 0, tokens: 4 } },
  ],
  slices: [{ slot: 0, position: 0, tokens: 2, sample: false }, { slot: 1, position: 17, tokens: 1, sample: true }],
  tokens: null,
  hidden: Float32Array.from([1, -2, 3.5, Number.MIN_VALUE, 65_504, 1e30]),
  hiddenSize: 2,
  sampled: [{ slot: 3, sequenceId: 'request-0', position: 99, token: 151_000, endOfGeneration: true, probability: { logprob: -0.5, alternatives: [{ token: 7, logprob: -0.25 }] }, embedding: Float32Array.of(0.5, -1) }],
  computeMicros: 12_345,
  stageMicros: [12_000, 345],
  goesOn: true,
};

/** Byte-exact: what an older agent sends must stay readable. */
const OLD_FRAME = Buffer.from('4a0000000a05312e612e3110071a04120208021a2b0a2908021201721a1d09000000000000f03f19000000000000f03f280531000000000000f03f22016f2803220608021801200130013802480900000000803f000080bf', 'hex');

describe('activation frames', () => {
  it('come back as they were sent, hidden states to the bit', () => {
    expect(decodeActivation(encodeActivation(activation))).toEqual(activation);
  });

  it('read the payload in place when it is aligned, and by copy when it is not', () => {
    const frame = encodeActivation(activation);
    expect(decodeActivation(frame).hidden?.buffer).toBe(frame.buffer);
    const shifted = new Uint8Array(frame.byteLength + 1);
    shifted.set(frame, 1);
    expect(decodeActivation(shifted.subarray(1)).hidden).toEqual(activation.hidden);
  });

  it('go back to the head without what it knows and what it does not need', () => {
    const last: Activation = { ...activation, hidden: null, hiddenSize: 0 };
    const frame = encodeActivation(last);
    const [token] = last.sampled;
    expect(decodeActivation(encodeReturn(frame, decodeActivationHeader(frame)))).toEqual({
      ...last, operations: [], sampled: [{ slot: token?.slot, sequenceId: token?.sequenceId, position: token?.position, token: token?.token, endOfGeneration: token?.endOfGeneration }],
    });
    const lean = encodeActivation({ ...last, operations: [], sampled: [] });
    expect(encodeReturn(lean, decodeActivationHeader(lean))).toBe(lean);
  });

  it('are the same in pieces, whose hidden states are where they were', () => {
    const pieces = activationPieces(activation);
    expect(Buffer.concat(pieces).equals(encodeActivation(activation))).toBe(true);
    expect(pieces.at(-1)?.buffer).toBe(activation.hidden?.buffer);
  });

  it('have no more tokens than any step of any build', () => {
    const bare = { ...activation, hidden: null, hiddenSize: 0, tokens: null };
    const slice = (slot: number, tokens: number) => ({ slot, position: 0, tokens, sample: true });
    expect(decodeActivation(encodeActivation({ ...bare, slices: [slice(0, MAX_STEP_TOKENS)] })).slices).toHaveLength(1);
    expect(codeOf(() => decodeActivation(encodeActivation({ ...bare, slices: [slice(0, MAX_STEP_TOKENS), slice(1, 1)] })))).toBe('bad_frame');
  });

  it('carry token ids instead of hidden states to the stage that looks them up', () => {
    const tokens = Int32Array.of(5, 6, 7);
    const decoded = decodeActivation(encodeActivation({ ...activation, hidden: null, hiddenSize: 0, tokens }));
    expect(decoded.tokens).toEqual(tokens);
    expect(decoded.hidden).toBeNull();
  });

  it('carry packed hidden states as they are, and refuse bytes that their shape does not have', () => {
    const { hidden: _hidden, ...bare } = activation;
    for (const packed of [{ type: 'f16', bytes: new Uint8Array(3 * 64 * 2).fill(7) }, { type: 'q8_0', bytes: new Uint8Array(3 * 68).fill(9) }] as const) {
      const frame = encodeActivation({ ...bare, hidden: null, hiddenSize: 64, packed });
      const decoded = decodeActivation(frame);
      expect(decoded.hidden).toBeNull();
      expect(decoded.packed?.type).toBe(packed.type);
      expect(Buffer.from(decoded.packed?.bytes ?? []).equals(packed.bytes)).toBe(true);
      expect(codeOf(() => decodeActivation(frame.subarray(0, frame.byteLength - 2)))).toBe('bad_frame');
    }
    expect(codeOf(() => decodeActivation(encodeActivation({ ...bare, hidden: null, hiddenSize: 40, packed: { type: 'q8_0', bytes: new Uint8Array(3 * 34) } })))).toBe('bad_frame');
  });

  it('cost less than a hundred bytes beyond the hidden states at decode', () => {
    const hiddenSize = 2048;
    const frame = encodeActivation({
      ...activation,
      planId: '12.12D3KooWGRUMTvVQg5Yk5Yz4hFvTkHcLJx4ZqM4ZbYx5S8v6tQfA.3',
      operations: [],
      slices: [{ slot: 3, position: 1000, tokens: 1, sample: true }],
      hidden: new Float32Array(hiddenSize),
      hiddenSize,
      sampled: [],
    });
    expect(frame.byteLength - hiddenSize * 4).toBeLessThanOrEqual(100);
  });

  it('B18: refuse every lie about shape with a typed error', () => {
    const frame = encodeActivation(activation);
    expect(codeOf(() => decodeActivation(frame.subarray(0, frame.byteLength - 4)))).toBe('bad_frame');
    expect(codeOf(() => decodeActivation(frame.subarray(0, 3)))).toBe('bad_frame');
    const longHeader = Uint8Array.from(frame);
    new DataView(longHeader.buffer).setUint32(0, 0xffff_fff0, true);
    expect(codeOf(() => decodeActivationHeader(longHeader))).toBe('bad_frame');
    expect(codeOf(() => decodeActivation(encodeActivation({ ...activation, hiddenSize: 3 })))).toBe('bad_frame');
    expect(codeOf(() => decodeActivation(encodeActivation({ ...activation, hidden: null, tokens: Int32Array.of(1) })))).toBe('bad_frame');
    expect(codeOf(() => decodeActivation(encodeActivation({ ...activation, slices: [{ slot: 0, position: 0, tokens: 0, sample: true }] })))).toBe('bad_frame');
    const notFinite = { ...activation, operations: activation.operations.map((operation) => (operation.kind === 'open' ? { ...operation, sampling: { ...sampling, temperature: Number.NaN } } : operation)) };
    expect(codeOf(() => decodeActivation(encodeActivation(notFinite)))).toBe('bad_frame');
  });

  it('answer random bytes with a typed error or a decoded frame, never with anything else', () => {
    let state = 12_345;
    const random = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state >>> 8;
    };
    const frame = encodeActivation(activation);
    for (let round = 0; round < 2_000; round += 1) {
      const bytes = Uint8Array.from(frame);
      for (let flips = 1 + (random() % 4); flips > 0; flips -= 1) bytes[random() % bytes.byteLength] = random() & 255;
      const result = codeOf(() => decodeActivation(bytes.subarray(0, random() % 3 === 0 ? random() % bytes.byteLength : bytes.byteLength)));
      expect(['nothing thrown', 'bad_frame']).toContain(result);
    }
  });

  it('of the first version of the protocol stay readable', () => {
    expect(decodeActivation(OLD_FRAME)).toMatchObject({
      planId: '1.a.1',
      step: 7,
      operations: [{ kind: 'close', slot: 2 }, { kind: 'open', slot: 2, sequenceId: 'r', origin: 'o', promptLength: 3, sampling: { temperature: 1, topP: 1, seed: 5, repeatPenalty: 1 } }],
      slices: [{ slot: 2, position: 0, tokens: 1, sample: true }],
      hidden: Float32Array.of(1, -1),
      hiddenSize: 2,
      computeMicros: 9,
    });
  });
});
