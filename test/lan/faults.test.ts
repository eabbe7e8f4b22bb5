/**
 * Machines fail in the middle of long answers, and the answers go on: two streams (greedy, and temperature 1 with a seed)
 * run on a node that survives while another is killed, frozen, cut off or stopped at a random token. Every token id must
 * be the undisturbed one. Printed per case: time to notice, time to the next token.
 *
 * `FAULT_SEED=<number>` repeats the tokens and clients of a run; the seed is printed.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterStatus, InstanceView } from '../../src/agent/service.js';
import { Random } from '../sim/random.js';
import { AgentProcess } from '../support/agent-process.js';
import { writeRenamedBuiltInModel } from '../support/model-copy.js';
import { waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { createLan, lanAvailable } from './harness.js';
import type { Lan } from './harness.js';
import { WatchedStream } from './watched-stream.js';

const available = lanAvailable();
const HOSTS = [1, 2, 3, 4] as const;
/** Stages asked for: with four hosts one is a spare. */
const STAGES = 3;
/** Only these two have the model's file; the others fetch their layers. */
const HOLDERS = [1, 2] as const;
const MODEL = 'scripture';
const CONTEXT = 512;
const PROMPT = Array.from({ length: 24 }, (_, position) => 1 + ((position * 37 + 11) % 2_000));
const TOKENS = 320;
/** A fault comes at a token between these. */
const FIRST_FAULT_TOKEN = 40;
const LAST_FAULT_TOKEN = 240;
const DETECT_WITHIN_MS = 2_000;
const ANSWER_WITHIN_MS = 45_000;
const AGREE_MS = 20_000;
const LOAD_MS = 60_000;
const POLL_MS = 25;
/** After the first of two faults. */
const SECOND_FAULT_MS = 350;
/** A runner's stall: longer than a node's silence may be. */
const STALL_MS = 2_500;
/** How long everything must stay as it is before the LAN counts as whole again. */
const QUIET_MS = 1_000;

const seed = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);

interface Fault {
  readonly name: string;
  /** Hosts that are switched off for the case. */
  readonly without?: readonly number[];
  /** The hosts that it happens to. */
  readonly victims: (ring: Ring) => readonly number[];
  readonly inject: (victims: readonly number[]) => Promise<unknown> | void;
  /** How the LAN becomes whole again, while another answer runs. */
  readonly repair: (victims: readonly number[]) => Promise<unknown> | void;
  /**
   * `lost` (absent): to be noticed in time. `left`: in good order, nothing to notice. `slow`: nobody may take it for dead.
   * `split`: to be noticed in time, and both sides go on, so that which plan lives on is the cluster's choice.
   */
  readonly kind?: 'lost' | 'left' | 'slow' | 'split';
}

/** Who is what right now, by host number. */
interface Ring {
  /** In ring order: head first. */
  readonly stages: readonly number[];
  readonly coordinator: number;
  readonly planId: string;
}

interface Figures {
  readonly name: string;
  readonly detail: string;
  readonly noticedMs: number | null;
  readonly nextTokenMs: number | null;
  readonly pauseMs: number;
  readonly stagesAfter: number;
}

describe.skipIf(!available.ok)(`faults on a LAN${available.ok ? '' : ` (skipped: ${available.reason})`}`, () => {
  const random = new Random(seed);
  const agents = new Map<number, AgentProcess>();
  const stateDirs = new Map<number, string>(HOSTS.map((host) => [host, temporaryDirectory(`fault${host}`)]));
  const figures: Figures[] = [];
  const undisturbed = new Map<number, readonly number[]>();
  /** The client's host in the case under way: a partition leaves it one neighbour. */
  let partner = 0;
  let lan: Lan;

  beforeAll(async () => {
    lan = await createLan({ hosts: HOSTS.length });
    for (const host of HOLDERS) {
      const models = join(stateDirs.get(host) ?? '', 'models');
      mkdirSync(models, { recursive: true });
      writeRenamedBuiltInModel(join(models, `${MODEL}.gguf`));
    }
    await Promise.all(HOSTS.map((host) => start(host)));
    await settled(HOSTS);
    const loaded = await agentOf(1).call({ path: '/v1/cluster/load', json: { model: MODEL, nodes: STAGES, slots: 4, contextTokens: CONTEXT }, timeoutMs: LOAD_MS });
    expect(loaded.status, await loaded.text()).toBe(200);
    for (const temperature of [0, 1]) {
      const stream = streamOn(agentOf(3), temperature);
      await stream.ended;
      expect(stream.failure).toBe('');
      expect(stream.tokens).toHaveLength(TOKENS);
      undisturbed.set(temperature, stream.tokens);
    }
  }, 120_000);

  afterAll(async () => {
    await lan.destroy();
    console.log(table(figures));
  });

  const killed: Pick<Fault, 'inject' | 'repair'> = { inject: (victims) => each(victims, (host) => agentOf(host).kill9()), repair: (victims) => each(victims, (host) => start(host)) };
  const frozen: Pick<Fault, 'inject' | 'repair'> = {
    inject: (victims) => victims.forEach((host) => agentOf(host).freeze()),
    repair: (victims) => victims.forEach((host) => agentOf(host).thaw()),
  };
  const stopped: Pick<Fault, 'inject' | 'repair' | 'kind'> = { inject: (victims) => each(victims, stop), repair: (victims) => each(victims, (host) => start(host)), kind: 'left' };
  const head = (ring: Ring): readonly number[] => ring.stages.slice(0, 1);
  const middle = (ring: Ring): readonly number[] => ring.stages.slice(1, 2);
  const tail = (ring: Ring): readonly number[] => ring.stages.slice(-1);
  const coordinator = (ring: Ring): readonly number[] => [ring.coordinator];
  const faults: readonly Fault[] = [
    { name: 'kill -9 of the tail\'s node', victims: tail, ...killed },
    { name: 'kill -9 of the middle\'s node, back on another port', victims: middle, ...killed, repair: (victims) => each(victims, (host) => start(host, ['--listen', '11777'])) },
    { name: 'kill -9 of the head\'s node', victims: head, ...killed },
    { name: 'kill -9 of the coordinator\'s agent alone', victims: coordinator, ...killed, inject: (victims) => each(victims, (host) => agentOf(host).killAgentAlone()) },
    { name: 'kill -9 of a runner', victims: middle, inject: (victims) => victims.forEach((host) => agentOf(host).signalRunners('SIGKILL')), repair: () => undefined },
    { name: 'a runner that is slow', victims: middle, inject: stall, repair: () => undefined, kind: 'slow' },
    { name: 'link down', victims: middle, inject: (victims) => each(victims, (host) => lan.linkDown(host)), repair: () => lan.heal() },
    { name: 'SIGSTOP of the tail\'s agent', victims: tail, ...frozen },
    { name: 'SIGSTOP of the coordinator', victims: coordinator, ...frozen },
    { name: 'kill -9 of two nodes, one soon after the other', victims: twoStages, inject: oneAfterTheOther, repair: killed.repair },
    { name: 'partition, two and two', victims: head, inject: split, repair: () => lan.heal(), kind: 'split' },
    { name: 'agent stop of the head\'s node', victims: head, ...stopped },
    { name: 'three hosts, kill -9 of the middle\'s node', without: [4], victims: middle, ...killed },
    { name: 'three hosts, SIGSTOP of the head\'s agent', without: [4], victims: head, ...frozen },
  ];

  it.each(faults)('$name: the answers go on with the same tokens', async (fault) => {
    const hosts = HOSTS.filter((host) => fault.without?.includes(host) !== true);
    for (const host of fault.without ?? []) if (agents.has(host)) await stop(host);
    const ring = await settled(hosts);
    const victims = fault.victims(ring);
    const client = random.pick(hosts.filter((host) => !victims.includes(host))) ?? 0;
    const faultToken = random.between(FIRST_FAULT_TOKEN, LAST_FAULT_TOKEN);
    const detail = `${victims.join(', ')} of ${ring.stages.join('>')} (coordinator ${ring.coordinator}), client ${client}, token ${faultToken}`;
    const what = (): string => `seed ${seed}, ${detail}\n${[...agents].map(([host, agent]) => `=== host ${host}\n${agent.output()}`).join('\n')}`;
    partner = client;

    let repaired = false;
    try {
      const streams = [streamOn(agentOf(client), 0), streamOn(agentOf(client), 1)];
      await streams[0]?.reaches(faultToken);
      // The clock starts before the fault: what it takes to kill a process counts too.
      const faultMs = performance.now();
      const notice = noticed(agentOf(client), ring.planId, () => streams.every((stream) => stream.done));
      await fault.inject(victims);
      const noticedAt = await notice;
      await withDeadline(Promise.all(streams.map((stream) => stream.ended)));
      const after = await agentOf(client).status();

      const next = noticedAt === null ? [] : streams.map((stream) => stream.firstAfter(noticedAt));
      figures.push({
        name: fault.name,
        detail,
        noticedMs: noticedAt === null ? null : noticedAt - faultMs,
        nextTokenMs: next.length === 0 || next.includes(null) ? null : Math.max(...next.map((moment) => (moment ?? 0) - faultMs)),
        pauseMs: Math.max(...streams.map((stream) => stream.longestPauseMs())),
        stagesAfter: instanceOf(after)?.stages.length ?? 0,
      });
      for (const stream of streams) {
        expect(stream.failure, what()).toBe('');
        expect(stream.tokens, what()).toEqual(undisturbed.get(stream.request.temperature));
      }
      if (fault.kind === 'slow') expect(noticedAt, what()).toBeNull();
      else expect(noticedAt, what()).not.toBeNull();
      if (fault.kind !== 'left') expect((noticedAt ?? faultMs) - faultMs, what()).toBeLessThan(DETECT_WITHIN_MS);

      // What comes back disturbs nobody: not the answer under way, and, where there was no split, not the plan.
      const during = streamOn(agentOf(client), 1);
      await during.reaches(1);
      repaired = true;
      await fault.repair(victims);
      const whole = await settled(hosts, QUIET_MS);
      if (fault.kind !== 'split') expect(whole.planId, what()).toBe(instanceOf(after)?.planId);
      await withDeadline(during.ended);
      expect(during.failure, what()).toBe('');
      expect(during.tokens, what()).toEqual(undisturbed.get(1));
    } finally {
      // A case that failed leaves a whole LAN to the next one.
      if (!repaired) await fault.repair(victims);
    }
  }, 90_000);

  /** The client keeps one neighbour, and between them the model's file. */
  async function split([victim]: readonly number[]): Promise<void> {
    const [neighbour = 0] = [...HOLDERS, ...HOSTS].filter((host) => host !== victim && host !== partner);
    await lan.partition([[partner, neighbour], HOSTS.filter((host) => host !== partner && host !== neighbour)]);
  }

  /** Middle and tail, or head: two stages' nodes that are not both holders of the model's file. */
  function twoStages({ stages: [first = 0, second = 0, third = 0] }: Ring): readonly number[] {
    const both = HOLDERS.every((host) => [second, third].includes(host));
    return both ? [second, first] : [second, third];
  }

  async function oneAfterTheOther([first = 0, second = 0]: readonly number[]): Promise<void> {
    await agentOf(first).kill9();
    // In the middle of planning again.
    await pause(SECOND_FAULT_MS);
    await agentOf(second).kill9();
  }

  /** Stops the runner, not the agent, for longer than a node may be silent. */
  async function stall(victims: readonly number[]): Promise<void> {
    victims.forEach((host) => agentOf(host).signalRunners('SIGSTOP'));
    await pause(STALL_MS);
    victims.forEach((host) => agentOf(host).signalRunners('SIGCONT'));
  }

  async function start(host: number, args: readonly string[] = []): Promise<void> {
    agents.set(host, await AgentProcess.start({ stateDir: stateDirs.get(host) ?? '', host: lan.host(host), args: ['--log-level', 'info', ...args] }));
  }

  async function stop(host: number): Promise<void> {
    expect(await agentOf(host).stop()).toEqual({ code: 0, signal: null });
    agents.delete(host);
  }

  function agentOf(host: number): AgentProcess {
    const agent = agents.get(host);
    if (agent === undefined) throw new Error(`no agent on host ${host}`);
    return agent;
  }

  /** Resolves when all these hosts see each other, one coordinator and one active plan, and that stays so for a while. */
  async function settled(hosts: readonly number[], quietMs = 0): Promise<Ring> {
    let seen: readonly (ClusterStatus | string)[] = [];
    let view = '';
    let sinceMs = 0;
    await waitUntil(async () => {
      seen = await Promise.all(hosts.map((host) => agentOf(host).status().catch((error: unknown) => String(error))));
      const views = seen.map((status) => viewOf(status, hosts.length));
      const [first] = views;
      const agreed = first !== undefined && first !== '' && views.every((other) => other === first) ? first : '';
      if (agreed !== view) sinceMs = performance.now();
      view = agreed;
      return view !== '' && performance.now() - sinceMs >= quietMs;
    }, { timeoutMs: AGREE_MS, pollMs: 100, what: `hosts ${hosts.join(', ')} agree`, detail: () => `${JSON.stringify(seen, null, 1)}\n${[...agents.values()].map((agent) => agent.output()).join('\n')}` });
    const [status] = seen;
    if (status === undefined || typeof status === 'string') throw new Error('no status');
    const hostOf = (nodeId: string): number => Number(status.nodes.find((node) => node.nodeId === nodeId)?.capabilities?.hostname.replace('host', '') ?? 0);
    const instance = instanceOf(status);
    return { stages: instance?.stages.map((stage) => hostOf(stage.nodeId)) ?? [], coordinator: hostOf(status.coordinator ?? ''), planId: instance?.planId ?? '' };
  }
});

async function each(hosts: readonly number[], act: (host: number) => Promise<void>): Promise<void> {
  await Promise.all(hosts.map(act));
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

function streamOn(agent: AgentProcess, temperature: number): WatchedStream {
  return new WatchedStream(agent, { model: MODEL, prompt: PROMPT, count: TOKENS, temperature, seed: 7 });
}

function instanceOf(status: ClusterStatus): InstanceView | null {
  return status.instances.find((instance) => instance.model === MODEL) ?? null;
}

/** What every node must say alike; empty while one does not see everybody, a coordinator and nothing half done. */
function viewOf(status: ClusterStatus | string, hosts: number): string {
  if (typeof status === 'string') return '';
  const alive = status.nodes.filter((node) => node.state === 'alive').map((node) => node.nodeId).sort();
  const instance = instanceOf(status);
  if (alive.length !== hosts || status.coordinator === null || (instance !== null && instance.state !== 'active')) return '';
  return JSON.stringify([alive, status.coordinator, status.term, instance?.planId]);
}

/** When the client's node first says that the plan is over; null when that never happens while the answers run. */
async function noticed(agent: AgentProcess, planId: string, over: () => boolean): Promise<number | null> {
  while (!over()) {
    const instance = instanceOf(await agent.status());
    if (instance === null || instance.state !== 'active' || instance.planId !== planId) return performance.now();
    await pause(POLL_MS);
  }
  return null;
}

async function withDeadline(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ANSWER_WITHIN_MS);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

function table(figures: readonly Figures[]): string {
  const ms = (value: number | null): string => (value === null ? '-' : `${Math.round(value)} ms`).padStart(9);
  return [
    `faults, seed ${seed}:`,
    `${'case'.padEnd(46)}   noticed  next tok.  longest pause  stages after`,
    ...figures.map((row) => `${row.name.padEnd(46)} ${ms(row.noticedMs)}  ${ms(row.nextTokenMs)}      ${ms(row.pauseMs)}  ${row.stagesAfter}   ${row.detail}`),
  ].join('\n');
}
