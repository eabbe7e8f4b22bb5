/** `agent plan --config FILE`: what the cluster file's ring would look like, without running it. */
import type { ClusterStatus } from '../agent/service.js';
import { errorCodeOf, RingError } from '../core/errors.js';
import type { Plan } from '../core/types.js';
import { AgentClient } from './agent-client.js';
import { systemClock } from './clock.js';
import { fileRequest, fileStart, waitForFileNodes } from './cluster-run.js';
import { startAgent } from './compose.js';
import type { StartSettings } from './compose.js';
import { loadClusterFile } from './config-file.js';
import type { LoadedClusterFile } from './config-file.js';
import { createLog } from './log.js';
import { renderPlan } from './render.js';
import { findRunningAgent } from './state-directory.js';

const RETRY_MS = 100;
/** How long the file's nodes may take to be found by an agent that starts for the plan alone. */
const NODES_DEADLINE_MS = 20_000;

export interface PlanFileOptions {
  readonly stateDir: string;
  readonly json?: boolean;
  /** For the agent that is started when none is running. */
  readonly defaults: StartSettings;
}

export async function planFileCommand(path: string, options: PlanFileOptions): Promise<void> {
  const loaded = await loadClusterFile(path);
  for (const warning of loaded.warnings) process.stderr.write(`${warning}\n`);
  const running = await findRunningAgent(options.stateDir);
  const { plan, nodes } = running === null ? await planAlone(loaded, path, options.defaults) : await planBy(await AgentClient.open(running), loaded, path);
  process.stdout.write(options.json === true ? `${JSON.stringify(plan, null, 2)}\n` : `${renderPlan(plan, nodes)}\n`);
}

interface FilePlan {
  readonly plan: Plan;
  readonly nodes: ClusterStatus['nodes'];
}

async function planBy(client: AgentClient, { file }: LoadedClusterFile, path: string): Promise<FilePlan> {
  const models = await fileStart(file, path);
  const { nodes } = await client.get('/v1/cluster') as ClusterStatus;
  const found = await fileRequest(file, models, nodes);
  if (found.kind === 'missing') {
    throw new RingError('not_ready', `these nodes of the cluster file are not in the cluster: ${found.missing.join(', ')}. "agent status" shows who is`);
  }
  return { plan: await client.post('/v1/cluster/plan', found.request) as Plan, nodes };
}

/** An agent for the length of the command, which calls the file's nodes. */
async function planAlone({ file }: LoadedClusterFile, path: string, defaults: StartSettings): Promise<FilePlan> {
  const log = createLog('warn');
  const models = await fileStart(file, path);
  const started = await startAgent({ ...defaults, clusterFile: { file, path, serve: false } }, log);
  try {
    const deadline = systemClock.now() + NODES_DEADLINE_MS;
    const request = await waitForFileNodes(file, models, {
      agent: started.agent, clock: systemClock, log, signal: new AbortController().signal, deadlineMs: NODES_DEADLINE_MS,
    });
    for (;;) {
      try {
        return { plan: await started.agent.plan(request), nodes: started.agent.status().nodes };
      } catch (error) {
        // They are here and have not agreed on a coordinator yet.
        if (errorCodeOf(error) !== 'not_ready' || systemClock.now() > deadline) throw error;
        await new Promise<void>((done) => void systemClock.after(RETRY_MS, done));
      }
    }
  } finally {
    await started.stop(true);
  }
}
