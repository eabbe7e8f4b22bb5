/** A stage's threads live as long as the stage. Linux tells a process which threads it has. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generateModel } from '../../scripts/generate-model.js';
import { openStage } from '../../src/engine/stage.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { feed, generate, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const THREADS = 2;

function threadIds(): readonly string[] {
  return readdirSync('/proc/self/task');
}

it.runIf(process.platform === 'linux')('threads are there from one step to the next, and gone with the stage', async () => {
  // Large enough for two threads.
  const stageFile = join(temporaryDirectory('threads'), 'model.gguf');
  await generateModel(stageFile, { architecture: 'llama', layers: 3, weights: 'f16', hidden: 512, feedForward: 2048 });
  const before = new Set(threadIds());
  const own = (): readonly string[] => threadIds().filter((id) => !before.has(id));
  const stage = openStage(wholeOptions({ stageFile, threads: THREADS }));
  open(stage, 0);
  generate(stage, 0, syntheticPrompt(8, 1), 1);
  const kept = own();
  expect(kept).toHaveLength(THREADS - 1);
  for (let position = 8; position < 12; position += 1) {
    feed(stage, 0, Int32Array.of(3), position, 1);
    expect(own()).toEqual(kept);
  }
  stage.close();
  expect(own()).toEqual([]);
});
