/** One behaviour of the cluster a test: who coordinates, what happens to plans, in a simulated LAN without chance of loss. */
import { describe, expect, it } from 'vitest';
import type { ModelShape, NodeId } from '../../src/core/types.js';
import { capabilitiesFor, SHAPES } from './random-run.js';
import { World } from './world.js';

const [LARGE, SMALL] = SHAPES;
/** A killed or frozen coordinator is replaced within this, its plan included unless stages must load. */
const LOSS_NOTICED_MS = 2_000;

function models(...shapes: readonly (ModelShape | undefined)[]): ModelShape[] {
  return shapes.filter((shape) => shape !== undefined);
}

/** n1 … n(count); n1 holds both models. */
function clusterOf(count: number, seed = 1): World {
  const world = new World(seed, SHAPES, true);
  for (let index = 1; index <= count; index += 1) world.addNode(`n${index}`, capabilitiesFor(`n${index}`, index === 1 ? models(LARGE, SMALL) : []));
  return world;
}

function agreed(world: World): boolean {
  return world.disagreements().length === 0;
}

function settled(count: number, model: string | null = null): World {
  const world = clusterOf(count);
  expect(world.runUntil(() => agreed(world) && world.upNodes().every(({ cluster }) => cluster.records().length === count), 5_000)).toBe(true);
  if (model === null) return world;
  world.load(`n${count}`, 'call', model);
  expect(world.runUntil(() => world.instanceOn('n1', model)?.state === 'active', 5_000)).toBe(true);
  world.run(500);
  expect(world.disagreements()).toEqual([]);
  return world;
}

/** Every node holds both models, so that any part of the cluster can serve them. */
function modelEverywhere(count: number, model: string | null = 'large'): World {
  const world = new World(2, SHAPES, true);
  for (let index = 1; index <= count; index += 1) world.addNode(`n${index}`, capabilitiesFor(`n${index}`, models(LARGE, SMALL)));
  world.run(4_000);
  if (model === null) return world;
  world.load('n1', 'call', model);
  world.run(4_000);
  expect(planOf(world, 'n1')).toMatch(/^active /);
  return world;
}

function coordinatorOf(world: World, nodeId: NodeId): NodeId | null {
  return world.node(nodeId).cluster.coordinator();
}

function planOf(world: World, nodeId: NodeId, model = 'large'): string {
  const instance = world.instanceOn(nodeId, model);
  return `${instance?.state ?? 'none'} ${instance?.plan?.planId ?? ''}`;
}

/** Runs and fails as soon as `nodeId` sees another plan or state. */
function staysActive(world: World, nodeId: NodeId, forMs: number): void {
  const before = planOf(world, nodeId);
  const ready = world.readyStages(nodeId);
  expect(before).toMatch(/^active /);
  for (const endMs = world.nowMs + forMs; world.nowMs < endMs;) {
    world.run(20);
    if (planOf(world, nodeId) !== before) expect(world.log.slice(-30)).toEqual([]);
    expect(planOf(world, nodeId)).toBe(before);
    expect(world.readyStages(nodeId)).toEqual(ready);
  }
}

describe('who decides', () => {
  it('lets a single machine work by itself at once, without raising a counter', () => {
    const world = clusterOf(1);
    world.run(300);
    world.load('n1', 'call', 'small');
    world.run(1_500);
    expect(world.instanceOn('n1', 'small')?.state).toBe('active');
    world.run(20_000);
    expect(world.node('n1').cluster.term()).toEqual({ counter: 1, node: 'n1' });
  });

  it('makes three nodes that start together agree within 3 seconds, whatever the order of their connections', () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const world = clusterOf(3, seed);
      expect(world.runUntil(() => agreed(world) && world.upNodes().every(({ cluster }) => cluster.coordinator() !== null && cluster.records().length === 3), 3_000)).toBe(true);
    }
  });

  it('starts no election when a node joins, and the newcomer learns what is served', () => {
    const world = settled(3, 'large');
    const term = world.node('n1').cluster.term();
    // Ids above and below all others.
    for (const joiner of ['a0', 'z9']) {
      world.addNode(joiner, capabilitiesFor(joiner, []));
      staysActive(world, 'n1', 4_000);
      expect(world.node(joiner).cluster.term()).toEqual(term);
      expect(world.disagreements()).toEqual([]);
    }
  });

  it('replaces a killed coordinator within 2 seconds', () => {
    const world = settled(4);
    const old = coordinatorOf(world, 'n1') ?? '';
    world.crash(old);
    expect(world.runUntil(() => agreed(world) && world.upNodes().every(({ cluster }) => cluster.coordinator() !== old), LOSS_NOTICED_MS)).toBe(true);
  });

  it('replaces a coordinator that stands still soon after, and follows no two when it wakes', () => {
    const world = settled(4);
    const old = coordinatorOf(world, 'n1') ?? '';
    world.freeze(old, 6_000);
    const others = world.upNodes().filter(({ nodeId }) => nodeId !== old);
    expect(world.runUntil(() => others.every(({ cluster }) => cluster.coordinator() !== old && cluster.coordinator() !== null), LOSS_NOTICED_MS + 500)).toBe(true);
    world.run(10_000);
    expect(world.disagreements()).toEqual([]);
  });

  it('declares nobody dead because it stood still itself', () => {
    const world = settled(3);
    world.freeze('n2', 1_200);
    world.run(1_250);
    for (const peer of ['n1', 'n3']) expect(world.node('n2').cluster.liveness(peer)).toBe('alive');
  });

  it('keeps two machines working when one of them dies: there is no quorum', () => {
    const world = settled(2);
    const old = coordinatorOf(world, 'n1') ?? '';
    world.crash(old);
    world.run(LOSS_NOTICED_MS);
    const left = world.upNodes()[0];
    expect(left?.cluster.coordinator()).toBe(left?.nodeId);
  });

  it('hands over when the coordinator leaves on purpose', () => {
    const world = settled(3, 'small');
    const old = coordinatorOf(world, 'n1') ?? '';
    world.leave(old);
    expect(world.runUntil(() => agreed(world) && world.upNodes().every(({ cluster }) => cluster.coordinator() !== old), 1_000)).toBe(true);
  });

  it('is not upset by a node that only some can reach', () => {
    const world = settled(3);
    const coordinator = coordinatorOf(world, 'n1') ?? '';
    const [shut] = world.upNodes().map(({ nodeId }) => nodeId).filter((nodeId) => nodeId !== coordinator);
    const term = world.node(coordinator).cluster.term();
    world.cut(coordinator, shut ?? '');
    world.run(10_000);
    expect(world.node(coordinator).cluster.term()).toEqual(term);
    expect(coordinatorOf(world, shut ?? '')).toBeNull();
    world.load(shut ?? '', 'lost', 'small');
    world.run(11_000);
    expect(world.replies.get('lost')?.error).toBe('not_ready');
    world.heal();
    world.run(3_000);
    expect(world.disagreements()).toEqual([]);
    expect(world.node(coordinator).cluster.term()).toEqual(term);
  });
});

describe('plans outlive whoever made them', () => {
  it('keeps an active plan when a coordinator without a stage dies', () => {
    const world = new World(3, SHAPES, true);
    // a0 has the smallest id and no memory, so that it coordinates and holds no stage.
    world.addNode('a0', capabilitiesFor('a0', [], 1e6));
    world.run(2_000);
    world.load('a0', 'early', 'small');
    for (const nodeId of ['n1', 'n2']) world.addNode(nodeId, capabilitiesFor(nodeId, models(LARGE, SMALL)));
    world.run(4_000);
    world.load('n2', 'call', 'large');
    world.run(4_000);
    const coordinator = coordinatorOf(world, 'n1') ?? '';
    expect(coordinator).toBe('a0');
    world.crash('a0');
    staysActive(world, 'n1', 6_000);
    expect(coordinatorOf(world, 'n2')).not.toBe('a0');
  });

  it('plans again on who is left when a node with a stage dies', () => {
    const world = settled(3, 'large');
    const before = planOf(world, 'n1');
    world.crash('n3');
    expect(world.runUntil(() => planOf(world, 'n1') !== before && planOf(world, 'n1').startsWith('active'), 4_000)).toBe(true);
    expect(world.instanceOn('n1', 'large')?.plan?.stages.some(({ nodeId }) => nodeId === 'n3')).toBe(false);
  });

  it('plans again when a node with a stage is started anew, faster than its death is noticed', () => {
    const world = settled(3, 'large');
    const before = planOf(world, 'n1');
    world.crash('n3');
    world.run(20);
    world.restart('n3');
    world.run(8_000);
    expect(planOf(world, 'n1')).toMatch(/^active /);
    expect(planOf(world, 'n1')).not.toBe(before);
    expect(world.disagreements()).toEqual([]);
  });

  it('plans without a node whose stage failed, and says why', () => {
    const world = settled(3, 'large');
    const planId = world.instanceOn('n1', 'large')?.plan?.planId ?? '';
    world.failStage('n2', planId);
    world.run(3_000);
    const plan = world.instanceOn('n1', 'large')?.plan;
    expect(planOf(world, 'n1')).toMatch(/^active /);
    expect(plan?.stages.map(({ nodeId }) => nodeId)).toEqual(['n1', 'n3']);
    expect(plan?.explanation.some(({ nodeId, text }) => nodeId === 'n2' && text.includes('the runner died'))).toBe(true);
  });

  it('gives up after a bounded number of failed plans and says the last reason', () => {
    const world = settled(1);
    world.stageFailures = 1;
    world.load('n1', 'call', 'small');
    world.run(10_000);
    expect(world.instanceOn('n1', 'small')).toMatchObject({ state: 'failed', reason: expect.stringContaining('no memory') });
    const { serial } = world.instanceOn('n1', 'small') ?? {};
    world.run(20_000);
    expect(world.instanceOn('n1', 'small')?.serial).toBe(serial);
    // Asked for again it gets another chance.
    world.stageFailures = 0;
    world.load('n1', 'again', 'small');
    world.run(3_000);
    expect(world.instanceOn('n1', 'small')?.state).toBe('active');
  });

  it('answers a load of what is served with the instance that serves it', () => {
    const world = settled(2, 'large');
    world.load('n1', 'second', 'large');
    world.load('n2', 'third', LARGE?.identity.digest ?? '');
    world.run(500);
    expect(world.replies.get('second')?.instanceId).toBe(world.replies.get('call')?.instanceId);
    expect(world.replies.get('third')?.instanceId).toBe(world.replies.get('call')?.instanceId);
    expect(world.node('n1').cluster.desired().instances).toHaveLength(1);
  });

  it('refuses a model that nobody holds', () => {
    const world = settled(2);
    world.load('n2', 'call', 'no-such-model');
    world.run(500);
    expect(world.replies.get('call')?.error).toBe('unknown_model');
  });

  it('says what is missing when a model fits nowhere, and serves it when a node joins', () => {
    const world = new World(1, SHAPES, true);
    world.addNode('n1', capabilitiesFor('n1', models(LARGE), 8e9));
    world.run(1_000);
    world.load('n1', 'call', 'large');
    world.run(2_000);
    expect(world.instanceOn('n1', 'large')).toMatchObject({ state: 'failed', reason: expect.stringContaining('does not fit') });
    world.addNode('n2', capabilitiesFor('n2', [], 16e9));
    world.run(6_000);
    expect(world.instanceOn('n1', 'large')?.state).toBe('active');
  });

  it('moves nothing by itself when a better node appears; the next plan uses it', () => {
    const world = settled(3, 'large');
    world.addNode('n9', capabilitiesFor('n9', models(LARGE), 64e9));
    staysActive(world, 'n1', 60_000);
    world.unload('n2', 'unload', world.instanceOn('n2', 'large')?.instanceId ?? '');
    world.run(1_000);
    world.load('n2', 'again', 'large');
    expect(world.runUntil(() => world.instanceOn('n1', 'large')?.state === 'active', 5_000)).toBe(true);
    expect(world.instanceOn('n1', 'large')?.plan?.stages.map(({ nodeId }) => nodeId)).toContain('n9');
  });

  it('ends every stage of an unloaded instance', () => {
    const world = settled(3, 'large');
    world.unload('n2', 'unload', world.instanceOn('n2', 'large')?.instanceId ?? '');
    world.run(1_000);
    expect(world.replies.get('unload')?.error).toBeNull();
    for (const { stages } of world.upNodes()) expect(stages.size).toBe(0);
  });
});

describe('a split heals', () => {
  it('never interrupts the ring when a laptop without the model comes back', () => {
    const world = settled(3, 'large');
    world.addNode('z9', capabilitiesFor('z9', []));
    world.run(3_000);
    world.partition([['z9'], ['n1', 'n2', 'n3']]);
    staysActive(world, 'n1', 30_000);
    world.heal();
    staysActive(world, 'n1', 10_000);
    expect(world.disagreements()).toEqual([]);
  });

  it('never interrupts the ring when a lone node comes back with a higher counter, and the ring keeps its coordinator', () => {
    const world = new World(5, SHAPES, true);
    for (const nodeId of ['n1', 'n2']) world.addNode(nodeId, capabilitiesFor(nodeId, models(LARGE, SMALL)));
    for (const nodeId of ['z8', 'z9']) world.addNode(nodeId, capabilitiesFor(nodeId, [], 1e6));
    world.run(4_000);
    world.load('n1', 'call', 'large');
    world.run(4_000);
    // The two without memory go away together and kill each other's reign, which raises their counter.
    world.partition([['z8', 'z9'], ['n1', 'n2']]);
    world.run(4_000);
    for (const nodeId of ['z8', 'z9', 'z8']) {
      world.freeze(nodeId, 4_000);
      world.run(8_000);
    }
    const coordinator = coordinatorOf(world, 'n1') ?? '';
    const ringCounter = world.node('n1').cluster.term()?.counter ?? 0;
    expect(world.node('z9').cluster.term()?.counter).toBeGreaterThan(ringCounter);
    world.crash('z8');
    world.run(3_000);
    world.heal();
    staysActive(world, 'n1', 10_000);
    expect(world.disagreements()).toEqual([]);
    expect(coordinatorOf(world, 'z9')).toBe(coordinator);
  });

  it('keeps the plan of the side that serves on more nodes when both planned the instance again', () => {
    for (const lone of ['n1', 'n4']) {
      const world = modelEverywhere(4);
      world.partition([[lone], ['n1', 'n2', 'n3', 'n4'].filter((nodeId) => nodeId !== lone)]);
      world.run(8_000);
      expect(planOf(world, lone)).toMatch(/^active /);
      expect(planOf(world, 'n2')).not.toBe(planOf(world, lone));
      world.heal();
      staysActive(world, 'n2', 10_000);
      expect(world.disagreements()).toEqual([]);
    }
  });

  it('lets both instances of a model live while both serve', () => {
    const world = modelEverywhere(4, null);
    world.partition([['n1', 'n2'], ['n3', 'n4']]);
    world.run(4_000);
    world.load('n1', 'left', 'large');
    world.load('n3', 'right', 'large');
    world.run(4_000);
    world.heal();
    world.run(8_000);
    expect(world.disagreements()).toEqual([]);
    expect(world.node('n2').cluster.desired().instances.map(({ state }) => state)).toEqual(['active', 'active']);
    // One that stops running ends, because the other one serves the model.
    const [, right] = world.node('n3').cluster.desired().instances;
    const ready = world.readyStages('n3');
    world.crash('n1');
    world.run(6_000);
    expect(world.node('n3').cluster.desired().instances).toEqual([right]);
    expect(world.readyStages('n3')).toEqual(ready);
  });

  it('adopts what the other side was asked for, and does not bring back what one side unloaded', () => {
    const world = modelEverywhere(4);
    world.partition([['n1', 'n2'], ['n3', 'n4']]);
    world.run(6_000);
    world.load('n4', 'small', 'small');
    world.unload('n1', 'unload', world.instanceOn('n1', 'large')?.instanceId ?? '');
    world.run(4_000);
    world.heal();
    world.run(8_000);
    expect(world.disagreements()).toEqual([]);
    expect(world.instanceOn('n1', 'large')).toBeNull();
    expect(world.instanceOn('n1', 'small')?.state).toBe('active');
  });

  it('wakes from sleep without taking the ring that went on without it', () => {
    for (const sleeper of ['n1', 'n2', 'n3']) {
      const world = modelEverywhere(3);
      const awake = sleeper === 'n2' ? 'n3' : 'n2';
      world.freeze(sleeper, 20_000);
      world.run(12_000);
      expect(world.instanceOn(awake, 'large')?.plan?.stages.map(({ nodeId }) => nodeId)).not.toContain(sleeper);
      staysActive(world, awake, 20_000);
      expect(world.disagreements()).toEqual([]);
    }
  });
});
