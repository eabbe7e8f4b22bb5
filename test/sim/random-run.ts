/**
 * One seed: a cluster of 2 to 6 nodes lives through some seconds of random weather, partitions, crashes, restarts, late
 * joins, stalls, loads and unloads; then everything heals and it must become one quiet cluster again.
 */
import type { Capabilities, ModelShape } from '../../src/core/types.js';
import { nodeOf, shapeOf } from '../core/placement-cases.js';
import { heldModel, World } from './world.js';

const CHAOS_MS = 8_000;
const QUIET_MS = 14_000;
const AFTER_JOIN_MS = 4_000;
const NODE_RAM_BYTES = 16e9;

export const SHAPES: readonly ModelShape[] = [
  shapeOf({ layers: 12, layerBytes: 1e9, overrides: { name: 'large', identity: { digest: 'a1'.repeat(32), sizeBytes: 12e9 } } }),
  shapeOf({ layers: 4, layerBytes: 1e8, overrides: { name: 'small', identity: { digest: 'b2'.repeat(32), sizeBytes: 4e8 } } }),
];

export interface RunResult {
  readonly seed: number;
  /** Empty = everything held. */
  readonly problems: readonly string[];
  readonly log: readonly string[];
}

export function capabilitiesFor(nodeId: string, models: readonly ModelShape[], ramBytes = NODE_RAM_BYTES): Capabilities {
  return nodeOf(nodeId, ramBytes, { capabilities: { models: models.map(heldModel) } }).capabilities;
}

export function simulate(seed: number, keepsLog = false): RunResult {
  const world = new World(seed, SHAPES, keepsLog);
  const { random } = world;
  const size = random.between(2, 6);
  for (let index = 0; index < size; index += 1) {
    // The first node always has both models, so that something can be served at the end.
    addNode(world, `n${index}`, index === 0 || random.chance(0.5), index === 0 || random.chance(0.3));
  }
  const unloads = chaos(world);
  calm(world);
  const known = knownModels(world, unloads);
  world.run(QUIET_MS);
  const problems = [...world.violations, ...world.disagreements(), ...lostModels(world, known), ...notServed(world)];
  if (problems.length === 0) problems.push(...joinProblems(world));
  return { seed, problems: [...problems, ...world.violations], log: world.log };
}

function addNode(world: World, nodeId: string, large: boolean, small: boolean): void {
  const models = SHAPES.filter(({ name }) => (name === 'large' ? large : small));
  world.addNode(nodeId, capabilitiesFor(nodeId, models));
}

/** Models of the instances that somebody asked to unload: such a request may still be under way at the end, or meet a second instance. */
function chaos(world: World): Set<string> {
  const { random } = world;
  const unloads = new Set<string>();
  world.weather = {
    loss: random.pick([0, 0, 0.05, 0.3]) ?? 0,
    duplication: random.pick([0, 0.1]) ?? 0,
    minDelayMs: 1,
    maxDelayMs: random.pick([5, 50, 300]) ?? 5,
    ordered: random.chance(0.6),
  };
  world.stageFailures = random.pick([0, 0, 0.2]) ?? 0;
  let late = 0;
  for (const endMs = world.nowMs + CHAOS_MS; world.nowMs < endMs;) {
    world.run(random.between(50, 1_200));
    const ids = [...world.nodes.keys()];
    const nodeId = random.pick(ids) ?? '';
    const other = random.pick(ids) ?? '';
    switch (random.between(0, 11)) {
      case 0:
      case 1: {
        const left = ids.filter(() => random.chance(0.5));
        world.partition([left, ids.filter((id) => !left.includes(id))]);
        break;
      }
      case 2:
        world.heal();
        break;
      case 3:
        world.crash(nodeId);
        break;
      case 4:
      case 5:
        world.restart(nodeId);
        break;
      case 6:
        world.freeze(nodeId, random.between(100, 3_000));
        break;
      case 7:
        if (nodeId !== other) random.chance(0.5) ? world.flap(nodeId, other) : world.cut(nodeId, other);
        break;
      case 8:
      case 9:
        world.load(nodeId, `load-${world.nowMs}`, random.chance(0.5) ? 'large' : 'small');
        break;
      case 10: {
        const instance = random.pick(world.node(nodeId).cluster.desired().instances);
        if (instance === null) break;
        unloads.add(instance.request.model);
        world.unload(nodeId, `unload-${world.nowMs}`, instance.instanceId);
        break;
      }
      case 11:
        if (late < 2 && ids.length < 6) {
          late += 1;
          addNode(world, `late${late}`, random.chance(0.5), random.chance(0.5));
        } else {
          world.leave(nodeId);
        }
        break;
    }
  }
  return unloads;
}

function calm(world: World): void {
  world.heal();
  world.weather = { loss: 0, duplication: 0, minDelayMs: 1, maxDelayMs: 20, ordered: true };
  world.stageFailures = 0;
  // Who is about to leave is gone by then.
  world.run(200);
  world.restart('n0');
  for (const nodeId of world.nodes.keys()) if (world.random.chance(0.7)) world.restart(nodeId);
}

/** Models that somebody who is up wants to be served, and nobody has asked to unload. */
function knownModels(world: World, unloads: ReadonlySet<string>): Set<string> {
  const models = world.upNodes().flatMap(({ cluster }) => cluster.desired().instances
    .map(({ request }) => request.model));
  return new Set(models.filter((model) => !unloads.has(model)));
}

function lostModels(world: World, known: ReadonlySet<string>): string[] {
  const first = world.upNodes()[0];
  const kept = new Set(first?.cluster.desired().instances.map(({ request }) => request.model));
  return [...known].filter((model) => !kept.has(model)).map((model) => `the instance of ${model} was lost`);
}

/** n0 is up and has every model, and memory is plentiful: whatever is wanted must run, unless its stages failed too often. */
function notServed(world: World): string[] {
  const first = world.upNodes()[0];
  return (first?.cluster.desired().instances ?? [])
    .filter(({ state, reason }) => state !== 'active' && !reason.includes('no memory'))
    .map(({ instanceId, state, reason }) => `${instanceId} is ${state} (${reason}) after the healing`);
}

/** A node that joins a quiet cluster changes neither the term nor any plan. */
function joinProblems(world: World): string[] {
  const before = world.upNodes()[0]?.cluster;
  if (before === undefined) return [];
  const [term, desired] = [JSON.stringify(before.term()), JSON.stringify(before.desired().instances)];
  const alone = world.upNodes().length === 1;
  addNode(world, 'joiner', true, true);
  world.run(AFTER_JOIN_MS);
  const problems = world.disagreements();
  // A node alone that serves nothing has no ring to lose.
  if (alone) return problems;
  if (JSON.stringify(before.term()) !== term) problems.push(`a join changed the term from ${term} to ${JSON.stringify(before.term())}`);
  if (JSON.stringify(before.desired().instances) !== desired && !desired.includes('no memory')) problems.push(`a join changed what is served: ${desired} became ${JSON.stringify(before.desired().instances)}`);
  return problems;
}
