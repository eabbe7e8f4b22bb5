/**
 * A simulated LAN of whole agents: the real agent code (src/agent, src/core) on a fake clock, a fake network, fake runners
 * and fake disks. One generator decides everything that is left to chance, and one queue orders all that happens; after
 * each event every promise is carried as far as it goes, so a seed gives the same run every time.
 *
 * It offers faults and watches safety; what happens when, and what must come of it, is agent-run.ts.
 */
import { Agent } from '../../src/agent/agent.js';
import type { ClusterStatus } from '../../src/agent/service.js';
import { RingError } from '../../src/core/errors.js';
import type { ControlMessage } from '../../src/core/messages.js';
import type { Capabilities, DesiredState, ModelShape, NodeId, Term } from '../../src/core/types.js';
import type { Log, PeerEvents } from '../../src/ports.js';
import { ClaimChecks } from './claim-checks.js';
import { EventQueue } from './event-queue.js';
import { emptyDisk, FakeLibrary } from './fake-library.js';
import type { Disk } from './fake-library.js';
import { FakeNetwork } from './fake-network.js';
import type { Air } from './fake-link.js';
import { FakeProcess } from './fake-process.js';
import { FakeLauncher } from './fake-runner.js';
import type { FakeRunner } from './fake-runner.js';
import { Random } from './random.js';

const CONNECT_INTERVAL_MS = 100;
/** mDNS and a dial. */
const CONNECT_CHANCE = 0.3;
/** Retransmission after a cut healed. */
const MAX_RETRANSMIT_MS = 400;
/** Fewer than a program has: enough to be under way when requests and losses come. */
const REHEARSAL_STEPS = 5;

export interface Weather {
  minDelayMs: number;
  maxDelayMs: number;
}

/** One start of a host's agent. */
export interface Life {
  readonly process: FakeProcess;
  readonly network: FakeNetwork;
  readonly launcher: FakeLauncher;
  readonly agent: Agent;
  readonly incarnation: number;
  /** Set once it was told to stop. */
  leaving: boolean;
}

export interface Host {
  readonly nodeId: NodeId;
  readonly capabilities: Capabilities;
  readonly disk: Disk;
  /** What its agent kept of what the cluster wants. */
  remembered: DesiredState | null;
  /** Models that it asks for at every start. */
  readonly serve: readonly string[];
  incarnation: number;
  port: number;
  /** How much longer its runners need than they should. */
  slowness: number;
  /** Null while it is switched off. */
  life: Life | null;
}

export interface AgentWorldOptions {
  readonly seed: number;
  readonly shapes: readonly ModelShape[];
  readonly canRollBack: boolean;
  readonly keepsLog: boolean;
  /** How long an unused model stays; null = the agents' own default. */
  readonly keepAliveMs: number | null;
  /** Of one token in one stage. */
  readonly stepMs: number;
  /** The model that guesses for what agents have loaded. Absent = none. */
  readonly draft?: string;
}

export class AgentWorld {
  readonly random: Random;
  readonly hosts = new Map<NodeId, Host>();
  readonly log: string[] = [];
  readonly violations: string[] = [];
  readonly weather: Weather = { minDelayMs: 1, maxDelayMs: 5 };
  nowMs = 0;
  events = 0;
  /** Part of loads that fail. */
  loadFailures = 0;
  private readonly queue = new EventQueue();
  private readonly cuts = new Set<string>();
  private readonly slowPairs = new Map<string, number>();
  private readonly checks = new ClaimChecks((text) => this.violation(text));
  private readonly air: Air = {
    now: () => this.nowMs,
    at: (atMs, run) => this.queue.at(atMs, run),
    delay: (from, to) => this.random.between(this.weather.minDelayMs, this.weather.maxDelayMs) + (this.slowPairs.get(pairOf(from, to)) ?? 0),
    isCut: (from, to) => this.cuts.has(pairOf(from, to)),
    sent: (from, message) => this.check(from, message),
    note: (text) => this.note(text),
  };
  private traceHash = 0x811c_9dc5;

  constructor(private readonly options: AgentWorldOptions) {
    this.random = new Random(options.seed);
    this.connectLoop();
  }

  // Hosts.

  addHost(nodeId: NodeId, capabilities: Capabilities, models: readonly ModelShape[], serve: readonly string[] = []): Host {
    const disk = emptyDisk();
    for (const { identity } of models) disk.whole.add(identity.digest);
    const host: Host = { nodeId, capabilities, disk, remembered: null, serve, incarnation: 0, port: 11_501, slowness: 1, life: null };
    this.hosts.set(nodeId, host);
    this.start(nodeId);
    return host;
  }

  start(nodeId: NodeId): void {
    const host = this.host(nodeId);
    if (host.life !== null) return;
    host.incarnation += 1;
    host.slowness = 1;
    // The old port may still be taken.
    if (this.random.chance(0.5)) host.port += 1;
    this.note(`${nodeId} starts (${host.incarnation}, port ${host.port})`);
    const life = this.newLife(host);
    host.life = life;
    life.agent.start('').catch((error: unknown) => this.violation(`${nodeId} does not start: ${String(error)}`));
  }

  /** `loudly`: the process is killed; otherwise the machine is switched off and says nothing. */
  kill(nodeId: NodeId, loudly: boolean): void {
    const host = this.host(nodeId);
    const { life } = host;
    if (life === null) return;
    this.note(`${nodeId} ${loudly ? 'is killed' : 'is switched off'}`);
    host.life = null;
    life.network.vanish(loudly);
    life.process.die();
  }

  /** `agent stop`: drains, and then the process ends. */
  leave(nodeId: NodeId, atOnce: boolean): void {
    const { life } = this.host(nodeId);
    if (life === null) return;
    this.note(`${nodeId} is told to stop${atOnce ? ' at once' : ''}`);
    life.leaving = true;
    life.process.enter(() => {
      life.agent.stop(atOnce).then(() => {
        const left = [...life.launcher.runners].length;
        if (left > 0) this.violation(`${nodeId} ended and left ${left} runners`);
        if (this.host(nodeId).life === life) this.kill(nodeId, true);
      }, (error: unknown) => this.violation(`${nodeId} does not stop: ${String(error)}`));
    });
  }

  freeze(nodeId: NodeId, forMs: number, unnoticed: boolean): void {
    this.note(`${nodeId} stands still for ${forMs} ms${unnoticed ? ', its clock too' : ''}`);
    this.host(nodeId).life?.process.freeze(forMs, unnoticed);
  }

  jumpClock(nodeId: NodeId, byMs: number): void {
    this.note(`${nodeId}'s clock jumps by ${byMs} ms`);
    this.host(nodeId).life?.process.jump(byMs);
  }

  slowDown(nodeId: NodeId, factor: number): void {
    this.note(`${nodeId} computes ${factor} times slower`);
    this.host(nodeId).slowness = factor;
  }

  /** Stage runners on a host. */
  runners(nodeId: NodeId): FakeRunner[] {
    return this.host(nodeId).life?.launcher.stages() ?? [];
  }

  killRunner(nodeId: NodeId): void {
    const runner = this.random.pick(this.runners(nodeId));
    if (runner === null) return;
    this.note(`a runner on ${nodeId} dies`);
    runner.die();
  }

  hangRunner(nodeId: NodeId, forMs: number): void {
    const runner = this.random.pick(this.runners(nodeId));
    if (runner === null) return;
    this.note(`a runner on ${nodeId} hangs for ${forMs} ms`);
    runner.hang(forMs);
  }

  /** The node was in another cluster of this name, where many a coordinator was lost. */
  tellHighTerm(nodeId: NodeId, counter: number): void {
    const { life } = this.host(nodeId);
    if (life === null) return;
    const ghost = 'zz-ghost';
    const term: Term = { counter, node: ghost };
    this.note(`${nodeId} meets a stranger of term ${counter}`);
    const events = life.agent.peerEvents;
    life.process.enter(() => events.connected(ghost, '/ip4/10.9.9.9/tcp/1'));
    life.process.enter(() => events.message(ghost, { kind: 'alive', incarnation: 1, counter: 1, term }));
    life.process.enter(() => events.message(ghost, { kind: 'coordinator', term, serving: 0, desired: { version: 1, instances: [] } }));
    this.queue.at(this.nowMs + this.random.between(1, 3_000), () => life.process.enter(() => events.disconnected(ghost, 'it went away')));
  }

  // Network.

  partition(groups: readonly (readonly NodeId[])[]): void {
    this.note(`partition ${groups.map((group) => group.join('+')).join(' | ')}`);
    this.heal();
    groups.forEach((group, index) => {
      for (const other of groups.slice(index + 1)) for (const a of group) for (const b of other) this.cuts.add(pairOf(a, b));
    });
  }

  cut(a: NodeId, b: NodeId): void {
    this.note(`the way between ${a} and ${b} is cut`);
    this.cuts.add(pairOf(a, b));
  }

  heal(): void {
    if (this.cuts.size === 0) return;
    this.note('the network heals');
    const healed = [...this.cuts];
    this.cuts.clear();
    for (const pair of healed) {
      const [a = '', b = ''] = pair.split(' ');
      const atMs = this.nowMs + this.random.between(0, MAX_RETRANSMIT_MS);
      this.hosts.get(a)?.life?.network.retry(b, atMs);
      this.hosts.get(b)?.life?.network.retry(a, atMs);
    }
  }

  slowLink(a: NodeId, b: NodeId, addedMs: number): void {
    this.note(`words between ${a} and ${b} take ${addedMs} ms longer`);
    this.slowPairs.set(pairOf(a, b), addedMs);
  }

  allLinksFast(): void {
    this.slowPairs.clear();
  }

  resetConnection(a: NodeId, b: NodeId): void {
    this.note(`the connection of ${a} and ${b} is reset`);
    this.host(a).life?.network.reset(b);
  }

  loseStream(nodeId: NodeId): void {
    const link = this.random.pick(this.host(nodeId).life?.network.openLinks() ?? []);
    if (link === null) return;
    this.note(`an edge of the ring at ${nodeId} breaks (stage ${link.edge.rank} of ${link.edge.planId})`);
    FakeNetwork.breakLink(link);
  }

  // Time.

  /** Carries out everything up to then. */
  async run(forMs: number): Promise<void> {
    const untilMs = this.nowMs + forMs;
    for (let event = this.queue.next(untilMs); event !== null; event = this.queue.next(untilMs)) {
      this.nowMs = event.atMs;
      this.events += 1;
      event.run();
      await everythingSaid();
    }
    this.nowMs = untilMs;
  }

  async runUntil(condition: () => boolean, limitMs: number): Promise<boolean> {
    for (const endMs = this.nowMs + limitMs; this.nowMs < endMs && !condition();) await this.run(50);
    return condition();
  }

  // What is seen from outside.

  host(nodeId: NodeId): Host {
    const host = this.hosts.get(nodeId);
    if (host === undefined) throw new Error(`no host ${nodeId}`);
    return host;
  }

  upHosts(): { readonly nodeId: NodeId; readonly life: Life }[] {
    return [...this.hosts.values()].flatMap(({ nodeId, life }) => (life === null || life.leaving ? [] : [{ nodeId, life }]));
  }

  /** Everybody who is up runs and is connected to everybody else. */
  isMesh(): boolean {
    const up = this.upHosts();
    return up.every(({ life }) => !life.process.isFrozen) && up.every(({ life }) => up.every((other) => other.life === life || life.network.isJoinedTo(other.life.network)));
  }

  /** What keeps the agents that are up from being one quiet cluster; empty when they are. */
  disagreements(): string[] {
    const problems: string[] = [];
    let first: { readonly nodeId: NodeId; readonly seen: string } | null = null;
    for (const { nodeId, life } of this.upHosts()) {
      const status = life.agent.status();
      const seen = summary(status);
      if (status.coordinator === null) problems.push(`${nodeId} knows no coordinator`);
      first ??= { nodeId, seen };
      if (seen !== first.seen) problems.push(`${nodeId} sees ${seen}, ${first.nodeId} ${first.seen}`);
    }
    return problems;
  }

  /** A number for all that happened. */
  trace(): string {
    return `${(this.traceHash >>> 0).toString(16)}/${this.events}`;
  }

  note(text: string): void {
    const line = `${String(Math.round(this.nowMs)).padStart(6)} ${text}`;
    this.mixIn(line);
    if (this.options.keepsLog) this.log.push(line);
  }

  violation(text: string): void {
    this.note(`VIOLATION ${text}`);
    this.violations.push(`at ${Math.round(this.nowMs)} ms: ${text}`);
  }

  // Inside.

  private newLife(host: Host): Life {
    const { nodeId, incarnation } = host;
    const process = new FakeProcess(`${nodeId}/${incarnation}`, { queue: this.queue, now: () => this.nowMs, soon: (run) => this.queue.at(this.nowMs, run) });
    const library = new FakeLibrary(host.disk, this.options.shapes, process.clock);
    const launcher = new FakeLauncher({
      process,
      canRollBack: this.options.canRollBack,
      at: (delayMs, run) => this.queue.at(this.nowMs + delayMs, () => {
        if (!process.isDead) run();
      }),
      loadMs: () => this.random.between(30, 400),
      stepMs: (tokens) => this.options.stepMs * host.slowness * (1 + tokens / 16) + this.random.next(),
      loadFailure: () => (this.random.chance(this.loadFailures) ? new RingError('out_of_memory', 'no memory') : null),
      violation: (text) => this.violation(`${nodeId}: ${text}`),
    });
    let late: PeerEvents | null = null;
    const events: PeerEvents = {
      connected: (peer, address) => late?.connected(peer, address),
      disconnected: (peer, reason) => late?.disconnected(peer, reason),
      message: (from, message) => {
        this.mixIn(`${Math.round(this.nowMs)} ${from}>${nodeId} ${message.kind}`);
        late?.message(from, message);
      },
      ringLink: (from, edge, link) => late?.ringLink(from, edge, link),
    };
    const network = new FakeNetwork(nodeId, `/ip4/10.0.0.1/tcp/${host.port}`, process, this.air, events, library);
    const agent = new Agent({
      clusterName: 'home', secured: true, incarnation, nonce: `${nodeId}-${incarnation}`, threads: 1, contextTokens: null, slots: null, serve: host.serve, defaultModel: '', temporary: false, rehearsalSteps: REHEARSAL_STEPS,
      ...(this.options.keepAliveMs === null ? {} : { keepAliveMs: this.options.keepAliveMs }),
      ...(this.options.draft === undefined ? {} : { draft: this.options.draft }),
      ...(host.remembered === null ? {} : { remembered: host.remembered }),
    }, {
      clock: process.clock,
      log: this.logOf(nodeId),
      library,
      launcher,
      machine: {
        capabilities: async () => host.capabilities,
        lookAgain: async () => undefined,
        isLoaded: () => false,
        measure: async () => false,
      },
      keep: (desired) => {
        host.remembered = desired;
      },
      randomId: () => this.random.next().toString(36).slice(2, 10),
    }, network);
    late = agent.peerEvents;
    return { process, network, launcher, agent, incarnation, leaving: false };
  }

  private logOf(nodeId: NodeId): Log {
    const say = (level: string) => (message: string, facts?: object): void => {
      this.note(`${nodeId}: ${level}${message}${facts === undefined ? '' : ` ${JSON.stringify(facts)}`}`);
    };
    const log: Log = { debug: say('(debug) '), info: say(''), warn: say('(warn) '), error: say('(error) '), child: () => log };
    return log;
  }

  /** Safety, on every word that anybody says. */
  private check(from: NodeId, message: ControlMessage): void {
    if (message.kind === 'coordinator') this.checks.claim(from, this.host(from).incarnation, message);
    if (message.kind !== 'stages') return;
    for (const { planId, rank, state } of message.statuses) if (state === 'ready') this.checks.stageReady(planId, rank);
  }

  private connectLoop(): void {
    const up = this.upHosts().filter(({ life }) => !life.process.isFrozen && !life.network.isStopped);
    up.forEach(({ nodeId: a, life: left }, index) => {
      for (const { nodeId: b, life: right } of up.slice(index + 1)) {
        if (this.cuts.has(pairOf(a, b)) || (left.network.isJoinedTo(right.network) && right.network.isJoinedTo(left.network))) continue;
        if (!this.random.chance(CONNECT_CHANCE)) continue;
        const [dialler, acceptor] = this.random.chance(0.5) ? [left, right] : [right, left];
        FakeNetwork.connect(this.air, dialler.network, acceptor.network);
      }
    });
    this.queue.at(this.nowMs + CONNECT_INTERVAL_MS, () => this.connectLoop());
  }

  private mixIn(text: string): void {
    let hash = this.traceHash;
    for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x0100_0193);
    this.traceHash = hash;
  }
}

function summary({ coordinator, term, instances }: ClusterStatus): string {
  return JSON.stringify([coordinator, term, instances.map(({ instanceId, state, planId }) => [instanceId, state, planId])]);
}

function pairOf(a: NodeId, b: NodeId): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

/** Every promise went as far as it can without time passing. */
async function everythingSaid(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
