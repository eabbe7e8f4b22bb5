/**
 * How agents and runners end: politely while they answer, at once when told twice, and by force. Answers in progress
 * finish or go on elsewhere token for token, and no process is left.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../../src/agent/service.js';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import { OWNER_TAG } from '../support/owner.js';
import { killQuietly, processesWithMarker, waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const CONTEXT = 512;
const LONG = 240;
const AGREE_MS = 20_000;
const REPLAN_MS = 30_000;
/** What a killed agent leaves must have noticed by then. */
const ORPHANS_END_MS = 5_000;
const PROMPT = [5, 17, 256, 90];

interface Chunk {
  readonly choices?: readonly { readonly tokens?: readonly number[]; readonly finish_reason?: string | null }[];
  readonly error?: { readonly message: string };
}

interface Streamed {
  readonly tokens: number[];
  done: boolean;
  error: string | null;
}

let agents: AgentProcess[] = [];
let clusters = 0;

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.kill9()));
  agents = [];
});

const clusterName = (): string => `endings-${process.pid}-${(clusters += 1)}`;

async function startAgents(count: number, slots: number): Promise<AgentProcess[]> {
  const cluster = clusterName();
  const args = (peers: readonly string[]): string[] => [
    '--cluster', cluster, '--no-mdns', '--listen', '127.0.0.1:0', '--threads', '1', '--ctx', String(CONTEXT), '--slots', String(slots), '--log-level', 'info', ...peers.flatMap((peer) => ['--peer', peer]),
  ];
  const first = await AgentProcess.start({ stateDir: temporaryDirectory('endings'), args: args([]) });
  agents.push(first);
  const alone = await first.statusWhen((status) => (status.nodes[0]?.addresses.length ?? 0) > 0, { timeoutMs: AGREE_MS, what: 'the address of the first node' });
  const [address] = alone.nodes[0]?.addresses ?? [];
  for (let index = 1; index < count; index += 1) agents.push(await AgentProcess.start({ stateDir: temporaryDirectory('endings'), args: args([address ?? '']) }));
  for (const agent of agents) await agent.statusWhen((status) => status.nodes.length === count && status.coordinator !== null, { timeoutMs: AGREE_MS, what: `${count} nodes agree` });
  const loaded = await first.call({ path: '/v1/cluster/load', json: { model: MODEL, nodes: count } });
  expect(loaded.status, await loaded.text()).toBe(200);
  return agents;
}

/** A long answer as it comes; `onToken` sees how many there are. */
async function stream(agent: AgentProcess, seed: number, onToken: (count: number) => void = () => undefined): Promise<Streamed> {
  const answer = await agent.call({ path: '/v1/completions', timeoutMs: REPLAN_MS, json: { model: MODEL, prompt: [...PROMPT, seed], max_tokens: LONG, ignore_eos: true, stream: true, return_tokens: true, temperature: 1, seed } });
  const streamed: Streamed = { tokens: [], done: false, error: null };
  for await (const event of answer.events()) {
    if (event === '[DONE]') {
      streamed.done = true;
      continue;
    }
    const chunk = JSON.parse(event) as Chunk;
    streamed.error ??= chunk.error?.message ?? null;
    const tokens = chunk.choices?.[0]?.tokens ?? [];
    streamed.tokens.push(...tokens);
    if (tokens.length > 0) onToken(streamed.tokens.length);
  }
  return streamed;
}

const runnersOf = (agent: AgentProcess): readonly number[] => agent.family().filter((pid) => pid !== agent.pid);

const planOf = (status: ClusterStatus): string | null => status.instances[0]?.planId ?? null;

/** Resolves when the answer has this many tokens. */
function signalAt(count: number): { readonly onToken: (tokens: number) => void; readonly reached: Promise<void> } {
  let reach: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return { reached, onToken: (tokens) => (tokens >= count ? reach() : undefined) };
}

describe('an agent that is stopped', () => {
  it('finishes what it answers and what waits, is found by a second "agent stop" meanwhile, and leaves only what it is', async () => {
    const [agent] = await startAgents(1, 1);
    if (agent === undefined) throw new Error('no agent');
    const begun = signalAt(5);
    // One slot: the others wait in the queue.
    const answers = Array.from({ length: 4 }, (_, index) => stream(agent, index, index === 0 ? begun.onToken : undefined));
    await begun.reached;
    const stopped = await runAgentCommand(['stop', '--state-dir', agent.stateDir]);
    expect(stopped).toMatchObject({ code: 0, stderr: '', stdout: `the agent (pid ${agent.pid}) has stopped\n` });
    for (const answer of await Promise.all(answers)) {
      expect(answer.error).toBeNull();
      expect(answer.tokens).toHaveLength(LONG);
      expect(answer.done).toBe(true);
    }
    expect((await agent.exited).code, agent.output()).toBe(0);
    expect(agent.family()).toEqual([]);
    expect(readdirSync(agent.stateDir).filter((name) => name === 'agent.json' || name === 'lock')).toEqual([]);
    expect(await runAgentCommand(['stop', '--state-dir', agent.stateDir])).toMatchObject({ code: 0, stdout: `no agent is running (state directory ${agent.stateDir})\n` });
  });

  it('takes no new request while it finishes, and ends at once when it is told twice', async () => {
    const [agent] = await startAgents(1, 1);
    if (agent === undefined) throw new Error('no agent');
    const begun = signalAt(5);
    const answers = Array.from({ length: 12 }, (_, index) => stream(agent, index, index === 0 ? begun.onToken : undefined).catch(() => null));
    await begun.reached;
    const stopping = runAgentCommand(['stop', '--state-dir', agent.stateDir]);
    await waitUntil(() => agent.output().includes('running answers may finish'), { timeoutMs: 5_000, what: 'the agent hears the signal' });
    const late = await agent.call({ path: '/v1/completions', json: { model: MODEL, prompt: [1], max_tokens: 1 } });
    expect(late.status).toBe(503);
    expect(await late.text()).toContain('it is about to stop');
    expect((await runAgentCommand(['status', '--state-dir', agent.stateDir])).code).toBe(0);
    const startedMs = performance.now();
    const again = await runAgentCommand(['stop', '--state-dir', agent.stateDir]);
    expect(again.code).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
    expect((await stopping).code).toBe(0);
    expect((await agent.exited).code).toBe(1);
    await Promise.all(answers);
    await waitUntil(() => agent.family().length === 0, { timeoutMs: ORPHANS_END_MS, what: 'the end of its runners' });
  });
});

describe('an agent that is killed', () => {
  it('leaves runners that end by themselves, and a state directory that the next start takes over', async () => {
    const [agent] = await startAgents(1, 1);
    if (agent === undefined) throw new Error('no agent');
    expect(runnersOf(agent).length).toBeGreaterThan(0);
    const begun = signalAt(5);
    const cut = stream(agent, 1, begun.onToken).then(() => 'ended', () => 'cut');
    await begun.reached;
    if (agent.pid !== null) killQuietly(agent.pid);
    await agent.exited;
    expect(await cut).toBe('cut');
    await waitUntil(() => agent.family().length === 0, { timeoutMs: ORPHANS_END_MS, what: 'the end of its runners' });
    expect((await runAgentCommand(['status', '--state-dir', agent.stateDir])).stderr).toMatch(/no agent is running/);
    const next = await AgentProcess.start({ stateDir: agent.stateDir, args: ['--no-mdns', '--cluster', clusterName(), '--listen', '127.0.0.1:0'] });
    agents.push(next);
    expect((await next.stop()).code).toBe(0);
  });
});

describe('a runner that is killed', () => {
  it.each([1, 2])('is replaced on a ring of %i, and the answer in progress goes on, token for token', async (count) => {
    await startAgents(count, 2);
    const [origin] = agents;
    const victim = agents[agents.length - 1];
    if (origin === undefined || victim === undefined) throw new Error('no agent');
    const undisturbed = await stream(origin, 42);
    expect(undisturbed.tokens).toHaveLength(LONG);
    const before = planOf(await origin.status());
    let killed: readonly number[] = [];
    const disturbed = await stream(origin, 42, (tokens) => {
      if (tokens < 40 || killed.length > 0) return;
      killed = runnersOf(victim);
      for (const pid of killed) killQuietly(pid);
    });
    expect(killed.length).toBeGreaterThan(0);
    expect(disturbed.error, agents.map((agent) => agent.output()).join('\n')).toBeNull();
    expect(disturbed.tokens).toEqual(undisturbed.tokens);
    expect(disturbed.done).toBe(true);
    const after = await origin.status();
    expect(planOf(after)).not.toBe(before);
    expect(after.instances[0]?.stages.map((stage) => stage.state)).toEqual(new Array(count).fill('ready'));
    // Also the vocabulary's process was killed: the next text is tokenized by a new one.
    const chat = await victim.call({ path: '/v1/chat/completions', json: { model: MODEL, messages: [{ role: 'user', content: 'In the beginning' }], max_tokens: 4 } });
    expect(chat.status, await chat.text()).toBe(200);
  });
});

describe('a command that starts an agent for itself', () => {
  const line = (state: string, ...rest: string[]): string[] => ['run', '--state-dir', state, '--no-mdns', '--cluster', clusterName(), '--listen', '127.0.0.1:0', MODEL, ...rest];

  it('answers, and leaves no process and no running record', async () => {
    const state = join(temporaryDirectory('own'), 'state');
    const flags = ['In the beginning', '--max-tokens', '16', '--temperature', '0'];
    const text = await runAgentCommand(line(state, ...flags));
    expect(text).toMatchObject({ code: 0, stderr: '' });
    expect(text.stdout.length).toBeGreaterThan(10);
    const json = await runAgentCommand(line(state, ...flags, '--json'));
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(`${(JSON.parse(json.stdout) as { text: string }).text}\n`).toBe(text.stdout);
    expect(processesWithMarker((name) => name.startsWith(`${OWNER_TAG}-`))).toEqual([]);
    expect(readdirSync(state).filter((name) => name === 'agent.json' || name === 'lock')).toEqual([]);
  });
});
