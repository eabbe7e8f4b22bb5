import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { RingError } from '../../src/core/errors.js';
import { processExists } from '../../src/cli/state-directory.js';
import type { RunnerEvents, StageOptions } from '../../src/ports.js';
import { RunnerProcess } from '../../src/process/runner-process.js';
import { decodeActivationHeader, encodeActivation } from '../../src/wire/activation-codec.js';
import type { ActivationHeader } from '../../src/wire/activation-codec.js';
import { SILENT } from '../support/silent-log.js';

const MODEL = fileURLToPath(new URL('../../models/kjv-q8_0.gguf', import.meta.url));

const sampling = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};


function options(overrides: Partial<StageOptions> = {}): StageOptions {
  return {
    role: 'whole', stageFile: MODEL, embedding: null, backend: 'cpu', threads: 1, contextTokens: 256, slots: 2, keyType: 'q8_0', valueType: 'f16', batchTokens: 64, ...overrides,
  };
}

class Recorder implements RunnerEvents {
  readonly results: ActivationHeader[] = [];
  readonly failures: RingError[] = [];
  ending: RingError | null | undefined;
  private wake: () => void = () => undefined;

  activation(body: Uint8Array): void {
    this.results.push(decodeActivationHeader(body));
    this.wake();
  }

  resident(): void {}

  stepFailed(_step: number, error: RingError): void {
    this.failures.push(error);
    this.wake();
  }

  ended(error: RingError | null): void {
    this.ending = error;
    this.wake();
  }

  async until(done: () => boolean): Promise<void> {
    while (!done()) await new Promise<void>((resolve) => { this.wake = resolve; });
  }
}

describe('a runner', () => {
  const runners: RunnerProcess[] = [];
  const start = (): { runner: RunnerProcess; recorder: Recorder } => {
    const recorder = new Recorder();
    const runner = new RunnerProcess('the runner under test', SILENT, recorder);
    runners.push(runner);
    return { runner, recorder };
  };

  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.end()));
  });

  const prefill = (step: number, sequenceId: string, tokens: readonly number[]): Uint8Array => encodeActivation({
    planId: 'p',
    step,
    operations: [{ kind: 'open', slot: 0, sequenceId, sampling, origin: 'o', promptLength: tokens.length, promptTokens: [], emittedTokens: [] }],
    slices: [{ slot: 0, position: 0, tokens: tokens.length, sample: true }],
    tokens: Int32Array.from(tokens),
    hidden: null,
    hiddenSize: 0,
    sampled: [],
    computeMicros: 0, stageMicros: [],
  });

  it('loads the built-in model, takes a step and answers with a token and its compute time', async () => {
    const { runner, recorder } = start();
    const loaded = await runner.loadStage(options(), 5_000_000);
    expect(loaded).toMatchObject({ hiddenSize: 256, layers: 5, vocabularySize: 2048 });
    expect(loaded.residentBytes).toBeGreaterThan(1_000_000);
    runner.step(prefill(1, 'a', [5, 6, 7]));
    await recorder.until(() => recorder.results.length > 0);
    expect(recorder.results[0]).toMatchObject({ planId: 'p', step: 1, sampled: [{ slot: 0, sequenceId: 'a', position: 3 }] });
    expect(recorder.results[0]?.computeMicros).toBeGreaterThan(0);
  });

  it('answers an impossible step with a typed error and lives on', async () => {
    const { runner, recorder } = start();
    await runner.loadStage(options(), 5_000_000);
    runner.step(prefill(1, 'a', [5, 6, 999_999]));
    await recorder.until(() => recorder.failures.length > 0);
    expect(recorder.failures[0]?.code).toBe('bad_request');
    await runner.reset();
    runner.step(prefill(2, 'b', [5, 6]));
    await recorder.until(() => recorder.results.length > 0);
    expect(recorder.results[0]?.step).toBe(2);
  });

  it('refuses a file that is no model with what is wrong, and the child is reaped', async () => {
    const { runner } = start();
    await expect(runner.loadStage(options({ stageFile: fileURLToPath(import.meta.url) }), 1000)).rejects.toMatchObject({ code: 'bad_gguf' });
    const { pid } = runner;
    await runner.end();
    expect(pid !== null && processExists(pid)).toBe(false);
  });

  it('tells why it died when it is killed from outside, and answers whoever waits', async () => {
    const { runner, recorder } = start();
    await runner.loadStage(options(), 5_000_000);
    const { pid } = runner;
    if (pid === null) throw new Error('no pid');
    process.kill(pid, 'SIGKILL');
    await recorder.until(() => recorder.ending !== undefined);
    expect(recorder.ending).toMatchObject({ code: 'runner_died' });
    await expect(runner.reset()).rejects.toMatchObject({ code: 'runner_died' });
  });

  it('turns text into tokens and back through a vocabulary', async () => {
    const { runner } = start();
    const table = await runner.loadVocabulary(MODEL);
    expect(table.pieces).toHaveLength(2048);
    const tokens = await runner.tokenize('In the beginning', { addSpecial: true, parseSpecial: false });
    const bytes = Buffer.concat(tokens.filter((token) => token !== table.bos).map((token) => table.pieces[token] ?? new Uint8Array()));
    expect(bytes.toString('utf8').trim()).toBe('In the beginning');
  });

  it('finds the cpu', async () => {
    const { runner } = start();
    const { devices } = await runner.probeDevices('cpu');
    expect(devices.map((device) => device.backend)).toContain('cpu');
  });
});
