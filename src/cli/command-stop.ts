/** `agent stop`: ends the agent of a state directory and waits until it is gone. */
import { RingError } from '../core/errors.js';
import { findRunningAgent, processExists } from './state-directory.js';

const STOP_DEADLINE_MS = 60_000;
const POLL_MS = 50;

export async function stopCommand(options: { readonly stateDir: string }): Promise<void> {
  const running = await findRunningAgent(options.stateDir);
  if (running === null) {
    process.stdout.write('no agent is running\n');
    return;
  }
  process.kill(running.pid, 'SIGTERM');
  const deadline = performance.now() + STOP_DEADLINE_MS;
  while (processExists(running.pid)) {
    if (performance.now() > deadline) {
      throw new RingError('timeout', `the agent (pid ${running.pid}) has not ended within ${STOP_DEADLINE_MS / 1000} s: it may still be finishing answers; a second "agent stop" asks it to end at once`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  process.stdout.write(`the agent (pid ${running.pid}) has stopped\n`);
}
