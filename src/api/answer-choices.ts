/**
 * The answers to one request: one, or several at once with seeds of their own, their events in the order of coming.
 *
 * The first answer begins alone, so that the others find its prompt computed. When one fails, all end. It must not know
 * HTTP or any API's names.
 */
import type { AgentService, CompletionTask } from '../agent/service.js';
import { choiceEvents } from './answer-events.js';
import type { AnswerEvent, AnswerUsage } from './answer-events.js';
import type { CompletionRequest } from './openai-schema.js';

type FinishedEvent = Extract<AnswerEvent, { kind: 'finished' }>;

interface Running {
  readonly events: AsyncGenerator<AnswerEvent>;
  next: Promise<{ readonly running: Running; readonly result: IteratorResult<AnswerEvent> }>;
}

/** The events of one request. Throws what the agent throws; ending it early frees the agent's side. */
export async function* answerEvents(service: Pick<AgentService, 'complete'>, request: CompletionRequest, signal: AbortSignal): AsyncGenerator<AnswerEvent> {
  const finished: FinishedEvent[] = [];
  const running = new Set<Running>();
  const begin = (choice: number): void => {
    const task = taskOf(request.task, choice);
    const one: Running = { events: choiceEvents(service.complete(task, signal), task, { choice, splitReasoning: request.splitReasoning }), next: never() };
    advance(one);
    running.add(one);
  };
  try {
    begin(0);
    let begun = 1;
    while (running.size > 0) {
      const { running: one, result } = await Promise.race([...running].map(({ next }) => next));
      if (result.done === true) {
        running.delete(one);
        continue;
      }
      advance(one);
      const event = result.value;
      if (event.kind === 'finished') finished.push(event);
      // Of the others' beginnings nothing is new.
      if (event.kind !== 'started' || begun === 1) yield event;
      // Its first token is there: the prompt is computed.
      if (event.kind !== 'started') for (; begun < request.choices; begun += 1) begin(begun);
    }
    yield { kind: 'usage', ...usageOf(finished) };
  } finally {
    // Not awaited: they may wait for what the abort of the request has just ended.
    for (const { events } of running) events.return(undefined).catch(() => undefined);
  }
}

function advance(one: Running): void {
  one.next = one.events.next().then((result) => ({ running: one, result }));
  // Whoever waits hears of it; until somebody does, it is no unhandled failure.
  one.next.catch(() => undefined);
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** The first answer has the request's own seed. */
function taskOf(task: CompletionTask, choice: number): CompletionTask {
  if (choice === 0) return task;
  const seed = (task.sampling.seed + Math.imul(choice, 0x9e37_79b1)) >>> 0;
  return { ...task, ...(task.requestId === undefined ? {} : { requestId: `${task.requestId}-${choice}` }), sampling: { ...task.sampling, seed } };
}

function usageOf(finished: readonly FinishedEvent[]): AnswerUsage {
  const ordered = [...finished].sort((a, b) => a.choice - b.choice).map(({ usage }) => usage);
  const sum = (read: (usage: AnswerUsage) => number): number => ordered.reduce((total, usage) => total + read(usage), 0);
  const [first] = ordered;
  return {
    promptTokens: first?.promptTokens ?? 0,
    reusedTokens: first?.reusedTokens ?? 0,
    completionTokens: sum((usage) => usage.completionTokens),
    reasoningTokens: sum((usage) => usage.reasoningTokens),
    timings: {
      firstTokenMs: first?.timings.firstTokenMs ?? 0,
      totalMs: Math.max(0, ...ordered.map((usage) => usage.timings.totalMs)),
      decodeTokensPerSecond: sum((usage) => usage.timings.decodeTokensPerSecond),
    },
  };
}
