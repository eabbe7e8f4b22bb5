/** `agent models`: every model that a node of the cluster holds. */
import type { ModelView } from '../agent/service.js';
import { renderModels } from './render.js';
import { requireAgent } from './require-agent.js';

export async function modelsCommand(options: { readonly stateDir: string; readonly json?: boolean }): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const { models } = await client.get('/v1/cluster/models') as { models: readonly ModelView[] };
  process.stdout.write(options.json === true ? `${JSON.stringify(models, null, 2)}\n` : `${renderModels(models)}\n`);
}
