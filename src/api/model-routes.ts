/**
 * `GET /v1/models` and `GET /v1/models/{id}`: what the cluster could serve. An id is a name or the start of a digest.
 */
import type { Hono } from 'hono';
import type { AgentService, ModelView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { modelObject } from './openai-responses.js';

/** Shorter starts of a digest name nothing: a model may well be called `beef`. */
const DIGEST_PREFIX_MIN = 8;

export function addModelRoutes(app: Hono<ApiEnv>, service: AgentService, options: ApiOptions): void {
  app.get('/v1/models', (context) =>
    context.json({ object: 'list', data: service.models().map((model) => modelObject(model, options.startedAt)) }));

  // Names may have slashes in them.
  app.get('/v1/models/:id{.+}', (context) => {
    const id = context.req.param('id');
    const model = findModel(service.models(), id);
    if (model === null) {
      throw new RingError('unknown_model', `No node of this cluster holds a model ${JSON.stringify(id.slice(0, 100))}. GET /v1/models lists those that there are.`);
    }
    return context.json(modelObject(model, options.startedAt));
  });
}

function findModel(models: readonly ModelView[], id: string): ModelView | null {
  const named = models.find((model) => model.name === id);
  if (named !== undefined) return named;
  if (id.length < DIGEST_PREFIX_MIN) return null;
  return models.find((model) => model.digest.startsWith(id)) ?? null;
}
