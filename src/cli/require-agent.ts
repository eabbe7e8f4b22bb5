/** The running agent of a state directory, or an error that says how to start one. */
import { RingError } from '../core/errors.js';
import { AgentClient } from './agent-client.js';
import { agentProcess, findRunningAgent } from './state-directory.js';

export async function requireAgent(stateDir: string): Promise<AgentClient> {
  const running = await findRunningAgent(stateDir);
  if (running === null && await agentProcess(stateDir) !== null) throw new RingError('not_ready', 'the agent is starting: try again in a moment');
  if (running === null) throw new RingError('not_ready', `no agent is running (state directory ${stateDir}): start one with "agent start"`);
  return AgentClient.open(running);
}
