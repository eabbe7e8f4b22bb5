/**
 * The machines of a soak: four hosts with an agent each, what is wrong with each of them now, and how often each agent
 * has been another process. It must not know clients, nor when something breaks.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterStatus, InstanceView } from '../../../src/agent/service.js';
import { AgentProcess } from '../../support/agent-process.js';
import { writeRenamedBuiltInModel } from '../../support/model-copy.js';
import { waitUntil } from '../../support/processes.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { createLan } from '../harness.js';
import type { Lan, LanHost } from '../harness.js';

export const MODEL = 'scripture';
export const HOST_NUMBERS = [1, 2, 3, 4] as const;
/** Only these have the model's file from the start; the others fetch their layers. */
const HOLDERS: readonly number[] = [1, 2];
const STAGES = 3;
const SLOTS = 4;
const CONTEXT = 512;
const LOAD_MS = 60_000;
const AGREE_MS = 45_000;
const POLL_MS = 100;
/** How long everything must stay as it is before the LAN counts as whole. */
const QUIET_MS = 1_000;

export class SoakHost {
  /** Null while it is switched off. */
  agent: AgentProcess | null = null;
  /** Its agent does not take new requests: it is told to stop. */
  leaving = false;
  /** What is wrong with it now; null = nothing. */
  trouble: string | null = null;
  /** How its agents' processes ended so far. A killed one takes its answers along; one that was stopped finishes them. */
  readonly ends: ('killed' | 'stopped')[] = [];

  constructor(readonly number: number, readonly place: LanHost, private readonly stateDir: string) {}

  async start(args: readonly string[] = []): Promise<void> {
    this.agent = await AgentProcess.start({ stateDir: this.stateDir, host: this.place, args: ['--log-level', 'info', '--allow-sleep', ...args] });
    this.leaving = false;
  }

  /** `how` ends the agent's process, with or without what it started. */
  async end(how: 'kill -9' | 'kill -9 of the agent alone' | 'stop'): Promise<void> {
    const { agent } = this;
    if (agent === null) return;
    if (how === 'stop') {
      this.leaving = true;
      const exit = await agent.stop();
      if (exit.code !== 0) throw new Error(`host ${this.number}: a stopped agent ended with ${exit.code ?? exit.signal ?? '?'}\n${agent.output()}`);
      this.ends.push('stopped');
      this.agent = null;
      return;
    }
    // Nobody is to ask it from now on, and whoever has asked it knows why he hears no more.
    this.ends.push('killed');
    this.agent = null;
    if (how === 'kill -9') await agent.kill9();
    else await agent.killAgentAlone();
  }
}

export class SoakHosts {
  private constructor(readonly lan: Lan, readonly all: readonly SoakHost[]) {}

  /** The model is served by a ring when this resolves. */
  static async start(): Promise<SoakHosts> {
    const lan = await createLan({ hosts: HOST_NUMBERS.length });
    try {
      const all = HOST_NUMBERS.map((number) => {
        const stateDir = temporaryDirectory(`soak${number}`);
        if (HOLDERS.includes(number)) {
          mkdirSync(join(stateDir, 'models'), { recursive: true });
          writeRenamedBuiltInModel(join(stateDir, 'models', `${MODEL}.gguf`));
        }
        return new SoakHost(number, lan.host(number), stateDir);
      });
      const hosts = new SoakHosts(lan, all);
      await Promise.all(all.map((host) => host.start()));
      await hosts.settled();
      const loaded = await all[0]?.agent?.call({ path: '/v1/cluster/load', json: { model: MODEL, nodes: STAGES, slots: SLOTS, contextTokens: CONTEXT }, timeoutMs: LOAD_MS });
      if (loaded?.status !== 200) throw new Error(`the model could not be loaded: ${await loaded?.text() ?? 'no agent'}`);
      await hosts.settled();
      return hosts;
    } catch (error) {
      await lan.destroy();
      throw error;
    }
  }

  running(): readonly SoakHost[] {
    return this.all.filter((host) => host.agent !== null);
  }

  output(): string {
    return this.running().map((host) => `=== host ${host.number}\n${host.agent?.output() ?? ''}`).join('\n');
  }

  /** Resolves when every host sees all others, one coordinator and nothing half done, and that stays so for a while. */
  async settled(): Promise<void> {
    let view = '';
    let sinceMs = 0;
    let seen: readonly (ClusterStatus | string)[] = [];
    await waitUntil(async () => {
      seen = await Promise.all(this.all.map(async ({ agent }) => agent?.status().catch((error: unknown) => String(error)) ?? 'switched off'));
      const views = seen.map(viewOf);
      const [first = ''] = views;
      const agreed = views.every((other) => other === first) ? first : '';
      if (agreed !== view) sinceMs = performance.now();
      view = agreed;
      return view !== '' && performance.now() - sinceMs >= QUIET_MS;
    }, { timeoutMs: AGREE_MS, pollMs: POLL_MS, what: 'all hosts agree', detail: () => `${JSON.stringify(seen.map(viewOf))}\n${this.output()}` });
  }

  async instance(): Promise<InstanceView | null> {
    const status = await this.running()[0]?.agent?.status();
    return status?.instances.find(({ model }) => model === MODEL) ?? null;
  }
}

/** What every node must say alike; empty while one does not see everybody, a coordinator and finished plans. */
function viewOf(status: ClusterStatus | string): string {
  if (typeof status === 'string') return '';
  const alive = status.nodes.filter((node) => node.state === 'alive').map((node) => node.nodeId).sort();
  const unfinished = status.instances.some((instance) => instance.state !== 'active');
  if (alive.length !== HOST_NUMBERS.length || status.coordinator === null || unfinished) return '';
  return JSON.stringify([alive, status.coordinator, status.term, status.instances.map((instance) => instance.planId)]);
}
