/**
 * `agent run MODEL [PROMPT]`: asks the running agent, or starts one for the length of the command, and streams the answer.
 */
import { existsSync } from 'node:fs';
import { streamAnswer } from './answer-stream.js';
import type { AnswerPart, AnswerSettings } from './answer-stream.js';
import { converse } from './command-chat.js';
import type { StartSettings } from './compose.js';
import type { LicenceOptions } from './licence.js';
import { withLicence } from './licence.js';
import { loadModel } from './load-model.js';
import { modelReference } from './model-reference.js';
import { traceText } from './command-trace.js';
import { withAgent } from './own-agent.js';
import { recommendedFor } from './recommended.js';

export interface RunOptions extends AnswerSettings, LicenceOptions {
  readonly stateDir: string;
  readonly json?: boolean;
  /** Where the answer's time went, on standard error. */
  readonly trace?: boolean;
  readonly defaults: StartSettings;
  /** Options of `defaults` that were typed. */
  readonly typed: readonly string[];
}

export async function runCommand(model: string | undefined, prompt: string | undefined, options: RunOptions): Promise<void> {
  // A sentence is no model: it is for the only one that is served, or the default.
  if (prompt === undefined && model !== undefined && /\s/.test(model) && !existsSync(model)) return runCommand('', model, options);
  const wanted = modelReference(model ?? '');
  await withAgent(options, async (client, interrupted) => {
    const served = await withLicence(wanted, options, () => loadModel(client, { model: wanted }, interrupted));
    const settings = { ...options, ...await recommendedFor(wanted, options.stateDir) };
    const question = prompt ?? (process.stdin.isTTY ? null : await readAll());
    if (question === null) {
      await converse(client, served, { ...settings, history: true });
      return;
    }
    const answer = await streamAnswer(client, { model: served, messages: [{ role: 'user', content: question }], settings }, options.json === true ? () => undefined : shower(), interrupted);
    process.stdout.write(options.json === true ? `${JSON.stringify(answer)}\n` : '\n');
    if (options.trace === true) process.stderr.write(`${await traceText(client, answer.id)}\n`);
  });
}

/** Thoughts go to standard error, so that the output is the answer. */
function shower(): (part: AnswerPart) => void {
  let thinking = false;
  return ({ kind, text }) => {
    if (kind === 'text' && thinking) process.stderr.write('\n');
    thinking = kind === 'thought';
    (thinking ? process.stderr : process.stdout).write(text);
  };
}

async function readAll(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk);
  return text.replace(/\n$/, '');
}
