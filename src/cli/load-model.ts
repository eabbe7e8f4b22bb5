/**
 * Asks the agent to serve a model, with progress on standard error: one line that is written over on a terminal, a line now
 * and then elsewhere.
 */
import { RingError } from '../core/errors.js';
import type { ClusterStatus, InstanceView, StageView } from '../agent/service.js';
import type { AgentClient } from './agent-client.js';
import { sizeText } from './render-store.js';

const PROGRESS_INTERVAL_MS = 300;
/** Between lines that stay. */
const LINE_INTERVAL_MS = 10_000;
const LOAD_DEADLINE_MS = 30 * 60_000;

/** Resolves with the name to use in requests. Without a word in `request` the model stays as for any request that needs it. */
export async function loadModel(client: AgentClient, request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string> {
  return (await loadInstance(client, { keepAlive: null, ...request }, signal)).model;
}

export async function loadInstance(client: AgentClient, request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<InstanceView> {
  const loading = client.post('/v1/cluster/load', request, AbortSignal.any([signal, AbortSignal.timeout(LOAD_DEADLINE_MS)]));
  const stop = showProgress(client, process.stderr.isTTY);
  try {
    const view = await loading as InstanceView;
    if (typeof view.model !== 'string') throw new RingError('internal', 'the agent did not name the model that it loaded');
    return view;
  } finally {
    stop();
  }
}

/** Which stages are not ready yet, and how far they are. */
function showProgress(client: AgentClient, overwrites: boolean): () => void {
  let shown = '';
  let shownAtMs = performance.now();
  const timer = setInterval(() => {
    if (!overwrites && performance.now() - shownAtMs < LINE_INTERVAL_MS) return;
    void client.get('/v1/cluster').then((value) => {
      const status = value as ClusterStatus;
      const text = progressText(status.instances.flatMap((instance) => instance.stages).filter((stage) => stage.state !== 'ready'));
      if (text === '' || text === shown) return;
      process.stderr.write(overwrites ? `\r\x1b[2K${text}` : `${text}\n`);
      shown = text;
      shownAtMs = performance.now();
    }, () => undefined);
  }, PROGRESS_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    if (overwrites && shown !== '') process.stderr.write('\r\x1b[2K');
  };
}

/** `mac fetching 42 %, 1.2 GB · pc loading`. */
export function progressText(stages: readonly Pick<StageView, 'hostname' | 'state' | 'progress' | 'fetchedBytes'>[]): string {
  return stages.map(({ hostname, state, progress, fetchedBytes }) => {
    if (state !== 'fetching') return `${hostname} ${state}`;
    return `${hostname} fetching ${Math.floor(progress * 100)} %${fetchedBytes > 0 ? `, ${sizeText(fetchedBytes)}` : ''}`;
  }).join(' · ');
}
