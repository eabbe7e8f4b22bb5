import { describe, expect, it } from 'vitest';
import { architectureRules, SPLITTABLE_ARCHITECTURES, unsupportedReason } from '../../src/model/architectures.js';
import { parseGgufHeader, readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufValue } from '../../src/model/gguf-values.js';
import { float32, numberArray, uint32 } from '../../src/model/gguf-values.js';
import type { ModelShape } from '../../src/core/types.js';
import { modelNameOf, modelShape } from '../../src/model/model-shape.js';
import { smallFile, smallMetadata, smallTensors } from '../support/small-gguf.js';

function shapeOf(architecture: string, layers: number, extra: Readonly<Record<string, GgufValue>>, tensors = smallTensors(layers)): ModelShape {
  const metadata = smallMetadata(architecture, layers);
  for (const [key, value] of Object.entries(extra)) metadata.set(`${architecture}.${key}`, value);
  const bytes = smallFile(metadata, tensors);
  return modelShape(parseGgufHeader([bytes], bytes.length), 'small');
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('the shape of a model', () => {
  it('of the built-in one', async () => {
    const shape = modelShape(await readGgufHeader('models/kjv-q8_0.gguf'), 'kjv-q8_0');
    expect(shape).toMatchObject({
      name: 'kjv-q8_0', architecture: 'llama', layers: 5, hiddenSize: 256, vocabularySize: 2048, trainedContext: 512, feedForwardSize: 704, attentionHeads: 4,
      cutPeriod: 1, unsplittableReason: null, unsupportedReason: null, headBytes: 0,
    });
    expect(shape.keyElementsPerToken).toEqual([256, 256, 256, 256, 256]);
    expect(shape.wholeBytes).toBeLessThan(shape.identity.sizeBytes);
    expect(sum(shape.layerBytes)).toBeLessThan(shape.wholeBytes);
  });

  it('has each layer\'s own bytes and heads', () => {
    const shape = shapeOf('llama', 4, {});
    expect(shape.layerBytes).toEqual([4224, 5312, 4224, 5312]);
    expect(shape.keyElementsPerToken).toEqual([16, 32, 16, 32]);
  });

  it('has the width of an expert where the model says one', () => {
    const experts = { feed_forward_length: uint32(6144), expert_count: uint32(128), expert_used_count: uint32(8) };
    expect(shapeOf('qwen3moe', 2, { ...experts, expert_feed_forward_length: uint32(768) })).toMatchObject({ feedForwardSize: 6144, expertFeedForwardSize: 768 });
    expect(shapeOf('llama', 2, experts)).not.toHaveProperty('expertFeedForwardSize');
  });

  it('stores only keys under latent attention', () => {
    const shape = shapeOf('deepseek2', 27, {
      'attention.head_count_kv': uint32(1), 'attention.key_length': uint32(96), 'attention.value_length': uint32(64),
      'attention.key_length_mla': uint32(64), 'attention.value_length_mla': uint32(32),
    });
    expect(new Set(shape.keyElementsPerToken)).toEqual(new Set([96]));
    expect(new Set(shape.valueElementsPerToken)).toEqual(new Set([0]));
  });

  it('knows windows, cut periods and their absence', () => {
    const window = { 'attention.sliding_window': uint32(8) };
    expect(shapeOf('gpt-oss', 4, window)).toMatchObject({ cutPeriod: 2, windowTokens: [8, 0, 8, 0] });
    expect(shapeOf('gemma3', 7, window)).toMatchObject({ cutPeriod: 6, windowTokens: [8, 8, 8, 8, 8, 0, 8] });
    expect(shapeOf('gemma3', 7, {})).toMatchObject({ cutPeriod: 1, windowTokens: [0, 0, 0, 0, 0, 0, 0] });
    expect(shapeOf('gemma2', 2, {}).windowTokens).toEqual([4096, 0]);
    expect(shapeOf('gpt-oss', 6, { ...window, 'attention.sliding_window_pattern': uint32(3) }).cutPeriod).toBe(3);
    expect(shapeOf('smollm3', 8, {}).cutPeriod).toBe(4);
    expect(shapeOf('phi3', 4, window)).toMatchObject({ cutPeriod: 1, windowTokens: [0, 0, 0, 0] });
  });

  it('knows the state of recurrent layers, and that those have no keys and values', () => {
    const ssm = { 'ssm.conv_kernel': uint32(4), 'ssm.inner_size': uint32(6144), 'ssm.state_size': uint32(128), 'ssm.group_count': uint32(16), 'ssm.time_step_rank': uint32(48) };
    // The figures that the engine prints for a qwen35 of 64 layers: 48 of them recurrent, 149.62 MiB for one sequence.
    const gated = shapeOf('qwen35', 64, ssm);
    expect(gated.stateBytesPerSlot.slice(0, 5)).toEqual([3_268_608, 3_268_608, 3_268_608, 0, 3_268_608]);
    expect(sum(gated.stateBytesPerSlot) / 1024 ** 2).toBeCloseTo(149.62, 1);
    expect(gated.keyElementsPerToken.map((count) => count > 0).slice(0, 5)).toEqual([false, false, false, true, false]);
    expect(shapeOf('qwen3next', 4, { ...ssm, full_attention_interval: uint32(2) }).stateBytesPerSlot.map((bytes) => bytes > 0)).toEqual([true, false, true, false]);
    expect(shapeOf('qwen35', 5, { ...ssm, nextn_predict_layers: uint32(1) }).stateBytesPerSlot.map((bytes) => bytes > 0)).toEqual([true, true, true, false, false]);
    const listed = shapeOf('qwen35', 4, { ...ssm, 'attention.recurrent_layers': numberArray('uint32', [0, 1, 1, 0]) });
    expect(listed.stateBytesPerSlot.map((bytes) => bytes > 0)).toEqual([false, true, true, false]);
  });

  it('knows which layers are recurrent by what each family says', () => {
    const ssm = { 'ssm.conv_kernel': uint32(4), 'ssm.inner_size': uint32(64), 'ssm.state_size': uint32(16) };
    const heads = (...counts: number[]): GgufValue => numberArray('uint32', counts);
    const states = (architecture: string, extra: Readonly<Record<string, GgufValue>>): number[] => [...shapeOf(architecture, 4, extra).stateBytesPerSlot];
    expect(states('mamba', ssm)).toEqual([4864, 4864, 4864, 4864]);
    expect(states('jamba', { ...ssm, 'attention.head_count_kv': heads(0, 0, 1, 0) })).toEqual([4864, 4864, 0, 4864]);
    expect(states('granitehybrid', { ...ssm, 'ssm.group_count': uint32(1), 'attention.head_count_kv': heads(0, 1, 1, 0) })).toEqual([4 * (3 * 96 + 1024), 0, 0, 5248]);
    expect(states('nemotron_h', { ...ssm, 'attention.head_count_kv': heads(0, 0, 1, 0), feed_forward_length: heads(0, 64, 0, 0) })).toEqual([4864, 0, 0, 4864]);
    expect(states('lfm2', { 'shortconv.l_cache': uint32(3), 'attention.head_count_kv': heads(0, 0, 1, 0) })).toEqual([256, 256, 0, 256]);
    expect(states('rwkv6', { 'wkv.head_size': uint32(8) })).toEqual([1280, 1280, 1280, 1280]);
    expect(states('rwkv7', { 'wkv.head_size': uint32(8), token_shift_count: uint32(1) })[0]).toBe(1152);
    expect(states('kimi-linear', { 'ssm.conv_kernel': uint32(4), 'kda.head_dim': uint32(8), 'attention.head_count_kv': heads(0, 1, 0, 0) })).toEqual([1088, 0, 1088, 1088]);
    const lightning = shapeOf('minimax-01', 8, {});
    expect(lightning.stateBytesPerSlot).toEqual([2048, 2048, 2048, 2048, 2048, 2048, 2048, 0]);
    const both = shapeOf('falcon-h1', 4, ssm);
    expect(both.stateBytesPerSlot).toEqual([4864, 4864, 4864, 4864]);
    expect(both.keyElementsPerToken).toEqual([16, 32, 16, 32]);
    expect(states('llama', ssm)).toEqual([0, 0, 0, 0]);
    expect(states('mamba', { 'ssm.conv_kernel': float32(Number.NaN) })).toEqual([0, 0, 0, 0]);
  });

  it('passes guards on to the planner', () => {
    expect(shapeOf('gemma2', 46, {}).unsplittableReason).toMatch(/exactly this number of layers/);
    expect(shapeOf('gemma3', 64, {}).refusedStageLayers.map((entry) => entry.layers)).toEqual([62]);
    expect(shapeOf('deepseek2', 61, { 'attention.q_lora_rank': uint32(4) }).refusedStageLayers.map((entry) => entry.layers)).toEqual([26, 27, 48]);
    expect(shapeOf('deepseek2', 27, {}).refusedStageLayers).toEqual([]);
    expect(shapeOf('qwen3', 4, { nextn_predict_layers: uint32(1) }).unsplittableReason).toMatch(/next-token prediction/);
    expect(shapeOf('gpt-oss', 4, { 'attention.sliding_window': uint32(8), 'attention.sliding_window_pattern': numberArray('uint32', [1, 0, 1, 0]) }).unsplittableReason).toMatch(/layer by layer/);
  });

  it('counts a tied matrix twice where the engine holds it twice', () => {
    const tied = (type: number): ModelShape => shapeOf('gemma2', 2, {}, smallTensors(2, false).map((tensor) => (tensor.name === 'token_embd.weight' ? { ...tensor, ggmlType: type } : tensor)));
    const bytes = (shape: ModelShape): number => shape.wholeBytes - sum(shape.layerBytes);
    const others = 32 * 4 + 8 * 4;
    expect(bytes(tied(1))).toBe(others + 32 * 4 * 2);
    expect(bytes(tied(2))).toBe(others + 2 * 4 * 18);
    expect(tied(2).tailBytes).toBe(others + 2 * 4 * 18);
  });

  it.each([
    ['a fraction', { embedding_length: float32(3.5) }], ['no number', { embedding_length: float32(Number.NaN) }],
    ['infinite', { 'attention.head_count': float32(Infinity) }], ['negative', { 'attention.key_length': { type: 'int32', value: -5 } as const }],
    ['enormous', { 'attention.value_length': { type: 'uint64', value: 1n << 60n } as const }],
    ['enormous in one layer', { 'attention.head_count_kv': numberArray('float64', [1, 1, 1e30, 1]) }],
  ])('refuses a count that is %s', (_, extra) => {
    expect(() => shapeOf('llama', 4, extra)).toThrow(expect.objectContaining({ code: 'bad_gguf' }));
  });

  it.each([0, 5000])('refuses %i layers', (layers) => {
    const metadata = smallMetadata();
    metadata.set('llama.block_count', uint32(layers));
    expect(() => modelShape(parseGgufHeader([smallFile(metadata)], 1e6), 'x')).toThrow(expect.objectContaining({ code: 'bad_gguf' }));
  });
});

describe('architectures', () => {
  it('that nobody knows are unsupported and whole, whatever their name', () => {
    for (const name of ['nobody', '__proto__', 'constructor', '']) {
      expect(unsupportedReason(name)).toMatch(/unknown to the engine/);
      expect(architectureRules(name)).toMatchObject({ known: false, hiddenOutputNode: 'l_out' });
      expect(architectureRules(name).unsplittableReason).not.toBeNull();
    }
  });

  it('that are known but untested run whole with that reason', () => {
    expect(unsupportedReason('llama4')).toBeNull();
    expect(architectureRules('llama4').unsplittableReason).toMatch(/no test has shown/);
    expect(architectureRules('mamba')).toMatchObject({ recurrent: true, known: true });
    expect(unsupportedReason('bert')).toMatch(/does not generate text/);
  });

  it('that are splittable have no reason against it', () => {
    for (const name of SPLITTABLE_ARCHITECTURES) expect(architectureRules(name)).toMatchObject({ unsplittableReason: null, known: true });
  });
});

describe('names', () => {
  it.each([['/a/b/qwen.gguf', 'qwen'], ['big-00001-of-00003.gguf', 'big'], ['x.GGUF', 'x']])('%s is %s', (path, name) => {
    expect(modelNameOf(path)).toBe(name);
  });
});
