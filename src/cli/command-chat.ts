/** `agent chat [MODEL]`: a conversation in the terminal with the cluster's model; `agent run` without a prompt is the same. */
import type { ModelView } from '../agent/service.js';
import { AgentClient } from './agent-client.js';
import { streamAnswer } from './answer-stream.js';
import type { AnswerSettings } from './answer-stream.js';
import { Chat } from './chat.js';
import { openChatTerminal } from './chat-terminal.js';
import type { StartSettings } from './compose.js';
import type { LicenceOptions } from './licence.js';
import { withLicence } from './licence.js';
import { loadModel } from './load-model.js';
import { modelReference } from './model-reference.js';
import { withAgent } from './own-agent.js';
import { recommendedFor } from './recommended.js';

export interface ChatOptions extends AnswerSettings, LicenceOptions {
  readonly stateDir: string;
  readonly system?: string;
  /** Earlier questions can be called back with the arrow keys, also next time. */
  readonly history: boolean;
  readonly defaults: StartSettings;
  /** Options of `defaults` that were typed. */
  readonly typed: readonly string[];
}

export async function chatCommand(model: string | undefined, options: ChatOptions): Promise<void> {
  const wanted = modelReference(model ?? '');
  await withAgent(options, async (client, interrupted) => {
    const served = await withLicence(wanted, options, () => loadModel(client, { model: wanted }, interrupted));
    await converse(client, served, { ...options, ...await recommendedFor(wanted, options.stateDir) });
  });
}

/** `model` is loaded. */
export async function converse(client: AgentClient, model: string, options: Omit<ChatOptions, 'defaults' | 'typed'>): Promise<void> {
  const models = async (): Promise<readonly string[]> => {
    const { data } = await client.get('/v1/models') as { readonly data: readonly { readonly id: ModelView['name'] }[] };
    return data.map(({ id }) => id);
  };
  const terminal = await openChatTerminal({ stateDirectory: options.history ? options.stateDir : null, models });
  if (process.stdin.isTTY) terminal.say(`${model} answers; /help shows what else can be typed\n`);
  try {
    await new Chat({ model, ...(options.system === undefined ? {} : { system: options.system }), settings: options }, {
      ...terminal,
      models,
      answer: (request, show, signal) => streamAnswer(client, request, show, signal),
      load: (name) => loadModel(client, { model: modelReference(name) }, terminal.interruption()),
    }).run();
  } finally {
    terminal.close();
  }
}
