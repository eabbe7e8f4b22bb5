/** A4: what a runner does with the backend that its stage was given: the first thing, before the engine is there. */
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { SampledToken } from '../../src/core/step-types.js';
import type { Backend } from '../../src/core/types.js';
import type { RunnerEvents } from '../../src/ports.js';
import { RunnerProcess } from '../../src/process/runner-process.js';
import { decodeActivationHeader, encodeActivation } from '../../src/wire/activation-codec.js';
import { GREEDY, wholeOptions } from '../engine/engine-support.js';
import { SILENT } from '../support/silent-log.js';

const IGNORED: RunnerEvents = { activation: () => undefined, resident: () => undefined, stepFailed: () => undefined, ended: () => undefined };
/** One that no machine of this kind has. */
const ABSENT: Backend = process.platform === 'darwin' ? 'cuda' : 'metal';

const runners: RunnerProcess[] = [];

function start(events: RunnerEvents = IGNORED): RunnerProcess {
  const runner = new RunnerProcess('the runner under test', SILENT, events);
  runners.push(runner);
  return runner;
}

afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.end()));
});

/** Tokens drawn after a short prompt by a stage with this backend, or with none. */
async function firstTokens(backend: Backend | undefined): Promise<readonly SampledToken[]> {
  return new Promise((resolve, reject) => {
    const runner = start({ ...IGNORED, activation: (body) => resolve(decodeActivationHeader(body).sampled), stepFailed: (_step, error) => reject(error) });
    const { backend: _chosen, ...plain } = wholeOptions();
    runner.loadStage(backend === undefined ? plain : { ...plain, backend }, 5_000_000).then(() => runner.step(encodeActivation({
      planId: 'p', step: 1,
      operations: [{ kind: 'open', slot: 0, sequenceId: 's', sampling: GREEDY, origin: 'o', promptLength: 3, promptTokens: [], emittedTokens: [] }],
      slices: [{ slot: 0, position: 0, tokens: 3, sample: true }], tokens: Int32Array.of(5, 6, 7), hidden: null, hiddenSize: 0, sampled: [],
      computeMicros: 0, stageMicros: [],
    })), reject);
  });
}

describe('A4: the backend of a stage', () => {
  it('that is absent is the engine\'s own default', async () => {
    expect(await firstTokens(undefined)).toEqual(await firstTokens('cpu'));
  });

  it('that is missing here is a typed error before any library of the engine is loaded', async () => {
    const runner = start();
    await expect(runner.loadStage(wholeOptions({ backend: ABSENT }), 5_000_000)).rejects.toMatchObject({ code: 'backend_missing' });
    const maps = `/proc/${runner.pid ?? 0}/maps`;
    if (existsSync(maps)) expect(readFileSync(maps, 'utf8')).not.toMatch(/libllama|libggml/);
  });
});
