/**
 * How long models stay, on real agents: what a request loaded goes when it is idle, what is idle makes room for another
 * model, and what was pinned is served again after every agent was off, until it is unloaded.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ClusterStatus, InstanceView } from '../../src/agent/service.js';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import { writeRenamedBuiltInModel } from '../support/model-copy.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const BUILT_IN = 'kjv-q8_0';
const OTHER = 'scripture';
const LOAD_MS = 60_000;
const AGREE_MS = 20_000;

const started: AgentProcess[] = [];
afterAll(async () => {
  await Promise.all(started.map((agent) => agent.kill9()));
});

async function start(stateDir: string, ...args: readonly string[]): Promise<AgentProcess> {
  const agent = await AgentProcess.start({ stateDir, args: ['--threads', '1', '--ctx', '128', '--slots', '1', ...args] });
  started.push(agent);
  await agent.statusWhen((status) => status.coordinator !== null, { timeoutMs: AGREE_MS, what: 'a coordinator' });
  return agent;
}

function stateWithModel(what: string): string {
  const stateDir = temporaryDirectory(what);
  mkdirSync(join(stateDir, 'models'));
  writeRenamedBuiltInModel(join(stateDir, 'models', `${OTHER}.gguf`));
  return stateDir;
}

async function ask(agent: AgentProcess, json: object): Promise<unknown> {
  const answer = await agent.call({ path: '/api/generate', json: { prompt: 'In the beginning', raw: true, stream: false, options: { num_predict: 4, temperature: 0 }, ...json }, timeoutMs: LOAD_MS });
  const value: unknown = await answer.json();
  expect(answer.status, `${JSON.stringify(value)}\n${agent.output()}`).toBe(200);
  return value;
}

function served(status: ClusterStatus): string[] {
  return status.instances.filter(({ state }) => state === 'active').map(({ model }) => model).sort();
}

async function models(agent: AgentProcess, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runAgentCommand(['models', ...words, '--state-dir', agent.stateDir]);
  expect(code, `${stdout}${stderr}`).toBe(0);
  return stdout;
}

describe('one agent', () => {
  it('loads what a request needs, unloads what is idle, and what is idle for another model', async () => {
    const stateDir = stateWithModel('life');
    const measured = await start(stateDir, '--no-mdns', '--cluster', `life-${process.pid}`);
    const plan: unknown = await (await measured.call({ path: '/v1/cluster/plan', json: { model: OTHER } })).json();
    await measured.stop();
    // One of them fits, two do not.
    const maxRamGb = (predictedBytes(plan) * 1.5) / 1e9;
    const agent = await start(stateDir, '--no-mdns', '--cluster', `life-${process.pid}`, '--max-ram', String(maxRamGb));

    expect(await ask(agent, { model: BUILT_IN, keep_alive: 0 })).toMatchObject({ done: true, response: expect.stringMatching(/\w/) });
    await agent.statusWhen((status) => status.instances.length === 0, { timeoutMs: LOAD_MS, what: 'the model to go at once' });

    await models(agent, 'load', BUILT_IN);
    expect(await ask(agent, { model: OTHER })).toMatchObject({ done: true });
    expect(served(await agent.status())).toEqual([OTHER]);

    expect(await models(agent, 'pin', OTHER)).toMatch(/is pinned/);
    const refused = await agent.call({ path: '/v1/cluster/load', json: { model: BUILT_IN }, timeoutMs: LOAD_MS });
    expect(refused.status).toBe(503);
    expect(await refused.text()).toMatch(/does not fit.*Served beside it: scripture \(pinned\)/);
    expect(await models(agent, 'unpin', OTHER)).toMatch(/stays until its room is needed/);
    await ask(agent, { model: BUILT_IN });
    expect(served(await agent.status())).toEqual([BUILT_IN]);
    const ps = await (await agent.call({ path: '/api/ps' })).json();
    expect(ps).toMatchObject({ models: [{ name: BUILT_IN }] });
    await agent.stop();
  });
});

describe('a cluster of two', () => {
  it('serves again after both were off what was pinned, and not what was unloaded or loaded for a request', async () => {
    const states = [stateWithModel('return0'), temporaryDirectory('return1')];
    const args = ['--cluster', `return-${process.pid}`];
    const startBoth = async (): Promise<AgentProcess[]> => {
      const agents = await Promise.all(states.map((state) => start(state, ...args)));
      await Promise.all(agents.map((agent) => agent.statusWhen((status) => status.nodes.length === 2 && status.coordinator !== null, { timeoutMs: AGREE_MS, what: 'two nodes' })));
      return agents;
    };
    const [first, second] = await startBoth();
    if (first === undefined || second === undefined) throw new Error('no agents');
    await models(second, 'load', OTHER, '--nodes', '2', '--pin');
    await models(first, 'load', BUILT_IN);
    await models(first, 'unload', BUILT_IN);
    await ask(second, { model: BUILT_IN });
    expect(served(await first.status())).toEqual([BUILT_IN, OTHER]);
    const before = nodesOf(await first.status());
    // One as people stop it, the other as a power cut does.
    await first.stop();
    await second.kill9();

    const again = await startBoth();
    for (const agent of again) {
      const status = await agent.statusWhen((seen) => served(seen).includes(OTHER), { timeoutMs: LOAD_MS, what: 'the pinned model to return' });
      expect(served(status)).toEqual([OTHER]);
      expect(nodesOf(status)).toEqual(before);
    }
    const [one] = again;
    if (one === undefined) throw new Error('no agent');
    await models(one, 'unload', OTHER);
    await Promise.all(again.map((agent) => agent.statusWhen((status) => status.instances.length === 0, { timeoutMs: AGREE_MS, what: 'nothing served' })));
  });
});

function nodesOf(status: ClusterStatus): readonly string[] {
  const instance: InstanceView | undefined = status.instances.find(({ model }) => model === OTHER);
  return (instance?.stages ?? []).map(({ nodeId, range }) => `${nodeId} ${range.start}-${range.end}`);
}

function predictedBytes(plan: unknown): number {
  if (typeof plan !== 'object' || plan === null || !('stages' in plan) || !Array.isArray(plan.stages)) throw new Error(`no plan: ${JSON.stringify(plan)}`);
  const [stage]: unknown[] = plan.stages;
  if (typeof stage !== 'object' || stage === null || !('predictedBytes' in stage) || typeof stage.predictedBytes !== 'number') throw new Error('no stage');
  return stage.predictedBytes;
}
