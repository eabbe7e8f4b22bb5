/** Asks the agent to serve a model, and shows how far it is. */
import { RingError } from '../core/errors.js';
import type { ClusterStatus, InstanceView, StageView } from '../agent/service.js';
import type { AgentClient } from './agent-client.js';
import { showProgress } from './progress-line.js';
import { sizeText } from './render-store.js';

/** A large model on a slow line. */
const LOAD_DEADLINE_MS = 24 * 60 * 60_000;

/** Resolves with the name to use in requests. Without a word in `request` the model stays as for any request that needs it. */
export async function loadModel(client: AgentClient, request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string> {
  return (await loadInstance(client, { keepAlive: null, ...request }, signal)).model;
}

export async function loadInstance(client: AgentClient, request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<InstanceView> {
  const loading = client.post('/v1/cluster/load', request, AbortSignal.any([signal, AbortSignal.timeout(LOAD_DEADLINE_MS)]));
  const stop = showProgress(() => loadProgress(client, request));
  try {
    const view = await loading as InstanceView;
    if (typeof view.model !== 'string') throw new RingError('internal', 'the agent did not name the model that it loaded');
    return view;
  } finally {
    stop();
  }
}

/** Which stages are not ready yet, and how far they are; until there are any, that the model is looked up and planned. */
async function loadProgress(client: AgentClient, request: Readonly<Record<string, unknown>>): Promise<string> {
  const status = await client.get('/v1/cluster') as ClusterStatus;
  const text = progressText(status.instances.flatMap((instance) => instance.stages).filter((stage) => stage.state !== 'ready'));
  return text === '' ? `looking up and planning ${String(request['model'] ?? '') || 'the model'}` : text;
}

/** `mac fetching 42 %, 1.2 GB · pc loading`. */
export function progressText(stages: readonly Pick<StageView, 'hostname' | 'state' | 'progress' | 'fetchedBytes'>[]): string {
  return stages.map(({ hostname, state, progress, fetchedBytes }) => {
    if (state !== 'fetching') return `${hostname} ${state}`;
    return `${hostname} fetching ${Math.floor(progress * 100)} %${fetchedBytes > 0 ? `, ${sizeText(fetchedBytes)}` : ''}`;
  }).join(' · ');
}
