/** `agent start`: runs this machine's agent in the foreground until it is told to stop. */
import { startAgent } from './compose.js';
import type { StartedAgent, StartedFile, StartSettings } from './compose.js';
import { loadClusterFile } from './config-file.js';
import type { Log } from '../ports.js';
import { createLog } from './log.js';

export interface StartOptions {
  /** `--config` */
  readonly config?: string;
  /** The agent was started from afar and ends with the connection that started it. */
  readonly exitWithStdin: boolean;
}

export async function startCommand(flags: StartSettings, options: StartOptions): Promise<void> {
  const log = createLog(flags.logLevel);
  const settings = options.config === undefined ? flags : { ...flags, clusterFile: await readFile(options.config, log) };
  let started: StartedAgent | null = null;
  let asked = 0;
  const stop = (agent: StartedAgent): void => {
    agent.stop().then(() => process.exit(0), (error: unknown) => {
      log.error('stopping failed', { error: String(error) });
      process.exit(1);
    });
  };
  // From the first moment: a signal during the start is honoured when there is something to stop.
  const onSignal = (signal: NodeJS.Signals): void => {
    asked += 1;
    if (asked > 1) {
      log.warn('a second signal: ending at once', { signal });
      // Runners see their pipe close and end by themselves.
      process.exit(1);
    }
    log.info('running answers may finish; a second signal ends at once', { signal });
    if (started !== null) stop(started);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', onSignal);

  if (options.exitWithStdin) process.stdin.on('end', () => onSignal('SIGHUP')).on('error', () => onSignal('SIGHUP')).resume();

  started = await startAgent(settings, log);
  if (asked > 0) {
    stop(started);
    return;
  }
  const { agent, running, notices } = started;
  const status = agent.status();
  process.stdout.write(`ring-agent is running: node ${status.nodeId}, cluster "${status.cluster}"\n`);
  process.stdout.write(`OpenAI API: ${running.apiUrl}/v1\n`);
  for (const notice of notices) process.stdout.write(`note: ${notice}\n`);
  if (!status.secured) {
    process.stdout.write('note: this cluster is open: any agent on this network may join it. "agent secret" shows how to close it.\n');
  }
}

async function readFile(path: string, log: Log): Promise<StartedFile> {
  const { file, warnings } = await loadClusterFile(path);
  for (const warning of warnings) log.warn(warning);
  return { file, path, serve: true };
}
