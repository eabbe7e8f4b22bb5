/**
 * What Ollama's API says of models: tags, show, ps, and its version. Models cannot be pulled or made through it.
 */
import type { Hono } from 'hono';
import type { AgentService, InstanceView, ModelView } from '../agent/service.js';
import { FOR_EVER_MS } from '../core/instance-life.js';
import { templateThinks } from '../core/reasoning.js';
import type { ModelDetails } from '../ports.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { readJsonBody } from './guards.js';
import { parseOllamaShow } from './ollama-schema.js';
import { underRequest } from './request-signal.js';

/** Of a model that stays. */
const NEVER = '2318-01-01T00:00:00Z';

export function addOllamaModelRoutes(app: Hono<ApiEnv>, service: Pick<AgentService, 'details' | 'models' | 'status'>, options: ApiOptions): void {
  app.get('/api/version', (context) => context.json({ version: options.agentVersion }));
  app.get('/api/tags', (context) => context.json({ models: service.models().map((model) => tagOf(model, options)) }));
  app.get('/api/ps', (context) => {
    const { instances } = service.status();
    return context.json({
      models: service.models().filter((model) => model.loaded).map((model) => {
        const instance = instances.find((one) => one.modelDigest === model.digest);
        return { ...tagOf(model, options), ...memoryOf(instance), expires_at: expiryOf(instance?.life.keepAliveMs ?? null, options), context_length: instance?.contextTokens ?? 0 };
      }),
    });
  });
  app.post('/api/show', async (context) => {
    const name = parseOllamaShow(await readJsonBody(context.req.raw));
    return context.json(shown(await underRequest(context, options, (signal) => service.details(name, signal)), options));
  });
}

/** As if its last request had just ended: only the coordinator knows better. */
function expiryOf(keepAliveMs: number | null, options: ApiOptions): string {
  return keepAliveMs === null || keepAliveMs >= FOR_EVER_MS ? NEVER : timeText(options.now() + keepAliveMs / 1000);
}

/** Of all nodes together. */
function memoryOf(instance: InstanceView | undefined): { readonly size: number; readonly size_vram: number } {
  let size = 0;
  let onDevices = 0;
  for (const { residentBytes, backend, spill } of instance?.stages ?? []) {
    size += residentBytes;
    if (backend !== null && backend !== 'cpu') onDevices += Math.max(0, residentBytes - (spill?.hostBytes ?? 0));
  }
  return { size, size_vram: onDevices };
}

function shown(details: ModelDetails, { startedAt }: ApiOptions): object {
  const { architecture, chatTemplate, facts, parameters, weights } = details;
  return {
    license: typeof facts['general.license'] === 'string' ? facts['general.license'] : '',
    modelfile: '',
    parameters: '',
    template: chatTemplate ?? '',
    system: '',
    details: { ...modelFamily(architecture), parameter_size: parameterText(parameters), quantization_level: weights.toUpperCase() },
    messages: [],
    model_info: { ...facts, 'general.parameter_count': parameters },
    capabilities: capabilitiesOf(details),
    modified_at: timeText(startedAt),
  };
}

function capabilitiesOf({ chatTemplate, pooling }: ModelDetails): readonly string[] {
  const template = chatTemplate ?? '';
  return [
    'completion',
    ...(template.includes('tools') ? ['tools'] : []),
    ...(templateThinks(template) ? ['thinking'] : []),
    ...(pooling !== null && pooling !== 'rank' ? ['embedding'] : []),
  ];
}

/** As Ollama writes it: `7.6B`, `494.03M`. */
function parameterText(parameters: number): string {
  if (parameters >= 1e9) return `${(parameters / 1e9).toFixed(1)}B`;
  return parameters >= 1e6 ? `${(parameters / 1e6).toFixed(2)}M` : `${(parameters / 1e3).toFixed(2)}K`;
}

function tagOf(model: ModelView, { startedAt }: ApiOptions): object {
  return {
    name: model.name,
    model: model.name,
    modified_at: timeText(startedAt),
    size: model.sizeBytes,
    digest: model.digest,
    details: { ...modelFamily(model.architecture), parameter_size: model.parameters === undefined ? '' : parameterText(model.parameters), quantization_level: model.weights?.toUpperCase() ?? '' },
  };
}

function modelFamily(architecture: string): object {
  return { parent_model: '', format: 'gguf', family: architecture, families: [architecture] };
}

export function timeText(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString();
}
