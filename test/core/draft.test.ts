import { describe, expect, it } from 'vitest';
import { draftBytes, draftProblem } from '../../src/core/draft.js';
import type { DraftChoice } from '../../src/core/draft.js';
import { libllamaMemory } from '../../src/core/memory-model.js';
import { placeModel } from '../../src/core/placement.js';
import type { PlacementResult } from '../../src/core/placement-types.js';
import { planOn } from '../../src/core/planning.js';
import type { ModelShape, Plan } from '../../src/core/types.js';
import { GB, nodeOf, shapeOf } from './placement-cases.js';

const LARGE = shapeOf({ layers: 20, layerBytes: 1 * GB, overrides: { name: 'large', vocabularyDigest: 'v' } });
const SMALL = shapeOf({ layers: 4, layerBytes: 0.2 * GB, overrides: { name: 'small', vocabularyDigest: 'v', identity: { digest: 'cd'.repeat(32), sizeBytes: 0.8 * GB } } });
const NODES = [nodeOf('a', 16 * GB), nodeOf('b', 16 * GB)];

function placed(draft: DraftChoice | undefined, shape = LARGE, nodes = NODES): PlacementResult {
  return placeModel({
    shape, nodes, ordered: false, request: { model: shape.name, policy: 'ram_balanced', nodes: null, contextTokens: 1024, slots: 1 },
    planId: '1.a.1', instanceId: 'i', keyType: 'q8_0', valueType: 'f16', excluded: [], ...(draft === undefined ? {} : { draft }),
  });
}

function planWith(shape: ModelShape, nodes = NODES): Plan {
  const result = placed({ kind: 'shape', shape }, LARGE, nodes);
  if (result.kind === 'impossible') throw new Error(result.message);
  return result.plan;
}

const notes = (plan: Plan): string => plan.explanation.map(({ text }) => text).join('\n');

describe('a model that is to guess for another', () => {
  it('needs the very same vocabulary, and a memory that takes guesses back, as its model does', () => {
    expect(draftProblem(LARGE, SMALL)).toBeNull();
    expect(draftProblem(LARGE, { ...SMALL, identity: LARGE.identity })).toMatch(/is the model itself/);
    expect(draftProblem(LARGE, { ...SMALL, vocabularySize: 31_999 })).toMatch(/small has another vocabulary than large \(31999 tokens, not 32000 tokens\)/);
    expect(draftProblem(LARGE, { ...SMALL, vocabularyDigest: 'other' })).toMatch(/as many tokens as large, but other ones/);
    expect(draftProblem(LARGE, { ...SMALL, canRollBack: false })).toMatch(/memory of small \(llama\) cannot take wrong guesses back/);
    expect(draftProblem({ ...LARGE, canRollBack: false }, SMALL)).toMatch(/memory of large \(llama\) cannot take wrong guesses back, so that it is served without any/);
    expect(draftProblem(LARGE, { ...SMALL, unsupportedReason: 'too new' })).toMatch(/small cannot run here: too new/);
  });
});

describe('a plan with a draft', () => {
  it('names it and its bytes, which are left free on every node', () => {
    const bytes = draftBytes(SMALL, { contextTokens: 1024, slots: 1 }, libllamaMemory);
    const plan = planWith(SMALL);
    expect(plan.draft).toMatchObject({ model: { name: 'small', digest: SMALL.identity.digest, layers: 4 }, predictedBytes: bytes });
    expect(bytes).toBeGreaterThan(0.8 * GB);
    for (const stage of plan.stages) expect(stage.predictedBytes + bytes).toBeLessThan(16 * GB * 0.9);
    expect(notes(plan)).toMatch(/left free on every node for the draft small/);
  });

  it('is no other ring without one', () => {
    const without = placed(undefined);
    expect(without.kind === 'plan' && without.plan.draft).toBeUndefined();
  });

  it('is made without it where there is no room, or it cannot be had or cannot guess, and says so', () => {
    const huge = { ...SMALL, wholeBytes: 8 * GB, layerBytes: [2 * GB, 2 * GB, 2 * GB, 2 * GB] };
    expect(planWith(huge).draft).toBeUndefined();
    expect(notes(planWith(huge))).toMatch(/served without a draft: beside the model and its context there is no room for small/);
    const gone = placed({ kind: 'absent', reason: 'no node that is here holds the model small' });
    expect(gone.kind === 'plan' && notes(gone.plan)).toMatch(/served without a draft: no node that is here holds/);
    expect(notes(planWith({ ...SMALL, vocabularySize: 5 }))).toMatch(/served without a draft: small has another vocabulary/);
  });

  it('takes sequences for a draft, but no context: that is the model\'s', () => {
    const sizes = (ramBytes: number, draft?: DraftChoice): string => {
      const result = placeModel({
        shape: LARGE, nodes: [nodeOf('a', ramBytes)], ordered: false, request: { model: 'large', policy: 'auto', nodes: null, contextTokens: null, slots: null },
        planId: '1.a.1', instanceId: 'i', keyType: 'q8_0', valueType: 'f16', excluded: [], ...(draft === undefined ? {} : { draft }),
      });
      return result.kind === 'plan' ? `${result.plan.contextTokens} ${result.plan.slots} ${result.plan.draft?.model.name ?? '-'}` : result.code;
    };
    const found = new Set<string>();
    for (let ramBytes = 22 * GB; ramBytes < 27 * GB; ramBytes += 0.1 * GB) {
      const [contextAlone = '', slotsAlone = ''] = sizes(ramBytes).split(' ');
      const [context, slots, name] = sizes(ramBytes, { kind: 'shape', shape: SMALL }).split(' ');
      expect(context).toBe(contextAlone);
      if (name === '-') expect(slots).toBe(slotsAlone);
      found.add(name === '-' ? 'without' : slots === slotsAlone ? 'with' : 'fewer');
    }
    expect([...found].sort()).toEqual(expect.arrayContaining(['fewer', 'with']));
  });

  it('says what is wrong with the model itself where it fits with no draft either', () => {
    const result = placed({ kind: 'shape', shape: SMALL }, shapeOf({ layers: 20, layerBytes: 3 * GB }));
    expect(result).toMatchObject({ kind: 'impossible', code: 'no_placement' });
  });

  it('counts for the machine of the head when another model is placed', () => {
    const plan = planWith(SMALL);
    const head = plan.stages[0];
    const free: Record<string, number> = {};
    planOn({
      shape: LARGE, planId: '1.a.2', instanceId: 'other', avoid: new Map(), request: { model: 'm', policy: 'auto', nodes: null, contextTokens: null, slots: null },
      desired: { version: 1, instances: [{ instanceId: 'i', state: 'active', reason: '', serial: 1, plan, request: { model: 'large', policy: 'auto', nodes: null, contextTokens: null, slots: null, draft: 'small' } }] },
      members: NODES.map(({ nodeId, capabilities }) => ({ record: { nodeId, incarnation: 1, counter: 1, nonce: nodeId, addresses: [], capabilities }, liveness: 'alive', sinceMs: 0, follows: true, problem: null })),
    }, ({ nodes }) => {
      for (const { nodeId, capabilities } of nodes) free[nodeId] = capabilities.ramAvailableBytes;
      return { kind: 'impossible', code: 'no_placement', message: '', notes: [] };
    });
    expect(free[head?.nodeId ?? '']).toBe(16 * GB - (head?.predictedBytes ?? 0) - (plan.draft?.predictedBytes ?? 0));
  });
});
