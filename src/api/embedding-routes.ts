/**
 * Embeddings: `POST /v1/embeddings` as OpenAI has it, `POST /api/embed` and `POST /api/embeddings` as Ollama has them.
 *
 * Vectors have length 1, also those that are cut to fewer dimensions. A request is answered whole.
 */
import type { Context, Hono } from 'hono';
import type { AgentService, EmbeddingAnswer } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { ApiError } from './api-error.js';
import type { ApiEnv, ApiOptions } from './api-options.js';
import { clientOf } from './clients.js';
import { parseEmbeddingRequest, parseOllamaEmbed, parseOllamaEmbeddings } from './embedding-schema.js';
import type { EmbeddingRequest } from './embedding-schema.js';
import { readJsonBody } from './guards.js';
import { underRequest } from './request-signal.js';

const NANOS_PER_MILLI = 1e6;

export function addEmbeddingRoutes(app: Hono<ApiEnv>, service: Pick<AgentService, 'embed' | 'ready'>, options: ApiOptions): void {
  app.post('/v1/embeddings', async (context) => {
    const request = parseEmbeddingRequest(await readJsonBody(context.req.raw));
    const { model, vectors, promptTokens } = await embed(context, request);
    return context.json({
      object: 'list',
      data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: request.base64 ? base64(vector) : [...vector] })),
      model,
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    });
  });

  app.post('/api/embed', async (context) => {
    const request = parseOllamaEmbed(await readJsonBody(context.req.raw));
    const startedMs = performance.now();
    const { model, vectors, promptTokens } = await embed(context, request);
    return context.json({
      model,
      embeddings: vectors.map((vector) => [...vector]),
      total_duration: Math.round((performance.now() - startedMs) * NANOS_PER_MILLI),
      load_duration: 0,
      prompt_eval_count: promptTokens,
    });
  });

  app.post('/api/embeddings', async (context) => {
    const { vectors } = await embed(context, parseOllamaEmbeddings(await readJsonBody(context.req.raw)));
    return context.json({ embedding: [...vectors[0] ?? []] });
  });

  async function embed(context: Context<ApiEnv>, { task, dimensions }: EmbeddingRequest): Promise<EmbeddingAnswer> {
    if (!service.ready()) throw new RingError('not_ready', 'This agent takes no request now: it has just started, or it is about to stop. Ask again in a few seconds, or ask another node.');
    const answer = await underRequest(context, options, (signal) => service.embed({ ...task, client: clientOf(context, options) }, signal));
    return { ...answer, vectors: answer.vectors.map((vector) => shortened(vector, dimensions)) };
  }
}

/** The first numbers, of length 1 again. */
function shortened(vector: Float32Array, dimensions: number | null): Float32Array {
  if (dimensions === null || dimensions === vector.length) return vector;
  if (dimensions > vector.length) {
    throw new ApiError({ status: 400, code: 'invalid_value', param: 'dimensions', message: `'dimensions' is ${dimensions}, and vectors of this model have ${vector.length}.` });
  }
  const cut = vector.subarray(0, dimensions);
  const length = Math.sqrt(cut.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? cut : cut.map((value) => value / length);
}

/** f32, little-endian. */
function base64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
}
