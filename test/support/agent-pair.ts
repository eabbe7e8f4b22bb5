/** Two real agents on this machine that have found each other by address, in a cluster of their own. */
import { AgentProcess } from './agent-process.js';
import { freePort } from './free-port.js';
import { temporaryDirectory } from './temporary-directory.js';

const TOGETHER_MS = 60_000;

export interface AgentPair {
  readonly agents: readonly AgentProcess[];
  /** Where peers meet them. */
  readonly ports: readonly number[];
  /** The first or the second. */
  at(index: number): AgentProcess;
  kill(): Promise<void>;
}

/** `name` is told apart from other tests' names. `args` are for both, `firstArgs` for the first beside them. */
export async function startAgentPair(name: string, { args = [], firstArgs = [] }: { readonly args?: readonly string[]; readonly firstArgs?: readonly string[] } = {}): Promise<AgentPair> {
  const ports = [await freePort(), await freePort()];
  const agents: AgentProcess[] = [];
  const kill = async (): Promise<void> => void await Promise.all(agents.map((agent) => agent.kill9()));
  const at = (index: number): AgentProcess => {
    const agent = agents[index];
    if (agent === undefined) throw new Error(`agent ${index} was not started`);
    return agent;
  };
  try {
    for (const [index, port] of ports.entries()) {
      const own = index === 0 ? firstArgs : ['--peer', `127.0.0.1:${ports[0]}`];
      agents.push(await AgentProcess.start({
        stateDir: temporaryDirectory(`${name}-${index}`),
        args: ['--cluster', `${name}-${process.pid}`, '--no-mdns', '--threads', '1', ...args, '--listen', `127.0.0.1:${port}`, ...own],
      }));
    }
    for (const agent of agents) {
      await agent.statusWhen((status) => status.coordinator !== null && status.nodes.filter(({ state }) => state === 'alive').length === 2, { timeoutMs: TOGETHER_MS, what: 'two nodes' });
    }
  } catch (error) {
    await kill();
    throw error;
  }
  return { agents, ports, at, kill };
}
