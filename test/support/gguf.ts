/** For the tests of model/: temporary directories, and the small GGUFs of small-gguf.ts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

export { smallFile, smallMetadata, smallTensors } from './small-gguf.js';

/** A directory that is removed when the test file ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'ring-model-'));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
