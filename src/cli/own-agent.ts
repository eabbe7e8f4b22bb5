/** The running agent for the length of a command, or one of its own, which ends with it. */
import { RingError } from '../core/errors.js';
import { AgentClient } from './agent-client.js';
import { startAgent } from './compose.js';
import type { StartSettings } from './compose.js';
import { createLog } from './log.js';
import { findRunningAgent } from './state-directory.js';

export interface OwnAgentOptions {
  readonly stateDir: string;
  /** Of the agent that is started when none runs. */
  readonly defaults: StartSettings;
  /** What was typed for that agent. One that runs already is told nothing of it. */
  readonly typed: readonly string[];
}

/** `interrupted` aborts when the command is told to end, or nobody reads its output any more. */
export async function withAgent(options: OwnAgentOptions, work: (client: AgentClient, interrupted: AbortSignal) => Promise<void>): Promise<void> {
  const interrupted = new AbortController();
  const onSignal = (): void => interrupted.abort(new RingError('cancelled', 'interrupted'));
  // Once each: a second signal ends the command at once.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, onSignal);
  process.stdout.once('error', () => interrupted.abort(new RingError('cancelled', 'nobody reads the answer any more')));
  const running = await findRunningAgent(options.stateDir);
  if (running !== null && options.typed.length > 0) process.stderr.write(`note: the agent that runs here answers, and was started with its own options: ${options.typed.join(', ')} ${options.typed.length === 1 ? 'is' : 'are'} not used\n`);
  const own = running === null ? await startAgent(options.defaults, createLog('warn')) : null;
  try {
    const found = running ?? own?.running;
    if (found === undefined) throw new RingError('internal', 'no agent to ask');
    await work(await AgentClient.open(found), interrupted.signal);
  } finally {
    await own?.stop();
  }
}
