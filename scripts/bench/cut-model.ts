/**
 * A model as two stages in this process, with hidden states in a chosen type between them: what a ring of two computes.
 * It must not know agents or texts.
 */
import { join } from 'node:path';
import type { SequenceOperation } from '../../src/core/step-types.js';
import type { ActivationType } from '../../src/core/types.js';
import { packStates, unpackStates } from '../../src/engine/packed-states.js';
import { openStage } from '../../src/engine/stage.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { embeddingInModel, planStageFile } from '../../src/model/stage-file.js';
import { embeddingFileOf, writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource } from '../../src/model/tensor-source.js';
import type { StageEngine, StageInput, StageOptions } from '../../src/ports.js';

export type Scored = Pick<StageEngine, 'apply' | 'step' | 'logits' | 'reset' | 'close'>;
type CutOptions = Omit<StageOptions, 'role' | 'stageFile' | 'embedding'>;

/** Writes both stage files into `directory`, where they are not there yet. */
export async function openCutModel(modelFile: string, layers: number, directory: string, activations: ActivationType, options: CutOptions): Promise<Scored> {
  const header = await readGgufHeader(modelFile);
  const source = modelTensorSource(header, new DigestCache(null));
  const cut = Math.max(1, Math.floor(layers / 2));
  const open = async (start: number, end: number): Promise<StageEngine> => {
    const head = start === 0;
    const stageFile = join(directory, `${header.identity.digest.slice(0, 8)}.${start}-${end}.gguf`);
    await writeStageFile(planStageFile(header, { range: { start, end }, head, tail: !head }), source, stageFile);
    const embedding = head ? { ...embeddingInModel(header), file: embeddingFileOf(stageFile), offset: 0 } : null;
    return openStage({ ...options, role: head ? 'head' : 'tail', stageFile, embedding });
  };
  const head = await open(0, cut);
  const tail = await open(cut, layers);
  const both = [head, tail];
  return {
    apply: (operations: readonly SequenceOperation[]) => both.forEach((stage) => stage.apply(operations)),
    step: (input: StageInput) => {
      const { hidden } = head.step(input);
      if (hidden === null) throw new Error('the head gave no hidden states');
      const packed = packStates(hidden, head.hiddenSize, activations);
      return tail.step({ slices: input.slices, tokens: null, hidden: packed === null ? hidden : unpackStates(packed, head.hiddenSize) });
    },
    logits: (slice: number) => tail.logits(slice),
    reset: () => both.forEach((stage) => stage.reset()),
    close: () => both.forEach((stage) => stage.close()),
  };
}
