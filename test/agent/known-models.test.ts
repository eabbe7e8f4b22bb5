import { describe, expect, it } from 'vitest';
import { resolveModel } from '../../src/agent/known-models.js';
import type { DesiredState, HeldModel, Instance } from '../../src/core/types.js';

const MODEL: HeldModel = { digest: `ab${'c'.repeat(62)}`, sizeBytes: 1, name: 'scripture', architecture: 'llama', layers: 2 };

function serving(model: HeldModel): DesiredState {
  const request: Instance['request'] = { model: model.digest, policy: 'auto', nodes: null, contextTokens: null, slots: null };
  const plan: Instance['plan'] = { planId: '1.a.1', instanceId: 'i', model, stages: [], contextTokens: 64, slots: 1, keyType: 'q8_0', valueType: 'f16', explanation: [] };
  return { version: 1, instances: [{ instanceId: 'i', request, state: 'failed', plan, reason: 'its holders are away', serial: 1 }] };
}

describe('a model by its name', () => {
  it('is known while it is to be served, also when those who hold it are away', () => {
    for (const reference of ['scripture', 'scripture.gguf', MODEL.digest, MODEL.digest.slice(0, 12)]) {
      expect(resolveModel(reference, [], serving(MODEL), 'default')).toBe(MODEL);
    }
    expect(resolveModel('scripture', [], { version: 1, instances: [] }, 'default')).toBeNull();
    expect(resolveModel('other', [], serving(MODEL), 'default')).toBeNull();
  });
});
