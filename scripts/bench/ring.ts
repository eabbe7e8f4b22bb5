/**
 * One measurement of a ring: starts its agents, has the model loaded, times answers as a client sees them, reads what the
 * stages hold and what went over the wire, and ends it all.
 *
 * Times are the client's: HTTP, JSON and streaming are in them. Agent 1 has the model file; the request goes to it.
 */
import { join } from 'node:path';
import { REHEARSAL_MS } from '../../src/agent/head.js';
import type { InstanceView } from '../../src/agent/service.js';
import { freePort } from '../../test/support/free-port.js';
import { Agent, tokensOf } from './agents.js';
import { DelayedLink } from './delayed-link.js';
import { stageRunnerBytes } from './process-memory.js';
import type { BenchSettings } from './settings.js';
import { bytesSent } from './wire-bytes.js';

export interface StageMemory {
  readonly rank: number;
  readonly layers: string;
  readonly predictedBytes: number;
  /** As the agent reports it. */
  readonly reportedBytes: number;
  /** As /proc has it, above an idle runner; null where that cannot be seen. */
  readonly residentBytes: number | null;
}

export interface RingSample {
  readonly decodeTokensPerSecond: number;
  /** By the plan; null while a node is not measured. */
  readonly predictedTokensPerSecond: number | null;
  readonly prefillTokensPerSecond: number;
  readonly firstTokenMs: number;
  /** The head's own figures for the ring's last steps; null when it gives none. */
  readonly hops: InstanceView['hops'];
  /** Between agents, per decoded token, both directions, heartbeats subtracted; null where it cannot be seen. */
  readonly wireBytesPerToken: number | null;
  readonly stages: readonly StageMemory[];
}

export interface RingOptions {
  readonly agents: number;
  readonly settings: BenchSettings;
  readonly packageDirectory: string;
  /** Kept over rounds, so that stage files are made once. */
  readonly stateRoot: string;
  readonly modelFile: string;
  readonly model: string;
  readonly idleRunnerBytes: number | null;
  /** Absent = 1. */
  readonly slots?: number;
  /** The core of each agent and its runner. Absent = on any. */
  readonly cores?: readonly number[];
  /** One way, between any two agents. Absent = none. */
  readonly delayMs?: number;
}

/** How long the heartbeats' bytes are watched. */
const QUIET_WATCH_MS = 2_000;
const WARM_UP_TOKENS = 8;
const MEASURED_WITHIN_MS = 60_000;
const MEASURED_POLL_MS = 250;

/** Agents of a ring with the model loaded; `use` measures; everything is ended afterwards. */
export async function withRing<Result>(options: RingOptions, use: (head: Agent, ring: RunningRing) => Promise<Result>): Promise<Result> {
  const name = `ring-of-${options.agents}${options.cores === undefined ? '' : `-on-${options.cores.join('-')}`}`;
  const peerPorts: number[] = [];
  for (let index = 0; index < options.agents; index += 1) peerPorts.push(await freePort());
  const agents: Agent[] = [];
  const links: DelayedLink[] = [];
  try {
    for (const index of peerPorts.keys()) {
      // Whoever starts later meets those who are there, so that all they say goes through the slow links.
      const meetingPorts: number[] = [];
      for (const port of options.delayMs === undefined ? [] : peerPorts.slice(0, index)) {
        const link = await DelayedLink.open(port, options.delayMs ?? 0);
        links.push(link);
        meetingPorts.push(link.port);
      }
      agents.push(await Agent.start({
        packageDirectory: options.packageDirectory,
        stateDir: join(options.stateRoot, name, `agent-${index + 1}`),
        peerPorts, index,
        ...(options.delayMs === undefined ? {} : { meetingPorts }),
        cluster: `bench-${process.pid}-${name}`,
        threads: options.settings.threads,
        contextTokens: options.settings.contextTokens,
        kvType: options.settings.kvType,
        modelFile: index === 0 ? options.modelFile : null,
        slots: options.slots ?? 1,
        core: options.cores?.[index] ?? null,
      }));
    }
    const [first] = agents;
    if (first === undefined) throw new Error('a ring has at least one agent');
    await first.statusWhen(`${options.agents} agents were together`, (status) =>
      status.coordinator !== null && status.nodes.filter((node) => node.state === 'alive').length === options.agents
      && status.nodes.every((node) => node.capabilities !== null));
    await measured(first);
    const { draft } = options.settings;
    await first.call('POST', '/v1/cluster/load', { model: options.model, nodes: options.agents, ...(draft === null ? {} : { draft }) });
    if (draft !== null) await first.statusWhen('the draft was ready', ({ instances }) => instances.every((instance) => instance.draft?.state === 'ready'));
    // The first request would end the rehearsal.
    await new Promise((resolve) => setTimeout(resolve, REHEARSAL_MS));
    const result = await use(first, { agents, peerPorts });
    // What is loaded by hand would be loaded again when these agents start for the next measurement.
    await unloadAll(first, agents);
    return result;
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await Promise.all(links.map((link) => link.close()));
  }
}

async function unloadAll(first: Agent, agents: readonly Agent[]): Promise<void> {
  for (const { instanceId } of (await first.status()).instances) await first.call('DELETE', `/v1/cluster/instances/${encodeURIComponent(instanceId)}`);
  for (const agent of agents) await agent.statusWhen('the model was unloaded', ({ instances }) => instances.length === 0);
}

/** Plans predict speeds only of nodes that were measured: agents do that once, when nothing else runs. Goes on without it. */
async function measured(first: Agent): Promise<void> {
  const deadline = performance.now() + MEASURED_WITHIN_MS;
  while (performance.now() < deadline) {
    const { nodes } = await first.status();
    if (nodes.every(({ capabilities }) => capabilities?.gflops !== null)) return;
    await new Promise((resolve) => setTimeout(resolve, MEASURED_POLL_MS));
  }
}

export interface RunningRing {
  readonly agents: readonly Agent[];
  readonly peerPorts: readonly number[];
}

export async function measureRing(options: RingOptions, prompts: { readonly long: readonly number[]; readonly short: readonly number[] }): Promise<RingSample> {
  return withRing(options, async (first, ring) => {
    const { model, settings } = options;
    await timeAnswer(first, { model, prompt: prompts.short, tokens: WARM_UP_TOKENS });
    const prefill = await timeAnswer(first, { model, prompt: prompts.long, tokens: 1 });
    const quietBytesPerMs = await quietTraffic(ring.peerPorts);
    let wireAtFirst: Promise<{ readonly bytes: number | null; readonly atMs: number }> | null = null;
    const decode = await timeAnswer(first, {
      model, prompt: prompts.short, tokens: settings.decodeTokens,
      onFirst: () => {
        wireAtFirst = wireNow(ring.peerPorts);
      },
    });
    const wireAtEnd = await wireNow(ring.peerPorts);
    const wireBefore = await (wireAtFirst ?? wireNow(ring.peerPorts));
    return {
      decodeTokensPerSecond: ((decode.tokens - 1) * 1000) / (decode.lastMs - decode.firstMs),
      predictedTokensPerSecond: (await first.status()).instances.find((instance) => instance.model === model)?.predictedTokensPerSecond ?? null,
      prefillTokensPerSecond: (prompts.long.length * 1000) / prefill.firstMs,
      firstTokenMs: decode.firstMs,
      hops: await headFigures(ring.agents, options.model),
      wireBytesPerToken: wireBefore.bytes === null || wireAtEnd.bytes === null || quietBytesPerMs === null || options.agents === 1
        ? null
        : Math.max(0, wireAtEnd.bytes - wireBefore.bytes - quietBytesPerMs * (wireAtEnd.atMs - wireBefore.atMs)) / (decode.tokens - 1),
      stages: await stageMemory(first, ring, options),
    };
  });
}

interface AnswerTimes {
  readonly tokens: number;
  /** Since the request. */
  readonly firstMs: number;
  readonly lastMs: number;
}

async function timeAnswer(agent: Agent, request: {
  readonly model: string; readonly prompt: readonly number[]; readonly tokens: number; readonly onFirst?: () => void;
}): Promise<AnswerTimes> {
  const start = performance.now();
  let tokens = 0;
  let firstMs = 0;
  let lastMs = 0;
  for await (const chunk of agent.stream('/v1/completions', {
    model: request.model, prompt: request.prompt, // Nothing repeats itself at temperature 1, so no token is guessed: steps are compared with steps.
    max_tokens: request.tokens, temperature: 1, seed: 1, ignore_eos: true, stream: true, return_tokens: true,
  })) {
    const drawn = tokensOf(chunk).length;
    if (drawn === 0) continue;
    lastMs = performance.now() - start;
    if (tokens === 0) {
      firstMs = lastMs;
      request.onFirst?.();
    }
    tokens += drawn;
  }
  if (tokens !== request.tokens) throw new Error(`asked for ${request.tokens} tokens, ${tokens} came`);
  return { tokens, firstMs, lastMs };
}

async function wireNow(peerPorts: readonly number[]): Promise<{ readonly bytes: number | null; readonly atMs: number }> {
  const bytes = await bytesSent(peerPorts);
  return { bytes, atMs: performance.now() };
}

/** What agents say to each other while nothing is asked. */
async function quietTraffic(peerPorts: readonly number[]): Promise<number | null> {
  const before = await wireNow(peerPorts);
  await new Promise((resolve) => setTimeout(resolve, QUIET_WATCH_MS));
  const after = await wireNow(peerPorts);
  return before.bytes === null || after.bytes === null ? null : (after.bytes - before.bytes) / (after.atMs - before.atMs);
}

/** The head may be any agent; only it has the figures. */
async function headFigures(agents: readonly Agent[], model: string): Promise<InstanceView['hops']> {
  for (const agent of agents) {
    const hops = (await agent.status()).instances.find((instance) => instance.model === model)?.hops;
    if (hops !== undefined && hops !== null) return hops;
  }
  return null;
}

async function stageMemory(first: Agent, ring: RunningRing, options: RingOptions): Promise<readonly StageMemory[]> {
  const status = await first.status();
  const stages = status.instances.find((instance) => instance.model === options.model)?.stages ?? [];
  const resident = new Map<string, number | null>();
  for (const agent of ring.agents) resident.set((await agent.status()).nodeId, stageRunnerBytes(agent.pid));
  return stages.map((stage) => {
    const bytes = resident.get(stage.nodeId) ?? null;
    return {
      rank: stage.rank,
      layers: `${stage.range.start}-${stage.range.end - 1}`,
      predictedBytes: stage.predictedBytes,
      reportedBytes: stage.residentBytes,
      residentBytes: bytes === null || options.idleRunnerBytes === null ? null : bytes - options.idleRunnerBytes,
    };
  });
}
