/** What the coordinator makes of a ring that broke: whom it blames, how long it waits for the cause, with whom it goes on. */
import { describe, expect, it } from 'vitest';
import type { Instance } from '../../src/core/types.js';
import { capabilitiesFor, SHAPES } from './random-run.js';
import { World } from './world.js';

const BROKEN_EDGE = { code: 'peer_lost', message: 'the link from the previous stage ended' };
const DIED = { code: 'runner_died', message: 'the runner died' };
/** Longest time until a broken edge without a cause means a new plan: the grace, a tick and the way. */
const EDGE_MS = 600;

/** n1 … n4, each with both models; `large` runs on three of them. */
function ring(): World {
  const world = new World(5, SHAPES, true);
  for (let index = 1; index <= 4; index += 1) world.addNode(`n${index}`, capabilitiesFor(`n${index}`, SHAPES));
  world.run(3_000);
  world.load('n1', 'call', 'large', 3);
  world.run(4_000);
  expect(instance(world).state).toBe('active');
  expect(nodesOf(world)).toHaveLength(3);
  return world;
}

function instance(world: World): Instance {
  const found = world.upNodes().map(({ nodeId }) => world.instanceOn(nodeId, 'large'))[0];
  if (found === null || found === undefined) throw new Error('no instance');
  return found;
}

function nodesOf(world: World): string[] {
  return instance(world).plan?.stages.map(({ nodeId }) => nodeId) ?? [];
}

function planId(world: World): string {
  return instance(world).plan?.planId ?? '';
}

function replanned(world: World, before: string, withinMs: number): boolean {
  return world.runUntil(() => planId(world) !== before && instance(world).state === 'active', withinMs);
}

describe('a ring that broke', () => {
  it('is planned again with the same nodes when only an edge broke', () => {
    const world = ring();
    const before = planId(world);
    const nodes = nodesOf(world);
    world.failStage(nodes[1] ?? '', before, BROKEN_EDGE);
    expect(replanned(world, before, EDGE_MS + 2_000)).toBe(true);
    expect(nodesOf(world)).toEqual(nodes);
  });

  it('is planned without the node whose runner died, although its neighbours complained first', () => {
    const world = ring();
    const before = planId(world);
    const [head = '', middle = '', tail = ''] = nodesOf(world);
    world.failStage(head, before, BROKEN_EDGE);
    world.failStage(tail, before, BROKEN_EDGE);
    world.run(50);
    world.failStage(middle, before, DIED);
    expect(replanned(world, before, 3_000)).toBe(true);
    expect(nodesOf(world)).toEqual(expect.arrayContaining([head, tail]));
    expect(nodesOf(world)).not.toContain(middle);
  });

  it('goes on however often a node dies and comes back: what its neighbours say of it is nobody\'s failure', () => {
    const world = ring();
    for (let round = 0; round < 6; round += 1) {
      const before = planId(world);
      const nodes = nodesOf(world);
      const victim = nodes[round % nodes.length] ?? '';
      for (const nodeId of nodes) if (nodeId !== victim) world.failStage(nodeId, before, BROKEN_EDGE);
      world.crash(victim);
      expect(replanned(world, before, 4_000), `round ${round}: ${instance(world).state} ${instance(world).reason}`).toBe(true);
      expect(nodesOf(world)).not.toContain(victim);
      world.restart(victim);
      world.run(4_000);
    }
  });

  it('gives up on edges that break again and again without a cause, and tries again after a while', () => {
    const world = ring();
    for (let round = 0; round < 3; round += 1) {
      world.failStage(nodesOf(world)[1] ?? '', planId(world), BROKEN_EDGE);
      world.run(3_000);
    }
    expect(instance(world)).toMatchObject({ state: 'failed', reason: expect.stringContaining(BROKEN_EDGE.message) });
    world.run(5_000);
    expect(instance(world).state).toBe('active');
  });

  it('is tried again by a successor that never saw it whole: answers of the earlier reign may be waiting', () => {
    const world = ring();
    world.stageFailures = 1;
    world.failStage(nodesOf(world)[0] ?? '', planId(world), DIED);
    expect(world.runUntil(() => instance(world).state === 'preparing', 1_000)).toBe(true);
    world.crash(world.node('n1').cluster.coordinator() ?? '');
    expect(world.runUntil(() => instance(world).state === 'failed', 10_000)).toBe(true);
    world.stageFailures = 0;
    world.run(8_000);
    expect(instance(world).state).toBe('active');
  });

  it('goes on with fewer nodes than were asked for, says so, and takes the number again when it can', () => {
    const world = ring();
    for (const expected of [3, 2]) {
      const before = planId(world);
      world.crash(nodesOf(world)[0] ?? '');
      expect(replanned(world, before, 5_000), `${instance(world).state} ${instance(world).reason}`).toBe(true);
      expect(nodesOf(world)).toHaveLength(expected);
    }
    expect(instance(world).plan?.explanation.map(({ text }) => text).join('\n')).toContain('3 nodes were asked for; only 2');
    for (const nodeId of ['n1', 'n2', 'n3', 'n4']) world.restart(nodeId);
    world.run(5_000);
    const before = planId(world);
    world.crash(nodesOf(world)[0] ?? '');
    expect(replanned(world, before, 5_000)).toBe(true);
    expect(nodesOf(world)).toHaveLength(3);
  });

  it('refuses a first plan on more nodes than there are: who asks can ask for less', () => {
    const world = new World(6, SHAPES, true);
    for (const nodeId of ['n1', 'n2']) world.addNode(nodeId, capabilitiesFor(nodeId, SHAPES));
    world.run(3_000);
    world.load('n1', 'call', 'large', 3);
    world.run(4_000);
    expect(world.instanceOn('n1', 'large')).toMatchObject({ state: 'failed', plan: null });
  });

  it('whose weights went away with their only holder is not unknown: it comes back with it', () => {
    const world = new World(5, SHAPES, true);
    world.addNode('n1', capabilitiesFor('n1', SHAPES));
    for (const nodeId of ['n2', 'n3']) world.addNode(nodeId, { ...capabilitiesFor(nodeId, SHAPES), models: [], shards: [] });
    world.run(3_000);
    world.load('n2', 'call', 'large', 3);
    world.run(4_000);
    expect(instance(world).state).toBe('active');
    world.crash('n1');
    expect(world.runUntil(() => instance(world).state === 'failed', 10_000)).toBe(true);
    expect(instance(world)).toMatchObject({ code: 'no_placement', reason: expect.stringContaining('no node that is here holds the model') });
    world.restart('n1');
    expect(world.runUntil(() => world.instanceOn('n2', 'large')?.state === 'active', 20_000)).toBe(true);
  });
});
