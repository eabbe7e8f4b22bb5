/**
 * An agent whose cluster is what a test says, for the dashboard: unlike machines, plans with what they were compared with,
 * models that load and fail. No engine, no network.
 */
import type { ClusterStatus, ClusterUpdate, InstanceView, ModelView, NodeView, PlanRequest, StageView } from '../../src/agent/service.js';
import { RingError } from '../../src/core/errors.js';
import type { Backend, Plan, RingOption } from '../../src/core/types.js';
import { INSTANCE, MODEL, PLAN, ScriptedAgent } from '../api/scripted-agent.js';

const GB = 1e9;

/** Ids look like real ones: the page shortens and replaces them. */
export const MAC = '12D3KooWAKHSKn39ou5Uff3KTBtgg9dWvWqYrKUVh4dABacPbMac';
const TOWER = '12D3KooWMa4cg7UPwYTVe6PuyfF6BSt8NAKCzfLKUnsQ76t7Twer';
export const LAPTOP = '12D3KooWRNcyKTb4AnQHwNzM5eKxmAyFvRRdvBgQJHsYvduW3Lap';

interface Machine {
  readonly nodeId: string;
  readonly hostname: string;
  readonly backend: Backend;
  readonly ramGb: number;
  readonly freeGb: number;
}

const MACHINES: readonly Machine[] = [
  { nodeId: MAC, hostname: 'studio', backend: 'metal', ramGb: 64, freeGb: 41 },
  { nodeId: TOWER, hostname: 'tower', backend: 'cuda', ramGb: 32, freeGb: 24 },
  { nodeId: LAPTOP, hostname: 'an-old-laptop-with-a-long-name', backend: 'cpu', ramGb: 8, freeGb: 3 },
];

/** Predicted tokens per second of one answer, by the number of nodes. */
const SPEEDS: Readonly<Record<number, number>> = { 1: 12.3, 2: 14.1, 3: 9 };

export class StagedAgent extends ScriptedAgent {
  nodes: readonly NodeView[] = MACHINES.map(nodeOf);
  held: readonly ModelView[] = [{ ...MODEL, name: 'a-model-8b-q4_k_m', sizeBytes: 4.9 * GB, layers: 32, heldBy: [MAC, TOWER], loaded: false }];
  instances: readonly InstanceView[] = [];
  private readonly events: { readonly what: 'membership' | 'healed'; readonly text: string; readonly atMs: number }[] = [];
  private readonly waiting = new Set<() => void>();

  override status(): ClusterStatus {
    return { cluster: 'home', secured: false, nodeId: MAC, coordinator: TOWER, term: { counter: 3, node: TOWER }, nodes: this.nodes, instances: this.instances };
  }

  override models(): readonly ModelView[] {
    return this.held;
  }

  override async plan(request: PlanRequest): Promise<Plan> {
    this.planRequests.push(request);
    if (this.planError !== null) throw this.planError;
    return planFor(request.nodes);
  }

  /** What was asked for is served at once. */
  override async load(request: PlanRequest): Promise<InstanceView> {
    this.planRequests.push(request);
    if (this.planError !== null) throw this.planError;
    const served = instanceOf(planFor(request.nodes), 'active');
    this.change({ instances: [served] });
    return served;
  }

  override async unload(instanceId: string): Promise<void> {
    this.unloaded.push(instanceId);
    this.change({ instances: [] });
  }

  change(to: Partial<Pick<StagedAgent, 'nodes' | 'held' | 'instances'>>): void {
    Object.assign(this, to);
    for (const wake of [...this.waiting]) wake();
  }

  say(what: 'membership' | 'healed', text: string): void {
    this.events.push({ what, text, atMs: performance.now() });
    for (const wake of [...this.waiting]) wake();
  }

  override async *watch(signal: AbortSignal): AsyncGenerator<ClusterUpdate> {
    let told = 0;
    while (!signal.aborted) {
      const news = new Promise<void>((resolve) => {
        const done = (): void => {
          this.waiting.delete(done);
          resolve();
        };
        this.waiting.add(done);
        signal.addEventListener('abort', done, { once: true });
      });
      for (; told < this.events.length; told += 1) {
        const event = this.events[told];
        if (event !== undefined) yield { kind: 'event', what: event.what, text: event.text, serial: told + 1, agoMs: Math.round(performance.now() - event.atMs) };
      }
      yield { kind: 'status', status: this.status(), models: this.models(), requests: 0 };
      await news;
    }
  }
}

export function instanceOf(plan: Plan, state: InstanceView['state'], more: Partial<InstanceView> = {}): InstanceView {
  return {
    ...INSTANCE, model: plan.model.name, modelDigest: plan.model.digest, state, contextTokens: plan.contextTokens, slots: plan.slots,
    stages: plan.stages.map((stage): StageView => ({
      rank: stage.rank, nodeId: stage.nodeId, hostname: MACHINES.find(({ nodeId }) => nodeId === stage.nodeId)?.hostname ?? '', range: stage.range,
      backend: stage.backend ?? null, state: state === 'active' ? 'ready' : 'fetching', progress: state === 'active' ? 1 : 0.4, error: null,
      predictedBytes: stage.predictedBytes, spill: null, residentBytes: 0, fetchedBytes: state === 'active' ? 0 : 1.2 * GB,
    })),
    hops: { overheadMicros: 800, computeMicros: 30_000, samples: 40 },
    pace: state === 'active' ? { tokenMicros: 71_000, stageMicros: plan.stages.map(() => 30_000) } : null,
    ...more,
  };
}

/** As the agent would choose (null), or on so many nodes. */
export function planFor(nodes: number | null): Plan {
  const used = [TOWER, MAC, LAPTOP].slice(0, nodes ?? 2);
  if (nodes !== null && nodes > MACHINES.length) throw new RingError('no_placement', `exactly ${nodes} nodes were asked for, but only ${MACHINES.length} can take part`);
  const cuts = used.length === 1 ? [0, 32] : used.length === 2 ? [0, 13, 32] : [0, 13, 29, 32];
  return {
    ...PLAN, model: { ...MODEL, name: 'a-model-8b-q4_k_m', layers: 32 }, contextTokens: 4096, slots: 8, predictedTokensPerSecond: SPEEDS[used.length] ?? 0,
    stages: used.map((nodeId, rank) => ({
      rank, nodeId, range: { start: cuts[rank] ?? 0, end: cuts[rank + 1] ?? 32 }, predictedBytes: 2.4 * GB,
      backend: MACHINES.find((machine) => machine.nodeId === nodeId)?.backend ?? 'cpu',
    })),
    explanation: [
      ...(nodes === null ? [{ nodeId: null, text: 'predicted decode speed of one answer: alone on tower: 12.3 tok/s; these 2 (tower + studio): 14.1 tok/s (chosen); all 3: 9.0 tok/s' }] : []),
      ...MACHINES.filter(({ nodeId }) => !used.includes(nodeId)).map(({ nodeId }) => ({ nodeId, text: 'left out: the ring is faster without it (it reads 8.0 GB/s, 2.1 GB budget)' })),
      { nodeId: null, text: 'context shrunk from 8192 to 4096 tokens per slot: more does not fit' },
    ],
    ...(nodes === null ? { options: OPTIONS } : {}),
  };
}

const OPTIONS: readonly RingOption[] = [
  { what: 'alone', nodeIds: [TOWER], tokensPerSecond: 12.3, measured: true, chosen: false },
  { what: 'several', nodeIds: [TOWER, MAC], tokensPerSecond: 14.1, measured: true, chosen: true },
  { what: 'all', nodeIds: [TOWER, MAC, LAPTOP], tokensPerSecond: 9, measured: false, chosen: false },
];

function nodeOf({ nodeId, hostname, backend, ramGb, freeGb }: Machine): NodeView {
  return {
    nodeId, self: nodeId === MAC, coordinator: nodeId === TOWER, addresses: [], state: 'alive', problem: null,
    capabilities: {
      agentVersion: '1.2.3', protocolMin: 1, protocolMax: 1, hostname, os: 'linux', arch: 'x64', cores: 8, ramTotalBytes: ramGb * GB, ramAvailableBytes: freeGb * GB,
      ramLimitBytes: null, machineId: nodeId.slice(-8), diskFreeBytes: 100 * GB, backends: [backend], gflops: null, memoryBandwidthBytesPerSecond: null, models: [], shards: [],
      apiAddress: 'http://127.0.0.1:11500',
      devices: [{ name: backend, description: `a ${backend} device`, backend, memoryTotalBytes: ramGb * GB, memoryFreeBytes: freeGb * GB, unified: true }],
      links: MACHINES.filter((other) => other.nodeId !== nodeId).map((other) => ({ nodeId: other.nodeId, roundTripMicros: 1_400, bytesPerSecond: null })),
    },
  };
}
