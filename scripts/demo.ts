/**
 * `npm run demo`: three agents on this machine find each other, agree on a coordinator, place the built-in model over
 * all three and stream an answer through the ring. Leaves nothing behind.
 */
import '../src/net/polyfill.js';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClusterStatus, InstanceView } from '../src/agent/service.js';
import { AgentClient } from '../src/cli/agent-client.js';
import { renderPlan, renderStatus } from '../src/cli/render.js';
import { findRunningAgent } from '../src/cli/state-directory.js';
import type { Plan } from '../src/core/types.js';
import { checkMulticast } from '../src/net/multicast-check.js';

const AGENTS = 3;
const MODEL = 'kjv-q8_0';
const PROMPT = 'In the beginning';
const ANSWER_TOKENS = 120;
const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 15_000;
const ANSWER_DEADLINE_MS = 120_000;
const POLL_MS = 100;

const program = fileURLToPath(new URL('../program/src/cli/main.js', import.meta.url));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface DemoAgent {
  readonly child: ChildProcess;
  readonly stateDir: string;
  readonly ended: Promise<number | null>;
  readonly output: () => string;
}

function startAgent(stateDir: string, cluster: string): DemoAgent {
  const child = spawn(process.execPath, [program, 'start', '--state-dir', stateDir, '--cluster', cluster, '--api-port', '0', '--threads', '1', '--log-level', 'warn'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-8_192);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return { child, stateDir, ended, output: () => output };
}

async function until<T>(what: string, deadlineMs: number, look: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${deadlineMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function clientOf(agent: DemoAgent): Promise<AgentClient> {
  return until('an agent starts', START_DEADLINE_MS, async () => {
    if (agent.child.exitCode !== null) throw new Error(`an agent ended at once:\n${agent.output()}`);
    const running = await findRunningAgent(agent.stateDir);
    return running === null ? null : AgentClient.open(running);
  });
}

/** The status when all agents see the same nodes, coordinator and term; null before. */
async function agreement(clients: readonly AgentClient[]): Promise<ClusterStatus | null> {
  const statuses = await Promise.all(clients.map(async (client) => await client.get('/v1/cluster') as ClusterStatus));
  const views = statuses.map((status) => JSON.stringify([status.nodes.filter((node) => node.state === 'alive').map((node) => node.nodeId), status.coordinator, status.term]));
  const [first] = statuses;
  const agreed = first !== undefined && first.coordinator !== null && first.nodes.length === AGENTS && new Set(views).size === 1;
  return agreed ? first : null;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: { readonly completion_tokens: number } | null;
  readonly timings?: { readonly predicted_per_second?: number } & Readonly<Record<string, number>>;
}

async function answer(client: AgentClient): Promise<void> {
  const startedMs = performance.now();
  let firstMs = 0;
  let tokens = 0;
  process.stdout.write(`\n${PROMPT}`);
  const stream = client.stream('/v1/chat/completions', {
    model: MODEL,
    messages: [{ role: 'user', content: PROMPT }],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: ANSWER_TOKENS,
    temperature: 0.7,
    seed: 1611,
  }, AbortSignal.timeout(ANSWER_DEADLINE_MS));
  for await (const value of stream) {
    const chunk = value as Chunk;
    const text = chunk.choices?.[0]?.delta?.content ?? '';
    if (text !== '' && firstMs === 0) firstMs = performance.now();
    process.stdout.write(text);
    tokens = chunk.usage?.completion_tokens ?? tokens;
  }
  const seconds = (performance.now() - firstMs) / 1000;
  say(`\n\n${tokens} tokens, the first after ${(firstMs - startedMs).toFixed(0)} ms, then ${((tokens - 1) / seconds).toFixed(1)} tok/s through ${AGENTS} stages`);
}

/** The agents find each other by mDNS: where that cannot work, it is better said before than after a minute. */
async function warnWithoutMulticast(): Promise<void> {
  const results = await checkMulticast(networkInterfaces());
  if (results.some(({ problem }) => problem === null)) return;
  const [first] = results;
  say(first === undefined
    ? 'hint: this machine is on no network, so the agents may not find each other'
    : `hint: multicast does not work here (${first.interface}: ${first.problem ?? ''}), so the agents may not find each other; "agent doctor" says more`);
}

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ring-agent-demo-'));
  const cluster = `demo-${process.pid}`;
  const startedMs = performance.now();
  await warnWithoutMulticast();
  say(`starting ${AGENTS} agents …`);
  const agents = Array.from({ length: AGENTS }, (_, index) => startAgent(join(directory, `node-${index + 1}`), cluster));
  try {
    const clients = await Promise.all(agents.map(clientOf));
    const status = await until('the agents agree', START_DEADLINE_MS, () => agreement(clients));
    say(`they found each other by mDNS and agreed on a coordinator after ${((performance.now() - startedMs) / 1000).toFixed(1)} s\n`);
    const [first] = clients;
    const last = clients.at(-1);
    if (first === undefined || last === undefined) throw new Error('no agent');
    const plan = await first.post('/v1/cluster/plan', { model: MODEL, nodes: AGENTS }) as Plan;
    say(renderPlan(plan, status.nodes));
    await first.post('/v1/cluster/load', { model: MODEL, nodes: AGENTS }, AbortSignal.timeout(ANSWER_DEADLINE_MS)) as InstanceView;
    say(`\n${renderStatus(await last.get('/v1/cluster') as ClusterStatus)}`);
    await answer(last);
  } finally {
    for (const agent of agents) agent.child.kill('SIGTERM');
    const timer = setTimeout(() => agents.forEach((agent) => agent.child.kill('SIGKILL')), STOP_DEADLINE_MS);
    const codes = await Promise.all(agents.map((agent) => agent.ended));
    clearTimeout(timer);
    await rm(directory, { recursive: true, force: true });
    if (codes.some((code) => code !== 0)) {
      process.exitCode = 1;
      for (const agent of agents) process.stderr.write(agent.output());
    }
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
