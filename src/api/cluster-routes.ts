/**
 * The cluster over HTTP, ours and not OpenAI's: who is there, what would run where, start and stop serving a model.
 * Field names are those of the agent's own data (`contextTokens`), in requests and answers alike.
 */
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AgentService, ClusterUpdate, PlanRequest } from '../agent/service.js';
import { LOADED_LIFE, PINNED_LIFE, requestLife } from '../core/instance-life.js';
import { ACTIVATION_TYPES, CACHE_TYPES } from '../core/formats.js';
import { parsePrecision } from '../core/precision.js';
import { ApiError } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { keepAliveField } from './keep-alive-field.js';
import { unknownField } from './openai-fields.js';
import { MODEL_NAME_LENGTH_MAX, parseFields } from './openai-schema.js';
import { givenUp, requestSignal, underRequest } from './request-signal.js';
import { EVENT_STREAM_HEADERS, eventStream, sseEvent } from './sse.js';

const NODES_MAX = 1024;
const CONTEXT_TOKENS_MAX = 2 ** 31 - 1;
const SLOTS_MAX = 1024;

const NODE_ID_LENGTH_MAX = 256;
const REQUEST_ID_LENGTH_MAX = 256;
const DEVICES_MAX = 8;

const bytes = z.int().min(0);

/** What a cluster file says of one node; the fields of core/types.ts `RequestedNode`. */
const requestedNodeSchema = z.strictObject({
  nodeId: z.string().min(1).max(NODE_ID_LENGTH_MAX),
  settings: z.strictObject({
    maxRamBytes: bytes.exactOptional(),
    reserveBytes: bytes.exactOptional(),
    devices: z.array(z.enum(['metal', 'cuda', 'vulkan', 'cpu', 'mlx', 'ane', 'rocm', 'gpu'])).min(1).max(DEVICES_MAX).exactOptional(),
    layers: z.strictObject({ start: z.int().min(0), end: z.int().min(1) }).exactOptional(),
    precision: z.string().refine((name) => parsePrecision(name) !== null, 'is no precision').exactOptional(),
    keyValueCache: z.enum(['none', 'host', 'device']).exactOptional(),
    seed: z.int().min(0).max(0xffff_ffff).exactOptional(),
  }),
});

const planSchema = z.object({
  model: z.string().max(MODEL_NAME_LENGTH_MAX).default(''),
  policy: z.enum(['auto', 'ram_balanced', 'throughput', 'manual']).default('auto'),
  nodes: z.int().min(1).max(NODES_MAX).nullable().default(null),
  contextTokens: z.int().min(1).max(CONTEXT_TOKENS_MAX).nullable().default(null),
  slots: z.int().min(1).max(SLOTS_MAX).nullable().default(null),
  activations: z.enum(ACTIVATION_TYPES).exactOptional(),
  cacheType: z.enum(CACHE_TYPES).exactOptional(),
  draft: z.string().min(1).max(MODEL_NAME_LENGTH_MAX).exactOptional(),
  nodeSettings: z.array(requestedNodeSchema).min(1).max(NODES_MAX).exactOptional(),
});

const loadSchema = planSchema.extend({
  /** Never unloaded for being idle or for another model's sake, and served again after a restart of the whole cluster. */
  pinned: z.boolean().exactOptional(),
  /** Null = as for a request that needs the model. Absent = it stays until its room is needed, and returns after a restart. */
  keepAlive: keepAliveField.nullable().exactOptional(),
});

export function addClusterRoutes(app: Hono<ApiEnv>, service: AgentService, options: ApiOptions): void {
  app.get('/v1/cluster', (context) => context.json(service.status()));

  /** Where the time of the latest requests went, or of those whose id begins as `request` says. Numbers, no text. */
  app.get('/v1/cluster/traces', async (context) => context.json(await service.traces((context.req.query('request') ?? '').slice(0, REQUEST_ID_LENGTH_MAX))));

  /** Server-sent events without end: what `AgentService.watch` says, one JSON value each. */
  app.get('/v1/cluster/events', (context) => {
    const either = requestSignal(context, options);
    const stream = eventStream(updateEvents(service.watch(either.signal)), {
      heartbeatMs: options.heartbeatMs,
      stallMs: options.stallMs,
      ended(reason) {
        if (reason === 'done') either.dispose();
        else either.abort(givenUp());
        if (reason === 'client_stalled') context.env.outgoing?.destroy();
      },
    });
    return context.body(stream, 200, EVENT_STREAM_HEADERS);
  });

  /** Every model that a node of the cluster holds, with who holds it. */
  app.get('/v1/cluster/models', (context) => context.json({ models: service.models() }));

  app.post('/v1/cluster/plan', async (context) =>
    context.json(await service.plan(parsePlanRequest(await readJsonBody(context.req.raw)))));

  /** Answers when the model is active; a client that leaves stops waiting, the cluster goes on loading. */
  app.post('/v1/cluster/load', async (context) => {
    const request = parseLoadRequest(await readJsonBody(context.req.raw));
    return context.json(await underRequest(context, options, (signal) => service.load(request, signal)));
  });

  app.delete('/v1/cluster/instances/:id', async (context) => {
    const instanceId = context.req.param('id');
    if (!service.status().instances.some((instance) => instance.instanceId === instanceId)) {
      throw new ApiError({
        status: 404,
        code: 'instance_not_found',
        message: `The cluster serves no instance ${JSON.stringify(instanceId.slice(0, 100))}. GET /v1/cluster lists them.`,
      });
    }
    await service.unload(instanceId);
    return context.json({ id: instanceId, object: 'instance', deleted: true });
  });
}

async function* updateEvents(updates: AsyncIterable<ClusterUpdate>): AsyncGenerator<string> {
  for await (const update of updates) yield sseEvent(JSON.stringify(update));
}

function checkNames(schema: z.ZodObject, body: unknown): void {
  const known: ReadonlySet<string> = new Set(Object.keys(schema.shape));
  if (typeof body !== 'object' || body === null) return;
  for (const name of Object.keys(body)) if (!known.has(name)) throw unknownField(name, known);
}

function parsePlanRequest(body: unknown): PlanRequest {
  checkNames(planSchema, body);
  return parseFields(planSchema, body);
}

function parseLoadRequest(body: unknown): PlanRequest {
  checkNames(loadSchema, body);
  const { pinned, keepAlive, ...request } = parseFields(loadSchema, body);
  if (pinned === true && keepAlive !== undefined) throw new ApiError({ status: 400, code: 'bad_request', param: 'keepAlive', message: '\'keepAlive\' says nothing of a pinned model: leave one of the two out.' });
  if (pinned !== undefined) return { ...request, life: pinned ? PINNED_LIFE : LOADED_LIFE };
  if (keepAlive === undefined) return request;
  return { ...request, life: keepAlive === null ? 'usual' : requestLife(keepAlive.ms) };
}
