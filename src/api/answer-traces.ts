/**
 * Where the time of an answer went, for a request that asks for it (`X-Ring-Trace: 1`): in the body of a whole answer, as a
 * comment (or a line) before the end of a stream. Nothing is asked, sent or kept for other requests.
 */
import type { AgentService, TraceView } from '../agent/service.js';

export const TRACE_HEADER = 'x-ring-trace';
/** The last token may be here before its step is back at the head, which remembers it. */
const TRIES = 5;
const RETRY_MS = 40;

export function wantsTrace(header: string | undefined): boolean {
  return header === '1' || header === 'true';
}

/** One for each choice, as far as the rings' heads answer. */
export async function answerTraces(service: Pick<AgentService, 'traces'>, id: string, choices: number): Promise<readonly TraceView[]> {
  for (let tries = 1; ; tries += 1) {
    const { traces } = await service.traces(id);
    if (tries >= TRIES || traces.filter(({ steps }) => steps.length > 0).length >= choices) return traces;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Clients of server-sent events skip it. */
export function traceComment(traces: readonly TraceView[]): string {
  return `: ring-trace ${JSON.stringify(traces)}\n\n`;
}
