/**
 * `agent run MODEL [PROMPT]`: asks the running agent, or starts one for the length of the command, and streams the answer.
 */
import { createInterface } from 'node:readline/promises';
import { RingError } from '../core/errors.js';
import { AgentClient } from './agent-client.js';
import { startAgent } from './compose.js';
import type { StartSettings } from './compose.js';
import { createLog } from './log.js';
import { loadModel } from './load-model.js';
import { modelReference } from './model-reference.js';
import { findRunningAgent } from './state-directory.js';

export interface RunOptions {
  readonly stateDir: string;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly json?: boolean;
  readonly defaults: StartSettings;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

interface Answer {
  readonly text: string;
  readonly tokens: readonly number[];
  readonly usage: Usage | null;
  readonly timings: Readonly<Record<string, number>> | null;
}

export async function runCommand(model: string | undefined, prompt: string | undefined, options: RunOptions): Promise<void> {
  const wanted = modelReference(model ?? '');
  const interrupted = new AbortController();
  // Once each: a second signal ends the command at once.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort(new RingError('cancelled', 'interrupted')));
  process.stdout.once('error', () => interrupted.abort(new RingError('cancelled', 'nobody reads the answer any more')));
  const running = await findRunningAgent(options.stateDir);
  const own = running === null ? await startAgent(options.defaults, createLog('warn')) : null;
  try {
    const client = await AgentClient.open(running ?? own?.running ?? unreachableAgent());
    const served = await loadModel(client, { model: wanted }, interrupted.signal);
    const question = prompt ?? (process.stdin.isTTY ? null : await readAll());
    if (question === null) await converse(client, served, options, interrupted.signal);
    else {
      const answer = await ask(client, served, [{ role: 'user', content: question }], options, interrupted.signal);
      if (options.json === true) process.stdout.write(`${JSON.stringify(answer)}\n`);
    }
  } finally {
    await own?.stop();
  }
}

function unreachableAgent(): never {
  throw new RingError('internal', 'no agent to ask');
}

async function readAll(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk);
  return text.replace(/\n$/, '');
}

/** A chat in the terminal; an empty line or Ctrl-D ends it. */
async function converse(client: AgentClient, model: string, options: RunOptions, signal: AbortSignal): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const messages: { role: string; content: string }[] = [];
  try {
    for (;;) {
      const line = await terminal.question('> ', { signal }).catch(() => '');
      if (line.trim() === '') return;
      messages.push({ role: 'user', content: line });
      const answer = await ask(client, model, messages, options, signal);
      messages.push({ role: 'assistant', content: answer.text });
    }
  } finally {
    terminal.close();
  }
}

async function ask(client: AgentClient, model: string, messages: readonly { role: string; content: string }[], options: RunOptions, signal: AbortSignal): Promise<Answer> {
  const show = options.json !== true;
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
    ...(options.maxTokens === undefined ? {} : { max_tokens: options.maxTokens }),
    ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  }, signal);
  for await (const value of stream) {
    const chunk = value as ChatChunk;
    const choice = chunk.choices?.[0];
    const delta = choice?.delta?.content ?? '';
    text += delta;
    if (show && delta !== '') process.stdout.write(delta);
    tokens.push(...choice?.tokens ?? []);
    usage = chunk.usage ?? usage;
    timings = chunk.timings ?? timings;
  }
  if (show) process.stdout.write('\n');
  return { text, tokens, usage, timings };
}

/** The parts of our own API's chunks that this command reads (api/openai-responses.ts). */
interface ChatChunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null }; readonly tokens?: readonly number[] }[];
  readonly usage?: Usage | null;
  readonly timings?: Readonly<Record<string, number>>;
}
