/** What the simulation of whole agents once found wrong, one scenario each, without chance of anything else. */
import { describe, expect, it } from 'vitest';
import type { ModelShape, NodeId } from '../../src/core/types.js';
import { nodeOf } from '../core/placement-cases.js';
import { AGENT_SHAPES } from './agent-run.js';
import { AgentWorld } from './agent-world.js';
import { heldModel } from './fake-library.js';
import type { Question } from './sim-client.js';
import { SimClient } from './sim-client.js';

const RAM_BYTES = 16e9;
/** A released runner has ended by then. */
const RELEASED_MS = 11_500;
const [LARGE] = AGENT_SHAPES;

function worldOf(count: number, holders = count): AgentWorld {
  const world = new AgentWorld({ seed: 1, shapes: AGENT_SHAPES, canRollBack: true, keepsLog: true, keepAliveMs: null, stepMs: 4 });
  for (let index = 0; index < count; index += 1) {
    const models = index < holders ? AGENT_SHAPES : [];
    world.addHost(`n${index}`, nodeOf(`n${index}`, RAM_BYTES, { capabilities: { models: models.map(heldModel) } }).capabilities, models);
  }
  return world;
}

async function settled(count: number, holders = count): Promise<AgentWorld> {
  const world = worldOf(count, holders);
  expect(await world.runUntil(() => world.isMesh() && world.disagreements().length === 0, 10_000)).toBe(true);
  await world.run(1_000);
  return world;
}

function ask(world: AgentWorld, nodeId: NodeId, question: Partial<Question> = {}): SimClient {
  const { life } = world.host(nodeId);
  if (life === null) throw new Error(`${nodeId} is off`);
  return new SimClient('client', { model: modelOf(LARGE), promptTokens: [1, 2, 3], sampling: GREEDY, maxTokens: 20, patience: null, stop: [], ...question }, life, world);
}

function modelOf(shape: ModelShape | undefined): ModelShape {
  if (shape === undefined) throw new Error('no model');
  return shape;
}

const GREEDY = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: true, logitBias: [],
};

function activePlan(world: AgentWorld, nodeId: NodeId) {
  return world.host(nodeId).life?.agent.status().instances.find(({ state }) => state === 'active') ?? null;
}

describe('agents in a simulated LAN', () => {
  it('let go of a runner whose plan ended while it loaded', async () => {
    const world = await settled(2);
    const client = ask(world, 'n0');
    const { life } = world.host('n0');
    expect(await world.runUntil(() => life?.agent.status().instances[0]?.state === 'preparing', 2_000)).toBe(true);
    const instance = life?.agent.status().instances[0]?.instanceId ?? '';
    life?.process.enter(() => void life.agent.unload(instance).catch(() => undefined));
    await world.runUntil(() => client.ending !== null, 20_000);
    await world.run(RELEASED_MS);
    const stages = life?.agent.status().instances.flatMap((other) => other.stages) ?? [];
    for (const nodeId of ['n0', 'n1']) expect(world.runners(nodeId)).toHaveLength(stages.filter((stage) => stage.nodeId === nodeId).length);
    expect(world.violations).toEqual([]);
  });

  it('take no second beginning of a ring whose head was switched off and on in the middle of an answer', async () => {
    const world = await settled(3);
    const first = ask(world, 'n1', { maxTokens: 5 });
    expect(await world.runUntil(() => first.ending !== null, 10_000)).toBe(true);
    const head = activePlan(world, 'n1')?.stages[0]?.nodeId ?? '';
    const origin = ['n0', 'n1', 'n2'].find((nodeId) => nodeId !== head) ?? '';
    const client = ask(world, origin, { maxTokens: 120 });
    expect(await world.runUntil(() => client.tokens.length > 10, 5_000)).toBe(true);
    world.kill(head, false);
    world.start(head);
    expect(await world.runUntil(() => client.ending !== null, 30_000)).toBe(true);
    expect(client.ending).toEqual({ kind: 'answered' });
    expect(world.violations).toEqual([]);
  });

  it('hear the new state of a failed model before the answer to whoever asks for it again', async () => {
    const world = await settled(3);
    world.loadFailures = 1;
    const first = ask(world, 'n0');
    expect(await world.runUntil(() => first.ending !== null, 20_000)).toBe(true);
    expect(first.ending).toMatchObject({ kind: 'error' });
    world.loadFailures = 0;
    // At every node, so at those that do not coordinate too.
    for (const nodeId of ['n0', 'n1', 'n2']) {
      const again = ask(world, nodeId);
      expect(await world.runUntil(() => again.ending !== null, 20_000)).toBe(true);
      expect(again.ending).toEqual({ kind: 'answered' });
      const { life } = world.host(nodeId);
      const instance = life?.agent.status().instances[0]?.instanceId ?? '';
      life?.process.enter(() => void life.agent.unload(instance).catch(() => undefined));
      await world.run(1_000);
      world.loadFailures = 1;
      const failed = ask(world, 'n0');
      expect(await world.runUntil(() => failed.ending !== null, 20_000)).toBe(true);
      world.loadFailures = 0;
    }
    expect(world.violations).toEqual([]);
  });

  it('end a load whose instance gave way to the one of the other half of the cluster', async () => {
    const world = await settled(2);
    world.partition([['n0'], ['n1']]);
    await world.run(4_000);
    const left = ask(world, 'n0');
    expect(await world.runUntil(() => left.ending !== null, 10_000)).toBe(true);
    const right = ask(world, 'n1');
    await world.run(60);
    world.heal();
    expect(await world.runUntil(() => right.ending !== null, 20_000)).toBe(true);
    expect(right.ending).toEqual({ kind: 'answered' });
    expect(await world.runUntil(() => world.disagreements().length === 0, 20_000)).toBe(true);
    expect(world.violations).toEqual([]);
  });

  it('go on after three broken edges in a row, each of which ended a plan', async () => {
    const world = await settled(3);
    const client = ask(world, 'n0', { maxTokens: 120, sampling: GREEDY });
    world.slowDown('n1', 10);
    for (let round = 0; round < 3; round += 1) {
      expect(await world.runUntil(() => activePlan(world, 'n1') !== null && world.host('n1').life?.network.openLinks().length !== 0, 20_000)).toBe(true);
      await world.run(400);
      world.loseStream('n1');
      await world.run(1_000);
    }
    expect(await world.runUntil(() => client.ending !== null, 60_000)).toBe(true);
    expect(client.ending).toEqual({ kind: 'answered' });
    expect(world.violations).toEqual([]);
  });
});
