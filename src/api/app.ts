/**
 * The HTTP API as one Hono app: guards first, then the routes, every error in OpenAI's shape.
 *
 * It knows the agent by `AgentService` only, and no socket: tests call `app.request()`. Prompts and answers reach no log.
 */
import { Hono } from 'hono';
import type { Context } from 'hono';
import type { AgentService, CompletionTask, EmbeddingTask, PlanRequest, Prompt } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { addAnthropicRoutes } from './anthropic-routes.js';
import { answerOfError, ApiError, isServerFault } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { BodyBudget } from './body-budget.js';
import { addClusterRoutes } from './cluster-routes.js';
import { addCompletionRoutes } from './completion-routes.js';
import { addEmbeddingRoutes } from './embedding-routes.js';
import { errorBodyFor } from './error-shapes.js';
import { addDashboardRoutes, DASHBOARD_PATHS, dashboardPage, wantsPage } from './dashboard-routes.js';
import { checkHost, checkOrigin, KeyCheck } from './guards.js';
import { Metrics } from './metrics.js';
import { addModelRoutes } from './model-routes.js';
import { addOllamaModelRoutes } from './ollama-model-routes.js';
import { addOllamaRoutes } from './ollama-routes.js';
import { addResponsesRoutes } from './responses-routes.js';
import { addUpkeepRoutes } from './upkeep-routes.js';

/** Answers without a key: they say nothing about the cluster. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/', '/health', ...DASHBOARD_PATHS]);

/** Every path and the methods it has, for 405 and for pages' preflight requests. */
export const METHODS: readonly (readonly [path: string, methods: string])[] = [
  ['/', 'GET'],
  ['/health', 'GET'],
  ['/metrics', 'GET'],
  ['/v1/models', 'GET'],
  ['/v1/models/:id{.+}', 'GET'],
  ['/v1/chat/completions', 'POST'],
  ['/v1/completions', 'POST'],
  ['/v1/responses', 'POST'],
  ['/v1/responses/:id', 'GET or DELETE'],
  ['/v1/embeddings', 'POST'],
  ['/v1/messages', 'POST'],
  ['/v1/messages/count_tokens', 'POST'],
  ['/api/version', 'GET'],
  ['/api/tags', 'GET'],
  ['/api/ps', 'GET'],
  ['/api/show', 'POST'],
  ['/api/chat', 'POST'],
  ['/api/generate', 'POST'],
  ['/api/embed', 'POST'],
  ['/api/embeddings', 'POST'],
  ['/v1/cluster', 'GET'],
  ['/v1/cluster/events', 'GET'],
  ['/v1/cluster/models', 'GET'],
  ['/v1/cluster/traces', 'GET'],
  ['/v1/cluster/plan', 'POST'],
  ['/v1/cluster/load', 'POST'],
  ['/v1/cluster/store', 'GET'],
  ['/v1/cluster/store/pull', 'POST'],
  ['/v1/cluster/store/remove', 'POST'],
  ['/v1/cluster/store/prune', 'POST'],
  ['/v1/cluster/instances/:id', 'DELETE'],
];

const PREFLIGHT_MAX_AGE_SECONDS = '600';

export function createApp(service: AgentService, options: ApiOptions): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  const keys = new KeyCheck(options.apiKeys);
  const metrics = new Metrics(service);

  app.use(async (context, next) => {
    const host = context.req.header('host');
    const origin = context.req.header('origin');
    context.header('X-Content-Type-Options', 'nosniff');
    checkHost(host, options.hosts);
    checkOrigin(origin, host);
    if (origin !== undefined) {
      context.header('Access-Control-Allow-Origin', origin);
      context.header('Vary', 'Origin');
    }
    // A preflight has no Authorization; the request that follows it has.
    if (context.req.method === 'OPTIONS') return preflight(context);
    if (!OPEN_PATHS.has(context.req.path)) keys.check(context.req.header('authorization') ?? bearerOf(context.req.header('x-api-key')));
    await next();
    return undefined;
  });
  app.use(new BodyBudget().middleware);

  app.get('/', async (context) => {
    context.header('Vary', 'Accept', { append: true });
    return wantsPage(context) ? dashboardPage(context) : context.text(welcomeText(options));
  });
  addDashboardRoutes(app);
  app.get('/health', (context) => {
    if (!service.ready()) throw new RingError('not_ready', 'The agent takes no request now: it has not joined its cluster yet, or it is about to stop.');
    return context.json({ status: 'ok' });
  });
  addModelRoutes(app, service, options);
  app.get('/metrics', async (context) => context.body(await metrics.text(), 200, { 'Content-Type': metrics.contentType }));
  const answering = {
    ready: () => service.ready(),
    countTokens: (model: string, prompt: Prompt, signal: AbortSignal) => service.countTokens(model, prompt, signal),
    embed: (task: EmbeddingTask, signal: AbortSignal) => metrics.countedEmbedding(task, signal),
    complete: (task: CompletionTask, signal: AbortSignal) => metrics.counted(task, signal),
    traces: (request: string) => service.traces(request),
    details: (model: string, signal: AbortSignal) => service.details(model, signal),
    models: () => service.models(),
    status: () => service.status(),
    load: (request: PlanRequest, signal: AbortSignal) => service.load(request, signal),
    unload: (instanceId: string) => service.unload(instanceId),
  };
  addCompletionRoutes(app, answering, options);
  addResponsesRoutes(app, answering, options);
  addEmbeddingRoutes(app, answering, options);
  addOllamaModelRoutes(app, service, options);
  addOllamaRoutes(app, answering, options);
  addAnthropicRoutes(app, answering, options);
  addClusterRoutes(app, service, options);
  addUpkeepRoutes(app, service, options);

  for (const [path, methods] of METHODS) {
    app.all(path, (context) => {
      throw new ApiError({
        status: 405,
        code: 'method_not_allowed',
        message: `${context.req.method} is not possible here: use ${methods}.`,
        headers: { Allow: methods },
      });
    });
  }

  app.notFound((context) => errorResponse(context, new ApiError({
    status: 404,
    code: 'unknown_route',
    message: `There is no ${context.req.path.slice(0, 100)} here. GET / lists what there is.`,
  })));
  app.onError((error, context) => {
    if (isServerFault(error)) {
      options.log.error('a request failed', { method: context.req.method, path: context.req.path, error });
    }
    return errorResponse(context, error);
  });
  return app;
}

/** Anthropic's clients have a header of their own for the key. */
function bearerOf(apiKey: string | undefined): string | undefined {
  return apiKey === undefined ? undefined : `Bearer ${apiKey}`;
}

function preflight(context: Context<ApiEnv>): Response {
  context.header('Access-Control-Allow-Methods', 'GET, POST, DELETE');
  // `*` does not cover Authorization; OpenAI's client sends x-stainless-* of its own.
  context.header('Access-Control-Allow-Headers', context.req.header('access-control-request-headers') ?? '*');
  context.header('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS);
  return context.body(null, 204);
}

function errorResponse(context: Context<ApiEnv>, error: unknown): Response {
  const { status, headers, body } = answerOfError(error);
  for (const [name, value] of Object.entries(headers)) context.header(name, value);
  return context.json(errorBodyFor(context.req.path, status, body), status);
}

function welcomeText(options: ApiOptions): string {
  return [
    `ring-agent ${options.agentVersion}`,
    '',
    'This is an agent of a cluster that runs large language models on the machines of this network.',
    'Point any OpenAI client at this address with /v1 as its base URL.',
    '',
    'GET    /                            the dashboard, in a browser',
    'GET    /health                      200 when requests are taken',
    'GET    /metrics                     figures for Prometheus',
    'GET    /v1/models                   models that the cluster can serve',
    'POST   /v1/chat/completions         OpenAI\'s chat API, also as a stream',
    'POST   /v1/completions              OpenAI\'s text API, also as a stream',
    'POST   /v1/responses                OpenAI\'s Responses API, also as a stream',
    'POST   /v1/embeddings               OpenAI\'s embeddings',
    'POST   /v1/messages                 Anthropic\'s API, also as a stream; /v1/messages/count_tokens',
    'POST   /api/chat, /api/generate     Ollama\'s API; also /api/embed, /api/tags, /api/show, /api/ps',
    'GET    /v1/cluster                  nodes, coordinator, instances and their stages',
    'GET    /v1/cluster/events           the same live, as server-sent events, and what happens in words',
    'GET    /v1/cluster/models           models, with the nodes that hold them',
    'POST   /v1/cluster/plan             which node would run which layers of a model',
    'POST   /v1/cluster/load             serve a model',
    'DELETE /v1/cluster/instances/{id}   stop serving it',
    '',
    options.apiKeys.length > 0 ? 'Requests to /v1 need an API key: Authorization: Bearer <key>.' : 'No API key is needed.',
    '',
  ].join('\n');
}
