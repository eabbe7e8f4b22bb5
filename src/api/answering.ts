/**
 * One answer over HTTP, streamed or whole, in the shape of whichever API was asked.
 *
 * An error before the first event has its own status, also for a stream: the answer's headers wait for the first event,
 * but no longer than a heartbeat (a model may take minutes to load, and clients give up on silence). After that an error
 * is a piece of the stream, and nothing says that the answer is whole. A client that leaves ends the agent's work. It
 * must not know any API's names: those are in the `AnswerFormat`.
 */
import type { Context } from 'hono';
import type { AgentService, TraceView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { answerEvents } from './answer-choices.js';
import { answerTraces, TRACE_HEADER, traceComment, wantsTrace } from './answer-traces.js';
import { collectAnswer } from './answer-events.js';
import type { AnswerEvent, WholeAnswer } from './answer-events.js';
import { answerOfError, isServerFault } from './api-error.js';
import type { ErrorAnswer } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { clientOf } from './clients.js';
import type { CompletionRequest } from './openai-schema.js';
import { givenUp, requestSignal } from './request-signal.js';
import { eventStream, within } from './sse.js';

/** How one API writes one answer. Made for each request: it may remember what it has written. */
export interface AnswerFormat {
  /** Of the answer, for the log and its traces. */
  readonly id: string;
  readonly streamHeaders: Readonly<Record<string, string>>;
  /** Sent while there is nothing else. Absent = a comment of server-sent events. */
  readonly heartbeat?: string;
  /** What a stream says of an event, ready to be sent. Nothing, one piece, or several. */
  pieces(event: AnswerEvent): readonly string[];
  /** Says where the time went, before a stream's end. Absent = a comment of server-sent events. */
  trace?(traces: readonly TraceView[]): string;
  /** The last piece of a stream that broke. */
  failure(failure: ErrorAnswer): string;
  whole(answer: WholeAnswer): object;
}

export type AnsweringService = Pick<AgentService, 'complete' | 'ready' | 'traces'>;

export class Answering {
  constructor(private readonly service: AnsweringService, private readonly options: ApiOptions) {}

  async answer(context: Context<ApiEnv>, request: CompletionRequest, format: AnswerFormat): Promise<Response> {
    if (!this.service.ready()) {
      throw new RingError('not_ready', 'This agent takes no request now: it has just started and not joined its cluster yet, or it is about to stop. Ask again in a few seconds, or ask another node.');
    }
    const either = requestSignal(context, this.options);
    const traces = wantsTrace(context.req.header(TRACE_HEADER)) ? () => answerTraces(this.service, format.id, request.choices) : null;
    const asked = { ...request, task: { ...request.task, requestId: format.id, client: clientOf(context, this.options) } };
    const events = answerEvents(this.service, asked, either.signal);
    let first: Promise<IteratorResult<AnswerEvent>>;
    try {
      if (!request.stream) {
        const whole = await collectAnswer(events);
        either.dispose();
        return context.json({ ...format.whole(whole), ...(traces === null ? {} : { ring_trace: await traces() }) });
      }
      first = events.next();
      await within(first, this.options.heartbeatMs);
    } catch (error) {
      either.dispose();
      throw this.stoppingError(error);
    }
    const stream = eventStream(this.pieces(first, events, format, traces), {
      heartbeatMs: this.options.heartbeatMs,
      stallMs: this.options.stallMs,
      ...(format.heartbeat === undefined ? {} : { heartbeat: format.heartbeat }),
      ended: (reason) => {
        if (reason === 'done') either.dispose();
        else either.abort(givenUp());
        if (reason !== 'client_stalled') return;
        this.options.log.warn('a client stopped reading its answer and was dropped', { id: format.id });
        context.env.outgoing?.destroy();
      },
    });
    return context.body(stream, 200, { ...format.streamHeaders });
  }

  /** The whole of a stream; errors included, so that it never throws. */
  private async *pieces(
    first: Promise<IteratorResult<AnswerEvent>>, events: AsyncGenerator<AnswerEvent>, format: AnswerFormat, traces: (() => Promise<readonly TraceView[]>) | null,
  ): AsyncGenerator<string> {
    try {
      for (let next = await first; next.done !== true; next = await events.next()) {
        if (next.value.kind === 'usage' && traces !== null) yield (format.trace ?? traceComment)(await traces());
        yield* format.pieces(next.value);
      }
    } catch (error) {
      const failure = this.stoppingError(error);
      if (isServerFault(failure)) this.options.log.error('an answer failed', { id: format.id, error: failure });
      yield format.failure(answerOfError(failure));
    } finally {
      // Does nothing after the end; frees the agent's side when the client has left. Not awaited: it may be waiting
      // for what the abort has just ended.
      events.return(undefined).catch(() => undefined);
    }
  }

  /** When the agent stops, answers end because of that, whatever the agent's inside says about it. */
  private stoppingError(error: unknown): unknown {
    if (!this.options.shutdown.aborted) return error;
    return new RingError('not_ready', 'The agent is stopping; ask another one of the cluster.', {}, { cause: error });
  }
}
