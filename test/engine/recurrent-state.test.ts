/** What the plan counts for a recurrent model's state is what the engine allocates, and such a model runs. */
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { randomWeights } from '../../scripts/random-weights.js';
import { engineLog } from '../../src/engine/engine-log.js';
import { openStage } from '../../src/engine/stage.js';
import { GGML_F32 } from '../../src/model/ggml-types.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufValue } from '../../src/model/gguf-values.js';
import { float32, text, uint32 } from '../../src/model/gguf-values.js';
import { writeGgufFile } from '../../src/model/gguf-writer.js';
import { modelShape } from '../../src/model/model-shape.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { generate, MODEL_FILE, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const LAYERS = 4;
const SLOTS = 8;
const [HIDDEN, INNER, STATE, KERNEL, RANK, VOCABULARY] = [256, 512, 16, 4, 16, 2048] as const;
const MIB = 1024 * 1024;

async function writeMamba(path: string): Promise<void> {
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', text('mamba')], ['mamba.block_count', uint32(LAYERS)], ['mamba.context_length', uint32(512)],
    ['mamba.embedding_length', uint32(HIDDEN)], ['mamba.feed_forward_length', uint32(0)], ['mamba.attention.head_count', uint32(0)],
    ['mamba.attention.layer_norm_rms_epsilon', float32(1e-5)], ['mamba.ssm.conv_kernel', uint32(KERNEL)], ['mamba.ssm.inner_size', uint32(INNER)],
    ['mamba.ssm.state_size', uint32(STATE)], ['mamba.ssm.time_step_rank', uint32(RANK)],
    ...[...(await readGgufHeader(MODEL_FILE)).metadata].filter(([key]) => key.startsWith('tokenizer.')),
  ]);
  const layer: readonly (readonly [string, readonly number[], number])[] = [
    ['attn_norm.weight', [HIDDEN], 1], ['ssm_in.weight', [HIDDEN, 2 * INNER], 0], ['ssm_conv1d.weight', [KERNEL, INNER], 0], ['ssm_conv1d.bias', [INNER], 0],
    ['ssm_x.weight', [INNER, RANK + 2 * STATE], 0], ['ssm_dt.weight', [RANK, INNER], 0], ['ssm_dt.bias', [INNER], 0], ['ssm_a', [STATE, INNER], -1],
    ['ssm_d', [INNER], 1], ['ssm_out.weight', [INNER, HIDDEN], 0],
  ];
  const tensors = [
    ['token_embd.weight', [HIDDEN, VOCABULARY], 0] as const, ['output_norm.weight', [HIDDEN], 1] as const,
    ...Array.from({ length: LAYERS }, (_, index) => layer.map(([name, dims, centre]) => [`blk.${index}.${name}`, dims, centre] as const)).flat(),
  ];
  await writeGgufFile(path, metadata, tensors.map(([name, dims, centre]) => ({
    name, dims, ggmlType: GGML_F32,
    data: () => [randomWeights({ seed: name, elements: dims.reduce((product, dim) => product * dim, 1), centre, deviation: 0.05, format: 'f32' })],
  })));
}

describe('a recurrent model', () => {
  it('has the state that libllama says it allocates, for every slot, and no keys and values', async () => {
    const file = join(temporaryDirectory(), 'mamba.gguf');
    await writeMamba(file);
    const shape = modelShape(await readGgufHeader(file), 'mamba');
    expect(shape.stateBytesPerSlot).toEqual(Array.from({ length: LAYERS }, () => 4 * ((KERNEL - 1) * INNER + STATE * INNER)));
    expect(shape.keyElementsPerToken).toEqual([0, 0, 0, 0]);
    const said = vi.spyOn(engineLog, 'accept');
    const stage = openStage(wholeOptions({ stageFile: file, slots: SLOTS }));
    const lines = said.mock.calls.map(([, line]) => line).filter((line) => line.includes('llama_memory_recurrent: size'));
    said.mockRestore();
    const allocated = /size = +([0-9.]+) MiB \( +8 cells, +4 layers, +8 seqs/.exec(lines.join(''));
    const planned = SLOTS * shape.stateBytesPerSlot.reduce((sum, bytes) => sum + bytes, 0);
    expect(Math.abs(Number(allocated?.[1]) - planned / MIB), lines.join('')).toBeLessThanOrEqual(0.01);
    open(stage, 0);
    expect(generate(stage, 0, syntheticPrompt(20, 1), 4)).toHaveLength(4);
    stage.close();
  });
});
