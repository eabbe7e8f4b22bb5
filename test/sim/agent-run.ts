/**
 * One seed of whole agents: a LAN of 1 to 5 machines serves a model and answers clients while machines crash, freeze, lose
 * each other and come back; then everything heals. Every answer must be the undisturbed one, every request must end, and
 * the agents must be one quiet cluster that answers again.
 */
import type { ErrorCode } from '../../src/core/errors.js';
import type { ModelShape, NodeId } from '../../src/core/types.js';
import { nodeOf, shapeOf } from '../core/placement-cases.js';
import { AgentWorld } from './agent-world.js';
import { heldModel } from './fake-library.js';
import { HIDDEN_SIZE, VOCABULARY_SIZE } from './fake-model.js';
import type { Random } from './random.js';
import { randomQuestion, SimClient } from './sim-client.js';

const QUIET_START_MS = 4_000;
const CHAOS_MS = 10_000;
const MAX_CLIENTS = 16;
/** After the healing: longer than any deadline of a request. */
const LAST_ENDING_MS = 150_000;
/** From the healing on until everybody is of one mind and answers. */
const RECOVERY_MS = 30_000;
/** A model that is unloaded soon, and then a runner that no plan wants, live this long, and a little. */
const RELEASED_MS = 13_000;
/** After that everybody knows who holds what. */
const SETTLED_MS = 500;
/** Before the first token a request may be told that its model is not to be had now, and why. */
const CLEAN_REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'unknown_model', 'no_placement', 'not_ready', 'timeout', 'peer_unreachable', 'peer_lost', 'queue_full', 'out_of_memory', 'runner_died',
]);
/** Models go while requests come. */
const SHORT_KEEP_ALIVE_MS = 800;
const LARGE_BYTES = 12e9;
const CONTEXT_TOKENS = 512;

export const AGENT_SHAPES: readonly ModelShape[] = [
  shapeOf({
    layers: 6, layerBytes: LARGE_BYTES / 6,
    overrides: { name: 'large', identity: { digest: 'a1'.repeat(32), sizeBytes: LARGE_BYTES }, vocabularySize: VOCABULARY_SIZE, hiddenSize: HIDDEN_SIZE, trainedContext: CONTEXT_TOKENS },
  }),
  shapeOf({
    layers: 4, layerBytes: 1e8,
    overrides: { name: 'small', identity: { digest: 'b2'.repeat(32), sizeBytes: 4e8 }, vocabularySize: VOCABULARY_SIZE, hiddenSize: HIDDEN_SIZE, trainedContext: CONTEXT_TOKENS },
  }),
];

/** From this seed on, the small model is the draft of the large one. */
export const FIRST_DRAFT_SEED = 1_000_000;

export interface AgentRunResult {
  readonly seed: number;
  /** Empty = everything held. */
  readonly problems: readonly string[];
  readonly log: readonly string[];
  /** The same for the same seed. */
  readonly trace: string;
  readonly figures: { readonly events: number; readonly answered: number; readonly failed: number; readonly hungUp: number; readonly orphaned: number; readonly tokens: number };
}

export async function simulateAgents(seed: number, keepsLog = false): Promise<AgentRunResult> {
  const setup = new Setup(seed, keepsLog);
  await setup.begin();
  await setup.chaos();
  setup.calm();
  await setup.recover();
  return setup.result(seed);
}

class Setup {
  private readonly world: AgentWorld;
  private readonly random: Random;
  private readonly clients: SimClient[] = [];
  private readonly problems: string[] = [];
  private readonly ramBytes: number;
  /** Somebody asked for a model to be unloaded: its requests may end for that. */
  private readonly unloaded = new Set<string>();

  constructor(seed: number, keepsLog: boolean) {
    // The world draws from the same generator; these draws come first.
    const world = new AgentWorld({ seed, shapes: AGENT_SHAPES, keepsLog, keepAliveMs: seed % 5 === 0 ? SHORT_KEEP_ALIVE_MS : null, canRollBack: seed % 3 !== 0, stepMs: [1, 4, 12][seed % 3] ?? 1, ...(seed < FIRST_DRAFT_SEED ? {} : { draft: 'small' }) });
    this.world = world;
    this.random = world.random;
    // On the smaller machines the large model needs all of them, or two of three.
    this.ramBytes = this.random.pick([16e9, 16e9, 9e9]) ?? 16e9;
  }

  async begin(): Promise<void> {
    // One small machine could never serve the large model.
    const size = this.random.between(this.ramBytes < LARGE_BYTES ? 2 : 1, 5);
    for (let index = 0; index < size; index += 1) this.addHost(`n${index}`, index === 0 || this.random.chance(0.4));
    await this.world.run(QUIET_START_MS);
    this.ask('n0');
    await this.world.run(this.random.between(500, 2_500));
  }

  async chaos(): Promise<void> {
    const { random, world } = this;
    world.weather.maxDelayMs = random.pick([5, 5, 50, 250]) ?? 5;
    world.loadFailures = random.pick([0, 0, 0, 0.2]) ?? 0;
    const faultGapMs = random.pick([400, 1_500, 3_000]) ?? 400;
    for (const endMs = world.nowMs + CHAOS_MS; world.nowMs < endMs;) {
      await world.run(random.between(20, faultGapMs));
      if (this.clients.length < MAX_CLIENTS && random.chance(0.7)) this.askAnywhere();
      if (this.clients.length < MAX_CLIENTS && random.chance(0.3)) this.askAnywhere();
      this.fault();
    }
  }

  /** Everything works again, and stays so. */
  calm(): void {
    const { world, random } = this;
    world.note('CALM');
    world.heal();
    world.allLinksFast();
    world.weather.maxDelayMs = 5;
    world.loadFailures = 0;
    const everyone = this.ramBytes < LARGE_BYTES;
    for (const { nodeId, life, slowness } of world.hosts.values()) {
      if (slowness > 1) world.slowDown(nodeId, 1);
      if (life === null && (everyone || nodeId === 'n0' || random.chance(0.7))) world.start(nodeId);
    }
  }

  async recover(): Promise<void> {
    const { world } = this;
    // Whoever is draining ends, and is switched on again where it is needed.
    await world.runUntil(() => [...world.hosts.values()].every(({ life }) => life?.leaving !== true), LAST_ENDING_MS);
    for (const { nodeId, life } of world.hosts.values()) if (life === null && (nodeId === 'n0' || this.ramBytes < LARGE_BYTES)) world.start(nodeId);
    if (!await world.runUntil(() => this.unfinished().length === 0, LAST_ENDING_MS)) {
      this.problems.push(...this.unfinished().map((client) => client.describe()));
    }
    for (const client of this.clients) this.judge(client);
    const agreed = await world.runUntil(() => world.isMesh() && world.disagreements().length === 0, RECOVERY_MS);
    // Records follow connections.
    await world.run(SETTLED_MS);
    if (!agreed) this.problems.push(...world.disagreements());
    await this.askEverybody();
    await this.checkRest();
  }

  result(seed: number): AgentRunResult {
    const { world, clients } = this;
    const count = (kind: string): number => clients.filter(({ ending }) => ending?.kind === kind).length;
    return {
      seed,
      problems: [...world.violations, ...this.problems],
      log: world.log,
      trace: world.trace(),
      figures: {
        events: world.events, answered: count('answered'), failed: count('error'), hungUp: count('hung_up'),
        orphaned: clients.filter(({ ending }) => ending === null).length, tokens: clients.reduce((sum, { tokens }) => sum + tokens.length, 0),
      },
    };
  }

  private addHost(nodeId: NodeId, holds: boolean): void {
    const models = holds ? AGENT_SHAPES : [];
    this.world.addHost(nodeId, nodeOf(nodeId, this.ramBytes, { capabilities: { models: models.map(heldModel) } }).capabilities, models, nodeId === 'n0' && this.random.chance(0.2) ? ['large'] : []);
  }

  private unfinished(): SimClient[] {
    return this.clients.filter((client) => client.ending === null && !client.isOrphaned);
  }

  private askAnywhere(): void {
    const host = this.random.pick(this.world.upHosts());
    if (host !== null) this.ask(host.nodeId);
  }

  private ask(nodeId: NodeId): SimClient | null {
    const { life } = this.world.host(nodeId);
    const model = this.random.chance(0.8) ? AGENT_SHAPES[0] : AGENT_SHAPES[1];
    if (life === null || model === undefined) return null;
    const client = new SimClient(`client ${this.clients.length}`, randomQuestion(this.random, model), life, this.world);
    this.clients.push(client);
    return client;
  }

  private fault(): void {
    const { random, world } = this;
    const ids = [...world.hosts.keys()];
    const nodeId = random.pick(ids) ?? '';
    const other = random.pick(ids) ?? '';
    switch (random.between(0, 21)) {
      case 0: {
        const left = ids.filter(() => random.chance(0.5));
        return world.partition([left, ids.filter((id) => !left.includes(id))]);
      }
      case 1:
      case 2: return world.heal();
      case 3: return world.kill(nodeId, random.chance(0.6));
      case 4: {
        const coordinator = world.upHosts()[0]?.life.agent.status().coordinator ?? null;
        if (coordinator !== null && world.hosts.has(coordinator)) world.kill(coordinator, random.chance(0.6));
        return;
      }
      case 5:
      case 6:
      case 7: {
        const off = ids.filter((id) => world.host(id).life === null);
        const back = random.pick(off);
        if (back !== null) world.start(back);
        return;
      }
      case 8: return world.freeze(nodeId, random.between(50, 4_000), random.chance(0.5));
      case 9: return world.jumpClock(nodeId, random.between(10, 20_000));
      case 10:
        if (nodeId !== other) world.cut(nodeId, other);
        return;
      case 11:
        if (nodeId !== other) world.resetConnection(nodeId, other);
        return;
      case 12:
      case 13: return world.loseStream(nodeId);
      case 14: return world.killRunner(nodeId);
      case 15: return world.hangRunner(nodeId, random.between(100, 5_000));
      case 16: return world.slowDown(nodeId, random.pick([1, 5, 30]) ?? 1);
      case 17:
        if (nodeId !== other) world.slowLink(nodeId, other, random.between(5, 200));
        return;
      case 18: return world.leave(nodeId, random.chance(0.3));
      case 19: {
        world.partition([[nodeId], ids.filter((id) => id !== nodeId)]);
        return world.tellHighTerm(nodeId, random.between(50, 5_000));
      }
      case 20: {
        if (ids.length < 6) this.addHost(`n${ids.length}`, random.chance(0.4));
        return;
      }
      case 21: return this.unload(nodeId);
    }
  }

  private unload(nodeId: NodeId): void {
    const { life } = this.world.host(nodeId);
    if (life === null || life.leaving || !this.random.chance(0.3)) return;
    const instance = this.random.pick(life.agent.status().instances);
    if (instance === null) return;
    this.world.note(`${instance.instanceId} is unloaded at ${nodeId}`);
    this.unloaded.add(instance.model);
    life.process.enter(() => void life.agent.unload(instance.instanceId).catch(() => undefined));
  }

  /** A request whose agent lives gets its answer; only what it could not know may be refused, before its first token. */
  private judge(client: SimClient): void {
    const { ending, question } = client;
    if (ending?.kind !== 'error' || client.life.leaving) return;
    if (this.unloaded.has(question.model.name)) return;
    if (client.tokens.length > 0 || !CLEAN_REFUSALS.has(ending.code)) this.problems.push(client.describe());
  }

  /** After the healing everybody who is up answers. */
  private async askEverybody(): Promise<void> {
    const { world } = this;
    const asked = world.upHosts().flatMap(({ nodeId }) => this.ask(nodeId) ?? []);
    await world.runUntil(() => asked.every(({ ending }) => ending !== null), RECOVERY_MS);
    for (const client of asked) if (client.ending === null || client.ending.kind === 'error') this.problems.push(`after the healing ${client.describe()}`);
  }

  /** Nothing is left over: no sequence, no runner that no plan wants, nobody of another mind. */
  private async checkRest(): Promise<void> {
    const { world } = this;
    await world.run(RELEASED_MS);
    // A model may have been given up just now; what is left behind stays however long one waits.
    await world.runUntil(() => this.leftRunners().length === 0, RELEASED_MS);
    this.problems.push(...world.disagreements(), ...this.leftRunners());
    for (const { nodeId, life } of world.upHosts()) {
      for (const { instanceId, activeSequences, queuedSequences, stepsInFlight } of life.agent.status().instances) {
        const left = (activeSequences ?? 0) + (queuedSequences ?? 0) + (stepsInFlight ?? 0);
        if (left > 0) this.problems.push(`${nodeId}: ${instanceId} still has ${activeSequences} sequences, ${queuedSequences} waiting, ${stepsInFlight} steps`);
      }
    }
  }

  private leftRunners(): string[] {
    return this.world.upHosts().flatMap(({ nodeId, life }) => {
      const running = life.agent.status().instances.filter(({ state }) => state === 'active');
      const stages = running.flatMap((instance) => instance.stages.filter((stage) => stage.nodeId === nodeId)).length;
      const drafts = running.filter((instance) => instance.stages[0]?.nodeId === nodeId && instance.draft?.state === 'ready').length;
      const wanted = stages + drafts;
      const there = this.world.runners(nodeId).length;
      return wanted === there ? [] : [`${nodeId} has ${there} stage runners for ${stages} stages and ${drafts} drafts`];
    });
  }
}
