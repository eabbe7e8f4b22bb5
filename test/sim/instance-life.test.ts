/**
 * How long instances stay, in a simulated LAN: idle ones go, others make room, pinned ones stay, and what was wanted is
 * wanted again after every node was off, on whichever node that is remembered; what was unloaded is not.
 */
import { describe, expect, it } from 'vitest';
import { FIRST_USE_MS, LOADED_LIFE, PINNED_LIFE, requestLife } from '../../src/core/instance-life.js';
import { RETURN_WAIT_MS } from '../../src/core/reconcile-rules.js';
import type { InstanceLife, InstanceState, ModelShape } from '../../src/core/types.js';
import { shapeOf } from '../core/placement-cases.js';
import { capabilitiesFor } from './random-run.js';
import { Random } from './random.js';
import { World } from './world.js';

function model(name: string, digit: string, layers = 10): ModelShape {
  return shapeOf({ layers, layerBytes: 1e9, overrides: { name, identity: { digest: digit.repeat(64), sizeBytes: layers * 1e9 } } });
}

/** Two of ten gigabytes do not fit one node of sixteen; three fit two nodes of twenty-four. */
const SHAPES = [model('one', '1'), model('two', '2'), model('three', '3')];

function clusterOf(count: number, ramBytes = 16e9, seed = 1): World {
  const world = new World(seed, SHAPES, true);
  for (let index = 1; index <= count; index += 1) world.addNode(`n${index}`, capabilitiesFor(`n${index}`, SHAPES, ramBytes));
  world.run(4_000);
  for (const { name } of SHAPES) world.requests(name, 0, 0);
  return world;
}

function stateOf(world: World, name: string, on = 'n1'): InstanceState | 'none' {
  return world.instanceOn(on, name)?.state ?? 'none';
}

function loaded(world: World, name: string, life: InstanceLife, on = 'n1'): void {
  world.load(on, `load ${name} ${world.nowMs}`, name, null, life);
  if (!world.runUntil(() => stateOf(world, name, on) === 'active', 5_000)) expect(world.log.slice(-20)).toEqual([]);
}

function idOf(world: World, name: string, on = 'n1'): string {
  return world.instanceOn(on, name)?.instanceId ?? 'none';
}

/** Every node is off, then they come again in this order, so far apart. */
function restartAll(world: World, order: readonly string[], apartMs: number): void {
  for (const nodeId of [...world.nodes.keys()]) world.crash(nodeId);
  world.run(3_000);
  for (const nodeId of order) {
    world.restart(nodeId);
    world.run(apartMs);
  }
}

describe('a model that a request loaded', () => {
  it('goes when it was idle for its keep-alive, counted from its last answer', () => {
    const world = clusterOf(2);
    loaded(world, 'one', requestLife(60_000));
    world.requests('one', 1, 1);
    world.run(200_000);
    expect(stateOf(world, 'one')).toBe('active');
    world.requests('one', 0, 1);
    world.run(50_000);
    expect(stateOf(world, 'one')).toBe('active');
    // An answer that came and went between two looks counts.
    world.requests('one', 0, 2);
    world.run(50_000);
    expect(stateOf(world, 'one')).toBe('active');
    world.run(15_000);
    expect(stateOf(world, 'one')).toBe('none');
    expect(world.readyStages('n1')).toEqual([]);
    expect(world.disagreements()).toEqual([]);
  });

  it('goes at once with a keep-alive of nothing, but not before the request that it was loaded for', () => {
    const world = clusterOf(2);
    loaded(world, 'one', requestLife(0));
    world.run(FIRST_USE_MS / 2);
    expect(stateOf(world, 'one')).toBe('active');
    world.requests('one', 1, 1);
    world.run(10_000);
    expect(stateOf(world, 'one')).toBe('active');
    world.requests('one', 0, 1);
    world.run(2_000);
    expect(stateOf(world, 'one')).toBe('none');
  });

  it('stays for ever when that was asked for, until the next request says otherwise', () => {
    const world = clusterOf(1);
    loaded(world, 'one', requestLife(null));
    world.requests('one', 0, 1);
    world.run(3_600_000);
    expect(stateOf(world, 'one')).toBe('active');
    world.load('n1', 'again', 'one', null, requestLife(5_000));
    world.run(7_000);
    expect(stateOf(world, 'one')).toBe('none');
  });

  it('stays where its head says nothing: another version, or nobody knows', () => {
    const world = new World(1, SHAPES, true);
    world.addNode('n1', capabilitiesFor('n1', SHAPES));
    world.run(1_000);
    loaded(world, 'one', requestLife(1_000));
    world.run(120_000);
    expect(stateOf(world, 'one')).toBe('active');
  });

  it('goes under the next coordinator, whose clock begins anew', () => {
    const world = clusterOf(3);
    loaded(world, 'one', requestLife(60_000));
    world.requests('one', 0, 1);
    world.run(40_000);
    const old = world.node('n1').cluster.coordinator() ?? '';
    const used = new Set(world.instanceOn('n1', 'one')?.plan?.stages.map(({ nodeId }) => nodeId));
    const other = ['n1', 'n2', 'n3'].find((nodeId) => nodeId !== old) ?? '';
    world.crash(old);
    world.run(10_000);
    expect(stateOf(world, 'one', other), `${[...used].join()} ${world.log.slice(-10).join('\n')}`).toBe('active');
    world.requests('one', 0, 1);
    world.run(70_000);
    expect(stateOf(world, 'one', other)).toBe('none');
  });

  it('is not kept over a restart of the cluster', () => {
    const world = clusterOf(2);
    loaded(world, 'one', requestLife(600_000));
    restartAll(world, ['n1', 'n2'], 200);
    world.run(10_000);
    expect(stateOf(world, 'one')).toBe('none');
  });
});

describe('a model that stays', () => {
  it('is never idle for too long, and no request shortens its stay', () => {
    const world = clusterOf(1);
    loaded(world, 'one', LOADED_LIFE);
    world.load('n1', 'again', 'one', null, requestLife(0));
    world.requests('one', 0, 5);
    world.run(3_600_000);
    expect(stateOf(world, 'one')).toBe('active');
  });

  it('stays from then on when a person loads what a request had loaded', () => {
    const world = clusterOf(1);
    loaded(world, 'one', requestLife(5_000));
    world.load('n1', 'again', 'one', null, LOADED_LIFE);
    world.run(600_000);
    expect(stateOf(world, 'one')).toBe('active');
  });
});

describe('a model that needs room', () => {
  it('takes that of the longest unused one', () => {
    const world = clusterOf(1, 28e9);
    loaded(world, 'one', LOADED_LIFE);
    loaded(world, 'two', LOADED_LIFE);
    world.requests('two', 0, 1);
    world.run(2_000);
    world.requests('one', 0, 1);
    world.run(2_000);
    loaded(world, 'three', requestLife(60_000));
    expect([stateOf(world, 'one'), stateOf(world, 'two')]).toEqual(['active', 'none']);
    expect(world.violations).toEqual([]);
  });

  it('takes none that answers, and none that is pinned, and says who is in its way', () => {
    const world = clusterOf(1, 28e9);
    loaded(world, 'one', PINNED_LIFE);
    loaded(world, 'two', LOADED_LIFE);
    world.requests('two', 1, 1);
    world.load('n1', 'third', 'three', null, requestLife(60_000));
    world.run(10_000);
    expect(stateOf(world, 'three')).toBe('failed');
    expect(world.instanceOn('n1', 'three')?.reason).toMatch(/Served beside it: one \(pinned\), two\./);
    expect([stateOf(world, 'one'), stateOf(world, 'two')]).toEqual(['active', 'active']);
    // As soon as nobody waits for the other one any more.
    world.requests('two', 0, 1);
    world.load('n1', 'again', 'three', null, requestLife(60_000));
    world.run(5_000);
    expect([stateOf(world, 'one'), stateOf(world, 'two'), stateOf(world, 'three')]).toEqual(['active', 'none', 'active']);
  });

  it('takes no room when it fits beside the others', () => {
    const world = clusterOf(2, 24e9);
    for (const { name } of SHAPES) loaded(world, name, requestLife(600_000));
    expect(SHAPES.map(({ name }) => stateOf(world, name))).toEqual(['active', 'active', 'active']);
  });
});

describe('after a restart of the whole cluster', () => {
  it('serves again what was pinned or loaded by hand, on the nodes that did, in whatever order they come', () => {
    for (const [seed, order] of [['n1', 'n2', 'n3'], ['n3', 'n1', 'n2'], ['n2', 'n3', 'n1']].entries()) {
      const world = clusterOf(3, 16e9, seed + 1);
      loaded(world, 'one', PINNED_LIFE);
      loaded(world, 'two', LOADED_LIFE);
      const before = world.instanceOn('n1', 'two')?.plan?.stages.map(({ nodeId }) => nodeId);
      restartAll(world, order, 2_500);
      world.run(10_000);
      expect([stateOf(world, 'one'), stateOf(world, 'two')], world.log.slice(-20).join('\n')).toEqual(['active', 'active']);
      expect(world.instanceOn('n1', 'two')?.plan?.stages.map(({ nodeId }) => nodeId)).toEqual(before);
      expect([...world.violations, ...world.disagreements()]).toEqual([]);
    }
  });

  it('serves it without a node that does not come back, after a while', () => {
    const world = clusterOf(3);
    loaded(world, 'one', LOADED_LIFE);
    const needed = world.instanceOn('n1', 'one')?.plan?.stages[0]?.nodeId ?? '';
    restartAll(world, ['n1', 'n2', 'n3'].filter((nodeId) => nodeId !== needed), 500);
    const other = world.upNodes()[0]?.nodeId ?? '';
    world.run(RETURN_WAIT_MS / 2);
    expect(stateOf(world, 'one', other)).toBe('planning');
    world.run(RETURN_WAIT_MS);
    expect(stateOf(world, 'one', other)).toBe('active');
  });

  it('learns from a node that was off when the others forgot nothing, and served something only it remembers', () => {
    const world = clusterOf(3);
    world.crash('n3');
    world.run(5_000);
    world.restart('n3');
    world.run(4_000);
    loaded(world, 'two', PINNED_LIFE, 'n3');
    // Only n3 keeps its disk.
    for (const nodeId of ['n1', 'n2', 'n3']) world.crash(nodeId);
    for (const nodeId of ['n1', 'n2']) world.node(nodeId).kept = { version: 0, instances: [] };
    world.restart('n1');
    world.restart('n2');
    world.run(5_000);
    expect(stateOf(world, 'two')).toBe('none');
    world.restart('n3');
    world.run(10_000);
    expect(stateOf(world, 'two')).toBe('active');
    expect(world.disagreements()).toEqual([]);
  });

  it('does not bring back from an old node what was unloaded while it was away, nor through a restart of all', () => {
    const world = clusterOf(3);
    loaded(world, 'one', PINNED_LIFE);
    loaded(world, 'two', LOADED_LIFE);
    world.run(2_000);
    const away = ['n1', 'n2', 'n3'].find((nodeId) => nodeId !== world.node('n1').cluster.coordinator() && !['one', 'two'].some((name) => world.instanceOn('n1', name)?.plan?.stages.some((stage) => stage.nodeId === nodeId))) ?? 'n3';
    world.crash(away);
    world.run(3_000);
    const [on = ''] = world.upNodes().map(({ nodeId }) => nodeId);
    world.unload(on, 'gone', idOf(world, 'one', on));
    world.run(3_000);
    expect(stateOf(world, 'one', on)).toBe('none');
    // It comes to a cluster that lives …
    world.restart(away);
    world.run(12_000);
    expect(stateOf(world, 'one', on)).toBe('none');
    expect(stateOf(world, 'two', on)).toBe('active');
    world.crash(away);
    world.node(away).kept = { ...world.node(away).kept, removed: [], instances: world.node(away).kept.instances };
    // … and is the first of all to start, before those who know better.
    const others = ['n1', 'n2', 'n3'].filter((nodeId) => nodeId !== away);
    restartAll(world, [away, ...others], 4_000);
    world.run(20_000);
    expect(stateOf(world, 'one', on), world.log.slice(-20).join('\n')).toBe('none');
    expect(stateOf(world, 'two', on)).toBe('active');
    expect(world.disagreements()).toEqual([]);
  });

  it('drops what an old node brought back, as soon as one comes that knows better', () => {
    const world = clusterOf(2);
    loaded(world, 'one', PINNED_LIFE);
    world.run(1_000);
    const stale = world.node('n1').cluster.toKeep();
    world.unload('n2', 'gone', idOf(world, 'one'));
    world.run(2_000);
    for (const nodeId of ['n1', 'n2']) world.crash(nodeId);
    world.node('n1').kept = stale;
    world.restart('n1');
    world.run(RETURN_WAIT_MS + 5_000);
    expect(stateOf(world, 'one')).toBe('active');
    world.restart('n2');
    world.run(10_000);
    expect([stateOf(world, 'one'), stateOf(world, 'one', 'n2')]).toEqual(['none', 'none']);
  });

  it('wants the same as before, whatever was loaded, pinned and unloaded, for many seeds', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = new Random(seed);
      const world = clusterOf(random.between(1, 4), 40e9, seed);
      const ids = [...world.nodes.keys()];
      const wanted = new Set<string>();
      for (let step = 0; step < 6; step += 1) {
        const { name = '' } = random.pick(SHAPES) ?? {};
        const on = random.pick(world.upNodes())?.nodeId ?? '';
        if (random.chance(0.3) && wanted.has(name)) {
          world.unload(on, `u${step}`, idOf(world, name, on));
          wanted.delete(name);
        } else {
          const life = random.pick([PINNED_LIFE, LOADED_LIFE]) ?? PINNED_LIFE;
          world.load(on, `l${step}`, name, null, life);
          wanted.add(name);
        }
        world.run(3_000);
        // Some are off for a while, never all of them.
        const victim = random.pick(ids) ?? '';
        if (world.upNodes().length > 1 && random.chance(0.4)) world.crash(victim);
        else world.restart(victim);
        world.run(4_000);
      }
      const order = [...ids].sort(() => random.between(0, 1) * 2 - 1);
      restartAll(world, order, random.between(0, 6_000));
      world.run(RETURN_WAIT_MS + 15_000);
      const served = SHAPES.filter(({ name }) => stateOf(world, name) === 'active').map(({ name }) => name);
      expect([seed, ...served], world.log.slice(-30).join('\n')).toEqual([seed, ...SHAPES.map(({ name }) => name).filter((name) => wanted.has(name))]);
      expect([...world.violations, ...world.disagreements()], `seed ${seed}`).toEqual([]);
    }
  });
});
