import { describe, expect, it } from 'vitest';
import { libllamaMemory } from '../../src/core/memory-model.js';
import { placeModel } from '../../src/core/placement.js';
import { planLines } from '../../src/core/plan-text.js';
import { GB, inputOf, nodeOf, planIn, shapeOf, weightsOnly } from './placement-cases.js';

describe('a plan as text', () => {
  const shape = shapeOf({ layers: 10, layerBytes: GB });
  const nodes = [nodeOf('a', 40 * GB), nodeOf('b', 9 * GB), nodeOf('c', 1 * GB)];
  const labels = new Map([['a', 'studio'], ['b', 'pi'], ['c', 'old-laptop']]);

  it('is an aligned table and the notes', () => {
    const plan = planIn(placeModel(inputOf(shape, nodes), weightsOnly));
    expect(planLines(plan, { labels, budgets: new Map([['a', 36 * GB], ['b', 8 * GB]]) })).toEqual([
      'test-model: 10 layers, 8 slots of 4096 tokens, KV q8_0/f16',
      'rank  node    layers  backend   total   budget',
      '   0  studio  0:8     cpu      8.0 GB  36.0 GB',
      '   1  pi      8:10    cpu      2.0 GB   8.0 GB',
      '- old-laptop: left out: it has no memory to spare after the reserve',
    ]);
  });

  it('splits the bytes when the memory table is at hand', () => {
    const plan = planIn(placeModel(inputOf(shape, nodes)));
    const table = libllamaMemory(shape, { contextTokens: plan.contextTokens, slots: plan.slots, keyType: plan.keyType, valueType: plan.valueType });
    expect(planLines(plan, { labels, table })[2]).toMatch(/^   0  studio  0:8     cpu       8\.0 GB  \d+\.\d MB +\d+\.\d MB  8\.\d GB$/);
  });
});
