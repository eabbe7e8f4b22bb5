/** One chat completion of the agent's own API, read piece by piece. For the commands that show an answer in a terminal. */
import type { AgentClient } from './agent-client.js';

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export interface AnswerSettings {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly seed?: number;
  /** What the model's makers recommend; counts while nobody sets a temperature. */
  readonly recommended?: Recommended;
}

export interface Recommended {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly minP?: number | undefined;
}

export interface Answer {
  /** By which its trace is found. */
  readonly id: string;
  readonly text: string;
  readonly tokens: readonly number[];
  readonly usage: Usage | null;
  /** llama-server's names (api/openai-responses.ts). */
  readonly timings: Readonly<Record<string, number>> | null;
}

/** `thought`: part of what the model thinks before it answers. */
export type AnswerPart = { readonly kind: 'text' | 'thought'; readonly text: string };

export async function streamAnswer(
  client: AgentClient,
  request: { readonly model: string; readonly messages: readonly ChatMessage[]; readonly settings: AnswerSettings },
  show: (part: AnswerPart) => void,
  signal: AbortSignal,
): Promise<Answer> {
  const { model, messages, settings } = request;
  let id = '';
  let text = '';
  const tokens: number[] = [];
  let usage: Usage | null = null;
  let timings: Readonly<Record<string, number>> | null = null;
  const stream = client.stream('/v1/chat/completions', {
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    return_tokens: true,
    ...(settings.maxTokens === undefined ? {} : { max_tokens: settings.maxTokens }),
    ...(settings.temperature === undefined ? recommendedFields(settings.recommended ?? {}) : { temperature: settings.temperature }),
    ...(settings.seed === undefined ? {} : { seed: settings.seed }),
  }, signal);
  for await (const value of stream) {
    const chunk = value as ChatChunk;
    const choice = chunk.choices?.[0];
    id = chunk.id ?? id;
    const thought = choice?.delta?.reasoning_content ?? '';
    const piece = choice?.delta?.content ?? '';
    if (thought !== '') show({ kind: 'thought', text: thought });
    if (piece !== '') show({ kind: 'text', text: piece });
    text += piece;
    tokens.push(...choice?.tokens ?? []);
    usage = chunk.usage ?? usage;
    timings = chunk.timings ?? timings;
  }
  return { id, text, tokens, usage, timings };
}

function recommendedFields({ temperature, topP, topK, minP }: Recommended): Readonly<Record<string, number>> {
  return {
    ...(temperature === undefined ? {} : { temperature }), ...(topP === undefined ? {} : { top_p: topP }),
    ...(topK === undefined ? {} : { top_k: topK }), ...(minP === undefined ? {} : { min_p: minP }),
  };
}

/** The parts of our own API's chunks that are read here. */
interface ChatChunk {
  readonly id?: string;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null }; readonly tokens?: readonly number[] }[];
  readonly usage?: Usage | null;
  readonly timings?: Readonly<Record<string, number>>;
}
