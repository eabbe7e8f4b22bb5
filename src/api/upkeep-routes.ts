/**
 * Upkeep of this node's models over HTTP, ours and not OpenAI's: what is kept, get a whole model, remove one, give back what
 * is not in use. It speaks of the node that is asked, not of the cluster.
 */
import type { Hono } from 'hono';
import { z } from 'zod';
import { RingError } from '../core/errors.js';
import type { AgentService } from '../agent/service.js';
import type { ModelUpkeep } from '../ports.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { MODEL_NAME_LENGTH_MAX, parseFields } from './openai-schema.js';
import { underRequest } from './request-signal.js';

const modelSchema = z.strictObject({ model: z.string().min(1).max(MODEL_NAME_LENGTH_MAX) });
const pruneSchema = z.strictObject({ keepBytes: z.int().min(0).default(0) });

export function addUpkeepRoutes(app: Hono<ApiEnv>, service: AgentService, options: ApiOptions): void {
  const upkeep = (): ModelUpkeep => {
    if (service.upkeep === undefined) throw new RingError('not_ready', 'This agent keeps no models.');
    return service.upkeep;
  };
  app.get('/v1/cluster/store', async (context) => context.json({ models: await upkeep().list(), transfers: upkeep().transfers() }));

  /** Answers when the model is here; a client that leaves ends the transfer, the next one goes on with it. */
  app.post('/v1/cluster/store/pull', async (context) => {
    const { model } = parseFields(modelSchema, await readJsonBody(context.req.raw));
    return context.json(await underRequest(context, options, (signal) => upkeep().pull(model, signal)));
  });

  app.post('/v1/cluster/store/remove', async (context) =>
    context.json(await upkeep().remove(parseFields(modelSchema, await readJsonBody(context.req.raw)).model)));

  app.post('/v1/cluster/store/prune', async (context) =>
    context.json(await upkeep().prune(parseFields(pruneSchema, await readJsonBody(context.req.raw)).keepBytes)));
}
