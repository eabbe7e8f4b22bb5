/** The draft of an instance through the life of a cluster: it goes where its instance goes, and never stands in its way. */
import { describe, expect, it } from 'vitest';
import type { ModelShape, Plan } from '../../src/core/types.js';
import { capabilitiesFor, SHAPES } from './random-run.js';
import { World } from './world.js';

const AGREE_MS = 4_000;
const LOSS_MS = 8_000;

function shapeNamed(wanted: string): ModelShape {
  const shape = SHAPES.find(({ name }) => name === wanted);
  if (shape === undefined) throw new Error(`no shape ${wanted}`);
  return shape;
}

/** By node, the models that it holds. */
function clusterOf(held: Readonly<Record<string, readonly ModelShape[]>>, shapes = SHAPES): World {
  const world = new World(5, shapes, true);
  for (const [nodeId, models] of Object.entries(held)) world.addNode(nodeId, capabilitiesFor(nodeId, models));
  world.run(AGREE_MS);
  return world;
}

function served(world: World): Plan {
  const [node] = world.upNodes();
  const instance = node === undefined ? null : world.instanceOn(node.nodeId, 'large');
  if (instance?.plan === null || instance?.state !== 'active') throw new Error(`large is not served: ${JSON.stringify(instance)}`);
  return instance.plan;
}

const notes = (plan: Plan): string => plan.explanation.map(({ text }) => text).join('\n');

describe('the draft of an instance', () => {
  const [large, small] = [shapeNamed('large'), shapeNamed('small')];

  it('is in every plan, also in one of another coordinator on other nodes', () => {
    const world = clusterOf({ n1: [large, small], n2: [large, small], n3: [large, small] });
    world.load('n3', 'call', 'large', null, undefined, 'small');
    world.run(AGREE_MS);
    const before = served(world);
    expect(before.draft?.model).toMatchObject({ name: 'small', layers: 4 });
    const coordinator = world.node('n1').cluster.coordinator() ?? '';
    world.crash(before.stages[0]?.nodeId ?? coordinator);
    if (world.node(coordinator).up) world.crash(coordinator);
    world.run(LOSS_MS);
    const after = served(world);
    expect(after.planId).not.toBe(before.planId);
    expect(after.draft).toEqual(before.draft);
    expect(world.violations).toEqual([]);
  });

  it('may be held by one node alone: without it the model is served without', () => {
    const world = clusterOf({ n1: [large], n2: [large], n3: [small] });
    world.load('n1', 'call', 'large', 2, undefined, 'small');
    world.run(AGREE_MS);
    expect(served(world).draft?.model.name).toBe('small');
    world.crash('n3');
    const [stage] = served(world).stages.filter(({ nodeId }) => nodeId !== 'n3');
    if (served(world).stages.every(({ nodeId }) => nodeId !== 'n3')) world.crash(stage?.nodeId ?? '');
    world.run(LOSS_MS);
    expect(served(world).draft).toBeUndefined();
    expect(notes(served(world))).toMatch(/served without a draft: no node that is here holds the model small/);
  });

  it('is done without where nobody knows it, or its header cannot be read', () => {
    const unread = clusterOf({ n1: [large, small] }, [large]);
    unread.load('n1', 'call', 'large', null, undefined, 'small');
    unread.run(AGREE_MS);
    expect(notes(served(unread))).toMatch(/served without a draft: the header of small cannot be read: not there/);
    const unknown = clusterOf({ n1: [large] });
    unknown.load('n1', 'call', 'large', null, undefined, 'nowhere');
    unknown.run(AGREE_MS);
    expect(notes(served(unknown))).toMatch(/served without a draft: no node that is here holds the model nowhere/);
  });
});
