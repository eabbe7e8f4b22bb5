/**
 * A client of the simulated agents: asks one thing, compares every token with what the model says undisturbed, and
 * remembers how it ended.
 */
import type { CompletionTask } from '../../src/agent/service.js';
import { errorCodeOf, errorMessageOf } from '../../src/core/errors.js';
import type { ErrorCode } from '../../src/core/errors.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import type { ModelShape } from '../../src/core/types.js';
import type { AgentWorld, Life } from './agent-world.js';
import { answerOf, END_TOKEN, pieceOf } from './fake-model.js';
import type { Random } from './random.js';

export interface Question {
  readonly model: ModelShape;
  readonly promptTokens: readonly number[];
  readonly sampling: SamplingSettings;
  readonly maxTokens: number;
  /** The client hangs up after so many tokens; null = it stays. */
  readonly patience: number | null;
  readonly stop: readonly string[];
}

export type Ending =
  | { readonly kind: 'answered' }
  | { readonly kind: 'hung_up' }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string };

export class SimClient {
  ending: Ending | null = null;
  tokens: number[] = [];
  readonly askedMs: number;
  private readonly expected: readonly number[];
  private text = '';
  private readonly hangUp = new AbortController();

  constructor(private readonly name: string, readonly question: Question, readonly life: Life, private readonly world: AgentWorld) {
    const { model, promptTokens, sampling, maxTokens } = question;
    this.expected = answerOf(model.layers, promptTokens, sampling, maxTokens);
    this.askedMs = world.nowMs;
    world.note(`${name} asks ${life.network.nodeId} for ${maxTokens} tokens of ${model.name} after ${promptTokens.length}`);
    life.process.enter(() => void this.ask());
  }

  /** Its agent's process is gone, and the connection with it. */
  get isOrphaned(): boolean {
    return this.life.process.isDead;
  }

  describe(): string {
    const how = this.ending === null ? 'has not ended' : this.ending.kind === 'error' ? `ended with ${this.ending.code}: ${this.ending.message}` : this.ending.kind;
    return `${this.name} at ${this.life.network.nodeId}, asked at ${Math.round(this.askedMs)} ms, ${how} after ${this.tokens.length} tokens`;
  }

  private async ask(): Promise<void> {
    const { model, promptTokens, sampling, maxTokens, patience, stop } = this.question;
    const task: CompletionTask = { model: model.name, prompt: { kind: 'tokens', tokens: promptTokens }, sampling, maxTokens, stop };
    try {
      for await (const event of this.life.agent.complete(task, this.hangUp.signal)) {
        if (this.isOrphaned) return;
        if (event.kind === 'text') this.take(event.tokens, event.text);
        if (event.kind === 'finished') this.finish(event.reason);
        if (patience !== null && this.tokens.length >= patience) this.hangUp.abort(new Error('the client hung up'));
      }
      this.ending ??= { kind: 'error', code: 'internal', message: 'the answer ended without an ending' };
    } catch (error) {
      if (this.isOrphaned) return;
      this.ending = this.hangUp.signal.aborted ? { kind: 'hung_up' } : { kind: 'error', code: errorCodeOf(error), message: errorMessageOf(error) };
    }
    this.world.note(this.describe());
  }

  private take(tokens: readonly number[], text: string): void {
    for (const token of tokens) {
      const wanted = this.expected[this.tokens.length];
      if (token !== wanted) this.world.violation(`${this.name}: token ${this.tokens.length} is ${token}, undisturbed it is ${wanted ?? 'none'}`);
      this.tokens.push(token);
    }
    this.text += text;
    this.world.note(`${this.name} has ${this.tokens.length} tokens`);
  }

  private finish(reason: string): void {
    this.ending = { kind: 'answered' };
    const whole = this.expected.map(pieceOf).join('');
    const cut = Math.min(...this.question.stop.map((text) => whole.indexOf(text)).filter((at) => at >= 0), whole.length);
    if (this.text !== whole.slice(0, cut)) this.world.violation(`${this.name}: the text is "${this.text}", undisturbed it is "${whole.slice(0, cut)}"`);
    const stopped = cut < whole.length || this.expected.at(-1) === END_TOKEN;
    if (reason !== (stopped ? 'stop' : 'length')) this.world.violation(`${this.name}: the answer ended with ${reason}`);
    if (!stopped && this.tokens.length !== this.expected.length) this.world.violation(`${this.name}: ${this.tokens.length} tokens instead of ${this.expected.length}`);
  }
}

export function randomQuestion(random: Random, model: ModelShape): Question {
  // Few beginnings, so that slots hold what others begin with.
  const beginning = random.between(1, 3);
  const shared = Array.from({ length: 24 }, (_, index) => 1 + (index * beginning) % 5);
  const own = Array.from({ length: random.pick([1, 3, 10, 200]) ?? 1 }, () => random.between(1, 20));
  const greedy = random.chance(0.4);
  return {
    model,
    promptTokens: random.chance(0.6) ? [...shared, ...own] : own,
    sampling: {
      temperature: greedy ? 0 : 1, topK: 0, topP: 1, minP: 0, seed: random.between(0, 1_000_000), repeatPenalty: random.chance(0.3) ? 1.1 : 1,
      frequencyPenalty: 0, presencePenalty: 0, ignoreEos: random.chance(0.5), logitBias: [],
    },
    maxTokens: random.between(1, random.pick([10, 40, 120]) ?? 10),
    patience: random.chance(0.15) ? random.between(0, 20) : null,
    stop: random.chance(0.15) ? ['ABCA', 'DEA'] : [],
  };
}
