/** `agent trace`: where the time of a request went, stage by stage, on the node of the ring's head. */
import type { TraceView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { renderTrace } from './render-trace.js';
import { requireAgent } from './require-agent.js';

export async function traceCommand(requestId: string | undefined, options: { readonly stateDir: string; readonly json?: boolean; readonly list?: boolean }): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const { traces, heads } = await client.get('/v1/cluster/traces') as { readonly traces: readonly TraceView[]; readonly heads: readonly string[] };
  if (options.list === true) {
    process.stdout.write(options.json === true ? `${JSON.stringify(traces)}\n` : traces.map((trace) => `${trace.requestId}  ${trace.model}\n`).join(''));
    return;
  }
  const trace = requestId === undefined ? traces[0] : traces.find((one) => one.requestId.startsWith(requestId));
  if (trace === undefined) {
    const where = heads.length === 0 ? 'no model is served' : `it is known where the first stage is: ${heads.join(', ')}`;
    throw new RingError('bad_request', requestId === undefined ? `no request went through a ring that begins on this node; ${where}` : `no request ${requestId} is remembered here ("agent trace --list" shows which are); ${where}`);
  }
  process.stdout.write(options.json === true ? `${JSON.stringify(trace)}\n` : `${renderTrace(trace)}\n`);
}
