/** Asks the agent to serve a model, with progress on a terminal; resolves with the name to use in requests. */
import { RingError } from '../core/errors.js';
import type { ClusterStatus, InstanceView } from '../agent/service.js';
import type { AgentClient } from './agent-client.js';

const PROGRESS_INTERVAL_MS = 300;
const LOAD_DEADLINE_MS = 30 * 60_000;

export async function loadModel(client: AgentClient, request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string> {
  const loading = client.post('/v1/cluster/load', request, AbortSignal.any([signal, AbortSignal.timeout(LOAD_DEADLINE_MS)]));
  const stop = process.stderr.isTTY ? showProgress(client) : () => undefined;
  try {
    const view = await loading as InstanceView;
    if (typeof view.model !== 'string') throw new RingError('internal', 'the agent did not name the model that it loaded');
    return view.model;
  } finally {
    stop();
  }
}

/** One line that is written over: which stages are not ready yet. */
function showProgress(client: AgentClient): () => void {
  let shown = false;
  const timer = setInterval(() => {
    void client.get('/v1/cluster').then((value) => {
      const status = value as ClusterStatus;
      const stages = status.instances.flatMap((instance) => instance.stages).filter((stage) => stage.state !== 'ready');
      if (stages.length === 0) return;
      const text = stages.map((stage) => `${stage.hostname} ${stage.state}${stage.state === 'fetching' ? ` ${Math.floor(stage.progress * 100)} %` : ''}`).join(' · ');
      process.stderr.write(`\r\x1b[2K${text}`);
      shown = true;
    }, () => undefined);
  }, PROGRESS_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    if (shown) process.stderr.write('\r\x1b[2K');
  };
}
