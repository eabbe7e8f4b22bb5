/** `agent stop`: ends the agent of a state directory and waits until it is gone. */
import { errorMessageOf, RingError } from '../core/errors.js';
import { agentProcess, processExists } from './state-directory.js';

const STOP_DEADLINE_MS = 60_000;
const POLL_MS = 50;

export async function stopCommand(options: { readonly stateDir: string }): Promise<void> {
  const pid = await agentProcess(options.stateDir);
  if (pid === null) {
    process.stdout.write(`no agent is running (state directory ${options.stateDir})\n`);
    return;
  }
  askToEnd(pid);
  const deadline = performance.now() + STOP_DEADLINE_MS;
  while (processExists(pid)) {
    if (performance.now() > deadline) {
      throw new RingError('timeout', `the agent (pid ${pid}) has not ended within ${STOP_DEADLINE_MS / 1000} s: it may still be finishing answers; a second "agent stop" asks it to end at once`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  process.stdout.write(`the agent (pid ${pid}) has stopped\n`);
}

function askToEnd(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    // It ended a moment ago: that is what was asked for.
    if (!processExists(pid)) return;
    throw new RingError('permission_denied', `the agent (pid ${pid}) cannot be stopped (${errorMessageOf(error)}): run this as the user who started it`, {}, { cause: error });
  }
}
