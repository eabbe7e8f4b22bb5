/** `agent status`: the cluster as a table, or as JSON. */
import type { ClusterStatus } from '../agent/service.js';
import { renderStatus } from './render.js';
import { requireAgent } from './require-agent.js';

export async function statusCommand(options: { readonly stateDir: string; readonly json?: boolean }): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const status = await client.get('/v1/cluster') as ClusterStatus;
  process.stdout.write(options.json === true ? `${JSON.stringify(status, null, 2)}\n` : `${renderStatus(status)}\n`);
}
