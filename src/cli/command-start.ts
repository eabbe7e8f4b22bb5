/** `agent start`: runs this machine's agent in the foreground until it is told to stop. */
import { existsSync } from 'node:fs';
import { startAgent } from './compose.js';
import type { StartedAgent, StartedFile, StartSettings } from './compose.js';
import { loadClusterFile } from './config-file.js';
import { RingError } from '../core/errors.js';
import { nearestName } from '../core/nearest-name.js';
import { cardOf, readCatalogue } from '../model/catalogue.js';
import { isInternetReference } from '../model/internet-reference.js';
import type { Log } from '../ports.js';
import { acceptLicenceOf } from './licence.js';
import { createLog } from './log.js';

const FIRST_LINE_DEADLINE_MS = 30_000;
const MAX_LINE_CHARACTERS = 4_096;

export interface StartOptions {
  /** `--config` */
  readonly config?: string;
  /** The agent was started from afar and ends with the connection that started it. */
  readonly exitWithStdin: boolean;
  /** The first line of standard input is the cluster's secret; empty = an open cluster. */
  readonly secretStdin: boolean;
  /** Of the models that it is to serve. */
  readonly acceptLicence: boolean;
}

export async function startCommand(flags: StartSettings, options: StartOptions): Promise<void> {
  const log = createLog(flags.logLevel);
  const secretText = options.secretStdin ? await firstLine() : '';
  const settings: StartSettings = {
    ...flags,
    ...(secretText === '' ? {} : { secretText }),
    ...(options.config === undefined ? {} : { clusterFile: await readFile(options.config, log) }),
  };
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

  if (options.acceptLicence) await acceptLicenceOf(settings.models, settings.stateDirectory);
  started = await startAgent(settings, log);
  if (asked > 0) {
    stop(started);
    return;
  }
  const { agent, running, notices } = started;
  const status = agent.status();
  process.stdout.write(`ring-agent is running: node ${status.nodeId}, cluster "${status.cluster}"\n`);
  process.stdout.write(`OpenAI API: ${running.apiUrl}/v1 (dashboard: ${running.apiUrl})\n`);
  for (const notice of [...notices, ...await unknownModelNotices(settings, agent.models().map(({ name, digest }) => ({ name, digest })))]) process.stdout.write(`note: ${notice}\n`);
  if (!status.secured) {
    process.stdout.write('note: this cluster is open: any agent on this network may join it. "agent secret" shows how to close it.\n');
  }
}

/** Of names that nobody knows yet: another node may bring the model, or the name is a slip. */
async function unknownModelNotices({ models, stateDirectory }: StartSettings, known: readonly { readonly name: string; readonly digest: string }[]): Promise<string[]> {
  const names = models.filter((model) => model !== '' && !existsSync(model) && !isInternetReference(model));
  if (names.length === 0) return [];
  const cards = await readCatalogue(stateDirectory);
  const isKnown = (name: string): boolean => cardOf(cards, name) !== null
    || known.some((model) => [model.name, `${model.name}.gguf`].some((one) => one.toLowerCase() === name.toLowerCase()) || model.digest.startsWith(name.toLowerCase()));
  return names.filter((name) => !isKnown(name)).map((name) => {
    const meant = nearestName(name, [...known.map((model) => model.name), ...cards.map((card) => card.name)]);
    return `no model ${JSON.stringify(name)} is known here${meant === null ? '.' : `: did you mean ${JSON.stringify(meant)}?`} It is served as soon as another node has it. "agent models" and "agent models search" list names.`;
  });
}

async function readFile(path: string, log: Log): Promise<StartedFile> {
  const { file, warnings } = await loadClusterFile(path);
  for (const warning of warnings) log.warn(warning);
  return { file, path, serve: true };
}

/** Of standard input, without its end. Throws `timeout` when none comes. */
async function firstLine(): Promise<string> {
  const line = await new Promise<string | null>((resolve) => {
    let text = '';
    const timer = setTimeout(() => done(null), FIRST_LINE_DEADLINE_MS);
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      const end = text.indexOf('\n');
      if (end >= 0) done(text.slice(0, end));
      else if (text.length > MAX_LINE_CHARACTERS) done(null);
    };
    const onEnd = (): void => done(null);
    function done(value: string | null): void {
      clearTimeout(timer);
      process.stdin.off('data', onData).off('end', onEnd).pause();
      resolve(value);
    }
    process.stdin.on('data', onData).on('end', onEnd);
  });
  if (line === null) throw new RingError('bad_config', 'standard input ended before its first line, which says the cluster\'s secret');
  return line.trim();
}
