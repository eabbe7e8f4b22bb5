/**
 * `GET /metrics`, in Prometheus's text format: what this agent answered and how fast, and the cluster as it sees it.
 *
 * Answers are counted where they pass, through `counted`; the state of the cluster is read when somebody asks. Labels
 * are model names, node names and states: no prompt, no answer, no client is in any of them. It must not know HTTP.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AgentService, ClusterStatus, CompletionEvent, CompletionTask, EmbeddingAnswer, EmbeddingTask } from '../agent/service.js';
import { errorCodeOf } from '../core/errors.js';

const FIRST_TOKEN_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const ANSWER_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Models come and go, but an agent that sees more than so many names is asked nonsense: the rest share one label. */
const MODEL_LABELS_MAX = 64;
const OTHER_MODEL = 'other';
const MICROS_PER_SECOND = 1e6;
const MILLIS_PER_SECOND = 1e3;

/** How often the event loop's delay is looked at: each look wakes the process, beside a runner that computes. */
const LOOP_CHECK_MS = 250;

export class Metrics {
  private readonly registry = new Registry();
  private readonly requests = this.counter('ring_requests_total', 'Answers that ended, by model and how.', ['model', 'outcome']);
  private readonly promptTokens = this.counter('ring_prompt_tokens_total', 'Tokens of prompts of finished answers.', ['model']);
  private readonly answerTokens = this.counter('ring_completion_tokens_total', 'Tokens drawn.', ['model']);
  private readonly firstToken = new Histogram({ name: 'ring_first_token_seconds', help: 'From acceptance to the first token.', labelNames: ['model'], buckets: FIRST_TOKEN_SECONDS, registers: [this.registry] });
  private readonly duration = new Histogram({ name: 'ring_answer_seconds', help: 'From acceptance to the last token.', labelNames: ['model'], buckets: ANSWER_SECONDS, registers: [this.registry] });
  private readonly underWay = this.gauge('ring_requests_under_way', 'Answers under way that came in through this agent.', []);
  private readonly nodes = this.gauge('ring_nodes', 'Nodes that this agent knows, by state.', ['state']);
  private readonly coordinator = this.gauge('ring_is_coordinator', '1 when this node leads the cluster.', []);
  private readonly term = this.gauge('ring_term', 'Counter of the term; it grows with every election that was won.', []);
  private readonly memoryFree = this.gauge('ring_node_memory_available_bytes', 'Memory that plans may use on a node.', ['node', 'hostname']);
  private readonly memoryTotal = this.gauge('ring_node_memory_bytes', 'Memory of a node.', ['node', 'hostname']);
  private readonly active = this.gauge('ring_sequences_active', 'Sequences in slots; known on the head\'s node only.', ['model']);
  private readonly queued = this.gauge('ring_sequences_queued', 'Sequences that wait for a slot; known on the head\'s node only.', ['model']);
  private readonly steps = this.gauge('ring_steps_in_flight', 'Steps in the ring; known on the head\'s node only.', ['model']);
  private readonly drafted = this.gauge('ring_drafted_tokens', 'Tokens that were guessed since the plan began, by source (text or model); known on the head\'s node only.', ['model', 'source']);
  private readonly accepted = this.gauge('ring_accepted_tokens', 'Guessed tokens that were right; known on the head\'s node only.', ['model', 'source']);
  private readonly hop = this.gauge('ring_hop_overhead_seconds', 'Time per edge of the ring that no runner computed.', ['model']);
  private readonly stageReady = this.gauge('ring_stage_ready', '1 when the stage is ready.', ['model', 'rank', 'hostname']);
  private readonly stageMemory = this.gauge('ring_stage_resident_bytes', 'Memory that a stage takes.', ['model', 'rank', 'hostname']);
  private readonly stageFetched = this.gauge('ring_stage_fetched_bytes', 'Weight bytes that crossed the network for a stage.', ['model', 'rank', 'hostname']);
  private readonly stageBusy = this.gauge('ring_stage_busy_share', 'Share of the last seconds that a stage computed; known on the head\'s node only.', ['model', 'rank', 'hostname']);
  private readonly events = this.gauge('ring_events', 'What happened since this agent started; healed = a model serves again after a re-plan.', ['what']);
  private readonly modelLabels = new Set<string>();

  constructor(private readonly service: AgentService) {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: LOOP_CHECK_MS });
  }

  readonly contentType: string = this.registry.contentType;

  async text(): Promise<string> {
    this.read(this.service.status());
    return this.registry.metrics();
  }

  /** The same answer, counted. */
  async *counted(task: CompletionTask, signal: AbortSignal): AsyncGenerator<CompletionEvent> {
    this.underWay.inc();
    let model = OTHER_MODEL;
    let outcome = 'cancelled';
    try {
      for await (const event of this.service.complete(task, signal)) {
        switch (event.kind) {
          case 'started':
            model = this.modelLabel(event.model);
            break;
          case 'text':
            this.answerTokens.inc({ model }, event.tokens.length);
            break;
          case 'finished':
            outcome = event.reason;
            this.promptTokens.inc({ model }, event.promptTokens);
            this.firstToken.observe({ model }, event.timings.firstTokenMs / MILLIS_PER_SECOND);
            this.duration.observe({ model }, event.timings.totalMs / MILLIS_PER_SECOND);
            break;
        }
        yield event;
      }
    } catch (error) {
      outcome = errorCodeOf(error);
      throw error;
    } finally {
      this.underWay.dec();
      this.requests.inc({ model, outcome });
    }
  }

  /** The same vectors, counted. */
  async countedEmbedding(task: EmbeddingTask, signal: AbortSignal): Promise<EmbeddingAnswer> {
    this.underWay.inc();
    let model = OTHER_MODEL;
    let outcome = 'cancelled';
    try {
      const answer = await this.service.embed(task, signal);
      model = this.modelLabel(answer.model);
      outcome = 'embedded';
      this.promptTokens.inc({ model }, answer.promptTokens);
      return answer;
    } catch (error) {
      outcome = errorCodeOf(error);
      throw error;
    } finally {
      this.underWay.dec();
      this.requests.inc({ model, outcome });
    }
  }

  private read(status: ClusterStatus): void {
    // What is no more must not be told any longer.
    for (const gauge of [this.nodes, this.memoryFree, this.memoryTotal, this.active, this.queued, this.steps, this.drafted, this.accepted, this.hop, this.stageReady, this.stageMemory, this.stageFetched, this.stageBusy]) gauge.reset();
    for (const { nodeId: node, state, capabilities } of status.nodes) {
      this.nodes.inc({ state });
      if (capabilities === null) continue;
      this.memoryFree.set({ node, hostname: capabilities.hostname }, capabilities.ramAvailableBytes);
      this.memoryTotal.set({ node, hostname: capabilities.hostname }, capabilities.ramTotalBytes);
    }
    this.coordinator.set(status.coordinator === status.nodeId ? 1 : 0);
    this.term.set(status.term?.counter ?? 0);
    for (const instance of status.instances) {
      const { model } = instance;
      if (instance.activeSequences !== null) this.active.set({ model }, instance.activeSequences);
      if (instance.queuedSequences !== null) this.queued.set({ model }, instance.queuedSequences);
      if (instance.stepsInFlight !== null) this.steps.set({ model }, instance.stepsInFlight);
      for (const [source, guesses] of Object.entries(instance.guesses ?? {})) {
        this.drafted.set({ model, source }, guesses.drafted);
        this.accepted.set({ model, source }, guesses.accepted);
      }
      if (instance.hops !== null && instance.hops.samples > 0) this.hop.set({ model }, instance.hops.overheadMicros / MICROS_PER_SECOND);
      for (const stage of instance.stages) {
        const labels = { model, rank: String(stage.rank), hostname: stage.hostname };
        this.stageReady.set(labels, stage.state === 'ready' ? 1 : 0);
        this.stageMemory.set(labels, stage.residentBytes);
        this.stageFetched.set(labels, stage.fetchedBytes);
        if (typeof stage.busyShare === 'number') this.stageBusy.set(labels, stage.busyShare);
      }
    }
    for (const [what, count] of Object.entries(this.service.eventCounts())) this.events.set({ what }, count);
  }

  private modelLabel(name: string): string {
    if (this.modelLabels.has(name)) return name;
    if (this.modelLabels.size >= MODEL_LABELS_MAX) return OTHER_MODEL;
    this.modelLabels.add(name);
    return name;
  }

  private counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  private gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }
}
