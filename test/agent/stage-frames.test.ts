/** What a stage does with frames of its previous stage that no stage sends: the stage ends, and the sender answers for it. */
import { describe, expect, it } from 'vitest';
import { LocalStage } from '../../src/agent/local-stage.js';
import { RunnerPool } from '../../src/agent/runner-pool.js';
import type { Plan } from '../../src/core/types.js';
import { RingError } from '../../src/core/errors.js';
import type { Clock, FrameLink, ModelLibrary, Network, Runner, RunnerEvents } from '../../src/ports.js';
import { encodeActivation } from '../../src/wire/activation-codec.js';
import { SILENT } from '../support/silent-log.js';

const HIDDEN_SIZE = 4;
const still: Clock = { now: () => 0, after: () => () => undefined };
const PLAN: Plan = {
  planId: '1.a.1', instanceId: 'i', model: { digest: 'd'.repeat(64), sizeBytes: 1, name: 'm', architecture: 'llama', layers: 3 },
  stages: ['a', 'b', 'c'].map((nodeId, rank) => ({ rank, nodeId, range: { start: rank, end: rank + 1 }, predictedBytes: 1 })),
  contextTokens: 64, slots: 1, keyType: 'q8_0', valueType: 'f16', explanation: [],
};

function frame(step: number, planId = PLAN.planId): Uint8Array {
  return encodeActivation({ planId, step, operations: [], slices: [{ slot: 0, position: step, tokens: 1, sample: false }], tokens: null, hidden: new Float32Array(HIDDEN_SIZE), hiddenSize: HIDDEN_SIZE, sampled: [], computeMicros: 0, stageMicros: [] });
}

function linkOf(frames: readonly Uint8Array[]): FrameLink {
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* frames;
    await new Promise(() => undefined);
  }
  return { send: async () => undefined, frames: all(), close: () => undefined };
}

/** The middle stage of three, with these frames from the first. */
async function middle(frames: readonly Uint8Array[]): Promise<{ readonly taken: number; readonly error: string | null; readonly accused: readonly string[]; readonly events: RunnerEvents | null; settle(): Promise<void>; now(): { readonly error: string | null; readonly accused: readonly string[] } }> {
  const accused: string[] = [];
  let taken = 0;
  let events: RunnerEvents | null = null;
  const runner: Pick<Runner, 'pid' | 'loadStage' | 'step' | 'drained' | 'end' | 'reset'> = {
    pid: 1,
    loadStage: async () => ({ hiddenSize: HIDDEN_SIZE, layers: 1, vocabularySize: 0, canRollBack: true, residentBytes: 1 }),
    step: () => {
      taken += 1;
      return true;
    },
    drained: async () => undefined,
    end: async () => undefined,
    reset: async () => undefined,
  };
  const launcher = { launch: (_what: string, given: RunnerEvents): Runner => {
    events = given;
    return runner as Runner;
  } };
  const library: Pick<ModelLibrary, 'stageFiles'> = { stageFiles: async () => ({ stageFile: '/f', embedding: null, bytes: 1 }) };
  const network: Pick<Network, 'openRingLink' | 'accuse'> = { openRingLink: async () => linkOf([]), accuse: (nodeId, reason) => void accused.push(`${nodeId}: ${reason}`) };
  const [, own] = PLAN.stages;
  if (own === undefined) throw new Error('no stage');
  const stage = new LocalStage(PLAN, own, { threads: 1 }, {
    network: network as Network, library: library as ModelLibrary, remote: { header: () => Promise.reject(new RingError('internal', 'no')), tensor: () => Promise.reject(new RingError('internal', 'no')) },
    runners: new RunnerPool(launcher, still, SILENT), clock: still, log: SILENT,
  }, { statusChanged: () => undefined, sampled: () => undefined, stepReturned: () => undefined, passedOn: () => undefined, becameReady: () => undefined });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  await stage.start();
  stage.acceptLink('a', linkOf(frames));
  await settle();
  const now = () => ({ error: stage.status().error?.code ?? null, accused: [...accused] });
  return { taken, events, settle, now, ...now() };
}

describe('frames of the previous stage', () => {
  it('are taken in order', async () => {
    expect(await middle([frame(1), frame(2), frame(3)])).toMatchObject({ taken: 3, error: null, accused: [] });
  });

  it.each([
    ['repeated', [frame(1), frame(2), frame(2)], 2],
    ['left out', [frame(1), frame(3)], 1],
    ['in the wrong order', [frame(1), frame(3), frame(2)], 1],
    ['from the middle of something', [frame(4)], 0],
    ['no frames at all', [frame(1), Uint8Array.of(1, 2, 3)], 1],
  ])('that are %s end the stage, and their sender answers for it', async (_, frames, taken) => {
    const result = await middle(frames);
    expect(result).toMatchObject({ taken, error: 'bad_frame' });
    expect(result.accused).toHaveLength(1);
    expect(result.accused[0]).toMatch(/^a: /);
  });

  it('of another plan are refused; late ones are nobody\'s fault', async () => {
    expect(await middle([frame(1), frame(2, '0.z.9')])).toMatchObject({ taken: 1, error: 'wrong_plan', accused: [] });
  });

  it('whose shape the runner cannot take are the sender\'s fault, and what the engine says is not', async () => {
    const shaped = await middle([frame(1)]);
    shaped.events?.stepFailed(1, new RingError('bad_frame', 'a shape that lies'));
    expect(shaped.now()).toMatchObject({ error: 'bad_frame', accused: [expect.stringMatching(/^a: .*a shape that lies/)] });
    const engine = await middle([frame(1)]);
    engine.events?.stepFailed(1, new RingError('engine_failed', 'no more memory'));
    expect(engine.now()).toEqual({ error: 'engine_failed', accused: [] });
  });
});
