/**
 * A simulated cluster: real ClusterNode objects, a network that delays, loses, doubles, reorders and cuts, workers that
 * take time to load a stage, and one clock. Everything that is left to chance comes from one seeded generator.
 *
 * `check` looks at every message and output as it happens (safety). Who drives the world is a scenario or random-run.ts.
 */
import { ClusterNode } from '../../src/core/cluster.js';
import type { ClusterInput, ClusterOutput } from '../../src/core/cluster.js';
import type { ClusterMessage } from '../../src/core/messages.js';
import { NOTHING_DESIRED } from '../../src/core/desired-state.js';
import { placeModel } from '../../src/core/placement.js';
import { wantedStages } from '../../src/core/reconcile-worker.js';
import type { Capabilities, DesiredState, HeldModel, Instance, InstanceLife, ModelShape, NodeId, Plan, StageStatus } from '../../src/core/types.js';
import { ClaimChecks, stageKey } from './claim-checks.js';
import { EventQueue } from './event-queue.js';
import { Random } from './random.js';

export const TICK_MS = 100;
/** mDNS and a dial. */
const CONNECT_CHANCE_A_TICK = 0.25;

export interface Weather {
  loss: number;
  duplication: number;
  minDelayMs: number;
  maxDelayMs: number;
  /** Words of one connection arrive in the order in which they were sent, as on a real stream. */
  ordered: boolean;
}

const FAIR: Weather = { loss: 0, duplication: 0, minDelayMs: 1, maxDelayMs: 5, ordered: true };

interface LocalStage {
  readonly plan: Plan;
  readonly rank: number;
  state: StageStatus['state'];
  error: StageStatus['error'];
}

export interface SimulatedNode {
  readonly nodeId: NodeId;
  readonly capabilities: Capabilities;
  cluster: ClusterNode;
  incarnation: number;
  up: boolean;
  /** Stands still until then: no tick, no message, no timer. */
  frozenUntilMs: number;
  readonly stages: Map<string, LocalStage>;
  /** On its disk. */
  kept: DesiredState;
}

interface Connection {
  readonly id: number;
  /** Delivery time of the last word in each direction. */
  readonly lastMs: Map<NodeId, number>;
}

export class World {
  readonly random: Random;
  readonly nodes = new Map<NodeId, SimulatedNode>();
  readonly replies = new Map<string, { readonly instanceId: string; readonly error: string | null }>();
  readonly log: string[] = [];
  readonly violations: string[] = [];
  weather: Weather = { ...FAIR };
  nowMs = 0;
  /** Part of loads that fail, to exercise planning around them. */
  stageFailures = 0;
  private readonly queue = new EventQueue();
  private readonly connections = new Map<string, Connection>();
  private readonly cuts = new Set<string>();
  private readonly checks = new ClaimChecks((text) => this.violations.push(text));
  private readonly requestsOf = new Map<string, { readonly open: number; readonly taken: number }>();
  private connectionId = 0;

  constructor(seed: number, private readonly shapes: readonly ModelShape[], private readonly keepsLog = false) {
    this.random = new Random(seed);
    this.connectLoop();
  }

  // Nodes.

  addNode(nodeId: NodeId, capabilities: Capabilities): SimulatedNode {
    const node: SimulatedNode = {
      nodeId, capabilities, cluster: this.newCluster(nodeId, 1), incarnation: 1, up: true, frozenUntilMs: 0, stages: new Map(), kept: NOTHING_DESIRED,
    };
    this.nodes.set(nodeId, node);
    this.begin(node);
    return node;
  }

  crash(nodeId: NodeId): void {
    const node = this.node(nodeId);
    if (!node.up) return;
    this.note(`${nodeId} crashes`);
    node.kept = node.cluster.toKeep();
    node.up = false;
    node.stages.clear();
    for (const peer of this.nodes.keys()) this.disconnect(nodeId, peer, 5);
  }

  restart(nodeId: NodeId): void {
    const node = this.node(nodeId);
    if (node.up) return;
    node.incarnation += 1;
    this.note(`${nodeId} starts again (${node.incarnation})`);
    node.cluster = this.newCluster(nodeId, node.incarnation, node.kept);
    node.up = true;
    node.frozenUntilMs = 0;
    this.begin(node);
  }

  leave(nodeId: NodeId): void {
    this.step(this.node(nodeId), { kind: 'leave' });
    this.queue.at(this.nowMs + 100, () => this.crash(nodeId));
  }

  freeze(nodeId: NodeId, forMs: number): void {
    this.note(`${nodeId} stands still for ${forMs} ms`);
    this.node(nodeId).frozenUntilMs = this.nowMs + forMs;
  }

  /** The stage's runner dies, or what `error` says. */
  failStage(nodeId: NodeId, planId: string, error: { readonly code: string; readonly message: string } = { code: 'runner_died', message: 'the runner died' }): void {
    const node = this.node(nodeId);
    for (const stage of node.stages.values()) {
      if (stage.plan.planId !== planId) continue;
      stage.state = 'failed';
      stage.error = error;
    }
    this.report(node);
  }

  load(nodeId: NodeId, callId: string, model: string, nodes: number | null = null, life?: InstanceLife, draft?: string): void {
    this.step(this.node(nodeId), { kind: 'load', callId, request: { model, policy: 'ram_balanced', nodes, contextTokens: 512, slots: 2, ...(life === undefined ? {} : { life }), ...(draft === undefined ? {} : { draft }) } });
  }

  /** What the head of this model's ring says of its requests from now on. Heads of which nothing was said say nothing. */
  requests(model: string, open: number, taken: number): void {
    this.requestsOf.set(model, { open, taken });
    for (const node of this.upNodes()) this.report(node);
  }

  unload(nodeId: NodeId, callId: string, instanceId: string): void {
    this.step(this.node(nodeId), { kind: 'unload', callId, instanceId });
  }

  // Network.

  /** Nobody of one group reaches anybody of another. */
  partition(groups: readonly (readonly NodeId[])[]): void {
    this.note(`partition ${groups.map((group) => group.join('+')).join(' | ')}`);
    this.cuts.clear();
    groups.forEach((group, index) => {
      for (const other of groups.slice(index + 1)) for (const a of group) for (const b of other) this.cut(a, b);
    });
  }

  cut(a: NodeId, b: NodeId): void {
    this.cuts.add(pairOf(a, b));
    // A black hole closes late, a pulled cable sooner.
    this.disconnect(a, b, this.random.between(50, 1_500));
  }

  heal(): void {
    this.note('the network heals');
    this.cuts.clear();
  }

  /** Closes the connection and lets it come back. */
  flap(a: NodeId, b: NodeId): void {
    this.disconnect(a, b, 1);
  }

  // Time.

  run(forMs: number): void {
    const untilMs = this.nowMs + forMs;
    for (let event = this.queue.next(untilMs); event !== null; event = this.queue.next(untilMs)) {
      this.nowMs = event.atMs;
      event.run();
    }
    this.nowMs = untilMs;
  }

  runUntil(condition: () => boolean, limitMs: number): boolean {
    for (const endMs = this.nowMs + limitMs; this.nowMs < endMs && !condition();) this.run(10);
    return condition();
  }

  // What is seen from outside.

  node(nodeId: NodeId): SimulatedNode {
    const node = this.nodes.get(nodeId);
    if (node === undefined) throw new Error(`no node ${nodeId}`);
    return node;
  }

  upNodes(): SimulatedNode[] {
    return [...this.nodes.values()].filter(({ up }) => up);
  }

  instanceOn(nodeId: NodeId, model: string): Instance | null {
    return this.node(nodeId).cluster.desired().instances.find(({ request, plan }) => request.model === model || plan?.model.name === model) ?? null;
  }

  /** Ready stages on the node, as `planId#rank`. */
  readyStages(nodeId: NodeId): string[] {
    return [...this.node(nodeId).stages].filter(([, { state }]) => state === 'ready').map(([key]) => key);
  }

  /** What keeps the nodes that are up from being one quiet cluster; empty when they are. */
  disagreements(): string[] {
    const nodes = this.upNodes();
    const problems: string[] = [];
    const first = nodes[0];
    if (first === undefined) return problems;
    const term = JSON.stringify(first.cluster.term());
    const desired = JSON.stringify(first.cluster.desired());
    for (const { nodeId, cluster, stages } of nodes) {
      if (cluster.term() === null) problems.push(`${nodeId} knows no coordinator`);
      if (JSON.stringify(cluster.term()) !== term) problems.push(`${nodeId} follows ${JSON.stringify(cluster.term())}, ${first.nodeId} ${term}`);
      if (JSON.stringify(cluster.desired()) !== desired) problems.push(`${nodeId} wants something else than ${first.nodeId}: ${JSON.stringify(cluster.desired())} against ${desired}`);
      if (cluster.isCoordinator() !== (cluster.coordinator() === nodeId)) problems.push(`${nodeId} does not know whether it coordinates`);
      const wanted = wantedStages(cluster.desired(), nodeId).map(({ plan, stage }) => stageKey(plan.planId, stage.rank)).sort();
      const there = [...stages.keys()].sort();
      if (wanted.join() !== there.join()) problems.push(`${nodeId} should run ${wanted.join()} but runs ${there.join()}`);
    }
    return problems;
  }

  note(text: string): void {
    if (this.keepsLog) this.log.push(`${String(this.nowMs).padStart(6)} ${text}`);
  }

  // Inside.

  private newCluster(nodeId: NodeId, incarnation: number, remembered: DesiredState = NOTHING_DESIRED): ClusterNode {
    return new ClusterNode({ nodeId, incarnation, nonce: `${nodeId}-${incarnation}`, place: placeModel, remembered });
  }

  private begin(node: SimulatedNode): void {
    this.step(node, { kind: 'capabilities', capabilities: node.capabilities });
    const { incarnation } = node;
    const tick = (): void => {
      if (!node.up || node.incarnation !== incarnation) return;
      if (this.nowMs >= node.frozenUntilMs) this.step(node, { kind: 'tick' });
      this.queue.at(Math.max(this.nowMs + TICK_MS, node.frozenUntilMs), tick);
    };
    this.queue.at(this.nowMs + this.random.between(0, TICK_MS), tick);
  }

  private step(node: SimulatedNode, input: ClusterInput): void {
    if (!node.up) return;
    for (const output of node.cluster.step(input, this.nowMs)) this.carryOut(node, output);
    this.work(node);
  }

  private carryOut(node: SimulatedNode, output: ClusterOutput): void {
    switch (output.kind) {
      case 'send':
        this.check(node, output.message);
        return this.send(node.nodeId, output.to, output.message);
      case 'need_shape': {
        const shape = this.shapes.find(({ identity }) => identity.digest === output.modelRef) ?? null;
        const error = shape === null ? { code: 'unknown_model' as const, message: 'not there' } : null;
        return this.later(node, this.random.between(5, 50), () => this.step(node, { kind: 'shape', modelRef: output.modelRef, shape, error }));
      }
      case 'reply':
        this.replies.set(output.callId, { instanceId: output.instanceId, error: output.error?.code ?? null });
        return;
      case 'changed':
        return this.note(`${node.nodeId}: ${output.text}`);
    }
  }

  private later(node: SimulatedNode, delayMs: number, run: () => void): void {
    const { incarnation } = node;
    this.queue.at(this.nowMs + delayMs, () => {
      if (!node.up || node.incarnation !== incarnation) return;
      if (this.nowMs < node.frozenUntilMs) this.later(node, node.frozenUntilMs - this.nowMs, run);
      else run();
    });
  }

  /** The agent's stage worker: makes what runs match what is wanted. */
  private work(node: SimulatedNode): void {
    const wanted = wantedStages(node.cluster.desired(), node.nodeId);
    const keys = new Set(wanted.map(({ plan, stage }) => stageKey(plan.planId, stage.rank)));
    let changed = false;
    for (const key of [...node.stages.keys()]) {
      if (keys.has(key)) continue;
      node.stages.delete(key);
      changed = true;
    }
    for (const { plan, stage } of wanted) {
      const key = stageKey(plan.planId, stage.rank);
      if (node.stages.has(key)) continue;
      const local: LocalStage = { plan, rank: stage.rank, state: 'loading', error: null };
      node.stages.set(key, local);
      changed = true;
      this.later(node, this.random.between(100, 800), () => {
        if (node.stages.get(key) !== local || local.state !== 'loading') return;
        if (this.random.chance(this.stageFailures)) {
          local.state = 'failed';
          local.error = { code: 'out_of_memory', message: 'no memory' };
        } else {
          local.state = 'ready';
          this.checks.stageReady(plan.planId, stage.rank);
        }
        this.report(node);
      });
    }
    if (changed) this.report(node);
  }

  private report(node: SimulatedNode): void {
    this.step(node, {
      kind: 'local_stages',
      statuses: [...node.stages.values()].map(({ plan, rank, state, error }): StageStatus => {
        const requests = rank === 0 && state === 'ready' ? this.requestsOf.get(plan.model.name) : undefined;
        return { planId: plan.planId, rank, state, progress: 0, error, residentBytes: 0, fetchedBytes: 0, ...(requests === undefined ? {} : { requests }) };
      }),
    });
  }

  private send(from: NodeId, to: NodeId, message: ClusterMessage): void {
    const connection = this.connections.get(pairOf(from, to));
    if (connection === undefined) return;
    const copies = this.random.chance(this.weather.loss) ? 0 : this.random.chance(this.weather.duplication) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      let atMs = this.nowMs + this.random.between(this.weather.minDelayMs, this.weather.maxDelayMs);
      if (this.weather.ordered) atMs = Math.max(atMs, connection.lastMs.get(to) ?? 0);
      connection.lastMs.set(to, atMs);
      this.queue.at(atMs, () => this.deliver(connection, from, to, message));
    }
  }

  private deliver(connection: Connection, from: NodeId, to: NodeId, message: ClusterMessage): void {
    const pair = pairOf(from, to);
    if (this.connections.get(pair) !== connection || this.cuts.has(pair)) return;
    const receiver = this.node(to);
    this.later(receiver, 0, () => {
      if (this.connections.get(pair) === connection) this.step(receiver, { kind: 'message', from, message });
    });
  }

  private connectLoop(): void {
    const ids = [...this.nodes.keys()];
    ids.forEach((a, index) => {
      for (const b of ids.slice(index + 1)) {
        const pair = pairOf(a, b);
        if (this.connections.has(pair) || this.cuts.has(pair) || !this.canTalk(a) || !this.canTalk(b)) continue;
        if (this.random.chance(CONNECT_CHANCE_A_TICK)) this.connect(a, b);
      }
    });
    this.queue.at(this.nowMs + TICK_MS, () => this.connectLoop());
  }

  private canTalk(nodeId: NodeId): boolean {
    const node = this.node(nodeId);
    return node.up && this.nowMs >= node.frozenUntilMs;
  }

  private connect(a: NodeId, b: NodeId): void {
    this.connectionId += 1;
    this.connections.set(pairOf(a, b), { id: this.connectionId, lastMs: new Map() });
    this.step(this.node(a), { kind: 'node_connected', nodeId: b });
    this.step(this.node(b), { kind: 'node_connected', nodeId: a });
  }

  private disconnect(a: NodeId, b: NodeId, delayMs: number): void {
    const pair = pairOf(a, b);
    const connection = this.connections.get(pair);
    if (connection === undefined) return;
    this.queue.at(this.nowMs + delayMs, () => {
      if (this.connections.get(pair) !== connection) return;
      this.connections.delete(pair);
      for (const [end, other] of [[a, b], [b, a]] as const) {
        const node = this.node(end);
        if (node.up) this.later(node, 0, () => {
          if (!this.connections.has(pair)) this.step(node, { kind: 'node_disconnected', nodeId: other, reason: 'closed' });
        });
      }
    });
  }

  /** Safety, on every word that anybody says. */
  private check(node: SimulatedNode, message: ClusterMessage): void {
    if (message.kind === 'coordinator') this.checks.claim(node.nodeId, node.incarnation, message);
  }
}

export function heldModel(shape: ModelShape): HeldModel {
  return { digest: shape.identity.digest, sizeBytes: shape.identity.sizeBytes, name: shape.name, architecture: shape.architecture, layers: shape.layers };
}

function pairOf(a: NodeId, b: NodeId): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
