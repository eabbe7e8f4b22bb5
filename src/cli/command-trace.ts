/** `agent trace`: where the time of a request went, stage by stage, on the node of the ring's head. */
import type { TraceView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import type { AgentClient } from './agent-client.js';
import { renderTrace } from './render-trace.js';
import { requireAgent } from './require-agent.js';

interface Traces {
  readonly traces: readonly TraceView[];
  readonly heads: readonly string[];
}

async function tracesOf(client: AgentClient): Promise<Traces> {
  return await client.get('/v1/cluster/traces') as Traces;
}

const whereKnown = (heads: readonly string[]): string => (heads.length === 0 ? 'no model is served' : `it is known where the first stage is: ${heads.join(', ')}`);

/** Of the model's latest request, for a person. */
export async function traceText(client: AgentClient, model: string): Promise<string> {
  const { traces, heads } = await tracesOf(client);
  const trace = traces.find((one) => one.model === model);
  return trace === undefined ? `no trace on this node; ${whereKnown(heads)}` : renderTrace(trace);
}

export async function traceCommand(requestId: string | undefined, options: { readonly stateDir: string; readonly json?: boolean; readonly list?: boolean }): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const { traces, heads } = await tracesOf(client);
  if (options.list === true) {
    process.stdout.write(options.json === true ? `${JSON.stringify(traces)}\n` : traces.map((trace) => `${trace.requestId}  ${trace.model}\n`).join(''));
    return;
  }
  const trace = requestId === undefined ? traces[0] : traces.find((one) => one.requestId.startsWith(requestId));
  if (trace === undefined) {
    const where = whereKnown(heads);
    throw new RingError('bad_request', requestId === undefined ? `no request went through a ring that begins on this node; ${where}` : `no request ${requestId} is remembered here ("agent trace --list" shows which are); ${where}`);
  }
  process.stdout.write(options.json === true ? `${JSON.stringify(trace)}\n` : `${renderTrace(trace)}\n`);
}
