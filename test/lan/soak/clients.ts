/**
 * Clients of a soak: each asks one question after the other at hosts that are up, and compares every token with the
 * undisturbed answer. A client whose agent died with its answer asks again elsewhere, as people would.
 *
 * It must not know what is broken; of a host it sees whether its agent's process is still the one that it asked.
 */
import type { Random } from '../../sim/random.js';
import { WatchedStream } from '../watched-stream.js';
import type { StreamRequest } from '../watched-stream.js';
import { MODEL } from './hosts.js';
import type { SoakHost, SoakHosts } from './hosts.js';
import { pause } from './pause.js';

const QUESTIONS = 8;
const MIN_TOKENS = 60;
const MAX_TOKENS = 220;
const MIN_PROMPT = 4;
const MAX_PROMPT = 120;
const VOCABULARY = 2_000;
/** An answer or a refusal must be there by then: the longest wait for a ring, and the answer itself. */
const ANSWER_DEADLINE_MS = 150_000;
/** A question that no agent takes for so long is lost. */
const ACCEPT_DEADLINE_MS = 90_000;
const ASK_AGAIN_MS = 250;

export interface Question extends StreamRequest {
  /** What an undisturbed ring answers. */
  readonly expected: readonly number[];
}

export interface Outcomes {
  answered: number;
  /** Ended with the process of the agent that the client was connected to. */
  diedWithOrigin: number;
  /** Not taken, before the first token, with the reason; asked again. */
  refused: number;
  tokens: number;
  /** Longest pause of each answer during which something broke. */
  readonly pausesMs: number[];
  readonly lost: string[];
  readonly wrong: string[];
}

/** Half of them greedy, half at temperature 1 with a seed. Asked twice: a cache must not change them. */
export async function askUndisturbed(hosts: SoakHosts, random: Random): Promise<readonly Question[]> {
  const requests = Array.from({ length: QUESTIONS }, (_, index): StreamRequest => ({
    model: MODEL,
    prompt: Array.from({ length: random.between(MIN_PROMPT, MAX_PROMPT) }, () => random.between(1, VOCABULARY)),
    count: random.between(MIN_TOKENS, MAX_TOKENS),
    temperature: index % 2,
    seed: random.between(1, 1_000_000),
  }));
  const ask = (): Promise<readonly WatchedStream[]> => Promise.all(requests.map(async (request, index) => {
    const { agent } = hosts.all[index % hosts.all.length] ?? { agent: null };
    if (agent === null) throw new Error('no agent to ask');
    const stream = new WatchedStream(agent, request);
    await stream.ended;
    if (stream.failure !== '' || stream.tokens.length !== request.count) throw new Error(`an undisturbed answer failed: ${stream.failure}\n${hosts.output()}`);
    return stream;
  }));
  const [first, second] = [await ask(), await ask()];
  return requests.map((request, index) => {
    const expected = first[index]?.tokens ?? [];
    if (String(second[index]?.tokens) !== String(expected)) throw new Error(`question ${index} has two undisturbed answers`);
    return { ...request, expected };
  });
}

export class Clients {
  readonly outcomes: Outcomes = { answered: 0, diedWithOrigin: 0, refused: 0, tokens: 0, pausesMs: [], lost: [], wrong: [] };

  constructor(
    private readonly hosts: SoakHosts,
    private readonly random: Random,
    private readonly questions: readonly Question[],
    private readonly faultMomentsMs: readonly number[],
  ) {}

  /** One client; resolves when its last question is answered. */
  async run(untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      const question = this.random.pick(this.questions);
      if (question !== null) await this.askUntilAnswered(question);
    }
  }

  private async askUntilAnswered(question: Question): Promise<void> {
    const deadlineMs = performance.now() + ACCEPT_DEADLINE_MS;
    let last = 'no agent was up';
    while (performance.now() < deadlineMs) {
      const host = this.random.pick(this.hosts.all.filter(({ agent, leaving }) => agent !== null && !leaving));
      const verdict = host === null ? 'no agent was up' : await this.ask(host, question);
      if (verdict === null) return;
      last = verdict;
      await pause(ASK_AGAIN_MS);
    }
    this.outcomes.lost.push(`a question was taken by nobody for ${ACCEPT_DEADLINE_MS / 1000} s; last: ${last}`);
  }

  /** Null = the question is done with; otherwise why it is asked again. */
  private async ask(host: SoakHost, question: Question): Promise<string | null> {
    const { agent } = host;
    const endsBefore = host.ends.length;
    if (agent === null) return 'its agent is gone';
    const startedMs = performance.now();
    const stream = new WatchedStream(agent, question);
    const late = await Promise.race([stream.ended.then(() => false), pause(ANSWER_DEADLINE_MS).then(() => true)]);
    const { outcomes } = this;
    outcomes.tokens += stream.tokens.length;
    const what = `host ${host.number}, ${stream.tokens.length} of ${question.count} tokens at temperature ${question.temperature}, after ${Math.round(performance.now() - startedMs)} ms`;
    if (stream.tokens.some((token, index) => token !== question.expected[index])) {
      outcomes.wrong.push(`${what}: token ${stream.tokens.findIndex((token, index) => token !== question.expected[index])} is wrong`);
      return null;
    }
    if (late) {
      outcomes.lost.push(`${what}: neither an end nor an error came`);
      return null;
    }
    if (stream.failure === '') {
      if (stream.tokens.length === question.count) outcomes.answered += 1;
      else outcomes.wrong.push(`${what}: the answer is too short`);
      const endMs = performance.now();
      if (this.faultMomentsMs.some((moment) => moment > startedMs && moment < endMs)) outcomes.pausesMs.push(stream.longestPauseMs());
      return null;
    }
    const ends = host.ends.slice(endsBefore);
    if (ends.includes('killed')) {
      outcomes.diedWithOrigin += 1;
      return 'the agent that it was put to died';
    }
    // Who asks in the moment in which an agent closes its doors may find them closed.
    if (stream.tokens.length === 0 && (/^(429|503): /.test(stream.failure) || host.leaving || ends.length > 0)) {
      outcomes.refused += 1;
      return stream.failure;
    }
    outcomes.lost.push(`${what}: ${stream.failure}`);
    return null;
  }
}
