/**
 * A ring of two machines with different devices: one computes on its cpu, one on a (software) Vulkan device. The plan
 * gives each its backend, the answer is that of the cpu alone, and a device that vanishes costs a plan, not the request.
 */
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterStatus, InstanceView } from '../../src/agent/service.js';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import { field } from '../support/json.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { createLan, lanAvailable } from './harness.js';
import type { Lan } from './harness.js';

const available = lanAvailable();
/** ggml takes a software Vulkan device only when it is named. */
const SOFTWARE_VULKAN = { GGML_VK_VISIBLE_DEVICES: '0' };
const SOFTWARE_DRIVER = '/usr/share/vulkan/icd.d/lvp_icd.x86_64.json';
const PATIENT_MS = 30_000;
const LOAD_MS = 90_000;
const PROMPT = 'And God said, Let there be';
const TOKENS = 24;

describe.skipIf(!available.ok)(`a ring of two backends${available.ok ? '' : ` (skipped: ${available.reason})`}`, () => {
  let lan: Lan;
  let agents: AgentProcess[] = [];
  let alone: readonly number[] = [];

  beforeAll(async () => {
    lan = await createLan({ hosts: 2 });
  });
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.kill9()));
    await lan.destroy();
  });

  async function start(index: number, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<AgentProcess> {
    const agent = await AgentProcess.start({ stateDir: temporaryDirectory(`host${index}`), host: lan.host(index), args, env });
    agents.push(agent);
    return agent;
  }

  afterEach(async () => {
    await Promise.all(agents.map((agent) => agent.stop()));
    agents = [];
  });

  it('cpu alone: the answer to compare with', async () => {
    const agent = await start(1, ['--device', 'cpu']);
    await nodesHere(agent, 1);
    alone = await complete(agent);
    expect(alone).toHaveLength(TOKENS);
    const [instance] = (await agent.status()).instances;
    expect(instance?.stages.map((stage) => stage.backend)).toEqual(['cpu']);
  });

  it('A5: one stage on cpu and one on vulkan answer with the same tokens, and status shows both', async () => {
    const cpu = await start(1, ['--device', 'cpu']);
    const vulkan = await start(2, ['--device', 'vulkan'], SOFTWARE_VULKAN);
    await nodesHere(cpu, 2);
    await nodesHere(vulkan, 2);
    const instance = await load(cpu, { nodes: 2 });
    expect(backendsByHost(instance)).toEqual({ host1: 'cpu', host2: 'vulkan' });
    expect(await complete(cpu)).toEqual(alone);
    expect(await complete(vulkan)).toEqual(alone);
    const shown = await runAgentCommand(['status', '--state-dir', vulkan.stateDir], { host: lan.host(2) });
    expect(shown.stdout).toMatch(/host1 .* cpu/);
    expect(shown.stdout).toMatch(/host2 .* vulkan/);
  });

  it('B5: vulkan+cpu with a small device budget spills, says how much, and answers with the same tokens', async () => {
    const agent = await start(2, ['--device', 'vulkan+cpu', '--max-device-ram', '0.03'], SOFTWARE_VULKAN);
    await nodesHere(agent, 1);
    const instance = await load(agent, {});
    const [stage] = instance.stages;
    expect(stage?.backend).toBe('vulkan');
    expect(stage?.spill?.hostLayers).toBeGreaterThan(0);
    expect(stage?.spill?.hostBytes).toBeGreaterThan(0);
    expect(await complete(agent)).toEqual(alone);
    const shown = await runAgentCommand(['status', '--state-dir', agent.stateDir], { host: lan.host(2) });
    expect(shown.stdout).toMatch(/spills \d+ of \d+ layers to host memory/);
  });

  it('an NVIDIA machine without the CUDA package computes on vulkan, and its status says what to install for more', async () => {
    const tools = temporaryDirectory('nvidia');
    writeFileSync(join(tools, 'nvidia-smi'), '#!/bin/sh\n', { mode: 0o755 });
    const agent = await start(2, [], { ...SOFTWARE_VULKAN, PATH: `${tools}:${process.env['PATH'] ?? ''}` });
    await nodesHere(agent, 1);
    const instance = await load(agent, {});
    expect(instance.stages.map((stage) => stage.backend)).toEqual(['vulkan']);
    const shown = (await runAgentCommand(['status', '--state-dir', agent.stateDir], { host: lan.host(2) })).stdout.replace(/\s+/g, ' ');
    expect(shown).toMatch(/NVIDIA GPU found, used through vulkan\. For more speed \(cuda, about 540 MB\): npm install @node-llama-cpp\/linux-/);
  });

  it('A5: a backend that vanished after the start is a typed error and another plan, and the request is served', async () => {
    const driver = driverCopy();
    if (driver === null) throw new Error(`no software Vulkan driver at ${SOFTWARE_DRIVER}: apt install mesa-vulkan-drivers`);
    const agent = await start(2, [], { ...SOFTWARE_VULKAN, VK_ICD_FILENAMES: driver });
    const before = await nodesHere(agent, 1);
    expect(before.nodes[0]?.capabilities?.backends).toEqual(['vulkan', 'cpu']);
    rmSync(driver);
    expect(await complete(agent)).toEqual(alone);
    expect(agent.output()).toMatch(/"code":"backend_missing".*backend vulkan was asked for/);
    const after = await agent.statusWhen((status) => status.nodes[0]?.capabilities?.backends.length === 1, { timeoutMs: PATIENT_MS, what: 'the backend gone from the record' });
    expect(after.instances.map((instance) => instance.stages.map((stage) => stage.backend))).toEqual([['cpu']]);
  });
});

/** The installed software driver's description, as a copy that a test can take away; null where there is none. */
function driverCopy(): string | null {
  if (!existsSync(SOFTWARE_DRIVER)) return null;
  const copy = join(temporaryDirectory('driver'), 'driver.json');
  copyFileSync(SOFTWARE_DRIVER, copy);
  return copy;
}

async function nodesHere(agent: AgentProcess, nodes: number): Promise<ClusterStatus> {
  return agent.statusWhen((status) => status.coordinator !== null && status.nodes.filter((node) => node.state === 'alive').length === nodes, {
    timeoutMs: PATIENT_MS, what: `${nodes} nodes and a coordinator`,
  });
}

async function load(agent: AgentProcess, request: object): Promise<InstanceView> {
  const answer = await agent.call({ path: '/v1/cluster/load', json: request, timeoutMs: LOAD_MS });
  expect(answer.status, `${await answer.text()}\n${agent.output()}`).toBe(200);
  const status = await agent.statusWhen((seen) => seen.instances.some((instance) => instance.state === 'active'), { timeoutMs: PATIENT_MS, what: 'an active instance' });
  const instance = status.instances.find((candidate) => candidate.state === 'active');
  if (instance === undefined) throw new Error('no active instance');
  return instance;
}

function backendsByHost(instance: InstanceView): Record<string, string | null> {
  return Object.fromEntries(instance.stages.map((stage) => [stage.hostname, stage.backend]));
}

/** Token ids of a greedy answer. */
async function complete(agent: AgentProcess): Promise<readonly number[]> {
  const answer = await agent.call({
    path: '/v1/completions', json: { prompt: PROMPT, temperature: 0, max_tokens: TOKENS, ignore_eos: true, return_tokens: true }, timeoutMs: LOAD_MS,
  });
  const body = await answer.json();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(body)}\n${agent.output()}`);
  const tokens = field(firstOf(field(body, 'choices')), 'tokens');
  if (!Array.isArray(tokens)) throw new Error(`no tokens in ${JSON.stringify(body)}`);
  return tokens.map(Number);
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : null;
}
