/** `agent trace`: where the time of a request went, stage by stage. Any node may be asked: it asks the rings' first nodes. */
import type { TraceHead, TracesView, TraceView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { durationText } from '../core/instance-life.js';
import type { AgentClient } from './agent-client.js';
import { clean } from './render.js';
import { renderTrace } from './render-trace.js';
import { requireAgent } from './require-agent.js';

const TRIES = 5;
const RETRY_MS = 50;

async function tracesOf(client: AgentClient, request: string): Promise<TracesView> {
  return await client.get(`/v1/cluster/traces?request=${encodeURIComponent(request)}`) as TracesView;
}

/** Of an answer that has just ended, for a person. */
export async function traceText(client: AgentClient, request: string): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const { traces: [trace], heads } = await tracesOf(client, request);
    // The last token may be here before its step is back at the head.
    if (trace !== undefined && trace.steps.length > 0) return renderTrace(trace);
    if (tries >= TRIES) return missingText(request, heads);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

export async function traceCommand(requestId: string | undefined, options: { readonly stateDir: string; readonly json?: boolean; readonly list?: boolean }): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const { traces, heads } = await tracesOf(client, requestId ?? '');
  const [trace] = traces;
  if (options.list === true) {
    process.stdout.write(options.json === true ? `${JSON.stringify(traces)}\n` : traces.map(listLine).join(''));
    if (traces.length === 0 && options.json !== true) process.stderr.write(`${emptyText(heads)}\n`);
    for (const line of silentText(heads)) process.stderr.write(`${line}\n`);
    return;
  }
  if (trace === undefined) throw new RingError('bad_request', missingText(requestId ?? '', heads));
  process.stdout.write(options.json === true ? `${JSON.stringify(trace)}\n` : `${renderTrace(trace)}\n`);
}

function listLine({ requestId, model, agoMs }: TraceView): string {
  return `${clean(requestId)}  ${clean(model)}, ${durationText(Math.round(agoMs / 1000) * 1000)} ago\n`;
}

function emptyText(heads: readonly TraceHead[]): string {
  return heads.length === 0 ? 'no request is remembered: no model is served' : 'no request is remembered: there was none since the models that are served were planned';
}

function missingText(request: string, heads: readonly TraceHead[]): string {
  if (request === '') return [emptyText(heads), ...silentText(heads)].join('; ');
  const what = `no request whose id begins with ${JSON.stringify(clean(request).slice(0, 80))} is remembered`;
  if (heads.length === 0) return `${what}: no model is served`;
  return [`${what} ("agent trace --list" shows which are: the last ones of each ring, until it is planned again)`, ...silentText(heads)].join('; ');
}

function silentText(heads: readonly TraceHead[]): readonly string[] {
  return heads.filter(({ answered }) => !answered).map(({ hostname }) => `${clean(hostname)}, where a ring begins, did not answer: what it remembers is not among them`);
}
